"""Processes for ranks, forked from a template that has imported the modules that take long.

A Python that imports torch and what DDP needs works for four seconds and holds half a gigabyte. A
fork of the template takes milliseconds and shares its memory. The template starts no Java and no
thread, so its children are as good as new.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jccl.run.launcher import exit_code

_TESTS = Path(__file__).parent
_LARGEST = 1 << 20
#: What a scenario's module may import, and what will be imported with it.
_HEAVY = {
    "numpy": ("numpy",),
    "torch": ("torch", "torch.distributed", "torch.nn.parallel", "torch._dynamo"),
}


class Child:
    """A process that a template has forked; the leader of a session."""

    def __init__(self, template: _Template, pid: int) -> None:
        self._template = template
        self.pid = pid

    def status(self) -> int | None:
        """How it has ended, as in Popen.returncode; None while it runs.

        Its number is not given to another process before ``kill``.
        """
        status: int | None = self._template.ask(("status", self.pid))
        return status

    def wait(self, limit_s: float) -> int | None:
        """Waits for its end and returns its status; None if it still runs after the limit."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return self.status()
        try:
            ended = select.poll()
            ended.register(descriptor, select.POLLIN)
            ended.poll(max(0.0, limit_s) * 1000)
        finally:
            os.close(descriptor)
        return self.status()

    def kill(self) -> None:
        """Ends it and its process group. Nothing may be asked of it afterwards."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._template.ask(("reap", self.pid))


def fork(
    function: str, fds: list[int], environment: dict[str, str], modules: Iterable[str]
) -> Child:
    """Runs ``module:function`` in a new process with its own environment.

    Args:
        function: called with the new process's numbers of ``fds``. The last of them is left out: it
            becomes the standard output and error.
        fds: open files that the process gets.
        environment: all of its variables.
        modules: what it may want to import; only what takes long counts.
    """
    template = _template(tuple(name for name in _HEAVY if name in modules))
    return Child(template, template.ask(("fork", function, environment), fds))


class _Template:
    """A process that forks when it is asked to; it ends with the one that has started it."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = os.pathsep.join([str(_TESTS), os.environ.get("PYTHONPATH", "")])
        # Threads that a library starts when it is imported would not be there after a fork.
        single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-uc",
                    f"import zygote; zygote.main({theirs.fileno()}, {modules})",
                ],
                env={**os.environ, **single, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        _templates.append(self)

    def ask(self, question: object, fds: list[int] | None = None) -> Any:
        """Its answer to a question."""
        socket.send_fds(self._socket, [pickle.dumps(question)], fds or [])
        answer = self._socket.recv(_LARGEST)
        assert answer, f"the template of the ranks ended with {self._process.wait()}"
        return pickle.loads(answer)

    def close(self) -> None:
        """Ends it."""
        self._socket.close()
        self._process.wait()


_templates: list[_Template] = []


@atexit.register
def _close_templates() -> None:
    for template in _templates:
        template.close()


@functools.cache
def _template(modules: tuple[str, ...]) -> _Template:
    return _Template(modules)


def main(fd: int, modules: tuple[str, ...]) -> None:
    """The template: imports, then answers questions one after the other.

    In a forked process it returns when the function has, and the interpreter ends as ever.
    """
    # The modules of tests import both.
    for name in ("harness", "pytest"):
        importlib.import_module(name)
    for module in modules:
        for name in _HEAVY[module]:
            importlib.import_module(name)
    threads = os.listdir("/proc/self/task")
    assert len(threads) == 1, f"importing {modules} starts {len(threads) - 1} threads"
    # Otherwise each child would copy the memory of all these objects when it collects garbage, at
    # the latest at its end, which for torch takes a second of CPU time.
    gc.collect()
    gc.freeze()
    children: set[int] = set()
    with socket.socket(fileno=fd) as questions:
        while True:
            received, fds, _, _ = socket.recv_fds(questions, _LARGEST, 8)
            if not received:
                # If the test itself was killed, its ranks would go on for ever.
                for child in children:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                return
            question, answer = pickle.loads(received), None
            match question:
                case ("fork", function, environment):
                    answer = os.fork()
                    if answer == 0:
                        questions.close()
                        _begin(function, fds, environment)
                        return
                    children.add(answer)
                    for each in fds:
                        os.close(each)
                case ("status", pid):
                    answer = exit_code(pid)
                case ("reap", pid):
                    _, answer = os.waitpid(pid, 0)
                    children.discard(pid)
                case _:
                    raise ValueError(question)
            questions.send(pickle.dumps(answer))


def _begin(function: str, fds: list[int], environment: dict[str, str]) -> None:
    os.setsid()
    output = fds.pop()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.environ.clear()
    os.environ.update(environment)
    module, name = function.split(":")
    getattr(importlib.import_module(module), name)(*fds)
