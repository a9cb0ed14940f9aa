package org.jccl.launch;

import org.jccl.bootstrap.Rendezvous;
import org.jccl.param.Params;
import org.jccl.platform.SocketAddress;
import org.jccl.type.ErrorKind;
import org.jccl.type.UniqueId;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * The store that torchrun keeps for its ranks at MASTER_ADDR and MASTER_PORT, a TCPStore of torch.
 * A request is a byte and what that needs; texts and values follow their length of 8 bytes, all in
 * the order of the machine. Keys of TCPStore begin with a slash. The id is in hex, as {@code
 * jccl/core/rendezvous.py} writes it.
 */
final class TorchStore {
    private static final int MAGIC = 0x3C85F7CE;
    private static final byte VALIDATE = 0;
    private static final byte SET = 1;
    private static final byte GET = 3;
    private static final byte WAIT = 6;
    private static final byte STOP_WAITING = 0;
    private static final int MOST_BYTES = 512;

    private TorchStore() {}

    /** The id with this number, since torchrun has last started the ranks. */
    static UniqueId exchange(SocketAddress at, int number, LaunchedRank launched) {
        String restarts = Params.TORCH_RESTARTS.text();
        String key = "/jccl/" + (restarts == null ? "0" : restarts) + "/id/" + number;
        try (StoreConnection store = StoreConnection.at(at)) {
            if (launched.rank() == 0) {
                UniqueId id = Rendezvous.createId();
                store.send(set(key, bytes(HexFormat.of().formatHex(id.toBytes()))));
                return id;
            }
            store.send(await(key));
            long length = 0;
            if (store.receive(1)[0] == STOP_WAITING) {
                store.send(get(key));
                length = buffer(store.receive(Long.BYTES)).getLong();
            }
            if (length != 2 * UniqueId.BYTES) {
                throw ErrorKind.STORE_FAILED.says(
                        "torchrun's store at %s hands on no id: it has answered something else; "
                                + "are MASTER_ADDR and MASTER_PORT those that torchrun has set?",
                        at);
            }
            String hex = new String(store.receive((int) length), StandardCharsets.US_ASCII);
            return IdExchange.fromHex(hex, at.toString());
        }
    }

    private static byte[] set(String key, byte[] value) {
        ByteBuffer out = buffer(new byte[MOST_BYTES]).put(VALIDATE).putInt(MAGIC).put(SET);
        return done(put(put(out, bytes(key)), value));
    }

    private static byte[] await(String key) {
        ByteBuffer out = buffer(new byte[MOST_BYTES]).put(VALIDATE).putInt(MAGIC).put(WAIT);
        return done(put(out.putLong(1), bytes(key)));
    }

    /** Sent once the key is there: the store answers at once. */
    private static byte[] get(String key) {
        return done(put(buffer(new byte[MOST_BYTES]).put(GET), bytes(key)));
    }

    private static ByteBuffer put(ByteBuffer out, byte[] value) {
        return out.putLong(value.length).put(value);
    }

    private static byte[] done(ByteBuffer out) {
        byte[] request = new byte[out.position()];
        out.get(0, request);
        return request;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static ByteBuffer buffer(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    }
}
