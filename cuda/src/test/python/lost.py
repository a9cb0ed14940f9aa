"""What a rank on a GPU learns of a peer that is late, dies or leaves, by backend "jccl".

Usage: lost.py. It starts two processes for each case, which share a GPU if there is one only, and
prints for each what rank 0 learned, and after how many seconds.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from start import start

LIMIT_S = 4.0
LARGE = 64 << 20


def _learned(work: Callable[[], Any]) -> str:
    """The sentence of the error that a rank gets in the end, and when it got it."""
    began = time.monotonic()
    while time.monotonic() - began < 30:
        try:
            work()
            torch.cuda.synchronize()
        except dist.DistBackendError as error:
            torch.cuda.synchronize()
            return f"after {time.monotonic() - began:.1f} s: {error}"
        time.sleep(0.05)
    return "nothing"


def late(x: torch.Tensor, rank: int) -> None:
    """Rank 1 does not come in time; the GPU is free again."""
    if rank == 1:
        time.sleep(LIMIT_S + 8)
        return
    print("late:", _learned(lambda: dist.all_reduce(x)), flush=True)


def killed(x: torch.Tensor, rank: int) -> None:
    """Rank 1 dies while rank 0's kernel waits for it."""
    if rank == 1:
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    print("killed:", _learned(lambda: dist.all_reduce(x)), flush=True)


def handle(x: torch.Tensor, rank: int) -> None:
    """Likewise, seen by a handle."""
    if rank == 1:
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    work = dist.all_reduce(x, async_op=True)
    assert work is not None
    print("handle:", _learned(work.wait), work.is_completed(), work.is_success(), flush=True)


def aborted(x: torch.Tensor, rank: int) -> None:
    """Rank 0 gives up a call to which rank 1 does not come."""
    if rank == 1:
        time.sleep(8)
        return
    dist.all_reduce(x)
    group: Any = dist.group.WORLD
    began = time.monotonic()
    group.abort()
    torch.cuda.synchronize()
    took = time.monotonic() - began
    print(f"aborted: {took:.1f} s;", _learned(lambda: dist.all_reduce(x)), flush=True)


CASES = {each.__name__: each for each in (late, killed, handle, aborted)}


def main() -> None:
    """Starts the cases, or is one of their ranks."""
    if len(sys.argv) > 1:
        device = start(LIMIT_S)
        x = torch.ones(LARGE // 4, device=device)
        dist.all_reduce(x)
        torch.cuda.synchronize()
        CASES[sys.argv[1]](x, dist.get_rank())
        sys.stdout.flush()
        os._exit(0)
    for name in CASES:
        with tempfile.TemporaryDirectory() as folder:
            ranks = []
            for rank in range(2):
                env = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
                env |= {"STORE": folder + "/store", "BACKEND": "jccl"}
                command = [sys.executable, __file__, name]
                ranks.append(subprocess.Popen(command, env={**os.environ, **env}))
            for each in ranks:
                each.wait(90)


if __name__ == "__main__":
    main()
