"""Runs the program of one rank in a Python that a Java VM hosts; see org.jccl.embed.

A host makes a module of this file. Its answers are tuples of plain values, which become Java's.
"""

from __future__ import annotations

import builtins
import importlib
import os
import runpy
import sys
import threading
import traceback
import types
import weakref
from collections.abc import Callable
from typing import Any

# What belongs to the rank of a thread, if the ranks share this interpreter; see enter.
_here = threading.local()
# The thread of each rank's program, by job and rank: the jobs of a process share this module.
_threads: dict[str, int] = {}
# Held by a thread that stops a program, which must not end meanwhile: another thread might get its
# number. Also by one that enters.
_ends = threading.Lock()


class Late(BaseException):
    """The time limit of the job has passed."""


class _Stream:
    """A text stream of a shared interpreter: text goes where the writing rank's goes."""

    def __init__(self, name: str, stream: Any) -> None:
        self._name = name
        self._stream = stream

    def write(self, text: str) -> int:
        own = getattr(_here, self._name, None)
        if own is None:
            self._stream.write(text)
        else:
            own.text(text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Environment(os._Environ):  # type: ignore[type-arg]
    """The environment, with variables that only the threads of one rank see."""

    def __init__(self, below: Any) -> None:
        super().__init__(
            below._data, below.encodekey, below.decodekey, below.encodevalue, below.decodevalue
        )

    @staticmethod
    def _own() -> dict[str, str | None]:
        """The rank's variables, which stay its own when they are deleted: None."""
        return getattr(_here, "variables", {})

    def __getitem__(self, key: str) -> str:
        own = self._own()
        value: str | None = own[key] if key in own else super().__getitem__(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: str, value: str) -> None:
        if key in self._own():
            self.encodevalue(value)
            self._own()[key] = value
        else:
            super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        if key in self._own():
            # Raises KeyError if it is deleted already.
            self[key]
            self._own()[key] = None
        else:
            super().__delitem__(key)

    def __iter__(self) -> Any:
        own = dict(self._own())
        yield from (key for key, value in own.items() if value is not None)
        yield from (key for key in super().__iter__() if key not in own)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _AfterTorch:
    """Gives each rank a world of torch.distributed when the first of them imports it."""

    _NAME = "torch.distributed.distributed_c10d"

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self._NAME:
            return None
        for finder in sys.meta_path:
            spec: Any = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader.exec_module = self._then_separate(spec.loader.exec_module)
                return spec
        return None

    @staticmethod
    def _then_separate(execute: Callable[[Any], None]) -> Callable[[Any], None]:
        def exec_module(module: Any) -> None:
            from jccl.torch.worlds import give_each_rank_its_own

            execute(module)
            give_each_rank_its_own(module)

        return exec_module


class _Main(types.ModuleType):
    """Stands for the module __main__ of a shared interpreter: each rank sees its own."""

    @staticmethod
    def _own() -> Any:
        return getattr(_here, "main", _NO_MAIN)

    def __getattribute__(self, name: str) -> Any:
        return getattr(_Main._own(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_Main._own(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_Main._own(), name)


_NO_MAIN = types.ModuleType("__main__")


def share_interpreter() -> None:
    """Prepares an interpreter in which all ranks run as threads; call it once."""
    import faulthandler

    sys.stdout = _Stream("out", sys.stdout)
    sys.stderr = _Stream("err", sys.stderr)
    os.environ = _Environment(os.environ)  # noqa: B003
    threads: Any = threading.Thread
    start, bootstrap = threads.start, threads._bootstrap_inner

    def inherit(thread: threading.Thread) -> None:
        thread._jccl_rank = dict(vars(_here))  # type: ignore[attr-defined]
        start(thread)

    def begin(thread: threading.Thread) -> None:
        vars(_here).update(vars(thread).pop("_jccl_rank", {}))
        (own_state() or {}).get("begin_thread", bool)()
        bootstrap(thread)

    sys.meta_path.insert(0, _AfterTorch())
    sys.modules["__main__"] = _Main("__main__")
    threads.start = inherit
    threads._bootstrap_inner = begin
    # They would take the signals by which HotSpot finds null pointers and reaches safepoints.
    for name in ("enable", "disable", "register", "unregister"):
        setattr(faulthandler, name, _without_effect)


def _without_effect(*_: object, **__: object) -> bool:
    """Stands for functions of faulthandler that set signal handlers."""
    return False


def own_state() -> dict[str, Any] | None:
    """What the package jccl keeps for the rank of this thread; None on a thread of no rank."""
    return getattr(_here, "state", None)


def attach() -> None:
    """Makes this thread its rank's in Java, too. A thread that never calls it needs no Java."""
    guest = getattr(_here, "guest", None)
    if guest is not None:
        guest.enter()


class _Job(dict[str, Any]):
    """What the package jccl keeps for all ranks of a job, while one of them runs."""


_jobs: weakref.WeakValueDictionary[str, _Job] = weakref.WeakValueDictionary()


def enter(guest: Any, job: str, variables: list[str], out: Any, err: Any) -> None:
    """Makes this thread, and threads that it starts, those of a rank of a shared interpreter.

    Args:
        guest: the rank in Java.
        job: the name of its job.
        variables: of the environment, each as name=value.
        out: gets the text of standard output.
        err: likewise.
    """
    _here.guest = guest
    with _ends:
        _here.state = {"job": _jobs.setdefault(job, _Job())}
    _here.variables = dict(each.split("=", 1) for each in variables)
    _here.out = out
    _here.err = err


def run(key: str, kind: str, target: str, arguments: list[str]) -> tuple[Any, ...]:
    """Runs a program to its end.

    Args:
        key: of the job and the rank, for stop.
        kind: "script", "module", "code" or "function".
        target: a path, a name, a text, or module:function.
        arguments: those of the program, or of the function.

    Returns:
        ("returned", value), ("exited", status), ("raised", class, message, traceback) or
        ("late",).
    """
    _threads[key] = threading.get_ident()
    try:
        return ("returned", _plain(_PROGRAMS[kind](target, list(arguments))))
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return ("exited", (end.code or 0) & 0xFF)
        print(end.code, file=sys.stderr)
        return ("exited", 1)
    except Late:
        return ("late",)
    except BaseException as error:
        if isinstance(error, MemoryError):
            _free_program(error)
        return _raised(error)
    finally:
        with _ends:
            _threads.pop(key, None)
        sys.stdout.flush()
        sys.stderr.flush()


def _plain(value: object) -> object:
    """The value as Java's; the text of one that Java does not have."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    small = type(value) is int and -(1 << 63) <= value < 1 << 63
    return value if small or value is None or type(value) in (bool, float, str) else str(value)


def _free_program(error: MemoryError) -> None:
    """Lets go of what a program holds that has used up the memory: to tell its end takes some."""
    traceback.clear_frames(error.__traceback__)
    main = getattr(_here, "main", None)
    if main is not None:
        vars(main).clear()


def _raised(error: BaseException) -> tuple[str, str, str, str]:
    trace = error.__traceback__
    # The program's own frames: neither this file's nor those of runpy.
    while trace and trace.tb_frame.f_code.co_filename in (_OWN, runpy.__file__):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    return ("raised", type(error).__qualname__, str(error), text)


def _main(name: str | None) -> types.ModuleType:
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=name, __builtins__=builtins)
    if name is None:
        del main.__file__
    _here.main = main
    if type(sys.modules.get("__main__")) is not _Main:
        sys.modules["__main__"] = main
    return main


def _first_in_path(folder: str) -> None:
    if folder not in sys.path[:1]:
        # Jobs of one process come with the same folders again and again.
        sys.path[:] = [folder, *(each for each in sys.path if each != folder)]


def _script(target: str, arguments: list[str]) -> None:
    sys.argv = [target, *arguments]
    _first_in_path(os.path.dirname(os.path.abspath(target)))
    with open(target, "rb") as file:
        # Without it this file's future statements would be the program's.
        code = compile(file.read(), target, "exec", dont_inherit=True)
    exec(code, _main(target).__dict__)


def _module(target: str, arguments: list[str]) -> None:
    _first_in_path(os.getcwd())
    # As runpy.run_module, which knows no module __main__ for each rank.
    _, spec, code = runpy._get_module_details(target)  # type: ignore[attr-defined]
    sys.argv = [spec.origin, *arguments]
    main = _main(spec.origin)
    main.__spec__ = spec
    main.__loader__ = spec.loader
    main.__package__ = spec.parent
    exec(code, main.__dict__)


def _code(target: str, arguments: list[str]) -> None:
    sys.argv = ["-c", *arguments]
    _first_in_path("")
    exec(compile(target, "<string>", "exec", dont_inherit=True), _main(None).__dict__)


def _function(target: str, arguments: list[str]) -> object:
    _first_in_path(os.getcwd())
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)(*arguments)


_OWN = _script.__code__.co_filename
_PROGRAMS: dict[str, Callable[[str, list[str]], object]] = {
    "script": _script,
    "module": _module,
    "code": _code,
    "function": _function,
}


def stop(key: str) -> bool:
    """Raises Late in the rank's program, from another thread of a shared CPython."""
    import ctypes

    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    with _ends:
        thread = _threads.get(key)
        return thread is not None and raise_in(ctypes.c_ulong(thread), ctypes.py_object(Late)) == 1
