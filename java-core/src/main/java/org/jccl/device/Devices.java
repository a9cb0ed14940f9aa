package org.jccl.device;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The devices that this process uses. */
public final class Devices {
    /** The kind of communicators whose ranks use the host's memory. */
    public static final String HOST = "host";

    private static final Pattern TEXT = Pattern.compile("([a-z]+)(?::(\\d{1,6}))?");

    private static final CopyOnWriteArrayList<Device> USED = new CopyOnWriteArrayList<>();

    /** The devices on which communicators were made. None is ever removed. */
    public static final List<Device> IN_USE = Collections.unmodifiableList(USED);

    private Devices() {}

    /**
     * The device with this name.
     *
     * @param given {@code host}, or a kind with or without a number, as in {@code cuda:1}; null or
     *     blank for the host
     * @return null for the host
     * @throws NcclException INVALID_ARGUMENT if there is none
     */
    public static @Nullable Device open(@Nullable String given) {
        String text = given == null || given.isBlank() ? HOST : given.strip();
        if (text.equals(HOST)) {
            return null;
        }
        Matcher parts = TEXT.matcher(text);
        if (!parts.matches()) {
            throw unknown(text, "that is no name of a device, such as host, cuda or cuda:1");
        }
        List<String> kinds = new ArrayList<>(List.of(HOST));
        try {
            ClassLoader ours = Devices.class.getClassLoader();
            for (DeviceProvider provider : ServiceLoader.load(DeviceProvider.class, ours)) {
                kinds.add(provider.kind());
                if (provider.kind().equals(parts.group(1))) {
                    String number = parts.group(2);
                    Device device = provider.open(number == null ? -1 : Integer.parseInt(number));
                    USED.addIfAbsent(device);
                    return device;
                }
            }
        } catch (ServiceConfigurationError broken) {
            throw unknown(text, "a module for devices cannot be loaded: " + broken.getMessage());
        }
        throw unknown(text, "this process knows " + String.join(", ", kinds));
    }

    /**
     * Adds a device's number to a text that names a kind without a number.
     *
     * @param text as for {@link #open}, or null
     * @return the text itself if it takes no number
     */
    public static @Nullable String numbered(@Nullable String text, int number) {
        if (text == null || text.isBlank() || text.contains(":") || text.strip().equals(HOST)) {
            return text;
        }
        return text.strip() + ":" + number;
    }

    private static NcclException unknown(String text, String why) {
        return ErrorKind.DEVICE_UNKNOWN.says("there is no device \"%s\": %s", text, why);
    }

    /** The device in use whose memory this is, or null. */
    public static @Nullable Device owner(long address) {
        // An index makes no object.
        for (int i = 0; i < USED.size(); i++) {
            if (USED.get(i).owns(address, 1)) {
                return USED.get(i);
            }
        }
        return null;
    }
}
