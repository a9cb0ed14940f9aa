package org.jccl.abi;

import org.jccl.bootstrap.Rendezvous;
import org.jccl.comm.Comm;
import org.jccl.comm.CommState;
import org.jccl.comm.Creation;
import org.jccl.comm.DropJob;
import org.jccl.device.Devices;
import org.jccl.group.Group;
import org.jccl.group.Launch;
import org.jccl.param.Params;
import org.jccl.platform.Memory;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclResult;
import org.jccl.type.Unforeseen;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;

/** Creation, split and end of communicators. */
final class LifeCycle {
    /** Handles of communicators that end because their users have lost them. */
    private static final Set<Long> DROPPED = ConcurrentHashMap.newKeySet();

    static {
        // This first call links classes: one that is made when memory is short could not.
        end(0, false);
    }

    /** Who watches inits, if anybody does; any thread (volatile). */
    private static volatile @Nullable BiConsumer<byte[], Creation> watcher;

    private LifeCycle() {}

    /**
     * A creation and the handle that its caller has. One that fails while its caller waits leaves
     * no handle behind; in a group the caller keeps the handle, to abort it.
     */
    private record Opening(Creation creation, long handle, long commOut) implements Runnable {
        /** Aborts the communicator, however far it has come, and forgets its handle. */
        void undo() {
            try {
                creation.comm().abort();
            } finally {
                run();
            }
        }

        /** Forgets the handle: by itself, since memory may be too short for another object. */
        @Override
        public void run() {
            Handles.remove(handle);
            if (commOut != 0) {
                Memory.putLong(commOut, 0);
            }
        }
    }

    static void getUniqueId(long id) {
        Checked.pointer("GetUniqueId", "uniqueId", id);
        Memory.copyIn(Rendezvous.createId().toBytes(), 0, id, UniqueId.BYTES);
    }

    /** From now on it is told the id and the making of each communicator. */
    static void watchInits(BiConsumer<byte[], Creation> inits) {
        watcher = inits;
    }

    static NcclResult initRank(long commOut, int nRanks, long id, int rank, long config) {
        Checked.pointer("CommInitRank", "comm", commOut);
        Checked.pointer("CommInitRank", "commId", id);
        NcclConfig read = ConfigReader.read(config);
        byte[] bytes = new byte[UniqueId.BYTES];
        Memory.copyOut(id, bytes, 0, bytes.length);
        Creation creation = Creation.init(new UniqueId(bytes), nRanks, rank, read);
        Opening opening = present(creation, commOut);
        BiConsumer<byte[], Creation> told = watcher;
        if (told != null) {
            told.accept(bytes, creation);
        }
        return begin(opening, creation.blocking(), NcclResult.IN_PROGRESS);
    }

    /** Checks the arguments that only ncclCommInitRankScalable takes. */
    static void requireIds(int nRanks, int nId) {
        if (nRanks < 1) {
            throw ErrorKind.RANK_COUNT.says(
                    "CommInitRankScalable : nranks %s must be positive", nRanks);
        }
        if (nId < 1 || nId > nRanks) {
            throw ErrorKind.ID_COUNT.says(
                    "CommInitRankScalable : nId %s must lie in [1, %s]", nId, nRanks);
        }
    }

    /** Gives the caller a handle before the communicator is ready. */
    private static Opening present(Creation creation, long commOut) {
        long handle = 0;
        try {
            handle = Handles.add(creation.comm());
            Opening opening = new Opening(creation, handle, commOut);
            Memory.putLong(commOut, handle);
            return opening;
        } catch (RuntimeException | Error e) {
            Handles.remove(handle);
            creation.ended(Unforeseen.of(e, "in a call"));
            throw e;
        }
    }

    /**
     * Runs a creation in the open group, on this thread if its caller waits, or in the background.
     *
     * @param begun the result if it runs in the background
     */
    private static NcclResult begin(Opening opening, boolean waits, NcclResult begun) {
        if (Group.current().open()) {
            queue(opening);
            return NcclResult.SUCCESS;
        }
        if (waits) {
            return Parking.current().await(opening.creation, opening);
        }
        opening.creation.start();
        return begun;
    }

    private static void queue(Opening opening) {
        try {
            Group.current().add(opening.creation);
        } catch (RuntimeException | Error e) {
            opening.run();
            throw e;
        }
    }

    static NcclResult initAll(long comms, int nDev, long devList) {
        Checked.pointer("CommInitAll", "comms", comms);
        checkDevices(nDev, devList);
        UniqueId id = Rendezvous.createId();
        List<Opening> openings = new ArrayList<>();
        // If one fails, none is left.
        Runnable undo = () -> openings.forEach(Opening::undo);
        Group group = Group.current();
        group.start();
        try {
            for (int rank = 0; rank < nDev; rank++) {
                int number = devList == 0 ? rank : Memory.getInt(devList + 4L * rank);
                String device = Devices.numbered(Params.DEVICE.text(), number);
                NcclConfig config = NcclConfig.DEFAULT.withDevice(device);
                Creation creation = Creation.initBlocking(id, nDev, rank, config);
                openings.add(present(creation, comms + 8L * rank));
                queue(openings.getLast());
            }
        } catch (Throwable t) {
            group.remember(Unforeseen.of(t, "in CommInitAll"));
        }
        Launch launch;
        try {
            launch = group.end();
        } catch (RuntimeException | Error e) {
            undo.run();
            throw e;
        }
        return launch == null ? NcclResult.SUCCESS : Parking.current().await(launch, undo);
    }

    private static void checkDevices(int nDev, long devList) {
        if (nDev < 1) {
            throw ErrorKind.RANK_COUNT.says("CommInitAll : ndev %s must be positive", nDev);
        }
        if (nDev > Rendezvous.MAX_RANKS) {
            throw ErrorKind.RANK_COUNT.says(
                    "CommInitAll : ndev is %s; a communicator has at most %s ranks",
                    nDev, Rendezvous.MAX_RANKS);
        }
        Set<Integer> listed = new HashSet<>();
        for (int i = 0; devList != 0 && i < nDev; i++) {
            int device = Memory.getInt(devList + 4L * i);
            if (device < 0) {
                throw ErrorKind.DEVICE_NUMBER.says(
                        "CommInitAll : invalid device %s; the first one is 0", device);
            }
            if (!listed.add(device)) {
                throw ErrorKind.DEVICE_TWICE.says(
                        "CommInitAll : device %s is listed twice", device);
            }
        }
    }

    /** A split that does not block returns SUCCESS, as NCCL's does. */
    static NcclResult split(long handle, int color, int key, long newComm, long config) {
        Comm parent = Handles.get(handle, "CommSplit");
        Checked.pointer("CommSplit", "newcomm", newComm);
        Memory.putLong(newComm, 0);
        parent.ensureReady();
        NcclConfig read = config == 0 ? null : ConfigReader.read(config);
        Creation creation = Creation.split(parent, color, key, read);
        boolean joins = color != Creation.NOCOLOR;
        Opening opening = joins ? present(creation, newComm) : new Opening(creation, 0, 0);
        return begin(opening, parent.blocking(), NcclResult.SUCCESS);
    }

    static NcclResult finish(long handle) {
        if (handle == 0) {
            return NcclResult.SUCCESS;
        }
        Comm comm = Handles.get(handle, "CommFinalize");
        NcclResult begun = Parking.awaitOrLeave(comm, comm.finish());
        return comm.blocking() ? begun : comm.asyncError();
    }

    /** For a garbage collector: never waits, and logs no mistake of its caller. */
    static int drop(long handle) {
        try {
            Comm comm = Handles.find(handle);
            if (comm == null) {
                return NcclResult.INVALID_ARGUMENT.code();
            }
            if (!DROPPED.add(handle)) {
                return NcclResult.IN_PROGRESS.code();
            }
            if (DropJob.start(comm, () -> forget(handle))) {
                return NcclResult.SUCCESS.code();
            }
            forget(handle);
            return NcclResult.INVALID_ARGUMENT.code();
        } catch (Throwable t) {
            // The collector can drop it again, when there is memory.
            DROPPED.remove(handle);
            return Answer.refused(handle, t);
        }
    }

    private static void forget(long handle) {
        Handles.remove(handle);
        DROPPED.remove(handle);
    }

    static int end(long handle, boolean abort) {
        // This comes first, since even the first use of a text takes memory.
        Reserve.open();
        try {
            if (handle == 0) {
                return NcclResult.SUCCESS.code();
            }
            Comm comm = Handles.get(handle, abort ? "CommAbort" : "CommDestroy");
            if (!ended(comm, handle, abort)) {
                throw ErrorKind.ALREADY_ENDED.says(
                        "%s has already been destroyed; destroy or abort it once", comm.identity());
            }
            return NcclResult.SUCCESS.code();
        } catch (Throwable t) {
            return Answer.refused(handle, t);
        } finally {
            Reserve.close();
        }
    }

    /**
     * Ends the communicator. If that fails half-way its handle goes, too: nobody can end it again.
     */
    private static boolean ended(Comm comm, long handle, boolean abort) {
        boolean first = true;
        try {
            first = abort ? comm.abort() : comm.destroy();
            return first;
        } finally {
            if (first && comm.state() == CommState.DESTROYED) {
                Handles.remove(handle);
            }
        }
    }
}
