package org.jccl.abi;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/** The version of this jar, written into it by the build. */
final class Version {
    private static final String TEXT = read();

    private Version() {}

    static String text() {
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
