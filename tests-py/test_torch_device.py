"""What backend "jccl" does for tensors of a GPU, on a machine without one.

The streams are simulated: what they are given is done at once. The tensors are in host memory, and
the communicator is a blocking one of the host. On GPUs, cuda/src/test/python does all this again.
"""

from __future__ import annotations

import contextlib
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import jccl
import jccl.core as nccl
import pytest
import test_torch_operations as operations
import torch
import torch.distributed
from harness import Cluster, Rank
from jccl.torch import creation
from jccl.torch.device import DeviceCommunicator, Streams
from jccl.torch.device_work import DeviceWork
from torch_team import Team, environment, joined

ROOT = Path(__file__).resolve().parent.parent
dist: Any = torch.distributed
#: What the simulated streams have been asked to do.
_log: list[str] = []


class _Event:
    def __init__(self, stream: _Stream) -> None:
        self.stream = stream

    def query(self) -> bool:
        return True


class _Stream:
    """A stream that has done everything; 0 is the number of the host's."""

    cuda_stream = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def wait_stream(self, other: _Stream) -> None:
        _log.append(f"{self.name} waits for {other.name}")

    def wait_event(self, event: _Event) -> None:
        _log.append(f"{self.name} waits for an event of {event.stream.name}")

    def record_event(self) -> _Event:
        return _Event(self)

    def synchronize(self) -> None:
        _log.append(f"the host waits for {self.name}")


class _Streams(Streams):
    def __init__(self) -> None:
        super().__init__(torch.device("cpu"))
        self._current = [_Stream("the current one")]
        self._made = 0

    def current(self) -> _Stream:
        return self._current[-1]

    def number(self) -> int:
        return 0

    def new(self) -> _Stream:
        self._made += 1
        return _Stream(f"stream {self._made}")

    def entered(self, stream: Any) -> AbstractContextManager[None]:
        @contextlib.contextmanager
        def block() -> Iterator[None]:
            self._current.append(stream)
            yield
            self._current.pop()

        return block()

    def keep(self, tensor: torch.Tensor, stream: Any) -> None:
        pass

    def capturing(self) -> bool:
        return False

    def futures(self) -> Any:
        return None


@contextlib.contextmanager
def in_streams(rank: Rank) -> Iterator[DeviceCommunicator]:
    """Gives the default group a communicator as for a GPU."""
    name = [bytes(nccl.get_unique_id()) if rank.rank == 0 else b""]
    dist.broadcast_object_list(name)
    unique = nccl.UniqueId.from_bytes(name[0])
    host = nccl.Communicator.init(rank.nranks, rank.rank, unique)
    group = dist.group.WORLD
    before = group._comm
    comm = DeviceCommunicator(before.native, host.ptr, timedelta(seconds=60), _Streams())
    group._comm = comm
    _log.clear()
    try:
        yield comm
        dist.barrier()
    finally:
        group._comm = before
        comm.handle = 0
        host.destroy()


def operations_in_streams(rank: Rank) -> None:
    """The programs that CPU tensors are tested with."""
    with in_streams(rank):
        for each in (
            operations.every_type_and_operation,
            operations.whole_life_of_bytes,
            operations.other_types_and_operations_reduce,
            operations.factors_of_premul_sum,
            operations.gathers_and_scatters,
            operations.all_to_all_of_unequal_parts,
            operations.all_to_all_of_equal_parts,
            operations.a_reduction_to_a_root_leaves_the_others_alone,
            operations.views_give_what_contiguous_tensors_give,
            operations.complex_and_sparse_tensors,
            operations.coalesced,
        ):
            each(rank)


def handles_let_streams_wait(rank: Rank) -> None:
    with in_streams(rank) as comm:
        x = torch.ones(3)
        work = dist.all_reduce(x, async_op=True)
        assert isinstance(work, DeviceWork)
        assert _log == ["stream 1 waits for the current one"]
        assert work.wait()
        assert _log[1:] == ["the current one waits for an event of stream 1"]
        assert work.is_completed()
        assert work.is_success()
        assert work.exception() is None
        assert work.result()[0] is x
        doubled = work.get_future().then(lambda done: 2 * done.value()[0])
        assert doubled.wait().tolist() == [2.0 * rank.nranks] * 3
        dist.all_reduce(x, async_op=True)
        _log.clear()
        dist.broadcast(x, 0)
        dist.broadcast(x, 0)
        assert _log == ["the current one waits for an event of stream 1"]
        assert x.tolist() == [float(rank.nranks) ** 2] * 3
        _log.clear()
        peer = 1 - rank.rank
        received = torch.zeros(2)
        sent = dist.isend(torch.full((2,), float(rank.rank)), peer)
        got = dist.irecv(received, peer)
        for each in (sent, got):
            assert each.wait(timedelta(seconds=10))
        assert received.tolist() == [float(peer)] * 2
        assert got._source_rank() == peer
        assert _log == [
            "stream 2 waits for the current one",
            "stream 3 waits for the current one",
            "the current one waits for an event of stream 2",
            "the current one waits for an event of stream 3",
        ]
        comm.synchronize()
        assert _log[4:] == ["the host waits for stream 1", "the host waits for the current one"]


def a_failure_is_told_by_handles_and_calls(rank: Rank) -> None:
    with in_streams(rank) as comm:
        work = dist.all_reduce(torch.ones(3), async_op=True)
        comm.native.comm_interrupt(comm.handle)
        with pytest.raises(dist.DistBackendError, match="interrupted"):
            work.wait()
        assert work.is_completed()
        assert not work.is_success()
        assert isinstance(work.exception(), dist.DistBackendError)
        with pytest.raises(dist.DistBackendError):
            dist.all_reduce(torch.ones(3), async_op=True)
        with pytest.raises(dist.DistBackendError):
            comm.synchronize()
        dist.group.WORLD._comm = _Done()


class _Done:
    """In place of a communicator that has failed: its barrier would fail, too."""

    def run(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    "scenario",
    [operations_in_streams, handles_let_streams_wait, a_failure_is_told_by_handles_and_calls],
    ids=lambda scenario: str(scenario.__name__),
)
def test_tensors_of_a_device(scenario: Callable[..., None], two: Team) -> None:
    two.run(scenario)


def communicators_are_made(rank: Rank) -> None:
    """Two for each rank, by a group's first operation on a device, whichever that is."""
    with joined(rank, "made"):
        group = dist.group.WORLD
        device: Any = types.SimpleNamespace(type="simulated", index=rank.rank)
        vars(creation)["Streams"] = lambda _: _Streams()
        both = creation.connect(group, device, timedelta(seconds=60), lambda: None)
        native = both[0].native
        assert both[0].handle != both[1].handle
        for comm in both:
            assert native.comm_cu_device(comm.handle) == (0, rank.rank)
            assert native.comm_count(comm.handle) == (0, rank.nranks)
        group._devices._both = both
        group._devices.synchronize()
        dist.barrier()
        ended = threading.Event()

        def watch() -> None:
            if ended.is_set():
                raise dist.DistBackendError("the group was aborted")

        if rank.rank == 0:
            # The other does not come; somebody aborts.
            threading.Timer(0.5, ended.set).start()
            with pytest.raises(dist.DistBackendError, match="was aborted"):
                creation.connect(group, device, timedelta(seconds=60), watch)


def test_communicators_of_a_device_are_made_by_all_ranks() -> None:
    simulated = ROOT / "tests-java" / "target" / "test-classes"
    if not simulated.exists():
        pytest.skip("the tests in Java, with their simulated device, have not been compiled")
    (jar,) = (Path(jccl.__file__).parent / "_lib").glob("jccl-core-*.jar")
    path = f"{jar}:{simulated}"
    with Cluster(2, environment=environment(JCCL_JAR=path)) as cluster:
        cluster.start(communicators_are_made).values()
