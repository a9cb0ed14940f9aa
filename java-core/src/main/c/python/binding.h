/* The functions and variables that the parts of the CPython extension share. */
#ifndef JCCL_PYTHON_BINDING_H_
#define JCCL_PYTHON_BINDING_H_

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <stdbool.h>

#include "jccl.h"

/*
 * The functions of libjccl.so. They are looked up in that library and not bound by the linker:
 * another libnccl may be in the process, and neither may bind to the other.
 */
typedef struct {
#define NEEDED(name) __typeof__(name)* name;
#include "needed.def"
} jccl_library;

/* Filled when the module is made, under the import lock; read only afterwards. */
extern jccl_library jccl_py_library;

/* The functions of the module. */
extern PyMethodDef jccl_py_calls[];

/* The functions of group.c. */
PyObject* jccl_py_group_start(PyObject* module, PyObject* unused);
PyObject* jccl_py_group_end(PyObject* module, PyObject* unused);
PyObject* jccl_py_group_simulate_end(PyObject* module, PyObject* unused);
PyObject* jccl_py_group_depth(PyObject* module, PyObject* unused);

/* The functions of arrays.c. */
PyObject* jccl_py_memory(PyObject* module, PyObject* const* given, Py_ssize_t count);
PyObject* jccl_py_know_arrays(PyObject* module, PyObject* const* given, Py_ssize_t count);
PyObject* jccl_py_on_arrays(PyObject* module, PyObject* const* given, Py_ssize_t count);

/* How many groups this thread has open by the functions of group.c. */
extern __thread int jccl_py_groups;

/* Adds the type group_block; false with an exception. */
bool jccl_py_add_group_block(PyObject* module);

/*
 * How long a call may keep the thread before Python looks at signals, in milliseconds. Ctrl-C is
 * late by at most that; shorter slices would make waiting cost more.
 */
enum { JCCL_SLICE_MS = 100 };

/*
 * Call this before a call that may block: that call then returns after a slice, and jccl_py_finish
 * must follow it.
 */
void jccl_py_slice(void);

/*
 * If that call was parked, continues it until it is complete, and looks at signals between the
 * slices. If the handler of a signal raised, returns false with that Python exception; the call has
 * then been ended, and its communicators have been revoked.
 */
bool jccl_py_finish(ncclResult_t* result);

/* The same for a started operation. */
bool jccl_py_finish_ticket(ncclComm_t comm, uint64_t ticket, ncclResult_t* result);

/* The same for an operation whose start has waited for one slice; *result is the start's. */
bool jccl_py_go_on(ncclComm_t comm, uint64_t ticket, ncclResult_t* result);

#endif
