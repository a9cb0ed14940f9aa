/*
 * Makes the JVM of this process. It is a guest: small and quiet, and it takes none of the host's
 * signals.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bridge.h"

enum { MAX_OPTIONS = 128, FILE_NAME_BYTES = 256 };

typedef struct {
    JavaVMOption option[MAX_OPTIONS];
    int count;
    bool full;
} options;

typedef jint (*create_function)(JavaVM**, void**, void*);
typedef jint (*created_function)(JavaVM**, jsize, jsize*);

static bool refuse_length(const char* what, char* reason, size_t size) {
    snprintf(reason, size, "%s is longer than %d bytes: put JCCL into a folder with a shorter path",
             what, JCCL_CLASS_PATH_BYTES - 1);
    return false;
}

static bool find_core(char* path, size_t size, char* reason, size_t reason_size) {
    const char* named = getenv("JCCL_JAR");
    if (named != NULL && *named != '\0') {
        if ((size_t)snprintf(path, size, "%s", named) >= size) {
            return refuse_length("JCCL_JAR", reason, reason_size);
        }
        /* JCCL_JAR may be a class path, of which only the first element is looked at. */
        path[strcspn(path, ":")] = '\0';
        bool there = access(path, R_OK) == 0;
        snprintf(path, size, "%s", named);
        if (!there) {
            snprintf(reason, reason_size, "JCCL_JAR=%.512s cannot be read", named);
            return false;
        }
        return true;
    }
    Dl_info self;
    if (dladdr((void*)find_core, &self) == 0 || self.dli_fname == NULL) {
        snprintf(reason, reason_size, "the folder of JCCL's library is unknown: set JCCL_JAR");
        return false;
    }
    char* library = realpath(self.dli_fname, NULL);
    const char* from = library == NULL ? self.dli_fname : library;
    const char* slash = strrchr(from, '/');
    int folder = slash == NULL ? 0 : (int)(slash - from) + 1;
    snprintf(path, size, "%.*sjccl-core-" JCCL_VERSION ".jar", folder, from);
    if (access(path, R_OK) != 0) {
        snprintf(path, size, "%.*sjccl-core.jar", folder, from);
    }
    free(library);
    if (access(path, R_OK) != 0) {
        snprintf(reason, reason_size,
                 "JCCL's jar (jccl-core-" JCCL_VERSION
                 ".jar or %.512s) cannot be read: it belongs beside JCCL's library; reinstall JCCL "
                 "or set JCCL_JAR",
                 path);
        return false;
    }
    return true;
}

static bool starts_with(const char* text, const char* start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/*
 * Adds the jars of the module cuda and of JCuda, if there are any, to a class path that ends before
 * `end`. Returns what was to be written, which may be more than `size`.
 */
static size_t add_cuda(char* end, size_t size, int folder, const char* core) {
    char place[PATH_MAX + FILE_NAME_BYTES];
    snprintf(place, sizeof place, "%.*sjccl-cuda-" JCCL_VERSION ".jar", folder, core);
    if (access(place, R_OK) != 0) {
        return 0;
    }
    size_t length = (size_t)snprintf(end, size, ":%s", place);
    snprintf(place, sizeof place, "%.*s", folder, core);
    DIR* all = opendir(*place == '\0' ? "." : place);
    for (struct dirent* one; all != NULL && (one = readdir(all)) != NULL;) {
        const char* dot = strrchr(one->d_name, '.');
        bool is_jar = dot != NULL && strcmp(dot, ".jar") == 0;
        if (is_jar && starts_with(one->d_name, "jcuda") && length < size) {
            length += (size_t)snprintf(end + length, size - length, ":%s%s", place, one->d_name);
        }
    }
    if (all != NULL) {
        closedir(all);
    }
    return length;
}

bool jccl_find_jar(char* path, size_t size, char* reason, size_t reason_size) {
    if (!find_core(path, size, reason, reason_size)) {
        return false;
    }
    const char* named = getenv("JCCL_JAR");
    if (named != NULL && *named != '\0') {
        return true;
    }
    const char* slash = strrchr(path, '/');
    size_t length = strlen(path);
    size_t room = size - length;
    if (add_cuda(path + length, room, slash == NULL ? 0 : (int)(slash - path) + 1, path) >= room) {
        return refuse_length("the class path of JCCL and its module cuda", reason, reason_size);
    }
    return true;
}

JavaVM* jccl_existing_jvm(void) {
    /* Finds a libjvm that somebody has already loaded; loads none. */
    void* library = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        return NULL;
    }
    JavaVM* vm = NULL;
    jsize count = 0;
    created_function created = (created_function)dlsym(library, "JNI_GetCreatedJavaVMs");
    if (created != NULL) {
        created(&vm, 1, &count);
    }
    dlclose(library);
    return count > 0 ? vm : NULL;
}

/* Whether the system knows this thread by a name that HotSpot gives to one of its own. */
static bool is_of_jvm(const char* name) {
    static const char* const lasting[] = {"VM Thread",       "VM Periodic Tas", "Reference Handl",
                                          "Finalizer",       "Signal Dispatch", "Common-Cleaner",
                                          "Monitor Deflati", "C1 CompilerThre", "C2 CompilerThre"};
    bool found = false;
    for (size_t i = 0; i < sizeof lasting / sizeof lasting[0]; i++) {
        found |= strcmp(name, lasting[i]) == 0;
    }
    return found;
}

enum thread_kind { OF_JVM, OTHER, UNKNOWN };

static enum thread_kind kind_of_thread(int tasks, const char* number) {
    char path[300];
    char name[32] = "";
    snprintf(path, sizeof path, "%s/comm", number);
    int file = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, name, sizeof name - 1);
    /* A JVM's threads live on, so a thread that has just ended was none of them. */
    enum thread_kind without_name = errno == ENOENT || errno == ESRCH ? OTHER : UNKNOWN;
    if (file >= 0) {
        close(file);
    }
    if (n <= 0) {
        return n < 0 ? without_name : UNKNOWN;
    }
    name[strcspn(name, "\n")] = '\0';
    return is_of_jvm(name) ? OF_JVM : OTHER;
}

bool jccl_jvm_is_copy(void) {
    /* Another maker's JVM may give its threads any names. */
    void* library = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
    bool hotspot = library != NULL && dlsym(library, "gHotSpotVMStructs") != NULL;
    if (library != NULL) {
        dlclose(library);
    }
    DIR* tasks = hotspot && jccl_existing_jvm() != NULL ? opendir("/proc/self/task") : NULL;
    if (tasks == NULL) {
        return false;
    }
    /* A thread can be called missing only if all threads have been seen. */
    bool copy = true;
    int seen = 0;
    errno = 0;
    for (struct dirent* entry; copy && (entry = readdir(tasks)) != NULL; errno = 0) {
        if (entry->d_name[0] != '.') {
            copy = kind_of_thread(dirfd(tasks), entry->d_name) == OTHER;
            seen++;
        }
    }
    copy = copy && seen > 0 && errno == 0;
    closedir(tasks);
    return copy;
}

static void add(options* all, void* extra, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(options* all, void* extra, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char* text = NULL;
    bool made = all->count < MAX_OPTIONS && vasprintf(&text, format, arguments) >= 0;
    va_end(arguments);
    if (!made) {
        all->full = true;
        return;
    }
    all->option[all->count++] = (JavaVMOption){text, extra};
}

static void drop(options* all) {
    for (int i = 0; i < all->count; i++) {
        free(all->option[i].optionString);
    }
}

/* Written before the JVM is made, read by its last thread. */
static void (*on_leaving)(void);

/* A JVM that gives up while it starts ends the process. What it has printed must be seen. */
static void at_abort_of_jvm(void) {
    jccl_capture_end();
    on_leaving();
}

static void at_exit_of_jvm(jint code) {
    (void)code;
    at_abort_of_jvm();
}

static const char* or_default(const char* name, const char* fallback) {
    const char* value = getenv(name);
    return value == NULL || *value == '\0' ? fallback : value;
}

/*
 * In a program of one second, the compilers would spend half of the time beside the ranks' steps on
 * methods that only the start uses. So C2 waits for five times as many calls as usual. C1 waits for
 * twice as many: with more, methods that each collective calls once would be interpreted in most of
 * such a program. The vector kernels crawl until C2 has compiled them, so it compiles these early,
 * and need not compile all their parts as well. If it compiled them even earlier, it would know too
 * little of them: large sums would take a quarter longer for good.
 */
static void choose_compilation(options* all) {
    add(all, NULL, "-XX:Tier3InvocationThreshold=400");
    add(all, NULL, "-XX:Tier3MinInvocationThreshold=200");
    add(all, NULL, "-XX:Tier3CompileThreshold=4000");
    add(all, NULL, "-XX:Tier4InvocationThreshold=25000");
    add(all, NULL, "-XX:Tier4MinInvocationThreshold=3000");
    add(all, NULL, "-XX:Tier4CompileThreshold=75000");
    add(all, NULL, "-XX:Tier4BackEdgeThreshold=200000");
    add(all, NULL, "-XX:CompileCommand=quiet");
    add(all, NULL, "-XX:CompileCommand=CompileThresholdScaling,org.jccl.reduce.Vector*::*,0.05");
}

size_t jccl_first_stack(void) {
    struct rlimit limit;
    size_t most = 64 << 20, usual = 8 << 20;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return usual;
    }
    size_t size = limit.rlim_cur < most ? limit.rlim_cur : most;
    return size < 1 << 20 ? 1 << 20 : size;
}

/* Whether options name a garbage collector; Java would end the process if there were two. */
static bool chooses_collector(const char* variable) {
    const char* at = getenv(variable);
    while (at != NULL && (at = strstr(at, "-XX:+Use")) != NULL) {
        size_t length = strcspn(at, " \t\n");
        if (length >= 2 && strncmp(at + length - 2, "GC", 2) == 0) {
            return true;
        }
        at += length;
    }
    return false;
}

/* Java ends the process if its heap is to be smaller than 2 MiB, or 2^64 bytes or more. */
static bool is_heap(const char* size) {
    static const char units[] = "kmgt";
    char* unit = NULL;
    int shift = 0;
    errno = 0;
    unsigned long long number = *size >= '0' && *size <= '9' ? strtoull(size, &unit, 10) : 0;
    if (number == 0 || errno != 0) {
        return false;
    }
    if (*unit != '\0') {
        const char* found = strchr(units, tolower((unsigned char)*unit));
        if (found == NULL || unit[1] != '\0') {
            return false;
        }
        shift = 10 * (int)(found - units + 1);
    }
    return number <= ULLONG_MAX >> shift && number << shift >= 2 << 20;
}

static void choose_options(options* all, const jccl_jdk* jdk, const char* jar) {
    add(all, (void*)at_exit_of_jvm, "exit");
    add(all, (void*)at_abort_of_jvm, "abort");
    add(all, NULL, "-Djava.class.path=%s", jar);
    /* HUP, INT, QUIT and TERM stay the host's; without this Ctrl-C would end a Python program. */
    add(all, NULL, "-Xrs");
    if (!chooses_collector("JCCL_JVM_OPTIONS") && !chooses_collector("JAVA_TOOL_OPTIONS")) {
        add(all, NULL, "-XX:+UseSerialGC");
    }
    const char* heap = or_default("JCCL_JVM_HEAP", NULL);
    if (heap == NULL) {
        add(all, NULL, "-Xms16m");
    }
    add(all, NULL, "-Xmx%s", heap == NULL ? "256m" : heap);
    /*
     * Java takes the first thread's stack for as large as those of its own threads, and guards the
     * rest: without this a program would die where it uses more than 1 MiB of it.
     */
    add(all, NULL, "-Xss%zuk", jccl_first_stack() >> 10);
    /* Otherwise a file would stay in /tmp after SIGKILL. */
    add(all, NULL, "-XX:-UsePerfData");
    /* With -Xrs the JVM would open its socket for jcmd, /tmp/.java_pid<n>, at once. */
    add(all, NULL, "-XX:+DisableAttachMechanism");
    add(all, NULL, "-XX:ErrorFile=%s/jccl_hs_err_pid%%p.log",
        or_default("JCCL_ERROR_DIR", or_default("TMPDIR", "/tmp")));
    add(all, NULL, "--enable-native-access=ALL-UNNAMED");
    if (jdk->vector) {
        add(all, NULL, "--add-modules=jdk.incubator.vector");
    }
    choose_compilation(all);
    const char* more = getenv("JCCL_JVM_OPTIONS");
    while (more != NULL && *more != '\0') {
        size_t length = strcspn(more, " \t\n");
        if (length > 0) {
            add(all, NULL, "%.*s", (int)length, more);
        }
        more += length + (more[length] != '\0');
    }
}

JavaVM* jccl_create_jvm(const char* jar, void (*leaving)(void), char* reason, size_t reason_size) {
    on_leaving = leaving;
    jccl_jdk jdk;
    if (!jccl_find_jdk(&jdk)) {
        snprintf(reason, reason_size, "%s", jdk.reason);
        return NULL;
    }
    char path[sizeof jdk.home + 32];
    snprintf(path, sizeof path, "%s/lib/server/libjvm.so", jdk.home);
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    create_function create =
        library == NULL ? NULL : (create_function)dlsym(library, "JNI_CreateJavaVM");
    if (create == NULL) {
        snprintf(reason, reason_size, "the Java at %.256s cannot be loaded: %.512s", jdk.home,
                 dlerror());
        return NULL;
    }
    char* folder = getcwd(NULL, 0);
    free(folder);
    if (folder == NULL && errno == ENOENT) {
        snprintf(reason, reason_size,
                 "the current folder has been deleted, and Java cannot start without one: change "
                 "to another folder before the first call");
        return NULL;
    }
    const char* heap = or_default("JCCL_JVM_HEAP", NULL);
    if (heap != NULL && !is_heap(heap)) {
        snprintf(reason, reason_size,
                 "JCCL_JVM_HEAP=%.64s is no size of a heap: set it to 2m or more, such as 256m",
                 heap);
        return NULL;
    }
    options all = {.count = 0};
    choose_options(&all, &jdk, jar);
    if (all.full) {
        snprintf(reason, reason_size, "too many options for Java: shorten JCCL_JVM_OPTIONS");
        drop(&all);
        return NULL;
    }
    /* The JVM would take SIGUSR2 to suspend threads; it may use a real-time signal instead. */
    setenv("_JAVA_SR_SIGNUM", "62", 0);
    JavaVMInitArgs arguments = {JNI_VERSION_10, all.count, all.option, JNI_FALSE};
    JavaVM* vm = NULL;
    JNIEnv* env = NULL;
    jccl_host_signals noted;
    jccl_note_signals(&noted);
    jccl_capture_begin();
    jint result = create(&vm, (void**)&env, &arguments);
    jccl_capture_end();
    jccl_return_signals(&noted);
    drop(&all);
    if (result != JNI_OK) {
        const char* more = getenv("JCCL_JVM_OPTIONS");
        snprintf(reason, reason_size,
                 "the Java at %.256s did not start (code %d; its own message is on standard "
                 "error)%s%.256s",
                 jdk.home, (int)result,
                 more == NULL ? "" : "; JCCL_JVM_OPTIONS=", more == NULL ? "" : more);
        return NULL;
    }
    return vm;
}

JCCL_EXPORT const char* jcclJavaHome(void) {
    /* Found once in a process, since callers may keep the text. */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static jccl_jdk jdk;
    static bool found;
    pthread_mutex_lock(&lock);
    found = found || jccl_find_jdk(&jdk);
    bool ok = found;
    char reason[sizeof jdk.reason];
    memcpy(reason, jdk.reason, sizeof reason);
    pthread_mutex_unlock(&lock);
    if (!ok) {
        jccl_fail(ncclSystemError, "%s", reason);
    }
    return ok ? jdk.home : NULL;
}
