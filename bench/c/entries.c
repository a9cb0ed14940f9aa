/*
 * Compiled into libraries that are built with -finstrument-functions: notes the functions that the
 * calling thread enters while it is asked to, as offsets in their library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define PLAIN __attribute__((no_instrument_function))
#define SEEN __attribute__((no_instrument_function, visibility("default")))

enum { MOST = 4096 };

static __thread int noting;
static void* entered[MOST];
static int count;

PLAIN void __cyg_profile_func_enter(void* function, void* caller);
PLAIN void __cyg_profile_func_exit(void* function, void* caller);

void __cyg_profile_func_enter(void* function, void* caller) {
    (void)caller;
    if (noting && count < MOST) {
        entered[count++] = function;
    }
}

void __cyg_profile_func_exit(void* function, void* caller) {
    (void)function, (void)caller;
}

SEEN void jcclNoteEntries(int on);
SEEN int jcclEntries(uint64_t* offsets, int most);

/* Begins afresh, or ends. */
void jcclNoteEntries(int on) {
    count = on ? 0 : count;
    noting = on;
}

/* Fills in the offsets of what was entered; how many. */
int jcclEntries(uint64_t* offsets, int most) {
    int n = count < most ? count : most;
    for (int i = 0; i < n; i++) {
        Dl_info library;
        int found = dladdr(entered[i], &library);
        offsets[i] = found ? (uint64_t)((char*)entered[i] - (char*)library.dli_fbase) : 0;
    }
    return n;
}
