package org.jccl.machine;

import org.jccl.machine.Journal.Entry;
import org.jccl.machine.Plan.Fault;
import org.jccl.machine.Script.Kind;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Says what must not be in the journal of a job. */
final class Verdict {
    private static final Pattern RANK = Pattern.compile("ranks? (\\d+)");

    /** Within this time survivors know who died. */
    private static final long KNOWN_NS = 5 * Machine.SECOND;

    private static final long ABORTED_NS = Machine.SECOND;

    private final Plan plan;
    private final Journal journal;
    private final boolean met;
    private final List<String> complaints = new ArrayList<>();

    /**
     * Of a job.
     *
     * @param met whether the victim had told the others that it is there
     */
    Verdict(Plan plan, Journal journal, boolean met) {
        this.plan = plan;
        this.journal = journal;
        this.met = met;
    }

    List<String> complaints() {
        Set<Integer> culprits = new TreeSet<>();
        if (plan.hasCulprit()) {
            culprits.addAll(names(plan.victim()));
        }
        for (Entry entry : journal.entries()) {
            if (entry.failed()) {
                judge(entry, culprits);
            }
            if (entry.failed() || entry.result().equals("LEFT")) {
                culprits.addAll(names(entry.rank()));
            }
        }
        if (journal.abortedNs() - journal.struckNs() > ABORTED_NS) {
            complaints.add("abort took " + (journal.abortedNs() - journal.struckNs()) + " ns");
        }
        return complaints;
    }

    /** The rank's numbers, in the job and in its children. */
    private Set<Integer> names(int rank) {
        Set<Integer> names = new TreeSet<>(Set.of(rank));
        plan.script().steps().stream()
                .filter(step -> step.kind() == Kind.SPLIT)
                .forEach(step -> names.add(rank / step.argument()));
        return names;
    }

    private void judge(Entry entry, Set<Integer> culprits) {
        if (plan.abortsChildren() && entry.result().equals("REMOTE_ERROR")) {
            return;
        }
        boolean own = plan.fault() == Fault.ABORT_ELSEWHERE && entry.rank() == plan.victim();
        boolean code =
                switch (entry.result()) {
                    case "REMOTE_ERROR" -> !culprits.isEmpty();
                    case "INVALID_ARGUMENT" -> own;
                    case "TIMEOUT" -> entry.step() == 0 && !culprits.isEmpty();
                    default -> false;
                };
        if (!code) {
            complaints.add("not expected: " + entry);
            return;
        }
        Set<Integer> named = new TreeSet<>();
        Matcher matcher = RANK.matcher(entry.text());
        while (matcher.find()) {
            named.add(Integer.parseInt(matcher.group(1)));
        }
        named.retainAll(culprits);
        boolean root = entry.step() == 0 && entry.text().contains("unique id");
        if (named.isEmpty() && !root) {
            complaints.add("names no culprit of " + culprits + ": " + entry);
        }
        // Nobody misses a rank that never came, and a root that is gone might come back.
        boolean rootLost = entry.step() == 0 && (plan.victim() == 0 || !met);
        boolean never = plan.fault() == Fault.ABSENT || plan.lengthens();
        if (!never && !rootLost && entry.atNs() - faultNs() > KNOWN_NS) {
            complaints.add("late: " + entry);
        }
    }

    private long faultNs() {
        return journal.entries().stream()
                .filter(entry -> entry.rank() == plan.victim() && entry.result().equals("LEFT"))
                .mapToLong(Entry::atNs)
                .findFirst()
                .orElse(journal.struckNs());
    }

    /** Of a job after the fault, with the survivors only. */
    List<String> complaintsOfNextJob() {
        for (Entry entry : journal.entries()) {
            if (entry.failed()) {
                complaints.add("in the next job: " + entry);
            }
        }
        return complaints;
    }
}
