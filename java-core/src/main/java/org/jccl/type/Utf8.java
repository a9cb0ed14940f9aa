package org.jccl.type;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.regex.Pattern;

/** Texts that processes tell each other. */
public final class Utf8 {
    /** Control characters, those that change the direction, and ends of lines. */
    private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");

    private Utf8() {}

    /** As many whole characters as fit into so many bytes. */
    public static byte[] encode(String text, int most) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length <= most) {
            return bytes;
        }
        int length = most;
        while (length > 0 && (bytes[length] & 0xc0) == 0x80) {
            length--;
        }
        return Arrays.copyOf(bytes, length);
    }

    /** A text of another process, {@linkplain #printable fit for a line of a log}. */
    public static String decode(byte[] bytes) {
        return printable(new String(bytes, StandardCharsets.UTF_8));
    }

    /** The text with a question mark for each character that a line of a log must not hold. */
    public static String printable(String text) {
        return UNPRINTABLE.matcher(text).replaceAll("?");
    }
}
