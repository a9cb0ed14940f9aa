"""One group, one order: what asynchronous collectives read, write and end, and when."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import torch
from harness import Rank
from jccl._numbers import ALL_TO_ALL, UINT8
from torch.multiprocessing import reductions
from torch_team import Team, dist

COUNT = 200_000
"""Elements of an operation that is under way while others are called."""

Scenario = Callable[[Rank], None]


def total(rank: Rank, factor: float = 1.0) -> float:
    return factor * rank.nranks * (rank.nranks + 1) / 2


def mine(rank: Rank, count: int = COUNT) -> torch.Tensor:
    return torch.full((count,), 1.0 + rank.rank)


def late(rank: Rank) -> None:
    """The last rank comes when the others have called everything."""
    if rank.rank == rank.nranks - 1:
        time.sleep(0.1)


def a_barrier_ends_lists_that_were_gathered(rank: Rank) -> None:
    late(rank)
    parts = [torch.zeros(COUNT) for _ in range(rank.nranks)]
    dist.all_gather(parts, mine(rank), async_op=True)
    dist.barrier()
    for r, part in enumerate(parts):
        assert bool((part == 1.0 + r).all())


def a_barrier_ends_an_all_to_all(rank: Rank) -> None:
    late(rank)
    n, me = rank.nranks, rank.rank
    output = torch.zeros(n * COUNT)
    source = torch.cat([torch.full((COUNT,), 10.0 * me + r) for r in range(n)])
    dist.all_to_all_single(output, source, async_op=True)
    dist.barrier()
    for r, part in enumerate(output.chunk(n)):
        assert bool((part == 10.0 * r + me).all())


def a_barrier_ends_what_has_gaps(rank: Rank) -> None:
    late(rank)
    whole = torch.full((COUNT, 2), 1.0 + rank.rank)
    dist.all_reduce(whole[:, 0], async_op=True)
    dist.barrier()
    assert bool((whole[:, 0] == total(rank)).all())
    assert bool((whole[:, 1] == 1.0 + rank.rank).all())


def a_barrier_passes_a_receive(rank: Rank) -> None:
    received = torch.zeros(5)
    if rank.rank == 0:
        work = dist.irecv(received, 1)
        dist.barrier()
        work.wait()
        assert received.tolist() == [7.0] * 5
    else:
        dist.barrier()
        if rank.rank == 1:
            dist.send(torch.full((5,), 7.0), 0)


def a_receive_does_not_stop_collectives(rank: Rank) -> None:
    for first in (True, False):
        x, received = mine(rank), torch.zeros(COUNT)
        if rank.rank == 0:
            work = dist.irecv(received, 1)
            dist.all_reduce(x)
            work.wait()
            assert bool((received == 3.0).all())
        elif rank.rank == 1 and first:
            dist.send(torch.full((COUNT,), 3.0), 0)
            dist.all_reduce(x)
        else:
            dist.all_reduce(x)
            if rank.rank == 1:
                dist.send(torch.full((COUNT,), 3.0), 0)
        assert bool((x == total(rank)).all())


def a_message_is_no_part_of_an_all_to_all(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    output, source = torch.zeros(n), torch.arange(n) + 10.0 * me
    if me == 0:
        work = dist.isend(torch.tensor([99.0]), 1)
        dist.all_to_all_single(output, source)
        work.wait()
    else:
        dist.all_to_all_single(output, source)
        if me == 1:
            message = torch.zeros(1)
            dist.recv(message, 0)
            assert message.item() == 99.0
    assert output.tolist() == [10.0 * r + me for r in range(n)]


def the_input_of_an_all_to_all_is_read_in_its_turn(rank: Rank) -> None:
    late(rank)
    n = rank.nranks
    x, output = mine(rank, n * COUNT), torch.zeros(n * COUNT)
    dist.all_reduce(x, async_op=True)
    dist.all_to_all_single(output, x)
    assert bool((output == total(rank)).all())


def the_input_of_a_gather_is_read_in_its_turn(rank: Rank) -> None:
    late(rank)
    for root in range(rank.nranks):
        x = mine(rank)
        parts = [torch.zeros(COUNT) for _ in range(rank.nranks)] if rank.rank == root else None
        dist.all_reduce(x, async_op=True)
        dist.gather(x, parts, dst=root)
        assert all(bool((part == total(rank)).all()) for part in parts or ())


def the_lists_of_a_scatter_are_read_in_their_turn(rank: Rank) -> None:
    late(rank)
    x, output = mine(rank, rank.nranks * COUNT), torch.zeros(COUNT)
    dist.all_reduce(x, async_op=True)
    dist.scatter(output, list(x.chunk(rank.nranks)) if rank.rank == 0 else None, src=0)
    assert bool((output == total(rank)).all())


def the_list_of_a_reduce_scatter_is_read_in_its_turn(rank: Rank) -> None:
    late(rank)
    n = rank.nranks
    x, output = mine(rank, n * COUNT), torch.zeros(COUNT)
    dist.all_reduce(x, async_op=True)
    dist.reduce_scatter(output, list(x.chunk(n)))
    assert bool((output == n * total(rank)).all())


def a_list_is_written_before_the_next_operation_reads_it(rank: Rank) -> None:
    late(rank)
    parts = [torch.zeros(COUNT) for _ in range(rank.nranks)]
    dist.all_gather(parts, mine(rank), async_op=True)
    dist.all_reduce(parts[0])
    assert bool((parts[0] == rank.nranks).all())
    assert bool((parts[-1] == rank.nranks).all())


def views_with_gaps_follow_each_other(rank: Rank) -> None:
    late(rank)
    whole = torch.full((COUNT, 2), 1.0 + rank.rank)
    works = [dist.all_reduce(whole[:, 0], async_op=True) for _ in range(3)]
    for work in reversed(works):
        work.wait()
    assert bool((whole[:, 0] == total(rank, rank.nranks**2)).all())


def a_transposed_tensor_is_read_in_its_turn(rank: Rank) -> None:
    late(rank)
    n = rank.nranks
    x = torch.full((COUNT // 4, 4), 1.0 + rank.rank)
    output = torch.zeros(n * 4, COUNT // 4)
    dist.all_reduce(x, async_op=True)
    dist.all_gather_into_tensor(output, x.t())
    assert bool((output == total(rank)).all())


def negated_and_sparse_tensors_are_read_in_their_turn(rank: Rank) -> None:
    late(rank)
    x = torch.full((COUNT,), complex(0, 1 + rank.rank))
    dist.all_reduce(x, async_op=True)
    opposite = x.conj().imag
    assert opposite.is_neg()
    work = dist.all_reduce(opposite, async_op=True)
    work.wait()
    assert x[0].imag == total(rank, rank.nranks)
    values = mine(rank, 3)
    dist.all_reduce(values, async_op=True)
    sparse = torch.sparse_coo_tensor(torch.arange(3)[None], values, (5,), check_invariants=True)
    dist.all_reduce(sparse, async_op=True).wait()
    assert sparse.to_dense().tolist() == [total(rank, rank.nranks)] * 3 + [0.0] * 2


def a_result_is_there_when_the_operation_ends(rank: Rank) -> None:
    """Nobody looks at the handles; a message shows the end of the operation."""
    n, me = rank.nranks, rank.rank
    parts = [torch.zeros(COUNT) for _ in range(n)]
    gaps = torch.zeros(COUNT, 2)[:, 0]
    works = [dist.all_gather(parts, mine(rank), async_op=True)]
    if me == 0:
        works.append(dist.irecv(gaps, 1))
    elif me == 1:
        works.append(dist.isend(torch.full((COUNT,), 4.0), 0))
    end = time.monotonic() + 60
    while not all(part[-1] == 1.0 + r for r, part in enumerate(parts)) or (
        me == 0 and gaps[-1] != 4.0
    ):
        assert time.monotonic() < end
        time.sleep(0.001)
    for work in works:
        work.wait()


def ranks_that_exchange_differently_are_told(rank: Rank) -> None:
    n = rank.nranks
    rank.meet("differ")

    def differ() -> None:
        if rank.rank == 0:
            dist.all_to_all_single(torch.zeros(n), torch.zeros(n))
        else:
            dist.scatter(torch.zeros(1), [torch.zeros(1)] * n if rank.rank == 1 else None, src=1)
        dist.barrier()

    with pytest.raises(dist.DistBackendError, match="called differently"):
        differ()


def outputs_that_overlap_themselves_are_refused(rank: Rank) -> None:
    row = torch.zeros(3)
    with pytest.raises(ValueError, match="elements share memory"):
        dist.broadcast(row.expand(4, 3), src=(rank.rank + 1) % rank.nranks)
    dist.barrier()


def nothing_to_move_is_a_call_all_the_same(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    empty = torch.empty(0)
    dist.gather(empty, [torch.empty(0) for _ in range(n)] if me == 0 else None, dst=0)
    dist.scatter(torch.empty(0), [empty] * n if me == 0 else None, src=0)
    dist.all_to_all([torch.empty(0) for _ in range(n)], [empty] * n)
    # The last rank neither sends nor receives; the others exchange a row each.
    rows = [0 if n - 1 in (me, r) else 1 for r in range(n)]
    output = torch.zeros(sum(rows))
    dist.all_to_all_single(output, torch.full((sum(rows),), 1.0 + me), rows, rows)
    assert output.tolist() == [1.0 + r for r in range(n) if rows[r]]
    dist.barrier()


def conjugated_tensors_are_gathered(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    mine_ = torch.tensor([complex(0, 1 + me), complex(me, -2)])
    into = [torch.zeros(2, dtype=torch.complex64) for _ in range(n)]
    dist.gather(mine_.conj(), [t.conj() for t in into] if me == 0 else None, dst=0)
    if me == 0:
        wanted = [[complex(0, 1 + r), complex(r, -2)] for r in range(n)]
        assert [t.tolist() for t in into] == wanted


def ranks_without_parts_need_not_agree_on_their_type(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    kind = (torch.float32, torch.int64)[me % 2]
    dist.all_to_all(
        [torch.empty(0, dtype=kind) for _ in range(n)], [torch.empty(0, dtype=kind)] * n
    )
    dist.barrier()


def a_part_that_only_its_sender_knows_of_is_told(rank: Rank) -> None:
    _disagree(rank, sent=1, expected=0)


def a_part_that_only_its_receiver_knows_of_is_told(rank: Rank) -> None:
    _disagree(rank, sent=0, expected=1)


def _disagree(rank: Rank, sent: int, expected: int) -> None:
    """Rank 0 sends so many elements to rank 1, which expects another number; the others none."""
    n, me = rank.nranks, rank.rank
    rank.meet(f"parts-{sent}")
    sends, receives = [0] * n, [0] * n
    if me == 0:
        sends[1] = sent
    if me == 1:
        receives[0] = expected

    def exchange() -> None:
        source, output = torch.full((sum(sends),), 111.0), torch.zeros(sum(receives))
        dist.all_to_all_single(output, source, receives, sends)
        # Whose part is over before learns of it here.
        dist.barrier()

    both = f"{sent} x .*{expected} x |{expected} x .*{sent} x "
    with pytest.raises(dist.DistBackendError, match=both):
        exchange()


def messages_of_one_exchange_are_no_part_of_the_next(rank: Rank) -> None:
    """Rank 0 sends what nobody receives, which only a program that goes around torch can."""
    n, me = rank.nranks, rank.rank
    rank.meet("exchange")
    backend: Any = dist.group.WORLD._get_backend(torch.device("cpu"))
    group = backend._group()

    def disagree() -> None:
        sent = torch.full((1,), 111.0)
        comm = group.on(sent)
        composition = comm.composition(exchanges=True)
        if me == 0:
            composition.send(sent, 1)
        comm.run((ALL_TO_ALL, 0, 0, 0, UINT8, 0, 0), True, [sent], composition)
        output = torch.zeros(n)
        dist.all_to_all_single(output, torch.full((n,), 222.0), [1] * n, [1] * n)
        assert output.tolist() == [222.0] * n, output
        dist.barrier()

    with pytest.raises(dist.DistBackendError, match="do not agree on who sends what"):
        disagree()


ORDERS: list[Scenario] = [
    messages_of_one_exchange_are_no_part_of_the_next,
    ranks_without_parts_need_not_agree_on_their_type,
    nothing_to_move_is_a_call_all_the_same,
    conjugated_tensors_are_gathered,
    a_part_that_only_its_sender_knows_of_is_told,
    a_part_that_only_its_receiver_knows_of_is_told,
    a_barrier_ends_lists_that_were_gathered,
    a_barrier_ends_an_all_to_all,
    a_barrier_ends_what_has_gaps,
    a_barrier_passes_a_receive,
    a_receive_does_not_stop_collectives,
    a_message_is_no_part_of_an_all_to_all,
    the_input_of_an_all_to_all_is_read_in_its_turn,
    the_input_of_a_gather_is_read_in_its_turn,
    the_lists_of_a_scatter_are_read_in_their_turn,
    the_list_of_a_reduce_scatter_is_read_in_its_turn,
    a_list_is_written_before_the_next_operation_reads_it,
    views_with_gaps_follow_each_other,
    a_transposed_tensor_is_read_in_its_turn,
    negated_and_sparse_tensors_are_read_in_their_turn,
    a_result_is_there_when_the_operation_ends,
    ranks_that_exchange_differently_are_told,
    outputs_that_overlap_themselves_are_refused,
]


@pytest.mark.parametrize("scenario", ORDERS, ids=lambda scenario: str(scenario.__name__))
@pytest.mark.parametrize("ranks", ["two", "four"])
def test_order(scenario: Scenario, ranks: str, request: pytest.FixtureRequest) -> None:
    team: Team = request.getfixturevalue(ranks)
    team.run(scenario)


def refused_batches_leave_nothing_open(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    left, right = (me - 1) % n, (me + 1) % n
    sparse = torch.eye(3).to_sparse()
    with pytest.raises(TypeError, match="moves dense tensors"):
        dist.batch_isend_irecv([dist.P2POp(dist.irecv, sparse, left)])
    received = torch.zeros(3)
    work = dist.isend(torch.full((3,), float(me)), right)
    dist.recv(received, left)
    work.wait()
    assert received.tolist() == [float(left)] * 3
    x = mine(rank, 3)
    dist.all_reduce(x)
    assert x.tolist() == [total(rank)] * 3


def a_batch_covers_what_it_contains(rank: Rank) -> None:
    late(rank)
    n, me = rank.nranks, rank.rank
    x, received = mine(rank), torch.zeros(COUNT)
    parts = [torch.zeros(COUNT) for _ in range(n)]
    with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as batch:
        dist.all_reduce(x)
        dist.all_gather(parts, mine(rank), async_op=True)
        dist.irecv(received, (me - 1) % n)
        dist.isend(mine(rank), (me + 1) % n)
    batch.wait()
    # torch makes the all-reduce when the block ends.
    assert bool((x == total(rank)).all())
    assert bool((received == 1.0 + (me - 1) % n).all())
    assert all(bool((part == 1.0 + r).all()) for r, part in enumerate(parts))


def a_batch_that_fails_says_so(rank: Rank) -> None:
    with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as batch:
        # Nobody sends, and the time limit is short.
        dist.irecv(torch.zeros(1), (rank.rank + 1) % rank.nranks)
    with pytest.raises(dist.DistBackendError, match=r"time limit|gave up"):
        batch.wait()


@pytest.mark.parametrize(
    "scenario", [refused_batches_leave_nothing_open, a_batch_covers_what_it_contains]
)
def test_batches(scenario: Scenario, four: Team) -> None:
    four.run(scenario)


def test_a_batch_that_fails(two: Team) -> None:
    two.run(a_batch_that_fails_says_so, timeout=timedelta(seconds=1))


def small_views_keep_no_large_tensors(rank: Rank) -> int:
    # torch gives no types for it.
    weak: Any = reductions.StorageWeakRef
    stores: list[Any] = []
    for _ in range(40):
        big = torch.zeros(1 << 18)
        stores.append(weak(big.untyped_storage()))
        if rank.rank == 0:
            dist.send(big[:1], 1)
        else:
            dist.recv(big[:1], 0)
        dist.all_reduce(big[:1], async_op=True).wait()
    del big
    gc.collect()
    kept = sum(not store.expired() for store in stores)
    assert kept <= 3, kept
    return kept


def test_small_views_keep_no_large_tensors(two: Team) -> None:
    two.run(small_views_keep_no_large_tensors)
