package org.jccl.type;

import java.io.Serializable;
import java.util.List;

/**
 * What the catalogue of errors says of one of them.
 *
 * @param raises the result code as in {@code nccl.h}, or the exception of Python
 * @param cause what has happened, and what became of the call
 * @param cure what the user does about it
 * @param sentences the texts of C or Python, with an ellipsis for each part that varies; those of
 *     Java stand where they are thrown
 */
public record Explanation(String raises, String cause, String cure, List<String> sentences)
        implements Serializable {
    /** An explanation whose sentences do not change. */
    public Explanation {
        sentences = List.copyOf(sentences);
    }

    /** Of an error that Java code throws. */
    static Explanation of(NcclResult result, String cause, String cure) {
        return new Explanation(result.ncclName(), cause, cure, List.of());
    }
}
