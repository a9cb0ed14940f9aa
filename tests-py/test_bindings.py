"""The Protocol of a binding, and the native part that satisfies it."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import jccl
import jccl.bindings
import numpy
import pytest
from jccl.bindings import Binding, cpython, load, use
from jccl.bindings.guest import GuestBinding
from jccl.core import (
    Communicator,
    NcclDataType,
    NcclRedOp,
    Result,
    get_error_string,
    get_unique_id,
)


def _functions() -> set[str]:
    return {name for name, value in vars(Binding).items() if callable(value) and name[0] != "_"}


def test_the_extension_has_every_function_of_the_protocol() -> None:
    missing = {name for name in _functions() if not callable(getattr(load(), name, None))}
    assert not missing


def test_versions_agree() -> None:
    assert load().version_string() == jccl.__version__
    assert load().get_version() == (0, 23203)


@pytest.mark.parametrize("result", list(Result))
def test_every_result_has_a_text(result: Result) -> None:
    assert get_error_string(result)
    assert get_error_string(result) != get_error_string(99)


def test_wrong_argument_types_are_type_errors() -> None:
    with pytest.raises(TypeError):
        load().all_reduce("x", 0, 0, 0, 0, 0, 0)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        load().all_reduce(1)  # type: ignore[call-arg]


INTS = {"color", "datatype", "flags", "key", "ms", "n", "n_id", "n_ranks", "ndev", "nranks", "op"}
INTS |= {"operation", "peer", "rank", "result", "root", "stat"}


def _arguments() -> list[tuple[str, int, str]]:
    """(function, number, name) of every int that is an argument of the protocol."""
    found = []
    for function in sorted(_functions() - {"group_block", "know_arrays", "memory", "on_arrays"}):
        names = list(inspect.signature(getattr(Binding, function)).parameters)[1:]
        found += [(function, i, name) for i, name in enumerate(names)]
    return found


def test_numbers_that_do_not_fit_their_argument_are_refused_by_name() -> None:
    for function, i, name in _arguments():
        call = getattr(load(), function)
        given = [0] * sum(f == function for f, _, _ in _arguments())
        edges = [2**70, -(2**70)]
        if name in INTS:
            edges += [2**31, 2**32, -(2**31) - 1]
        elif name == "timeout_ms":
            edges += [2**63]
        for given[i] in edges:
            with pytest.raises(OverflowError, match=rf"^{function}: {name} is {given[i]}: "):
                call(*given)
        given[i] = None  # type: ignore[call-overload]
        with pytest.raises(TypeError, match=rf"^{function}: {name} is None: it must be "):
            call(*given)


@pytest.mark.parametrize("number", [2**32, 2**32 + 2, 2**70])
def test_operations_refuse_numbers_that_do_not_fit(number: int) -> None:
    data = numpy.ones(4)
    with Communicator.init(1, 0, get_unique_id()) as comm:
        with pytest.raises(OverflowError, match="op is"):
            comm.allreduce(data, data, number)
        with pytest.raises(OverflowError, match="root is"):
            comm.broadcast(data, data, number)
        with pytest.raises(OverflowError, match="color is"):
            comm.split(number)
        with pytest.raises(OverflowError, match="nranks is"):
            Communicator.init(number + 1, 0, get_unique_id())
        comm.broadcast(data, data, numpy.int64(0))  # type: ignore[arg-type]


def test_calls_without_a_communicator_are_invalid_arguments() -> None:
    code = """
from jccl.bindings import load
b = load()
assert b.all_reduce(0, 0, 0, 7, 0, 0, 0) == 4
assert b.comm_count(0)[0] == 4
assert b.comm_destroy(0) == 0
assert b.group_end() == 5
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_missing_native_part_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cpython, "_EXTENSION", tmp_path / "_jccl.abi3.so")
    before = use(None)
    try:
        with pytest.raises(ImportError, match=r"native part is missing.*pip install"):
            load()
    finally:
        use(before)


def test_a_native_part_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(jccl), "__version__", "99.0")
    before = use(None)
    try:
        with pytest.raises(ImportError, match=r"JCCL 99\.0, but .* is \d"):
            load()
    finally:
        use(before)


def test_threads_that_load_at_once_get_the_same_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    def found() -> object:
        both.wait(60)
        return object()

    monkeypatch.setattr(jccl.bindings, "_load_guest", found)
    before = use(None)
    try:
        with ThreadPoolExecutor(2) as threads:
            first, second = (each.result() for each in [threads.submit(load) for _ in range(2)])
        assert first is second
    finally:
        use(before)


class _Finalized:
    """Java, in whose calls a finalizer makes other calls as soon as the result is there."""

    def __init__(self) -> None:
        self.block_ = bytearray(16)
        self.words = memoryview(self.block_).cast("q")
        self.binding: Any = None
        vars(self).update(commAbort=lambda _: 0, commCount=self.count)

    def java(self, _: str) -> _Finalized:
        return self

    def attach(self) -> None:
        pass

    memory = None

    def block(self) -> bytearray:
        return self.block_

    def address(self, _: object) -> int:
        return 0

    def finalize(self) -> None:
        assert self.binding.comm_abort(1) == 0
        assert self.binding.comm_count(1) == (0, 3)

    def count(self, *_: int) -> int:
        self.words[0] = 3
        return 0

    def operation(self, *_: int) -> int:
        self.words[1] |= 1 << 32
        self.finalize()
        return 7

    def resume(self) -> int:
        self.words[1] = 0
        return 6

    def start(self, *_: int) -> int:
        self.words[0] = 42
        self.finalize()
        return 7


def test_a_finalizers_calls_do_not_disturb_the_call_around_them() -> None:
    java = _Finalized()
    java.binding = binding = cast(Any, GuestBinding(cast(Any, java)))
    assert binding.all_reduce(0, 0, 0, 7, 0, 1, 0) == 6
    assert binding.start(4, 0, 0, 0, 7, 0, 0, 1) == (7, 42)


def test_numbers_are_those_of_nccl_h() -> None:
    assert [(d.name, int(d)) for d in NcclDataType][-2:] == [("FLOAT8E4M3", 10), ("FLOAT8E5M2", 11)]
    assert [int(op) for op in NcclRedOp] == [0, 1, 2, 3, 4]
