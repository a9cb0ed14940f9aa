/*
 * Where the memory of a buffer lies. The buffer protocol has been there since CPython 2.6, but its
 * declarations are part of the stable ABI from 3.11 only; these are the same for 3.10.
 */
#include "binding.h"

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

bool jccl_py_find(PyObject* owner, bool writable, jccl_py_items* found) {
    buffer_view view;
    if (PyObject_GetBuffer(owner, &view, ROW_MAJOR | (writable ? WRITABLE : 0)) < 0) {
        return false;
    }
    Py_ssize_t count = view.item_bytes > 0 ? view.bytes / view.item_bytes : view.bytes;
    *found = (jccl_py_items){view.memory, (size_t)count};
    PyBuffer_Release(&view);
    return true;
}

PyObject* jccl_py_memory(PyObject* module, PyObject* const* given, Py_ssize_t count) {
    (void)module;
    if (count != 2) {
        PyErr_Format(PyExc_TypeError, "memory takes 2 arguments, not %zd", count);
        return NULL;
    }
    jccl_py_items found;
    int writable = PyObject_IsTrue(given[1]);
    if (writable < 0 || !jccl_py_find(given[0], writable > 0, &found)) {
        return NULL;
    }
    return Py_BuildValue("(Kn)", (unsigned long long)(uintptr_t)found.memory,
                         (Py_ssize_t)found.count);
}
