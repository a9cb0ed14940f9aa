/*
 * Groups. Python looks at signals between its own instructions. If these opened or closed a block,
 * a signal handler that raises could leave the group open on this thread, and every later call
 * would be queued in it for ever. CPython looks at no signal while it enters and leaves a block
 * whose methods are written in C.
 */
#include "binding.h"

#define LIB jccl_py_library

__thread int jccl_py_groups;

static ncclResult_t start(void) {
    PyThreadState* gil = PyEval_SaveThread();
    ncclResult_t result = LIB.ncclGroupStart();
    PyEval_RestoreThread(gil);
    jccl_py_groups += result == ncclSuccess;
    return result;
}

/* False with a Python exception if a signal handler raised; the group is closed all the same. */
static bool end(bool simulate, ncclResult_t* result) {
    jccl_py_slice();
    PyThreadState* gil = PyEval_SaveThread();
    *result = simulate ? LIB.ncclGroupSimulateEnd(NULL) : LIB.ncclGroupEnd();
    PyEval_RestoreThread(gil);
    jccl_py_groups -= jccl_py_groups > 0;
    return jccl_py_finish(result);
}

PyObject* jccl_py_group_start(PyObject* module, PyObject* unused) {
    (void)module, (void)unused;
    return PyLong_FromLong((long)start());
}

PyObject* jccl_py_group_end(PyObject* module, PyObject* unused) {
    (void)module, (void)unused;
    ncclResult_t result;
    return end(false, &result) ? PyLong_FromLong((long)result) : NULL;
}

PyObject* jccl_py_group_simulate_end(PyObject* module, PyObject* unused) {
    (void)module, (void)unused;
    ncclResult_t result;
    return end(true, &result) ? PyLong_FromLong((long)result) : NULL;
}

PyObject* jccl_py_group_depth(PyObject* module, PyObject* unused) {
    (void)module, (void)unused;
    return PyLong_FromLong(jccl_py_groups);
}

/* The block. */

typedef struct {
    PyObject_HEAD PyObject* started;
    PyObject* ended;
} group_block;

/* group_block(started, ended): both get a result code; ended also whether the body raised. */
static PyObject* make(PyTypeObject* type, PyObject* given, PyObject* named) {
    (void)named;
    PyObject *started, *ended;
    if (!PyArg_ParseTuple(given, "OO:group_block", &started, &ended)) {
        return NULL;
    }
    if (!PyCallable_Check(started) || !PyCallable_Check(ended)) {
        PyErr_SetString(PyExc_TypeError, "group_block takes two functions");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    group_block* self = (group_block*)allocate(type, 0);
    if (self != NULL) {
        Py_INCREF(started);
        Py_INCREF(ended);
        self->started = started;
        self->ended = ended;
    }
    return (PyObject*)self;
}

static void discard(PyObject* object) {
    group_block* self = (group_block*)object;
    PyTypeObject* type = Py_TYPE(object);
    Py_XDECREF(self->started);
    Py_XDECREF(self->ended);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject* enter(PyObject* object, PyObject* unused) {
    (void)unused;
    ncclResult_t result = start();
    if (result != ncclSuccess) {
        return PyObject_CallFunction(((group_block*)object)->started, "i", (int)result);
    }
    Py_RETURN_NONE;
}

static PyObject* say_ended(PyObject* object, int code, bool raised) {
    return PyObject_CallFunction(((group_block*)object)->ended, "iO", code,
                                 raised ? Py_True : Py_False);
}

/*
 * Says that a signal handler raised when the group was closed: operations that it has queued must
 * not go on.
 */
static void say_interrupted(PyObject* object) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* answer = say_ended(object, -1, true);
    if (answer == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(answer);
    PyErr_Restore(type, value, trace);
}

static PyObject* leave(PyObject* object, PyObject* given) {
    bool raised = PyTuple_Size(given) > 0 && PyTuple_GetItem(given, 0) != Py_None;
    if (raised) {
        PyThreadState* gil = PyEval_SaveThread();
        LIB.jcclAbandonGroup();
        PyEval_RestoreThread(gil);
    }
    ncclResult_t result;
    if (!end(false, &result)) {
        say_interrupted(object);
        return NULL;
    }
    PyObject* answer = say_ended(object, (int)result, raised);
    if (answer == NULL) {
        /*
         * The exception is that of the group's error, for which this does nothing, or a signal
         * handler's.
         */
        say_interrupted(object);
    }
    return answer;
}

static PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, NULL},
    {"__exit__", leave, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void*)make},
    {Py_tp_dealloc, (void*)discard},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "_jccl.group_block",
    .basicsize = sizeof(group_block),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

bool jccl_py_add_group_block(PyObject* module) {
    PyObject* type = PyType_FromSpec(&spec);
    if (type == NULL || PyModule_AddObject(module, "group_block", type) != 0) {
        Py_XDECREF(type);
        return false;
    }
    return true;
}
