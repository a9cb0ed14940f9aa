"""Operations that the library does not have, composed truly of those that it has."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed import ReduceOp

from jccl.torch.arguments import ALL_GATHER, RECV, SEND, moved, real
from jccl.torch.communicator import Call
from jccl.torch.tensors import alike, landing, packed

if TYPE_CHECKING:
    from jccl.torch.group import Handle, ProcessGroupJccl

Tensor = torch.Tensor


class _Exchange:
    """Sends and receives of one group call, with the copies on this rank.

    Args:
        group: the process group.
    """

    def __init__(self, group: ProcessGroupJccl) -> None:
        self._group = group
        self._calls: list[Call] = []
        self._kept: list[Tensor] = []
        self._copies: list[tuple[Tensor, Tensor]] = []

    def send(self, tensor: Tensor, peer: int) -> None:
        """A tensor goes to a peer other than this rank."""
        source = packed(tensor)
        if source.numel():
            self._kept.append(source)
            self._calls.append(self._group._comm.move(SEND, source, peer))

    def receive(self, tensor: Tensor, peer: int) -> None:
        """A tensor comes from a peer other than this rank."""
        buffer, copies = landing(tensor)
        if buffer.numel():
            self._kept.append(buffer)
            self._copies += copies
            self._calls.append(self._group._comm.move(RECV, buffer, peer))

    def keep(self, target: Tensor, source: Tensor) -> None:
        """This rank's own part."""
        own = source.detach().view(target.shape)
        self._group._comm.writes.copy([(target.detach(), own)])

    def start(self, results: list[Tensor], opts: Any) -> Handle:
        """Starts them all; the handle is over when all are."""
        comm = self._group._comm
        waits = opts is not None and not opts.asyncOp
        return comm.run_all(self._calls, waits, results, self._kept, self._copies)


def gather(group: ProcessGroupJccl, outputs: list[Tensor], tensor: Tensor, opts: Any) -> Handle:
    """All ranks' tensors into a list of tensors on the root."""
    exchange = _Exchange(group)
    root, rank = opts.rootRank, group._rank
    if rank != root:
        exchange.send(tensor, root)
    else:
        alike("gather", group._size, outputs, tensor)
        exchange.keep(outputs[rank], tensor)
        for peer, output in enumerate(outputs):
            if peer != rank:
                exchange.receive(output, peer)
    return exchange.start(outputs, opts)


def gather_single(group: ProcessGroupJccl, output: Tensor, tensor: Tensor, opts: Any) -> Handle:
    """All ranks' tensors, one after another, into one tensor on the root."""
    if group._rank != opts.rootRank:
        return gather(group, [], tensor, opts)
    if output.dtype != tensor.dtype or output.numel() != tensor.numel() * group._size:
        raise ValueError(
            f"gather of {tensor.numel()} elements of {tensor.dtype} by {group._size} ranks "
            f"does not fit {output.numel()} elements of {output.dtype}"
        )
    buffer, copies = landing(output)
    rows = list(buffer.detach().view(group._size, *tensor.shape))
    work = gather(group, rows, tensor, opts)
    if not copies:
        return work
    # A tensor with gaps is filled from the packed one when that is complete.
    work.wait()
    group._comm.writes.copy(copies)
    return work


def scatter(group: ProcessGroupJccl, output: Tensor, inputs: list[Tensor], opts: Any) -> Handle:
    """A list of tensors of the root out to the ranks."""
    exchange = _Exchange(group)
    root, rank = opts.rootRank, group._rank
    if rank != root:
        exchange.receive(output, root)
    else:
        alike("scatter", group._size, inputs, output)
        exchange.keep(output, inputs[rank])
        for peer, tensor in enumerate(inputs):
            if peer != rank:
                exchange.send(tensor, peer)
    return exchange.start([output], opts)


def alltoall(
    group: ProcessGroupJccl, outputs: list[Tensor], inputs: list[Tensor], opts: Any
) -> Handle:
    """Tensor r to rank r, one from each. Sizes may differ from pair to pair."""
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
    exchange = _Exchange(group)
    exchange.keep(outputs[rank], inputs[rank])
    # Every rank begins with its right-hand neighbour, so that not all send to the same rank first.
    for step in range(1, size):
        to, source = (rank + step) % size, (rank - step) % size
        exchange.send(inputs[to], to)
        exchange.receive(outputs[source], source)
    return exchange.start(outputs, opts)


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
    source = packed(tensor)
    buffer, copies = landing(output)
    outputs = _parts(buffer, output_sizes, group._size)
    inputs = _parts(source, input_sizes, group._size)
    work = alltoall(group, outputs, inputs, opts)
    if not copies:
        return work
    # As in gather_single.
    work.wait()
    group._comm.writes.copy(copies)
    return work


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
