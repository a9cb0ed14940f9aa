"""Arguments that are refused, and the errors that say so."""

from __future__ import annotations

import array
from typing import Any

import jccl.core as nccl
from jccl.bindings import load
from jccl.core import Communicator, NCCLConfig, NCCLError, NcclInvalid, Result

from contract.cases import Rank, case, raises

_TEXTS = {
    0: "no error",
    1: "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    2: "unhandled system error (run with NCCL_DEBUG=INFO for details)",
    3: "internal error - please report this issue to the NCCL developers",
    4: "invalid argument (run with NCCL_DEBUG=WARN for details)",
    5: "invalid usage (run with NCCL_DEBUG=WARN for details)",
    6: "remote process exited or there was a network error",
    7: "NCCL operation in progress",
    8: "timeout",
    9: "unknown result code",
    -1: "unknown result code",
}


def _ones(count: int = 6) -> array.array[float]:
    return array.array("f", [1.0]) * count


@case(_TEXTS)
def text_of_result(rank: Rank, code: int) -> None:
    assert load().get_error_string(code) == _TEXTS[code]


@case()
def version(rank: Rank) -> None:
    versions = nccl.get_version()
    assert versions.jccl == versions.library == nccl.__version__
    assert versions.nccl == "2.32.3"


_WRONG: dict[str, tuple[type[BaseException], str, Any]] = {
    "root": (NCCLError, "root", lambda c, x: c.broadcast(x, x, 99)),
    "negative-root": (NCCLError, "root", lambda c, x: c.broadcast(x, x, -1)),
    "peer": (NCCLError, "peer", lambda c, x: c.send(x, 99)),
    "reduction": (NCCLError, "reduction", lambda c, x: c.allreduce(x, x, 77)),
    "large-reduction": (OverflowError, "op is", lambda c, x: c.allreduce(x, x, 2**40)),
    "large-root": (OverflowError, "root is", lambda c, x: c.broadcast(x, x, 2**32)),
    "large-color": (OverflowError, "color is", lambda c, x: c.split(2**32)),
    "no-reduction": (NcclInvalid, "op is", lambda c, x: c.allreduce(x, x, "sum")),
    "no-buffer": (NcclInvalid, "buffer protocol", lambda c, x: c.allreduce(object(), x, nccl.SUM)),
    "list": (NcclInvalid, "buffer protocol", lambda c, x: c.allreduce([1.0], x, nccl.SUM)),
    "none": (NcclInvalid, "buffer protocol", lambda c, x: c.allreduce(None, x, nccl.SUM)),
    "read-only": (NcclInvalid, "read-only", lambda c, x: c.allreduce(x, _read_only(x), nccl.SUM)),
    "strided": (
        NcclInvalid,
        "contiguous",
        lambda c, x: c.allreduce(memoryview(x)[::2], memoryview(x)[::2], nccl.SUM),
    ),
    "types": (
        NcclInvalid,
        "of type",
        lambda c, x: c.allreduce(x, array.array("d", [0.0] * 6), nccl.SUM),
    ),
    "element-type": (NcclInvalid, "", lambda c, x: c.allreduce(_wide(), _wide(), nccl.SUM)),
    "short": (NcclInvalid, "writes", lambda c, x: c.allreduce(x, _ones(5), nccl.SUM)),
    "short-gather": (NcclInvalid, "writes", lambda c, x: c.allgather(x, x)),
    "shares": (
        NcclInvalid,
        "cannot share",
        lambda c, x: c.reduce_scatter(_ones(3 * c.nranks + 1), x, nccl.SUM),
    ),
    "overlap": (
        NCCLError,
        "overlap",
        lambda c, x: _overlap(c, x.buffer_info()[0]),
    ),
    "stream": (NcclInvalid, "stream", lambda c, x: c.allreduce(x, x, nccl.SUM, stream=1)),
    "configuration": (
        NCCLError,
        "not done yet",
        lambda c, x: c.allreduce(x, x, nccl.SUM, config=object()),
    ),
    "factor": (NcclInvalid, "datatype", lambda c, x: c.create_pre_mul_sum(2.0)),
    "factor-type": (
        NcclInvalid,
        "is no INT32",
        lambda c, x: c.create_pre_mul_sum(2.5, nccl.INT32),
    ),
}


def _overlap(comm: Communicator, address: int) -> None:
    code = load().all_reduce(address, address + 4, 5, 7, 0, comm.ptr, 0)
    if code:
        raise NCCLError(code, load().get_last_error(0))


def _read_only(x: Any) -> Any:
    return memoryview(x).toreadonly()


def _wide() -> Any:
    return array.array("u", "abc")


@case(_WRONG)
def wrong_argument(rank: Rank, name: str) -> None:
    kind, part, call = _WRONG[name]
    x = _ones()
    raises(kind, part, call, rank.comm, x)
    assert rank.comm.get_async_error() == Result.Success
    assert x.tolist() == [1.0] * 6


_LATER: dict[str, Any] = {
    "ncclCommShrink": lambda c: c.shrink([0]),
    "ncclCommGrow": lambda c: c.grow(5),
    "ncclCommGetUniqueId": lambda c: c.get_unique_id(),
    "ncclCommRevoke": lambda c: c.revoke(),
    "ncclCommSuspend": lambda c: c.suspend(),
    "ncclCommResume": lambda c: c.resume(),
    "ncclCommMemStats": lambda c: c.get_mem_stat(0),
    "ncclGroupSimulateEnd": lambda c: _simulate(),
}


def _simulate() -> None:
    nccl.group_start()
    nccl.group_end(simulate=True)


@case(_LATER)
def not_done_yet(rank: Rank, name: str) -> None:
    raises(NCCLError, f"{name} is not done yet in JCCL", _LATER[name], rank.comm)
    assert load().group_depth() == 0


@case()
def initialization(rank: Rank) -> None:
    unique_id = nccl.get_unique_id()
    assert len(bytes(unique_id)) == 128
    assert bytes(unique_id) != bytes(nccl.get_unique_id())
    raises(NCCLError, "nranks", Communicator.init, 0, 0, unique_id)
    raises(NCCLError, "rank", Communicator.init, 2, 2, unique_id)
    raises(OverflowError, "nranks is", Communicator.init, 2**32, 0, unique_id)
    raises(NcclInvalid, "UniqueId", Communicator.init, 1, 0, "id")
    raises(NcclInvalid, "128 bytes", nccl.UniqueId.from_bytes, b"short")
    raises(NCCLError, "", Communicator.init, 1, 0, nccl.UniqueId())
    config = NCCLConfig(min_ctas=0)
    raises(NCCLError, "minCTAs", Communicator.init, 1, 0, unique_id, config)
    raises(NcclInvalid, "timeout", lambda: NCCLConfig(timeout=-1))


@case()
def use_after_the_end(rank: Rank) -> None:
    comm = Communicator.init(1, 0, nccl.get_unique_id())
    handle = comm.ptr
    comm.destroy()
    x = _ones()
    raises(NcclInvalid, "not initialized", comm.allreduce, x, x, nccl.SUM)
    lost = Communicator(handle)
    raises(NCCLError, "already been destroyed", lambda: lost.rank)
    invented = Communicator(12345)
    raises(NCCLError, "not a communicator", lambda: invented.nranks)
    assert load().comm_destroy(handle) == 4
    assert load().comm_destroy(0) == 0
    assert load().comm_count(0) == (4, 0)


@case()
def error_of_this_thread_is_shown(rank: Rank) -> None:
    raises(NCCLError, "root 55", rank.comm.broadcast, _ones(), _ones(), 55)
    assert "55" in rank.comm.get_last_error()


_NUMBERS: dict[str, tuple[type[BaseException], str, tuple[Any, ...]]] = {
    "all_reduce": (OverflowError, "datatype is", (0, 0, 0, 2**31, 0, 0, 0)),
    "reduce": (OverflowError, "send is -1", (-1, 0, 0, 0, 0, 0, 0, 0)),
    "send": (TypeError, "peer is None", (0, 0, 0, None, 0, 0)),
    "comm_split": (OverflowError, "key is", (0, 0, -(2**31) - 1, 0)),
    "comm_options": (OverflowError, "timeout_ms is", (0, 2**63)),
    "poll": (TypeError, "ms is 1.0", (0, 0, 1.0)),
    "warm": (TypeError, "takes 1 arguments, not 0", ()),
    "mem_free": (OverflowError, "ptr is", (2**64,)),
}


@case(_NUMBERS)
def number_that_does_not_fit(rank: Rank, function: str) -> None:
    kind, part, given = _NUMBERS[function]
    text = raises(kind, part, getattr(load(), function), *given)
    assert text.startswith(function)
