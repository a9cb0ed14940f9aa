"""After Ctrl-C or an abort nobody touches the buffers: they may be freed or used again at once."""

from __future__ import annotations

import ctypes
import mmap
import random
import signal
import threading
import time
from typing import Any

import numpy
import pytest
from harness import NET, Rank, run_ranks, settled
from jccl.core import SUM, Communicator, NCCLConfig, NCCLError, UniqueId, get_unique_id, group

NRANKS = 3
POISON = 0xA5
LATEST_S = 0.004
LATE_WRITERS_S = 0.003
COUNTS = (1, 1000, 50_000, 600_000)
KINDS = ("allreduce", "in place", "broadcast", "allgather", "reduce_scatter", "group")
SETTINGS: dict[str, dict[str, str]] = {"shm": {}, "tcp": NET}
_PROT_NONE, _PROT_READ_WRITE = 0, 3


class Pages:
    """A buffer of its own pages; once taken it may be neither written nor, if forbidden, read."""

    def __init__(self, count: int) -> None:
        self._memory = mmap.mmap(-1, 4 * count)
        self.array = numpy.frombuffer(self._memory, "int32")
        self._bytes = numpy.frombuffer(self._memory, "uint8")
        self._forbidden = False

    def take(self, forbid: bool) -> None:
        if forbid:
            self._protect(_PROT_NONE)
        else:
            self._bytes.fill(POISON)
        self._forbidden = forbid

    def written(self) -> int:
        """Bytes written since it was taken; a process that touches a forbidden one dies."""
        if self._forbidden:
            self._protect(_PROT_READ_WRITE)
            return 0
        return int(numpy.count_nonzero(self._bytes != POISON))

    def _protect(self, protection: int) -> None:
        address = ctypes.c_void_p(self._bytes.ctypes.data)
        size = ctypes.c_size_t(self._bytes.size)
        assert ctypes.CDLL(None).mprotect(address, size, protection) == 0


def _operate(comm: Communicator, kind: str, count: int, send: Pages, recv: Pages) -> None:
    own, out = send.array[:count], recv.array
    match kind:
        case "allreduce":
            comm.allreduce(own, out, SUM)
        case "in place":
            comm.allreduce(out[:count], out[:count], SUM)
        case "broadcast":
            comm.broadcast(own, out[:count], 0)
        case "allgather":
            comm.allgather(own, out)
        case "reduce_scatter":
            comm.reduce_scatter(send.array, out, SUM)
        case _:
            with group():
                comm.send(own, (comm.rank + 1) % comm.nranks)
                comm.recv(out[:count], (comm.rank - 1) % comm.nranks)
                comm.allreduce(send.array[count : 2 * count], out[count : 2 * count], SUM)


def _new_id(control: Communicator) -> UniqueId:
    content = numpy.zeros(128, "uint8")
    if control.rank == 0:
        content[:] = numpy.frombuffer(bytes(get_unique_id()), "uint8")
    control.broadcast(content, content, 0)
    return UniqueId.from_bytes(content.tobytes())


def _barrier(comm: Communicator) -> None:
    word = numpy.ones(1, "int32")
    comm.allreduce(word, word, SUM)


def _press_ctrl_c(after_s: float) -> None:
    main = threading.main_thread().ident
    assert main is not None
    time.sleep(after_s)
    signal.pthread_kill(main, signal.SIGINT)


def _moment(control: Communicator, seed: int) -> None:
    """Operations until one rank ends them; then all take their buffers back at once."""
    common = random.Random(seed)
    kind, count = common.choice(KINDS), common.choice(COUNTS)
    victim, blocking = common.randrange(NRANKS), common.random() < 0.7
    forbid, after_s = common.random() < 0.5, common.random() * LATEST_S
    aborts = common.random() < 0.4
    name = f"{kind} of {count}, {blocking=}, {aborts=}, on rank {victim}, seed {seed}"
    send, recv = Pages(count * NRANKS), Pages(count * NRANKS)
    send.array.fill(1)
    config = NCCLConfig(blocking=blocking)
    comm = settled(Communicator.init(NRANKS, control.rank, _new_id(control), config))

    def take() -> None:
        send.take(forbid)
        recv.take(forbid)

    def abort() -> None:
        time.sleep(after_s)
        comm._library.comm_abort(comm.ptr)
        take()

    is_victim = control.rank == victim
    ending = threading.Thread(target=abort if aborts else lambda: _press_ctrl_c(after_s))
    _barrier(control)
    error = None
    try:
        if is_victim:
            ending.start()
        while True:
            _operate(comm, kind, count, send, recv)
            if not blocking:
                settled(comm)
    except KeyboardInterrupt:
        if not blocking:
            # Operations may have been queued before the interrupt.
            comm.abort()
    except NCCLError as ended:
        error = ended
    if not (is_victim and aborts):
        take()
    if is_victim:
        ending.join()
        assert (error is not None) == aborts, (name, error)
    else:
        text = str(error)
        assert f"rank {victim}" in text, (name, text)
        assert "errno" not in text, (name, text)
    if not (is_victim and aborts):
        comm.abort()
    time.sleep(LATE_WRITERS_S)
    _barrier(control)
    assert send.written() == 0, name
    assert recv.written() == 0, name


def _moments(rank: Rank, seed: int, moments: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with rank.comm(name="control") as control:
        for i in range(moments):
            _moment(control, seed * 1000 + i)


def _run(seed: int, moments: int, setting: str, **options: Any) -> None:
    run_ranks(_moments, NRANKS, seed, moments, environment=SETTINGS[setting], **options)


@pytest.mark.parametrize("setting", SETTINGS)
def test_nobody_touches_buffers_after_ctrl_c(seed: int, setting: str) -> None:
    _run(seed, 16, setting)


@pytest.mark.stress
@pytest.mark.parametrize("setting", SETTINGS)
def test_nobody_touches_them_in_five_hundred_moments(seed: int, setting: str) -> None:
    _run(seed, 500, setting, deadline_s=3600)
