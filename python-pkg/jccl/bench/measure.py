"""Measuring one size.

All ranks of a benchmark run on one machine, so their clocks agree. A call's time is the span from
when the last rank enters it until the last rank has left it. So it does not include writing the
inputs before and reading the outputs after, although their effect on the caches stays. The figure
of a row is the median over the iterations.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy

from jccl.bench.operations import Array, Call, Measured, decoded, encoded, sample, storage
from jccl.core import Communicator, NcclDataType, NcclRedOp
from jccl.core.errors import check

_LINE_BYTES = 64


@dataclass(frozen=True)
class Plan:
    """The measurement of each size.

    Attributes:
        measured: the operation.
        dtype: the data type.
        op: the reduction.
        number: the reduction's number in calls.
        factor: the factor by which the reduction multiplies inputs.
        root: the root, if the operation has one.
        touched: whether to write inputs before and read outputs after each call.
        iters: the number of measured calls; None: chosen by size.
        warmup: the number of calls before them; None: as many as are measured.
    """

    measured: Measured
    dtype: NcclDataType
    op: NcclRedOp
    number: int
    factor: int
    root: int
    touched: bool
    iters: int | None
    warmup: int | None


@dataclass(frozen=True)
class Times:
    """Figures of one size in one form (in place or not).

    Attributes:
        median_us: median time of a call.
        mean_us: mean.
        min_us: smallest.
        wrong: number of wrong elements on all ranks.
    """

    median_us: float
    mean_us: float
    min_us: float
    wrong: int


class Buffers:
    """Input and output of one rank, apart or in place."""

    def __init__(self, plan: Plan, elements: int, comm: Communicator, in_place: bool) -> None:
        layout = plan.measured.layout(elements, comm.rank, comm.nranks)
        kind = storage(plan.dtype)
        if in_place:
            whole = numpy.zeros(max(layout.send, layout.recv), kind)
            self.send = whole[layout.in_place_send :][: layout.send]
            self.recv = whole[layout.in_place_recv :][: layout.recv]
        else:
            self.send = numpy.zeros(layout.send, kind)
            self.recv = numpy.zeros(layout.recv, kind)
        self.call = Call(
            layout.count,
            int(plan.dtype),
            plan.number,
            plan.root,
            comm.ptr,
            comm.rank,
            comm.nranks,
        )
        # One element of every cache line brings the line into this core's cache.
        step = max(1, _LINE_BYTES // kind.itemsize)
        self.written = self.send[::step]
        self.read = self.recv[::step]

    def bound(self, plan: Plan, comm: Communicator) -> Callable[[], int]:
        """A function that makes the call once and returns its code."""
        send, recv = self.send.ctypes.data, self.recv.ctypes.data
        return plan.measured.bound(comm._library, send, recv, self.call)


def default_iters(size: int) -> int:
    """How often to repeat a call of ``size`` bytes."""
    if size <= 1 << 16:
        return 1000
    return 200 if size <= 1 << 20 else 20


def measure(plan: Plan, size: int, comm: Communicator, in_place: bool) -> Times:
    """Measures and checks calls on buffers of ``size`` bytes. All ranks must call it."""
    buffers = Buffers(plan, size // plan.dtype.itemsize, comm, in_place)
    iters = default_iters(size) if plan.iters is None else plan.iters
    warmup = iters if plan.warmup is None else plan.warmup
    _repeat(plan, buffers, comm, warmup)
    gc.disable()
    try:
        own = _repeat(plan, buffers, comm, iters)
    finally:
        gc.enable()
    stamps = numpy.empty((comm.nranks, 2, iters), "int64")
    comm.allgather(own, stamps)
    spans = (stamps[:, 1].max(axis=0) - stamps[:, 0].max(axis=0)) / 1000
    return Times(
        float(numpy.median(spans)),
        float(spans.mean()),
        float(spans.min()),
        _wrong(plan, buffers, comm),
    )


def _repeat(plan: Plan, buffers: Buffers, comm: Communicator, times: int) -> Array:
    """Calls ``times`` times; returns when this rank entered and left each call, in ns."""
    run = buffers.bound(plan, comm)
    clock = time.monotonic_ns
    stamps = numpy.zeros((2, times), "int64")
    entered, left = stamps
    for i in range(times):
        if plan.touched:
            buffers.written.fill(i & 1)
        start = clock()
        code = run()
        end = clock()
        if code:
            check(code)
        if plan.touched:
            buffers.read.sum()
        entered[i] = start
        left[i] = end
    return stamps


def _wrong(plan: Plan, buffers: Buffers, comm: Communicator) -> int:
    """Calls once on known inputs and counts the wrong elements of all ranks."""
    count = buffers.send.size
    samples = [sample(r, count, plan.dtype, plan.op) for r in range(comm.nranks)]
    inputs = [decoded(each, plan.dtype) for each in samples]
    buffers.recv.fill(99)
    buffers.send[:] = samples[comm.rank]
    check(buffers.bound(plan, comm)())
    if plan.measured.operation.reduces:
        inputs = [each * each.dtype.type(plan.factor) for each in inputs]
    right = plan.measured.expected(inputs, comm.rank, plan.op, plan.root)
    differing = 0
    if right is not None:
        differing = int(numpy.count_nonzero(buffers.recv != encoded(right, plan.dtype)))
    wrong = numpy.array([differing], "int64")
    comm.allreduce(wrong, wrong, 0)
    return int(wrong[0])
