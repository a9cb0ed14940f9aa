package org.jccl.group;

import org.jccl.executor.Task;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Parting;
import org.jccl.progress.StreamAgent;
import org.jccl.progress.Submission;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The operations of a group, in the order of the calls: tasks, and the communicators that they are
 * on. A list that has been as long before makes no objects.
 */
final class OperationList {
    private static final int SMALLEST = 8;

    /** A list that was longer keeps no room for so many. */
    private static final int MOST_KEPT = 1024;

    private GroupMember[] members = new GroupMember[SMALLEST];
    private Task[] tasks = new Task[SMALLEST];
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    boolean isFull() {
        return size == CommExecutor.MAX_PENDING;
    }

    void add(GroupMember member, Task task) {
        if (size == tasks.length) {
            members = Arrays.copyOf(members, 2 * size);
            tasks = Arrays.copyOf(tasks, 2 * size);
        }
        members[size] = member;
        tasks[size] = task;
        size++;
    }

    void clear() {
        if (tasks.length > MOST_KEPT) {
            members = new GroupMember[SMALLEST];
            tasks = new Task[SMALLEST];
        } else {
            Arrays.fill(members, 0, size, null);
            Arrays.fill(tasks, 0, size, null);
        }
        size = 0;
    }

    /** The group failed before it was launched. */
    void groupFailed(NcclException why) {
        for (int i = 0; i < size; i++) {
            members[i].groupFailed(why);
        }
    }

    /** Submits all, and drops those that are refused. */
    void submit(Group.Content group) {
        int submitted = 0;
        for (int i = 0; i < size; i++) {
            try {
                Submission.submit(members[i].executor(), tasks[i]);
                submitted = keep(i, submitted);
            } catch (RuntimeException | Error e) {
                group.refuse(Unforeseen.of(e, "in a group"), members[i].executor());
            }
        }
        truncate(submitted);
    }

    /** Continues all, and drops those whose streams wait for them. */
    void follow(Group.Content group) {
        int left = 0;
        for (int i = 0; i < size; i++) {
            boolean streamWaits = true;
            try {
                streamWaits = Submission.follow(members[i].executor(), tasks[i]);
            } catch (RuntimeException | Error e) {
                // Its communicator ends it; by then it may stand for another call.
                group.refuse(Unforeseen.of(e, "in a group"), members[i].executor());
            }
            left = streamWaits ? left : keep(i, left);
        }
        truncate(left);
    }

    /** Moves an operation to an earlier place; the place behind it. */
    private int keep(int from, int to) {
        members[to] = members[from];
        tasks[to] = tasks[from];
        return to + 1;
    }

    private void truncate(int to) {
        Arrays.fill(members, to, size, null);
        Arrays.fill(tasks, to, size, null);
        size = to;
    }

    /** The tasks of each communicator, in order. */
    Map<CommExecutor, List<Task>> byExecutor() {
        Map<CommExecutor, List<Task>> tasksOf = new LinkedHashMap<>();
        for (int i = 0; i < size; i++) {
            tasksOf.computeIfAbsent(members[i].executor(), e -> new ArrayList<>()).add(tasks[i]);
        }
        return tasksOf;
    }

    /** Leaves all to other threads, which keep an object until the end of each. */
    void leave(Object kept) {
        for (int i = 0; i < size; i++) {
            tasks[i].keep(kept);
            StreamAgent.attend(members[i].executor());
        }
    }

    /** Notes why some failed, if any did. */
    void failures(Group.Content group) {
        for (int i = 0; i < size; i++) {
            NcclException failed = tasks[i].failure();
            if (failed != null) {
                group.fail(failed);
            }
        }
    }

    /** Ends those that are under way. */
    void interrupt() {
        for (int i = 0; i < size; i++) {
            if (!tasks[i].over()) {
                Parting.interrupt(members[i].executor());
            }
        }
    }

    /** Fails all communicators: nobody can wait for the operations. */
    void tear() {
        for (int i = 0; i < size; i++) {
            Parting.tear(members[i].executor());
        }
    }
}
