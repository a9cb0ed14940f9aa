"""The communicator: making it, querying it and ending it."""

from __future__ import annotations

import array
import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import NoReturn

from jccl._numbers import IN_PROGRESS, SUCCESS
from jccl.bindings import load
from jccl.core.config import CConfig, NCCLConfig
from jccl.core.errors import check
from jccl.core.held import Kept, forget_lost, held, lose
from jccl.core.rendezvous import exchange_unique_id, rank_from_environment
from jccl.core.types import NcclInvalid, Result
from jccl.core.unfinished import Unfinished
from jccl.core.unique_id import UniqueId

SPLIT_NOCOLOR = -1

# As many milliseconds as a long holds.
_LONGEST_MS = 2**63 - 1


class Communicator(Unfinished):
    """A communicator of ranks on the host, or on GPUs (``NCCLConfig.device``).

    Buffers are ordinary memory: torch CPU tensors, numpy arrays, anything with the buffer
    protocol, ``__array_interface__`` or DLPack; on GPUs see ``Operations``. The element count is
    that of the buffer: slice it to send less. On a blocking communicator a call returns when the
    operation is complete; on a non-blocking one it may still run, and the buffers are kept until
    ``get_async_error()`` is Success.

    A ``with`` block destroys it at its end, and aborts it if the block raises. An object that made
    its handle and is garbage-collected before it is destroyed gives a ResourceWarning and ends the
    communicator in the background; the peers learn that this rank has left.
    """

    # Defaults for an object whose __init__ failed.
    _ptr = 0
    # The process in which this object made its handle; 0 if the handle was made elsewhere.
    _maker = 0

    def __init__(self, ptr: int | None = None) -> None:
        """Takes over the handle ``ptr``; without one, ``initialize`` makes it."""
        self._library = load()
        self._nranks: int | None = None
        self._rank: int | None = None
        self._children = Kept()
        self._kept = Kept()
        if ptr:
            self._adopt(ptr)

    @classmethod
    def init(
        cls,
        nranks: int,
        rank: int,
        unique_id: UniqueId | Sequence[UniqueId],
        config: NCCLConfig | None = None,
    ) -> Communicator:
        """The communicator of ``nranks`` ranks that share ``unique_id``; this one is ``rank``.

        Args:
            nranks: 1 to 65,536.
            rank: 0 to nranks - 1.
            unique_id: what ``get_unique_id`` gave on one rank; it makes one communicator only. Of
                several the first counts.
            config: None for the defaults.

        Raises:
            NcclInvalid: unique_id is none.
            NCCLError: InvalidArgument for RANK_COUNT, RANK_OUTSIDE and ID_FOREIGN; InvalidUsage if
                the ranks disagree (RANKS_DISAGREE) or the id was used (ID_USED); Timeout after
                JCCL_INIT_TIMEOUT (INIT_TIMEOUT); RemoteError if a rank has gone.
        """
        comm = cls()
        comm.initialize(nranks, rank, unique_id, config)
        return comm

    @classmethod
    def init_all(cls, devices: int | Sequence[int] | None = None) -> list[Communicator]:
        """Makes all ranks of a communicator in this process.

        Args:
            devices: the number of ranks, or a list with one device number for each rank; on host
                ranks only its length matters. None means one rank.
        """
        if devices is None:
            devices = 1
        if isinstance(devices, int):
            ndev, devlist = devices, array.array("i")
        else:
            ndev, devlist = len(devices), array.array("i", devices)
        pointer = devlist.buffer_info()[0] if len(devlist) else 0
        code, handles = load().comm_init_all(ndev, pointer)
        check(code)
        comms = [cls() for _ in handles]
        for comm, handle in zip(comms, handles, strict=True):
            comm._adopt_new(handle)
        return comms

    @classmethod
    def from_env(cls, config: NCCLConfig | None = None) -> Communicator:
        """The communicator of all ranks that ``python -m jccl.run`` or torchrun started.

        It reads RANK and WORLD_SIZE; the launcher passes the id on (JCCL_STORE, or torchrun's own
        store). Every rank must call it equally often. Ranks in Java that call
        ``Communicator.fromEnvironment`` belong to it, too.

        Raises:
            NcclInvalid: if RANK and WORLD_SIZE are not set or make no sense; or, with more than
                one rank, if neither JCCL_STORE is set nor torchrun has started it, or the launcher
                does not answer.
        """
        rank, nranks = rank_from_environment()
        return cls.init(nranks, rank, exchange_unique_id(rank, nranks), config)

    def initialize(
        self,
        nranks: int,
        rank: int,
        unique_id: UniqueId | Sequence[UniqueId],
        config: NCCLConfig | None = None,
    ) -> None:
        """As ``init``, for an object made without a handle."""
        if self._ptr:
            raise NcclInvalid("Communicator is already initialized")
        ids = list(unique_id) if isinstance(unique_id, Sequence) else [unique_id]
        if not ids or not all(isinstance(i, UniqueId) for i in ids):
            raise NcclInvalid("unique_id is neither a UniqueId nor a sequence of them")
        packed = array.array("B", b"".join(bytes(i) for i in ids))
        c_config = None if config is None else CConfig(config)
        code, handle = self._library.comm_init_rank_scalable(
            nranks,
            rank,
            len(ids),
            packed.buffer_info()[0],
            0 if c_config is None else c_config.ptr,
        )
        check(code)
        with self._adopted(handle):
            self._keep_while_running(code, (packed, c_config))
            self._apply(config)

    def split(
        self, color: int | None = None, key: int = 0, config: NCCLConfig | None = None
    ) -> Communicator:
        """The communicator of the ranks with the same ``color``; all ranks must call it.

        If this communicator is non-blocking, the child is usable once ``get_async_error()`` of both
        is Success; both may be polled.

        Args:
            color: 0 or more. With None this rank gets no communicator: the result's ``is_valid`` is
                False.
            key: any int; the child's ranks are in the order of their keys, those with equal keys in
                the order of their ranks here.
            config: None for the configuration of this communicator.

        Raises:
            NCCLError: InvalidArgument for another color (SPLIT_COLOR), or while this communicator
                is busy (NOT_READY); otherwise as of ``init``.
        """
        ptr = self._require("split")
        c_config = None if config is None else CConfig(config)
        code, handle = self._library.comm_split(
            ptr,
            SPLIT_NOCOLOR if color is None else color,
            key,
            0 if c_config is None else c_config.ptr,
        )
        check(code)
        child = type(self)()
        with child._adopted(handle):
            if (
                self._library.group_depth()
                or self._library.comm_get_async_error(ptr)[1] == IN_PROGRESS
            ):
                self._children.append(child)
                self._kept.append(c_config)
            child._apply(config)
        return child

    @contextlib.contextmanager
    def _adopted(self, handle: int) -> Iterator[None]:
        """Takes over a new handle, if there is one, and aborts it if the block raises.

        The caller then gets no object by which it could end the communicator.
        """
        try:
            if handle:
                self._adopt_new(handle)
            yield
        except BaseException:
            if self._ptr:
                self._ended(self._library.comm_abort, self._ptr)
            raise

    def _adopt_new(self, handle: int) -> None:
        forget_lost(self._library.comm_drop)
        self._adopt(handle)
        self._maker = os.getpid()

    def _adopt(self, handle: int) -> None:
        self._ptr = handle
        self._kept = held.setdefault(handle, Kept())

    def _apply(self, config: NCCLConfig | None) -> None:
        if self._ptr and config is not None and config.timeout is not None:
            # A very short limit must not become 0, which means no limit.
            limit_ms = max(1, round(min(config.timeout * 1000, _LONGEST_MS)))
            limit_ms = limit_ms if config.timeout else 0
            check(self._library.comm_options(self._ptr, limit_ms))

    def finalize(self) -> None:
        """Completes queued operations; afterwards only destroy, abort and queries are possible."""
        check(self._library.comm_finalize(self._require("finalize")))

    def destroy(self) -> None:
        """Ends the communicator; waits at most 5 s for operations under way.

        Without a handle it does nothing.
        """
        if self._ptr:
            check(self._ended(self._library.comm_destroy, self._ptr))

    def abort(self) -> None:
        """Stops everything and frees the communicator within a second, whatever the peers do.

        A copy that is under way within this rank is waited for. Peers get RemoteError (ABORTED).
        """
        if self._ptr:
            check(self._ended(self._library.comm_abort, self._ptr))

    def _ended(self, end: Callable[[int], int], handle: int) -> int:
        """Ends the communicator, lets go of its buffers, and returns the code.

        A second thread that tries to end it is refused at once, while the first may still be at
        it. So only the first one lets go of handle and buffers.
        """
        code = end(handle)
        if code == SUCCESS:
            self._forget(handle)
            forget_lost(self._library.comm_drop)
        return code

    def close_all_resources(self) -> None:
        """Nothing to do: host communicators have no registered resources yet."""

    def __reduce__(self) -> NoReturn:
        """Refuses copies and pickles: each handle has one owner."""
        raise TypeError(
            "a Communicator cannot be copied or pickled; use the object itself, or split() for "
            "another communicator of the same ranks"
        )

    def __del__(
        self,
        # Defaults, since module names may be gone when the interpreter ends.
        _pid: Callable[[], int] = os.getpid,
        _warn: Callable[..., None] = warnings.warn,
        _lose: Callable[[int, Callable[[int], int]], bool] = lose,
    ) -> None:
        handle = self._ptr
        # A forked child must not end the communicator that it inherits from its parent.
        if not handle or self._maker != _pid() or not _lose(handle, self._library.comm_drop):
            return
        _warn(
            f"communicator {handle:#x} was garbage-collected before it was destroyed, and is ended"
            " now: destroy() or abort() it, or use it in a with block",
            ResourceWarning,
            source=self,
        )

    def _forget(self, handle: int) -> None:
        held.pop(handle, None)
        self._kept = Kept()
        self._children.clear()
        self._ptr = 0

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.destroy()
        else:
            self.abort()

    @property
    def ptr(self) -> int:
        """The handle (``ncclComm_t``), or 0."""
        return self._ptr

    @property
    def is_valid(self) -> bool:
        """Whether there is a handle."""
        return self._ptr != 0

    @property
    def nranks(self) -> int:
        """Number of ranks."""
        if self._nranks is None:
            self._nranks = self._query(self._library.comm_count(self._require("nranks")))
        return self._nranks

    @property
    def rank(self) -> int:
        """This rank's number."""
        if self._rank is None:
            self._rank = self._query(self._library.comm_user_rank(self._require("rank")))
        return self._rank

    @property
    def device(self) -> int:
        """The CUDA device; -1 on host ranks."""
        return self._query(self._library.comm_cu_device(self._require("device")))

    @staticmethod
    def _query(answer: tuple[int, int]) -> int:
        check(answer[0])
        return answer[1]

    def get_async_error(self) -> Result:
        """The state: Success, InProgress while operations run, or the error that ended it."""
        return Result(self._query(self._poll(self._require("get_async_error"))))

    def get_last_error(self) -> str:
        """The calling thread's last error, or else the process's last failure or warning."""
        return self._library.get_last_error(self._ptr)

    def __repr__(self) -> str:
        return f"<Communicator {self._ptr:#x}>" if self._ptr else "<Communicator (none)>"

    def _keep_while_running(self, code: int, memory: object) -> None:
        if code == IN_PROGRESS or self._library.group_depth():
            self._kept.append(memory)
