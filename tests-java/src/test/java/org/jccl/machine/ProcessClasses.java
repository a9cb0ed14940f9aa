package org.jccl.machine;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A copy of JCCL's classes and of the programs that use it, for one simulated process at a time.
 * After a process has ended in good order, another one may have them.
 */
final class ProcessClasses extends ClassLoader {
    private static final String PROGRAMS = "org.jccl.machine.program.";
    private static final Map<String, byte[]> REWRITTEN = new HashMap<>();

    private final Set<String> faults;

    /**
     * A new copy.
     *
     * @param faults methods, as Class.name, that do nothing in it
     */
    ProcessClasses(Set<String> faults) {
        super(ProcessClasses.class.getClassLoader());
        this.faults = faults;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        boolean own = name.startsWith("org.jccl.") && !name.startsWith("org.jccl.machine.");
        if (!own && !name.startsWith(PROGRAMS)) {
            return super.loadClass(name, resolve);
        }
        Class<?> known = findLoadedClass(name);
        if (known != null) {
            return known;
        }
        byte[] rewritten = faults.isEmpty() ? REWRITTEN.get(name) : null;
        if (rewritten == null) {
            rewritten = Rewriting.rewrite(original(name), faults);
            if (faults.isEmpty()) {
                REWRITTEN.put(name, rewritten);
            }
        }
        return defineClass(name, rewritten, 0, rewritten.length);
    }

    private byte[] original(String name) throws ClassNotFoundException {
        try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
            if (in == null) {
                throw new ClassNotFoundException(name);
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    /** Sets back what counts from the start of a process and decides who does what. */
    void forget() {
        try {
            ((AtomicInteger) field("org.jccl.executor.Gate", "NUMBERS")).set(0);
            Object[] agents = (Object[]) field("org.jccl.executor.StreamAgent", "AGENTS");
            java.util.Arrays.fill(agents, null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The value of a static field of one of these classes. */
    Object field(String type, String name) throws ReflectiveOperationException {
        Field field = loadClass(type).getDeclaredField(name);
        field.setAccessible(true);
        return field.get(null);
    }

    /** A program, whose only constructor takes these arguments. */
    Runnable program(String name, Object... arguments) {
        try {
            return (Runnable)
                    loadClass(PROGRAMS + name).getConstructors()[0].newInstance(arguments);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
