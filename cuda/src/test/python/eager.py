"""What an eager all-reduce costs the program.

BACKEND is torch's "nccl", the default, on whatever library, or "jccl".

Usage, by torchrun, a process for each GPU: eager.py. Rank 0 prints for each size the time of a
call, and the CPU time of its process for a call, all threads counted, while the GPU keeps up; then
which threads it was.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import torch
import torch.distributed as dist
from start import start

CALLS = 20_000
WARM_UP_CALLS = 10_000
#: So many calls are under way at a time.
BATCH = 100
SIZES = (8, 1024, 65536)
#: So many threads are named, those that used most.
THREADS = 6


def run(data: torch.Tensor, calls: int) -> None:
    """Makes calls, and waits for the GPU now and then."""
    for _ in range(calls // BATCH):
        for _ in range(BATCH):
            dist.all_reduce(data)
        torch.cuda.synchronize()


def cpu_ns() -> Counter[str]:
    """The CPU time of this process's threads, by name."""
    used: Counter[str] = Counter()
    for thread in Path("/proc/self/task").iterdir():
        try:
            name = (thread / "comm").read_text().strip()
            used[name] += int((thread / "schedstat").read_text().split()[0])
        except OSError:
            continue
    return used


def main() -> None:
    """Measures on this rank."""
    device = start()
    figures, threads = [], []
    for size in SIZES:
        data = torch.zeros(size // 4, device=device)
        run(data, WARM_UP_CALLS)
        dist.barrier()
        before = cpu_ns()
        began, used = time.perf_counter(), time.process_time()
        run(data, CALLS)
        took, used = time.perf_counter() - began, time.process_time() - used
        spent = cpu_ns() - before
        most = (f"{name} {ns / 1e3 / CALLS:.1f}" for name, ns in spent.most_common(THREADS))
        threads.append(f"{size} B: {', '.join(most)}")
        figures.append(f"{size} B {1e6 * took / CALLS:.1f} us, CPU {1e6 * used / CALLS:.1f} us")
    if dist.get_rank() == 0:
        print("eager:", "; ".join(figures), flush=True)
        print("threads:", "; ".join(threads), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
