"""Handles of asynchronous operations, batches, several groups and time limits."""

from __future__ import annotations

import ctypes
import re
import signal
import threading
import time
from datetime import timedelta
from typing import Any

import jccl.torch
import jccl.torch.communicator
import pytest
import torch
from harness import Cluster, Rank
from jccl._numbers import IN_PROGRESS
from torch.distributed import ProcessGroup
from torch_team import TIMEOUT, Team, dist, environment, joined

#: A time limit that a test waits for; groups get it when they have been made.
SHORT = timedelta(seconds=1)


def works_end_in_any_order_of_waiting(rank: Rank) -> None:
    n = rank.nranks
    tensors = [torch.full((count,), 1.0 + rank.rank) for count in (5, 300_000, 1, 2000)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for k in (2, 0, 3, 1):
        assert works[k].wait()
        assert works[k].is_completed()
        assert works[k].is_success()
        assert works[k].exception() is None
        assert works[k].result()[0].data_ptr() == tensors[k].data_ptr()
    for tensor in tensors:
        assert bool((tensor == n * (n + 1) / 2).all())


def an_operation_ends_while_nobody_waits(rank: Rank) -> None:
    tensor = torch.full((100_000,), 1.0 + rank.rank)
    work = dist.all_reduce(tensor, async_op=True)
    end = time.monotonic() + TIMEOUT.total_seconds()
    while not work.is_completed():
        assert time.monotonic() < end
        time.sleep(0.001)
    assert bool((tensor == rank.nranks * (rank.nranks + 1) / 2).all())


def futures_are_completed_by_a_python_thread(rank: Rank) -> None:
    seen: list[str] = []

    def note(future: torch.futures.Future[list[torch.Tensor]]) -> float:
        seen.append(threading.current_thread().name)
        total = torch.zeros(1)
        # A callback may call collectives itself.
        dist.all_reduce(total)
        return future.value()[0].sum().item()

    if rank.rank == 1:
        # Without this rank the others' operations stay under way, so their futures are open.
        rank.get("noted")
    future = dist.all_reduce(torch.ones(10), async_op=True).get_future().then(note)
    if rank.rank == 0:
        rank.put("noted")
    assert future.wait() == 10.0 * rank.nranks
    if rank.rank == 0:
        assert seen == ["jccl-futures"]
    assert sum(t.name == "jccl-futures" for t in threading.enumerate()) <= 4
    assert all(t.daemon for t in threading.enumerate() if t is not threading.main_thread())


def futures_of_groups_hold_the_results(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    everybody = [float(r) for r in range(n)]

    def gather() -> tuple[Any, list[float]]:
        into = [torch.empty(1) for _ in range(n)] if me == 0 else None
        work = dist.gather(torch.tensor([float(me)]), into, async_op=True)
        return work, everybody if me == 0 else []

    def all_to_all() -> tuple[Any, list[float]]:
        into = [torch.empty(1) for _ in range(n)]
        mine = [torch.tensor([float(me)]) for _ in range(n)]
        return dist.all_to_all(into, mine, async_op=True), everybody

    def batch() -> tuple[Any, list[float]]:
        into = torch.empty(1)
        with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
            dist.irecv(into, (me - 1) % n)
            dist.isend(torch.tensor([float(me)]), (me + 1) % n)
        return manager.works[0], [float((me - 1) % n)]

    for start in (gather, all_to_all, batch):
        if me == 1:
            rank.get(f"open/{start.__name__}")
        work, expected = start()
        future = work.get_future()
        if me == 0:
            rank.put(f"open/{start.__name__}")
        values = [tensor.item() for tensor in future.wait()]
        # A batch's tensors are those that it fills and those that it sends.
        assert values[: len(expected)] == expected, start.__name__
        assert work.is_success()


def two_groups_in_different_order(rank: Rank) -> None:
    first = dist.new_group(list(range(rank.nranks)))
    second = dist.new_group(list(range(rank.nranks)))
    for turn in range(20):
        groups = [first, second] if rank.rank % 2 else [second, first]
        tensors = [torch.full((1 + 5000 * turn,), 1.0) for _ in groups]
        works = [
            dist.all_reduce(t, group=g, async_op=True) for t, g in zip(tensors, groups, strict=True)
        ]
        for work, tensor in zip(works, tensors, strict=True):
            work.wait()
            assert bool((tensor == rank.nranks).all())


def threads_share_a_process(rank: Rank) -> None:
    groups = [dist.new_group(list(range(rank.nranks))) for _ in range(3)]
    failures: list[BaseException] = []

    def sums(group: ProcessGroup) -> None:
        try:
            for k in range(50):
                tensor = torch.full((1 + 997 * (k % 5),), 1.0)
                dist.all_reduce(tensor, group=group)
                assert bool((tensor == rank.nranks).all())
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=sums, args=(group,)) for group in groups]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def sends_and_receives_in_any_order(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    for count in (1, 100_000):
        outgoing = [torch.full((count,), 10.0 * me + peer) for peer in range(n)]
        incoming = [torch.empty(count) for _ in range(n)]
        peers = [p for p in range(n) if p != me]
        # Every rank receives before it sends, and from the last to the first.
        works = [dist.irecv(incoming[p], p) for p in reversed(peers)]
        works += [dist.isend(outgoing[p], p) for p in peers]
        for work in reversed(works):
            work.wait()
        for p in peers:
            assert bool((incoming[p] == 10.0 * p + me).all())


def messages_of_a_pair_keep_their_order(rank: Rank) -> None:
    if rank.rank == 0:
        works = [dist.isend(torch.tensor([float(k)]), 1) for k in range(10)]
    elif rank.rank == 1:
        tensors = [torch.empty(1) for _ in range(10)]
        works = [dist.irecv(tensor, 0) for tensor in tensors]
        assert works[3]._source_rank() == 0
    else:
        return
    for work in works:
        work.wait()
    if rank.rank == 1:
        assert [tensor.item() for tensor in tensors] == list(range(10))


def a_batch_is_in_order(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    for count in (1, 300_000):
        left, right = (me - 1) % n, (me + 1) % n
        incoming = [torch.empty(count) for _ in range(3)]
        mine = torch.full((count,), float(me))
        operations = [
            dist.P2POp(dist.irecv, incoming[0], left),
            dist.P2POp(dist.irecv, incoming[1], right),
            dist.P2POp(dist.irecv, incoming[2], me),
            dist.P2POp(dist.isend, mine, me),
            dist.P2POp(dist.isend, mine, right),
            dist.P2POp(dist.isend, mine + 0.5, left),
        ]
        if n == 2:
            # With two ranks left is right, so that messages of a pair follow each other.
            wanted = [float(left), left + 0.5, float(me)]
        else:
            wanted = [float(left), right + 0.5, float(me)]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        assert [tensor[-1].item() for tensor in incoming] == wanted


def subgroups(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    inside = dist.new_group([0, n - 1])
    if me in (0, n - 1):
        tensor = torch.tensor([1.0 + me])
        dist.all_reduce(tensor, group=inside)
        assert tensor.item() == 1 + n
        dist.destroy_process_group(inside)
    else:
        assert inside is dist.GroupMember.NON_GROUP_MEMBER
    dist.barrier()


def a_split_keeps_the_order_of_its_list(rank: Rank) -> None:
    n, me = rank.nranks, rank.rank
    order = list(reversed(range(n)))
    turned = dist.split_group(split_ranks=[order], group_desc="turned")
    assert isinstance(turned, dist.ProcessGroup)
    assert turned.rank() == n - 1 - me
    assert turned.group_desc == "turned"
    parts = [torch.empty(1) for _ in range(n)]
    dist.all_gather(parts, torch.tensor([float(me)]), group=turned)
    assert [int(part.item()) for part in parts] == order
    alone = dist.split_group(split_ranks=[[0]])
    assert isinstance(alone, dist.ProcessGroup) == (me == 0)
    again = dist.split_group(turned, [order[: n // 2], order[n // 2 :]])
    assert isinstance(again, dist.ProcessGroup)
    tensor = torch.ones(1)
    dist.all_reduce(tensor, group=again)
    assert tensor.item() == again.size()


def a_split_leaves_alone_what_is_under_way(rank: Rank) -> None:
    tensor = torch.zeros(3)
    received = dist.irecv(tensor, 1) if rank.rank == 0 else None
    parts = dist.split_group(split_ranks=[list(range(rank.nranks))])
    dist.barrier(group=parts)
    dist.barrier()
    if rank.rank == 1:
        # Now all ranks have their part, though the receive has been open all the time.
        dist.send(torch.ones(3), 0)
    if received is not None:
        received.wait()
        assert tensor.tolist() == [1.0] * 3


def a_late_rank_is_a_timeout(rank: Rank) -> str:
    group = dist.new_group(list(range(rank.nranks)))
    dist.set_timeout(SHORT, group)
    sentence = ""
    if rank.rank == 0:
        with pytest.raises(dist.DistBackendError) as caught:
            dist.all_reduce(torch.ones(3), group=group)
        sentence = str(caught.value)
        assert "1" in sentence
        # The group has failed; further calls say so at once.
        with pytest.raises(dist.DistBackendError):
            dist.all_reduce(torch.ones(3), group=group)
    rank.meet("timeout")
    dist.barrier()
    return sentence


def errors_reach_waits_and_futures(rank: Rank) -> None:
    group = dist.new_group(list(range(rank.nranks)))
    dist.set_timeout(SHORT, group)
    if rank.rank == 0:
        work = dist.all_reduce(torch.ones(3), group=group, async_op=True)
        future = work.get_future()
        with pytest.raises(RuntimeError, match=r"[Rr]ank"):
            future.wait()
        with pytest.raises(dist.DistBackendError):
            work.wait()
        assert work.is_completed()
        assert not work.is_success()
        assert isinstance(work.exception(), dist.DistBackendError)
        # The library tells everybody who asks, not only the first.
        assert work._native.poll(work._comm, work._ticket, 0) == 8
    rank.meet("errors")


def a_handle_knows_the_late_rank_after_a_shutdown(rank: Rank) -> None:
    group = dist.new_group(list(range(rank.nranks)))
    dist.set_timeout(SHORT, group)
    if rank.rank == 0:
        native = group._comm.native
        _, ended = native.wait_completion(2**64 - 1, 0)
        work = dist.all_reduce(torch.ones(3), group=group, async_op=True)
        assert native.poll(work._comm, work._ticket, -1) == IN_PROGRESS
        native.wait_completion(ended, 60_000)
        dist.destroy_process_group(group)
        assert re.search(r"for ranks? 1,", str(work.exception()))
    rank.meet("shut-down")


def an_aborted_group_says_so(rank: Rank) -> None:
    group = dist.new_group(list(range(rank.nranks)))
    # Nobody aborts while another one may still need it.
    rank.meet("made")
    group.abort()
    value, all_values = torch.ones(3), [torch.ones(3) for _ in range(rank.nranks)]
    for asynchronous in (False, True):
        with pytest.raises(dist.DistBackendError, match="the group was aborted, and takes no more"):
            dist.all_reduce(value, group=group, async_op=asynchronous)
    with pytest.raises(dist.DistBackendError, match="the group was aborted, and takes no more"):
        dist.all_gather(all_values, value, group=group)
    rank.meet("aborted")


def different_calls_are_an_error_on_both_sides(rank: Rank) -> str:
    group = dist.new_group(list(range(rank.nranks)))

    def differently() -> None:
        if rank.rank == 0:
            dist.all_reduce(torch.ones(3), group=group)
        else:
            dist.broadcast(torch.ones(3), 0, group=group)
        dist.barrier(group=group)

    with pytest.raises(dist.DistBackendError) as caught:
        differently()
    rank.meet("different")
    return str(caught.value)


def a_wait_may_have_a_limit_of_its_own(rank: Rank) -> None:
    tensor = torch.ones(1)
    if rank.rank == 0:
        work = dist.all_reduce(tensor, async_op=True)
        for seconds in (0.1, -1):
            with pytest.raises(dist.DistBackendError, match=rf"not over {max(seconds, 0)} s after"):
                work.wait(timedelta(seconds=seconds))
        rank.meet("limit")
        work.wait()
    else:
        rank.meet("limit")
        dist.all_reduce(tensor)
    assert tensor.item() == rank.nranks


def statistics_count_what_was_called(rank: Rank) -> None:
    before = jccl.torch.stats()
    for _ in range(3):
        dist.all_reduce(torch.ones(100))
    dist.broadcast(torch.ones(7, dtype=torch.float64), 0)
    after = jccl.torch.stats()
    assert after["all_reduce"] - before["all_reduce"] == 3
    assert after["all_reduce_bytes"] - before["all_reduce_bytes"] == 1200
    assert after["broadcast_bytes"] - before["broadcast_bytes"] == 56


def tensors_of_inference_mode_are_filled_outside_of_it(rank: Rank) -> None:
    with torch.inference_mode():
        rows = [torch.zeros(3) for _ in range(rank.nranks)]
        gaps = torch.zeros(3, 2)[:, 0]
        mine = torch.full((3,), float(rank.rank))
        works = [
            dist.all_gather(rows, mine, async_op=True),
            dist.broadcast(gaps, 0, async_op=True),
        ]
    for work in works:
        work.wait()
    dist.all_to_all(rows, [mine] * rank.nranks)
    assert [row.tolist() for row in rows] == [[float(r)] * 3 for r in range(rank.nranks)]


def an_abort_ends_a_blocked_wait(rank: Rank) -> None:
    group = dist.new_group(list(range(rank.nranks)))
    if rank.rank == 0:
        work = dist.all_reduce(torch.ones(3), group=group, async_op=True)
        timer = threading.Timer(0.2, group.abort)
        timer.start()
        with pytest.raises(dist.DistBackendError):
            work.wait()
        timer.join()
    rank.meet("abort")
    if rank.rank:
        group.abort()


def a_shutdown_does_not_wait_for_ever(rank: Rank) -> None:
    group = dist.new_group(list(range(rank.nranks)))
    if rank.rank == 0:
        jccl.torch.communicator.SHUTDOWN_LIMIT_S = 0.3
        work = dist.all_reduce(torch.ones(100_000), group=group, async_op=True)
        dist.destroy_process_group(group)
        jccl.torch.communicator.SHUTDOWN_LIMIT_S = 10.0
        with pytest.raises(dist.DistBackendError, match="shut down"):
            work.wait()
    rank.meet("shutdown")
    if rank.rank:
        with pytest.raises(dist.DistBackendError, match="rank 0"):
            dist.all_reduce(torch.ones(100_000), group=group)


@pytest.mark.parametrize(
    "scenario",
    [
        works_end_in_any_order_of_waiting,
        an_operation_ends_while_nobody_waits,
        futures_are_completed_by_a_python_thread,
        futures_of_groups_hold_the_results,
        two_groups_in_different_order,
        threads_share_a_process,
        sends_and_receives_in_any_order,
        messages_of_a_pair_keep_their_order,
        a_batch_is_in_order,
        subgroups,
        a_split_keeps_the_order_of_its_list,
        a_split_leaves_alone_what_is_under_way,
        errors_reach_waits_and_futures,
        a_handle_knows_the_late_rank_after_a_shutdown,
        an_aborted_group_says_so,
        a_wait_may_have_a_limit_of_its_own,
        statistics_count_what_was_called,
        tensors_of_inference_mode_are_filled_outside_of_it,
        an_abort_ends_a_blocked_wait,
        a_shutdown_does_not_wait_for_ever,
    ],
    ids=lambda scenario: str(scenario.__name__),
)
def test_scenario(scenario: object, two: Team, four: Team) -> None:
    for team in (two, four):
        team.run(scenario)  # type: ignore[arg-type]


def test_a_late_rank_is_named(four: Team) -> None:
    sentence = four.run(a_late_rank_is_a_timeout)[0]
    assert "AllReduce" in sentence
    assert "rank" in sentence.lower()


def test_different_calls_name_both(two: Team) -> None:
    for sentence in two.run(different_calls_are_an_error_on_both_sides):
        assert "AllReduce" in sentence
        assert "Broadcast" in sentence


def handler_of_segmentation_faults() -> bytes:
    """The address of what handles SIGSEGV: the first field of its action."""
    action = ctypes.create_string_buffer(256)
    libc = ctypes.CDLL(None)
    assert libc.sigaction(int(signal.SIGSEGV), None, action) == 0
    return action.raw[:8]


def java_survives_torchs_signal_handlers(rank: Rank, calls: int) -> None:
    with joined(rank, "signals"):
        of_java = handler_of_segmentation_faults()
        torch._C._set_print_stack_traces_on_fatal_signal(True)
        assert handler_of_segmentation_faults() == of_java
        for k in range(calls):
            dist.all_reduce(torch.ones(1 + k % 3))
        torch._C._set_print_stack_traces_on_fatal_signal(False)
        assert handler_of_segmentation_faults() == of_java
        dist.barrier()


@pytest.mark.parametrize("calls", [500, pytest.param(20_000, marks=pytest.mark.stress)])
def test_java_survives_torchs_signal_handlers(calls: int) -> None:
    # A safepoint every millisecond, which compiled code meets by a SIGSEGV.
    often = "-XX:+UnlockDiagnosticVMOptions -XX:GuaranteedSafepointInterval=1"
    with Cluster(2, environment=environment(JCCL_JVM_OPTIONS=often)) as cluster:
        cluster.start(java_survives_torchs_signal_handlers, calls).values()
