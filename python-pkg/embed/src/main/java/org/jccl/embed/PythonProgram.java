package org.jccl.embed;

import java.nio.file.Path;

/** What every rank runs. */
public sealed interface PythonProgram {
    /** As {@code python path}. */
    record Script(Path path) implements PythonProgram {}

    /** As {@code python -m name}. */
    record Module(String name) implements PythonProgram {}

    /** As {@code python -c text}. */
    record Code(String text) implements PythonProgram {}

    /** A function of a module, called with the job's arguments; what it returns is the result. */
    record Function(String module, String name) implements PythonProgram {}

    /** How {@code rank.py} calls its kind. */
    default String kind() {
        return switch (this) {
            case Script script -> "script";
            case Module module -> "module";
            case Code code -> "code";
            case Function function -> "function";
        };
    }

    /** What {@code rank.py} is to run. */
    default String target() {
        return switch (this) {
            case Script(Path path) -> path.toString();
            case Module(String name) -> name;
            case Code(String text) -> text;
            case Function(String module, String name) -> module + ":" + name;
        };
    }
}
