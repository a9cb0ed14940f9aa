"""A training that processes and the ranks of one Jep do alike; it imports torch alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    """Layers of several sizes, a buffer, and one that some steps do not use."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(32, 300)
        self.norm = nn.BatchNorm1d(300)
        self.maybe = nn.Linear(300, 300)
        self.last = nn.Linear(300, 5)
        # Not from torch's own random numbers: the ranks of one Jep would draw them in turns.
        drawn = torch.Generator().manual_seed(3)
        for layer in (self.first, self.maybe, self.last):
            for parameter in layer.parameters():
                nn.init.uniform_(parameter, -0.1, 0.1, generator=drawn)

    def forward(self, x: torch.Tensor, use_all: bool) -> torch.Tensor:
        x = self.norm(self.first(x).relu())
        if use_all:
            x = self.maybe(x).relu()
        result: torch.Tensor = self.last(x)
        return result


def train(rank: int, unused: bool, directory: str, compiled: bool = False) -> None:
    """Trains a small network; several buckets a step, so several operations in flight."""
    plain = Net()
    model: Callable[..., torch.Tensor]
    # torch compiles no model whose buckets are smaller than the first, which has 1 MiB.
    cap_mb = 1.0 if compiled else 0.1
    model = DistributedDataParallel(plain, find_unused_parameters=unused, bucket_cap_mb=cap_mb)
    if compiled:
        model = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.05, momentum=0.9)
    data = torch.Generator().manual_seed(100 + rank)
    for step in range(12):
        optimizer.zero_grad()
        x = torch.randn(16, 32, generator=data)
        model(x, not unused or step % 3 > 0).square().mean().backward()
        optimizer.step()
    torch.save(plain.state_dict(), Path(directory, f"{rank}.pt"))
