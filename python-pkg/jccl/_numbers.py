"""The numbers of results, operations, types and reductions, and the bytes of each type."""

from typing import Final

# numbers written by NumbersTest from org.jccl.type
SUCCESS: Final = 0
UNHANDLED_CUDA_ERROR: Final = 1
SYSTEM_ERROR: Final = 2
INTERNAL_ERROR: Final = 3
INVALID_ARGUMENT: Final = 4
INVALID_USAGE: Final = 5
REMOTE_ERROR: Final = 6
IN_PROGRESS: Final = 7
TIMEOUT: Final = 8

BROADCAST: Final = 0
REDUCE: Final = 1
ALL_GATHER: Final = 2
REDUCE_SCATTER: Final = 3
ALL_REDUCE: Final = 4
SEND: Final = 6
RECV: Final = 7
ALL_TO_ALL: Final = 8
SCATTER: Final = 9
GATHER: Final = 10

INT8: Final = 0
UINT8: Final = 1
INT32: Final = 2
UINT32: Final = 3
INT64: Final = 4
UINT64: Final = 5
FLOAT16: Final = 6
FLOAT32: Final = 7
FLOAT64: Final = 8
BFLOAT16: Final = 9
FLOAT8E4M3: Final = 10
FLOAT8E5M2: Final = 11

SUM: Final = 0
PROD: Final = 1
MAX: Final = 2
MIN: Final = 3
AVG: Final = 4

TYPE_BYTES: Final = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
# numbers end here
