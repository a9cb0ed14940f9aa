"""The binding for GraalPy in a Java VM: a guest of the Polyglot SDK with access to Java."""

from __future__ import annotations

import array
import importlib
from typing import Any, cast

from jccl.bindings.guest import GuestBinding, check_version
from jccl.bindings.protocol import Binding

_WHAT_TO_PASS = (
    "pass an array.array or a direct ByteBuffer of Java, whole: its slice(offset, length) is a"
    " buffer of its own"
)


class _GraalPy:
    """See ``jccl.bindings.guest.Host``."""

    def __init__(self) -> None:
        self._polyglot: Any = importlib.import_module("java")
        self._byte_buffer = self.java("java.nio.ByteBuffer")
        self._address = self.java("org.jccl.abi.GuestApi").address

    def java(self, name: str) -> Any:
        return self._polyglot.type(name)

    def attach(self) -> None:
        """A context is one rank's; its threads are Java's, which inherit the rank."""

    def memory(self, owner: object, writable: bool) -> tuple[int, int]:
        view = memoryview(owner)  # type: ignore[arg-type]
        if writable and view.readonly:
            raise BufferError("the memory is read-only")
        count = view.nbytes // view.itemsize if view.itemsize else view.nbytes
        base: Any = view.obj
        if not view.nbytes:
            return 0, 0
        if type(base) is array.array:
            if view.nbytes == len(base) * base.itemsize:
                return base.buffer_info()[0], count
        elif self._polyglot.instanceof(base, self._byte_buffer):
            if view.nbytes != memoryview(base).nbytes:
                raise BufferError(f"it is a part of a ByteBuffer: {_WHAT_TO_PASS}")
            address = int(self._address(base))
            if not address:
                raise BufferError(f"it is a ByteBuffer on the heap: {_WHAT_TO_PASS}")
            return address, count
        return self._by_ctypes(view), count

    def _by_ctypes(self, view: memoryview) -> int:
        """The address of other memory, which only native modules can find."""
        kind = type(view.obj).__name__
        if view.readonly:
            raise BufferError(f"GraalPy has no address of a read-only {kind}: {_WHAT_TO_PASS}")
        try:
            ctypes: Any = importlib.import_module("ctypes")
            memory = (ctypes.c_char * view.nbytes).from_buffer(view.cast("B"))
            return int(ctypes.addressof(memory))
        except (ImportError, SystemError) as error:
            raise BufferError(
                f"GraalPy finds the address of a {kind}, or of a part of an array, in one context"
                f" of a process only (python.IsolateNativeModules): {_WHAT_TO_PASS} ({error})"
            ) from error


def load() -> Binding:
    """The binding of this context.

    Raises:
        ImportError: if the context has no access to Java, or Java has no JCCL or another version.
    """
    try:
        host = _GraalPy()
        binding = GuestBinding(host)
    except (ImportError, KeyError, AttributeError, NotImplementedError, TypeError) as error:
        raise ImportError(
            "this GraalPy cannot call JCCL in Java: run the program by jccl-embed.jar, or make its"
            " Context with host access and class lookup, and JCCL's jar on the class path"
            f" ({error})"
        ) from error
    check_version(binding)
    return cast(Binding, binding)
