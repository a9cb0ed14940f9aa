package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.harness.RankResult;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The sentences by which ranks are told of the faults of a {@link FaultPlan}. */
final class FaultCauses {
    /** What others see when a process is killed: its system ends its connections. */
    private static final String ENDED =
            "its process ended(?! or its connection)|"
                    + "its connection broke: (?:Connection reset by peer|Broken pipe)";

    private static final String SILENT = "[^;]*\\(the machine or the network between is lost";

    /** In the initialisation, before there are links; the reason is in parentheses at the end. */
    private static final String GONE =
            " has gone during the initialisation: its process ended or its connection broke ";

    private static final String CLOSED =
            "\\((?:the connection was closed|Connection reset by peer|Broken pipe)";

    private static final String TIMED_OUT =
            "\\((?:Connection timed out|No route to host|Network is unreachable)";

    /** The rank that waited, or the rank that has passed the sentence on. */
    private static final Pattern WITNESS =
            Pattern.compile(" while rank (\\d+) waited |\\(reported by rank (\\d+)\\)");

    private FaultCauses() {}

    /** The victim's process has ended, nothing else: it was killed, and its machine lives on. */
    static void requireDeath(RankResult end, FaultPlan plan) {
        String victim = "\\brank " + plan.victim();
        String before = "(?: \\([^)]*\\)|, whose process made the unique id,)" + GONE + CLOSED;
        String listener = " has ended: nobody listens at ";
        // A rank that has said goodbye to another has left, even if it is killed afterwards.
        String left = plan.phase() == FaultPlan.Phase.DESTROY ? "| has left " : "";
        String rank =
                victim
                        + ("(?: is lost: (?:" + ENDED + ")" + left)
                        + ("|" + before)
                        + ("|'s process \\d+ ended during init|'s process" + listener + ")");
        String root = "the process that made the unique id(?: \\([^)]*\\)" + GONE + CLOSED;
        boolean said = Pattern.compile(rank).matcher(end.text()).find();
        boolean rootGone =
                plan.victim() == 0
                        && Pattern.compile(root + "|" + listener + ")").matcher(end.text()).find();
        assertTrue(said || rootGone, () -> "not told that " + plan.victim() + " died: " + end);
    }

    /**
     * A rank that cannot be reached any more, said by one on the other side of the cut. If only one
     * direction is cut, the other side's end may be heard, too.
     */
    static void requireCut(RankResult end, FaultPlan plan, int rank) {
        boolean half = plan.kind() == FaultPlan.Kind.HALF_PARTITION;
        String lost = " is lost: (?:" + SILENT + (half ? "|" + ENDED : "") + ")";
        String gone = GONE + "(?:" + TIMED_OUT + (half ? "|" + CLOSED : "") + ")";
        String text = end.text();
        Matcher link = Pattern.compile("\\brank (\\d+)" + lost).matcher(text);
        if (link.find()) {
            requireAcross(end, plan, link.group(1), witness(text, rank));
            return;
        }
        Matcher setup = Pattern.compile("\\brank (\\d+) of the parent made no con").matcher(text);
        if (plan.phase() == FaultPlan.Phase.SPLIT && setup.find()) {
            requireAcross(end, plan, setup.group(1), witness(text, rank));
            return;
        }
        // The ranks meet at the process of rank 0, so rank 0 misses a rank that has gone.
        Matcher member = Pattern.compile("\\brank (\\d+) \\([^)]*\\)" + gone).matcher(text);
        if (member.find()) {
            requireAcross(end, plan, member.group(1), 0);
            return;
        }
        String root =
                "(?:rank 0, whose process made the unique id,"
                        + "|the process that made the unique id \\([^)]*\\))";
        assertTrue(
                Pattern.compile(root + gone).matcher(text).find(),
                () -> "not told of the cut: " + end);
        requireAcross(end, plan, "0", rank);
    }

    private static int witness(String text, int rank) {
        Matcher matcher = WITNESS.matcher(text);
        if (!matcher.find()) {
            return rank;
        }
        String waited = matcher.group(1);
        return Integer.parseInt(waited == null ? matcher.group(2) : waited);
    }

    private static void requireAcross(RankResult end, FaultPlan plan, String lost, int witness) {
        assertTrue(
                plan.side(Integer.parseInt(lost)) != plan.side(witness),
                () -> "rank " + witness + " is not cut off from rank " + lost + ": " + end);
    }
}
