package org.jccl.bootstrap;

import java.nio.ByteBuffer;

/** The public number of a rendezvous or a communicator, as a key of maps. */
record Number16(long high, long low) {
    static Number16 of(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        return new Number16(in.getLong(), in.getLong());
    }
}
