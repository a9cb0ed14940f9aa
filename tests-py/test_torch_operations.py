"""Each operation of torch.distributed on backend "jccl" against what it must give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from harness import Rank
from torch_team import Team, dist

TYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int32,
    torch.int64,
    torch.uint8,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
]


def own(rank: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """A rank's elements; small whole numbers, so that every type holds their sums exactly."""
    return ((torch.arange(count) * 7 + rank * 3) % 11).to(dtype)


def of_all(rank: Rank, count: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.stack([own(r, count, dtype) for r in range(rank.nranks)])


def every_type_and_operation(rank: Rank) -> None:
    for dtype in TYPES:
        for count in (0, 1, 2, 1023, 70001):
            rows = of_all(rank, count, dtype).double()
            wanted = {
                dist.ReduceOp.SUM: rows.sum(0),
                dist.ReduceOp.MAX: rows.amax(0),
                dist.ReduceOp.MIN: rows.amin(0),
            }
            mean = rows.sum(0) / rank.nranks
            wanted[dist.ReduceOp.AVG] = mean if dtype.is_floating_point else mean.trunc()
            for op, result in wanted.items():
                tensor = own(rank.rank, count, dtype)
                dist.all_reduce(tensor, op)
                # By their bytes, since torch.equal does not know 8-bit floats.
                wanted_bytes = result.to(dtype).view(torch.uint8)
                assert torch.equal(tensor.view(torch.uint8), wanted_bytes), (dtype, count, op)


def whole_life_of_bytes(rank: Rank) -> None:
    others = [torch.int8, torch.bool, torch.int16, torch.complex64, torch.float8_e4m3fnuz]
    dtypes = [*TYPES, *others]
    for dtype in dtypes:
        tensor = own(rank.rank, 5, torch.float32).to(dtype)
        parts = [torch.empty_like(tensor) for _ in range(rank.nranks)]
        dist.all_gather(parts, tensor)
        for r, part in enumerate(parts):
            expected = own(r, 5, torch.float32).to(dtype)
            assert torch.equal(part.view(torch.uint8), expected.view(torch.uint8)), dtype
        dist.broadcast(tensor, src=rank.nranks - 1)
        last = own(rank.nranks - 1, 5, torch.float32).to(dtype)
        assert torch.equal(tensor.view(torch.uint8), last.view(torch.uint8)), dtype


def factors_that_the_type_does_not_hold(rank: Rank) -> None:
    """They are refused, but for those beyond an 8-bit float, which become its largest number."""
    for factor, dtype, sentence in (
        (0.5, torch.int64, "is 0.5, which is no torch.int64"),
        (300.0, torch.uint8, "is 300.0, which is no torch.uint8"),
        (torch.tensor([float("nan")]), torch.int32, "is nan, which is no torch.int32"),
        (torch.tensor([1.0 + 2.0j]), torch.complex64, "is complex"),
    ):
        by: Any = dist._make_nccl_premul_sum(factor)
        with pytest.raises(ValueError, match=sentence):
            dist.all_reduce(torch.ones(3, dtype=dtype), by)
    huge: Any = dist._make_nccl_premul_sum(1e9)
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        tensor = torch.ones(3).to(dtype)
        dist.all_reduce(tensor, huge)
        assert tensor.float().tolist() == [torch.finfo(dtype).max] * 3, dtype


def factors_of_premul_sum(rank: Rank) -> None:
    """Each rank has a factor of its own, a number or a tensor; the largest input is 8 * 3."""
    n = rank.nranks
    total = sum(range(1, n + 1))
    for dtype in (torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.complex64):
        for factor in (float(rank.rank + 1), torch.tensor([rank.rank + 1.0])):
            by: Any = dist._make_nccl_premul_sum(factor)
            tensor = torch.full((5,), 2.0).to(dtype)
            dist.all_reduce(tensor, by)
            assert tensor.tolist() == [2.0 * total] * 5, (dtype, factor)
            parts = torch.arange(n).to(dtype)
            part = torch.zeros(1).to(dtype)
            dist.reduce_scatter_single(part, parts, by)
            assert part.tolist() == [rank.rank * total]
            tensor = torch.full((3,), 2.0).to(dtype)
            dist.reduce(tensor, 0, by)
            assert tensor.tolist() == [2.0 * (total if rank.rank == 0 else 1)] * 3


def other_types_and_operations_reduce(rank: Rank) -> None:
    tensor = torch.tensor([100 + rank.rank, -3], dtype=torch.int8)
    dist.all_reduce(tensor)
    total = sum(100 + r for r in range(rank.nranks))
    assert tensor.tolist() == [(total + 128) % 256 - 128, -3 * rank.nranks]
    flags = torch.tensor([rank.rank == 0, True, False])
    dist.all_reduce(flags)
    assert flags.tolist() == [True, True, False]
    flags = torch.tensor([rank.rank == 0, True, False])
    dist.all_reduce(flags, dist.ReduceOp.MIN)
    assert flags.tolist() == [False, True, False]
    dist.all_reduce(flags, dist.ReduceOp.PRODUCT)
    assert flags.tolist() == [False, True, False]
    wide = torch.tensor([-3, 2], dtype=torch.int8)
    dist.all_reduce(wide, dist.ReduceOp.PRODUCT)
    assert wide.tolist() == [torch.tensor(x**rank.nranks).to(torch.int8).item() for x in (-3, 2)]
    for dtype, bits in ((torch.uint32, 32), (torch.uint64, 64)):
        large = torch.tensor([2 ** (bits - 1), rank.rank], dtype=dtype)
        dist.all_reduce(large, dist.ReduceOp.MAX)
        assert large.tolist() == [2 ** (bits - 1), rank.nranks - 1]
        dist.all_reduce(large)
        assert large.tolist() == [0, rank.nranks * (rank.nranks - 1)]
    with pytest.raises(
        TypeError, match="complex tensors by SUM, AVG and PREMUL_SUM, not by PRODUCT"
    ):
        dist.reduce(torch.ones(1, dtype=torch.complex64), 0, dist.ReduceOp.PRODUCT)
    for narrow, largest in ((torch.float8_e4m3fn, 448.0), (torch.float8_e5m2, 57344.0)):
        full = torch.tensor([largest, -largest, -0.0, 0.0]).to(narrow)
        dist.all_reduce(full)
        assert full.tolist() == [largest, -largest, 0.0, 0.0]
        full[3] = float("nan")
        dist.all_reduce(full, dist.ReduceOp.PRODUCT)
        assert full.float().isnan().tolist() == [False, False, False, True]
        assert full.tolist()[:2] == [largest, largest]
    with pytest.raises(TypeError, match=r"cannot reduce torch\.float8_e4m3fnuz by SUM"):
        dist.all_reduce(torch.ones(1).to(torch.float8_e4m3fnuz))
    factors_of_premul_sum(rank)
    factors_that_the_type_does_not_hold(rank)
    product = torch.tensor([2.0, 0.5])
    dist.all_reduce(product, dist.ReduceOp.PRODUCT)
    assert product.tolist() == [2.0**rank.nranks, 0.5**rank.nranks]
    with pytest.raises(TypeError, match="bool by AVG"):
        dist.all_reduce(torch.ones(1, dtype=torch.bool), dist.ReduceOp.AVG)
    with pytest.raises(ValueError, match="not by BXOR"):
        dist.all_reduce(torch.ones(1, dtype=torch.int32), dist.ReduceOp.BXOR)


def gathers_and_scatters(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    for count in (1, 3, 4097):
        rows = of_all(rank, count, torch.float32)
        output = torch.empty(n * count)
        dist.all_gather_into_tensor(output, rows[me].clone())
        assert torch.equal(output.view(n, count), rows)
        matrix = torch.stack([rows + r for r in range(n)])  # rank r's input is matrix[r]
        part = torch.empty(count)
        dist.reduce_scatter_tensor(part, matrix[me].reshape(-1).clone())
        assert torch.equal(part, matrix.sum(0)[me])
        dist.reduce_scatter(part, list(matrix[me].clone()), dist.ReduceOp.MAX)
        assert torch.equal(part, matrix.amax(0)[me])
        gathered = [torch.empty(count) for _ in range(n)] if me == 1 else None
        dist.gather(rows[me].clone(), gathered, dst=1)
        if gathered is not None:
            assert torch.equal(torch.stack(gathered), rows)
        dist.scatter(part, list(rows.clone()) if me == 0 else None, src=0)
        assert torch.equal(part, rows[me])
        reduced = rows[me].clone()
        dist.reduce(reduced, dst=0)
        assert torch.equal(reduced, rows.sum(0) if me == 0 else rows[me])


def all_to_all_of_unequal_parts(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    # Rank s sends s + 2 t rows (sometimes none) to rank t.
    sends = [me + 2 * t for t in range(n)]
    receives = [s + 2 * me for s in range(n)]
    tensor = torch.cat([torch.full((sends[t], 3), 10.0 * me + t) for t in range(n)])
    output = torch.empty(sum(receives), 3)
    dist.all_to_all_single(output, tensor, receives, sends)
    wanted = torch.cat([torch.full((receives[s], 3), 10.0 * s + me) for s in range(n)])
    assert torch.equal(output, wanted)
    lists = [torch.empty(receives[s], 3) for s in range(n)]
    dist.all_to_all(lists, list(torch.split(tensor, sends)))
    assert torch.equal(torch.cat(lists), wanted)
    with pytest.raises(ValueError, match="do not make up the first dimension"):
        dist.all_to_all_single(output, tensor, receives, [100] * n)
    if n > 1:
        negative = [n + 1, -1] + [0] * (n - 2)
        with pytest.raises(ValueError, match="do not make up the first dimension"):
            dist.all_to_all_single(torch.empty(n), torch.empty(n), negative, [1] * n)


def all_to_all_of_equal_parts(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    for rows, dtype in ((1, torch.int64), (3, torch.bfloat16), (9000, torch.int16)):
        sent = torch.cat([torch.full((rows, 2), 10 * me + t, dtype=dtype) for t in range(n)])
        wanted = torch.cat([torch.full((rows, 2), 10 * s + me, dtype=dtype) for s in range(n)])
        output = torch.empty_like(sent)
        dist.all_to_all_single(output, sent)
        assert torch.equal(output, wanted)
        turned = torch.empty(2, n * rows, dtype=dtype).t()
        dist.all_to_all_single(turned, sent.flip(0).flip(0), async_op=True).wait()
        assert torch.equal(turned, wanted)
        dist.all_to_all_single(sent, sent)
        assert torch.equal(sent, wanted)
    with pytest.raises(ValueError, match="first dimension that"):
        dist.all_to_all_single(torch.empty(n + 1), torch.empty(n + 1))
    with pytest.raises(ValueError, match="does not fit"):
        dist.all_to_all_single(torch.empty(n), torch.empty(2 * n))


def a_reduction_to_a_root_leaves_the_others_alone(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    for count in (1, 5000, 300_000):
        rows = of_all(rank, count, torch.float32)
        for root in range(n):
            reduced = rows[me].clone()
            dist.reduce(reduced, dst=root, op=dist.ReduceOp.MAX)
            assert torch.equal(reduced, rows.amax(0) if me == root else rows[me])
            gaps = torch.full((count, 2), -1.0)
            gaps[:, 0] = rows[me]
            dist.reduce(gaps[:, 0], dst=root, async_op=True).wait()
            assert torch.equal(gaps[:, 0], rows.sum(0) if me == root else rows[me])
            assert bool((gaps[:, 1] == -1).all())


def views_give_what_contiguous_tensors_give(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    rows = of_all(rank, 12, torch.float32)
    dense = rows[me].clone().view(3, 4).t()
    dist.all_reduce(dense)
    assert torch.equal(dense, rows.sum(0).view(3, 4).t())
    whole = torch.full((12, 2), -1.0)
    gaps = whole[:, 0]
    gaps.copy_(rows[me])
    dist.all_reduce(gaps, async_op=True).wait()
    assert torch.equal(gaps, rows.sum(0))
    assert bool((whole[:, 1] == -1).all())
    gaps.copy_(rows[me])
    dist.broadcast(gaps, src=1)
    assert torch.equal(gaps, rows[1])
    output = torch.full((n * 12, 2), -1.0)
    dist.all_gather_into_tensor(output[:, 1], whole[:, 0])
    assert torch.equal(output[:, 1], rows[1].repeat(n))
    assert bool((output[:, 0] == -1).all())
    if me == 0:
        dist.send(rows[0].view(3, 4).t(), 1)
    elif me == 1:
        received = torch.zeros(4, 6)[:, ::2]
        dist.recv(received, 0)
        assert torch.equal(received, rows[0].view(3, 4).t())
    negated = torch.tensor([complex(0, 1 + me)]).conj().imag
    assert negated.is_neg()
    dist.all_reduce(negated)
    assert negated.item() == -n * (n + 1) / 2
    leaf = torch.zeros(4, 4, requires_grad=True)
    dist.all_reduce(leaf.t(), async_op=True).wait()


def complex_and_sparse_tensors(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    tensor = torch.tensor([complex(me, 1)])
    dist.all_reduce(tensor)
    assert tensor.item() == complex(n * (n - 1) / 2, n)
    sparse = torch.sparse_coo_tensor(
        torch.tensor([[0, me]]), torch.tensor([1.0, 2.0]), (n,), check_invariants=True
    )
    dist.all_reduce(sparse)
    wanted = torch.full((n,), 2.0)
    wanted[0] += n
    assert torch.equal(sparse.to_dense(), wanted)


def sparse_tensors_of_different_shapes_are_refused(rank: Rank) -> None:
    me = rank.rank
    sparse = torch.eye(3 + me).to_sparse()
    wanted = (
        rf"rank {me} passes one of shape \[{3 + me}, {3 + me}\], rank [01] one of \[[34], [34]\]"
    )
    with pytest.raises(ValueError, match=wanted):
        dist.all_reduce(sparse)
    # So do other numbers of dimensions; and the group goes on.
    with pytest.raises(ValueError, match=f"rank {me} passes one of shape"):
        dist.all_reduce(torch.ones([2] * (1 + me)).to_sparse())
    rows = torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), check_invariants=True)
    with pytest.raises(TypeError, match=r"this one has layout torch\.sparse_csr"):
        dist.all_reduce(rows)
    complex_and_sparse_tensors(rank)


def coalesced(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    tensors = [own(me, count, torch.float32) for count in (1, 10, 5000)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor)
    manager.wait()
    for tensor in tensors:
        assert torch.equal(tensor, of_all(rank, tensor.numel(), torch.float32).sum(0))
    parts = [own(me, 3, torch.float32), own(me, 4, torch.float32)]
    outputs = [torch.empty(3 * n), torch.empty(4 * n)]
    with dist._coalescing_manager():
        for output, part in zip(outputs, parts, strict=True):
            dist.all_gather_into_tensor(output, part)
    for output, part in zip(outputs, parts, strict=True):
        assert torch.equal(output.view(n, -1), of_all(rank, part.numel(), torch.float32))
    with dist._coalescing_manager():
        for output, part in zip(outputs, parts, strict=True):
            dist.reduce_scatter_tensor(part, output)
    for count, part in zip((3, 4), parts, strict=True):
        assert torch.equal(part, n * own(me, count, torch.float32))


def objects(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    everyone: list[Any] = [None] * n
    dist.all_gather_object(everyone, {"rank": me, "padding": "x" * (100 * me)})
    assert [one["rank"] for one in everyone] == list(range(n))
    shared: list[Any] = [("first", me), me]
    dist.broadcast_object_list(shared, src=1)
    assert shared == [("first", 1), 1]
    gathered: list[Any] | None = [None] * n if me == 0 else None
    dist.gather_object(me * me, gathered, dst=0)
    assert gathered == ([r * r for r in range(n)] if me == 0 else None)
    mine: list[Any] = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(n)] if me == 0 else None, src=0)
    assert mine == [f"for {me}"]


def wrong_arguments_are_sentences(rank: Rank) -> None:
    group = dist.group.WORLD
    assert group is not None
    meta = torch.empty(1, device="meta")
    with pytest.raises(ValueError, match="moves CPU and CUDA tensors"):
        dist.all_reduce(meta)
    with pytest.raises(ValueError, match="does not fit 3 elements"):
        dist.all_gather_into_tensor(torch.empty(3), torch.empty(5))
    lists = [torch.empty(1 + min(r, 1)) for r in range(rank.nranks)]
    with pytest.raises(ValueError, match="tensor for rank 1 has 2 elements"):
        dist.all_gather(lists, torch.empty(1))
    with pytest.raises(ValueError, match="named rank"):
        dist.recv(torch.empty(1))
    with pytest.raises(ValueError, match="one tensor"):
        group.allreduce([torch.empty(1), torch.empty(1)]).wait()
    # None of these reached the communicator, so it still works.
    dist.barrier()


@pytest.mark.parametrize(
    "scenario",
    [
        every_type_and_operation,
        whole_life_of_bytes,
        other_types_and_operations_reduce,
        gathers_and_scatters,
        all_to_all_of_unequal_parts,
        all_to_all_of_equal_parts,
        a_reduction_to_a_root_leaves_the_others_alone,
        views_give_what_contiguous_tensors_give,
        complex_and_sparse_tensors,
        sparse_tensors_of_different_shapes_are_refused,
        coalesced,
        objects,
        wrong_arguments_are_sentences,
    ],
    ids=lambda scenario: str(scenario.__name__),
)
@pytest.mark.parametrize("ranks", ["two", "four"])
def test_operations(
    scenario: Callable[..., None], ranks: str, request: pytest.FixtureRequest
) -> None:
    team: Team = request.getfixturevalue(ranks)
    team.run(scenario)
