package org.jccl.fuzz;

import org.jccl.type.NcclException;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Code that reads bytes from outside, and all that it may answer.
 *
 * @param name of its file of inputs
 * @param cost how much dearer one input is than the cheapest kind's
 * @param seeds valid encodings, from which inputs are made
 * @param reader the code
 * @param answers what the reader may return
 * @param refusals by a short name, what the sentence of an NcclException must contain; of several
 *     that fit the longest counts
 */
public record FuzzTarget(
        String name,
        int cost,
        List<byte[]> seeds,
        Reader reader,
        Set<String> answers,
        Map<String, String> refusals) {
    private static final Pattern CONTROL = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");
    private static final int LONGEST_SENTENCE = 2_000;

    /** Reads one input; what is returned, or the sentence that is thrown, is the outcome. */
    @FunctionalInterface
    public interface Reader {
        /** Anything but an NcclException is a failure of the test. */
        String read(byte[] input) throws Exception;
    }

    /** All outcomes that are allowed, each of which must come about. */
    Set<String> outcomes() {
        Set<String> all = new TreeSet<>(answers);
        all.addAll(refusals.keySet());
        return all;
    }

    /** Reads one input; whatever is not allowed is thrown. */
    String outcome(byte[] input) throws Exception {
        String answer;
        try {
            answer = reader.read(input);
        } catch (NcclException refused) {
            return nameOf(refused);
        }
        if (!answers.contains(answer)) {
            throw new AssertionError("unexpected answer: " + answer);
        }
        return answer;
    }

    private String nameOf(NcclException refused) {
        String sentence = String.valueOf(refused.getMessage());
        if (sentence.length() > LONGEST_SENTENCE || CONTROL.matcher(sentence).find()) {
            throw new AssertionError("not a sentence that can be logged", refused);
        }
        return refusals.entrySet().stream()
                .filter(each -> sentence.contains(each.getValue()))
                .max(Comparator.comparingInt(each -> each.getValue().length()))
                .map(Map.Entry::getKey)
                .orElseThrow(() -> new AssertionError("unexpected refusal", refused));
    }

    @Override
    public String toString() {
        return name;
    }
}
