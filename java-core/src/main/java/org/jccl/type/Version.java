package org.jccl.type;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/** The version of this jar, written into it by the build. */
public final class Version {
    /** The version of NCCL whose interface this is. */
    public static final String NCCL = "2.32.3";

    private static final String TEXT = read();

    private Version() {}

    /** As in the build's properties, {@code "unknown"} without them. */
    public static String text() {
        return TEXT;
    }

    private static String read() {
        try (InputStream in = Version.class.getResourceAsStream("/org/jccl/version.properties")) {
            Properties properties = new Properties();
            if (in != null) {
                properties.load(in);
            }
            return properties.getProperty("version", "unknown");
        } catch (IOException e) {
            return "unknown (" + e.getMessage() + ")";
        }
    }
}
