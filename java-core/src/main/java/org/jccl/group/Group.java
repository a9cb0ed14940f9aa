package org.jccl.group;

import org.jccl.call.Call;
import org.jccl.executor.Task;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Wait;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * The group of the current thread. Belongs to one thread, so its fields are plain.
 *
 * <p>The first error of a call inside the group is returned by that call and again by the outermost
 * end, which then launches nothing.
 */
public final class Group {
    private static final ThreadLocal<Group> CURRENT = ThreadLocal.withInitial(Group::new);

    /** A background task that a call inside the group asked for. */
    public interface GroupJob extends Pending {
        /** Whether the outermost end waits for it. */
        boolean blocking();

        /** Begins to run in the background. */
        void start();

        /** Ends it before it has begun, since the group failed. */
        void ended(@Nullable NcclException why);
    }

    /** What the thread has asked for since it opened the group. */
    static final class Content {
        /** One that held more is not used again: its collections keep their room. */
        private static final int MOST_KEPT = 1024;

        final OperationList operations = new OperationList();
        final List<GroupJob> jobs = new ArrayList<>();

        /** Objects that must not be garbage-collected before the group has ended. */
        final Set<Object> kept = Collections.newSetFromMap(new IdentityHashMap<>());

        /** Whether the outermost end waits; means nothing before the first call. */
        boolean blocking;

        /** The first error, of a call or of the end. */
        @Nullable NcclException error;

        /** Why an operation was refused whose communicator had failed or ended, or null. */
        @Nullable NcclException refused;

        void fail(NcclException why) {
            error = error == null ? why : error;
        }

        /** An operation on this communicator was not submitted, or its stream has refused it. */
        void refuse(NcclException why, CommExecutor executor) {
            fail(why);
            // One that goes on has refused this operation only.
            refused = refused == null && executor.failure() != null ? why : refused;
        }

        boolean isEmpty() {
            return operations.isEmpty() && jobs.isEmpty();
        }

        boolean servesAgain() {
            return jobs.size() <= MOST_KEPT && kept.size() <= MOST_KEPT;
        }

        void clear() {
            operations.clear();
            jobs.clear();
            if (!kept.isEmpty()) {
                kept.clear();
            }
            error = null;
            refused = null;
        }
    }

    private int depth;
    private Content content = new Content();

    /** The content of an earlier group, to be used again: groups on streams make no objects. */
    private @Nullable Content spare;

    /** Every call of the thread is written into it. */
    private final Call call = new Call();

    private Group() {}

    /** The current thread's group. */
    public static Group current() {
        return CURRENT.get();
    }

    /**
     * A call of the operation with this number, otherwise empty: one object that serves all calls
     * of the current thread, one after the other.
     */
    public static Call call(int operation) {
        return current().call.of(operation);
    }

    /** Whether the thread is between a start and its end. */
    public boolean open() {
        return depth > 0;
    }

    /** Opens a group, or a group inside the group. */
    public void start() {
        depth++;
    }

    /**
     * Queues an operation.
     *
     * @throws NcclException INVALID_USAGE if there are too many, INVALID_ARGUMENT if only some of
     *     the group's communicators block
     */
    public void add(GroupMember member, Task task) {
        requireSame(member.blocking());
        if (content.operations.isFull()) {
            throw ErrorKind.TOO_MANY_PENDING.says(
                    "more than %s operations in one group; end it and start another",
                    CommExecutor.MAX_PENDING);
        }
        content.operations.add(member, task);
    }

    /** Keeps an object until the open group, if any, ends: its user may have lost it. */
    public void keep(@Nullable Object object) {
        if (depth > 0 && object != null) {
            content.kept.add(object);
        }
    }

    /**
     * Queues a background task.
     *
     * @throws NcclException if it cannot be in this group, which has dropped it then
     */
    public void add(GroupJob job) {
        try {
            requireSame(job.blocking());
            content.jobs.add(job);
        } catch (RuntimeException | Error e) {
            job.ended(Unforeseen.of(e, "in a group"));
            throw e;
        }
    }

    /** The end of the group waits for all calls or for none. */
    private void requireSame(boolean blocks) {
        if (content.isEmpty()) {
            content.blocking = blocks;
        }
        if (content.blocking != blocks) {
            throw ErrorKind.GROUP_MIXED.says(
                    "blocking and non-blocking communicators cannot be created, changed or used in"
                            + " one group; use the same blocking setting for all");
        }
    }

    /** Remembers the first error of a call inside the group. */
    public void remember(NcclException why) {
        if (depth > 0) {
            content.fail(why);
        }
    }

    /**
     * Closes a group; the outermost one is launched.
     *
     * @return what to wait for, or null if nothing is left to do; an inner end returns null
     * @throws NcclException if no group is open, or with the group's first error
     */
    public @Nullable Launch end() {
        if (depth == 0) {
            throw ErrorKind.GROUP_NOT_OPEN.says(
                    "ncclGroupEnd without ncclGroupStart on this thread; a group must be opened"
                            + " and closed by the same thread");
        }
        if (--depth > 0) {
            return null;
        }
        Content all = content;
        content = spare == null ? new Content() : spare;
        spare = null;
        Launch launch = null;
        try {
            launch = endOutermost(all);
            return launch;
        } finally {
            Reference.reachabilityFence(all.kept);
            if (launch == null && all.servesAgain()) {
                all.clear();
                spare = all;
            }
        }
    }

    private static @Nullable Launch endOutermost(Content all) {
        NcclException failed = all.error;
        if (failed != null) {
            all.operations.groupFailed(failed);
            for (GroupJob job : all.jobs) {
                job.ended(failed);
            }
            throw failed;
        }
        return all.isEmpty() ? null : launch(all);
    }

    private static @Nullable Launch launch(Content all) {
        OperationList operations = all.operations;
        operations.submit(all);
        // This begins when all are submitted: operations of one stream may need each other.
        operations.follow(all);
        if (all.isEmpty() && all.error == null) {
            // Streams of devices wait for all of it.
            return null;
        }
        if (!all.blocking) {
            all.jobs.forEach(GroupJob::start);
        }
        try {
            return new Launch(Wait.ofAll(operations.byExecutor(), all.refused), all);
        } catch (RuntimeException | Error e) {
            operations.tear();
            throw e;
        }
    }
}
