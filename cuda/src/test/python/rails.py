"""Four ranks as two nodes of two: rails and nodes by split_group, used at once in backward.

Usage, by torchrun with 4 processes on one GPU or two: rails.py. TORCH_NCCL_USE_COMM_NONBLOCKING=1
makes init and split non-blocking. Rank 0 prints how many steps were right.
"""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed as dist
from start import start

RANKS = 4
STEPS = 20


def gather_on(rails: Any, nodes: Any) -> type[torch.autograd.Function]:
    """An all-gather on the rail whose backward uses the node and the rail together."""

    class Gather(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            out = x.new_empty(2 * x.numel())
            dist.all_gather_into_tensor(out, x, group=rails)
            return out

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> torch.Tensor:
            grad: torch.Tensor = grads[0].contiguous().clone()
            beside = grad.new_empty(2 * grad.numel())
            work = dist.all_reduce(grad, group=nodes, async_op=True)
            dist.all_gather_into_tensor(beside, torch.ones_like(grad), group=rails)
            assert work is not None
            work.wait()
            out: torch.Tensor = grad.new_empty(grad.numel() // 2)
            dist.reduce_scatter_tensor(out, grad, group=rails)
            return out * beside.mean()

    return Gather


def main() -> None:
    """Runs this rank's steps."""
    rank = int(os.environ["LOCAL_RANK"])
    os.environ["NCCL_HOSTID"] = f"node{rank // 2}"
    device = start()
    rails = dist.split_group(split_ranks=[[0, 2], [1, 3]])
    nodes = dist.split_group(split_ranks=[[0, 1], [2, 3]])
    gather = gather_on(rails, nodes)
    for step in range(STEPS):
        first = float(rank % 2 + step)
        count = 1000 * (step + 1)
        x = torch.full((count,), float(rank + step), device=device, requires_grad=True)
        y = gather.apply(x)
        y.sum().backward()
        assert x.grad is not None
        assert (y[0].item(), y[-1].item()) == (first, first + 2), (y[0], y[-1])
        assert x.grad.eq(RANKS).all(), x.grad
    dist.barrier()
    if rank == 0:
        print(f"{STEPS} steps right", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
