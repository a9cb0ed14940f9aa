"""The ways from Python into the library. ``load`` gives the one that fits this interpreter."""

from __future__ import annotations

from jccl.bindings.protocol import Binding

__all__ = ["Binding", "load", "use"]

# Written once by the first load (or by use), read by every caller; guarded by the import lock
# inside and harmless if two threads load at once, since both get the same module.
_binding: Binding | None = None


def load() -> Binding:
    """The binding of this interpreter, loaded on the first call. It starts no JVM.

    Raises:
        ImportError: if the native part is missing or of another version.
    """
    global _binding
    if _binding is None:
        from jccl.bindings import cpython

        _binding = cpython.load()
    return _binding


def use(binding: Binding | None) -> Binding | None:
    """Replaces the binding (None: load afresh) and returns the one before. For tests."""
    global _binding
    before, _binding = _binding, binding
    return before
