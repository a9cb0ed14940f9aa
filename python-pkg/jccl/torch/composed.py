"""Collectives that the library knows as sends and receives, and the sum of sparse tensors."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed import ReduceOp

from jccl._numbers import ALL_GATHER, ALL_TO_ALL, GATHER, SCATTER, UINT8
from jccl.torch.arguments import moved, real
from jccl.torch.composition import Composition
from jccl.torch.tensors import alike

if TYPE_CHECKING:
    from jccl.torch.group import Handle, ProcessGroupJccl

Tensor = torch.Tensor


class _Exchange:
    """The sends and receives of one collective, with the copy on this rank.

    Args:
        group: the process group.
        operation: the library's number of the collective.
        root: its root, 0 where there is none.
    """

    def __init__(self, group: ProcessGroupJccl, operation: int, root: int = 0) -> None:
        self._comm = group._comm
        self._operation = operation
        self._root = root
        self.composition = Composition(group._comm.drain, exchanges=True)

    def keep(self, target: Tensor, source: Tensor) -> None:
        """This rank's own part."""
        if not source.numel():
            return
        from_ = self.composition.reads(source)
        to = self.composition.writes(target)
        self.composition.copy_before(to.view(from_.shape), from_)

    def start(self, like: Tensor | None, results: list[Tensor], opts: Any) -> Handle:
        """Starts them all; the handle is over when all are.

        Args:
            like: a tensor of the size and type that is every rank's, None if sizes differ.
            results: the tensors that are filled.
            opts: torch's options.
        """
        count, kind = (0, UINT8) if like is None else moved(like)
        call = (self._operation, 0, 0, count, kind, 0, self._root)
        waits = opts is not None and not opts.asyncOp
        return self._comm.run(call, waits, results, self.composition)


def gather(group: ProcessGroupJccl, outputs: list[Tensor], tensor: Tensor, opts: Any) -> Handle:
    """All ranks' tensors into a list of tensors on the root."""
    root, rank = opts.rootRank, group._rank
    exchange = _Exchange(group, GATHER, root)
    if rank != root:
        exchange.composition.send(tensor, root)
    else:
        alike("gather", group._size, outputs, tensor)
        exchange.keep(outputs[rank], tensor)
        for peer, output in enumerate(outputs):
            if peer != rank:
                exchange.composition.receive(output, peer)
    return exchange.start(tensor, outputs, opts)


def gather_single(group: ProcessGroupJccl, output: Tensor, tensor: Tensor, opts: Any) -> Handle:
    """All ranks' tensors, one after another, into one tensor on the root."""
    if group._rank != opts.rootRank:
        return gather(group, [], tensor, opts)
    if output.dtype != tensor.dtype or output.numel() != tensor.numel() * group._size:
        raise ValueError(
            f"gather of {tensor.numel()} elements of {tensor.dtype} by {group._size} ranks "
            f"does not fit {output.numel()} elements of {output.dtype}"
        )
    exchange = _Exchange(group, GATHER, opts.rootRank)
    whole = exchange.composition.writes(output)
    rows = whole.detach().view(group._size, *tensor.shape)
    exchange.keep(rows[group._rank], tensor)
    for peer in range(group._size):
        if peer != group._rank:
            exchange.composition.receive(rows[peer], peer)
    return exchange.start(tensor, [output], opts)


def scatter(group: ProcessGroupJccl, output: Tensor, inputs: list[Tensor], opts: Any) -> Handle:
    """A list of tensors of the root out to the ranks."""
    root, rank = opts.rootRank, group._rank
    exchange = _Exchange(group, SCATTER, root)
    if rank != root:
        exchange.composition.receive(output, root)
    else:
        alike("scatter", group._size, inputs, output)
        exchange.keep(output, inputs[rank])
        for peer, tensor in enumerate(inputs):
            if peer != rank:
                exchange.composition.send(tensor, peer)
    return exchange.start(output, [output], opts)


def alltoall(
    group: ProcessGroupJccl, outputs: list[Tensor], inputs: list[Tensor], opts: Any
) -> Handle:
    """Tensor r to rank r, one from each. Sizes may differ from pair to pair."""
    exchange = _Exchange(group, ALL_TO_ALL)
    _all_to_all(exchange, group, outputs, inputs)
    return exchange.start(None, outputs, opts)


def _all_to_all(
    exchange: _Exchange, group: ProcessGroupJccl, outputs: list[Tensor], inputs: list[Tensor]
) -> None:
    size, rank = group._size, group._rank
    if len(outputs) != size or len(inputs) != size:
        raise ValueError(
            f"all_to_all by {size} ranks got {len(inputs)} tensors to send and "
            f"{len(outputs)} to receive"
        )
    if outputs[rank].numel() != inputs[rank].numel():
        raise ValueError(
            f"all_to_all: rank {rank} sends {inputs[rank].numel()} elements to itself and "
            f"expects {outputs[rank].numel()}"
        )
    exchange.keep(outputs[rank], inputs[rank])
    # Every rank begins with its right-hand neighbour, so that not all send to the same rank first.
    for step in range(1, size):
        to, source = (rank + step) % size, (rank - step) % size
        exchange.composition.send(inputs[to], to)
        exchange.composition.receive(outputs[source], source)


def all_to_all_single(
    group: ProcessGroupJccl,
    output: Tensor,
    tensor: Tensor,
    output_sizes: list[int],
    input_sizes: list[int],
    opts: Any,
) -> Handle:
    """Part r of a tensor to rank r. Sizes are in rows; empty lists mean equal parts."""
    if output.dtype != tensor.dtype:
        raise ValueError(f"all_to_all from {tensor.dtype} into {output.dtype}")
    output, tensor = real(output), real(tensor)
    if not output_sizes and not input_sizes:
        return _all_to_all_equal(group, output, tensor, opts)
    exchange = _Exchange(group, ALL_TO_ALL)
    outputs = _parts(exchange.composition.writes(output), output_sizes, group._size)
    inputs = _parts(exchange.composition.reads(tensor), input_sizes, group._size)
    _all_to_all(exchange, group, outputs, inputs)
    return exchange.start(None, [output], opts)


def _all_to_all_equal(group: ProcessGroupJccl, output: Tensor, tensor: Tensor, opts: Any) -> Handle:
    _parts(output, [], group._size)
    if output.numel() != tensor.numel():
        raise ValueError(
            f"all_to_all in equal parts from {tensor.numel()} into {output.numel()} elements"
        )
    _parts(tensor, [], group._size)
    composition = Composition(group._comm.drain)
    source, buffer = composition.reads(tensor), composition.writes(output)
    count, kind = moved(source)
    part = count // group._size
    call = (ALL_TO_ALL, source.data_ptr(), buffer.data_ptr(), part, kind, 0, 0)
    waits = opts is not None and not opts.asyncOp
    return group._comm.run(call, waits, [output], composition)


def _parts(tensor: Tensor, rows: list[int], size: int) -> list[Tensor]:
    """Consecutive parts of a contiguous tensor along its first dimension."""
    if not rows:
        if not tensor.dim() or tensor.size(0) % size:
            raise ValueError(
                f"all_to_all in equal parts by {size} ranks needs a first dimension that "
                f"{size} divides; the shape is {tuple(tensor.shape)}"
            )
        rows = [tensor.size(0) // size] * size
    if len(rows) != size or sum(rows) != tensor.size(0):
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
    comm, size = group._comm, group._size
    comm.drain()
    own = tensor.detach().coalesce()
    indices, values = own.indices().contiguous(), own.values().contiguous()
    entries = _gathered(group, torch.tensor([indices.size(1)], dtype=torch.int64)).view(-1)
    most = int(entries.max())
    padded_indices = indices.new_zeros((most, indices.size(0)))
    padded_indices[: indices.size(1)] = indices.t()
    padded_values = values.new_zeros((most, *values.shape[1:]))
    padded_values[: values.size(0)] = values
    all_indices, all_values = _gathered(group, padded_indices), _gathered(group, padded_values)
    counts = entries.tolist()
    total = torch.sparse_coo_tensor(
        torch.cat([all_indices[r, : counts[r]] for r in range(size)]).t(),
        torch.cat([all_values[r, : counts[r]] for r in range(size)]),
        tensor.shape,
    ).coalesce()
    # detach() of a sparse tensor shares its entries, but not that there are more of them now.
    with torch.no_grad():
        comm.writes.copy([(tensor, total)])
    return comm.over(not opts.asyncOp, [tensor])


def _gathered(group: ProcessGroupJccl, tensor: Tensor) -> Tensor:
    """Every rank's tensor, all of one shape, stacked."""
    buffer = torch.empty((group._size, *tensor.shape), dtype=tensor.dtype)
    count, kind = moved(tensor)
    call = (ALL_GATHER, tensor.data_ptr(), buffer.data_ptr(), count, kind, 0, 0)
    group._comm.run(call, True, [buffer])
    return buffer
