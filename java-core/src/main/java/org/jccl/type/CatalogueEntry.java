package org.jccl.type;

import java.io.Serializable;

/** An error that users may meet, as {@code docs/errors.md} lists it: made from these enums. */
public sealed interface CatalogueEntry extends Serializable
        permits ErrorKind, BridgeError, PythonError, TorchError {
    /** The name of the entry, which no other one of the catalogue has. */
    String name();

    /** Cause and cure. */
    Explanation explanation();
}
