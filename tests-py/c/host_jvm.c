/* host_jvm LIBJVM: a program that has started Java itself, without JCCL's jar, as Jep does. */
#include <dlfcn.h>
#include <jni.h>

#include "client.h"

static void* ranks_of_a_thread(void* argument) {
    int value = 0;
    OK(ncclCommCount((ncclComm_t)argument, &value));
    REQUIRE(value == 1);
    return NULL;
}

int main(int argc, char** argv) {
    REQUIRE(argc == 2);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    jint (*create)(JavaVM**, void**, void*) =
        (jint (*)(JavaVM**, void**, void*))dlsym(library, "JNI_CreateJavaVM");
    JavaVMOption options[] = {{"-Xrs", NULL}, {"-XX:-UsePerfData", NULL}, {"-Xmx128m", NULL}};
    JavaVMInitArgs arguments = {JNI_VERSION_10, 3, options, JNI_FALSE};
    JavaVM* vm = NULL;
    JNIEnv* env = NULL;
    REQUIRE(create(&vm, (void**)&env, &arguments) == JNI_OK);

    ncclUniqueId id;
    ncclComm_t comm = NULL;
    float x = 4;
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&comm, 1, id, 0));
    OK(ncclAllReduce(&x, &x, 1, ncclFloat, ncclSum, comm, NULL));
    REQUIRE(x == 4);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, ranks_of_a_thread, comm) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(ncclCommDestroy(comm));

    /* The thread that made this JVM was attached by its maker, and still is. */
    JNIEnv* still = NULL;
    REQUIRE((*vm)->GetEnv(vm, (void**)&still, JNI_VERSION_10) == JNI_OK && still == env);
    REQUIRE((*env)->FindClass(env, "java/lang/Object") != NULL);
    return 0;
}
