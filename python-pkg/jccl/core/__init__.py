"""Communicators for host buffers, with the names of nccl4py's ``nccl.core``.

comm = jccl.core.Communicator.from_env()
comm.allreduce(x, x, jccl.core.SUM)
"""

from __future__ import annotations

from dataclasses import dataclass

from jccl._version import package_version, show_versions
from jccl.bindings import load
from jccl.core.buffers import Buffer, resolve
from jccl.core.communicator import SPLIT_NOCOLOR, Communicator
from jccl.core.config import NCCLConfig
from jccl.core.errors import NCCLError, check, get_error_string
from jccl.core.group import GroupSimInfo, group, group_end, group_start
from jccl.core.memory import Memory, mem_alloc, mem_free
from jccl.core.reductions import CustomRedOp
from jccl.core.types import (
    AVG,
    BFLOAT16,
    CHAR,
    DOUBLE,
    FLOAT,
    FLOAT8E4M3,
    FLOAT8E5M2,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    HALF,
    INT,
    INT8,
    INT32,
    INT64,
    MAX,
    MIN,
    PROD,
    SUM,
    UINT8,
    UINT32,
    UINT64,
    CommShrinkFlag,
    CommSuspendFlag,
    CTAPolicy,
    NcclCommMemStat,
    NcclDataType,
    NcclInvalid,
    NcclRedOp,
    Result,
)
from jccl.core.unique_id import UNIQUE_ID_BYTES, UniqueId, get_unique_id

__version__ = package_version()


@dataclass(frozen=True)
class VersionInfo:
    """The versions of JCCL's parts.

    Attributes:
        jccl: the Python package.
        library: the native library; None if it is missing.
        nccl: the NCCL version whose API the library has, such as "2.32.3"; None without a library.
    """

    jccl: str
    library: str | None
    nccl: str | None


def get_version() -> VersionInfo:
    """The versions of the package, the library and the API. It starts no JVM."""
    try:
        binding = load()
    except ImportError:
        return VersionInfo(__version__, None, None)
    code, number = binding.get_version()
    check(code)
    api = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    return VersionInfo(__version__, binding.version_string(), api)


__all__ = [
    "AVG",
    "BFLOAT16",
    "CHAR",
    "DOUBLE",
    "FLOAT",
    "FLOAT8E4M3",
    "FLOAT8E5M2",
    "FLOAT16",
    "FLOAT32",
    "FLOAT64",
    "HALF",
    "INT",
    "INT8",
    "INT32",
    "INT64",
    "MAX",
    "MIN",
    "PROD",
    "SPLIT_NOCOLOR",
    "SUM",
    "UINT8",
    "UINT32",
    "UINT64",
    "UNIQUE_ID_BYTES",
    "Buffer",
    "CTAPolicy",
    "CommShrinkFlag",
    "CommSuspendFlag",
    "Communicator",
    "CustomRedOp",
    "GroupSimInfo",
    "Memory",
    "NCCLConfig",
    "NCCLError",
    "NcclCommMemStat",
    "NcclDataType",
    "NcclInvalid",
    "NcclRedOp",
    "Result",
    "UniqueId",
    "VersionInfo",
    "__version__",
    "get_error_string",
    "get_unique_id",
    "get_version",
    "group",
    "group_end",
    "group_start",
    "mem_alloc",
    "mem_free",
    "resolve",
    "show_versions",
]
