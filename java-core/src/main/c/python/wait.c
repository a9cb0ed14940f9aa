/* Waits in slices, so that Ctrl-C ends a call that is blocked in Java. */
#include "binding.h"

/*
 * How this thread's call from Python waits. ms is 0 outside of such calls, since the thread may
 * also call the library in other ways.
 */
static __thread jcclSlice slice;

/* Whether the library knows the slice. */
static __thread bool known;

void jccl_py_slice(void) {
    if (!known) {
        Py_BEGIN_ALLOW_THREADS
            /* If Java does not start, the call that follows says why. */
            known = jccl_py_library.jcclSliced(&slice) == ncclSuccess;
        Py_END_ALLOW_THREADS
    }
    slice = (jcclSlice){JCCL_SLICE_MS, 0};
}

/* Takes the slice back; returns whether the call is parked. */
static bool leave_slice(void) {
    bool parked = slice.parked != 0;
    slice = (jcclSlice){0, 0};
    return parked;
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
    while (leave_slice()) {
        if (!signals_allow_waiting(NULL)) {
            return false;
        }
        jccl_py_slice();
        Py_BEGIN_ALLOW_THREADS* result = jccl_py_library.jcclResume();
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

bool jccl_py_go_on(ncclComm_t comm, uint64_t ticket, ncclResult_t* result) {
    return *result != ncclInProgress || ticket == 0 ||
           (signals_allow_waiting(comm) && jccl_py_finish_ticket(comm, ticket, result));
}
