"""Communicators that come and go leave nothing behind: the C door, seen from Python."""

from __future__ import annotations

import gc
import itertools
import os
import statistics
import time
from typing import Any

import footprint
import numpy
import pytest
from harness import NET, Rank, run_ranks, settled
from jccl.core import SUM, Communicator, NCCLConfig, UniqueId, get_unique_id, group

# Java's heap has its full size from the start, and malloc gives back the memory that compilers had
# for a moment. So neither of them is what grows.
FIXED = "-Xms64m -Xmx64m -XX:+AlwaysPreTouch -XX:TrimNativeHeapInterval=500"
SETTINGS: dict[str, dict[str, str]] = {"shm": {}, "tcp": NET}
RESIDENT_KB = 4 << 10
#: In a short test the compilers still work.
RESIDENT_KB_SHORT = 24 << 10
#: A compiler takes 20 MiB, of which Java gives back what nobody uses each 5 s.
QUIET_S = 8
QUIET_S_SHORT = 1
#: So many lives later the second compiler has done most of its work.
WARM_UP = 8000
#: What lives leave grows in each part of a test; what Java makes once, in one or two.
PARTS = 5
#: By how much more than their share one or two parts may grow.
MOST_AT_ONCE = 4


def _next_id(control: Communicator) -> UniqueId:
    """Rank 0's new id on all ranks."""
    content = numpy.zeros(128, "uint8")
    if control.rank == 0:
        content[:] = numpy.frombuffer(bytes(get_unique_id()), "uint8")
    control.broadcast(content, content, 0)
    return UniqueId.from_bytes(content.tobytes())


def _work(comm: Communicator, kind: int) -> None:
    """An operation that uses the base area only, the ring too, or the FIFOs."""
    data = numpy.full((1, 500, 50_000)[kind % 3], comm.rank, "int32")
    if kind == 3:
        out = numpy.empty_like(data)
        with group():
            comm.send(data, (comm.rank + 1) % comm.nranks)
            comm.recv(out, (comm.rank - 1) % comm.nranks)
        settled(comm)
        assert (out == (comm.rank - 1) % comm.nranks).all()
    elif kind:
        comm.allreduce(data, data, SUM)
        settled(comm)
        assert (data == comm.nranks * (comm.nranks - 1) // 2).all()


def _end(comm: Communicator, how: int) -> None:
    if how == 2:
        comm.finalize()
        settled(comm)
    if how > 2:
        comm.abort()
    else:
        comm.destroy()


def _live(control: Communicator, i: int) -> None:
    """One life, the i-th: blocking or not, with some operations, some order and way to end."""
    config = NCCLConfig(blocking=i % 2 == 0)
    parent = settled(Communicator.init(control.nranks, control.rank, _next_id(control), config))
    _work(parent, i // 2 % 4)
    child = parent.split(control.rank if i % 3 == 2 else 0, -control.rank)
    settled(child)
    settled(parent)
    _work(child, (i // 2 + i // 8) % 4)
    # A rank that aborts must not be ahead of one that still works.
    _barrier(control)
    for comm in (child, parent) if i // 4 % 2 else (parent, child):
        _end(comm, i % 5)


def _barrier(comm: Communicator) -> None:
    word = numpy.ones(1, "int32")
    comm.allreduce(word, word, SUM)


def _at_rest_kb(quiet_s: int) -> int:
    """Resident memory once it has not shrunk for so long."""
    least = footprint.resident_kb()
    until = time.monotonic() + 20 + quiet_s
    shrunk = time.monotonic()
    while time.monotonic() < min(until, shrunk + quiet_s):
        time.sleep(0.2)
        now = footprint.resident_kb()
        if now < least - 64:
            shrunk = time.monotonic()
        least = min(least, now)
    return least


def _lives(
    rank: Rank, warm_up: int, lives: int, parts: int, quiet_s: int
) -> tuple[list[str], list[int]]:
    """Makes communicators, so many in each part.

    Returns:
        what is left of them, and by how many kilobytes memory grew in each part.
    """
    control = rank.comm(name="control")
    for i in range(warm_up):
        _live(control, i)
    _barrier(control)
    gc.collect()
    before, resident = footprint.counts(), [_at_rest_kb(quiet_s)]
    for part in range(parts):
        for i in range(lives):
            _live(control, warm_up + part * lives + i)
        _barrier(control)
        gc.collect()
        resident.append(_at_rest_kb(quiet_s))
    left = footprint.growth(before)
    grown = [after - before for before, after in itertools.pairwise(resident)]
    _barrier(control)
    control.destroy()
    return left, grown


def _run(
    setting: str, numbers: tuple[int, int, int], resident_kb: int, quiet_s: int, **options: Any
) -> None:
    """Numbers: lives before the test, lives of a part, parts."""
    environment = {**SETTINGS[setting], **options.pop("environment", {}), "MALLOC_ARENA_MAX": "1"}
    for left, grown in run_ranks(
        _lives, 2, *numbers, quiet_s, environment=environment, fresh=True, **options
    ):
        print(f"{setting}: resident memory grew by {grown} KiB")
        assert not left
        assert statistics.median(grown) * len(grown) < resident_kb
        assert sum(grown) < MOST_AT_ONCE * resident_kb


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_few_hundred_lives_leave_no_descriptor_thread_or_mapping(setting: str) -> None:
    options = {"JCCL_JVM_OPTIONS": f"-XX:TieredStopAtLevel=1 {FIXED}"}
    _run(setting, (50, 150, 1), RESIDENT_KB_SHORT, QUIET_S_SHORT, environment=options)


@pytest.mark.stress
@pytest.mark.parametrize("setting", SETTINGS)
def test_ten_thousand_lives_leave_nothing(setting: str) -> None:
    options = {"JCCL_JVM_OPTIONS": FIXED}
    numbers = (WARM_UP, 10_000 // PARTS, PARTS)
    _run(setting, numbers, RESIDENT_KB, QUIET_S, environment=options, deadline_s=3600)


def _regions() -> dict[int, int]:
    """By inode, how many bytes the system has allocated for memory that this process shares."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("/memfd:"):
                status = os.fstat(int(name))
                found[status.st_ino] = status.st_blocks * 512
        except OSError:
            pass  # the descriptor that reads the folder
    return found


def _ring(rank: Rank) -> int:
    before = _regions()
    comm = settled(rank.comm())
    _work(comm, 1)
    tiny = _regions()
    _work(comm, 2)
    after = _regions()
    (own,) = after.keys() - before.keys()
    comm.destroy()
    return after[own] - tiny[own]


@pytest.mark.parametrize(("hosts", "mib"), [(1, 1.5), (2, 4.5)])
def test_large_calls_allocate_what_they_use_of_a_region_at_once(hosts: int, mib: float) -> None:
    assert run_ranks(_ring, 4, hosts=hosts) == [mib * (1 << 20)] * 4
