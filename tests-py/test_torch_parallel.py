"""torch's ways to share a model out among ranks: they compute what they do on gloo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed.checkpoint
from harness import Rank
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel
from torch_team import Team, dist

# Any: torch does not declare what it exports there.
checkpoint: Any = torch.distributed.checkpoint

WIDTH = 16
STEPS = 4


def drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def net(layers: int = 3) -> nn.Sequential:
    """A network with the same parameters on all ranks."""
    model = nn.Sequential()
    for number in range(layers):
        layer = nn.Linear(WIDTH, WIDTH)
        layer.weight.data = drawn(number, WIDTH, WIDTH) / 4
        layer.bias.data.zero_()
        model.append(layer)
        model.append(nn.Tanh())
    return model


def learn(model: nn.Module, optimizer: Any, seed: int, steps: int = STEPS) -> list[float]:
    """Trains on the rank's data; returns the sums of the ranks' losses."""
    losses = []
    for step in range(steps):
        x = drawn(100 * seed + step, 8, WIDTH)
        loss = (model(x) - x.flip(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach()
        dist.all_reduce(total)
        losses.append(total.item())
    return losses


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def sharded_parameters(rank: Rank, _: str) -> list[float]:
    model = net()
    mesh = init_device_mesh("cpu", (rank.nranks,))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return learn(model, sgd(model), rank.rank)


def sharded_optimizer(rank: Rank, _: str) -> list[float]:
    model = DistributedDataParallel(net())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.01)
    return learn(model, optimizer, rank.rank)


def sharded_layers(rank: Rank, _: str) -> list[float]:
    mesh = init_device_mesh("cpu", (rank.nranks,))
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    model = parallelize_module(net(), mesh, plan)
    # All ranks have the same data.
    return learn(model, sgd(model), 1)


def stages(rank: Rank, _: str) -> list[float]:
    me, last = rank.rank, rank.nranks - 1
    model = net(rank.nranks)[2 * me : 2 * me + 2]
    stage = PipelineStage(model, me, rank.nranks, torch.device("cpu"))
    schedule = Schedule1F1B(stage, 4, loss_fn=lambda got, x: (got - x).square().mean())
    optimizer = sgd(model)
    totals = []
    for step in range(STEPS):
        x = drawn(step, 16, WIDTH)
        losses: list[torch.Tensor] = []
        inputs = (x,) if me == 0 else ()
        ends: dict[str, Any] = {"target": x.flip(1), "losses": losses} if me == last else {}
        optimizer.zero_grad()
        schedule.step(*inputs, **ends)
        optimizer.step()
        total = torch.stack(losses).mean().detach() if losses else torch.zeros(())
        dist.all_reduce(total)
        totals.append(total.item())
    return totals


def saved_and_loaded(rank: Rank, directory: str) -> list[float]:
    model = net()
    fully_shard(model, mesh=init_device_mesh("cpu", (rank.nranks,)))
    optimizer = sgd(model)
    before = learn(model, optimizer, rank.rank)
    parameters, moments = get_state_dict(model, optimizer)
    checkpoint.save({"model": parameters, "optimizer": moments}, checkpoint_id=directory)
    after = learn(model, optimizer, rank.rank)
    parameters, moments = get_state_dict(model, optimizer)
    state: dict[str, Any] = {"model": parameters, "optimizer": moments}
    checkpoint.load(state, checkpoint_id=directory)
    set_state_dict(
        model,
        optimizer,
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
    )
    assert learn(model, optimizer, rank.rank) == after
    return before + after


def uneven_inputs(rank: Rank, _: str) -> list[float]:
    model = DistributedDataParallel(net())
    optimizer = sgd(model)
    with Join([model]):
        for step in range(2 + rank.rank):
            optimizer.zero_grad()
            model(drawn(step, 8, WIDTH)).sum().backward()
            optimizer.step()
    return [p.sum().item() for p in model.parameters()]


def placements(rank: Rank, _: str) -> list[float]:
    mesh = init_device_mesh("cpu", (rank.nranks,))
    whole = torch.arange(7 * 10.0).reshape(7, 10)
    rows = distribute_tensor(whole, mesh, [Shard(0)])
    columns = rows.redistribute(mesh, [Shard(1)])
    assert torch.equal(columns.full_tensor(), whole)
    assert torch.equal(columns.redistribute(mesh, [Replicate()]).to_local(), whole)
    summed = DTensor.from_local(whole * (rank.rank + 1), mesh, [Partial()])
    assert torch.equal(summed.full_tensor(), whole * 3)
    assert torch.equal(summed.redistribute(mesh, [Shard(0)]).full_tensor(), whole * 3)
    for how, factor in (("max", 2.0), ("avg", 1.5)):
        part = DTensor.from_local(whole * (rank.rank + 1), mesh, [Partial(how)])
        assert torch.equal(part.full_tensor(), whole * factor)
    return []


PROGRAMS: list[Callable[[Rank, str], list[float]]] = [
    sharded_parameters,
    sharded_optimizer,
    sharded_layers,
    stages,
    saved_and_loaded,
    uneven_inputs,
    placements,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_two_ranks_compute_what_they_do_on_gloo(
    two: Team, program: Callable[[Rank, str], list[float]], tmp_path: Path
) -> None:
    ours, theirs = (
        two.run(program, str(tmp_path / backend), backend=backend) for backend in ("jccl", "gloo")
    )
    assert ours == theirs
