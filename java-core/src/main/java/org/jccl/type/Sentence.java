package org.jccl.type;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/** Sentences with parts. They stand in the sources whole, so that they can be searched for. */
public final class Sentence {
    private Sentence() {}

    /** The sentence with a part in place of each %s; without parts, the sentence as it is. */
    public static String of(String sentence, @Nullable Object... parts) {
        StringBuilder text = new StringBuilder();
        int from = 0;
        for (@Nullable Object part : parts) {
            int at = sentence.indexOf("%s", from);
            if (at < 0) {
                // A part too many must not hide what has failed.
                break;
            }
            text.append(sentence, from, at).append(part);
            from = at + 2;
        }
        return text.append(sentence, from, sentence.length()).toString();
    }

    /** {@code "rank 3"} or {@code "ranks 3, 5"}. */
    public static String ranks(int... ranks) {
        StringBuilder text = new StringBuilder(ranks.length == 1 ? "rank " : "ranks ");
        for (int i = 0; i < ranks.length; i++) {
            text.append(i == 0 ? "" : ", ").append(ranks[i]);
        }
        return text.toString();
    }

    /** The same with at most so many names: {@code "ranks 3, 5 and 7 more"}. */
    public static String ranks(int[] ranks, int most) {
        int more = Math.max(0, ranks.length - most);
        String named = ranks(Arrays.copyOf(ranks, ranks.length - more));
        return more == 0 ? named : named + " and " + more + " more";
    }
}
