"""Groups of started operations, and time limits of communicators that are being made."""

from __future__ import annotations

import numpy
from harness import Cluster, Rank, run_ranks, settled
from jccl.bindings import load
from jccl.core import SUM, Communicator, NCCLConfig, NcclDataType, Result

#: No machine takes so long: when it has passed, nobody has counted.
HANG_MS = 30_000
COUNT = 8
SEND, RECV = 6, 7


def _starts_with_a_limit(rank: Rank) -> float:
    config = NCCLConfig(blocking=False, timeout=100.0)
    comm = settled(rank.comm(config))
    child = comm.split(0, config=config)
    settled(comm)
    settled(child)
    data = numpy.ones(COUNT)
    child.allreduce(data, data, SUM)
    settled(child).destroy()
    comm.destroy()
    return float(data.sum())


def test_a_limit_may_be_given_to_a_communicator_that_does_not_block() -> None:
    assert run_ranks(_starts_with_a_limit, 1) == [float(COUNT)]


def _start_group(comm: Communicator, out: numpy.ndarray, into: numpy.ndarray) -> tuple[int, int]:
    """Starts an exchange of two ranks as one group; its code and its ticket."""
    binding, peer, kind = load(), 1 - comm.rank, int(NcclDataType.FLOAT64)
    assert binding.start_group() == Result.Success
    for operation in (SEND, RECV):
        at = (out.ctypes.data, 0) if operation == SEND else (0, into.ctypes.data)
        binding.start(operation, *at, COUNT, kind, 0, peer, comm.ptr)
    return binding.end_group(comm.ptr)


def _counts(rank: Rank) -> float:
    binding = load()
    comm = settled(rank.comm(NCCLConfig(blocking=False)))
    out, into = numpy.full(COUNT, 1.0 + rank.rank), numpy.zeros(COUNT)
    if rank.rank == 1:
        rank.get("waits")
    code, ticket = _start_group(comm, out, into)
    if rank.rank == 0:
        assert code == Result.InProgress
        _, seen = binding.wait_completion(0, 0)
        rank.put("waits")
        # Not polled before it has been counted, since a poll may complete it itself.
        code = Result.InProgress
        while code == Result.InProgress:
            _, now = binding.wait_completion(seen, HANG_MS)
            assert now != seen, "the group is not over, or its end was not counted"
            seen = now
            code = binding.poll(comm.ptr, ticket, 0)
        assert code == Result.Success
    settled(comm).destroy()
    return float(into[0])


def test_the_end_of_a_started_group_is_counted() -> None:
    assert run_ranks(_counts, 2) == [2.0, 1.0]


def _splits_in_a_group(rank: Rank) -> float:
    binding = load()
    config = NCCLConfig(blocking=False)
    splits, sends = settled(rank.comm(config)), settled(rank.comm(config, "sends"))
    out, into = numpy.full(COUNT, 1.0 + rank.rank), numpy.zeros(COUNT)
    if rank.rank == 1:
        rank.get("looked")
    assert binding.start_group() == Result.Success
    code, child = binding.comm_split(splits.ptr, 0, rank.rank, 0)
    code, ticket = binding.end_group(splits.ptr)
    assert code == Result.InProgress
    # Groups that nobody can ask for are forgotten when the next one starts.
    code, exchange = _start_group(sends, out, into)
    if rank.rank == 0:
        assert binding.poll(splits.ptr, ticket, 0) == Result.InProgress
        rank.put("looked")
    for comm, each in ((splits, ticket), (sends, exchange)):
        while each and (code := binding.poll(comm.ptr, each, 0)) == Result.InProgress:
            pass
        assert code == Result.Success
    binding.comm_abort(child)
    settled(splits).destroy()
    settled(sends).destroy()
    return float(into[0])


def test_a_started_group_that_only_splits_is_remembered_until_it_is_over() -> None:
    assert run_ranks(_splits_in_a_group, 2) == [2.0, 1.0]


def _ends_a_group_on_nothing(rank: Rank) -> float:
    binding = load()
    comm = rank.comm()
    data = numpy.ones(COUNT)
    assert binding.start_group() == Result.Success
    code, _ = binding.end_group(0)
    assert code == Result.InvalidArgument
    # In a group that is still open this would only be queued.
    comm.allreduce(data, data, SUM)
    comm.abort()
    return float(data[0])


def test_a_group_that_is_ended_on_nothing_is_not_open_any_more() -> None:
    with Cluster(2) as cluster:
        assert cluster.start(_ends_a_group_on_nothing).values() == [2.0, 2.0]
