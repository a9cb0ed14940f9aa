"""Callbacks of futures that wait for other operations; every DDP hook that torch ships."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from harness import Cluster, Rank
from jccl.torch.futures import completer
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
    quantization_hooks,
)
from torch.nn.parallel import DistributedDataParallel
from torch_team import LIMIT_S, Team, dist, environment, joined

STEPS = 20
ATOL = 1e-4
"""gloo adds in another order if there are more than two ranks; with two all is equal."""

Future = torch.futures.Future[Any]


def callbacks_wait_for_other_operations(rank: Rank, depth: int) -> None:
    """Each callback starts an operation and waits for its future, whose callback does the same."""

    def deeper(level: int) -> float:
        work = dist.all_reduce(torch.ones(1000), async_op=True)
        future: Future = work.get_future().then(lambda done: inner(done, level))
        return float(future.wait())

    def inner(done: Future, level: int) -> float:
        assert done.value()[0][0].item() == rank.nranks
        return 1.0 + (deeper(level + 1) if level < depth else 0.0)

    assert deeper(1) == depth
    assert sum(t.name == "jccl-futures" for t in threading.enumerate()) <= depth + 2


@pytest.mark.parametrize("depth", [1, 2, 12])
def test_callbacks_wait_for_other_operations(depth: int, two: Team) -> None:
    two.run(callbacks_wait_for_other_operations, depth, timeout=timedelta(seconds=60))


def callbacks_wait_for_operations_behind_them(rank: Rank) -> None:
    """All callbacks wait until the last operation's callback has run."""
    count = 30
    if rank.rank == 1:
        # torch runs a callback at once if it comes after the end of its operation.
        rank.get("registered")
    works = [dist.all_reduce(torch.ones(50_000), async_op=True) for _ in range(count)]
    if rank.rank == 1:
        return
    last = threading.Event()
    futures = [works[k].get_future().then(lambda _: last.wait(60)) for k in range(count - 1)]
    end = works[-1].get_future().then(lambda _: last.set())
    rank.put("registered")
    end.wait()
    assert all(future.wait() for future in futures)


def test_callbacks_wait_for_operations_behind_them(two: Team) -> None:
    two.run(callbacks_wait_for_operations_behind_them)


def the_thread_of_the_futures_progresses_operations(rank: Rank) -> None:
    """Once it has been lent, an operation from start to end needs no other thread.

    One of several turns shows it: a busy machine may hold up threads of the turn before.
    """
    turns, alone = 10, 0
    for turn in range(turns):
        if rank.rank > 0:
            rank.get(f"open/{turn}")
            dist.all_reduce(torch.ones(10))
            continue
        before = _turns_of("jccl-stream")
        future = dist.all_reduce(torch.ones(10), async_op=True).get_future()
        rank.put(f"open/{turn}")
        assert future.wait()[0][0].item() == rank.nranks
        alone += _turns_of("jccl-stream") == before
        # The thread comes back from the future's callbacks.
        while not completer()._leading:
            time.sleep(0.001)
        time.sleep(0.01)
    assert rank.rank > 0 or alone > 0


def _turns_of(name: str) -> int:
    """How often threads of this process whose names begin so have had a core."""
    turns = 0
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if (task / "comm").read_text(encoding="utf-8").startswith(name):
                turns += int((task / "schedstat").read_text(encoding="utf-8").split()[2])
    return turns


def test_the_thread_of_the_futures_progresses_operations(two: Team) -> None:
    two.run(the_thread_of_the_futures_progresses_operations)


def an_abort_runs_no_callback_itself(rank: Rank) -> None:
    """The abort ends an operation whose callback waits for another that the abort ends, too."""
    if rank.rank == 1:
        rank.put("joined")
        rank.get("aborted")
        return
    rank.get("joined")
    first = dist.all_reduce(torch.ones(10), async_op=True).get_future()
    second = dist.all_reduce(torch.ones(10), async_op=True).get_future()
    seen: list[str] = []

    def note(done: Future) -> None:
        with pytest.raises(RuntimeError, match="aborted"):
            second.wait()
        seen.append(threading.current_thread().name)

    noted = first.then(note)
    group = dist.group.WORLD
    assert group is not None
    group.abort()
    noted.wait()
    rank.put("aborted")
    assert seen == ["jccl-futures"]


def test_an_abort_runs_no_callback_itself(two: Team) -> None:
    two.run(an_abort_runs_no_callback_itself)


def _power(batched: bool) -> Any:
    def register(model: Any) -> None:
        powers: Any = powerSGD_hook
        if batched and "torch" in powers._orthogonalize.__module__:
            powers._orthogonalize = _of_matrices(powers._orthogonalize)
        state = powerSGD_hook.PowerSGDState(
            None, matrix_approximation_rank=2, start_powerSGD_iter=2
        )
        hook = powerSGD_hook.batched_powerSGD_hook if batched else powerSGD_hook.powerSGD_hook
        model.register_comm_hook(state, hook)

    return register


def _of_matrices(orthogonalize: Any) -> Any:
    """torch's function for batches of matrices also for one, as batched_powerSGD_hook calls it.

    In torch 2.15 that hook fails on every backend without this.
    """
    return lambda m, epsilon=0: orthogonalize(m.unsqueeze(0) if m.dim() == 2 else m, epsilon)


def _plain(hook: Any) -> Any:
    return lambda model: model.register_comm_hook(None, hook)


def _local(model: Any) -> None:
    groups, _ = dist.new_subgroups(1)
    make: Any = post_localSGD_hook.PostLocalSGDState
    state = make(None, groups, start_localSGD_iter=5)
    model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)


_IN_CPP: Any = dist.BuiltinCommHookType

HOOKS: dict[str, Callable[[Any], None]] = {
    "none": lambda model: None,
    "allreduce": _plain(default_hooks.allreduce_hook),
    "fp16_compress": _plain(default_hooks.fp16_compress_hook),
    "bf16_compress": _plain(default_hooks.bf16_compress_hook),
    "power_sgd": _power(False),
    "batched_power_sgd": _power(True),
    "quantize_per_tensor": _plain(quantization_hooks.quantization_pertensor_hook),
    "quantize_per_channel": _plain(quantization_hooks.quantization_perchannel_hook),
    "post_local_sgd": _local,
    "noop": _plain(debugging_hooks.noop_hook),
    "allreduce_in_c++": lambda model: model._register_builtin_comm_hook(_IN_CPP.ALLREDUCE),
}


def train(rank: Rank, hook: str) -> list[float]:
    """The losses of 20 steps.

    There is only one bucket. If the callbacks of several buckets started operations, these would
    meet those of the backward pass in another order on each rank, with every backend.
    """
    torch.manual_seed(5)
    plain = nn.Sequential(nn.Linear(40, 200), nn.ReLU(), nn.Linear(200, 200), nn.Linear(200, 3))
    model = DistributedDataParallel(plain)
    HOOKS[hook](model)
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.05)
    data = torch.Generator().manual_seed(rank.rank)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 40, generator=data)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def learn(rank: Rank, backend: str) -> None:
    """Trains with every hook on one group, which is not ended.

    gloo ends the process if the last reference to a group is dropped on one of gloo's threads, such
    as with a hook's callback.
    """
    torch.set_num_threads(1)
    limit = timedelta(seconds=60)
    with joined(rank, "hooks", backend, limit):
        for hook in HOOKS:
            rank.put(f"{hook}/{rank.rank}", train(rank, hook))
        rank.get("never")


def losses_with(backend: str) -> dict[str, list[list[float]]]:
    with Cluster(2, environment=environment(), deadline_s=LIMIT_S) as cluster:
        cluster.start(learn, backend)
        return {hook: cluster.wait_for(f"{hook}/0", f"{hook}/1") for hook in HOOKS}


@pytest.fixture(scope="module")
def gloo() -> dict[str, list[list[float]]]:
    return losses_with("gloo")


@pytest.fixture(scope="module")
def jccl() -> dict[str, list[list[float]]]:
    return losses_with("jccl")


@pytest.mark.parametrize("hook", HOOKS)
def test_hooks_train_as_with_gloo(
    hook: str, gloo: dict[str, list[list[float]]], jccl: dict[str, list[list[float]]]
) -> None:
    for ours, theirs in zip(jccl[hook], gloo[hook], strict=True):
        assert len(ours) == STEPS
        assert ours == pytest.approx(theirs, abs=ATOL)


def the_compressing_hook_in_cpp_fails(rank: Rank) -> None:
    model: Any = DistributedDataParallel(nn.Linear(4, 1))
    model._register_builtin_comm_hook(_IN_CPP.FP16_COMPRESS)
    with pytest.raises(RuntimeError, match="should return TensorList"):
        model(torch.ones(1, 4) * rank.rank).sum().backward()


def test_the_compressing_hook_in_cpp_fails(two: Team) -> None:
    two.run(the_compressing_hook_in_cpp_fails)
