package org.jccl.type;

/**
 * A kind of error of the Java core. {@link #says} makes its exceptions, and nothing else can, so
 * that each exception stands in the catalogue.
 */
public sealed interface ErrorKind extends CatalogueEntry
        permits CallError, InitError, PeerError, LibraryError {
    /** The code that a C caller gets, unless the failure tells of another one. */
    NcclResult result();

    /** A failure of this kind; the sentence says what, where, which rank, and what to do. */
    default NcclException says(String sentence) {
        return new NcclException(this, result(), sentence, null);
    }

    /** The same with its cause. */
    default NcclException says(String sentence, Throwable cause) {
        return new NcclException(this, result(), sentence, cause);
    }

    /** A failure that tells of another one, whose code it has. */
    default NcclException says(NcclResult result, String sentence) {
        return new NcclException(this, result, sentence, null);
    }

    /** The same about a failure of this process. */
    default NcclException says(NcclException told, String sentence) {
        return new NcclException(this, told.result(), sentence, told);
    }
}
