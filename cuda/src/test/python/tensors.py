"""Every operation of backend "jccl" on tensors of GPUs, beside the same on the CPU.

Usage, by torchrun with 2 or more processes, which may share GPUs: tensors.py. Rank 0 prints how
many cases were equal.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from start import start

Tensor = torch.Tensor
Case = Callable[["Place"], list[Tensor]]

_cases: list[Case] = []


def case(function: Case) -> Case:
    """One program; the tensors that it returns must be equal on the CPU and on the GPU."""
    _cases.append(function)
    return function


class Place:
    """Where a program's tensors are.

    Args:
        device: the CPU, or this rank's GPU.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def numbers(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Small whole numbers, others on each rank."""
        count = torch.Size(shape).numel()
        numbers = (torch.arange(count) * (self.rank + 2) + self.rank) % 7
        return numbers.to(dtype).reshape(shape).to(self.device)

    def zeros(self, *shape: int) -> Tensor:
        """A tensor to receive into."""
        return torch.zeros(shape, device=self.device)


@case
def all_reduces_of_all_types(place: Place) -> list[Tensor]:
    """All types and operations."""
    results = []
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8,
                  torch.uint8, torch.int32, torch.int64, torch.bool):  # fmt: skip
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.MIN, dist.ReduceOp.PRODUCT):
            x = place.numbers(1000, dtype=dtype)
            dist.all_reduce(x, op)
            results.append(x)
    return results


@case
def averages_and_factors(place: Place) -> list[Tensor]:
    """AVG and PREMUL_SUM."""
    x, y = place.numbers(33), place.numbers(4096)
    dist.all_reduce(x, dist.ReduceOp.AVG)
    make: Any = vars(dist)["_make_nccl_premul_sum"]
    dist.all_reduce(y, make(0.5))
    return [x, y]


@case
def tensors_with_gaps(place: Place) -> list[Tensor]:
    """Tensors that torch copies first, or afterwards."""
    x = place.numbers(40, 6)
    dist.all_reduce(x[:, ::2])
    dist.broadcast(x.t()[1], 0)
    y = place.numbers(8, dtype=torch.complex64)
    dist.all_reduce(y)
    dist.all_reduce(y.conj().imag)
    outputs = [place.zeros(6, 4).t() for _ in range(place.size)]
    dist.all_gather(outputs, place.numbers(4, 6))
    return [x, torch.view_as_real(y), *outputs]


@case
def rooted(place: Place) -> list[Tensor]:
    """From one rank, or to one, each in turn."""
    results = []
    for root in range(place.size):
        x, y = place.numbers(1025), place.numbers(5)
        dist.broadcast(x, root)
        dist.reduce(y, root)
        at_root = place.rank == root
        into = [place.zeros(9) for _ in range(place.size)] if at_root else None
        dist.gather(place.numbers(9), into, root)
        own = place.zeros(7)
        parts = list(place.numbers(place.size, 7).unbind()) if at_root else None
        dist.scatter(own, parts, root)
        results += [x, *([y] if at_root else []), *(into or []), own]
    return results


@case
def gathers_and_scatters(place: Place) -> list[Tensor]:
    """Gathers to all, and scatters of sums."""
    whole, row = place.zeros(place.size * 30), place.numbers(30)
    dist.all_gather_into_tensor(whole, row)
    part, apart = place.zeros(11), place.zeros(11)
    dist.reduce_scatter_tensor(part, place.numbers(place.size * 11))
    dist.reduce_scatter(apart, list(place.numbers(place.size, 11).unbind()))
    return [whole, part, apart]


@case
def all_to_all(place: Place) -> list[Tensor]:
    """Equal and unequal parts."""
    size, rank = place.size, place.rank
    equal = place.zeros(size * 3)
    dist.all_to_all_single(equal, place.numbers(size * 3))
    given = [rank + to + 1 for to in range(size)]
    taken = [source + rank + 1 for source in range(size)]
    unequal = place.zeros(sum(taken), 2)
    dist.all_to_all_single(unequal, place.numbers(sum(given), 2), taken, given)
    outputs = [place.zeros(n) for n in taken]
    dist.all_to_all(outputs, [place.numbers(n) for n in given])
    return [equal, unequal, *outputs]


@case
def sends(place: Place) -> list[Tensor]:
    """Both ways at once, of several sizes."""
    size, rank = place.size, place.rank
    right, left = (rank + 1) % size, (rank - 1) % size
    received = [place.zeros(n) for n in (1, 70_000, 1_000_000)]
    works = []
    for x in received:
        works.append(dist.irecv(x, left))
        works.append(dist.isend(place.numbers(x.numel()), right))
    for work in works:
        assert work is not None
        work.wait()
    both = place.zeros(5)
    operations = [
        dist.P2POp(dist.isend, place.numbers(5), right),
        dist.P2POp(dist.irecv, both, left),
    ]
    for request in dist.batch_isend_irecv(operations):
        request.wait()
    if rank == 0:
        dist.send(received[0] + 1, 1)
    elif rank == 1:
        dist.recv(received[0], 0)
    return [*received, both]


@case
def handles_and_futures(place: Place) -> list[Tensor]:
    """Asynchronous and synchronous calls in turn, and callbacks."""
    results = []
    for n in (1, 5000, 3_000_000):
        x = place.numbers(n)
        for _ in range(3):
            x = x * 2 - 1
            work = dist.all_reduce(x, async_op=True)
            assert work is not None
            future = work.get_future().then(lambda done: done.value()[0].sum())
            y = place.numbers(n)
            dist.all_reduce(y)
            work.wait()
            x = x % 5
            results += [x, y, future.wait()]
    return results


@case
def order(place: Place) -> list[Tensor]:
    """Asynchronous calls whose inputs and outputs depend on each other."""
    x = place.numbers(100_000)
    out = place.zeros(place.size * x.numel())
    works: list[Any] = [dist.all_reduce(x, async_op=True)]
    works.append(dist.all_gather_into_tensor(out, x, async_op=True))
    works.append(dist.all_reduce(out[:100], async_op=True))
    dist.barrier()
    results = [x.clone(), out.clone()]
    for work in works:
        assert work is not None
        work.wait()
        assert work.is_completed()
    return results


@case
def several_at_once(place: Place) -> list[Tensor]:
    """One handle for several calls."""
    several = [place.numbers(n) for n in (3, 300, 30_000)]
    manager: Any = dist._coalescing_manager  # type: ignore[attr-defined]
    with manager(device=place.device, async_ops=True) as whole:
        for x in several:
            dist.all_reduce(x)
    whole.wait()
    return several


@case
def sparse(place: Place) -> list[Tensor]:
    """Sums of sparse tensors."""
    indices = torch.tensor([[place.rank, place.rank + 2]])
    values = torch.tensor([1.0, 2.0])
    x = torch.sparse_coo_tensor(indices, values, (place.size + 3,)).to(place.device)
    dist.all_reduce(x)
    return [x.to_dense()]


@case
def groups(place: Place) -> list[Tensor]:
    """Groups of every two ranks; objects."""
    x = place.numbers(50)
    for pair in itertools.combinations(range(place.size), 2):
        group: Any = dist.new_group(list(pair), timeout=timedelta(seconds=60))
        if place.rank in pair:
            dist.all_reduce(x, group=group)
        dist.destroy_process_group(group) if place.rank in pair else None
    objects: list[Any] = [None] * place.size
    dist.all_gather_object(objects, place.numbers(3).cpu().tolist())
    return [x, torch.tensor(objects)]


def graph(place: Place) -> list[Tensor]:
    """Calls that a CUDA graph repeats, between eager ones."""
    x = place.numbers(10_000)
    make: Any = torch.cuda.Stream
    stream = make()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        dist.all_reduce(x)
    torch.cuda.current_stream().wait_stream(stream)
    captured: Any = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        dist.all_reduce(x)
        x %= 11
    results = []
    for _ in range(5):
        captured.replay()
        dist.all_reduce(x)
        x %= 13
        results.append(x.clone())
    return results


def expected_of_graph(place: Place) -> list[Tensor]:
    """The same on the CPU."""
    x = place.numbers(10_000)
    dist.all_reduce(x)
    results = []
    for _ in range(5):
        dist.all_reduce(x)
        x %= 11
        dist.all_reduce(x)
        x %= 13
        results.append(x.clone())
    return results


def refusals(device: torch.device) -> None:
    """What a program gets wrong is said, and changes nothing."""
    on_gpu, on_host = torch.zeros(4, device=device), torch.zeros(4 * dist.get_world_size())
    calls: list[Callable[[], Any]] = [
        lambda: dist.all_gather_into_tensor(on_host, on_gpu),
        lambda: dist.all_reduce(on_gpu[:1].expand(4)),
    ]
    for wrong in calls:
        try:
            wrong()
        except ValueError:
            continue
        raise AssertionError("not refused")


def main() -> None:
    """Runs all cases on this rank."""
    device = start()
    host, gpu = Place(torch.device("cpu")), Place(device)
    good = sum(compare(each.__name__, each(host), each(gpu)) for each in _cases)
    wrong = len(_cases) - good
    if torch.cuda.device_count() >= dist.get_world_size():
        of_graph = compare("graph", expected_of_graph(host), graph(gpu))
        good, wrong = good + of_graph, wrong + (not of_graph)
    refusals(device)
    dist.barrier()
    if dist.get_rank() == 0:
        print(f"{good} cases right", flush=True)
    dist.destroy_process_group()
    sys.exit(bool(wrong))


def compare(name: str, expected: list[Tensor], got: list[Tensor]) -> bool:
    """Whether both are equal in each bit; says what is not."""
    equal = len(expected) == len(got)
    for place, (one, other) in enumerate(zip(expected, got, strict=False)):
        if not torch.equal(one, other.cpu()):
            print(f"{name}, result {place}: {one}, on the GPU {other}", flush=True)
            equal = False
    return equal


if __name__ == "__main__":
    main()
