"""Which objects are buffers, and by which sentence JCCL refuses the others."""

from __future__ import annotations

import array
import ctypes
import mmap
from typing import Any, ClassVar

import ml_dtypes
import numpy
import pytest
import torch
from fake import NRANKS, RANK, FakeBinding
from jccl.core import (
    AVG,
    MAX,
    MIN,
    SUM,
    Communicator,
    NcclDataType,
    NcclInvalid,
    NcclRedOp,
    get_unique_id,
    resolve,
)


class OnlyInterface:
    """An object that offers nothing but ``__array_interface__``."""

    def __init__(self, arr: Any, **changes: Any) -> None:
        self.owner = arr
        self.__array_interface__ = {**arr.__array_interface__, **changes}


class OnlyDLPack:
    """An object that offers nothing but DLPack."""

    def __init__(self, owner: Any, device: int | None = None) -> None:
        self.owner = owner
        self.device = device

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self.owner.__dlpack_device__()
        return (kind, number) if self.device is None else (self.device, 0)

    def __dlpack__(self, **options: Any) -> Any:
        return self.owner.__dlpack__(**options)


class OldDLPack:
    """DLPack as it was before version 1."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __dlpack_device__(self) -> Any:
        return self.owner.__dlpack_device__()

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.owner.__dlpack__()


class OnCuda:
    """Looks like cupy's arrays."""

    __cuda_array_interface__: ClassVar[Any] = {
        "shape": (4,),
        "typestr": "<f4",
        "data": (0x7000, False),
    }


NUMPY_TYPES = {
    "bool": NcclDataType.UINT8,
    "int8": NcclDataType.INT8,
    "uint8": NcclDataType.UINT8,
    "int32": NcclDataType.INT32,
    "uint32": NcclDataType.UINT32,
    "int64": NcclDataType.INT64,
    "uint64": NcclDataType.UINT64,
    "float16": NcclDataType.FLOAT16,
    "float32": NcclDataType.FLOAT32,
    "float64": NcclDataType.FLOAT64,
}


@pytest.mark.parametrize("name", NUMPY_TYPES)
def test_numpy_arrays_give_address_count_and_type(name: str) -> None:
    arr = numpy.zeros((3, 5), name)
    assert resolve(arr, "x", writable=True)[:3] == (arr.ctypes.data, 15, NUMPY_TYPES[name])


@pytest.mark.parametrize("name", NUMPY_TYPES)
def test_interface_dlpack_and_buffer_protocol_agree_with_numpy(name: str) -> None:
    arr = numpy.zeros((3, 5), name)
    expected = (arr.ctypes.data, 15, NUMPY_TYPES[name])
    for other in (OnlyInterface(arr), OnlyDLPack(arr), OldDLPack(arr), memoryview(arr.data)):
        assert resolve(other, "x", writable=True)[:3] == expected, type(other)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_narrow_floats_of_ml_dtypes_and_torch_are_known(name: str) -> None:
    arr = numpy.zeros(6, getattr(ml_dtypes, name))
    tensor = torch.zeros(6, dtype=getattr(torch, name))
    expected = NcclDataType(name)
    assert resolve(arr, "x")[:3] == (arr.ctypes.data, 6, expected)
    assert resolve(tensor, "x")[:3] == (tensor.data_ptr(), 6, expected)
    assert expected.numpy_dtype == arr.dtype


@pytest.mark.parametrize("name", NUMPY_TYPES)
def test_torch_tensors_give_address_count_and_type(name: str) -> None:
    tensor = torch.zeros(2, 3, dtype=getattr(torch, name))
    assert resolve(tensor, "x")[:3] == (tensor.data_ptr(), 6, NUMPY_TYPES[name])
    other = resolve(OnlyDLPack(tensor), "x")
    assert other[:3] == (tensor.data_ptr(), 6, NUMPY_TYPES[name])


def test_a_parameter_and_a_slice_of_a_tensor_are_buffers() -> None:
    parameter = torch.nn.Parameter(torch.zeros(8))
    assert resolve(parameter, "x").count == 8
    part = parameter.detach()[2:5]
    assert resolve(part, "x")[:2] == (parameter.data_ptr() + 8, 3)


def test_objects_of_the_standard_library_are_buffers() -> None:
    numbers = array.array("d", [1, 2, 3])
    assert resolve(numbers, "x", writable=True)[:3] == (numbers.buffer_info()[0], 3, 8)
    field = (ctypes.c_int32 * 4)()
    assert resolve(field, "x", writable=True)[:3] == (ctypes.addressof(field), 4, 2)
    assert resolve(bytearray(7), "x", writable=True)[1:3] == (7, 1)
    assert resolve(b"abc", "x")[1:3] == (3, 1)
    with mmap.mmap(-1, 4096) as mapped:
        assert resolve(mapped, "x", writable=True)[1:3] == (4096, 1)


def test_the_address_of_bytes_is_that_of_their_content() -> None:
    content = b"some content"
    assert ctypes.string_at(resolve(content, "x").ptr, len(content)) == content


@pytest.mark.parametrize(
    "empty",
    [
        numpy.zeros((0, 3), "float32"),
        torch.zeros(0),
        bytearray(),
        array.array("i"),
        OnlyDLPack(numpy.zeros((0, 3))),
        OnlyInterface(numpy.zeros((0, 3))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_empty_buffers_are_buffers(empty: Any) -> None:
    assert resolve(empty, "x", writable=True).count == 0


def test_a_scalar_array_has_one_element() -> None:
    assert resolve(numpy.float32(3), "x").count == 1
    assert resolve(numpy.zeros(()), "x").count == 1
    assert resolve(torch.tensor(1.0), "x").count == 1


def test_a_resolved_bytearray_cannot_be_resized_while_it_is_held() -> None:
    content = bytearray(8)
    held = resolve(content, "x")
    with pytest.raises(BufferError):
        content.append(1)
    del held
    content.append(1)


STRIDED = {
    "numpy": numpy.zeros(10)[::2],
    "numpy transposed": numpy.zeros((2, 3)).T,
    "numpy reversed": numpy.zeros(4)[::-1],
    "torch": torch.zeros(10)[::2],
    "torch transposed": torch.zeros(2, 3).t(),
    "memoryview": memoryview(bytearray(10))[::2],
    "dlpack": OnlyDLPack(numpy.zeros((4, 4))[:, 1:3]),
    "interface": OnlyInterface(numpy.zeros((4, 4))[:, 1:3]),
}


@pytest.mark.parametrize("name", STRIDED)
def test_strided_views_are_refused(name: str) -> None:
    with pytest.raises(NcclInvalid, match="sendbuf is not contiguous in row-major order: pass"):
        resolve(STRIDED[name], "sendbuf")


def _read_only() -> Any:
    arr = numpy.zeros(4)
    arr.flags.writeable = False
    return arr


READ_ONLY = {
    "numpy": _read_only(),
    "bytes": b"abcd",
    "memoryview": memoryview(bytearray(4)).toreadonly(),
    "interface": OnlyInterface(_read_only()),
    "dlpack": OnlyDLPack(_read_only()),
}


@pytest.mark.parametrize("name", READ_ONLY)
def test_read_only_receive_buffers_are_refused(name: str) -> None:
    assert resolve(READ_ONLY[name], "x").count == 4
    with pytest.raises(NcclInvalid, match=r"recvbuf is read-only.*: pass a writable buffer"):
        resolve(READ_ONLY[name], "recvbuf", writable=True)


UNKNOWN_TYPES = {
    "numpy int16": numpy.zeros(3, "int16"),
    "numpy complex": numpy.zeros(3, "complex64"),
    "numpy object": numpy.array([None]),
    "numpy text": numpy.array(["a"]),
    "torch int16": torch.zeros(3, dtype=torch.int16),
    "torch complex": torch.zeros(3, dtype=torch.complex64),
    "array": array.array("h", [1]),
    "interface": OnlyInterface(numpy.zeros(3, "int16")),
    "dlpack": OnlyDLPack(numpy.zeros(3, "complex64")),
}


@pytest.mark.parametrize("name", UNKNOWN_TYPES)
def test_types_that_nccl_does_not_have_are_refused(name: str) -> None:
    with pytest.raises(
        NcclInvalid, match=r"sendbuf has elements of .*NCCL has no data type: convert"
    ):
        resolve(UNKNOWN_TYPES[name], "sendbuf")


@pytest.mark.parametrize(
    "buffer",
    [
        numpy.zeros(3, ">f4"),
        OnlyInterface(numpy.zeros(3, ">f4")),
        memoryview(numpy.zeros(3, ">i4").data),
    ],
    ids=["numpy", "interface", "memoryview"],
)
def test_a_foreign_byte_order_is_refused(buffer: Any) -> None:
    with pytest.raises(NcclInvalid, match=r"foreign byte order.*: convert them"):
        resolve(buffer, "x")


@pytest.mark.parametrize(
    "buffer",
    [OnCuda(), OnlyDLPack(numpy.zeros(3), device=2), OnlyDLPack(numpy.zeros(3), device=13)],
    ids=["cuda array interface", "dlpack cuda", "dlpack managed"],
)
def test_cuda_memory_is_refused(buffer: Any) -> None:
    with pytest.raises(NcclInvalid, match=r"x is CUDA memory.*copy it to the host first"):
        resolve(buffer, "x")


def test_tensors_on_other_devices_are_refused() -> None:
    with pytest.raises(NcclInvalid, match="x is a tensor on meta"):
        resolve(torch.zeros(3, device="meta"), "x")


def test_sparse_and_lazily_negated_tensors_are_refused() -> None:
    with pytest.raises(NcclInvalid, match=r"layout torch\.sparse_coo"):
        resolve(torch.zeros(3).to_sparse(), "x")
    negated = torch.tensor([1 + 2j]).conj().imag
    with pytest.raises(NcclInvalid, match="lazily negated"):
        resolve(negated, "x")


@pytest.mark.parametrize("value", [None, 3, [1.0, 2.0], "text", object()])
def test_objects_without_memory_are_refused(value: Any) -> None:
    with pytest.raises(NcclInvalid, match=r"neither the buffer protocol nor.*: pass an array"):
        resolve(value, "x")


def test_data_types_are_made_from_what_numpy_understands() -> None:
    assert NcclDataType("float32") is NcclDataType.FLOAT32
    assert NcclDataType(numpy.float64) is NcclDataType.FLOAT64
    assert NcclDataType(numpy.dtype("bool")) is NcclDataType.UINT8
    assert NcclDataType("i4") is NcclDataType.INT32
    assert NcclDataType(7) is NcclDataType.FLOAT32
    assert NcclDataType.from_numpy_dtype(ml_dtypes.bfloat16) is NcclDataType.BFLOAT16
    with pytest.raises(NcclInvalid, match="complex64"):
        NcclDataType("complex64")
    with pytest.raises(ValueError, match="99"):
        NcclDataType(99)


@pytest.mark.parametrize("name", ["bool", "uint8"])
def test_only_bool_is_known_as_bool(name: str) -> None:
    arr, tensor = numpy.zeros(4, name), torch.zeros(4, dtype=getattr(torch, name))
    for _ in range(2):  # The second time JCCL uses what it has remembered.
        for buffer in (arr, tensor, OnlyInterface(arr), OnlyDLPack(arr), memoryview(arr.data)):
            assert resolve(buffer, "x").is_bool == (name == "bool"), type(buffer)


@pytest.mark.parametrize("name", ["allreduce", "reduce_scatter", "reduce"])
@pytest.mark.parametrize("op", [SUM, AVG, MAX, MIN])
@pytest.mark.parametrize("bools", ["both", "send", "receive", "in place"])
def test_bool_is_reduced_by_or_and_and_only(
    fake: FakeBinding, name: str, op: NcclRedOp, bools: str
) -> None:
    comm = Communicator.init(NRANKS, RANK, get_unique_id())
    send = numpy.zeros(4, "uint8" if bools == "receive" else "bool")
    recv = send if bools == "in place" else numpy.zeros(4, "uint8" if bools == "send" else "bool")
    if op in (MAX, MIN):
        getattr(comm, name)(send, recv, op)
    else:
        sentence = rf"op is {op.name} and the elements are bool.*MAX \(or\) or MIN \(and\)"
        with pytest.raises(NcclInvalid, match=rf"{sentence} \({name}, rank {RANK}\)"):
            getattr(comm, name)(send, recv, op, *([RANK] if name == "reduce" else []))
