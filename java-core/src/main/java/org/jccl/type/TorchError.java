package org.jccl.type;

import java.util.List;

/** What the torch backend refuses. What the library says comes as DistBackendError. */
public enum TorchError implements CatalogueEntry {
    TORCH_REDUCTION(
            "ValueError",
            "The reduction is none that the backend offers.",
            "Use ReduceOp.SUM, AVG, MIN or MAX; multiply by a factor before or after.",
            "jccl reduces by SUM, AVG, MIN and MAX, not by …",
            "jccl reduces sparse tensors by SUM only"),
    TORCH_TYPE(
            "TypeError",
            "The backend does not reduce this type, or not by this operation.",
            "Convert the tensor first.",
            "jccl cannot reduce … by …; it reduces float16, bfloat16, float32, "
                    + "float64, int32, int64 and uint8 by SUM, AVG, MIN and MAX, int8 by SUM, "
                    + "bool by SUM, MIN and MAX"),
    TORCH_DEVICE(
            "ValueError",
            "The tensor is not on the CPU.",
            "Copy it to the CPU, or use another backend for that device.",
            "jccl moves CPU tensors; this one is on …. Copy it to the CPU, or use "
                    + "another backend for that device"),
    TORCH_LAYOUT(
            "TypeError",
            "The tensor is sparse or of another layout, and the operation takes dense" + " ones.",
            "Pass tensor.to_dense(); all_reduce takes sparse ones, too.",
            "jccl moves dense tensors; this one has layout …"),
    TORCH_TENSORS(
            "ValueError",
            "The number of tensors in a call is wrong, or they differ.",
            "Pass one tensor, or a list with one for each rank; all alike where the "
                    + "sentence says so.",
            "jccl takes one tensor (or list) per call and rank, not …",
            "… by … ranks got … tensors",
            "…: the tensor for rank … has … elements of …, this rank's has … of …; "
                    + "jccl needs them alike",
            "all_to_all by … ranks got … tensors to send and … to receive"),
    TORCH_SIZES(
            "ValueError",
            "Input and output do not fit each other or the number of ranks.",
            "Allocate the output by the numbers of the sentence.",
            "all_gather of … elements of … by … ranks does not fit … elements of …",
            "reduce_scatter of … elements of … over … ranks does not fit … elements " + "of …",
            "gather of … elements of … by … ranks does not fit … elements of …",
            "all_to_all: rank … sends … elements to itself and expects …",
            "all_to_all from … into …",
            "all_to_all in equal parts by … ranks needs a first dimension that … "
                    + "divides; the shape is …",
            "all_to_all by … ranks: sizes … do not make up the first dimension of …"),
    TORCH_OPTIONS(
            "ValueError",
            "The backend does not have the option.",
            "Leave it out.",
            "backend \"jccl\" takes no pg_options",
            "backend \"jccl\" cannot reconfigure a group"),
    TORCH_DEVICES(
            "ValueError",
            "One group was asked to serve several sorts of devices.",
            "Make a group \"jccl\" for the CPU and another one for the other devices.",
            "backend \"…\": jccl serves groups of CPU tensors alone; make a group "
                    + "\"jccl\" and another one (new_group) for the other devices"),
    TORCH_NO_SOURCE(
            "ValueError",
            "A receive names no rank.",
            "Pass src=.",
            "jccl receives from a named rank (src=...): NCCL's operations know no " + "any-source"),
    TORCH_NOT_JCCL(
            "TypeError",
            "A group of another backend was passed to a function of jccl.torch.",
            "Pass a group whose backend is \"jccl\".",
            "… is not a group of backend \"jccl\""),
    TORCH_GROUP_GONE(
            "RuntimeError",
            "The group has been destroyed.",
            "Make no calls after destroy_process_group.",
            "the group of this backend is gone"),
    TORCH_GROUP_ABORTED(
            "DistBackendError",
            "The group has ended: \"the group was aborted\", \"the group was shut down\" or"
                    + " \"the group was shut down after an error, or with operations under way\"."
                    + " What was under way has no result, and new operations are refused.",
            "Make the group anew, if the job is to go on; what failed first is told by the"
                    + " operation that failed.",
            "…, and takes no more operations",
            "…, and the result was not written"),
    TORCH_NO_RESULT(
            "RuntimeError",
            "The handle is one of a synchronous operation, which is over and has "
                    + "nothing to tell.",
            "Pass async_op=True.",
            "a synchronous operation's result is in its tensors; async_op=True gives "
                    + "a handle with result()",
            "a synchronous operation has no future; async_op=True gives a handle with"
                    + " get_future()"),
    TORCH_RESULT_GONE(
            "RuntimeError",
            "C++ code that holds half of a handle asked for the tensors of an operation that is"
                    + " over, whose handle nobody in Python held.",
            "Keep the handle in Python until its result or future was taken.",
            "the tensors of this operation were let go of, since only C++ code held its handle"),
    TORCH_OVERLAP(
            "ValueError",
            "Elements of an output lie at one place in memory, so that they cannot differ.",
            "Pass the clone() of the tensor.",
            "jccl cannot write into a tensor of which several elements are one in memory, such as"
                    + " one that was expanded: shape …, strides …; pass its clone()"),
    TORCH_RANKS_MISSING(
            "DistBackendError",
            "Ranks did not come to make the group within its timeout.",
            "See that all ranks were started and make the same groups in the same " + "order.",
            "group …: rank(s) … of … did not come to make the group in time",
            "group …: rank … waited in vain for rank 0 of …, which makes the group "
                    + "when all ranks have come",
            "… was not over within the group's timeout"),
    TORCH_WAIT(
            "DistBackendError",
            "wait(timeout) ran out. The operation goes on.",
            "Wait again, or give the group a timeout that ends the operation.",
            "the operation was not over … s after wait() began; it stays queued"),
    TORCH_BARRIER(
            "DistBackendError",
            "A monitored barrier was not complete in time.",
            "Look at the ranks that it names.",
            "Rank 0 timed out in monitoredBarrier after 0 s",
            "… failed to pass monitoredBarrier in … s",
            "…: it did not come within … s");

    // A record of texts and of a list that is copied does not change.
    @SuppressWarnings("ImmutableEnumChecker")
    private final Explanation explanation;

    TorchError(String raises, String cause, String cure, String... sentences) {
        this.explanation = new Explanation(raises, cause, cure, List.of(sentences));
    }

    @Override
    public Explanation explanation() {
        return explanation;
    }
}
