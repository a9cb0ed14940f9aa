package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** {@link Sums} on communicators that do not block. */
final class NonBlocking {
    private NonBlocking() {}

    /** All-reduces count int32, waits, and compares. */
    static void allReduce(Communicator comm, int count) {
        allReduceAll(List.of(comm), count);
    }

    /** The same on several communicators of one thread. */
    static void allReduceAll(List<Communicator> comms, int count) {
        List<Place> places = comms.stream().map(Place::polled).toList();
        try {
            List<MemorySegment> data = new ArrayList<>();
            for (int i = 0; i < comms.size(); i++) {
                Communicator comm = comms.get(i);
                Place place = places.get(i);
                MemorySegment own = place.holding(Sums.filled(place.host(), comm.rank(), count));
                data.add(own);
                comm.inStream(place.stream()).allReduce(own, own, count, DataType.INT32, RedOp.SUM);
            }
            for (int i = 0; i < comms.size(); i++) {
                places.get(i).await();
                Sums.checkSum(places.get(i).get(data.get(i)), comms.get(i).count(), count);
            }
        } finally {
            places.forEach(Place::close);
        }
    }

    /** All-gathers count int32 a rank, waits, and compares. */
    static void allGather(Communicator comm, int count) {
        try (Place place = Place.polled(comm)) {
            Sums.allGather(comm, count, place);
        }
    }
}
