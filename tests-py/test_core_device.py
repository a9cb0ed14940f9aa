"""Communicators of a GPU in jccl.core, over a binding without a library."""

from __future__ import annotations

import numpy
import pytest
from fake import NRANKS, RANK, FakeBinding
from jccl.core import SUM, Communicator, NcclInvalid, get_unique_id


@pytest.fixture
def comm(fake: FakeBinding) -> Communicator:
    return Communicator.init(NRANKS, RANK, get_unique_id())


class OnAGpu:
    """Memory of a GPU, which says so in the way of Numba and CuPy."""

    def __init__(self, address: int, count: int) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (count,),
            "typestr": "<f4",
            "data": (address, False),
        }


class AStream:
    """A stream of CUDA's own Python."""

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 77


def test_a_communicator_of_a_gpu_takes_its_memory_and_streams(
    fake: FakeBinding, comm: Communicator
) -> None:
    x = OnAGpu(0x5000, 6)
    with pytest.raises(NcclInvalid, match=r"CUDA memory.*host communicator.*\(allreduce, rank 1\)"):
        comm.allreduce(x, x, SUM)
    fake.answers["comm_cu_device"] = (0, 2)
    comm = Communicator(0x2000)
    comm.allreduce(x, OnAGpu(0x6000, 6), SUM, stream=AStream())
    assert fake.last("all_reduce") == (0x5000, 0x6000, 6, 7, 0, 0x2000, 77)
    comm.send(x, 0)
    assert fake.last("send") == (0x5000, 6, 7, 0, 0x2000, 0)
    for host in (numpy.zeros(6, "float32"), bytearray(6)):
        with pytest.raises(NcclInvalid, match="a communicator of a GPU takes buffers of that GPU"):
            comm.allreduce(host, x, SUM)
    with pytest.raises(NcclInvalid, match="pass the number of a stream"):
        comm.allreduce(x, x, SUM, stream="7")
