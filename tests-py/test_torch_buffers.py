"""After Ctrl-C or an abort torch's operations touch no tensor any more."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from harness import Rank
from torch_team import Team, dist

POISON = 77.0
LATEST_S = 0.006
LATE_WRITERS_S = 0.003
COUNTS = (1, 1000, 50_000, 600_000)
KINDS = ("all_reduce", "all_gather", "all_to_all")


def _operate(kind: str, group: Any, send: Any, recv: Any, asynchronous: bool) -> None:
    works = []
    for _ in range(4 if asynchronous else 1):
        match kind:
            case "all_reduce":
                work = dist.all_reduce(recv[0], group=group, async_op=asynchronous)
            case "all_gather":
                work = dist.all_gather(list(recv), send[0], group=group, async_op=asynchronous)
            case _:
                work = dist.all_to_all(list(recv), list(send), group=group, async_op=asynchronous)
        works.append(work)
    for work in works:
        if work is not None:
            work.wait()


def _end(how: str, after_s: float, group: Any, take: Any) -> None:
    time.sleep(after_s)
    if how == "abort":
        group.abort()
        take()
    else:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)


def _moment(rank: Rank, seed: int) -> None:
    common = random.Random(seed)
    kind, count = common.choice(KINDS), common.choice(COUNTS)
    victim, after_s = common.randrange(rank.nranks), common.random() * LATEST_S
    how, asynchronous = common.choice(("abort", "ctrl-c")), common.random() < 0.5
    name = f"{how}, {kind} of {count}, {asynchronous=}, on rank {victim}, seed {seed}"
    group = dist.new_group(list(range(rank.nranks)))
    send = torch.zeros(rank.nranks, count)
    recv = torch.zeros(rank.nranks, count)

    def take() -> None:
        recv.fill_(POISON)
        send.fill_(POISON)

    is_victim = rank.rank == victim
    ending = threading.Thread(target=_end, args=(how, after_s, group, take))
    dist.barrier()
    text = ""
    try:
        if is_victim:
            ending.start()
        while True:
            _operate(kind, group, send, recv, asynchronous)
    except KeyboardInterrupt:
        if asynchronous:
            # The interrupt may have come between two calls, with works under way.
            group.abort()
    except dist.DistBackendError as error:
        text = str(error)
    if not (is_victim and how == "abort"):
        take()
        group.abort()
    if is_victim:
        ending.join()
        assert bool(text) == (how == "abort"), (name, text)
    else:
        assert f"rank {victim}" in text, (name, text)
    time.sleep(LATE_WRITERS_S)
    dist.barrier()
    assert (recv == POISON).all(), name
    assert (send == POISON).all(), name


def moments(rank: Rank, seed: int, many: int) -> None:
    """Moment after moment, each on a group of its own."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for i in range(many):
        _moment(rank, seed * 1000 + i)


def aborted(rank: Rank) -> None:
    """Operations with a part that stays on this rank, called on a group that was aborted."""
    group = dist.new_group(list(range(rank.nranks)))
    dist.barrier(group=group)
    group.abort()
    own, send = rank.rank, torch.zeros(rank.nranks, 10)
    gaps = torch.full((rank.nranks, 20), POISON)
    recv = torch.full((rank.nranks, 10), POISON)
    calls: list[Callable[[], Any]] = [
        lambda: dist.gather(send[0], list(recv), dst=own, group=group),
        lambda: dist.scatter(recv[0], list(send), src=own, group=group),
        lambda: dist.all_to_all(list(recv), list(send), group=group),
        lambda: dist.all_to_all_single(recv, send, group=group),
        lambda: dist.all_to_all_single(gaps[:, ::2], send, group=group),
        lambda: dist.all_gather(list(recv), send[0], group=group),
        lambda: dist.all_reduce(recv, group=group),
        lambda: dist.all_reduce(gaps[:, ::2], group=group),
    ]
    for call in calls:
        with pytest.raises(dist.DistBackendError):
            call()
        assert (recv == POISON).all()
        assert (gaps == POISON).all()


def test_a_call_on_an_aborted_group_touches_no_tensor(two: Team) -> None:
    two.run(aborted)


def test_no_tensor_is_touched_after_ctrl_c_or_an_abort(two: Team, seed: int) -> None:
    two.run(moments, seed, 12)


@pytest.mark.stress
def test_no_tensor_is_touched_in_five_hundred_moments(two: Team, seed: int) -> None:
    two.run(moments, seed, 500)
