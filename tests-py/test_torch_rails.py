"""Scenario S1 through torch: two nodes of two ranks, rails and nodes split from the world.

The world is made without blocking, the groups by ncclCommSplit of it; all-gathers run inside the
backward of a custom Function, on the autograd engine's behalf of a second Python thread.
"""

from __future__ import annotations

import re
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
import torch
from harness import Cluster, Rank
from torch.distributed import ProcessGroup
from torch_team import dist, environment, joined

RAILS = [[0, 2], [1, 3]]
NODES = [[0, 1], [2, 3]]
COUNT = 1000


class Gather(torch.autograd.Function):
    """The identity; its backward gathers the gradient over a group and adds up the parts."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
        ctx.group = group
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        (grad,) = grads
        parts = torch.empty(ctx.group.size(), *grad.shape)
        dist.all_gather_into_tensor(parts, grad.contiguous(), group=ctx.group)
        return parts.sum(0), None


def one_round(rank: Rank, name: str) -> None:
    me = rank.rank
    with joined(rank, name, device_id=torch.device("cpu:0")):
        world = dist.group.WORLD
        assert world is not None
        dist.barrier()
        rail = dist.split_group(split_ranks=RAILS)
        dist.barrier()
        node = dist.split_group(split_ranks=NODES)
        dist.barrier()
        assert isinstance(rail, dist.ProcessGroup)
        assert isinstance(node, dist.ProcessGroup)
        assert (rail.size(), rail.rank()) == (2, me // 2)
        assert (node.size(), node.rank()) == (2, me % 2)
        x = torch.full((COUNT,), 1.0 + me, requires_grad=True)
        failures: list[BaseException] = []

        def backward() -> None:
            try:
                y = Gather.apply(Gather.apply(Gather.apply(x, world), rail), node)
                (y * (1.0 + me)).sum().backward()
            except BaseException as e:
                failures.append(e)

        thread = threading.Thread(target=backward)
        thread.start()
        thread.join()
        if failures:
            raise failures[0]
        # Ranks hold 1, 2, 3, 4; over the node, then the rail, every rank has their sum.
        assert x.grad is not None
        assert bool((x.grad == 4 * 10.0).all())


def rounds(rank: Rank, count: int) -> None:
    torch.set_num_threads(1)
    for k in range(count):
        one_round(rank, f"round-{k}")


def check_log(log: str, splits: int) -> None:
    """Checks that the log shows ncclCommSplit of parents made with blocking=0."""
    made = re.findall(r"(?i)split.*\bblocking[ =:]*0|\bblocking[ =:]*0.*split", log)
    assert len(made) >= splits, log


def run(tmp_path: Path, count: int) -> None:
    log = tmp_path / f"nccl-{uuid.uuid4().hex}"
    more = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": f"{log}.%p"}
    with Cluster(4, hosts=2, environment=environment(**more)) as cluster:
        cluster.start(rounds, count).values()
    logs = [path.read_text(errors="replace") for path in tmp_path.glob(f"{log.name}.*")]
    assert len(logs) == 4
    for text in logs:
        check_log(text, 2 * count)


def test_rails_and_nodes_by_split(tmp_path: Path) -> None:
    run(tmp_path, 2)


@pytest.mark.stress
def test_rails_and_nodes_by_split_again_and_again(tmp_path: Path) -> None:
    run(tmp_path, 20)


@pytest.mark.stress
@pytest.mark.parametrize("turn", range(30))
def test_rails_and_nodes_by_split_in_fresh_processes(tmp_path: Path, turn: int) -> None:
    run(tmp_path, 1)
