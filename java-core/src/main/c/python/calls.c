/*
 * One Python function for each function of the library, under nccl4py's names. All arguments are
 * ints: numbers, addresses and handles. A function returns its result code, or (code, value).
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"

#define LIB jccl_py_library

/* The arguments of a Python function: up to nine ints. */
typedef struct {
    unsigned long long at[9];
} ints;

/* Reads an int. The letter says what it may be; see DEFINE. */
static bool read_int(char kind, PyObject* given, unsigned long long* read) {
    if (kind == 'w') {
        *read = PyLong_AsUnsignedLongLong(given);
        return *read != (unsigned long long)-1 || PyErr_Occurred() == NULL;
    }
    long long value = PyLong_AsLongLong(given);
    if (value == -1 && PyErr_Occurred() != NULL) {
        return false;
    }
    if (kind == 'i' && (value < INT_MIN || value > INT_MAX)) {
        PyErr_SetNone(PyExc_OverflowError);
        return false;
    }
    *read = (unsigned long long)value;
    return true;
}

/* Replaces the exception about argument number i by a sentence that names it. */
static void refuse(const char* function, char kind, const char* names, Py_ssize_t i,
                   PyObject* given) {
    bool too_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
    if (!too_large && !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return;
    }
    for (; i > 0; i--) {
        names = strchr(names, ' ') + 1;
    }
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(names, " "), names);
    const char* range = kind == 'i'   ? "an int of C"
                        : kind == 'l' ? "a signed number of 64 bits"
                                      : "an unsigned number of 64 bits";
    PyErr_Clear();
    PyErr_Format(too_large ? PyExc_OverflowError : PyExc_TypeError, "%s: %s is %R: it must be %s",
                 function, name, given, range);
}

static bool read_one(char kind, PyObject* given, unsigned long long* read) {
    if (PyLong_Check(given)) {
        return read_int(kind, given, read);
    }
    PyObject* number = PyNumber_Index(given);
    bool ok = number != NULL && read_int(kind, number, read);
    Py_XDECREF(number);
    return ok;
}

static bool read_ints(const char* function, PyObject* const* given, Py_ssize_t count,
                      const char* kinds, const char* names, ints* read) {
    Py_ssize_t wanted = (Py_ssize_t)strlen(kinds);
    if (count != wanted) {
        PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", function, wanted, count);
        return false;
    }
    for (Py_ssize_t i = 0; i < wanted; i++) {
        if (!read_one(kinds[i], given[i], &read->at[i])) {
            refuse(function, kinds[i], names, i, given[i]);
            return false;
        }
    }
    return true;
}

/* Argument number i as a pointer or handle, a count, an int or an enum. */
#define PTR(i) ((void*)(uintptr_t)in.at[i])
#define COMM(i) ((ncclComm_t)(uintptr_t)in.at[i])
#define STREAM(i) ((cudaStream_t)(uintptr_t)in.at[i])
#define SIZE(i) ((size_t)in.at[i])
#define INT(i) ((int)in.at[i])
#define TYPE(i) ((ncclDataType_t)in.at[i])
#define OP(i) ((ncclRedOp_t)in.at[i])

/*
 * The head of a function: its ints, read. Kinds has a letter for each argument: w is an address, a
 * handle or a count, i an int or an enum, l an int64_t. Names are separated by spaces.
 */
#define DEFINE(name, kinds, names, body)                                                \
    static PyObject* name(PyObject* module, PyObject* const* given, Py_ssize_t count) { \
        (void)module;                                                                   \
        ints in;                                                                        \
        if (!read_ints(#name, given, count, kinds, names, &in)) {                       \
            return NULL;                                                                \
        }                                                                               \
        body                                                                            \
    }

/* A call that returns soon. It releases the GIL and is not sliced. */
#define CALL(expression)                      \
    ncclResult_t result;                      \
    PyThreadState* gil = PyEval_SaveThread(); \
    result = (expression);                    \
    PyEval_RestoreThread(gil);

/* A call that may block. */
#define WAIT(expression)            \
    jccl_py_slice();                \
    CALL(expression)                \
    if (!jccl_py_finish(&result)) { \
        return NULL;                \
    }

#define CODE return PyLong_FromLong((long)result);
#define WORD return Py_BuildValue("(iK)", (int)result, (unsigned long long)(uintptr_t)out);
#define NUMBER return Py_BuildValue("(ii)", (int)result, (int)out);
#define ID return Py_BuildValue("(iy#)", (int)result, out.internal, (Py_ssize_t)sizeof out);

/* A function that returns a code, soon or after it has waited. */
#define QUICK_CODE(name, kinds, names, expression) DEFINE(name, kinds, names, CALL(expression) CODE)
#define WAIT_CODE(name, kinds, names, expression) DEFINE(name, kinds, names, WAIT(expression) CODE)
/* The same for (code, value); the expression writes to `out`. */
#define QUICK_NUMBER(name, kinds, names, type, expression) \
    DEFINE(name, kinds, names, type out = (type)0; CALL(expression) NUMBER)
#define QUICK_WORD(name, kinds, names, type, expression) \
    DEFINE(name, kinds, names, type out = (type)0; CALL(expression) WORD)
/*
 * A new communicator. If a signal handler raised after it was made, nobody would have it. So
 * signals are looked at once more here, where it can still be aborted.
 */
#define WAIT_COMM(name, kinds, names, expression)                                     \
    DEFINE(                                                                           \
        name, kinds, names, ncclComm_t out = NULL; jccl_py_slice();                   \
        CALL(expression) if (!jccl_py_finish(&result) || PyErr_CheckSignals() != 0) { \
            abort_all(&out, 1);                                                       \
            return NULL;                                                              \
        } WORD)
#define WAIT_ID(name, kinds, names, expression) \
    DEFINE(name, kinds, names, ncclUniqueId out = {{0}}; WAIT(expression) ID)
#define TEXT(name, kinds, names, expression) DEFINE(name, kinds, names, return (expression);)

/* Functions that do not fit one line. */

static ncclUniqueId id_at(const void* address) {
    ncclUniqueId id = {{0}};
    if (address != NULL) {
        memcpy(&id, address, sizeof id);
    }
    return id;
}

static PyObject* last_error(ncclComm_t comm) {
    const char* text = LIB.ncclGetLastError(comm);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strnlen(text, 1024), "replace");
}

static PyObject* java_home_or_nothing(void) {
    const char* home = LIB.jcclJavaHome();
    return PyUnicode_DecodeFSDefault(home == NULL ? "" : home);
}

static PyObject* restore_and_return_none(void) {
    LIB.jcclRestoreSignals();
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject* words(const uint64_t* values, int n) {
    PyObject* list = PyList_New(n);
    for (int i = 0; list != NULL && i < n; i++) {
        PyList_SetItem(list, i, PyLong_FromUnsignedLongLong(values[i]));
    }
    return list;
}

static PyObject* handles(const ncclComm_t* comms, int n) {
    PyObject* list = PyList_New(n);
    for (int i = 0; list != NULL && i < n; i++) {
        PyList_SetItem(list, i, PyLong_FromVoidPtr(comms[i]));
    }
    return list;
}

/* Aborts the communicators of an interrupted call, and keeps the exception that is on its way. */
static void abort_all(const ncclComm_t* comms, int n) {
    Py_BEGIN_ALLOW_THREADS for (int i = 0; i < n; i++) {
        if (comms[i] != NULL) {
            LIB.ncclCommAbort(comms[i]);
        }
    }
    Py_END_ALLOW_THREADS
}

static PyObject* init_all(int n, const int* devices) {
    int places = n > 0 ? n : 0;
    ncclComm_t* comms = calloc((size_t)places + 1, sizeof *comms);
    if (comms == NULL) {
        return PyErr_NoMemory();
    }
    jccl_py_slice();
    CALL(LIB.ncclCommInitAll(comms, n, devices))
    bool kept = jccl_py_finish(&result) && PyErr_CheckSignals() == 0;
    PyObject* list = kept ? handles(comms, places) : NULL;
    if (list == NULL) {
        abort_all(comms, places);
    }
    free(comms);
    return list == NULL ? NULL : Py_BuildValue("(iN)", (int)result, list);
}

static PyObject* stats(ncclComm_t comm, int n) {
    enum { MOST = 256 };
    uint64_t counters[MOST] = {0};
    int places = n < 0 ? 0 : n > MOST ? MOST : n;
    CALL(LIB.jcclCommStats(comm, counters, places))
    PyObject* list = words(counters, places);
    return list == NULL ? NULL : Py_BuildValue("(iN)", (int)result, list);
}

/* Version and errors. */

QUICK_NUMBER(get_version, "", "", int, LIB.ncclGetVersion(&out));
WAIT_ID(get_unique_id, "", "", LIB.ncclGetUniqueId(&out));
TEXT(get_error_string, "i", "result",
     PyUnicode_FromString(LIB.ncclGetErrorString((ncclResult_t)INT(0))));
TEXT(get_last_error, "w", "comm", last_error(COMM(0)));

/* Making communicators. */

WAIT_COMM(comm_init_rank, "iwi", "nranks comm_id rank",
          LIB.ncclCommInitRank(&out, INT(0), id_at(PTR(1)), INT(2)));
WAIT_COMM(comm_init_rank_config, "iwiw", "nranks comm_id rank config",
          LIB.ncclCommInitRankConfig(&out, INT(0), id_at(PTR(1)), INT(2), PTR(3)));
WAIT_COMM(comm_init_rank_scalable, "iiiww", "nranks rank n_id comm_ids config",
          LIB.ncclCommInitRankScalable(&out, INT(0), INT(1), INT(2), PTR(3), PTR(4)));
DEFINE(comm_init_all, "iw", "ndev devlist", return init_all(INT(0), PTR(1)););
WAIT_COMM(comm_split, "wiiw", "comm color key config",
          LIB.ncclCommSplit(COMM(0), INT(1), INT(2), &out, PTR(3)));
WAIT_COMM(comm_shrink, "wwiwi", "comm exclude count config flags",
          LIB.ncclCommShrink(COMM(0), PTR(1), INT(2), &out, PTR(3), INT(4)));
WAIT_ID(comm_get_unique_id, "w", "comm", LIB.ncclCommGetUniqueId(COMM(0), &out));
WAIT_COMM(comm_grow, "wiwiw", "comm n_ranks unique_id rank config",
          LIB.ncclCommGrow(COMM(0), INT(1), PTR(2), INT(3), &out, PTR(4)));

/* Life cycle and queries. */

WAIT_CODE(comm_finalize, "w", "comm", LIB.ncclCommFinalize(COMM(0)));
WAIT_CODE(comm_destroy, "w", "comm", LIB.ncclCommDestroy(COMM(0)));
WAIT_CODE(comm_abort, "w", "comm", LIB.ncclCommAbort(COMM(0)));
WAIT_CODE(comm_revoke, "wi", "comm flags", LIB.ncclCommRevoke(COMM(0), INT(1)));
WAIT_CODE(comm_suspend, "wi", "comm flags", LIB.ncclCommSuspend(COMM(0), INT(1)));
WAIT_CODE(comm_resume, "w", "comm", LIB.ncclCommResume(COMM(0)));
QUICK_WORD(comm_mem_stats, "wi", "comm stat", uint64_t,
           LIB.ncclCommMemStats(COMM(0), (ncclCommMemStat_t)INT(1), &out));
QUICK_NUMBER(comm_get_async_error, "w", "comm", ncclResult_t,
             LIB.ncclCommGetAsyncError(COMM(0), &out));
QUICK_NUMBER(comm_count, "w", "comm", int, LIB.ncclCommCount(COMM(0), &out));
QUICK_NUMBER(comm_cu_device, "w", "comm", int, LIB.ncclCommCuDevice(COMM(0), &out));
QUICK_NUMBER(comm_user_rank, "w", "comm", int, LIB.ncclCommUserRank(COMM(0), &out));

/* Operations. */

WAIT_CODE(all_reduce, "wwwiiww", "send recv count datatype op comm stream",
          LIB.ncclAllReduce(PTR(0), PTR(1), SIZE(2), TYPE(3), OP(4), COMM(5), STREAM(6)));
WAIT_CODE(broadcast, "wwwiiww", "send recv count datatype root comm stream",
          LIB.ncclBroadcast(PTR(0), PTR(1), SIZE(2), TYPE(3), INT(4), COMM(5), STREAM(6)));
WAIT_CODE(bcast, "wwiiww", "buff count datatype root comm stream",
          LIB.ncclBcast(PTR(0), SIZE(1), TYPE(2), INT(3), COMM(4), STREAM(5)));
WAIT_CODE(reduce, "wwwiiiww", "send recv count datatype op root comm stream",
          LIB.ncclReduce(PTR(0), PTR(1), SIZE(2), TYPE(3), OP(4), INT(5), COMM(6), STREAM(7)));
WAIT_CODE(all_gather, "wwwiww", "send recv sendcount datatype comm stream",
          LIB.ncclAllGather(PTR(0), PTR(1), SIZE(2), TYPE(3), COMM(4), STREAM(5)));
WAIT_CODE(reduce_scatter, "wwwiiww", "send recv recvcount datatype op comm stream",
          LIB.ncclReduceScatter(PTR(0), PTR(1), SIZE(2), TYPE(3), OP(4), COMM(5), STREAM(6)));
WAIT_CODE(allto_all, "wwwiww", "send recv count datatype comm stream",
          LIB.ncclAlltoAll(PTR(0), PTR(1), SIZE(2), TYPE(3), COMM(4), STREAM(5)));
WAIT_CODE(gather, "wwwiiww", "send recv count datatype root comm stream",
          LIB.ncclGather(PTR(0), PTR(1), SIZE(2), TYPE(3), INT(4), COMM(5), STREAM(6)));
WAIT_CODE(scatter, "wwwiiww", "send recv count datatype root comm stream",
          LIB.ncclScatter(PTR(0), PTR(1), SIZE(2), TYPE(3), INT(4), COMM(5), STREAM(6)));
WAIT_CODE(send, "wwiiww", "buff count datatype peer comm stream",
          LIB.ncclSend(PTR(0), SIZE(1), TYPE(2), INT(3), COMM(4), STREAM(5)));
WAIT_CODE(recv, "wwiiww", "buff count datatype peer comm stream",
          LIB.ncclRecv(PTR(0), SIZE(1), TYPE(2), INT(3), COMM(4), STREAM(5)));
QUICK_NUMBER(red_op_create_pre_mul_sum, "wiiw", "scalar datatype residence comm", ncclRedOp_t,
             LIB.ncclRedOpCreatePreMulSum(&out, PTR(0), TYPE(1), (ncclScalarResidence_t)INT(2),
                                          COMM(3)));
QUICK_CODE(red_op_destroy, "iw", "op comm", LIB.ncclRedOpDestroy(OP(0), COMM(1)));
QUICK_WORD(mem_alloc, "w", "size", void*, LIB.ncclMemAlloc(&out, SIZE(0)));
QUICK_CODE(mem_free, "w", "ptr", LIB.ncclMemFree(PTR(0)));

/* Asynchronous forms. */

QUICK_WORD(start, "iwwwiiiw", "operation send recv count datatype op root comm", uint64_t,
           LIB.jcclStart(INT(0), PTR(1), PTR(2), SIZE(3), TYPE(4), OP(5), INT(6), COMM(7), 0,
                         &out));
QUICK_CODE(poll, "wwi", "comm ticket ms", LIB.jcclPoll(COMM(0), in.at[1], INT(2)));
DEFINE(
    wait, "ww", "comm ticket", ncclResult_t result;
    if (!jccl_py_finish_ticket(COMM(0), in.at[1], &result)) { return NULL; } CODE);
DEFINE(
    run, "iwwwiiiw", "operation send recv count datatype op root comm", uint64_t ticket = 0;
    CALL(LIB.jcclStart(INT(0), PTR(1), PTR(2), SIZE(3), TYPE(4), OP(5), INT(6), COMM(7),
                       JCCL_SLICE_MS, &ticket)) if (!jccl_py_go_on(COMM(7), ticket, &result)) {
        return NULL;
    } CODE);
QUICK_WORD(start_composed, "www", "words count comm", uint64_t,
           LIB.jcclStartComposed(PTR(0), SIZE(1), COMM(2), 0, &out));
DEFINE(
    run_composed, "www", "words count comm", uint64_t ticket = 0;
    CALL(LIB.jcclStartComposed(PTR(0), SIZE(1), COMM(2), JCCL_SLICE_MS,
                               &ticket)) if (!jccl_py_go_on(COMM(2), ticket, &result)) {
        return NULL;
    } CODE);
QUICK_CODE(comm_interrupt, "w", "comm", LIB.jcclCommInterrupt(COMM(0)));
QUICK_CODE(comm_drop, "w", "comm", LIB.jcclCommDrop(COMM(0)));
QUICK_CODE(abandon_group, "", "", LIB.jcclAbandonGroup());
QUICK_WORD(wait_completion, "wi", "seen ms", uint64_t,
           LIB.jcclWaitCompletion(in.at[0], INT(1), &out));

/* Communicators and the process. */

QUICK_CODE(comm_options, "wl", "comm timeout_ms", LIB.jcclCommOptions(COMM(0), (int64_t)in.at[1]));
DEFINE(comm_stats, "wi", "comm n", return stats(COMM(0), INT(1)););
QUICK_CODE(shutdown, "", "", LIB.jcclShutdown());
QUICK_CODE(warm, "i", "ms", LIB.jcclWarm(INT(0)));
TEXT(version_string, "", "", PyUnicode_FromString(LIB.jcclVersionString()));
TEXT(main_interpreter, "", "",
     PyBool_FromLong(PyInterpreterState_GetID(PyInterpreterState_Get()) == 0));
TEXT(java_home, "", "", java_home_or_nothing());
QUICK_CODE(jvm_start, "", "", LIB.jcclJavaStart());
TEXT(jvm_started, "", "", PyBool_FromLong(LIB.jcclJavaStarted()));
TEXT(restore_signals, "", "", restore_and_return_none());

#define FAST(name, function) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}
#define ENTRY(name) FAST(#name, name)

PyMethodDef jccl_py_calls[] = {
    ENTRY(get_version),
    ENTRY(get_unique_id),
    ENTRY(get_error_string),
    ENTRY(get_last_error),
    ENTRY(comm_init_rank),
    ENTRY(comm_init_rank_config),
    ENTRY(comm_init_rank_scalable),
    ENTRY(comm_init_all),
    ENTRY(comm_split),
    ENTRY(comm_shrink),
    ENTRY(comm_get_unique_id),
    ENTRY(comm_grow),
    ENTRY(comm_finalize),
    ENTRY(comm_destroy),
    ENTRY(comm_abort),
    ENTRY(comm_revoke),
    ENTRY(comm_suspend),
    ENTRY(comm_resume),
    ENTRY(comm_mem_stats),
    ENTRY(comm_get_async_error),
    ENTRY(comm_count),
    ENTRY(comm_cu_device),
    ENTRY(comm_user_rank),
    ENTRY(all_reduce),
    ENTRY(broadcast),
    ENTRY(bcast),
    ENTRY(reduce),
    ENTRY(all_gather),
    ENTRY(reduce_scatter),
    ENTRY(allto_all),
    ENTRY(gather),
    ENTRY(scatter),
    ENTRY(send),
    ENTRY(recv),
    {"group_start", jccl_py_group_start, METH_NOARGS, NULL},
    {"group_end", jccl_py_group_end, METH_NOARGS, NULL},
    {"group_simulate_end", jccl_py_group_simulate_end, METH_NOARGS, NULL},
    {"group_depth", jccl_py_group_depth, METH_NOARGS, NULL},
    FAST("memory", jccl_py_memory),
    FAST("know_arrays", jccl_py_know_arrays),
    FAST("on_arrays", jccl_py_on_arrays),
    ENTRY(red_op_create_pre_mul_sum),
    ENTRY(red_op_destroy),
    ENTRY(mem_alloc),
    ENTRY(mem_free),
    ENTRY(start),
    ENTRY(start_composed),
    ENTRY(run_composed),
    ENTRY(poll),
    ENTRY(wait),
    ENTRY(run),
    ENTRY(comm_interrupt),
    ENTRY(comm_drop),
    ENTRY(abandon_group),
    ENTRY(wait_completion),
    ENTRY(comm_options),
    ENTRY(comm_stats),
    ENTRY(shutdown),
    ENTRY(warm),
    ENTRY(version_string),
    ENTRY(main_interpreter),
    ENTRY(java_home),
    ENTRY(jvm_start),
    ENTRY(jvm_started),
    ENTRY(restore_signals),
    {NULL, NULL, 0, NULL},
};
