"""Gathers, scatters and all-to-alls, and the sum of sparse tensors.

For a list with a tensor for each rank, the library gets one piece of memory: the tensors' own if
they lie one after the other, else a copy, which the library makes in the operation's turn.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed import ReduceOp

from jccl._numbers import ALL_GATHER, ALL_TO_ALL, GATHER, SCATTER, UINT8
from jccl.torch.arguments import moved, real, waits
from jccl.torch.composition import Call, Composition
from jccl.torch.tensors import alike, fitting

if TYPE_CHECKING:
    from jccl.torch.communicator import Communicator
    from jccl.torch.group import Handle, ProcessGroupJccl

Tensor = torch.Tensor

#: torch's tensors have at most so many.
_MOST_DIMENSIONS = 64


def _run(
    comm: Communicator, call: Call, results: list[Tensor], opts: Any, composition: Composition
) -> Handle:
    return comm.run(call, waits(opts), results, composition)


def gather(group: ProcessGroupJccl, outputs: list[Tensor], tensor: Tensor, opts: Any) -> Handle:
    """Gathers all ranks' tensors into a list of tensors on the root."""
    root, rank = opts.rootRank, group._rank
    comm = group.on(tensor)
    composition = comm.composition()
    source = composition.reads(tensor)
    into = 0
    if rank == root:
        alike("gather", group._size, outputs, tensor)
        into = composition.writes_in_a_row(outputs, source, rank)
    count, kind = moved(source)
    call = (GATHER, source.data_ptr(), into, count, kind, 0, root)
    return _run(comm, call, outputs, opts, composition)


def gather_single(group: ProcessGroupJccl, output: Tensor, tensor: Tensor, opts: Any) -> Handle:
    """Gathers all ranks' tensors, one after another, into one tensor on the root."""
    root = opts.rootRank
    comm = group.on(tensor)
    composition = comm.composition()
    source = composition.reads(tensor)
    into = 0
    if group._rank == root:
        fitting(GATHER, group._size, tensor, output)
        into = composition.writes(output).data_ptr()
    count, kind = moved(source)
    call = (GATHER, source.data_ptr(), into, count, kind, 0, root)
    return _run(comm, call, [output], opts, composition)


def scatter(group: ProcessGroupJccl, output: Tensor, inputs: list[Tensor], opts: Any) -> Handle:
    """Hands the root's list of tensors out to the ranks."""
    root, rank = opts.rootRank, group._rank
    comm = group.on(output)
    composition = comm.composition()
    buffer = composition.writes(output)
    source = 0
    if rank == root:
        alike("scatter", group._size, inputs, output)
        source = composition.reads_in_a_row(inputs, buffer, rank)
    count, kind = moved(buffer)
    call = (SCATTER, source, buffer.data_ptr(), count, kind, 0, root)
    return _run(comm, call, [output], opts, composition)


def alltoall(
    group: ProcessGroupJccl, outputs: list[Tensor], inputs: list[Tensor], opts: Any
) -> Handle:
    """Sends tensor r to rank r and receives one from each rank.

    Sizes may differ from pair to pair. A rank whose own tensors are all alike does not know whether
    the others' are, so the ranks cannot agree on the library's AlltoAll: this is always an exchange
    of sends and receives.
    """
    if len(outputs) != group._size or len(inputs) != group._size:
        raise ValueError(
            f"all_to_all by {group._size} ranks got {len(inputs)} tensors to send and "
            f"{len(outputs)} to receive"
        )
    comm = group.on(outputs[0])
    composition = comm.composition(exchanges=True)
    return _exchange(group, comm, outputs, inputs, outputs, opts, composition)


def _exchange(
    group: ProcessGroupJccl,
    comm: Communicator,
    outputs: list[Tensor],
    inputs: list[Tensor],
    results: list[Tensor],
    opts: Any,
    composition: Composition,
) -> Handle:
    size, rank = group._size, group._rank
    own, kept = inputs[rank], outputs[rank]
    if own.numel() != kept.numel():
        raise ValueError(
            f"all_to_all: rank {rank} sends {own.numel()} elements to itself and "
            f"expects {kept.numel()}"
        )
    source = composition.reads(own)
    composition.copy_before(composition.writes(kept).view(source.shape), source)
    # Every rank begins with its right-hand neighbour, so that not all send to the same rank first.
    for step in range(1, size):
        to, source_rank = (rank + step) % size, (rank - step) % size
        composition.send(inputs[to], to)
        composition.receive(outputs[source_rank], source_rank)
    return _run(comm, (ALL_TO_ALL, 0, 0, 0, UINT8, 0, 0), results, opts, composition)


def all_to_all_single(
    group: ProcessGroupJccl,
    output: Tensor,
    tensor: Tensor,
    output_sizes: list[int],
    input_sizes: list[int],
    opts: Any,
) -> Handle:
    """Sends part r of a tensor to rank r. Sizes are in rows; empty lists mean equal parts."""
    if output.dtype != tensor.dtype:
        raise ValueError(f"all_to_all from {tensor.dtype} into {output.dtype}")
    output, tensor = real(output), real(tensor)
    if not output_sizes and not input_sizes:
        return _all_to_all_equal(group, output, tensor, opts)
    comm = group.on(output)
    composition = comm.composition(exchanges=True)
    outputs = _parts(composition.writes(output), output_sizes, group._size)
    inputs = _parts(composition.reads(tensor), input_sizes, group._size)
    return _exchange(group, comm, outputs, inputs, [output], opts, composition)


def _all_to_all_equal(group: ProcessGroupJccl, output: Tensor, tensor: Tensor, opts: Any) -> Handle:
    _parts(output, [], group._size)
    _parts(tensor, [], group._size)
    fitting(ALL_TO_ALL, group._size, tensor, output)
    comm = group.on(output)
    composition = comm.composition()
    source, buffer = composition.reads(tensor), composition.writes(output)
    count, kind = moved(source)
    part = count // group._size
    call = (ALL_TO_ALL, source.data_ptr(), buffer.data_ptr(), part, kind, 0, 0)
    return _run(comm, call, [output], opts, composition)


def _parts(tensor: Tensor, rows: list[int], size: int) -> list[Tensor]:
    """Consecutive parts of a contiguous tensor along its first dimension."""
    if not rows:
        if not tensor.dim() or tensor.size(0) % size:
            raise ValueError(
                f"all_to_all in equal parts by {size} ranks needs a first dimension that "
                f"{size} divides; the shape is {tuple(tensor.shape)}"
            )
        rows = [tensor.size(0) // size] * size
    if len(rows) != size or min(rows) < 0 or sum(rows) != tensor.size(0):
        raise ValueError(
            f"all_to_all by {size} ranks: sizes {list(rows)} do not make up the first "
            f"dimension of {tuple(tensor.shape)}"
        )
    ends = list(accumulate(rows))
    whole = tensor.detach()
    return [whole[end - n : end] for end, n in zip(ends, rows, strict=True)]


def sparse_allreduce(group: ProcessGroupJccl, tensor: Tensor, opts: Any) -> Handle:
    """The sum of sparse tensors: every rank gathers all entries and adds them up.

    Waits even when asked not to: the ranks must know each other's number of entries before they
    can exchange them.
    """
    if opts.reduceOp != ReduceOp.SUM:
        raise ValueError("jccl reduces sparse tensors by SUM only")
    comm, size = group.on(tensor), group._size
    comm.drain()
    own = tensor.detach().coalesce()
    indices, values = own.indices().contiguous(), own.values().contiguous()
    counts = _sparse_entries(group, own)
    most = max(counts)
    padded_indices = indices.new_zeros((most, indices.size(0)))
    padded_indices[: indices.size(1)] = indices.t()
    padded_values = values.new_zeros((most, *values.shape[1:]))
    padded_values[: values.size(0)] = values
    all_indices, all_values = _gathered(group, padded_indices), _gathered(group, padded_values)
    total = torch.sparse_coo_tensor(
        torch.cat([all_indices[r, : counts[r]] for r in range(size)]).t(),
        torch.cat([all_values[r, : counts[r]] for r in range(size)]),
        tensor.shape,
    ).coalesce()
    # A detach()ed sparse tensor shares the entries, but not their new number.
    with torch.no_grad():
        comm.writes.copy([(tensor, total)])
    return comm.over(not opts.asyncOp, [tensor])


def _sparse_entries(group: ProcessGroupJccl, own: Tensor) -> list[int]:
    """Every rank's number of entries of its sparse tensor, if all have one of this shape."""
    described = torch.zeros(2 + _MOST_DIMENSIONS, dtype=torch.int64)
    described[0], described[1] = own.indices().size(1), own.dim()
    described[2 : 2 + own.dim()] = torch.tensor(own.shape)
    every = _gathered(group, described.to(own.device)).tolist()
    for rank, (_, dimensions, *shape) in enumerate(every):
        if shape[:dimensions] != list(own.shape):
            raise ValueError(
                f"all_reduce of sparse tensors: rank {group._rank} passes one of shape "
                f"{list(own.shape)}, rank {rank} one of {shape[:dimensions]}; pass one shape on "
                "all ranks"
            )
    return [entries for entries, *_ in every]


def _gathered(group: ProcessGroupJccl, tensor: Tensor) -> Tensor:
    """Every rank's tensor, all of one shape, stacked."""
    shape = group._size, *tensor.shape
    buffer = torch.empty(shape, dtype=tensor.dtype, device=tensor.device)
    count, kind = moved(tensor)
    call = (ALL_GATHER, tensor.data_ptr(), buffer.data_ptr(), count, kind, 0, 0)
    group.on(tensor).run(call, True, [buffer])
    return buffer
