"""Starts torch.distributed on this rank's GPU, by the backend that BACKEND names ("nccl")."""

from __future__ import annotations

import os
from datetime import timedelta

import torch
import torch.distributed as dist

BACKEND = os.environ.get("BACKEND", "nccl")


def start(limit_s: float = 60.0) -> torch.device:
    """Makes the default group; returns this rank's GPU, which ranks may share."""
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    limit = timedelta(seconds=limit_s)
    # Without a launcher: a file by which the ranks find each other.
    method = "file://" + os.environ["STORE"] if "STORE" in os.environ else "env://"
    ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    older = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13)
    if BACKEND == "jccl" and older:
        import older_torch

        older_torch.register()
        dist.init_process_group("jccl", method, limit, ranks[1], ranks[0])
    else:
        dist.init_process_group(BACKEND, method, limit, ranks[1], ranks[0], device_id=device)
    return device
