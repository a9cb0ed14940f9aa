"""The binding for CPython: the C extension ``_lib/_jccl.abi3.so``."""

from __future__ import annotations

import atexit
import faulthandler
import functools
import importlib.util
import os
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import Any, cast

from jccl.bindings.protocol import Binding

_EXTENSION = Path(__file__).parent.parent / "_lib" / "_jccl.abi3.so"


def load() -> Binding:
    """Loads the extension; guards the JVM against faulthandler and leaves in order at exit.

    Raises:
        ImportError: if the extension is missing or has another version than this package.
    """
    if not _EXTENSION.exists():
        raise ImportError(
            f"JCCL's native part is missing ({_EXTENSION}): install the wheel, or run"
            " `pip install .` in a clone"
        )
    loader = ExtensionFileLoader("jccl._jccl", str(_EXTENSION))
    spec = importlib.util.spec_from_file_location("jccl._jccl", _EXTENSION, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    binding = cast(Binding, module)
    _check_version(binding)
    if not binding.main_interpreter():
        raise ImportError("Java belongs to all interpreters, and this is a subinterpreter")
    _wrap_faulthandler(binding)
    atexit.register(_say_goodbye, binding, os.getpid())
    return binding


def _check_version(binding: Binding) -> None:
    import jccl

    library = binding.version_string()
    if library != jccl.__version__:
        raise ImportError(
            f"the Python package is JCCL {jccl.__version__}, but {_EXTENSION} is {library}:"
            " install one of them again"
        )


def _wrap_faulthandler(binding: Binding) -> None:
    """Keeps the JVM's signal handlers under faulthandler.

    HotSpot relies on catching SIGSEGV (null checks, safepoints). If faulthandler is enabled or
    disabled after the JVM was made, it installs its own handler or the default one, and the next
    such signal would end the process.
    """

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            finally:
                if binding.jvm_started():
                    binding.restore_signals()

        return call

    faulthandler.enable = guarded(faulthandler.enable)
    faulthandler.disable = guarded(faulthandler.disable)


def _say_goodbye(binding: Binding, pid: int) -> None:
    """Tells the peers that this process ends on purpose. A forked child has nothing to say."""
    if os.getpid() == pid and binding.jvm_started():
        binding.shutdown()
