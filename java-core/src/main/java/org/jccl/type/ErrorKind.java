package org.jccl.type;

import org.jspecify.annotations.Nullable;

import java.io.Serializable;

/**
 * A kind of error of the Java core. {@link #says} makes its exceptions, and nothing else can, so
 * that each exception stands in {@code docs/errors.md}. The first chapters of that page have an
 * entry for each constant of these enums: its code and sentences, which a test writes there, and
 * its cause and cure, which a person writes.
 */
public sealed interface ErrorKind extends Serializable
        permits CallError, InitError, PeerError, LibraryError {
    /** The name of its entry in the page, unique there. */
    String name();

    /** The code that a C caller gets, unless the failure tells of another one. */
    NcclResult result();

    /**
     * A failure of this kind.
     *
     * @param sentence says what, where, which rank, and what to do; each %s stands for a part
     */
    default NcclException says(String sentence, @Nullable Object... parts) {
        return new NcclException(this, result(), Sentence.of(sentence, parts), null);
    }

    /** The same with its cause. */
    default NcclException because(Throwable cause, String sentence, @Nullable Object... parts) {
        return new NcclException(this, result(), Sentence.of(sentence, parts), cause);
    }

    /** A failure that tells of another one, whose code it has. */
    default NcclException says(NcclResult result, String sentence, @Nullable Object... parts) {
        return new NcclException(this, result, Sentence.of(sentence, parts), null);
    }

    /** The same about a failure of this process. */
    default NcclException says(NcclException told, String sentence, @Nullable Object... parts) {
        return new NcclException(this, told.result(), Sentence.of(sentence, parts), told);
    }
}
