package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/** Collectives whose right result is known without an oracle, for tests of everything else. */
final class Sums {
    private Sums() {}

    /** A 4-byte all-reduce, and the right sum. */
    static void barrier(Communicator comm) {
        allReduce(comm, 1);
    }

    /** All-reduces count int32, of which rank r gives r + i, and compares. */
    static void allReduce(Communicator comm, int count) {
        try (Place place = Place.of(comm)) {
            MemorySegment data = place.holding(filled(place.host(), comm.rank(), count));
            comm.inStream(place.stream()).allReduce(data, data, count, DataType.INT32, RedOp.SUM);
            place.await();
            checkSum(place.get(data), comm.count(), count);
        }
    }

    /** The contribution of rank {@code rank}: rank + i at index i. */
    static MemorySegment filled(Arena arena, int rank, int count) {
        int[] content = new int[count];
        for (int i = 0; i < count; i++) {
            content[i] = rank + i;
        }
        return holding(arena, content);
    }

    /** Native memory with this content. In a process of ranks a loop over an array costs less. */
    static MemorySegment holding(Arena arena, int[] content) {
        MemorySegment data = arena.allocate(4L * content.length, 8);
        data.copyFrom(MemorySegment.ofArray(content));
        return data;
    }

    /** The first elements of this memory. */
    static int[] ints(MemorySegment data, int count) {
        int[] content = new int[count];
        MemorySegment.copy(data, ValueLayout.JAVA_INT, 0, content, 0, count);
        return content;
    }

    /** Compares with the sum of what nRanks ranks give. */
    static void checkSum(MemorySegment data, int nRanks, int count) {
        check(data, count, nRanks * (nRanks - 1) / 2, nRanks);
    }

    /** Compares with numbers that begin with the first and grow by the step. */
    static void check(MemorySegment data, int count, int first, int step) {
        int[] found = ints(data, count);
        for (int i = 0; i < count; i++) {
            int expected = first + step * i;
            if (found[i] != expected) {
                throw new AssertionError(found[i] + " at " + i + ", not " + expected);
            }
        }
    }

    /** All-gathers count int32 a rank, of which each is the rank, and compares. */
    static void allGather(Communicator comm, int count) {
        try (Place place = Place.of(comm)) {
            allGather(comm, count, place);
        }
    }

    /** The same in a place that the caller closes. */
    static void allGather(Communicator comm, int count, Place place) {
        int nRanks = comm.count();
        int[] content = new int[count];
        Arrays.fill(content, comm.rank());
        MemorySegment own = place.holding(holding(place.host(), content));
        MemorySegment all = place.allocate(4L * count * nRanks);
        comm.inStream(place.stream()).allGather(own, all, count, DataType.INT32);
        place.await();
        checkGathered(place.get(all), nRanks, count);
    }

    /** Compares with what {@link #allGather} must find. */
    static void checkGathered(MemorySegment all, int nRanks, int count) {
        int[] found = ints(all, nRanks * count);
        for (int i = 0; i < found.length; i++) {
            if (found[i] != i / count) {
                throw new AssertionError(found[i] + " at " + i + ", not " + i / count);
            }
        }
    }

    /** Whether every rank says yes. */
    static boolean allAgree(Communicator comm, boolean mine) {
        try (Place place = Place.of(comm)) {
            MemorySegment vote = place.host().allocate(4, 8);
            vote.set(ValueLayout.JAVA_INT, 0, mine ? 1 : 0);
            MemorySegment word = place.holding(vote);
            comm.inStream(place.stream()).allReduce(word, word, 1, DataType.INT32, RedOp.MIN);
            place.await();
            return place.get(word).get(ValueLayout.JAVA_INT, 0) == 1;
        }
    }

    static void require(boolean condition, String sentence) {
        if (!condition) {
            throw new AssertionError(sentence);
        }
    }
}
