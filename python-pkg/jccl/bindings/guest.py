"""What the bindings of a Python inside a Java VM have in common: they call Java as its guests.

``org.jccl.abi.NcclApi`` takes and returns ints. Each thread has a block of Java's memory whose
first word is the out parameter of its calls; reading it is no call of Java. Nothing here is bound
to one interpreter: threads find their rank in Java.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from jccl._numbers import IN_PROGRESS, INVALID_USAGE, SUCCESS
from jccl.bindings.arguments import Ints, operations
from jccl.bindings.block import GroupBlock

CodeInt = tuple[int, int]

# How long a call may keep its thread before Python can look at signals, in milliseconds.
_SLICE_MS = 100
_WORD = (1 << 64) - 1
# The words of a thread's block: the out parameter, and the slice (milliseconds, and above them
# whether the call is parked).
_OUT, _SLICE = range(2)
_ID_BYTES = 128


class Host(Protocol):
    """What a binding needs of the Python that it runs in."""

    def java(self, name: str) -> Any:
        """The Java class with this name, whose static methods can be called."""

    def memory(self, owner: object, writable: bool) -> CodeInt:
        """As ``Binding.memory``."""

    def attach(self) -> None:
        """Tells Java to which rank this thread belongs, if Java has not heard it yet."""


class _Thread(threading.local):
    """What a thread needs for its calls."""

    def __init__(self, door: Any, attach: Callable[[], None]) -> None:
        attach()
        # For calls whose effect depends on the thread's rank.
        self.door = door
        block = door.block()
        self.words = memoryview(block).cast("B").cast("q")
        self.address = int(door.address(block))
        # Calls that wait, while signal handlers run in their pauses.
        self.waiting = 0
        self.groups = 0


_IN_CHILD = (
    "NCCL calls are not possible in a child made by fork after JCCL was used: start processes with"
    " multiprocessing's 'spawn', or run the ranks by python -m jccl.run"
)


class _NoJava:
    """What Java answers where there is none: every function that is not here refuses."""

    _answers: ClassVar[dict[str, Callable[..., Any]]] = {
        "lastError": lambda: _IN_CHILD,
        "errorString": lambda _: "invalid usage",
        "memory": bytearray,
        "block": lambda: bytearray(8 * 2),
    }

    def __getattr__(self, function: str) -> Callable[..., Any]:
        return self._answers.get(function, self._refuse)

    @staticmethod
    def _refuse(*_: object) -> int:
        return INVALID_USAGE


def _nothing() -> None:
    """Does nothing."""


class GuestBinding:
    """Satisfies ``jccl.bindings.Binding`` where Java has started Python."""

    def __init__(self, host: Host) -> None:
        self._api = api = host.java("org.jccl.abi.NcclApi")
        self._door = door = host.java("org.jccl.abi.GuestApi")
        self._resume = api.resume
        self._thread = _Thread(door, host.attach)
        self.memory = host.memory
        self.group_block = lambda started, ended: GroupBlock(self, started, ended)
        self._define(api.operation)

    def _define(self, operation: Callable[..., int]) -> None:
        for name, call in operations(operation, self._wait).items():
            setattr(self, name, call)

    def refuse_in_child(self) -> None:
        """Makes all calls fail, in a child made by fork: Java does not live on there."""
        self._api = self._door = java = _NoJava()
        self._resume = java.resume
        self._thread = _Thread(java, _nothing)
        self._define(java.operation)

    # Calls.

    def _wait(self, call: Callable[..., int], *given: int) -> int:
        """Makes a call that may block, in slices between which Python can look at signals."""
        thread = self._thread
        words = thread.words
        outer = thread.waiting
        # Of a call in whose pause this one is made: by a signal handler, or a finalizer.
        before = words[_SLICE]
        try:
            thread.waiting = outer + 1
            words[_SLICE] = _SLICE_MS
            code = call(*given)
            while words[_SLICE] >> 32:
                words[_SLICE] = _SLICE_MS
                code = self._resume()
            return code
        except BaseException:
            words[_SLICE] = 0
            while self._door.parked() > outer:
                self._api.interrupt()
            raise
        finally:
            words[_SLICE] = before
            thread.waiting = outer

    def _value(self, call: Callable[..., int], *given: int) -> CodeInt:
        """A call with an out parameter. It leaves that of a call around it as it was."""
        words = self._thread.words
        before = words[_OUT]
        words[_OUT] = 0
        try:
            return call(*given), words[_OUT] & _WORD
        finally:
            words[_OUT] = before

    def _number(self, call: Callable[..., int], *given: int) -> CodeInt:
        """A call whose last parameter is an out parameter, an int of C."""
        code, word = self._value(call, *given, self._thread.address)
        value = word & 0xFFFFFFFF
        return code, value - (1 << 32) if value >> 31 else value

    def _made(self, call: Callable[..., int], *given: int) -> CodeInt:
        """A call that makes a communicator; its rank knows it from now on."""
        words = self._thread.words
        before = words[_OUT]
        words[_OUT] = 0
        try:
            code = self._wait(call, *given)
            handle = words[_OUT]
            if handle:
                self._door.made(handle)
            return code, handle & _WORD
        except BaseException:
            if words[_OUT]:
                self._api.commAbort(words[_OUT])
            raise
        finally:
            words[_OUT] = before

    def _memory(self, words: int) -> tuple[memoryview, int]:
        """Zeroed words of Java's, with their address."""
        block = self._door.memory(8 * words)
        return memoryview(block).cast("B").cast("q"), int(self._door.address(block))

    # Version and errors.

    def get_version(self) -> CodeInt:
        return SUCCESS, int(self._door.ncclVersion())

    def version_string(self) -> str:
        return str(self._api.versionString())

    def get_error_string(self, result: int) -> str:
        (result,) = _GET_ERROR_STRING((result,))
        return str(self._door.errorString(result))

    def get_last_error(self, comm: int) -> str:
        _GET_LAST_ERROR((comm,))
        return str(self._door.lastError())

    def get_unique_id(self) -> tuple[int, bytes]:
        out, address = self._memory(_ID_BYTES // 8)
        code = self._wait(self._api.getUniqueId, address)
        return code, out.tobytes()

    def _later(self, function: str) -> int:
        return int(self._door.later(function))

    # Making communicators.

    def comm_init_rank_scalable(self, *given: int) -> CodeInt:
        ints = _COMM_INIT_RANK_SCALABLE(given)
        return self._made(self._api.commInitRankScalable, self._thread.address, *ints)

    def comm_init_all(self, *given: int) -> tuple[int, list[int]]:
        ndev, devlist = _COMM_INIT_ALL(given)
        places = max(ndev, 0)
        handles, address = self._memory(places + 1)
        try:
            code = self._wait(self._api.commInitAll, address, ndev, devlist)
            made = [handle for handle in handles[:places].tolist() if handle]
            for handle in made:
                self._door.made(handle)
        except BaseException:
            for handle in handles[:places].tolist():
                self._api.commAbort(handle)
            raise
        return code, handles[:places].tolist()

    def comm_split(self, *given: int) -> CodeInt:
        comm, color, key, config = _COMM_SPLIT(given)
        return self._made(self._api.commSplit, comm, color, key, self._thread.address, config)

    def comm_shrink(self, *given: int) -> CodeInt:
        _COMM_SHRINK(given)
        return self._later("ncclCommShrink"), 0

    def comm_get_unique_id(self, *given: int) -> tuple[int, bytes]:
        _COMM_GET_UNIQUE_ID(given)
        return self._later("ncclCommGetUniqueId"), bytes(_ID_BYTES)

    def comm_grow(self, *given: int) -> CodeInt:
        _COMM_GROW(given)
        return self._later("ncclCommGrow"), 0

    # Life cycle and queries.

    def comm_finalize(self, *given: int) -> int:
        return self._wait(self._api.commFinalize, *_COMM_FINALIZE(given))

    def comm_destroy(self, *given: int) -> int:
        return self._wait(self._api.commDestroy, *_COMM_DESTROY(given))

    def comm_abort(self, *given: int) -> int:
        return self._wait(self._api.commAbort, *_COMM_ABORT(given))

    def comm_revoke(self, *given: int) -> int:
        _COMM_REVOKE(given)
        return self._later("ncclCommRevoke")

    def comm_suspend(self, *given: int) -> int:
        _COMM_SUSPEND(given)
        return self._later("ncclCommSuspend")

    def comm_resume(self, *given: int) -> int:
        _COMM_RESUME(given)
        return self._later("ncclCommResume")

    def comm_mem_stats(self, *given: int) -> CodeInt:
        _COMM_MEM_STATS(given)
        return self._later("ncclCommMemStats"), 0

    def comm_get_async_error(self, *given: int) -> CodeInt:
        return self._number(self._api.commGetAsyncError, *_COMM_GET_ASYNC_ERROR(given))

    def comm_count(self, *given: int) -> CodeInt:
        return self._number(self._api.commCount, *_COMM_COUNT(given))

    def comm_cu_device(self, *given: int) -> CodeInt:
        return self._number(self._api.commCuDevice, *_COMM_CU_DEVICE(given))

    def comm_user_rank(self, *given: int) -> CodeInt:
        return self._number(self._api.commUserRank, *_COMM_USER_RANK(given))

    # Groups.

    def group_start(self) -> int:
        code = self._api.groupStart()
        self._thread.groups += code == SUCCESS
        return int(code)

    def _group_ended(self, call: Callable[..., int], *given: int) -> int:
        try:
            return self._wait(call, *given)
        finally:
            thread = self._thread
            thread.groups -= thread.groups > 0

    def group_end(self) -> int:
        return self._group_ended(self._api.groupEnd)

    def group_simulate_end(self) -> int:
        return self._group_ended(self._api.groupSimulateEnd, 0)

    def group_depth(self) -> int:
        return self._thread.groups

    def abandon_group(self) -> int:
        return int(self._api.abandonGroup())

    # What only an extension of CPython makes faster: any call of it takes the ordinary way.

    def know_arrays(self, array: type, numbers: dict[Any, int]) -> None:
        """Nothing to know."""

    def on_arrays(self, *_: object) -> int:
        return -1

    # Reductions and memory.

    def red_op_create_pre_mul_sum(self, *given: int) -> CodeInt:
        ints = _RED_OP_CREATE_PRE_MUL_SUM(given)
        code, op = self._value(self._api.redOpCreatePreMulSum, self._thread.address, *ints)
        return code, op & 0xFFFFFFFF

    def red_op_destroy(self, *given: int) -> int:
        return int(self._api.redOpDestroy(*_RED_OP_DESTROY(given)))

    def mem_alloc(self, *given: int) -> CodeInt:
        (size,) = _MEM_ALLOC(given)
        code, address = self._value(self._api.memAlloc, self._thread.address, size)
        if code == SUCCESS:
            self._door.allocated(address)
        return code, address

    def mem_free(self, *given: int) -> int:
        (address,) = _MEM_FREE(given)
        code = int(self._api.memFree(address))
        if code == SUCCESS:
            self._door.freed(address)
        return code

    # Asynchronous forms.

    def start(self, *given: int) -> CodeInt:
        return self._value(self._api.start, *_START(given), 0, self._thread.address)

    def start_composed(self, *given: int) -> CodeInt:
        ints = _START_COMPOSED(given)
        return self._value(self._api.startComposed, *ints, 0, self._thread.address)

    def poll(self, *given: int) -> int:
        return int(self._api.poll(*_POLL(given)))

    def wait(self, *given: int) -> int:
        comm, ticket = _WAIT(given)
        try:
            return self._finish(IN_PROGRESS, comm, ticket)
        except BaseException:
            self._api.commInterrupt(comm)
            raise

    def run(self, *given: int) -> int:
        return self._to_the_end(self._api.start, _RUN(given))

    def run_composed(self, *given: int) -> int:
        return self._to_the_end(self._api.startComposed, _RUN_COMPOSED(given))

    def _to_the_end(self, start: Callable[..., int], ints: tuple[int, ...]) -> int:
        """Starts an operation and waits for it; an exception revokes the communicator."""
        comm = ints[-1]
        try:
            code, ticket = self._value(start, *ints, _SLICE_MS, self._thread.address)
            return self._finish(code, comm, ticket)
        except BaseException:
            self._api.commInterrupt(comm)
            raise

    def _finish(self, code: int, comm: int, ticket: int) -> int:
        while code == IN_PROGRESS and ticket:
            code = self._api.poll(comm, ticket, _SLICE_MS)
        return code

    def comm_interrupt(self, *given: int) -> int:
        return int(self._api.commInterrupt(*_COMM_INTERRUPT(given)))

    def comm_drop(self, *given: int) -> int:
        return int(self._api.commDrop(*_COMM_DROP(given)))

    def wait_completion(self, *given: int) -> CodeInt:
        ints = _WAIT_COMPLETION(given)
        return self._value(self._api.waitCompletion, *ints, self._thread.address)

    # Communicators and the process.

    def comm_options(self, *given: int) -> int:
        return int(self._api.commTimeout(*_COMM_OPTIONS(given)))

    def comm_stats(self, *given: int) -> tuple[int, list[int]]:
        comm, n = _COMM_STATS(given)
        places = min(max(n, 0), 256)
        out, address = self._memory(places + 1)
        code = self._api.commStats(comm, address, places)
        return code, [word & _WORD for word in out[:places].tolist()]

    def shutdown(self) -> int:
        """Ends what this thread's rank has left; the process and its other ranks go on."""
        self._thread.door.leave()
        return SUCCESS

    def warm(self, *given: int) -> int:
        return int(self._api.warm(*_WARM(given)))

    def share(self, own: bytes | None, limit_s: float | None) -> bytes | None:
        """Hands rank 0's bytes to the ranks that the host of this one has started with it.

        Returns:
            None if there are no such ranks; no bytes if rank 0 has ended.

        Raises:
            TimeoutError: rank 0 has not come within the limit.
        """
        door = self._thread.door
        if not door.hasTeam():
            return None
        number = door.nextExchange()
        if own is not None:
            door.give(number, own.hex())
            return own
        waited, text = 0.0, ""
        while not text and (limit_s is None or waited < limit_s):
            text = str(door.taken(number, _SLICE_MS))
            waited += _SLICE_MS / 1000
        if text in ("", "-"):
            door.missed(number)
        if not text:
            raise TimeoutError
        return bytes.fromhex(text.removeprefix("-"))

    def has_ended(self, rank: int, ranks: int) -> bool:
        """Whether this rank has ended, if the host has started so many with this one."""
        return bool(self._thread.door.hasEnded(rank, ranks))

    # The Java VM, which is there.

    def main_interpreter(self) -> bool:
        return True

    def java_home(self) -> str:
        return str(self._door.javaHome())

    def jvm_start(self) -> int:
        return SUCCESS

    def jvm_started(self) -> bool:
        return True

    def restore_signals(self) -> None:
        """The signals are the host's."""


def check_version(binding: GuestBinding) -> None:
    """Refuses a jar of another version than this package."""
    import jccl

    library = binding.version_string()
    if library != jccl.__version__:
        raise ImportError(
            f"the Python package is JCCL {jccl.__version__}, but the jar in this Java VM is"
            f" {library}: use those of one version"
        )


_GET_ERROR_STRING = Ints("get_error_string", "i", "result")
_GET_LAST_ERROR = Ints("get_last_error", "w", "comm")
_COMM_INIT_RANK_SCALABLE = Ints(
    "comm_init_rank_scalable", "iiiww", "nranks rank n_id comm_ids config"
)
_COMM_INIT_ALL = Ints("comm_init_all", "iw", "ndev devlist")
_COMM_SPLIT = Ints("comm_split", "wiiw", "comm color key config")
_COMM_SHRINK = Ints("comm_shrink", "wwiwi", "comm exclude count config flags")
_COMM_GET_UNIQUE_ID = Ints("comm_get_unique_id", "w", "comm")
_COMM_GROW = Ints("comm_grow", "wiwiw", "comm n_ranks unique_id rank config")
_COMM_FINALIZE = Ints("comm_finalize", "w", "comm")
_COMM_DESTROY = Ints("comm_destroy", "w", "comm")
_COMM_ABORT = Ints("comm_abort", "w", "comm")
_COMM_REVOKE = Ints("comm_revoke", "wi", "comm flags")
_COMM_SUSPEND = Ints("comm_suspend", "wi", "comm flags")
_COMM_RESUME = Ints("comm_resume", "w", "comm")
_COMM_MEM_STATS = Ints("comm_mem_stats", "wi", "comm stat")
_COMM_GET_ASYNC_ERROR = Ints("comm_get_async_error", "w", "comm")
_COMM_COUNT = Ints("comm_count", "w", "comm")
_COMM_CU_DEVICE = Ints("comm_cu_device", "w", "comm")
_COMM_USER_RANK = Ints("comm_user_rank", "w", "comm")
_RED_OP_CREATE_PRE_MUL_SUM = Ints(
    "red_op_create_pre_mul_sum", "wiiw", "scalar datatype residence comm"
)
_RED_OP_DESTROY = Ints("red_op_destroy", "iw", "op comm")
_MEM_ALLOC = Ints("mem_alloc", "w", "size")
_MEM_FREE = Ints("mem_free", "w", "ptr")
_START = Ints("start", "iwwwiiiw", "operation send recv count datatype op root comm")
_START_COMPOSED = Ints("start_composed", "www", "words count comm")
_RUN = Ints("run", "iwwwiiiw", "operation send recv count datatype op root comm")
_RUN_COMPOSED = Ints("run_composed", "www", "words count comm")
_POLL = Ints("poll", "wwi", "comm ticket ms")
_WAIT = Ints("wait", "ww", "comm ticket")
_COMM_INTERRUPT = Ints("comm_interrupt", "w", "comm")
_COMM_DROP = Ints("comm_drop", "w", "comm")
_WAIT_COMPLETION = Ints("wait_completion", "wi", "seen ms")
_COMM_OPTIONS = Ints("comm_options", "wl", "comm timeout_ms")
_COMM_STATS = Ints("comm_stats", "wi", "comm n")
_WARM = Ints("warm", "i", "ms")
