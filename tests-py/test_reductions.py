"""Reductions with a factor, through jccl.core."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from harness import Rank, run_ranks
from jccl.core import (
    Communicator,
    CustomRedOp,
    NcclDataType,
    NCCLError,
    NcclInvalid,
    group,
)

COUNT = 1000
TYPES: dict[NcclDataType, Any] = {
    NcclDataType.INT8: numpy.int8,
    NcclDataType.UINT8: numpy.uint8,
    NcclDataType.INT32: numpy.int32,
    NcclDataType.UINT32: numpy.uint32,
    NcclDataType.INT64: numpy.int64,
    NcclDataType.UINT64: numpy.uint64,
    NcclDataType.FLOAT16: numpy.float16,
    NcclDataType.FLOAT32: numpy.float32,
    NcclDataType.FLOAT64: numpy.float64,
}
NARROW = (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)


def every_type(rank: Rank) -> None:
    comm, total = rank.comm(), sum(range(1, rank.nranks + 1))
    for kind, dtype in TYPES.items():
        with_factor(comm, comm.create_pre_mul_sum(rank.rank + 1, kind), dtype, total)
    for dtype in (*TYPES.values(), *NARROW):
        factor = numpy.array([rank.rank + 1]).astype(dtype)
        with_factor(comm, comm.create_pre_mul_sum(factor), dtype, total)
    comm.destroy()


def with_factor(comm: Communicator, op: CustomRedOp, dtype: Any, total: int) -> None:
    send = (numpy.arange(COUNT) % 3).astype(dtype)
    recv = numpy.zeros(COUNT, dtype)
    comm.allreduce(send, recv, op)
    assert (recv == (send.astype(int) * total).astype(dtype)).all(), dtype
    part = numpy.zeros(COUNT // comm.nranks, dtype)
    with group():
        comm.reduce_scatter(send[: len(part) * comm.nranks], part, op)
        comm.reduce(send, send, op, 0)
        op.close()
    begin = len(part) * comm.rank
    assert (part == recv[begin : begin + len(part)]).all(), dtype
    assert (send == (recv if comm.rank == 0 else (numpy.arange(COUNT) % 3).astype(dtype))).all()
    assert not op.is_valid
    with pytest.raises(NCCLError, match="was destroyed"):
        comm.allreduce(send, recv, op)


@pytest.mark.parametrize("nranks", [1, 3])
def test_each_rank_multiplies_by_its_factor(nranks: int) -> None:
    run_ranks(every_type, nranks)


def refusals(rank: Rank) -> None:
    comm = rank.comm()
    for scalar, datatype, sentence in (
        (2.0, None, "pass datatype"),
        (2.5, NcclDataType.INT32, "no INT32"),
        (300, NcclDataType.UINT8, "no UINT8"),
        (2.0, NcclDataType.BFLOAT16, "pass an array of one element"),
        (numpy.zeros(0, "f4"), None, "0 elements"),
        (numpy.ones(2, "f4"), None, "2 elements of FLOAT32: pass one element"),
        (numpy.ones(1, "f4"), NcclDataType.FLOAT64, "one element of FLOAT64"),
        ("two", NcclDataType.FLOAT32, "scalar"),
    ):
        with pytest.raises(NcclInvalid, match=sentence):
            comm.create_pre_mul_sum(scalar, datatype)
    op = comm.create_pre_mul_sum(2.0, NcclDataType.FLOAT32)
    x = numpy.ones(3, "i4")
    with pytest.raises(NCCLError, match="created for ncclFloat32, not for ncclInt32"):
        comm.allreduce(x, x, op)
    with pytest.raises(NcclInvalid, match="op is a CustomRedOp and the elements are bool"):
        comm.allreduce(numpy.ones(3, bool), numpy.ones(3, bool), op)
    with pytest.raises(NcclInvalid, match="op is a CustomRedOp and the elements are bool"):
        comm.allreduce(numpy.ones(3, bool), numpy.ones(3, bool), op=op.op)
    comm.destroy()
    op.close()


def test_what_is_no_factor_is_refused() -> None:
    run_ranks(refusals, 1)
