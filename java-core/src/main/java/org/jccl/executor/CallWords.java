package org.jccl.executor;

import org.jccl.plan.Plan;
import org.jccl.platform.Memory;
import org.jccl.transport.CallRecord;
import org.jccl.transport.Frame;
import org.jccl.transport.Links;
import org.jccl.transport.RegionLayout;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * The numbered calls of a communicator: what this rank publishes before it does anything else, and
 * what it knows of the others. A call word holds the number and a hash of operation, type,
 * reduction operation, root and count, so that ranks that called differently find out.
 *
 * <p>Used by the owner of the communicator only, so its fields are plain.
 */
final class CallWords {
    private static final int POLLS = 64;

    /**
     * By how many calls a rank may be ahead of one that it has not heard from, where devices run
     * them. When a rank compares the word of such a call, it has published as many calls as this
     * after it, and another rank as many again: less than the words have lines.
     */
    static final int MOST_AHEAD = RegionLayout.WORD_LINES / 2;

    /** The low bits of numbers of calls, of which the last ones concern everybody. */
    private static final int LAST = (1 << 24) - 1;

    private final Links links;
    private final int rank;
    private final int nRanks;
    private final int[] mates;

    /** All ranks behind TCP. */
    private final int[] far;

    /** Offsets of the words of calls, which use these in turn. */
    private final long[] words;

    /** By call, in the order of its words, the hash. */
    private final int[] hashes = new int[RegionLayout.WORD_LINES];

    private long number;
    private int hash;
    private long word;
    private long heard;
    private int scanned;

    /**
     * Those that the current call concerns; below, the call before, and the one before that. Before
     * the first call these are all, so that ranks whose first calls differ find out.
     */
    private int[] partners;

    private int[] partnersBefore = {};
    private int[] partnersLong = {};

    /** The last call that was published. */
    private long published;

    private long publishedDescription;
    private long publishedCount;
    private final Blocked blocked;

    /**
     * The calls of one communicator.
     *
     * @param blocked learns which rank's word is awaited
     */
    CallWords(Links links, Blocked blocked) {
        this.links = links;
        this.blocked = blocked;
        this.rank = links.rank();
        this.nRanks = links.nRanks();
        this.mates =
                IntStream.range(0, nRanks)
                        .filter(q -> q != rank && !links.peer(q).isRemote())
                        .toArray();
        this.far = IntStream.range(0, nRanks).filter(q -> links.peer(q).isRemote()).toArray();
        this.partners = far;
        this.words = new long[RegionLayout.WORD_LINES];
        Arrays.setAll(words, call -> RegionLayout.callWord(nRanks, call));
    }

    /**
     * Numbers the next call, which concerns these of the ranks behind TCP. Now and then calls count
     * as concerning all, so that no line keeps a word that is older than numbers can be compared.
     */
    void next(long description, long count, int[] concerned) {
        number++;
        partnersLong = partnersBefore;
        partnersBefore = partners;
        partners = (number & LAST) > LAST - RegionLayout.WORD_LINES ? far : concerned;
        hash = CallRecord.hash(description, count);
        hashes[line(number)] = hash;
        word = CallRecord.word(number, hash);
        scanned = 0;
    }

    long number() {
        return number;
    }

    int parity() {
        return (int) (number & 1);
    }

    long word() {
        return word;
    }

    /**
     * Writes the record of the call and, unless a tiny message does that, its word.
     *
     * @param buffers the table in which the plan finds the caller's buffers
     * @param withWord whether to write the word
     */
    void publish(Task task, long[] buffers, boolean withWord) {
        long base = links.ownBase();
        CallRecord.writeInput(base, number, buffers[Plan.IN]);
        CallRecord.write(base, number, task.description, task.count());
        published = number;
        publishedDescription = task.description;
        publishedCount = task.count();
        if (withWord) {
            Memory.putLongRelease(address(rank), word);
            links.wakeSleepers();
        }
    }

    /** Notes that every rank is in the current call. */
    void heardAll() {
        heard = number;
    }

    /** The ranks behind TCP that the call before concerned. */
    int[] partnersBefore() {
        return partnersBefore;
    }

    /** The number of the last call that was published. */
    long published() {
        return published;
    }

    /** Adds the last call that was published to a frame. */
    void write(Frame frame) {
        frame.call(published, publishedDescription, publishedCount);
    }

    /**
     * The call that all must have come to before this rank publishes the current one. On the host
     * it is the one before: what a call leaves in a region, the next but one may overwrite.
     *
     * @param onDevice whether a device runs the current one, so that it leaves nothing
     */
    long credit(boolean onDevice) {
        return number - (onDevice && far.length == 0 ? MOST_AHEAD : 1);
    }

    /**
     * Whether every mate, and every other rank that the call before it concerned, has published
     * this call or a later one, and so has finished the call before it; polls a little.
     *
     * @param call the current one or that of {@link #credit}, unless that has been heard
     */
    boolean hear(long call) {
        if (heard >= call) {
            return true;
        }
        int[] far = finishing(call);
        for (; scanned < mates.length + far.length; scanned++) {
            int q = scanned < mates.length ? mates[scanned] : far[scanned - mates.length];
            if (!heardFrom(q, call)) {
                return false;
            }
        }
        scanned = 0;
        heard = call;
        return true;
    }

    /** The ranks behind TCP that tell this rank of a call, since that before it concerned them. */
    private int[] finishing(long call) {
        return call == number ? partnersBefore : partnersLong;
    }

    /** Whether {@link #hear} of this call lacks rank {@code q}. */
    boolean lacks(int q, long call) {
        boolean tells = !links.peer(q).isRemote() || Arrays.binarySearch(finishing(call), q) >= 0;
        return heard < call && tells && !reached(q, call);
    }

    private boolean heardFrom(int q, long call) {
        long at = address(q, call);
        long seen = 0;
        for (int i = 0; i < POLLS; i++) {
            seen = Memory.getLongAcquire(at);
            if (ahead(seen, call) >= 0) {
                for (long each = heard + 1; each <= call; each++) {
                    compare(q, each);
                }
                return true;
            }
            if (!links.receive(q)) {
                break;
            }
            links.pause();
        }
        return blocked.on(q, at, seen);
    }

    /** The error for ranks that called differently; names both calls. */
    NcclException mismatch(int q, long call) {
        return ErrorKind.CALLED_DIFFERENTLY.says(
                "ranks called differently: rank %s made %s, rank %s made %s; every "
                        + "rank must make the same calls in the same order on a communicator",
                rank,
                CallRecord.read(links.ownBase(), call),
                q,
                CallRecord.read(links.base(q), call));
    }

    /** Where rank {@code q} publishes the word of this call. */
    long address(int q) {
        return address(q, number);
    }

    private long address(int q, long call) {
        return links.base(q) + offset(call);
    }

    /** Offset of the word of a call. */
    long offset(long call) {
        return words[line(call)];
    }

    private static int line(long call) {
        return (int) call & (RegionLayout.WORD_LINES - 1);
    }

    /**
     * Offset of a call's tiny message: in front of the call word, in its line, or else in a slot of
     * the call's parity. The word is stored last, so that a rank that sees it sees the message.
     */
    long tiny(long call, int bytes) {
        return bytes <= RegionLayout.LINE_PAYLOAD
                ? offset(call) - RegionLayout.LINE_PAYLOAD
                : RegionLayout.tiny(nRanks, (int) call & 1);
    }

    /** By how many calls the word of a rank is ahead of this call. */
    private static int ahead(long seen, long call) {
        return (int) (seen >>> 32) - (int) call;
    }

    /** Whether rank {@code q} has published exactly this call, and so its tiny message. */
    boolean hasWordOf(int q) {
        return Memory.getLongAcquire(address(q)) == word;
    }

    /**
     * Checks a rank that has signalled from this call or a later one. It published the word of this
     * call before, and keeps it while this rank is in the call.
     *
     * @throws NcclException if its call is a different one
     */
    void requireSameCall(int q) {
        if (!hasWordOf(q)) {
            throw mismatch(q, number);
        }
    }

    /**
     * Looks for a rank whose current call differs from this one, or one of those before that not
     * all ranks have been heard to make.
     *
     * @throws NcclException if there is one; it names the first such call
     */
    void checkPeers() {
        for (long call = Math.min(heard + 1, number); call <= number; call++) {
            for (int q = 0; q < nRanks; q++) {
                if (q != rank) {
                    compare(q, call);
                }
            }
        }
    }

    /** Refuses the word of rank {@code q} of this call, if it still stands there and differs. */
    private void compare(int q, long call) {
        long seen = Memory.getLongAcquire(address(q, call));
        if (ahead(seen, call) == 0 && (int) seen != hashes[line(call)]) {
            throw mismatch(q, call);
        }
    }

    /**
     * Waits for a rank that has not published the word of this call, a different one in each turn.
     */
    void awaitAnyOf(long call, int turn) {
        for (int i = 0; i < nRanks; i++) {
            int q = (turn % nRanks + i) % nRanks;
            long seen = Memory.getLongAcquire(address(q, call));
            if (q != rank && ahead(seen, call) < 0) {
                blocked.on(q, address(q, call), seen);
                return;
            }
        }
    }

    /** Whether the current call concerns rank {@code q}, or it is a mate. */
    boolean concerns(int q) {
        return !links.peer(q).isRemote() || Arrays.binarySearch(partners, q) >= 0;
    }

    /**
     * Whether this rank knows that rank {@code q} has published this call or a later one. Of the
     * later one it may have been told, and not of this one.
     */
    boolean reached(int q, long call) {
        for (long later = call; later < call + RegionLayout.WORD_LINES; later++) {
            if (ahead(Memory.getLongAcquire(address(q, later)), call) >= 0) {
                return true;
            }
        }
        return false;
    }
}
