/*
 * Finds the memory of buffers, and makes collectives on numpy arrays in one step. Among more ranks
 * than cores a call finds the caches cold, and if Python found out about the two arrays, that would
 * cost more than the operation. A call that is not plain, or not right, is left to Python, which
 * knows how to refuse it.
 */
#include <limits.h>

#include "binding.h"

#define LIB jccl_py_library

/*
 * CPython has the buffer protocol since 2.6, but declares it in the stable ABI from 3.11 on. These
 * declarations are the same for 3.10.
 */
typedef struct {
    void* memory;
    PyObject* owner;
    Py_ssize_t bytes;
    Py_ssize_t item_bytes;
    int read_only;
    int dimensions;
    char* format;
    Py_ssize_t* shape;
    Py_ssize_t* strides;
    Py_ssize_t* suboffsets;
    void* internal;
} buffer_view;

enum { WRITABLE = 0x1, ROW_MAJOR = 0x20 | 0x10 | 0x08 };

extern int PyObject_GetBuffer(PyObject* owner, buffer_view* view, int flags);
extern void PyBuffer_Release(buffer_view* view);

/* Memory of some elements. */
typedef struct {
    void* memory;
    size_t count;
} items;

/* Finds the memory of a buffer that is contiguous in row-major order; false with an exception. */
static bool find(PyObject* owner, bool writable, items* found) {
    buffer_view view;
    if (PyObject_GetBuffer(owner, &view, ROW_MAJOR | (writable ? WRITABLE : 0)) < 0) {
        return false;
    }
    Py_ssize_t count = view.item_bytes > 0 ? view.bytes / view.item_bytes : view.bytes;
    *found = (items){view.memory, (size_t)count};
    PyBuffer_Release(&view);
    return true;
}

PyObject* jccl_py_memory(PyObject* module, PyObject* const* given, Py_ssize_t count) {
    (void)module;
    if (count != 2) {
        PyErr_Format(PyExc_TypeError, "memory takes 2 arguments, not %zd", count);
        return NULL;
    }
    items found;
    int writable = PyObject_IsTrue(given[1]);
    if (writable < 0 || !find(given[0], writable > 0, &found)) {
        return NULL;
    }
    return Py_BuildValue("(Kn)", (unsigned long long)(uintptr_t)found.memory,
                         (Py_ssize_t)found.count);
}

/* Left to Python: nothing has been called. */
enum { NOT_PLAIN = -1 };

static PyObject* not_plain(void) {
    return PyErr_Occurred() == NULL ? PyLong_FromLong(NOT_PLAIN) : NULL;
}

/*
 * numpy.ndarray, and the number of the data type of each dtype that was met; NULL until numpy is
 * met.
 */
static PyObject* array_class;
static PyObject* numbers;
static PyObject* dtype_name;

typedef struct {
    items elements;
    ncclDataType_t type;
} array;

PyObject* jccl_py_know_arrays(PyObject* module, PyObject* const* given, Py_ssize_t count) {
    (void)module;
    if (count != 2 || !PyType_Check(given[0]) || !PyDict_Check(given[1])) {
        PyErr_SetString(PyExc_TypeError, "know_arrays takes a class and a dict");
        return NULL;
    }
    if (dtype_name == NULL && (dtype_name = PyUnicode_InternFromString("dtype")) == NULL) {
        return NULL;
    }
    PyObject *old_class = array_class, *old_numbers = numbers;
    Py_INCREF(given[0]);
    Py_INCREF(given[1]);
    array_class = given[0];
    numbers = given[1];
    Py_XDECREF(old_class);
    Py_XDECREF(old_numbers);
    Py_INCREF(Py_None);
    return Py_None;
}

/* Clears an exception about an argument, but not Ctrl-C. */
static void forget_refusal(void) {
    if (PyErr_Occurred() != NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
    }
}

/*
 * Whether an argument is an array of a known class and type. False may come with an exception that
 * must go on.
 */
static bool is_plain(PyObject* given, bool writable, array* found) {
    if ((PyObject*)Py_TYPE(given) != array_class) {
        return false;
    }
    PyObject* dtype = PyObject_GetAttr(given, dtype_name);
    PyObject* number = dtype == NULL ? NULL : PyDict_GetItemWithError(numbers, dtype);
    long type = number == NULL ? -1 : PyLong_AsLong(number);
    Py_XDECREF(dtype);
    if (type < 0 || !find(given, writable, &found->elements)) {
        forget_refusal();
        return false;
    }
    found->type = (ncclDataType_t)type;
    return true;
}

/* The parts that a buffer holds: none, one, or one for each rank. */
enum { NONE, ONE, EACH };

/* The ranks that have such a buffer. */
enum { ALL, ROOT };

typedef struct {
    int takes, senders, gives, receivers;
} shape;

static const shape shapes[] = {
#define OPERATION(name, takes, senders, gives, receivers, numbers) \
    [jccl##name] = {takes, senders, gives, receivers},
#include "operations.def"
#undef OPERATION
};

/* The shape of an operation on two arrays; NULL if there is none with this number. */
static const shape* shape_of(int operation) {
    bool known = operation >= 0 && (size_t)operation < sizeof shapes / sizeof shapes[0];
    const shape* found = known ? &shapes[operation] : NULL;
    return found != NULL && found->takes != NONE && found->gives != NONE ? found : NULL;
}

/* One call: the arguments, and what is found out about them. */
typedef struct {
    int operation, op, root, rank, nranks;
    ncclComm_t comm;
    bool sends, receives;
    array send, recv;
    size_t count;
} call;

/*
 * Finds NCCL's count of the call; false if the arrays do not fit. A rank that sends nothing counts
 * by its output. So where only the root sends, its output must have just the size that its input
 * asks for.
 */
static bool fits(const shape* of, call* c) {
    size_t in = of->takes == EACH ? (size_t)c->nranks : 1;
    size_t out = of->gives == EACH ? (size_t)c->nranks : 1;
    size_t sent = c->send.elements.count, received = c->recv.elements.count;
    c->count = c->sends ? sent / in : received / out;
    bool whole = c->sends ? sent % in == 0 : received % out == 0;
    bool exact = c->sends && of->senders == ROOT;
    bool enough = exact ? received == c->count * out : received / out >= c->count;
    return whole && (!c->receives || enough);
}

static ncclResult_t run(const call* c) {
    const void* from = c->send.elements.memory;
    void* to = c->recv.elements.memory;
    ncclDataType_t type = c->send.type;
    ncclRedOp_t op = (ncclRedOp_t)c->op;
    switch (c->operation) {
#define PLAIN(name) LIB.name(from, to, c->count, type, c->comm, NULL)
#define ROOTED(name) LIB.name(from, to, c->count, type, c->root, c->comm, NULL)
#define REDUCED(name) LIB.name(from, to, c->count, type, op, c->comm, NULL)
#define REDUCED_ROOTED(name) LIB.name(from, to, c->count, type, op, c->root, c->comm, NULL)
#define PEER(name) ncclInternalError
#define OPERATION(name, takes, senders, gives, receivers, numbers) \
    case jccl##name:                                               \
        return numbers(nccl##name);
#include "operations.def"
        default:
            return ncclInternalError;
    }
}

/* An int of C, or a handle, among the arguments; false, without an exception, if it is neither. */
static bool int_of(PyObject* given, int* read) {
    long value = PyLong_Check(given) ? PyLong_AsLong(given) : LONG_MIN;
    if (value == -1 && PyErr_Occurred() != NULL) {
        PyErr_Clear();
        return false;
    }
    *read = (int)value;
    return *read == value;
}

static bool handle_of(PyObject* given, ncclComm_t* read) {
    unsigned long long value = PyLong_Check(given) ? PyLong_AsUnsignedLongLong(given) : 0;
    if (value == (unsigned long long)-1 && PyErr_Occurred() != NULL) {
        PyErr_Clear();
        return false;
    }
    *read = (ncclComm_t)(uintptr_t)value;
    return *read != NULL;
}

/* Finds the arrays that this rank uses. One that it does not use is taken to be the other one. */
static bool find_arrays(PyObject* sent, PyObject* received, call* c) {
    if (c->receives && !is_plain(received, true, &c->recv)) {
        return false;
    }
    if (!c->sends || (c->receives && sent == received)) {
        c->send = c->recv;
        return true;
    }
    if (!is_plain(sent, false, &c->send)) {
        return false;
    }
    if (!c->receives) {
        c->recv = c->send;
    }
    return c->send.type == c->recv.type;
}

/*
 * Reads the arguments; false if they are no plain call, perhaps with an exception that must go on.
 */
static bool read_call(PyObject* const* given, call* c) {
    if (jccl_py_groups > 0 || !handle_of(given[7], &c->comm) || !int_of(given[0], &c->operation) ||
        !int_of(given[3], &c->op) || !int_of(given[4], &c->root)) {
        return false;
    }
    const shape* of = shape_of(c->operation);
    /* Python may not know the rank and the number of ranks yet: not every operation needs them. */
    c->rank = c->nranks = 1;
    if (of == NULL ||
        ((of->senders == ROOT || of->receivers == ROOT) && !int_of(given[5], &c->rank)) ||
        ((of->takes == EACH || of->gives == EACH) && !int_of(given[6], &c->nranks)) ||
        c->nranks < 1) {
        return false;
    }
    c->sends = of->senders == ALL || c->rank == c->root;
    c->receives = of->receivers == ALL || c->rank == c->root;
    return find_arrays(given[1], given[2], c) && fits(of, c);
}

PyObject* jccl_py_on_arrays(PyObject* module, PyObject* const* given, Py_ssize_t given_count) {
    (void)module;
    if (given_count != 8) {
        PyErr_Format(PyExc_TypeError, "on_arrays takes 8 arguments, not %zd", given_count);
        return NULL;
    }
    call c;
    if (!read_call(given, &c)) {
        return not_plain();
    }
    jccl_py_slice();
    PyThreadState* gil = PyEval_SaveThread();
    ncclResult_t result = run(&c);
    PyEval_RestoreThread(gil);
    return jccl_py_finish(&result) ? PyLong_FromLong((long)result) : NULL;
}
