"""The wrong calls of misuse.txt, made from Python."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest
from harness import Rank
from jccl.core import (
    SUM,
    Communicator,
    NCCLConfig,
    NCCLError,
    NcclInvalid,
    Result,
    get_unique_id,
    group_end,
    group_start,
)

TABLE = Path(__file__).with_name("misuse.txt")
LANGUAGES = ("C", "Java", "Python")
#: Cases with a process of their own: they leave something behind, or need one without Java.
ALONE = {
    "no communicator",
    "state of no communicator",
    "no place for the id",
    "use in progress",
    "destroy in progress",
    "one number twice",
    "unknown device",
    "group start without end",
    "blocking and not in a group",
    "forked child",
    "garbage-collected undestroyed",
}


@dataclass(frozen=True)
class Row:
    """How the library answers a wrong call.

    Attributes:
        case: its name.
        answers: for each language that has such a call, how it ends.
        parts: what the sentence says.
    """

    case: str
    answers: dict[str, str]
    parts: tuple[str, ...]


def rows() -> Iterator[Row]:
    """The table."""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            case, *words, says = (cell.strip() for cell in line.split("|"))
            answers = dict(zip(LANGUAGES, words, strict=True))
            parts = tuple(part.strip() for part in says.split(";") if part.strip())
            yield Row(case, {k: v for k, v in answers.items() if v != "-"}, parts)


x = numpy.full(1, 3.0, dtype=numpy.float32)
y = numpy.zeros(1, dtype=numpy.float32)


class State:
    """The communicators and ids on which the wrong calls are made."""

    def __init__(self) -> None:
        self.id = get_unique_id()
        self.comm: Any = None
        self.other: Any = None

    def one_rank(self) -> None:
        self.comm = Communicator.init(1, 0, self.id)

    def destroyed(self) -> None:
        self.other = Communicator.init(1, 0, self.id)
        self.other.destroy()

    def aborted(self) -> None:
        self.other = Communicator.init(1, 0, self.id)
        self.other.abort()

    def finalized(self) -> None:
        self.other = Communicator.init(1, 0, self.id)
        self.other.finalize()

    def in_progress(self) -> None:
        self.other = Communicator.init(2, 0, self.id, NCCLConfig(blocking=False))

    def no_device(self) -> None:
        os.environ["JCCL_DEVICE"] = "cuda:9"

    def never(self) -> None:
        self.other = Communicator(0x7FFF12345670)

    def none(self) -> None:
        self.other = Communicator()


class OnADevice:
    """Looks like an array of a GPU."""

    __cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (0x7000, False)}  # noqa: RUF012


def _reduce(s: State) -> None:
    s.other.allreduce(x, y, SUM)


def _error_in_a_group(s: State) -> None:
    group_start()
    try:
        s.comm.broadcast(x, y, 1)
    except NCCLError:
        group_end()


def _mixed_in_a_group(s: State) -> None:
    group_start()
    first = Communicator.init(1, 0, s.id)
    try:
        Communicator.init(1, 0, get_unique_id(), NCCLConfig(blocking=False))
    except NCCLError:
        group_end()
    assert first.is_valid


def _both_used_in_a_group(s: State) -> None:
    second = Communicator.init(1, 0, get_unique_id(), NCCLConfig(blocking=False))
    while second.get_async_error() == Result.InProgress:
        pass
    group_start()
    s.comm.allreduce(x, y, SUM)
    try:
        second.allreduce(x, y, SUM)
    except NCCLError:
        group_end()
    finally:
        second.abort()


def _start_without_end(s: State) -> None:
    group_start()
    s.comm.allreduce(x, y, SUM)
    assert y[0] == 0


def _same_number_twice(s: State) -> None:
    third = Communicator.init(2, 0, s.id, NCCLConfig(blocking=False))
    while (state := third.get_async_error()) == 7:
        pass
    raise NCCLError(state, third.get_last_error())


def _in_a_forked_child(s: State) -> None:
    answer, question = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            s.comm.allreduce(x, y, SUM)
        except NCCLError as error:
            os.write(question, pickle.dumps(error))
        os._exit(0)
    os.waitpid(child, 0)
    raise pickle.loads(os.read(answer, 1 << 16))


def _races(s: State, call: Callable[[Communicator], None]) -> None:
    """Destroys while another thread makes calls; whatever they raise is an NCCL error."""
    for _ in range(30):
        comm = Communicator.init(1, 0, get_unique_id())
        errors: list[BaseException] = []

        def other(comm: Communicator = comm, errors: list[BaseException] = errors) -> None:
            try:
                while comm.is_valid:
                    call(comm)
            except (NCCLError, NcclInvalid) as error:
                errors.append(error)

        thread = threading.Thread(target=other)
        thread.start()
        try:
            comm.destroy()
        except NCCLError as error:
            errors.append(error)
        thread.join()
        assert not comm.is_valid
        assert all("destroyed" in str(e) or "in use" in str(e) for e in errors), errors


def _lose(_: State) -> None:
    """Drops the communicator of one of two ranks of this process; the other rank learns of it."""
    comms = Communicator.init_all(2)
    with pytest.warns(ResourceWarning, match="was garbage-collected before it was destroyed"):
        comms.pop()
    with pytest.raises(NCCLError, match="rank 1 has left"):
        comms[0].allreduce(x, y, SUM)
    comms[0].destroy()


def _overlap(s: State) -> None:
    data = numpy.zeros(2, dtype=numpy.float32).view(numpy.uint8)
    s.comm.allreduce(data[:4], data[1:5], SUM)


def _read_only(s: State) -> None:
    frozen = numpy.zeros(1, dtype=numpy.float32)
    frozen.flags.writeable = False
    s.comm.allreduce(x, frozen, SUM)


CASES: dict[str, tuple[Callable[[State], None], Callable[[State], object]]] = {
    "destroy twice": (State.destroyed, lambda s: s.other.destroy()),
    "abort twice": (State.aborted, lambda s: s.other.abort()),
    "finalize twice": (State.finalized, lambda s: s.other.finalize()),
    "use after destroy": (State.destroyed, _reduce),
    "use after abort": (State.aborted, _reduce),
    "use after finalize": (State.finalized, _reduce),
    "query after destroy": (State.destroyed, lambda s: s.other.nranks),
    "split after destroy": (State.destroyed, lambda s: s.other.split(0)),
    "use in progress": (State.in_progress, _reduce),
    "destroy in progress": (State.in_progress, lambda s: s.other.destroy()),
    "never a communicator": (State.never, _reduce),
    "no communicator": (State.none, _reduce),
    "state of no communicator": (State.none, lambda s: s.other.get_async_error()),
    "no ranks": (State.none, lambda s: Communicator.init(0, 0, s.id)),
    "too many ranks": (State.none, lambda s: Communicator.init(2**31 - 1, 0, s.id)),
    "rank too large": (State.none, lambda s: Communicator.init(2, 2, s.id)),
    "rank negative": (State.none, lambda s: Communicator.init(2, -1, s.id)),
    "configuration out of range": (
        State.none,
        lambda s: Communicator.init(1, 0, s.id, NCCLConfig(min_ctas=0)),
    ),
    "unknown device": (State.no_device, lambda s: Communicator.init(1, 0, s.id)),
    "color negative": (State.one_rank, lambda s: s.comm.split(-2)),
    "unknown type": (
        State.one_rank,
        lambda s: s.comm.allreduce(numpy.zeros(1, dtype="c8"), numpy.zeros(1, dtype="c8"), SUM),
    ),
    "unknown operation": (State.one_rank, lambda s: s.comm.allreduce(x, y, "sum")),
    "unknown root": (State.one_rank, lambda s: s.comm.broadcast(x, y, 1)),
    "unknown peer": (State.one_rank, lambda s: s.comm.send(x, 5)),
    "negative peer": (State.one_rank, lambda s: s.comm.recv(x, -1)),
    "a stream": (State.one_rank, lambda s: s.comm.allreduce(x, y, SUM, stream=16)),
    "no send buffer": (State.one_rank, lambda s: s.comm.allreduce(None, y, SUM)),
    "no receive buffer": (State.one_rank, lambda s: s.comm.allreduce(x, None, SUM)),
    "buffer too small": (State.one_rank, lambda s: s.comm.allreduce(x, y[:0], SUM)),
    "buffer read-only": (State.one_rank, _read_only),
    "buffer on a device": (State.one_rank, lambda s: s.comm.allreduce(OnADevice(), y, SUM)),
    "buffers overlap": (State.one_rank, _overlap),
    "not done yet": (State.one_rank, lambda s: s.comm.revoke()),
    "error in a group": (State.one_rank, _error_in_a_group),
    "group end without start": (State.none, lambda _: group_end()),
    "group start without end": (State.one_rank, _start_without_end),
    "blocking and not in a group": (State.none, _mixed_in_a_group),
    "blocking and not, both used": (State.one_rank, _both_used_in_a_group),
    "one number twice": (State.in_progress, _same_number_twice),
    "id used twice": (State.destroyed, lambda s: Communicator.init(1, 0, s.id)),
    "forked child": (State.one_rank, _in_a_forked_child),
    "garbage-collected undestroyed": (State.none, _lose),
    "destroy races destroy": (State.none, lambda s: _races(s, Communicator.destroy)),
    "destroy races operations": (
        State.none,
        lambda s: _races(s, lambda comm: comm.allreduce(x, y.copy(), SUM)),
    ),
}


def answers(rank: Rank, case: str) -> list[tuple[str, str]]:
    """Makes a wrong call on another thread, then on this one; how each ended, and its sentence."""
    return [_answer(case, second_thread) for second_thread in (True, False)]


def _answer(case: str, second_thread: bool) -> tuple[str, str]:
    y.fill(0)
    state = State()
    before, wrong = CASES[case]
    before(state)
    answers: list[tuple[str, str]] = []

    def make() -> None:
        try:
            wrong(state)
            answers.append(("ok", ""))
        except NcclInvalid as error:
            answers.append(("Invalid", str(error)))
        except NCCLError as error:
            name = {4: "ARGUMENT", 5: "USAGE"}.get(error.code, error.name)
            answers.append((name, error.detail))

    if second_thread:
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
    else:
        make()
    # A communicator that was ready still works.
    if state.comm is not None and case != "group start without end":
        state.comm.allreduce(x, y, SUM)
        assert y[0] == x[0]
        state.comm.destroy()
    return answers[0]
