package org.jccl.machine;

import org.jccl.machine.Journal.Entry;
import org.jccl.machine.Plan.Fault;
import org.jccl.machine.Script.Kind;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Says what must not be in the journal of a job. */
final class Verdict {
    private static final Pattern RANK = Pattern.compile("\\branks? (\\d+)");

    /** How errors name the communicator, with the rank that reports; this blames nobody. */
    private static final Pattern IDENTITY =
            Pattern.compile("comm 0x\\p{XDigit}+ rank \\d+ nranks \\d+");

    /** Within this time survivors know who died. */
    private static final long KNOWN_NS = 5 * Machine.SECOND;

    private static final long ABORTED_NS = Machine.SECOND;

    private static final Set<Kind> ON_CHILD =
            EnumSet.of(Kind.CHILD_ALL_REDUCE, Kind.CHILD_CLOSE, Kind.CHILD_ABORT);

    /**
     * A rank because of which others may fail.
     *
     * @param split the one whose child it has aborted, of which alone it is to blame; 0 if it has
     *     gone altogether
     */
    private record Culprit(int rank, int split, long sinceNs) {}

    private final Plan plan;
    private final Script script;
    private final Journal journal;
    private final boolean met;
    private final List<Culprit> culprits = new ArrayList<>();
    private final List<String> complaints = new ArrayList<>();

    /**
     * Of a job.
     *
     * @param met whether the victim had told the others that it is there
     */
    Verdict(Plan plan, Journal journal, boolean met) {
        this.plan = plan;
        this.script = plan.script();
        this.journal = journal;
        this.met = met;
    }

    List<String> complaints() {
        if (journal.struckNs() > 0) {
            culprits.add(new Culprit(plan.victim(), 0, journal.struckNs()));
        }
        for (Entry entry : journal.entries()) {
            if (entry.failed()) {
                judge(entry);
            }
            if (entry.failed() || entry.result().equals("LEFT")) {
                culprits.add(new Culprit(entry.rank(), 0, entry.atNs()));
            } else if (entry.result().equals("CHILD_ABORTED")) {
                int split = script.splitOf(entry.step());
                culprits.add(new Culprit(entry.rank(), split, entry.atNs()));
            }
        }
        if (journal.abortedNs() - journal.struckNs() > ABORTED_NS) {
            complaints.add("abort took " + (journal.abortedNs() - journal.struckNs()) + " ns");
        }
        return complaints;
    }

    /** What this entry may call the culprit: nothing if that is nowhere in its communicators. */
    private Set<Integer> names(Entry entry, Culprit culprit) {
        Set<Integer> names = new TreeSet<>();
        Kind kind = script.kind(entry.step());
        boolean onChild = kind != null && ON_CHILD.contains(kind);
        int split = script.splitOf(entry.step());
        if (split > 0 && (onChild || kind == Kind.SPLIT)) {
            int colors = script.steps().get(split - 1).argument();
            boolean mates = entry.rank() % colors == culprit.rank() % colors;
            if (mates && (culprit.split() == 0 || culprit.split() == split)) {
                names.add(culprit.rank() / colors);
            }
        }
        if (!onChild && culprit.split() == 0) {
            names.add(culprit.rank());
        }
        return names;
    }

    private void judge(Entry entry) {
        Set<Integer> blamed = new TreeSet<>();
        long sinceNs = Long.MAX_VALUE;
        for (Culprit culprit : culprits) {
            Set<Integer> names = names(entry, culprit);
            if (!names.isEmpty() && culprit.sinceNs() <= entry.atNs()) {
                blamed.addAll(names);
                sinceNs = Math.min(sinceNs, culprit.sinceNs());
            }
        }
        boolean own = plan.fault() == Fault.ABORT_ELSEWHERE && entry.rank() == plan.victim();
        boolean code =
                switch (entry.result()) {
                    case "REMOTE_ERROR" -> !blamed.isEmpty();
                    case "INVALID_ARGUMENT" -> own;
                    case "TIMEOUT" -> entry.step() == 0 && !blamed.isEmpty();
                    default -> false;
                };
        if (!code) {
            complaints.add("not expected: " + entry);
            return;
        }
        boolean root =
                entry.step() == 0 && blamed.contains(0) && entry.text().contains("unique id");
        if (!own && !root && !namesOneOf(blamed, entry.text())) {
            complaints.add("names no culprit of " + blamed + ": " + entry);
        }
        if (entry.atNs() - sinceNs > limitNs(entry)) {
            complaints.add("late: " + entry);
        }
    }

    private static boolean namesOneOf(Set<Integer> blamed, String text) {
        Matcher matcher = RANK.matcher(IDENTITY.matcher(text).replaceAll(""));
        while (matcher.find()) {
            if (blamed.contains(Integer.parseInt(matcher.group(1)))) {
                return true;
            }
        }
        return false;
    }

    /** How long after the fault a rank may fail. */
    private long limitNs(Entry entry) {
        // Nobody misses a rank that never came, and a root that is gone might come back.
        boolean missed = plan.fault() != Fault.ABSENT && plan.victim() != 0 && met;
        long initNs =
                entry.step() > 0 || missed ? 0 : Schedule.INIT_TIMEOUT_SECONDS * Machine.SECOND;
        return KNOWN_NS + initNs + (plan.lengthens() ? plan.lengthNs() : 0);
    }

    /** Complains of a job after the fault, which has the survivors only. */
    List<String> complaintsOfNextJob() {
        for (Entry entry : journal.entries()) {
            if (entry.failed()) {
                complaints.add("in the next job: " + entry);
            }
        }
        return complaints;
    }
}
