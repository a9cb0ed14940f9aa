"""Making, splitting, querying and ending communicators, and groups of calls."""

from __future__ import annotations

import array
import threading
import time
from typing import Any

import jccl.core as nccl
from jccl.bindings import Binding, load
from jccl.core import Communicator, NCCLConfig, NCCLError, NcclInvalid, Result

from contract.cases import Rank, case, raises


def _ones(count: int = 5) -> array.array[float]:
    return array.array("f", [1.0]) * count


@case()
def queries(rank: Rank) -> None:
    comm = rank.comm
    assert (comm.rank, comm.nranks, comm.device) == (rank.rank, rank.nranks, -1)
    assert comm.get_async_error() == Result.Success
    assert comm.is_valid
    assert f"{comm.ptr:#x}" in repr(comm)


@case(("parity", "reverse", "alone"))
def split(rank: Rank, how: str) -> None:
    color = rank.rank if how == "alone" else rank.rank % 2 if how == "parity" else 0
    key = -rank.rank if how == "reverse" else rank.rank
    members = [r for r in range(rank.nranks) if how == "reverse" or r % 2 == rank.rank % 2]
    members = [rank.rank] if how == "alone" else sorted(members, reverse=how == "reverse")
    with rank.comm.split(color, key) as child:
        assert (child.nranks, child.rank) == (len(members), members.index(rank.rank))
        x = array.array("i", [rank.rank])
        y = array.array("i", [0]) * child.nranks
        child.allgather(x, y)
        assert y.tolist() == members


@case()
def split_without_color_gives_no_communicator(rank: Rank) -> None:
    child = rank.comm.split(None if rank.rank == 0 else 1)
    assert child.is_valid == (rank.rank != 0)
    child.destroy()


@case()
def several_communicators(rank: Rank) -> None:
    comms = [rank.init() for _ in range(3)]
    for comm in reversed(comms):
        x = _ones()
        comm.allreduce(x, x, nccl.SUM)
        assert x[0] == rank.nranks
        comm.destroy()
        assert not comm.is_valid
        comm.destroy()


@case()
def one_rank_alone(rank: Rank) -> None:
    with Communicator.init(1, 0, nccl.get_unique_id()) as comm:
        x = _ones()
        comm.allreduce(x, x, nccl.SUM)
        assert x.tolist() == [1.0] * 5


@case()
def all_ranks_on_one_thread(rank: Rank) -> None:
    comms = Communicator.init_all(2)
    buffers = [_ones() for _ in comms]
    with nccl.group():
        for comm, x in zip(comms, buffers):  # noqa: B905
            comm.allreduce(x, x, nccl.SUM)
    assert [x[4] for x in buffers] == [2.0, 2.0]
    for comm in comms:
        comm.destroy()


@case()
def not_blocking(rank: Rank) -> None:
    comm = rank.init(NCCLConfig(blocking=False, timeout=60.0))

    def ready() -> None:
        while comm.get_async_error() == Result.InProgress:
            time.sleep(0.001)
        assert comm.get_async_error() == Result.Success

    ready()
    x = _ones(1000)
    comm.allreduce(x, x, nccl.SUM)
    comm.allreduce(x, x, nccl.SUM)
    ready()
    assert x[999] == rank.nranks**2
    comm.finalize()
    ready()
    comm.destroy()


@case()
def finalize_refuses_more_calls(rank: Rank) -> None:
    comm = rank.init()
    comm.finalize()
    raises(NCCLError, "finalize", comm.allreduce, _ones(), _ones(), nccl.SUM)
    comm.destroy()


@case()
def group_of_several_calls(rank: Rank) -> None:
    x, y = _ones(), array.array("i", [rank.rank] * 3)
    with nccl.group():
        rank.comm.allreduce(x, x, nccl.SUM)
        with nccl.group():
            rank.comm.allreduce(y, y, nccl.MAX)
    assert x[0] == rank.nranks
    assert y.tolist() == [rank.nranks - 1] * 3


@case()
def group_by_functions(rank: Rank) -> None:
    x = _ones()
    nccl.group_start()
    rank.comm.allreduce(x, x, nccl.SUM)
    assert load().group_depth() == 1
    assert x[0] == 1.0
    nccl.group_end()
    assert load().group_depth() == 0
    assert x[0] == rank.nranks
    raises(NCCLError, "group", nccl.group_end)


@case()
def group_whose_body_raises_launches_nothing(rank: Rank) -> None:
    x = _ones()

    def body() -> None:
        with nccl.group():
            rank.comm.allreduce(x, x, nccl.SUM)
            raise KeyError("body")

    raises(KeyError, "body", body)
    assert x[0] == 1.0
    assert load().group_depth() == 0
    rank.comm.allreduce(x, x, nccl.SUM)
    assert x[0] == rank.nranks


@case()
def group_with_a_wrong_call_launches_nothing(rank: Rank) -> None:
    x = _ones()

    def body() -> None:
        with nccl.group():
            rank.comm.allreduce(x, x, nccl.SUM)
            rank.comm.broadcast(x, x, 99)

    raises(NCCLError, "root", body)
    assert x[0] == 1.0


@case()
def threads_use_communicators_of_their_own(rank: Rank) -> None:
    comms = [rank.comm.split(0, rank.rank) for _ in range(2)]
    sums: list[Any] = []

    def work(comm: Communicator) -> None:
        x = _ones()
        for _ in range(5):
            comm.allreduce(x, x, nccl.SUM)
        sums.append(x[0])

    threads = [threading.Thread(target=work, args=(comm,)) for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [rank.nranks**5] * 2
    for comm in comms:
        comm.destroy()


@case()
def abort_ends_calls_of_the_others(rank: Rank) -> None:
    comm = rank.init()
    x = _ones()
    comm.allreduce(x, x, nccl.SUM)
    start = time.monotonic()
    if rank.rank == 0:
        time.sleep(0.2)
        comm.abort()
        assert not comm.is_valid
    else:
        raises(NCCLError, "rank 0 ", comm.allreduce, x, x, nccl.SUM)
        assert comm.get_async_error() == Result.RemoteError
        comm.abort()
    assert time.monotonic() - start < 30


@case()
def a_rank_that_is_late_is_named(rank: Rank) -> None:
    comm = rank.init(NCCLConfig(timeout=0.5))
    child = comm.split(0)
    x = _ones()
    if rank.rank == 0:
        time.sleep(2)
    else:
        raises(NCCLError, "the time limit is 500 ms", child.allreduce, x, x, nccl.SUM)
        raises(NCCLError, "rank 0", comm.allreduce, x, x, nccl.SUM)
    child.abort()
    comm.abort()


@case()
def ranks_that_call_differently_are_told(rank: Rank) -> None:
    comm = rank.init()
    x = _ones()
    call = comm.allreduce if rank.rank == 0 else comm.reduce_scatter
    y = _ones(15)
    given = x if rank.rank == 0 else y
    text = raises(NCCLError, "ncclAllReduce", call, given, x, nccl.SUM)
    assert "ncclReduceScatter" in text
    comm.abort()


@case()
def asynchronous_forms(rank: Rank) -> None:
    library = load()
    x = _ones(2000)
    address = x.buffer_info()[0]
    code, ticket = library.start(4, address, address, 2000, 7, 0, 0, rank.comm.ptr)
    assert (code, bool(ticket)) in ((0, False), (7, True))
    while ticket and library.poll(rank.comm.ptr, ticket, 0) == 7:
        time.sleep(0.001)
    assert not ticket or library.wait(rank.comm.ptr, ticket) == 0
    assert x[1999] == rank.nranks
    code = library.run(4, address, address, 2000, 7, 0, 0, rank.comm.ptr)
    assert code == 0, (code, library.get_last_error(0))
    assert x[0] == rank.nranks**2


@case()
def counters_count_calls(rank: Rank) -> None:
    x = _ones()
    before = load().comm_stats(rank.comm.ptr, 16)[1]
    for _ in range(3):
        rank.comm.allreduce(x, x, nccl.SUM)
    code, after = load().comm_stats(rank.comm.ptr, 16)
    assert code == 0
    assert after[4] - before[4] == 3


@case()
def binding_has_every_function(rank: Rank) -> None:
    names = [name for name, value in vars(Binding).items() if callable(value) and name[0] != "_"]
    assert len(names) > 40
    assert [name for name in names if not callable(getattr(load(), name, None))] == []


@case()
def memory_of_the_library(rank: Rank) -> None:
    memory = nccl.mem_alloc(100)
    x = array.array("B", [7]) * 100
    rank.comm.allreduce(x, memory, nccl.MAX)
    y = array.array("B", bytes(100))
    rank.comm.broadcast(memory, y, 0)
    assert y.tolist() == [7] * 100
    memory.close()
    memory.close()
    raises(NcclInvalid, "freed", rank.comm.allreduce, x, memory, nccl.SUM)
    assert nccl.mem_alloc(0).size == 0
    raises(OverflowError, "size is -1", nccl.mem_alloc, -1)
