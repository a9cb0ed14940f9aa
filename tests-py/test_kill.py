"""Ranks that die, stop or never come."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import stat
import threading
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
from harness import NET, Cluster, Rank
from jccl.bindings import load
from jccl.core import SUM, NCCLError, Result, group

#: The promise. The time that the host of a virtual machine has kept meanwhile comes on top.
REPORT_S = 5.0
LARGE = 1 << 22
SETTINGS: dict[str, dict[str, Any]] = {"shm": {}, "tcp": {"environment": NET}}


def _all_reduce_for_ever(rank: Rank, with_worker: int = -1) -> None:
    comm = rank.comm()
    data = numpy.ones(LARGE, "float32")
    try:
        for i in range(1_000_000):
            if i == 2:
                if rank.rank == with_worker:
                    rank.put("worker", _fork_worker())
                rank.put(f"running/{rank.rank}")
            comm.allreduce(data, data, SUM)
            data.fill(1)
    finally:
        comm.abort()


def _fork_worker() -> int:
    """Forks a child like those of a data loader: it has copies of everything, and lives longer."""
    child = os.fork()
    if child == 0:
        for pipe in _pipes():
            os.close(pipe)
        while True:
            time.sleep(60)
    return child


def _pipes() -> list[int]:
    """This process's pipes: the harness takes their end for the end of the rank."""
    pipes = []
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if stat.S_ISFIFO(os.fstat(int(entry)).st_mode):
                pipes.append(int(entry))
    return pipes


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def stolen_s() -> float:
    """Time that the host has kept from all processors of this machine together."""
    return int(Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")


def _wait_until_running(cluster: Cluster) -> None:
    cluster.wait_for(*(f"running/{r}" for r in range(cluster.nranks)))


def _kill(cluster: Cluster, victim: int) -> None:
    """Kills a rank that runs: all others must name it within the promised time."""
    killed, stolen = time.monotonic(), stolen_s()
    cluster.signal(victim, signal.SIGKILL)
    outcomes = cluster.join()
    allowed = REPORT_S + stolen_s() - stolen
    assert cluster.status(victim) == -signal.SIGKILL
    for rank, outcome in enumerate(outcomes):
        if rank == victim:
            assert outcome.died
            continue
        assert (outcome.kind, outcome.code) == ("NCCLError", Result.RemoteError), outcome.error
        assert f"rank {victim}" in outcome.detail
        assert outcome.seconds - killed < allowed


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(("setting", "victim"), [("shm", 0), ("tcp", 2)])
def test_survivors_learn_who_was_killed(setting: str, victim: int) -> None:
    with Cluster(4, fresh=False, **SETTINGS[setting]) as cluster:
        cluster.start(_all_reduce_for_ever)
        _wait_until_running(cluster)
        _kill(cluster, victim)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(("setting", "victim"), [("shm", 1), ("tcp", 0)])
def test_a_worker_that_outlives_a_killed_rank_does_not_hide_its_death(
    setting: str, victim: int
) -> None:
    with Cluster(3, fresh=False, **SETTINGS[setting]) as cluster:
        cluster.start(_all_reduce_for_ever, victim)
        _wait_until_running(cluster)
        (worker,) = cluster.wait_for("worker")
        _kill(cluster, victim)
        assert _lives(worker)


def _all_reduce_until_exec(rank: Rank, victim: int) -> None:
    comm = rank.comm()
    data = numpy.ones(LARGE, "float32")
    try:
        for i in range(1_000_000):
            if i == 2 and rank.rank == victim:
                for pipe in _pipes():
                    os.set_inheritable(pipe, True)
                rank.put("exec", time.monotonic())
                os.execvp("sleep", ["sleep", "600"])
            comm.allreduce(data, data, SUM)
    except NCCLError as error:
        rank.put(f"lost/{rank.rank}", (error.code, error.detail, time.monotonic()))
    finally:
        comm.abort()


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(("setting", "victim"), [("shm", 1), ("tcp", 0)])
def test_a_rank_that_becomes_another_program_is_lost(setting: str, victim: int) -> None:
    with Cluster(3, fresh=False, **SETTINGS[setting]) as cluster:
        stolen = stolen_s()
        cluster.start(_all_reduce_until_exec, victim)
        others = [f"lost/{rank}" for rank in range(3) if rank != victim]
        (began,), reports = cluster.wait_for("exec"), cluster.wait_for(*others)
        allowed = REPORT_S + stolen_s() - stolen
        assert cluster.status(victim) is None
        for code, sentence, seconds in reports:
            assert code == Result.RemoteError
            assert f"rank {victim}" in sentence
            if setting == "shm":
                assert "became another program" in sentence
            assert seconds - began < allowed
        cluster.signal(victim, signal.SIGKILL)
        cluster.join()


def _sum(rank: Rank) -> float:
    with rank.comm() as comm:
        data = numpy.ones(1000)
        comm.allreduce(data, data, SUM)
        return float(data[0])


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("setting", SETTINGS)
def test_all_ranks_killed_at_once_leave_nothing_and_a_new_job_starts(setting: str) -> None:
    with Cluster(4, fresh=False, **SETTINGS[setting]) as cluster:
        cluster.start(_all_reduce_for_ever)
        _wait_until_running(cluster)
        # First nobody runs, or one that is killed late would tell of those before.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for rank in range(4):
                cluster.signal(rank, number)
        assert all(outcome.died for outcome in cluster.join())
    with Cluster(4, fresh=False, **SETTINGS[setting]) as cluster:
        assert cluster.start(_sum).values() == [4.0] * 4


def _init_without(rank: Rank, absent: int) -> str:
    load().jvm_start()
    rank.meet("started")
    if rank.rank == absent:
        return "stayed away"
    try:
        rank.comm()
    except NCCLError as error:
        return f"{error.name}: {error.detail}"
    return "no error"


@pytest.mark.parametrize("absent", [1])
def test_a_rank_that_never_comes_ends_init_at_its_limit_by_name(absent: int) -> None:
    with Cluster(4, environment={"JCCL_INIT_TIMEOUT": "4"}) as cluster:
        values = cluster.start(_init_without, absent).values()
    for rank, text in enumerate(values):
        if rank != absent:
            assert re.search(rf"ranks? [\d, ]*\b{absent}\b", text), text


def _until_told(rank: Rank) -> list[float]:
    """All-reduces until rank 0 has been told to end; returns every result."""
    results = set()
    told = threading.Event()

    def listen() -> None:
        rank.get("end")
        told.set()

    threading.Thread(target=listen, daemon=True).start()
    with rank.comm() as comm:
        data = numpy.empty(LARGE, "float32")
        go_on = numpy.ones(1)
        i = 0
        while go_on[0]:
            if i == 3:
                rank.put(f"running/{rank.rank}")
            data.fill(rank.rank + i)
            comm.allreduce(data, data, SUM)
            results |= {float(result) - 3 * i for result in (data.min(), data.max())}
            i += 1
            go_on[0] = i <= 3 or not told.is_set()
            comm.broadcast(go_on, go_on, 0)
    return sorted(results)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_stopped_rank_is_reported_late_and_the_job_goes_on(setting: str) -> None:
    settings = SETTINGS[setting].get("environment", {})
    environment = {**settings, "JCCL_LATE_WARN": "1", "NCCL_DEBUG": "WARN"}
    with Cluster(3, fresh=False, environment=environment) as cluster:
        cluster.start(_until_told)
        _wait_until_running(cluster)
        cluster.signal(1, signal.SIGSTOP)
        # It depends on where in its calls the rank was stopped.
        missing = "which has not (come that far|done its part)"
        late = r"NCCL WARN rank %d has waited \d+ ms in .* for rank 1, " + missing
        cluster.wait_until(lambda: all(re.search(late % r, cluster.logs()) for r in (0, 2)))
        cluster.signal(1, signal.SIGCONT)
        cluster.put("end")
        assert cluster.values() == [[3.0]] * 3


def _timeout(rank: Rank) -> str:
    from jccl.core import NCCLConfig

    comm = rank.comm()
    data = numpy.ones(8)
    comm.allreduce(data, data, SUM)
    # Only the child has the limit, so that what comes before may take its time.
    limited = comm.split(0, config=NCCLConfig(timeout=1.0))
    rank.meet("limited")
    try:
        if rank.rank != 1:
            limited.allreduce(data, data, SUM)
        else:
            rank.get("end")
    except NCCLError as error:
        return f"{error.name}: {error.detail}"
    finally:
        rank.put(f"done/{rank.rank}")
        limited.abort()
        comm.abort()
    return ""


def test_an_operation_ends_at_its_time_limit_and_names_the_late_rank() -> None:
    with Cluster(3, fresh=False) as cluster:
        cluster.start(_timeout)
        cluster.wait_for("done/0", "done/2")
        cluster.put("end")
        texts = cluster.values()
    # One of them may learn of the other's time-out before its own limit is over.
    assert any(text.startswith("Timeout") for text in texts), texts
    for rank in (0, 2):
        assert "1" in texts[rank], texts


def _needs_one_among_many(rank: Rank) -> str:
    comm = rank.comm()
    data = numpy.ones(8)
    comm.allreduce(data, data, SUM)
    rank.put(f"running/{rank.rank}")
    try:
        if rank.rank != 0:
            rank.get("end")
            return ""
        with group():
            for _ in range(1000):
                comm.recv(data, 1)
            comm.recv(data, 2)
    finally:
        comm.abort()
    return "no error"


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_group_that_waits_in_slices_learns_who_was_killed(setting: str) -> None:
    with Cluster(3, fresh=False, **SETTINGS[setting]) as cluster:
        cluster.start(_needs_one_among_many)
        _wait_until_running(cluster)
        # Long enough for the waiting threads to fall asleep.
        time.sleep(1)
        killed, stolen = time.monotonic(), stolen_s()
        cluster.signal(2, signal.SIGKILL)
        time.sleep(REPORT_S)
        allowed = REPORT_S + stolen_s() - stolen
        # Rank 1 only comes too late, and takes the error with it.
        cluster.put("end")
        outcome = cluster.join()[0]
    assert (outcome.kind, outcome.code) == ("NCCLError", Result.RemoteError), outcome
    assert "rank 2 is lost" in outcome.detail
    assert outcome.seconds - killed < allowed


def _dies_quietly(rank: Rank) -> str:
    comm = rank.comm()
    data = numpy.ones(8)
    comm.allreduce(data, data, SUM)
    if rank.rank == 1:
        os._exit(3)
    try:
        comm.recv(data, 1)
    except NCCLError as error:
        comm.abort()
        return f"{error.name}: {error.detail}"
    return "no error"


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_receive_from_a_rank_that_ended_is_an_error(setting: str) -> None:
    with Cluster(2, fresh=False, **SETTINGS[setting]) as cluster:
        outcomes = cluster.start(_dies_quietly).join()
    assert outcomes[1].died
    assert outcomes[0].value.startswith("RemoteError"), outcomes[0]
    assert "rank 1" in outcomes[0].value
