"""Communicators that are garbage-collected before anybody has destroyed them."""

from __future__ import annotations

import gc
import re
import warnings
import weakref
from collections.abc import Callable

import jccl
import numpy
import pytest
from fake import CHILD, COMM, FakeBinding
from guest import python
from harness import NET, Rank, run_ranks
from jccl.bindings import load
from jccl.core import SUM, Communicator, NCCLConfig, NCCLError, get_unique_id
from jccl.core.held import forget_lost, held

WARNED = r"communicator 0x[0-9a-f]+ was garbage-collected before it was destroyed"


def lose(comms: list[Communicator]) -> None:
    """Drops the last reference to a communicator, except for one that it has to itself."""
    comm = comms.pop()
    # Only the collector finds a cycle.
    comm._children.append(comm)
    del comm
    gc.collect()
    gc.collect()


def test_a_lost_communicator_warns_once_and_is_ended(fake: FakeBinding) -> None:
    fake.answers["comm_drop"] = 0
    comms = [Communicator.init(2, 0, get_unique_id())]
    with pytest.warns(ResourceWarning, match=WARNED) as seen:
        lose(comms)
    assert len(seen) == 1
    assert fake.last("comm_drop") == (COMM,)
    assert fake.count("comm_destroy") == fake.count("comm_abort") == 0


def test_what_is_destroyed_aborted_or_only_known_is_nobodys_loss(fake: FakeBinding) -> None:
    fake.answers["comm_drop"] = 0
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        Communicator.init(2, 0, get_unique_id()).destroy()
        Communicator.init(2, 0, get_unique_id()).abort()
        Communicator(COMM)
        Communicator()
        fake.answers["comm_init_rank_scalable"] = (4, 0)
        with pytest.raises(NCCLError):
            Communicator.init(2, 0, get_unique_id())
        gc.collect()
    assert not seen
    assert fake.count("comm_drop") == 0


def test_one_that_somebody_else_has_ended_is_no_loss(fake: FakeBinding) -> None:
    fake.answers["comm_drop"] = 4
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        Communicator.init(2, 0, get_unique_id())
        gc.collect()
    assert not seen


class Owner(bytearray):
    """A buffer that can be watched."""


def _with_an_operation(fake: FakeBinding) -> tuple[list[Communicator], weakref.ref[Owner]]:
    """A communicator with an operation under way, and the operation's buffer."""
    fake.answers["all_reduce"] = 7
    comm = Communicator.init(2, 0, get_unique_id())
    buffer = Owner(8)
    comm.allreduce(buffer, buffer, SUM)
    return [comm], weakref.ref(buffer)


# A library that has no memory for the answer gives a system error.
@pytest.mark.parametrize("answer", [0, 7, 2, 3], ids=["begins", "goes on", "system", "internal"])
def test_buffers_of_a_lost_communicator_live_until_it_has_ended(
    fake: FakeBinding, answer: int
) -> None:
    fake.answers["comm_drop"] = 0
    comms, alive = _with_an_operation(fake)
    with pytest.warns(ResourceWarning, match=WARNED):
        lose(comms)
    fake.answers["comm_drop"] = answer
    forget_lost(fake.comm_drop)
    gc.collect()
    assert alive() is not None
    fake.answers["comm_drop"] = 4
    forget_lost(fake.comm_drop)
    gc.collect()
    assert alive() is None


def _operate(comm: Communicator) -> None:
    comm.allreduce(bytearray(8), bytearray(8), SUM)


@pytest.mark.parametrize(
    "call", [Communicator.destroy, Communicator.abort, _operate], ids=["destroy", "abort", "hold"]
)
def test_buffers_of_a_lost_communicator_are_let_go_where_no_other_is_made(
    fake: FakeBinding, call: Callable[[Communicator], None]
) -> None:
    fake.answers["comm_drop"] = 0
    comms, alive = _with_an_operation(fake)
    fake.answers["comm_init_rank_scalable"] = (0, CHILD)
    other = Communicator.init(2, 0, get_unique_id())
    with pytest.warns(ResourceWarning, match=WARNED):
        lose(comms)
    assert alive() is not None
    fake.answers["comm_drop"] = 4
    call(other)
    gc.collect()
    assert alive() is None
    other.abort()


def test_buffers_of_a_lost_communicator_that_somebody_else_has_ended_are_let_go(
    fake: FakeBinding,
) -> None:
    comms, alive = _with_an_operation(fake)
    lose(comms)
    assert alive() is None
    assert COMM not in held


def test_the_end_of_a_lost_communicator_is_tried_again_if_it_could_not_begin(
    fake: FakeBinding,
) -> None:
    fake.answers["comm_drop"] = 2
    comms, alive = _with_an_operation(fake)
    lose(comms)
    asked = fake.count("comm_drop")
    fake.answers["comm_drop"] = 0
    forget_lost(fake.comm_drop)
    assert fake.count("comm_drop") == asked + 1
    assert alive() is not None
    fake.answers["comm_drop"] = 4
    forget_lost(fake.comm_drop)
    gc.collect()
    assert alive() is None


def _loses(rank: Rank, blocking: bool) -> str:
    data = numpy.ones(1000)
    comm = rank.comm()
    if rank.rank == 1:
        comm.allreduce(data, data, SUM)
        child = comm.split(0, config=NCCLConfig(blocking=blocking))
        comm.destroy()
        handle = child.ptr
        children = [child]
        del child
        with pytest.warns(ResourceWarning, match=WARNED):
            lose(children)
        while load().comm_drop(handle) == 7:
            pass
        return "lost"
    comm.allreduce(data, data, SUM)
    child = comm.split(0)
    comm.destroy()
    try:
        child.allreduce(data, data, SUM)
    except NCCLError as error:
        child.destroy()
        return f"{error.name}: {error.detail}"
    return "no error"


@pytest.mark.parametrize("environment", [{}, NET], ids=["shm", "tcp"])
@pytest.mark.parametrize("blocking", [True, False])
def test_peers_of_a_lost_communicator_are_told(environment: dict[str, str], blocking: bool) -> None:
    told, lost = run_ranks(_loses, 2, blocking, environment=environment)
    assert lost == "lost"
    assert told.startswith("RemoteError")
    # A child that is lost while it is made has been aborted.
    assert re.search("rank 1 (has left|aborted)", told), told


def _completes(rank: Rank) -> float:
    """Drops a communicator that does not block while an operation is under way."""
    data = numpy.full(1 << 16, rank.rank + 1.0)
    comm = rank.comm(NCCLConfig(blocking=False))
    while comm.get_async_error() == 7:
        pass
    if rank.rank == 0:
        rank.get("lost")
    comm.allreduce(data, data, SUM)
    handle = comm.ptr
    comms = [comm]
    del comm
    with pytest.warns(ResourceWarning, match=WARNED):
        lose(comms)
    rank.put("lost")
    while load().comm_drop(handle) == 7:
        pass
    return float(data.min())


def test_operations_under_way_come_to_their_end() -> None:
    assert run_ranks(_completes, 2) == [3.0, 3.0]


def test_nothing_is_said_at_the_end_of_a_program_or_in_a_forked_child() -> None:
    code = """
    import gc, warnings
    warnings.simplefilter("always")
    comm = one_rank()
    add(comm)
    cycle = [one_rank()]
    cycle.append(cycle)
    child = os.fork()
    if child == 0:
        del comm, cycle
        gc.collect()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    add(comm)
    """
    output = python(code, environment={"NCCL_DEBUG": "WARN"})
    assert set(output.splitlines()) == {f"NCCL version 2.32.3+jccl{jccl.__version__}"}


def test_the_log_names_the_lost_communicator() -> None:
    code = """
    comm = one_rank()
    del comm
    """
    output = python(code, environment={"NCCL_DEBUG": "WARN"})
    found = re.findall(r"NCCL WARN comm 0x\w+ rank 0 nranks 1 was garbage-collected before", output)
    assert len(found) == 1, output
