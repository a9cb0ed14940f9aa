/* The class org.jccl.abi.NcclApi: found, checked and looked up once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"

#define DOOR "org/jccl/abi/NcclApi"
/*
 * Two libraries of JCCL in one process share these system properties: the class that one of them
 * has loaded itself, and whether one has registered the natives.
 */
#define SHARED "org.jccl.door"
#define GUARDED "org.jccl.forkguard"

jclass jccl_class;
jmethodID jccl_methods[JCCL_FUNCTIONS];
jmethodID jccl_operation_method;
jmethodID jccl_stub_method;
jmethodID jccl_warn_method;
jmethodID jccl_shutdown_method;

/* Such errors are recognised by their classes, since no method of Java can be called any more. */
const char* const jccl_no_memory =
    "Java has no memory left: give it more (JCCL_JVM_HEAP=512m), or destroy communicators";
const char* const jccl_no_stack =
    "too little is left of this thread's stack: JCCL needs 512 KiB of it";
const char* const jccl_no_reason = "Java failed and could not say why";

static jclass out_of_memory;
static jclass stack_overflow;

const char* jccl_exhausted(JNIEnv* env) {
    jthrowable thrown = (*env)->ExceptionOccurred(env);
    (*env)->ExceptionClear(env);
    const char* what = NULL;
    if (thrown != NULL && out_of_memory != NULL &&
        (*env)->IsInstanceOf(env, thrown, out_of_memory)) {
        what = jccl_no_memory;
    } else if (thrown != NULL && stack_overflow != NULL &&
               (*env)->IsInstanceOf(env, thrown, stack_overflow)) {
        what = jccl_no_stack;
    }
    if (what == NULL && thrown != NULL) {
        (*env)->Throw(env, thrown);
    }
    (*env)->DeleteLocalRef(env, thrown);
    return what;
}

/* A class for ever, or NULL. */
static jclass keep_class(JNIEnv* env, const char* name) {
    jclass class = (*env)->FindClass(env, name);
    (*env)->ExceptionClear(env);
    return class == NULL ? NULL : (*env)->NewGlobalRef(env, class);
}

void jccl_take_exception(JNIEnv* env, char* text, size_t size) {
    jthrowable thrown = (*env)->ExceptionOccurred(env);
    (*env)->ExceptionClear(env);
    snprintf(text, size, "a Java exception without a text");
    if (thrown == NULL) {
        return;
    }
    jclass class = (*env)->GetObjectClass(env, thrown);
    jmethodID to_string = (*env)->GetMethodID(env, class, "toString", "()Ljava/lang/String;");
    jstring string = to_string == NULL ? NULL : (*env)->CallObjectMethod(env, thrown, to_string);
    if (!(*env)->ExceptionCheck(env) && string != NULL) {
        const char* chars = (*env)->GetStringUTFChars(env, string, NULL);
        if (chars != NULL) {
            snprintf(text, size, "%s", chars);
            (*env)->ReleaseStringUTFChars(env, string, chars);
        }
    }
    (*env)->ExceptionClear(env);
    (*env)->DeleteLocalRef(env, string);
    (*env)->DeleteLocalRef(env, class);
    (*env)->DeleteLocalRef(env, thrown);
}

static jobject unless_thrown(JNIEnv* env, jobject result) {
    return (*env)->ExceptionCheck(env) ? NULL : result;
}

/* Calls a static method that returns an object; NULL with a pending exception. */
static jobject call_static(JNIEnv* env, const char* class_name, const char* method,
                           const char* signature, jobject argument) {
    jclass class = (*env)->FindClass(env, class_name);
    jmethodID id = class == NULL ? NULL : (*env)->GetStaticMethodID(env, class, method, signature);
    return id == NULL
               ? NULL
               : unless_thrown(env, (*env)->CallStaticObjectMethod(env, class, id, argument));
}

static jobject call(JNIEnv* env, jobject target, const char* method, const char* signature,
                    jobject first, jobject second) {
    if (target == NULL || (*env)->ExceptionCheck(env)) {
        return NULL;
    }
    jclass class = (*env)->GetObjectClass(env, target);
    jmethodID id = (*env)->GetMethodID(env, class, method, signature);
    (*env)->DeleteLocalRef(env, class);
    return id == NULL
               ? NULL
               : unless_thrown(env, (*env)->CallObjectMethod(env, target, id, first, second));
}

static jobject make(JNIEnv* env, const char* class_name, const char* signature, jobject first,
                    jobject second) {
    jclass class = (*env)->ExceptionCheck(env) ? NULL : (*env)->FindClass(env, class_name);
    jmethodID id = class == NULL ? NULL : (*env)->GetMethodID(env, class, "<init>", signature);
    return id == NULL ? NULL : (*env)->NewObject(env, class, id, first, second);
}

/* The java.net.URL of a file; NULL with a pending exception. */
static jobject url_of(JNIEnv* env, const char* path) {
    jobject file =
        make(env, "java/io/File", "(Ljava/lang/String;)V", (*env)->NewStringUTF(env, path), NULL);
    jobject uri = call(env, file, "toURI", "()Ljava/net/URI;", NULL, NULL);
    return call(env, uri, "toURL", "()Ljava/net/URL;", NULL, NULL);
}

/* The URLs of a class path; NULL with a pending exception. */
static jobjectArray urls_of(JNIEnv* env, const char* path) {
    jsize count = 1;
    for (const char* at = path; *at != '\0'; at++) {
        count += *at == ':';
    }
    jobjectArray urls =
        (*env)->NewObjectArray(env, count, (*env)->FindClass(env, "java/net/URL"), NULL);
    for (jsize i = 0; urls != NULL && i < count; i++) {
        char one[JCCL_CLASS_PATH_BYTES];
        size_t length = strcspn(path, ":");
        snprintf(one, sizeof one, "%.*s", (int)length, path);
        path += length + (path[length] != '\0');
        jobject url = url_of(env, one);
        if (url == NULL) {
            return NULL;
        }
        (*env)->SetObjectArrayElement(env, urls, i, url);
        (*env)->DeleteLocalRef(env, url);
    }
    return urls;
}

/* Loads the class by a loader of our own: somebody else has started the JVM without our jars. */
static jclass load_from_jar(JNIEnv* env, const char* path) {
    jobjectArray urls = urls_of(env, path);
    if (urls == NULL) {
        return NULL;
    }
    jobject parent = call_static(env, "java/lang/ClassLoader", "getSystemClassLoader",
                                 "()Ljava/lang/ClassLoader;", NULL);
    jobject loader = make(env, "java/net/URLClassLoader",
                          "([Ljava/net/URL;Ljava/lang/ClassLoader;)V", urls, parent);
    return call(env, loader, "loadClass", "(Ljava/lang/String;)Ljava/lang/Class;",
                (*env)->NewStringUTF(env, "org.jccl.abi.NcclApi"), NULL);
}

/* Whether a JVM that somebody else has made is new enough for JCCL's classes. */
static bool new_enough(JNIEnv* env, char* reason, size_t reason_size) {
    jobject text = call_static(env, "java/lang/System", "getProperty",
                               "(Ljava/lang/String;)Ljava/lang/String;",
                               (*env)->NewStringUTF(env, "java.specification.version"));
    const char* version = (*env)->ExceptionCheck(env) || text == NULL
                              ? NULL
                              : (*env)->GetStringUTFChars(env, text, NULL);
    (*env)->ExceptionClear(env);
    bool enough = version != NULL && atoi(version) >= JCCL_OLDEST_JAVA;
    if (!enough) {
        snprintf(reason, reason_size,
                 "somebody else has started Java %.32s in this process, and JCCL needs Java %d or "
                 "newer: have that one started, or use JCCL in a process of its own",
                 version == NULL ? "of an unknown version" : version, JCCL_OLDEST_JAVA);
    }
    if (version != NULL) {
        (*env)->ReleaseStringUTFChars(env, text, version);
    }
    return enough;
}

static jclass find_in_foreign_jvm(JNIEnv* env, const char* jar) {
    jstring key = (*env)->NewStringUTF(env, SHARED);
    jobject properties =
        call_static(env, "java/lang/System", "getProperties", "()Ljava/util/Properties;", NULL);
    jclass class =
        call(env, properties, "get", "(Ljava/lang/Object;)Ljava/lang/Object;", key, NULL);
    if (class != NULL) {
        return class;
    }
    class = (*env)->FindClass(env, DOOR);
    if (class == NULL) {
        (*env)->ExceptionClear(env);
        class = load_from_jar(env, jar);
        if (class != NULL && !(*env)->ExceptionCheck(env)) {
            call(env, properties, "put", "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
                 key, class);
        }
    }
    return class;
}

static bool check_version(JNIEnv* env, const char* jar, char* reason, size_t reason_size) {
    jmethodID id =
        (*env)->GetStaticMethodID(env, jccl_class, "versionString", "()Ljava/lang/String;");
    jstring string = id == NULL ? NULL : (*env)->CallStaticObjectMethod(env, jccl_class, id);
    const char* version = (*env)->ExceptionCheck(env) || string == NULL
                              ? NULL
                              : (*env)->GetStringUTFChars(env, string, NULL);
    if (version == NULL) {
        char text[512];
        jccl_take_exception(env, text, sizeof text);
        snprintf(reason, reason_size, "%.300s does not tell its version: %s", jar, text);
        return false;
    }
    bool same = strcmp(version, JCCL_VERSION) == 0;
    if (!same) {
        snprintf(reason, reason_size,
                 "JCCL's library is version %s but %.512s is version %.64s: reinstall JCCL",
                 JCCL_VERSION, jar, version);
    }
    (*env)->ReleaseStringUTFChars(env, string, version);
    return same;
}

static void look_up(JNIEnv* env) {
    static const struct {
        int function;
        const char* method;
        const char* signature;
    } wanted[] = {
#define JAVA(name, method, signature, parameters, ...) {JCCL_FN_##name, #method, signature},
#define EXTRA(name, method, signature, parameters, ...) {JCCL_FN_##name, #method, signature},
#define OPERATION(name, operation, parameters, ...)
#define HERE(name)
#define LATER(name, parameters)
#define LATER_AS(type, name, value, parameters)
#define EXTRA_HERE(name)
#include "functions.def"
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        jccl_methods[wanted[i].function] =
            (*env)->GetStaticMethodID(env, jccl_class, wanted[i].method, wanted[i].signature);
        (*env)->ExceptionClear(env);
    }
    jccl_operation_method = (*env)->GetStaticMethodID(env, jccl_class, "operation", "(IJJJIIIJJ)I");
    (*env)->ExceptionClear(env);
    jccl_stub_method = (*env)->GetStaticMethodID(env, jccl_class, "makeStub", "(J)V");
    (*env)->ExceptionClear(env);
    jccl_warn_method = (*env)->GetStaticMethodID(env, jccl_class, "warn", "(J)V");
    (*env)->ExceptionClear(env);
    jccl_shutdown_method = (*env)->GetStaticMethodID(env, jccl_class, "shutdown", "()I");
    (*env)->ExceptionClear(env);
}

jclass jccl_load_class(JNIEnv* env, const char* name) {
    jclass class_class = (*env)->GetObjectClass(env, jccl_class);
    jobject loader =
        call(env, jccl_class, "getClassLoader", "()Ljava/lang/ClassLoader;", NULL, NULL);
    jmethodID for_name = (*env)->ExceptionCheck(env)
                             ? NULL
                             : (*env)->GetStaticMethodID(
                                   env, class_class, "forName",
                                   "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;");
    jstring string = for_name == NULL ? NULL : (*env)->NewStringUTF(env, name);
    return string == NULL ? NULL
                          : (*env)->CallStaticObjectMethod(env, class_class, for_name, string,
                                                           JNI_FALSE, loader);
}

static bool open_door(JNIEnv* env, const char* jar, bool own, char* reason, size_t reason_size) {
    if (!own && !new_enough(env, reason, reason_size)) {
        return false;
    }
    jclass class = own ? (*env)->FindClass(env, DOOR) : find_in_foreign_jvm(env, jar);
    if ((*env)->ExceptionCheck(env) || class == NULL) {
        char text[512];
        jccl_take_exception(env, text, sizeof text);
        snprintf(reason, reason_size, "%.400s does not hold JCCL: %s", jar, text);
        return false;
    }
    jccl_class = (*env)->NewGlobalRef(env, class);
    if (!check_version(env, jar, reason, reason_size)) {
        return false;
    }
    look_up(env);
    out_of_memory = keep_class(env, "java/lang/OutOfMemoryError");
    stack_overflow = keep_class(env, "java/lang/StackOverflowError");
    return true;
}

/* Descriptors, and failures, must stand in one table: the first library's. */
static bool first_library(JNIEnv* env) {
    jstring key = (*env)->NewStringUTF(env, GUARDED);
    jobject properties =
        call_static(env, "java/lang/System", "getProperties", "()Ljava/util/Properties;", NULL);
    jobject before = call(env, properties, "putIfAbsent",
                          "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;", key, key);
    bool thrown = (*env)->ExceptionCheck(env);
    (*env)->ExceptionClear(env);
    return before == NULL && !thrown;
}

bool jccl_open_door(JNIEnv* env, const char* jar, bool own, char* reason, size_t reason_size) {
    /* The frame frees every local reference made on the way. */
    if ((*env)->PushLocalFrame(env, 64) != 0) {
        snprintf(reason, reason_size, "Java has no memory for its first call");
        return false;
    }
    bool opened = open_door(env, jar, own, reason, reason_size);
    if (opened && first_library(env)) {
        jccl_register_fork_guard(env);
        jccl_register_failures(env);
    }
    if (opened) {
        jccl_share_failures(env);
    }
    jmethodID end =
        opened && !own ? (*env)->GetStaticMethodID(env, jccl_class, "endWithHost", "()I") : NULL;
    if (end != NULL) {
        (*env)->CallStaticIntMethod(env, jccl_class, end);
    }
    (*env)->ExceptionClear(env);
    (*env)->PopLocalFrame(env, NULL);
    return opened;
}
