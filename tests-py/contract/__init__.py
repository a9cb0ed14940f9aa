"""What jccl.core does in every Python that it runs in: CPython over JNI, GraalPy and Jep.

A case is a function that all ranks call together. Cases use neither pytest nor numpy: their buffers
are array.array and memory that Java allocated.
"""
