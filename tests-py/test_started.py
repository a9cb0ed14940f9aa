"""Started operations, and time limits of communicators that are being made."""

from __future__ import annotations

import numpy
from harness import Rank, run_ranks, settled
from jccl._numbers import RECV, SEND
from jccl.bindings import load
from jccl.core import SUM, NCCLConfig, NcclDataType, Result

#: No machine takes so long: if this time passes, JCCL has not counted the operation.
HANG_MS = 30_000
COUNT = 8


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


def _counts(rank: Rank) -> float:
    binding, kind = load(), int(NcclDataType.FLOAT64)
    comm = settled(rank.comm(NCCLConfig(blocking=False)))
    out, into = numpy.full(COUNT, 1.0 + rank.rank), numpy.zeros(COUNT)
    if rank.rank == 0:
        received = (RECV, 0, into.ctypes.data, COUNT, kind, 0, 1, comm.ptr)
        code, ticket = binding.start(*received)
        assert code == Result.InProgress
        _, seen = binding.wait_completion(0, 0)
        assert binding.poll(comm.ptr, ticket, -1) == Result.InProgress
        rank.put("waits")
        # The test does not poll before that, since a poll may complete the operation itself.
        while code == Result.InProgress:
            _, now = binding.wait_completion(seen, HANG_MS)
            assert now != seen, "the receive is not over, or its end was not counted"
            seen = now
            code = binding.poll(comm.ptr, ticket, 0)
        assert code == Result.Success
    else:
        rank.get("waits")
        sent = (SEND, out.ctypes.data, 0, COUNT, kind, 0, 0, comm.ptr)
        assert binding.run(*sent) == Result.Success
    settled(comm).destroy()
    return float(into[0])


def test_the_end_of_a_started_operation_is_counted() -> None:
    assert run_ranks(_counts, 2) == [2.0, 0.0]
