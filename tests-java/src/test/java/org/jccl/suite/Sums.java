package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

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
        MemorySegment data = arena.allocate(4L * count, 8);
        for (int i = 0; i < count; i++) {
            data.setAtIndex(ValueLayout.JAVA_INT, i, rank + i);
        }
        return data;
    }

    /** Compares with the sum of what nRanks ranks give. */
    static void checkSum(MemorySegment data, int nRanks, int count) {
        for (int i = 0; i < count; i++) {
            int expected = nRanks * (nRanks - 1) / 2 + nRanks * i;
            int found = data.getAtIndex(ValueLayout.JAVA_INT, i);
            require(found == expected, "sum " + found + " at " + i + ", not " + expected);
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
        MemorySegment content = place.host().allocate(4L * count, 8);
        for (int i = 0; i < count; i++) {
            content.setAtIndex(ValueLayout.JAVA_INT, i, comm.rank());
        }
        MemorySegment own = place.holding(content);
        MemorySegment all = place.allocate(4L * count * nRanks);
        comm.inStream(place.stream()).allGather(own, all, count, DataType.INT32);
        place.await();
        checkGathered(place.get(all), nRanks, count);
    }

    /** Compares with what {@link #allGather} must find. */
    static void checkGathered(MemorySegment all, int nRanks, int count) {
        for (int i = 0; i < nRanks * count; i++) {
            int found = all.getAtIndex(ValueLayout.JAVA_INT, i);
            require(found == i / count, found + " at " + i + ", not " + i / count);
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
