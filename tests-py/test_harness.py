"""The harness itself, with ranks that need no library."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from harness import Cluster, Rank, run_ranks


def _numbers(rank: Rank, offset: int) -> tuple[int, int, int]:
    return rank.rank + offset, rank.nranks, os.getpid()


def test_ranks_are_processes() -> None:
    values = run_ranks(_numbers, 3, 10)
    assert [value[:2] for value in values] == [(10, 3), (11, 3), (12, 3)]
    assert len({value[2] for value in values}) == 3


def test_ranks_are_threads_of_a_process() -> None:
    pids = [value[2] for value in run_ranks(_numbers, 5, 0, threads=2)]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


def _host(rank: Rank) -> str | None:
    return os.environ.get("NCCL_HOSTID")


def test_hosts_are_blocks_of_ranks() -> None:
    assert run_ranks(_host, 4, hosts=2) == ["host-0", "host-0", "host-1", "host-1"]
    assert run_ranks(_host, 2) == [None, None]


def _fails(rank: Rank) -> int:
    if rank.rank == 1:
        raise ValueError("on purpose")
    return 5


def test_a_failure_carries_its_trace() -> None:
    with Cluster(2) as cluster:
        first, second = cluster.start(_fails).join()
    assert (first.value, first.error) == (5, "")
    assert second.kind == "ValueError"
    assert "on purpose" in second.error
    with pytest.raises(AssertionError, match="on purpose"):
        run_ranks(_fails, 2)


def _tells(rank: Rank) -> str:
    rank.put(f"here/{rank.rank}", rank.rank * 2)
    rank.meet("all")
    return str(rank.get("from/test"))


def test_ranks_and_the_test_exchange_values() -> None:
    with Cluster(3) as cluster:
        cluster.start(_tells)
        assert cluster.wait_for("here/0", "here/1", "here/2") == [0, 2, 4]
        cluster.put("from/test", "word")
        assert cluster.values() == ["word"] * 3


def _sleeps(rank: Rank) -> None:
    rank.put(f"asleep/{rank.rank}")
    time.sleep(600)


def test_a_killed_rank_is_an_outcome() -> None:
    with Cluster(1) as cluster:
        cluster.start(_sleeps)
        cluster.wait_for("asleep/0")
        cluster.signal(0, signal.SIGKILL)
        (outcome,) = cluster.join()
        assert cluster.status(0) == -signal.SIGKILL
    assert outcome.died


def test_a_killed_rank_leaves_no_folder(tmp_path: Path) -> None:
    with Cluster(1, environment={"TMPDIR": str(tmp_path)}) as cluster:
        cluster.start(_sleeps)
        cluster.wait_for("asleep/0")
        cluster.signal(0, signal.SIGKILL)
        cluster.join()
    assert list(tmp_path.iterdir()) == []


def _sleeps_in_a_thread(rank: Rank) -> None:
    thread = threading.Thread(target=_sleeps, args=(rank,))
    thread.start()
    thread.join()


def _logs_at_the_deadline() -> str:
    with Cluster(2) as cluster:
        cluster.start(_sleeps_in_a_thread)
        cluster.wait_for("asleep/0", "asleep/1")
        cluster.deadline_in(1)
        with pytest.raises(TimeoutError, match="not done after 1 s"):
            cluster.join()
        return cluster.logs()


def test_the_deadline_shows_every_threads_stack() -> None:
    logs = _logs_at_the_deadline()
    for name in ("rank 0", "rank 1", "_sleeps_in_a_thread", "in _sleeps\n"):
        assert name in logs


def test_nothing_runs_on_after_a_cluster() -> None:
    with Cluster(2) as cluster:
        cluster.start(_sleeps)
        cluster.wait_for("asleep/0", "asleep/1")
        pids = [cluster.pid(0), cluster.pid(1)]
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def _pid(rank: Rank) -> int:
    return os.getpid()


def test_processes_serve_the_next_ranks_with_the_same_environment() -> None:
    options: dict[str, Any] = {"environment": {"JCCL_TEST_POOL": "a"}}
    before = set(run_ranks(_pid, 2, **options))
    assert set(run_ranks(_pid, 2, **options)) == before
    assert not before & set(run_ranks(_pid, 2))
    assert not before & set(run_ranks(_pid, 2, fresh=True, **options))
