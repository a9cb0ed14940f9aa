/*
 * Collectives on numpy arrays in one step. Where there are more ranks than cores a call finds the
 * caches cold, and finding out in Python what two arrays are costs more than the operation. What
 * is not plain, or not right, is left to Python, which knows how to refuse it.
 */
#include <limits.h>

#include "binding.h"

#define LIB jccl_py_library

/* Left to Python: nothing has been called. */
enum { NOT_PLAIN = -1 };

static PyObject* not_plain(void) {
    return PyErr_Occurred() == NULL ? PyLong_FromLong(NOT_PLAIN) : NULL;
}

/* numpy.ndarray, and the number of the data type for each dtype met; NULL until numpy is met. */
static PyObject* array_class;
static PyObject* numbers;
static PyObject* dtype_name;

typedef struct {
    void* memory;
    size_t count;
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

/* Forgets an exception about an argument, but not Ctrl-C. */
static void forget_refusal(void) {
    if (PyErr_Occurred() != NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
    }
}

/* False if it is none, or with an exception that must go on. */
static bool is_plain(PyObject* given, bool writable, array* found) {
    if ((PyObject*)Py_TYPE(given) != array_class) {
        return false;
    }
    PyObject* dtype = PyObject_GetAttr(given, dtype_name);
    PyObject* number = dtype == NULL ? NULL : PyDict_GetItemWithError(numbers, dtype);
    long type = number == NULL ? -1 : PyLong_AsLong(number);
    Py_XDECREF(dtype);
    jccl_py_items items;
    if (type < 0 || !jccl_py_find(given, writable, &items)) {
        forget_refusal();
        return false;
    }
    *found = (array){items.memory, items.count, (ncclDataType_t)type};
    return true;
}

/* The count of the call, as NCCL counts; false if the arrays do not fit it. */
static bool fits(int operation, size_t sent, size_t received, size_t ranks, size_t* count) {
    *count = sent;
    switch (operation) {
        case jcclBroadcast:
            return received == sent;
        case jcclAllReduce:
            return received >= sent;
        case jcclAllGather:
            return received / ranks >= sent;
        case jcclAlltoAll:
            *count = sent / ranks;
            return sent % ranks == 0 && received >= sent;
        case jcclReduceScatter:
            *count = sent / ranks;
            return sent % ranks == 0 && received >= *count;
        default:
            return false;
    }
}

static ncclResult_t call(int operation, const array* send, const array* recv, size_t count,
                         int number, ncclComm_t comm) {
    const void* from = send->memory;
    void* to = recv->memory;
    ncclDataType_t type = send->type;
    switch (operation) {
        case jcclBroadcast:
            return LIB.ncclBroadcast(from, to, count, type, number, comm, NULL);
        case jcclAllReduce:
            return LIB.ncclAllReduce(from, to, count, type, (ncclRedOp_t)number, comm, NULL);
        case jcclAllGather:
            return LIB.ncclAllGather(from, to, count, type, comm, NULL);
        case jcclAlltoAll:
            return LIB.ncclAlltoAll(from, to, count, type, comm, NULL);
        default:
            return LIB.ncclReduceScatter(from, to, count, type, (ncclRedOp_t)number, comm, NULL);
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

PyObject* jccl_py_on_arrays(PyObject* module, PyObject* const* given, Py_ssize_t given_count) {
    (void)module;
    if (given_count != 6) {
        PyErr_Format(PyExc_TypeError, "on_arrays takes 6 arguments, not %zd", given_count);
        return NULL;
    }
    int operation, number, ranks;
    ncclComm_t comm;
    array send, recv;
    size_t count;
    if (jccl_py_open_groups() > 0 || !handle_of(given[5], &comm) || !int_of(given[0], &operation) ||
        !int_of(given[3], &number) || !int_of(given[4], &ranks) || ranks < 1 ||
        !is_plain(given[2], true, &recv)) {
        return not_plain();
    }
    if (given[1] == given[2]) {
        send = recv;
    } else if (!is_plain(given[1], false, &send) || send.type != recv.type) {
        return not_plain();
    }
    if (!fits(operation, send.count, recv.count, (size_t)ranks, &count)) {
        return not_plain();
    }
    jccl_py_slice();
    PyThreadState* gil = PyEval_SaveThread();
    ncclResult_t result = call(operation, &send, &recv, count, number, comm);
    PyEval_RestoreThread(gil);
    return jccl_py_finish(&result) ? PyLong_FromLong((long)result) : NULL;
}
