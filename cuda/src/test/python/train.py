"""Trains a small transformer on GPUs.

BACKEND is torch's "nccl", the default, whichever library that is, or "jccl".

Usage, by torchrun: train.py ddp|fsdp. Rank 0 prints the sum of all ranks' losses after each step.
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from start import start
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

STEPS = 8


def network() -> nn.Sequential:
    """The same on every rank."""
    torch.manual_seed(0)
    blocks = [
        nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True) for _ in range(2)
    ]
    return nn.Sequential(nn.Linear(16, 64), *blocks, nn.Linear(64, 8)).cuda()


def main(how: str) -> None:
    """Trains on this rank."""
    device = start()
    model: nn.Module = network()
    if how == "ddp":
        model = DistributedDataParallel(model, device_ids=[device.index])
    else:
        for layer in model.children():
            fully_shard(layer)
        fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    own = torch.Generator().manual_seed(dist.get_rank())
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 6, 16, generator=own).cuda()).square().mean()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(f"{total.item():.6f}")
    if dist.get_rank() == 0:
        print("losses:", *losses, flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
