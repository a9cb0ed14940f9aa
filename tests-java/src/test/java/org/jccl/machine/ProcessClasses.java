package org.jccl.machine;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A copy of JCCL's classes and of the programs that use it, for one simulated process at a time.
 * After a process has ended, another one may have them.
 */
final class ProcessClasses extends ClassLoader {
    private static final String PROGRAMS = "org.jccl.machine.program.";

    /** By class, and by the faults if some are planted in it. */
    private static final Map<String, byte[]> REWRITTEN = new HashMap<>();

    private static final List<String> KEPT =
            List.of(
                    "org.jccl.bootstrap.Listener.shared",
                    "org.jccl.comm.Farewell.UNDER_WAY",
                    "org.jccl.comm.JobAgent.QUEUE",
                    "org.jccl.comm.JobAgent.agents",
                    "org.jccl.comm.JobAgent.idle",
                    "org.jccl.progress.Ear.THERE",
                    "org.jccl.progress.Lender.present",
                    "org.jccl.progress.Patience.cutNs",
                    "org.jccl.executor.StagingPool.ORPHANS",
                    "org.jccl.progress.Gate.NUMBERS",
                    "org.jccl.progress.Relay.only",
                    "org.jccl.progress.StreamAgent.AGENTS",
                    "org.jccl.progress.Suspension.LAST_LOOK_NS",
                    "org.jccl.progress.Suspension.pausesNs",
                    "org.jccl.platform.ProcessIdentity.current",
                    "org.jccl.platform.ProcessWatch.SHARED",
                    "org.jccl.platform.Threads.dearUntilNs",
                    "org.jccl.transport.Region.MAPPED");

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
        String simple = name.substring(name.lastIndexOf('.') + 1);
        boolean faulty = faults.stream().anyMatch(each -> each.startsWith(simple + "."));
        String key = faulty ? name + faults : name;
        byte[] rewritten = REWRITTEN.get(key);
        if (rewritten == null) {
            rewritten = Rewriting.rewrite(original(name), faults);
            REWRITTEN.put(key, rewritten);
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

    /** Sets back what a process keeps in these classes, so that the next one finds them new. */
    void forget() {
        for (String each : KEPT) {
            int dot = each.lastIndexOf('.');
            try {
                Field field =
                        loadClass(each.substring(0, dot)).getDeclaredField(each.substring(dot + 1));
                field.setAccessible(true);
                empty(field);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(each, e);
            }
        }
    }

    private static void empty(Field field) throws IllegalAccessException {
        Object value = field.get(null);
        if (value instanceof AtomicBoolean flag) {
            flag.set(false);
        } else if (value instanceof AtomicInteger number) {
            number.set(0);
        } else if (value instanceof AtomicLong number) {
            number.set(0);
        } else if (value instanceof Collection<?> all) {
            all.clear();
        } else if (value instanceof Map<?, ?> all) {
            all.clear();
        } else if (value instanceof Object[] all) {
            Arrays.fill(all, null);
        } else if (field.getType().getName().equals("org.jccl.platform.Shared")) {
            emptyShared(value);
        } else if (field.getType() == int.class) {
            field.setInt(null, 0);
        } else if (field.getType() == long.class) {
            field.setLong(null, 0);
        } else {
            field.set(null, null);
        }
    }

    private static void emptyShared(Object shared) throws IllegalAccessException {
        try {
            Field known = shared.getClass().getDeclaredField("known");
            known.setAccessible(true);
            ((Map<?, ?>) known.get(shared)).clear();
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(e);
        }
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
