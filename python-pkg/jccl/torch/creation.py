"""How a group gets its communicator: from the store, or by a split of its parent's."""

from __future__ import annotations

import array
import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._C._distributed_c10d import PrefixStore, ProcessGroup, Store
from torch.distributed import DistBackendError, GroupMember
from torch.distributed.distributed_c10d import GroupName

from jccl._numbers import IN_PROGRESS
from jccl.bindings import load
from jccl.core.config import CConfig, NCCLConfig
from jccl.torch.arguments import seconds
from jccl.torch.communicator import Communicator
from jccl.torch.device import DeviceCommunicator, Streams
from jccl.torch.monitored import wait_for_keys
from jccl.torch.work import failure

if TYPE_CHECKING:
    from jccl.bindings.protocol import Binding
    from jccl.torch.group import ProcessGroupJccl

_UNIQUE_ID_BYTES: Final = 128
_NO_COLOR: Final = -1
_LOOK_AGAIN_S: Final = 0.1
"""How often rank 0 looks for a new hello, having perhaps answered a dead predecessor's."""

_STATISTICS: Final = {
    "broadcast": 0,
    "reduce": 1,
    "all_gather": 2,
    "reduce_scatter": 3,
    "all_reduce": 4,
    "send": 6,
    "recv": 7,
    "all_to_all": 8,
    "scatter": 9,
    "gather": 10,
    "self_bytes": 16,
    "shm_bytes": 17,
    "net_bytes": 18,
    "broadcast_bytes": 24,
    "reduce_bytes": 25,
    "all_gather_bytes": 26,
    "reduce_scatter_bytes": 27,
    "all_reduce_bytes": 28,
    "send_bytes": 30,
    "recv_bytes": 31,
    "all_to_all_bytes": 32,
    "scatter_bytes": 33,
    "gather_bytes": 34,
}
_COLLECTIVES: Final = (0, 1, 2, 3, 4, 8, 9, 10)


@dataclass(frozen=True)
class Identity:
    """The identity of one incarnation of a group, equal on its ranks.

    Attributes:
        name: the group's name.
        nonce: different for every group and every restart.
    """

    name: str
    nonce: str


def create(options: Any, backend_options: Any) -> ProcessGroup:
    """Makes the group that torch asks for.

    Args:
        options: torch's description of the group.
        backend_options: must be None; this backend has none.

    Raises:
        ValueError: torch asks for something impossible.
        DistBackendError: the communicator could not be made.
    """
    _refuse_other_devices()
    if backend_options is not None:
        raise ValueError('backend "jccl" takes no pg_options')
    if options.enable_reconfigure:
        raise ValueError('backend "jccl" cannot reconfigure a group')
    from jccl.torch.group import ProcessGroupJccl

    native = load()
    _keep_signals(native)
    rank, size, timeout = options.group_rank, options.group_size, options.timeout
    deadline = time.monotonic() + seconds(timeout)
    name = str(options.group_id)
    store = options.store
    if rank == 0:
        handle, nonce = _lead(native, store, size, name, deadline, _idle)
    else:
        handle, nonce = _follow(native, store, rank, size, name, deadline, _idle)
    with _aborted_on_failure(native, handle):
        comm = Communicator(native, handle, timeout)
        return ProcessGroupJccl(comm, store, rank, size, timeout, Identity(name, nonce))


def _keep_signals(native: Binding) -> None:
    """Puts the JVM's signal handlers back whenever torch has installed its own.

    Compiled Java code relies on SIGSEGV (safepoints); torch's handler of fatal signals, installed
    over the JVM's, would end the process at the next one.
    """
    original = torch._C._set_print_stack_traces_on_fatal_signal
    if getattr(original, "_keeps_jvm", False):
        return

    @functools.wraps(original)
    def install(print_them: bool) -> None:
        original(print_them)
        if native.jvm_started():
            native.restore_signals()

    install._keeps_jvm = True  # type: ignore[attr-defined]
    torch._C._set_print_stack_traces_on_fatal_signal = install  # type: ignore[assignment]


def _refuse_other_devices() -> None:
    """Refuses a group that has other backends as well.

    torch lets a ProcessGroup subclass replace the whole group, so another backend would be silently
    lost. torch does not tell this function of other devices; the variables of its caller do.
    """
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_name != "_new_process_group_helper":
        frame = frame.f_back
    config = frame.f_locals.get("backend_config")
    if config is None:
        return
    devices = config.get_device_backend_map()
    if set(devices.values()) != {"jccl"} or not set(devices) <= {"cpu", "cuda"}:
        asked = ",".join(f"{device}:{backend}" for device, backend in devices.items())
        raise ValueError(
            f'backend "{asked}": jccl serves whole groups, of CPU and CUDA tensors; make a group '
            '"jccl" and another one (new_group) for other backends and devices'
        )


def _lead(
    native: Binding,
    store: Store,
    size: int,
    name: str,
    deadline: float,
    meanwhile: Callable[[], None],
    device: str = "host",
) -> tuple[int, str]:
    """Rank 0: makes the unique id and hands it to every rank that says hello.

    Each rank's hello is a fresh nonce, and the answer's key contains it. So when torchrun has
    restarted a job on the same store, no rank takes an old answer for its own. Rank 0 may take an
    old hello for a new one, so it goes on answering until all ranks have come.
    """
    _start_java(native, name)
    hellos = [f"hello/{rank}" for rank in range(1, size)]
    ended = _ended_in(native, size, meanwhile)
    missing = wait_for_keys(store, hellos, deadline, lambda i: ended(i + 1))
    _require_alive(name, ended, [i + 1 for i in missing])
    if missing:
        ranks = ", ".join(str(i + 1) for i in missing)
        raise DistBackendError(
            f"group {name}: rank(s) {ranks} of {size} did not come to make the group in time"
        )
    code, unique_id = native.get_unique_id()
    if code:
        raise DistBackendError(f"group {name}: {failure(native, code, 0)}")
    nonce = os.urandom(8).hex()
    answer = f"{nonce}:{unique_id.hex()}"
    answered: dict[str, bytes] = {}

    def answer_all() -> None:
        meanwhile()
        for key in hellos:
            hello = store.get(key)
            if answered.get(key) != hello:
                answered[key] = hello
                store.set(f"id/{key}/{hello.decode()}", answer)

    answer_all()
    handle = _initialise(native, unique_id, 0, size, name, deadline, answer_all, device)
    return handle, nonce


def _follow(
    native: Binding,
    store: Store,
    rank: int,
    size: int,
    name: str,
    deadline: float,
    meanwhile: Callable[[], None],
    device: str = "host",
) -> tuple[int, str]:
    hello = os.urandom(8).hex()
    key = f"id/hello/{rank}/{hello}"
    store.set(f"hello/{rank}", hello)
    _start_java(native, name)
    ended = _ended_in(native, size, meanwhile)
    missing = wait_for_keys(store, [key], deadline, lambda _: ended(0))
    _require_alive(name, ended, missing)
    if missing:
        raise DistBackendError(
            f"group {name}: rank {rank} waited in vain for rank 0 of {size}, which makes the "
            "group when all ranks have come"
        )
    nonce, _, unique_id = store.get(key).decode().partition(":")
    unique = bytes.fromhex(unique_id)
    handle = _initialise(native, unique, rank, size, name, deadline, meanwhile, device)
    return handle, nonce


def connect(
    group: ProcessGroupJccl, device: torch.device, timeout: timedelta, meanwhile: Callable[[], None]
) -> tuple[DeviceCommunicator, DeviceCommunicator]:
    """Makes the communicators for a group's tensors on GPUs; all its ranks must call this.

    Args:
        group: the group.
        device: this rank's GPU.
        timeout: limit of this call and of each operation.
        meanwhile: called now and then; it may raise.

    Returns:
        One for collectives, and one for sends and receives: a collective may consist of sends and
        receives, too, which must not match the program's.

    Raises:
        DistBackendError: they could not be made.
    """
    deadline = time.monotonic() + seconds(timeout)
    native, rank, size = group._comm.native, group._rank, group._size
    name, place = group._identity.name, f"{device.type}:{device.index}"
    store = PrefixStore(f"{device.type}/{group._identity.nonce}/", group.get_group_store())
    if rank == 0:
        handle, _ = _lead(native, store, size, name, deadline, meanwhile, place)
    else:
        handle, _ = _follow(native, store, rank, size, name, deadline, meanwhile, place)
    with _aborted_on_failure(native, handle):
        config = _configuration(name, None)
        code, other = native.comm_split(handle, 0, rank, config.ptr)
        if code and code != IN_PROGRESS:
            raise DistBackendError(f"group {name}: {failure(native, code, handle)}")
        with _aborted_on_failure(native, other):
            _until_ready(native, other, f"group {name}: split", deadline, meanwhile)
            _until_ready(native, handle, f"group {name}: split", deadline, meanwhile)
            streams = Streams(device)
            return (
                DeviceCommunicator(native, handle, timeout, streams),
                DeviceCommunicator(native, other, timeout, streams),
            )


def _ended_in(native: Binding, size: int, meanwhile: Callable[[], None]) -> Callable[[int], bool]:
    """Says whether a rank has ended, if one Java VM has started this group's ranks and knows.

    It also calls ``meanwhile``.
    """
    ended: Callable[[int, int], bool] = getattr(native, "has_ended", lambda _rank, _ranks: False)

    def has_ended(rank: int) -> bool:
        meanwhile()
        return ended(rank, size)

    return has_ended


def _require_alive(name: str, ended: Callable[[int], bool], missing: list[int]) -> None:
    for rank in filter(ended, missing):
        raise DistBackendError(
            f"group {name}: the program of rank {rank} has ended before it came to this group"
        )


def _start_java(native: Binding, name: str) -> None:
    """Starts Java before the ranks wait for each other, so that all JVMs start at the same time."""
    code = native.jvm_start()
    if code:
        raise DistBackendError(f"group {name}: {failure(native, code, 0)}")


def _configuration(name: str, device: str | None = "host") -> CConfig:
    return CConfig(NCCLConfig(blocking=False, comm_name=name, device=device))


def _initialise(
    native: Binding,
    unique_id: bytes,
    rank: int,
    size: int,
    name: str,
    deadline: float,
    meanwhile: Callable[[], None],
    device: str = "host",
) -> int:
    """Makes the communicator with blocking=0 and polls until it is ready."""
    content = array.array("B", unique_id)
    assert len(content) == _UNIQUE_ID_BYTES
    config = _configuration(name, device)
    code, handle = native.comm_init_rank_scalable(
        size, rank, 1, content.buffer_info()[0], config.ptr
    )
    if code and code != IN_PROGRESS:
        raise DistBackendError(f"group {name}: {failure(native, code, 0)}")
    with _aborted_on_failure(native, handle):
        _until_ready(native, handle, f"group {name}: init", deadline, meanwhile)
    return handle


@contextlib.contextmanager
def _aborted_on_failure(native: Binding, handle: int) -> Iterator[None]:
    """Aborts a communicator, if there is one, when the block raises before a group owns it."""
    try:
        yield
    except BaseException:
        if handle:
            native.comm_abort(handle)
        raise


def _idle() -> None:
    pass


def _until_ready(
    native: Binding,
    handle: int,
    what: str,
    deadline: float,
    meanwhile: Callable[[], None] = _idle,
) -> None:
    pause = 0.0002
    look_again = time.monotonic() + _LOOK_AGAIN_S
    while True:
        code, state = native.comm_get_async_error(handle)
        code = code or state
        if not code:
            return
        if code != IN_PROGRESS:
            raise DistBackendError(f"{what}: {failure(native, code, handle)}")
        now = time.monotonic()
        if now > deadline:
            raise DistBackendError(f"{what} was not over within the group's timeout")
        if now > look_again:
            meanwhile()
            look_again = now + _LOOK_AGAIN_S
        time.sleep(pause)
        pause = min(1.5 * pause, 0.005)


def split(
    parent: ProcessGroupJccl,
    ranks: list[int],
    timeout: timedelta | None,
    name: str | None,
    description: str | None,
) -> ProcessGroup | None:
    """Splits a group's communicator by ncclCommSplit; all its ranks must call this.

    The color is the lowest of the new group's ranks, the key a rank's place in the list.
    """
    from jccl.torch.group import ProcessGroupJccl

    comm, rank = parent._comm, parent._rank
    native = comm.native
    limit = parent._backend.timeout if timeout is None else timeout
    deadline = time.monotonic() + seconds(limit)
    member = rank in ranks
    label = name or f"{parent._identity.name}:split{next(parent.splits)}:{min(ranks)}"
    config = _configuration(label, None)
    color, key = (min(ranks), ranks.index(rank)) if member else (_NO_COLOR, 0)
    code, handle = native.comm_split(comm.handle, color, key, config.ptr)
    comm.check(code)
    if not member:
        _until_ready(native, comm.handle, f"split of group {parent._identity.name}", deadline)
        return None
    with _aborted_on_failure(native, handle):
        _until_ready(native, handle, f"group {label}: split", deadline)
        child = Communicator(native, handle, limit)
        store = PrefixStore(f"{label}/", parent.get_group_store())
        identity = Identity(label, parent._identity.nonce)
        group = ProcessGroupJccl(child, store, key, len(ranks), limit, identity)
    if name is not None:
        group._set_group_name(GroupName(name))
    if description is not None:
        group._set_group_desc(description)
    return group


def _counters(comm: Communicator, n: int) -> list[int]:
    code, counters = comm.native.comm_stats(comm.handle, n)
    comm.check(code)
    return counters


def statistics(group: ProcessGroup | None) -> dict[str, int]:
    """See jccl.torch.stats."""
    from jccl.torch.group import ProcessGroupJccl

    which = GroupMember.WORLD if group is None else group
    if not isinstance(which, ProcessGroupJccl):
        raise TypeError(f'{type(which).__name__} is not a group of backend "jccl"')
    counters = _counters(which._comm, max(_STATISTICS.values()) + 1)
    return {name: counters[place] for name, place in _STATISTICS.items()}


def collectives_so_far(comm: Communicator) -> int:
    """The number of collectives that this rank has called on a communicator."""
    counters = _counters(comm, max(_COLLECTIVES) + 1)
    return sum(counters[place] for place in _COLLECTIVES)
