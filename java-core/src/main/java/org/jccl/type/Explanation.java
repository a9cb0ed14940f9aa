package org.jccl.type;

import java.io.Serializable;

/**
 * What {@code docs/errors.md} says of a kind of error.
 *
 * @param cause what has happened, and what became of the call
 * @param cure what the user does about it
 */
public record Explanation(String cause, String cure) implements Serializable {}
