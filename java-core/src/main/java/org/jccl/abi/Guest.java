package org.jccl.abi;

import org.jccl.comm.Comm;
import org.jccl.comm.CommState;
import org.jccl.comm.Creation;
import org.jccl.platform.Threads;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A rank that is a program in a guest language of this JVM, such as a Python script. It knows which
 * communicators its threads have made, so that its host can end those that the program leaves
 * behind: the process, whose end would tell the other ranks, goes on.
 */
public final class Guest implements AutoCloseable {
    /** Who makes communicators on this thread, and on Java threads that it starts. */
    private static final ThreadLocal<Guest> CURRENT = new InheritableThreadLocal<>();

    /** How long another thread may take to end a communicator; it need not wait for peers. */
    private static final long END_NS = 10_000_000_000L;

    /** Programs that nobody has started as a rank; they end with the process. */
    private static final Guest ALONE = new Guest(0, null);

    private final int rank;
    private final @Nullable Exchange exchange;

    /** Handles that it has not destroyed, and some that it has; its threads and its host write. */
    private final Set<Long> made = ConcurrentHashMap.newKeySet();

    /** Addresses of ncclMemAlloc that it has not freed; its threads and its host write. */
    private final Set<Long> memory = ConcurrentHashMap.newKeySet();

    /** How many texts it has given or asked for; its threads write. */
    private final AtomicInteger exchanges = new AtomicInteger();

    /** The number of the first text for which it has waited in vain; its threads write. */
    private final AtomicInteger firstMissed = new AtomicInteger(Integer.MAX_VALUE);

    /** Set when the program has ended (volatile): a thread that it left makes nothing more. */
    private volatile boolean closed;

    private Guest(int rank, @Nullable Exchange exchange) {
        this.rank = rank;
        this.exchange = exchange;
    }

    /**
     * Ranks that find each other in this JVM.
     *
     * @param ranks how many
     * @return one for each rank
     */
    public static List<Guest> team(int ranks) {
        LifeCycle.watchInits((id, creation) -> current().watch(id, creation));
        Exchange exchange = new Exchange(ranks);
        List<Guest> team = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            team.add(new Guest(rank, exchange));
        }
        return team;
    }

    /** The rank to which this thread belongs. */
    public static Guest current() {
        Guest guest = CURRENT.get();
        return guest == null ? ALONE : guest;
    }

    /** Makes this thread one of the rank's, until another rank enters. */
    public void enter() {
        CURRENT.set(this);
        GuestApi.resetSlice();
    }

    /** Which rank it is. */
    public int rank() {
        return rank;
    }

    /** What the ranks of its team hand to each other; null if it is alone. */
    @Nullable Exchange exchange() {
        return exchange;
    }

    int nextExchange() {
        return exchanges.getAndIncrement();
    }

    /** A communicator is in the making by an id, perhaps one that rank 0 of its team has given. */
    void watch(byte[] id, Creation creation) {
        if (exchange != null) {
            exchange.watch(HexFormat.of().formatHex(id), creation);
        }
    }

    void missed(int number) {
        firstMissed.accumulateAndGet(number, Math::min);
    }

    void allocated(long address) {
        memory.add(address);
    }

    void freed(long address) {
        memory.remove(address);
    }

    /** Frees what the program has left of ncclMemAlloc; none of its threads may go on. */
    public void freeMemory() {
        for (long address : List.copyOf(memory)) {
            NcclApi.memFree(address);
            memory.remove(address);
        }
    }

    /** The guest has this communicator now. Aborts it if the program has ended meanwhile. */
    void made(long handle) {
        made.removeIf(each -> Handles.find(each) == null);
        made.add(handle);
        if (closed) {
            close();
        }
    }

    /**
     * Aborts the communicators that the program has left. When this returns, no operation uses the
     * memory of the program, and its peers know.
     */
    @Override
    public void close() {
        closed = true;
        if (exchange != null) {
            exchange.end(rank, Math.min(exchanges.get(), firstMissed.get()));
        }
        List<Long> left = List.copyOf(made);
        for (long handle : left) {
            Comm comm = Handles.find(handle);
            if (comm != null && comm.state() == CommState.DESTROYED) {
                // Another thread is ending it, and need not wait for anything any more.
                comm.abort();
            } else if (comm != null) {
                NcclApi.commAbort(handle);
            }
        }
        long since = System.nanoTime();
        for (long handle : left) {
            for (int i = 0;
                    Handles.find(handle) != null && System.nanoTime() - since < END_NS;
                    i++) {
                Threads.pause(i);
            }
            made.remove(handle);
        }
    }
}
