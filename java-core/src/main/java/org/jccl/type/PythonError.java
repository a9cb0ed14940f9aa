package org.jccl.type;

import java.util.List;

/** What the Python package refuses before the library is called. */
public enum PythonError implements CatalogueEntry {
    NOT_A_BUFFER(
            "NcclInvalid",
            "The object has neither the buffer protocol nor __array_interface__ nor " + "DLPack.",
            "Pass a torch tensor on the CPU, a numpy array, an array.array or a " + "bytearray.",
            "… is of type …, which has neither the buffer protocol nor "
                    + "__array_interface__ nor DLPack: pass an array, a tensor or a bytearray"),
    NOT_HOST_MEMORY(
            "NcclInvalid",
            "The buffer is memory of a device, which a host communicator does not " + "reach.",
            "Copy it to the host first, as by tensor.cpu().",
            "… is …; a host communicator takes host buffers: copy it to the host " + "first"),
    NOT_CONTIGUOUS(
            "NcclInvalid",
            "The elements of the buffer do not lie one behind the other.",
            "Pass a contiguous copy, as by tensor.contiguous() or " + "numpy.ascontiguousarray.",
            "… is not contiguous in row-major order: pass a contiguous copy of this " + "view",
            "… is a tensor of layout …: pass a dense one",
            "… is a lazily negated view: pass its resolve_neg()"),
    NOT_WRITABLE(
            "NcclInvalid",
            "The operation writes into the buffer, but may not.",
            "Pass a buffer that may be written: a bytearray instead of bytes, a copy "
                    + "of the array.",
            "… is read-only, but the operation writes into it: pass a writable buffer",
            "… exports a copy by DLPack, which the operation cannot write to: pass its owner"),
    ELEMENT_TYPE(
            "NcclInvalid",
            "NCCL has no data type for these elements.",
            "Convert them to a type that DIFFERENCES.md lists.",
            "… has elements of type …, for which NCCL has no data type: convert them",
            "NCCL has no data type for elements of type …",
            "… is not a data type: …",
            "numpy has no type for …: install ml_dtypes"),
    FOREIGN_BYTE_ORDER(
            "NcclInvalid",
            "The bytes of the elements are in the order of another sort of machine.",
            "Convert them, as by array.astype(array.dtype.newbyteorder(\"=\")).",
            "… has elements of a foreign byte order (…): convert them to this machine's",
            "elements of type … have a foreign byte order"),
    DLPACK_FAILED(
            "NcclInvalid",
            "The object could not be had by DLPack.",
            "Pass the object itself and not a capsule that was used before; see what "
                    + "its library says.",
            "… cannot be exported by DLPack: …",
            "… speaks DLPack …; JCCL knows version 1",
            "… exports a DLPack capsule that is already used"),
    BUFFERS_DIFFER(
            "NcclInvalid",
            "Send and receive buffer do not fit each other in size or type.",
            "Allocate the receive buffer with the type of the other one and with the "
                    + "elements that the sentence names.",
            "sendbuf has elements of type … and recvbuf of type …: they must be equal, convert one",
            "recvbuf has … elements, but the operation writes …: pass a longer one",
            "recvbuf has … elements and sendbuf …: they must be equal on the root of "
                    + "a broadcast"),
    NOT_DIVISIBLE(
            "NcclInvalid",
            "The ranks cannot share the elements equally.",
            "Pad the buffer to a multiple of the number of ranks.",
            "sendbuf has … elements, which … ranks cannot share equally: … would be "
                    + "left over; pad or slice it"),
    PYTHON_COMMUNICATOR_STATE(
            "NcclInvalid",
            "The Communicator was used before init or after destroy or abort, or "
                    + "initialised twice.",
            "Make one Communicator for each init, and use it between init and " + "destroy.",
            "Communicator is already initialized",
            "Communicator is not initialized, or already destroyed: use it between init and"
                    + " destroy"),
    PYTHON_ID(
            "NcclInvalid",
            "What was passed as a unique id is none.",
            "Pass the UniqueId of get_unique_id, or its 128 bytes.",
            "unique_id is neither a UniqueId nor a sequence of them",
            "a unique id has … bytes, not …"),
    PYTHON_CONFIG(
            "NcclInvalid",
            "A field of NCCLConfig has a value or type that it cannot have.",
            "Pass what the sentence asks for.",
            "timeout is …: seconds, 0 for none, are meant",
            "… is …: … is meant",
            "… contains a zero byte",
            "a number of the configuration does not fit an int: …"),
    PYTHON_REDUCTION(
            "NcclInvalid",
            "The operation is none of those that reduce.",
            "Pass SUM, MAX, MIN or AVG.",
            "op is …: SUM, MAX, MIN or AVG is meant"),
    PYTHON_BOOL_REDUCTION(
            "NcclInvalid",
            "Elements of type bool are 0 or 1 and travel as bytes, which SUM and AVG would make"
                    + " other numbers of.",
            "Pass MAX for a logical or, MIN for a logical and; to count, convert them to int32"
                    + " first.",
            "op is … and the elements are bool, which it makes other numbers of than 0 and 1: pass"
                    + " MAX (or) or MIN (and)"),
    PYTHON_STREAM(
            "NcclInvalid",
            "A stream was passed, but a host communicator has none.",
            "Pass None or 0.",
            "stream is …: host communicators have no streams yet, pass None"),
    NOT_LAUNCHED(
            "NcclInvalid",
            "Communicator.from_env() reads what a launcher sets, and it is not set or"
                    + " makes no sense.",
            "Start the program with python -m jccl.run -n <ranks> script.py, or hand "
                    + "the id on yourself and call Communicator.init.",
            "RANK and WORLD_SIZE are not set: start this program with `python -m "
                    + "jccl.run -n <ranks> script.py`",
            "RANK is … and WORLD_SIZE …; RANK must lie in [0, WORLD_SIZE): start this program with"
                    + " `python -m jccl.run -n <ranks> script.py`",
            "JCCL_STORE is not set, so the ranks cannot share an id: start this program with "
                    + "`python -m jccl.run`, or pass one yourself to Communicator.init"),
    LAUNCHER_LOST(
            "NcclInvalid",
            "The launcher, which hands the unique id on, did not answer in time, "
                    + "ended, or refused the request.",
            "See what the launcher and rank 0 say. JCCL_INIT_TIMEOUT sets the limit.",
            "rank 0 made no id within … s",
            "the launcher that set JCCL_STORE does not answer: …",
            "the launcher ended while this rank asked it: …",
            "the launcher refused the request …: …"),
    PYTHON_UNFIT(
            "ImportError",
            "JCCL does not run in this sort of Python: not CPython, a free-threaded one, or a"
                    + " subinterpreter.",
            "Run the program by an ordinary CPython, in its main interpreter.",
            "this Python is …, and JCCL's native part is an extension of CPython: run the program"
                    + " by CPython 3.10 or newer",
            "this CPython is free-threaded, and JCCL's native part keeps to the stable ABI, which"
                    + " such a CPython does not have: run the program by one with a GIL",
            "Java belongs to all interpreters, and this is a subinterpreter"),
    NATIVE_PART_MISSING(
            "ImportError",
            "The extension of the package is missing, or of another version.",
            "Install the wheel again, or run pip install . in a clone.",
            "JCCL's native part is missing (…): install the wheel, or run `pip "
                    + "install .` in a clone",
            "the Python package is JCCL …, but … is …: install one of them again",
            "the folder of JCCL's extension is unknown: install the wheel",
            "JCCL's library cannot be loaded: …: reinstall JCCL",
            "… has no …: reinstall JCCL",
            "… is version … but JCCL's extension is version …: reinstall JCCL"),
    NUMBER_TOO_LARGE(
            "OverflowError",
            "A number, such as a rank, root or peer, does not fit its type in C.",
            "Pass a number in the range that the sentence names.",
            "…: … is …: … is meant"),
    NOT_A_NUMBER(
            "TypeError",
            "An argument that must be a number, such as a root or a peer, is none.",
            "Pass an int.",
            "…: … is …: … is meant"),
    EXTENSION_CALL(
            "TypeError",
            "A function of JCCL's extension was called with other arguments than it takes;"
                    + " jccl.core itself does not do so.",
            "Call it as jccl.bindings.protocol declares it, or use jccl.core.",
            "… takes … arguments, not …",
            "on_arrays takes 6 arguments, not …",
            "memory takes 2 arguments, not …",
            "know_arrays takes a class and a dict",
            "group_block: two functions are meant");

    // A record of texts and of a list that is copied does not change.
    @SuppressWarnings("ImmutableEnumChecker")
    private final Explanation explanation;

    PythonError(String raises, String cause, String cure, String... sentences) {
        this.explanation = new Explanation(raises, cause, cure, List.of(sentences));
    }

    @Override
    public Explanation explanation() {
        return explanation;
    }
}
