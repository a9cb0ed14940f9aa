"""Memory of the library: mem_alloc and mem_free."""

from __future__ import annotations

import gc

import numpy
import pytest
from fake import FakeBinding
from jccl.core import (
    SUM,
    Communicator,
    NCCLError,
    NcclInvalid,
    get_unique_id,
    mem_alloc,
    mem_free,
)


def test_memory_is_zeroed_and_stands_where_buffers_stand() -> None:
    memory, other = mem_alloc(4096), mem_alloc(16)
    assert memory.is_valid
    assert memory.handle
    assert memory.size == 4096
    floats = numpy.asarray(memory).view("float32")
    assert not floats.any()
    floats[:] = 2
    with Communicator.init(1, 0, get_unique_id()) as comm:
        comm.allreduce(floats[:4], numpy.asarray(other).view("float32"), SUM)
        comm.broadcast(other, other, 0)
    assert numpy.asarray(other).view("float32").tolist() == [2] * 4
    mem_free(memory)
    other.close()
    other.close()
    assert not memory.is_valid
    with pytest.raises(NcclInvalid, match="has been freed"):
        numpy.asarray(memory)


def test_no_bytes_have_no_address() -> None:
    memory = mem_alloc(0)
    assert (memory.handle, memory.size) == (0, 0)
    mem_free(memory)


def test_what_cannot_be_allocated_is_refused() -> None:
    with pytest.raises(OverflowError, match="size is -1"):
        mem_alloc(-1)
    with pytest.raises(NCCLError, match="more than a process can have"):
        mem_alloc(2**63)
    with pytest.raises(NcclInvalid, match="where JCCL_DEVICE says, not on 0"):
        mem_alloc(16, 0)  # type: ignore[arg-type]


def test_memory_is_freed_when_no_array_in_it_is_left(fake: FakeBinding) -> None:
    fake.answers["mem_alloc"] = (0, 64)
    memory = mem_alloc(16)
    interface = memory.__array_interface__
    assert interface["data"] == (64, False)
    del memory
    gc.collect()
    assert fake.last("mem_free") == (64,)


@pytest.mark.parametrize("device", [None, " ", "host", "cuda", "cuda:1"])
def test_memory_of_a_gpu_is_not_offered_to_numpy(
    fake: FakeBinding, monkeypatch: pytest.MonkeyPatch, device: str | None
) -> None:
    fake.answers["mem_alloc"] = (0, 64)
    monkeypatch.delenv("JCCL_DEVICE", raising=False)
    if device is not None:
        monkeypatch.setenv("JCCL_DEVICE", device)
    memory = mem_alloc(16)
    gpu = (device or "").startswith("cuda")
    assert hasattr(memory, "__cuda_array_interface__") == gpu
    assert hasattr(memory, "__array_interface__") != gpu
    offered = memory.__cuda_array_interface__ if gpu else memory.__array_interface__
    assert offered["data"] == (64, False)
    assert offered["shape"] == (16,)
    memory.close()
    with pytest.raises(NcclInvalid, match="has been freed"):
        getattr(memory, "__cuda_array_interface__" if gpu else "__array_interface__")


def test_an_array_keeps_its_memory() -> None:
    floats = numpy.asarray(mem_alloc(4096)).view("float32")
    gc.collect()
    floats[:] = 1
    assert floats.sum() == 1024
