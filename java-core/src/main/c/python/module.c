/* The extension module _jccl: finds libjccl.so in its own folder and makes the module. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "binding.h"

jccl_library jccl_py_library;

PyMODINIT_FUNC PyInit__jccl(void);

static bool load_library(void) {
    Dl_info self;
    char path[PATH_MAX + 32];
    if (dladdr((void*)PyInit__jccl, &self) == 0 || self.dli_fname == NULL) {
        PyErr_SetString(PyExc_ImportError,
                        "the folder of JCCL's extension is unknown: install the wheel");
        return false;
    }
    const char* slash = strrchr(self.dli_fname, '/');
    int folder = slash == NULL ? 0 : (int)(slash - self.dli_fname) + 1;
    snprintf(path, sizeof path, "%.*slibjccl.so", folder, self.dli_fname);
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        PyErr_Format(PyExc_ImportError, "JCCL's library cannot be loaded: %s: reinstall JCCL",
                     dlerror());
        return false;
    }
    const char* missing = NULL;
#define NEEDED(name)                                                 \
    jccl_py_library.name = (__typeof__(name)*)dlsym(library, #name); \
    missing = jccl_py_library.name == NULL ? #name : missing;
#include "needed.def"
    if (missing != NULL) {
        PyErr_Format(PyExc_ImportError, "%s has no %s: reinstall JCCL", path, missing);
        return false;
    }
    const char* version = jccl_py_library.jcclVersionString();
    if (strcmp(version, JCCL_VERSION) != 0) {
        PyErr_Format(PyExc_ImportError,
                     "%s is version %s but JCCL's extension is version %s: reinstall JCCL", path,
                     version, JCCL_VERSION);
        return false;
    }
    return true;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_jccl",
    .m_doc = "NCCL's functions as JCCL answers them, for CPython; see jccl.bindings.protocol.",
    .m_size = -1,
    .m_methods = jccl_py_calls,
};

PyMODINIT_FUNC PyInit__jccl(void) {
    PyObject* module = load_library() ? PyModule_Create(&definition) : NULL;
    if (module != NULL && !jccl_py_add_group_block(module)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
