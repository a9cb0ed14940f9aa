"""NCCL's data types, reductions and result codes under nccl4py's names."""

from __future__ import annotations

import enum
import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

_ITEM_SIZES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)

# numpy's and ml_dtypes' names; bool travels as UINT8, and is not reduced by SUM and AVG.
_BY_NAME = {
    "bool": 1,
    "int8": 0,
    "uint8": 1,
    "int32": 2,
    "uint32": 3,
    "int64": 4,
    "uint64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "bfloat16": 9,
    "float8_e4m3fn": 10,
    "float8_e5m2": 11,
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

    Success = 0
    UnhandledCudaError = 1
    SystemError = 2
    InternalError = 3
    InvalidArgument = 4
    InvalidUsage = 5
    RemoteError = 6
    InProgress = 7
    Timeout = 8


class NcclDataType(enum.IntEnum):
    """``ncclDataType_t``. Also made from anything that ``numpy.dtype()`` understands."""

    INT8 = 0
    CHAR = 0
    UINT8 = 1
    INT32 = 2
    INT = 2
    UINT32 = 3
    INT64 = 4
    UINT64 = 5
    FLOAT16 = 6
    HALF = 6
    FLOAT32 = 7
    FLOAT = 7
    FLOAT64 = 8
    DOUBLE = 8
    BFLOAT16 = 9
    FLOAT8E4M3 = 10
    FLOAT8E5M2 = 11

    if TYPE_CHECKING:

        def __new__(cls, value: Any) -> NcclDataType: ...  # noqa: D102

    @classmethod
    def _missing_(cls, value: object) -> NcclDataType | None:
        name = value if isinstance(value, str) else getattr(value, "name", None)
        if isinstance(name, str) and name in _BY_NAME:
            return cls(_BY_NAME[name])
        if isinstance(value, int):
            return None
        return cls.from_numpy_dtype(value)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return _ITEM_SIZES[self]

    @property
    def numpy_dtype(self) -> numpy.dtype[Any]:
        """The numpy type; bfloat16 and the 8-bit floats need ml_dtypes.

        Raises:
            NcclInvalid: if ml_dtypes is needed and not installed.
        """
        import numpy

        names = {number: name for name, number in _BY_NAME.items()}
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
        number = _BY_NAME.get(resolved.name)
        if number is None:
            raise NcclInvalid(f"NCCL has no data type for elements of type {resolved.name}")
        return cls(number)


class NcclRedOp(enum.IntEnum):
    """``ncclRedOp_t``."""

    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    AVG = 4


def redop(op: object) -> int:
    """The number of a reduction.

    Raises:
        NcclInvalid: if it is none.
    """
    if not hasattr(op, "__index__"):
        raise NcclInvalid(f"op is {op!r}: SUM, MAX, MIN or AVG is meant")
    return operator.index(op)


class CTAPolicy(enum.IntFlag):
    """``NCCL_CTA_POLICY_*``. Accepted; without meaning on host ranks."""

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
