"""NCCL's data types, reductions and result codes under nccl4py's names."""

from __future__ import annotations

import enum
import operator
from typing import TYPE_CHECKING, Any

from jccl import _numbers

if TYPE_CHECKING:
    import numpy

# numpy's, ml_dtypes' and torch's names; bool travels as UINT8 and cannot be reduced by SUM and AVG.
BY_NAME = {
    "bool": _numbers.UINT8,
    "int8": _numbers.INT8,
    "uint8": _numbers.UINT8,
    "int32": _numbers.INT32,
    "uint32": _numbers.UINT32,
    "int64": _numbers.INT64,
    "uint64": _numbers.UINT64,
    "float16": _numbers.FLOAT16,
    "float32": _numbers.FLOAT32,
    "float64": _numbers.FLOAT64,
    "bfloat16": _numbers.BFLOAT16,
    "float8_e4m3fn": _numbers.FLOAT8E4M3,
    "float8_e5m2": _numbers.FLOAT8E5M2,
}

#: By number, how the module struct writes an element, where it can.
STRUCT_FORMATS = {
    _numbers.INT8: "b",
    _numbers.UINT8: "B",
    _numbers.INT32: "i",
    _numbers.UINT32: "I",
    _numbers.INT64: "q",
    _numbers.UINT64: "Q",
    _numbers.FLOAT16: "e",
    _numbers.FLOAT32: "f",
    _numbers.FLOAT64: "d",
}


class NcclInvalid(Exception):  # noqa: N818 (nccl4py's name)
    """An argument that JCCL refuses before the library is called.

    Attributes:
        msg: the sentence that says what is wrong.
    """

    def __init__(self, msg: str) -> None:
        super().__init__(msg)
        self.msg = msg


class Result(enum.IntEnum):
    """``ncclResult_t``."""

    Success = _numbers.SUCCESS
    UnhandledCudaError = _numbers.UNHANDLED_CUDA_ERROR
    SystemError = _numbers.SYSTEM_ERROR
    InternalError = _numbers.INTERNAL_ERROR
    InvalidArgument = _numbers.INVALID_ARGUMENT
    InvalidUsage = _numbers.INVALID_USAGE
    RemoteError = _numbers.REMOTE_ERROR
    InProgress = _numbers.IN_PROGRESS
    Timeout = _numbers.TIMEOUT


class NcclDataType(enum.IntEnum):
    """``ncclDataType_t``. ``NcclDataType(x)`` accepts all that ``numpy.dtype()`` understands."""

    INT8 = _numbers.INT8
    CHAR = _numbers.INT8
    UINT8 = _numbers.UINT8
    INT32 = _numbers.INT32
    INT = _numbers.INT32
    UINT32 = _numbers.UINT32
    INT64 = _numbers.INT64
    UINT64 = _numbers.UINT64
    FLOAT16 = _numbers.FLOAT16
    HALF = _numbers.FLOAT16
    FLOAT32 = _numbers.FLOAT32
    FLOAT = _numbers.FLOAT32
    FLOAT64 = _numbers.FLOAT64
    DOUBLE = _numbers.FLOAT64
    BFLOAT16 = _numbers.BFLOAT16
    FLOAT8E4M3 = _numbers.FLOAT8E4M3
    FLOAT8E5M2 = _numbers.FLOAT8E5M2

    if TYPE_CHECKING:

        def __new__(cls, value: Any) -> NcclDataType: ...  # noqa: D102

    @classmethod
    def _missing_(cls, value: object) -> NcclDataType | None:
        name = value if isinstance(value, str) else getattr(value, "name", None)
        if isinstance(name, str) and name in BY_NAME:
            return cls(BY_NAME[name])
        if isinstance(value, int):
            return None
        return cls.from_numpy_dtype(value)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return _numbers.TYPE_BYTES[self]

    @property
    def numpy_dtype(self) -> numpy.dtype[Any]:
        """The numpy type; bfloat16 and the 8-bit floats need ml_dtypes.

        Raises:
            NcclInvalid: if ml_dtypes is needed and not installed.
        """
        import numpy

        names = {number: name for name, number in BY_NAME.items()}
        name = names[int(self)]
        if self < NcclDataType.BFLOAT16:
            return numpy.dtype(name)
        try:
            import ml_dtypes  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError:
            raise NcclInvalid(f"numpy has no type for {self.name}: install ml_dtypes") from None
        scalar: type[Any] = getattr(ml_dtypes, name)
        return numpy.dtype(scalar)

    @classmethod
    def from_numpy_dtype(cls, dtype: object) -> NcclDataType:
        """The data type of ``numpy.dtype(dtype)``; bool is UINT8.

        Raises:
            NcclInvalid: if NCCL has no such type.
        """
        import numpy

        try:
            resolved = numpy.dtype(dtype)  # type: ignore[call-overload]
        except TypeError as e:
            raise NcclInvalid(f"{dtype!r} is not a data type: {e}") from None
        if not resolved.isnative:
            raise NcclInvalid(f"elements of type {resolved.str} have a foreign byte order")
        number = BY_NAME.get(resolved.name)
        if number is None:
            raise NcclInvalid(f"NCCL has no data type for elements of type {resolved.name}")
        return cls(number)


class NcclRedOp(enum.IntEnum):
    """``ncclRedOp_t``."""

    SUM = _numbers.SUM
    PROD = _numbers.PROD
    MAX = _numbers.MAX
    MIN = _numbers.MIN
    AVG = _numbers.AVG


def redop(op: object) -> int:
    """The number of a reduction.

    Raises:
        NcclInvalid: if ``op`` is not a reduction.
    """
    if not hasattr(op, "__index__"):
        raise NcclInvalid(f"op is {op!r}: pass SUM, PROD, MAX, MIN, AVG or a CustomRedOp")
    return operator.index(op)


class CTAPolicy(enum.IntFlag):
    """``NCCL_CTA_POLICY_*``. Accepted, but without effect on host ranks."""

    DEFAULT = 0
    EFFICIENCY = 1
    ZERO = 2


class CommShrinkFlag(enum.IntEnum):
    """``NCCL_SHRINK_*``."""

    DEFAULT = 0
    ABORT = 1


class CommSuspendFlag(enum.IntFlag):
    """``NCCL_SUSPEND_*``."""

    MEM = 1


class NcclCommMemStat(enum.IntEnum):
    """``ncclCommMemStat_t``."""

    GPU_MEM_SUSPEND = 0
    GPU_MEM_SUSPENDED = 1
    GPU_MEM_PERSIST = 2
    GPU_MEM_TOTAL = 3


INT8 = CHAR = NcclDataType.INT8
UINT8 = NcclDataType.UINT8
INT32 = INT = NcclDataType.INT32
UINT32 = NcclDataType.UINT32
INT64 = NcclDataType.INT64
UINT64 = NcclDataType.UINT64
FLOAT16 = HALF = NcclDataType.FLOAT16
FLOAT32 = FLOAT = NcclDataType.FLOAT32
FLOAT64 = DOUBLE = NcclDataType.FLOAT64
BFLOAT16 = NcclDataType.BFLOAT16
FLOAT8E4M3 = NcclDataType.FLOAT8E4M3
FLOAT8E5M2 = NcclDataType.FLOAT8E5M2
SUM = NcclRedOp.SUM
PROD = NcclRedOp.PROD
MAX = NcclRedOp.MAX
MIN = NcclRedOp.MIN
AVG = NcclRedOp.AVG
