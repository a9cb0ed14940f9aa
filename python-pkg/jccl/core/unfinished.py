"""Members of nccl4py's Communicator that the library answers with "not done yet".

They have their final signatures. Where the library has the function, they call it: so the error is
the library's own sentence, and the member works as soon as the library's function does.
"""

from __future__ import annotations

import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from jccl.core.calls import not_done
from jccl.core.errors import check
from jccl.core.operations import Operations
from jccl.core.types import (
    CommShrinkFlag,
    CommSuspendFlag,
    NcclCommMemStat,
)
from jccl.core.unique_id import UniqueId

if TYPE_CHECKING:
    from jccl.core.communicator import Communicator
    from jccl.core.config import NCCLConfig


class Unfinished(Operations):
    """See the module."""

    def shrink(
        self,
        exclude_ranks: Sequence[int] | None = None,
        config: NCCLConfig | None = None,
        flag: CommShrinkFlag = CommShrinkFlag.DEFAULT,
    ) -> Communicator:
        """The communicator without ``exclude_ranks``."""
        excluded = array.array("i", exclude_ranks or ())
        code, _ = self._library.comm_shrink(
            self._require("shrink"), excluded.buffer_info()[0], len(excluded), 0, int(flag)
        )
        check(code)
        not_done("ncclCommShrink")

    def get_unique_id(self) -> UniqueId:
        """The id for growing this communicator."""
        code, content = self._library.comm_get_unique_id(self._require("get_unique_id"))
        check(code)
        return UniqueId.from_bytes(content)

    def grow(
        self,
        nranks: int,
        unique_id: UniqueId | None = None,
        rank: int | None = None,
        config: NCCLConfig | None = None,
    ) -> Communicator:
        """The communicator of ``nranks`` ranks, the old and new ones."""
        pointer = 0 if unique_id is None else unique_id.ptr
        own = -1 if rank is None else rank
        code, _ = self._library.comm_grow(self._require("grow"), nranks, pointer, own, 0)
        check(code)
        not_done("ncclCommGrow")

    def revoke(self, flags: int = 0) -> None:
        """Stops pending work and keeps the handle."""
        check(self._library.comm_revoke(self._require("revoke"), flags))

    def suspend(self, flags: CommSuspendFlag = CommSuspendFlag.MEM) -> None:
        """Releases the communicator's memory for a while."""
        check(self._library.comm_suspend(self._require("suspend"), int(flags)))

    def resume(self) -> None:
        """Takes back what suspend released."""
        check(self._library.comm_resume(self._require("resume")))

    def get_mem_stat(self, stat: NcclCommMemStat) -> int:
        """Bytes of memory of one kind."""
        code, value = self._library.comm_mem_stats(self._require("get_mem_stat"), int(stat))
        check(code)
        return value

    def register_buffer(self, buffer: Any) -> NoReturn:
        """Registers a buffer."""
        not_done("ncclCommRegister")

    def register_window(self, buffer: Any, flags: int | None = None) -> NoReturn:
        """Registers a window."""
        not_done("ncclCommWindowRegister")

    def create_dev_comm(self, requirements: object = None) -> NoReturn:
        """A communicator for CUDA kernels."""
        not_done("ncclDevCommCreate")

    def put_signal(
        self,
        local_buffer: Any,
        peer: int,
        peer_window: object,
        peer_window_offset: int = 0,
        signal_index: int = 0,
        context: int = 0,
        flags: int = 0,
        *,
        stream: int | None = None,
    ) -> NoReturn:
        """Writes into a peer's window and signals."""
        not_done("ncclPutSignal")

    def signal(
        self,
        peer: int,
        signal_index: int = 0,
        context: int = 0,
        flags: int = 0,
        *,
        stream: int | None = None,
    ) -> NoReturn:
        """Signals a peer."""
        not_done("ncclSignal")

    def wait_signal(self, descs: object, *, stream: int | None = None) -> NoReturn:
        """Waits for signals."""
        not_done("ncclWaitSignal")

    @property
    def properties(self) -> NoReturn:
        """The properties of the communicator (``ncclCommProperties_t``)."""
        not_done("ncclCommQueryProperties")
