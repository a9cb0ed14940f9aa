"""The process group of backend "jccl"."""

from __future__ import annotations

import itertools
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._C._distributed_c10d import ProcessGroup, Store
from torch.autograd import profiler

from jccl._numbers import (
    ALL_GATHER,
    ALL_REDUCE,
    BROADCAST,
    INT32,
    RECV,
    REDUCE,
    REDUCE_SCATTER,
    SEND,
)
from jccl.bindings import own_state
from jccl.torch import composed, creation
from jccl.torch.arguments import REDUCTIONS, checked, moved, real, summands, waits
from jccl.torch.backend import GroupBackend
from jccl.torch.communicator import DONE, Communicator, Part
from jccl.torch.composition import resolved
from jccl.torch.device_work import DeviceWork, DeviceWorks
from jccl.torch.devices import Devices
from jccl.torch.monitored import MonitoredBarrier
from jccl.torch.tensors import alike, fitting, single
from jccl.torch.work import DoneWork, StartedWork, untraced

if TYPE_CHECKING:
    from jccl.torch.creation import Identity

Tensor = torch.Tensor
Handle = DoneWork | StartedWork | DeviceWork | DeviceWorks

# torch keeps only the C++ half of a group made by splitGroup, but the Python half must live until
# the group is shut down, or its rank has ended. The threads that make and end groups write it.
_living: Final[set[ProcessGroup]] = set()


def _living_of_this_rank() -> set[ProcessGroup]:
    state = own_state()
    return _living if state is None else state.setdefault("groups", set())


class ProcessGroupJccl(ProcessGroup):
    """Collectives of CPU tensors, and of those of one GPU, over communicators of JCCL.

    A call with ``asyncOp`` False (which torch passes when the caller waits at once) runs to its end
    and returns a finished handle; any other call starts the operation and returns a handle to wait
    on. On a GPU both only give streams their work. Errors are DistBackendError with the library's
    sentence; arguments that the library cannot work on are ValueError or TypeError.

    Args:
        comm: the communicator, ready.
        store: the group's own store.
        rank: this process's rank in the group.
        size: number of ranks.
        timeout: the time limit of each operation.
        identity: the identity of this incarnation of the group, equal on all ranks.
    """

    def __init__(
        self,
        comm: Communicator,
        store: Store,
        rank: int,
        size: int,
        timeout: timedelta,
        identity: Identity,
    ) -> None:
        super().__init__(store, rank, size)
        self._comm = comm
        self._identity = identity
        self._rank = rank
        self._size = size
        self._backend = GroupBackend(self, rank, size, timeout)
        self._devices = Devices(self, timeout)
        for device in ("cpu", "cuda"):
            kind = ProcessGroup.BackendType.CUSTOM
            self._register_backend(torch.device(device), kind, self._backend)
        self._set_default_backend(ProcessGroup.BackendType.CUSTOM)
        self._run = comm.native.run
        # Numbers for splits that torch gives no name.
        self.splits = itertools.count()
        self._token = torch.zeros(1, dtype=torch.int32)
        self._monitored = MonitoredBarrier(store, rank, size, identity.nonce)
        self._living = _living_of_this_rank()
        self._living.add(self)

    # Properties that torch asks for.

    def getBackendName(self) -> str:  # noqa: N802 (torch's name, as below)
        """The name that init_process_group knows."""
        return "jccl"

    # Operations.

    @untraced
    def allreduce(self, tensors: list[Tensor] | Tensor, opts: Any = None) -> Handle:
        """Reduces a tensor over all ranks, in place."""
        tensor = tensors if isinstance(tensors, Tensor) else single(tensors)
        if opts is None:
            opts = torch.distributed.AllreduceOptions()
        kinds = REDUCTIONS[hash(opts.reduceOp)].get(tensor.dtype)
        try:
            usual = tensor.is_contiguous() and not tensor.is_neg()
        except RuntimeError:  # Some layouts cannot tell.
            usual = False
        if kinds is None or not usual:
            return self._unusual_allreduce(tensor, opts)
        address = tensor.data_ptr()
        comm = self._comm if tensor.is_cpu else self._devices.communicator(tensor.device)
        if opts.asyncOp or comm is not self._comm or profiler._is_profiler_enabled:
            call = (ALL_REDUCE, address, address, tensor.numel(), kinds[0], kinds[1], 0)
            return comm.run(call, not opts.asyncOp, [tensor])
        code = self._run(
            ALL_REDUCE, address, address, tensor.numel(), kinds[0], kinds[1], 0, comm.handle
        )
        if code:
            comm.check(code)
        if comm.works:
            comm.look_back()
        return DONE

    def _unusual_allreduce(self, tensor: Tensor, opts: Any) -> Handle:
        if tensor.layout is torch.sparse_coo:
            return composed.sparse_allreduce(self, tensor, opts)
        comm = self.on(tensor)
        tensor = summands(tensor, opts.reduceOp)
        kind, op = comm.reduction(opts.reduceOp, tensor.dtype)
        composition = comm.composition()
        buffer = composition.updates(tensor)
        address = buffer.data_ptr()
        call = (ALL_REDUCE, address, address, buffer.numel(), kind, op, 0)
        return comm.run(call, not opts.asyncOp, [tensor], composition)

    def on(self, tensor: Tensor) -> Communicator:
        """The communicator for tensors that are where this one is."""
        return self._comm if tensor.is_cpu else self._devices.communicator(tensor.device)

    def _on_all(self, tensors: list[Tensor]) -> Communicator:
        return self.on(tensors[0]) if tensors else self._comm

    def _for_transfer(self, tensor: Tensor) -> Communicator:
        return self._comm if tensor.is_cpu else self._devices.for_transfer(tensor.device)

    @untraced
    def allreduce_coalesced(self, tensors: list[Tensor], opts: Any = None) -> Handle:
        """Reduces several tensors over all ranks, in place, one after the other."""
        if opts is None:
            opts = torch.distributed.AllreduceCoalescedOptions()
        parts: list[Part] = []
        comm = self._on_all(tensors)
        for each in tensors:
            tensor = summands(each, opts.reduceOp)
            kind, op = comm.reduction(opts.reduceOp, tensor.dtype)
            composition = comm.composition()
            buffer = composition.updates(tensor)
            address = buffer.data_ptr()
            call = (ALL_REDUCE, address, address, buffer.numel(), kind, op, 0)
            parts.append((call, composition))
        return comm.run_all(parts, not opts.asyncOp, tensors)

    @untraced
    def broadcast(self, tensors: list[Tensor] | Tensor, opts: Any = 0) -> Handle:
        """Copies the root's tensor to all ranks."""
        tensor = tensors if isinstance(tensors, Tensor) else single(tensors)
        if isinstance(opts, int):
            root, opts = opts, torch.distributed.BroadcastOptions()
        else:
            root = opts.rootRank
        comm = self.on(tensor)
        composition = comm.composition()
        at_root = root == self._rank
        buffer = composition.reads(tensor) if at_root else composition.writes(tensor)
        count, kind = moved(buffer)
        address = buffer.data_ptr()
        call = (BROADCAST, address, address, count, kind, 0, root)
        return comm.run(call, not opts.asyncOp, [tensor], composition)

    @untraced
    def reduce(self, tensors: list[Tensor] | Tensor, opts: Any = None) -> Handle:
        """Reduces a tensor over all ranks into the root's."""
        if opts is None:
            opts = torch.distributed.ReduceOptions()
        given = tensors if isinstance(tensors, Tensor) else single(tensors)
        tensor, comm = summands(given, opts.reduceOp), self.on(given)
        kind, op = comm.reduction(opts.reduceOp, tensor.dtype)
        composition = comm.composition()
        at_root = opts.rootRank == self._rank
        source = composition.updates(tensor) if at_root else composition.reads(tensor)
        address = source.data_ptr()
        into = address if at_root else 0
        call = (REDUCE, address, into, source.numel(), kind, op, opts.rootRank)
        return comm.run(call, not opts.asyncOp, [tensor], composition)

    @untraced
    def all_gather_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Handle:
        """Gathers all ranks' tensors, one after another, into one tensor on all ranks."""
        comm = self.on(output)
        call, composition = self._gather_part(comm, output, tensor)
        return comm.run(call, waits(opts), [output], composition)

    @untraced
    def all_gather_single_coalesced(
        self, outputs: list[Tensor], tensors: list[Tensor], opts: Any = None
    ) -> Handle:
        """Several all_gather_single, one after the other."""
        comm = self._on_all(outputs)
        parts = [self._gather_part(comm, o, t) for o, t in zip(outputs, tensors, strict=True)]
        return comm.run_all(parts, waits(opts), outputs)

    def _gather_part(self, comm: Communicator, output: Tensor, tensor: Tensor) -> Part:
        output, tensor = real(output), real(tensor)
        fitting(ALL_GATHER, self._size, tensor, output)
        composition = comm.composition()
        source = composition.reads(tensor)
        buffer = composition.writes(output)
        count, kind = moved(source)
        call = (ALL_GATHER, source.data_ptr(), buffer.data_ptr(), count, kind, 0, 0)
        return call, composition

    @untraced
    def allgather(
        self, outputs: list[list[Tensor]], tensors: list[Tensor], opts: Any = None
    ) -> Handle:
        """Gathers all ranks' tensors into a list of tensors on all ranks."""
        into, tensor = single(outputs), single(tensors)
        comm = self.on(tensor)
        call, composition = self._listed_gather_part(comm, into, tensor)
        return comm.run(call, waits(opts), into, composition)

    @untraced
    def allgather_coalesced(
        self, outputs: list[list[Tensor]], tensors: list[Tensor], opts: Any = None
    ) -> Handle:
        """Several allgather, one after the other; ``outputs[r][i]`` receives rank r's tensor i."""
        columns = [list(column) for column in zip(*outputs, strict=True)]
        comm = self._on_all(tensors)
        parts = [
            self._listed_gather_part(comm, column, t)
            for column, t in zip(columns, tensors, strict=True)
        ]
        return comm.run_all(parts, waits(opts), [t for row in outputs for t in row])

    def _listed_gather_part(
        self, comm: Communicator, outputs: list[Tensor], tensor: Tensor
    ) -> Part:
        alike("all_gather", self._size, outputs, tensor)
        composition = comm.composition()
        source = composition.reads(tensor)
        into = composition.writes_in_a_row(outputs, source, self._rank)
        count, kind = moved(source)
        call = (ALL_GATHER, source.data_ptr(), into, count, kind, 0, 0)
        return call, composition

    @untraced
    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Handle:
        """Reduces over all ranks; rank r receives the r-th part."""
        if opts is None:
            opts = torch.distributed.ReduceScatterOptions()
        comm = self.on(output)
        call, composition = self._scatter_part(comm, output, tensor, opts)
        return comm.run(call, not opts.asyncOp, [output], composition)

    @untraced
    def reduce_scatter_single_coalesced(
        self, outputs: list[Tensor], tensors: list[Tensor], opts: Any = None
    ) -> Handle:
        """Several reduce_scatter_single, one after the other."""
        if opts is None:
            opts = torch.distributed.ReduceScatterOptions()
        comm = self._on_all(outputs)
        parts = [
            self._scatter_part(comm, o, t, opts) for o, t in zip(outputs, tensors, strict=True)
        ]
        return comm.run_all(parts, not opts.asyncOp, outputs)

    def _scatter_part(self, comm: Communicator, output: Tensor, tensor: Tensor, opts: Any) -> Part:
        output, tensor = real(output), summands(tensor, opts.reduceOp)
        fitting(REDUCE_SCATTER, self._size, tensor, output)
        kind, op = comm.reduction(opts.reduceOp, tensor.dtype)
        composition = comm.composition()
        source, buffer = composition.reads(tensor), composition.writes(output)
        count = buffer.numel()
        call = (REDUCE_SCATTER, source.data_ptr(), buffer.data_ptr(), count, kind, op, 0)
        return call, composition

    @untraced
    def reduce_scatter(
        self, outputs: list[Tensor], tensors: list[list[Tensor]], opts: Any = None
    ) -> Handle:
        """Reduces a list of tensors over all ranks; rank r receives the r-th."""
        output, inputs = single(outputs), single(tensors)
        if opts is None:
            opts = torch.distributed.ReduceScatterOptions()
        alike("reduce_scatter", self._size, inputs, output)
        into, parts = real(output), [summands(tensor, opts.reduceOp) for tensor in inputs]
        comm = self.on(output)
        kind, op = comm.reduction(opts.reduceOp, into.dtype)
        composition = comm.composition()
        buffer = composition.writes(into)
        source = composition.reads_in_a_row(parts, buffer, self._rank)
        call = (REDUCE_SCATTER, source, buffer.data_ptr(), buffer.numel(), kind, op, 0)
        return comm.run(call, not opts.asyncOp, [output], composition)

    # From one rank, to one rank, and from each to each.

    @untraced
    def gather(
        self, outputs: list[list[Tensor]], tensors: list[Tensor], opts: Any = None
    ) -> Handle:
        """Gathers all ranks' tensors into a list of tensors on the root."""
        return composed.gather(self, outputs[0] if outputs else [], single(tensors), opts)

    @untraced
    def gather_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Handle:
        """Gathers all ranks' tensors, one after another, into one tensor on the root."""
        return composed.gather_single(self, output, tensor, opts)

    @untraced
    def scatter(
        self, outputs: list[Tensor], tensors: list[list[Tensor]], opts: Any = None
    ) -> Handle:
        """Hands the root's list of tensors out to the ranks."""
        return composed.scatter(self, single(outputs), tensors[0] if tensors else [], opts)

    @untraced
    def alltoall(self, outputs: list[Tensor], tensors: list[Tensor], opts: Any = None) -> Handle:
        """Sends tensor r to rank r and receives one from each rank."""
        return composed.alltoall(self, outputs, tensors, opts)

    @untraced
    def all_to_all_single(
        self,
        output: Tensor,
        tensor: Tensor,
        output_sizes: list[int],
        input_sizes: list[int],
        opts: Any = None,
    ) -> Handle:
        """Sends part r of a tensor to rank r; sizes are in rows, empty lists mean equal parts."""
        return composed.all_to_all_single(self, output, tensor, output_sizes, input_sizes, opts)

    # Point to point.

    @untraced
    def send(self, tensors: list[Tensor], peer: int, tag: int = 0) -> Handle:
        """Starts to send a tensor. Sends and receives match by order alone, not by tag."""
        tensor = single(tensors)
        comm = self._for_transfer(tensor)
        composition = comm.transfer()
        # The caller must not change a tensor while it is being sent, so it may be copied now.
        source = resolved(checked(tensor, tensor.device)).contiguous()
        composition.kept.append(source)
        count, kind = moved(source)
        call = (SEND, source.data_ptr(), 0, count, kind, 0, peer)
        return comm.run(call, False, [tensor], composition)

    @untraced
    def recv(self, tensors: list[Tensor], peer: int, tag: int = 0) -> Handle:
        """Starts to receive a tensor. Sends and receives match by order alone, not by tag."""
        tensor = single(tensors)
        comm = self._for_transfer(tensor)
        composition = comm.transfer()
        buffer = composition.writes(tensor)
        count, kind = moved(buffer)
        call = (RECV, 0, buffer.data_ptr(), count, kind, 0, peer)
        return comm.run(call, False, [tensor], composition, peer)

    @untraced
    def recv_anysource(self, tensors: list[Tensor], tag: int = 0) -> Handle:
        """Not supported: raises ValueError."""
        raise ValueError(
            "jccl receives from a named rank (src=...): NCCL cannot receive from any source"
        )

    @untraced
    def _start_coalescing(self, device: torch.device | None = None) -> None:
        """Makes the calling thread's operations from here on one batch. They start as always."""
        if device is None or device.type == "cpu":
            self._comm.begin_batch()
        else:
            self._devices.begin_batch()

    @untraced
    def _end_coalescing(self, device: torch.device | None = None) -> Handle:
        """The handle of the batch: over when all its operations are."""
        on_host = device is None or device.type == "cpu"
        handle: Handle = self._comm.end_batch() if on_host else self._devices.end_batch()
        return handle

    # Barriers.

    @untraced
    def barrier(self, opts: Any = None) -> Handle:
        """Ends on no rank before it has begun on all ranks: an all-reduce of 4 bytes.

        If the group has operations on a GPU, the host waits for them first.
        """
        self._devices.synchronize()
        address = self._token.data_ptr()
        call = (ALL_REDUCE, address, address, 1, INT32, 0, 0)
        run = self._comm.run
        if profiler._is_profiler_enabled:
            run = partial(self._comm.record, "barrier")
        return run(call, waits(opts), [])

    @untraced
    def monitored_barrier(
        self, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
    ) -> None:
        """A barrier over the store that names the ranks that did not come.

        Raises:
            DistBackendError: ranks did not come in time. Rank 0 names them; the other ranks repeat
                what it says.
        """
        if timeout is None:
            timeout = self._backend.timeout
        elif not isinstance(timeout, timedelta):
            timeout = timedelta(seconds=timeout)
        self._monitored.run(timeout, wait_all_ranks)

    # Life cycle.

    @untraced
    def connect(self, device: torch.device) -> None:
        """Makes the communicator of the ranks' GPUs now; all ranks must call it."""
        self._devices.communicator(device)

    @untraced
    def set_timeout(self, timeout: timedelta) -> None:
        """Sets the time limit of operations that start from now on."""
        self._comm.set_timeout(timeout)
        self._backend.timeout = timeout
        self._devices.set_timeout(timeout)

    def splitGroup(  # noqa: N802
        self,
        ranks: list[int],
        timeout: timedelta | None = None,
        opts: Any = None,
        group_name: str | None = None,
        group_desc: str | None = None,
        devices: Any = None,
    ) -> ProcessGroup | None:
        """Splits the communicator; every rank must call it.

        Args:
            ranks: ranks of this group, in the order that they have in the new group.
            timeout: time limit of the new group's operations; None means this group's.
            opts: ignored; this backend has none.
            group_name: name of the new group.
            group_desc: description of the new group.
            devices: torch's choice of devices; the new group uses those of its tensors.

        Returns:
            The new group, or None on ranks that are not in it.
        """
        return creation.split(self, ranks, timeout, group_name, group_desc)

    @untraced
    def shutdown(self) -> None:
        """Waits for the operations in flight, then ends the communicator."""
        self._living.discard(self)
        self._devices.shutdown()
        self._comm.shutdown()

    @untraced
    def abort(self) -> None:
        """Ends the communicator at once."""
        self._living.discard(self)
        self._devices.abort()
        self._comm.abort()

    @untraced
    def _get_sequence_number_for_group(self) -> int:
        return creation.collectives_so_far(self._comm)

    @untraced
    def _set_sequence_number_for_group(self) -> None:
        """Does nothing: the communicator counts its calls from its beginning."""

    # Names that C++ callers use, and those of torch before 2.13.
    recvAnysource = recv_anysource  # noqa: N815
    start_coalescing = _start_coalescing
    end_coalescing = _end_coalescing
    _allgather_base = all_gather_single
    _reduce_scatter_base = reduce_scatter_single
    alltoall_base = all_to_all_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
