"""What an eager all-reduce costs the program.

BACKEND is torch's "nccl", the default, on whatever library, or "jccl".

Usage: eager.py, by torchrun, a process for each GPU; or eager.py LOG..., which prints the best
and the median of the runs that these hold: a run depends on the core that it gets and on that
core's other users, which only add. Rank 0 prints for each size the time of a call, and the CPU
time of its process for a call, all threads counted, while the GPU keeps up; then which threads it
was. Sizes are timed in turns, when Java's compilers are done.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

import torch
import torch.distributed as dist
from start import start

CALLS = 5_000
#: Warming up ends when Java's compilers took less than this part of the time of so many calls, or
#: after so many times.
WARM_UP_CALLS = 20_000
QUIET = 0.01
MOST_WARM_UPS = 20
TURNS = 3
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


def warm_up(data: torch.Tensor) -> int:
    """Makes calls until no rank compiles any more; returns how often."""
    count, quiet = 0, False
    while not quiet and count < MOST_WARM_UPS:
        threads, began = cpu_ns(), time.perf_counter_ns()
        run(data, WARM_UP_CALLS)
        spent = cpu_ns() - threads
        compilers = sum(ns for name, ns in spent.items() if "CompilerThre" in name)
        busy = torch.tensor(compilers / (time.perf_counter_ns() - began), device=data.device)
        dist.all_reduce(busy, dist.ReduceOp.MAX)
        quiet = busy.item() < QUIET
        count += 1
    return count


class Spent:
    """What the calls of one size took, in ns: time, and CPU time by thread."""

    def __init__(self, device: torch.device, size: int) -> None:
        self.data = torch.zeros(size // 4, device=device)
        self.size = size
        self.calls = self.time = self.cpu = 0
        self.threads: Counter[str] = Counter()

    def turn(self) -> None:
        """Makes some calls and adds what they take."""
        run(self.data, BATCH)
        dist.barrier()
        threads, cpu, began = cpu_ns(), time.process_time_ns(), time.perf_counter_ns()
        run(self.data, CALLS)
        self.time += time.perf_counter_ns() - began
        self.cpu += time.process_time_ns() - cpu
        self.threads += cpu_ns() - threads
        self.calls += CALLS

    def text(self) -> str:
        """Figures for a call."""
        each = 1e3 * self.calls
        return f"{self.size} B {self.time / each:.1f} us, CPU {self.cpu / each:.1f} us"

    def threads_text(self) -> str:
        """The threads that used most."""
        each = 1e3 * self.calls
        most = (f"{name} {ns / each:.1f}" for name, ns in self.threads.most_common(THREADS))
        return f"{self.size} B: {', '.join(most)}"


def summary(logs: list[str]) -> str:
    """The best and the medians of what several runs have printed."""
    runs: dict[str, list[tuple[float, ...]]] = {}
    for log in logs:
        said = Path(log).read_text()
        for size, *found in re.findall(r"(\d+ B) ([\d.]+) us, CPU ([\d.]+) us", said):
            runs.setdefault(size, []).append(tuple(float(each) for each in found))
    if not runs:
        raise SystemExit("no run has printed a figure: " + " ".join(logs))
    texts = []
    for size, found in runs.items():
        times, cpu = zip(*found, strict=True)
        texts.append(
            f"{size} {min(times):.1f} us, CPU {min(cpu):.1f} us"
            f" (medians {statistics.median(times):.1f} and {statistics.median(cpu):.1f})"
        )
    return "; ".join(texts)


def main() -> None:
    """Measures on this rank, or reads what runs have printed."""
    if sys.argv[1:]:
        print("eager:", summary(sys.argv[1:]))
        return
    device = start()
    sizes = [Spent(device, size) for size in SIZES]
    warm_ups = warm_up(sizes[0].data)
    for _ in range(TURNS):
        for size in sizes:
            size.turn()
    if dist.get_rank() == 0:
        print("eager:", "; ".join(size.text() for size in sizes), flush=True)
        quiet = "" if warm_ups < MOST_WARM_UPS else "; compilers may still be at work"
        print(f"warmed up by {warm_ups} x {WARM_UP_CALLS} calls{quiet}", flush=True)
        print("threads:", "; ".join(size.threads_text() for size in sizes), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
