import com.sun.jdi.Bootstrap;
import com.sun.jdi.Method;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.AttachingConnector;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.MethodEntryEvent;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.MethodEntryRequest;

import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * Prints the methods of JCCL that the main thread of a Java enters: attaches to the port that it
 * listens on for debuggers, says "ready", and waits for the end of its input. A line is a word, the
 * source, class and method, and the number of its parameters. The word is "entered", or "beside"
 * for the others of the same classes that have more parameters than a number. The line "call"
 * stands before each entry of a method of the door.
 */
final class MethodEntries {
    private static final int PATIENCE_MS = 500;

    /** Printed at the end: a caller that does not read meanwhile would stop this, and Java. */
    private static final StringBuilder LINES = new StringBuilder();

    private MethodEntries() {}

    public static void main(String[] args) throws Exception {
        int many = Integer.parseInt(args[1]);
        VirtualMachine java = attach(args[0]);
        MethodEntryRequest request = java.eventRequestManager().createMethodEntryRequest();
        request.addThreadFilter(main(java));
        request.addClassFilter("org.jccl.*");
        request.setSuspendPolicy(EventRequest.SUSPEND_NONE);
        request.enable();
        System.out.println("ready");
        Thread end = Thread.ofPlatform().daemon().start(() -> disableAtEnd(request));
        Set<Method> ever = new LinkedHashSet<>();
        Set<Method> since = new LinkedHashSet<>();
        // Java waits while there are too many that nobody has taken out of the queue.
        EventSet events = java.eventQueue().remove(PATIENCE_MS);
        while (events != null || end.isAlive()) {
            for (Event event : events == null ? Set.<Event>of() : events) {
                if (event instanceof MethodEntryEvent entry) {
                    Method method = entry.method();
                    if (method.name().equals(args[2]) && isDoor(method)) {
                        LINES.append("call\n");
                        since.clear();
                    }
                    if (since.add(method)) {
                        note("entered", method);
                        ever.add(method);
                    }
                }
            }
            events = java.eventQueue().remove(PATIENCE_MS);
        }
        Set<ReferenceType> types = new LinkedHashSet<>();
        ever.forEach(method -> types.add(method.declaringType()));
        for (ReferenceType type : types) {
            for (Method method : type.methods()) {
                if (method.argumentTypeNames().size() > many && !ever.contains(method)) {
                    note("beside", method);
                }
            }
        }
        java.dispose();
        System.out.print(LINES);
    }

    private static void disableAtEnd(MethodEntryRequest request) {
        try {
            while (System.in.read() >= 0) {
                // The caller goes on with its calls.
            }
        } catch (IOException e) {
            System.err.println(e);
        }
        request.disable();
    }

    private static VirtualMachine attach(String port) throws Exception {
        for (AttachingConnector connector :
                Bootstrap.virtualMachineManager().attachingConnectors()) {
            Map<String, Connector.Argument> arguments = connector.defaultArguments();
            if (connector.name().equals("com.sun.jdi.SocketAttach")) {
                arguments.get("hostname").setValue("127.0.0.1");
                arguments.get("port").setValue(port);
                return connector.attach(arguments);
            }
        }
        throw new IllegalStateException("this JDK cannot attach to a port");
    }

    private static ThreadReference main(VirtualMachine java) {
        for (ThreadReference thread : java.allThreads()) {
            if (thread.name().equals("main")) {
                return thread;
            }
        }
        throw new IllegalStateException("there is no main thread");
    }

    private static boolean isDoor(Method method) {
        return method.declaringType().name().equals("org.jccl.abi.NcclApi");
    }

    private static void note(String word, Method method) {
        String name = method.declaringType().name();
        // Hidden classes, which have a number behind their name, know no source.
        String outermost = name.replaceFirst("[$/].*|\\.0x.*", "");
        String source = outermost.replace('.', '/') + ".java";
        int n = method.argumentTypeNames().size();
        LINES.append(String.join(" ", word, source, outermost, method.name())).append(' ');
        LINES.append(n).append('\n');
    }
}
