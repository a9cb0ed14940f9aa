package org.jccl.type;

import java.util.List;

/** What the C library says before Java can, or when Java cannot. */
public enum BridgeError implements CatalogueEntry {
    FORKED(
            "ncclInvalidUsage",
            "The process is a child made by fork after JCCL was used in its parent. "
                    + "Java does not live on in a child.",
            "Start processes by multiprocessing's 'spawn' or 'forkserver', fork "
                    + "before the first NCCL call, or run the ranks by python -m jccl.run.",
            "NCCL calls are not possible in a child made by fork after JCCL was used:"
                    + " start processes with multiprocessing's 'spawn', or run the ranks by "
                    + "python -m jccl.run"),
    NO_JAVA(
            "ncclSystemError",
            "No Java that is new enough was found, or the one that JCCL_JAVA_HOME "
                    + "names is none.",
            "Install a JDK 25 or a newer one, or set JCCL_JAVA_HOME to its home, the "
                    + "folder with the file release.",
            "JCCL needs Java … or newer and found none by …: install a JDK …, such as"
                    + " the package temurin-…-jdk or openjdk-…-jre-headless, or set "
                    + "JCCL_JAVA_HOME",
            "…, but JCCL needs Java … or newer: set it to the home of such a JDK, or "
                    + "unset it to search JAVA_HOME, /usr/lib/jvm and PATH",
            "…=… is no Java home with a file 'release'",
            "…=… is Java …",
            "…=… has no lib/server/libjvm.so"),
    JAVA_UNLOADABLE(
            "ncclSystemError",
            "The library of the Java that was found cannot be loaded, as when it is "
                    + "for another processor or libraries of the system are missing.",
            "Install a JDK for this machine, or set JCCL_JAVA_HOME to another one.",
            "the Java at … cannot be loaded: …"),
    JAVA_DID_NOT_START(
            "ncclSystemError",
            "Java refused to start: a wrong option, or too little memory.",
            "Read what it says on standard error; look at JCCL_JVM_OPTIONS and "
                    + "JCCL_JVM_HEAP, and at the limits of the container (ulimit -v).",
            "the Java at … did not start (code …; its own message is on standard " + "error)…"),
    JAVA_OPTIONS(
            "ncclSystemError",
            "JCCL_JVM_OPTIONS or JCCL_JAR is longer than the options of Java may be.",
            "Shorten them.",
            "too many or too long options for Java: shorten JCCL_JVM_OPTIONS or " + "JCCL_JAR"),
    NO_JAR(
            "ncclSystemError",
            "JCCL's jar is not where it belongs.",
            "Install JCCL again, or set JCCL_JAR to the path of its jar.",
            "JCCL_JAR=… cannot be read",
            "the folder of JCCL's library is unknown: set JCCL_JAR",
            "JCCL's jar (jccl-core-….jar or …) cannot be read: it belongs beside "
                    + "JCCL's library; reinstall JCCL or set JCCL_JAR"),
    WRONG_JAR(
            "ncclSystemError",
            "The jar is not JCCL's, or one of another version than the library.",
            "Install JCCL again, and unset JCCL_JAR.",
            "… does not hold JCCL: …",
            "… does not tell its version: …",
            "JCCL's library is version … but … is version …: reinstall JCCL"),
    NO_METHOD(
            "ncclInternalError",
            "The jar is of this version, but lacks a function that the library calls.",
            "Install JCCL again. If that does not help, please report it.",
            "…: JCCL's jar has no method for it"),
    NO_THREAD_KEY(
            "ncclSystemError",
            "The process has used up the keys for data of threads, of which the "
                    + "system gives 1024.",
            "Load fewer libraries into the process.",
            "no thread-local key is left for JCCL"),
    NOT_ATTACHED(
            "ncclSystemError",
            "Java could not take this thread in: its stack is small, or memory is short.",
            "Give the thread a larger stack, or Java more memory by JCCL_JVM_HEAP.",
            "this thread could not be attached to the JVM: its stack may be too small (JCCL needs"
                    + " 512 KiB of it), or Java has no memory left (JCCL_JVM_HEAP=512m gives it"
                    + " more)"),
    JAVA_EXHAUSTED(
            "ncclSystemError",
            "A call of the library found no memory on the heap of Java, or no stack.",
            "Set JCCL_JVM_HEAP before the first call, or give the thread a larger stack.",
            "Java has no memory left: give it more (JCCL_JVM_HEAP=512m), or destroy communicators",
            "too little is left of this thread's stack: JCCL needs 512 KiB of it"),
    JAVA_ENDED(
            "ncclSystemError",
            "The JVM of the process was made by somebody else, who has destroyed it.",
            "End that JVM after the last NCCL call.",
            "who started Java in this process has ended it, and all communicators with it: end"
                    + " Java after the last NCCL call"),
    JAVA_TOO_OLD(
            "ncclSystemError",
            "A process has one JVM. The one that somebody else has made is too old for JCCL.",
            "Have JPype, PyJNIus or whoever starts it start a newer one.",
            "somebody else has started Java … in this process, and JCCL needs Java … or newer:"
                    + " have that one started, or use JCCL in a process of its own"),
    NO_MEMORY_AT_START(
            "ncclSystemError",
            "Java had no memory left for the first call.",
            "Raise JCCL_JVM_HEAP, or the limit of the container.",
            "Java has no memory for its first call"),
    THROWN(
            "ncclInternalError",
            "Java threw an exception that JCCL did not catch, as when it has no "
                    + "memory at all.",
            "Raise JCCL_JVM_HEAP. If that does not help, please report it.");

    // A record of texts and of a list that is copied does not change.
    @SuppressWarnings("ImmutableEnumChecker")
    private final Explanation explanation;

    BridgeError(String raises, String cause, String cure, String... sentences) {
        this.explanation = new Explanation(raises, cause, cure, List.of(sentences));
    }

    @Override
    public Explanation explanation() {
        return explanation;
    }
}
