"""The ways from Python into the library. ``load`` returns the one for this interpreter."""

from __future__ import annotations

import sys
import threading
from typing import Any

from jccl.bindings.protocol import Binding

__all__ = ["Binding", "load", "own_state", "use"]

# Java, its signal handlers and the end of the process belong to all interpreters together.
_SUBINTERPRETER = (
    "JCCL works in the main interpreter of a process, and this is a subinterpreter: use it there,"
    " or start a process (multiprocessing with 'spawn', python -m jccl.run)"
)

# Written by the first load (or by use), read by every caller.
_binding: Binding | None = None
# If several threads load at once, as the ranks of one Jep do, all must get one binding: it knows
# what its threads do. A signal handler may load, too, on a thread that does.
_first = threading.RLock()


def load() -> Binding:
    """The binding of this interpreter, loaded on the first call. It starts no JVM.

    Raises:
        ImportError: if the native part is missing or has another version, or if there is none for
            this interpreter.
    """
    global _binding
    if _binding is None:
        _check_interpreter()
        try:
            found = _load_guest() or _load_extension()
        except ImportError as error:
            # CPython itself says so of faulthandler, or of the extension.
            if "subinterpreter" not in str(error):
                raise
            raise ImportError(_SUBINTERPRETER) from error
        with _first:
            if _binding is None:
                _binding = found
    return _binding


def own_state() -> dict[str, Any] | None:
    """What the package keeps for the rank of this thread; None if the process is one rank.

    The ranks of one Jep share this module. Threads that a rank starts by ``threading`` are its own.
    """
    ranks: Any = sys.modules.get("_jccl_rank")
    return None if ranks is None else ranks.own_state()


def _load_guest() -> Binding | None:
    """The binding of a Python that runs in a Java VM; None if this one does not."""
    if sys.implementation.name == "graalpy":
        from jccl.bindings import graalpy

        return graalpy.load()
    if "_jep" in sys.modules:
        from jccl.bindings import jep

        return jep.load()
    return None


def _load_extension() -> Binding:
    from jccl.bindings import cpython

    return cpython.load()


def _check_interpreter() -> None:
    name = sys.implementation.name
    if name == "graalpy":
        return
    if name != "cpython":
        raise ImportError(
            f"this Python is {name}, and JCCL's native part is an extension of CPython: run the"
            " program by CPython 3.10 or newer, or by jccl-embed.jar, which brings GraalPy"
        )
    if "t" in getattr(sys, "abiflags", ""):
        raise ImportError(
            "this CPython is free-threaded, and JCCL's native part keeps to the stable ABI, which"
            " such a CPython does not have: run the program by one with a GIL"
        )


def use(binding: Binding | None) -> Binding | None:
    """Replaces the binding (None: load afresh) and returns the previous one. For tests."""
    global _binding
    before, _binding = _binding, binding
    return before
