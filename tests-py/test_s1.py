"""Scenario S1: non-blocking init and splits of 4 ranks on 2 hosts, used by other threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest
from harness import NET, Rank, run_ranks, settled
from jccl.core import SUM, Communicator, NCCLConfig

NON_BLOCKING = NCCLConfig(blocking=False)


def _barrier(comm: Communicator) -> None:
    word = numpy.ones(1, "int32")
    comm.allreduce(word, word, SUM)
    settled(comm)
    assert word[0] == comm.nranks


def _gather(comm: Communicator, rank: int, found: dict[str, Any], name: str) -> None:
    try:
        out = numpy.full(comm.nranks * 1000, -1, "int64")
        comm.allgather(numpy.full(1000, rank), out)
        settled(comm)
        found[name] = sorted(set(out.tolist()))
    except Exception as error:
        found[name] = repr(error)


def scenario(rank: Rank) -> dict[str, Any]:
    """Runs it once on one rank; returns the ranks that it met on each communicator."""
    world = settled(rank.comm(NON_BLOCKING))
    _barrier(world)
    rails = world.split(rank.rank % 2, rank.rank)
    assert rails.ptr
    settled(rails)
    settled(world)
    _barrier(world)
    nodes = world.split(rank.rank // 2, rank.rank)
    settled(world)
    settled(nodes)
    _barrier(world)
    found: dict[str, Any] = {}
    comms = {"world": world, "rails": rails, "nodes": nodes}
    threads = [
        threading.Thread(target=_gather, args=(comm, rank.rank, found, name))
        for name, comm in comms.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for comm in (nodes, rails, world):
        comm.finalize()
        settled(comm)
        comm.destroy()
    return found


EXPECTED = [
    {"world": [0, 1, 2, 3], "rails": [r % 2, r % 2 + 2], "nodes": [r // 2 * 2, r // 2 * 2 + 1]}
    for r in range(4)
]
SETTINGS: dict[str, dict[str, Any]] = {
    "2 hosts": {"hosts": 2},
    "2 hosts, threads": {"hosts": 2, "threads": 2},
    "tcp": {"hosts": 2, "environment": NET},
}


def _several(rank: Rank, times: int) -> list[dict[str, Any]]:
    return [scenario(_Renamed(rank, i)) for i in range(times)]


class _Renamed(Rank):
    """The same rank, whose ids belong to one repetition."""

    def __init__(self, rank: Rank, repetition: int) -> None:
        super().__init__(rank.rank, rank.nranks)
        self._repetition = repetition

    def comm(self, config: NCCLConfig | None = None, name: str = "world") -> Communicator:
        return super().comm(config, f"{name}/{self._repetition}")


def test_scenario_s1_five_times() -> None:
    assert run_ranks(_several, 4, 5, hosts=2) == [[expected] * 5 for expected in EXPECTED]


@pytest.mark.parametrize("setting", ["2 hosts, threads", "tcp"])
def test_scenario_s1_in_other_settings(setting: str) -> None:
    assert run_ranks(scenario, 4, **SETTINGS[setting]) == EXPECTED


@pytest.mark.stress
@pytest.mark.parametrize("setting", SETTINGS)
def test_scenario_s1_two_hundred_times_in_one_set_of_processes(setting: str) -> None:
    options = {"fresh": True, "deadline_s": 1800.0, **SETTINGS[setting]}
    assert run_ranks(_several, 4, 200, **options) == [[expected] * 200 for expected in EXPECTED]


@pytest.mark.stress
@pytest.mark.parametrize("repetition", range(30))
def test_scenario_s1_in_fresh_processes(repetition: int) -> None:
    assert run_ranks(scenario, 4, hosts=2, fresh=True) == EXPECTED
