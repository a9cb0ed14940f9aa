/* Waiting in slices, so that Ctrl-C ends a call that is blocked in Java. */
#include "binding.h"

/* Whether this thread's calls are sliced already. */
static __thread bool sliced;

void jccl_py_slice_this_thread(void) {
    if (!sliced) {
        Py_BEGIN_ALLOW_THREADS
            /* If Java does not start, the call that follows says why. */
            sliced = jccl_py_library.jcclSliced(JCCL_SLICE_MS) == ncclSuccess;
        Py_END_ALLOW_THREADS
    }
}

/*
 * Runs Python's signal handlers. If one raises, ends what this thread waits for: its parked call,
 * or the started operations of a communicator.
 */
static bool signals_allow_waiting(ncclComm_t started_on) {
    if (PyErr_CheckSignals() == 0) {
        return true;
    }
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Py_BEGIN_ALLOW_THREADS if (started_on == NULL) {
        jccl_py_library.jcclInterrupt();
    }
    else {
        jccl_py_library.jcclCommInterrupt(started_on);
    }
    Py_END_ALLOW_THREADS PyErr_Restore(type, value, trace);
    return false;
}

bool jccl_py_finish(ncclResult_t* result) {
    /* A non-blocking communicator answers ncclInProgress too, without anything being parked. */
    while (*result == ncclInProgress && jccl_py_library.jcclResume(-1) == ncclInProgress) {
        if (!signals_allow_waiting(NULL)) {
            return false;
        }
        Py_BEGIN_ALLOW_THREADS* result = jccl_py_library.jcclResume(JCCL_SLICE_MS);
        Py_END_ALLOW_THREADS
    }
    return true;
}

bool jccl_py_finish_ticket(ncclComm_t comm, uint64_t ticket, ncclResult_t* result) {
    do {
        Py_BEGIN_ALLOW_THREADS* result = jccl_py_library.jcclPoll(comm, ticket, JCCL_SLICE_MS);
        Py_END_ALLOW_THREADS if (*result == ncclInProgress && !signals_allow_waiting(comm)) {
            return false;
        }
    } while (*result == ncclInProgress);
    return true;
}
