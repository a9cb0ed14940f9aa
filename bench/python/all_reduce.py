"""Measures dist.all_reduce of floats as c/measure.c does; in torch it is always in place.

all_reduce.py BACKEND RANK RANKS STORE_FILE TOUCH_LIBRARY SIZE...; rank 0 prints "size
microseconds stolen" for each size. A function of TOUCH_LIBRARY reads and writes a word of every
cache line; calling it costs the same on every backend and is part of the time.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist

SERIES = 9
CALIBRATION_CALLS = 10
MAX_CALLS = 1_000_000_000 if "MEASURE_SERIES_MS" in os.environ else 200_000
MIN_CALLS = 3
WARM_UP_NS = 300e6
SERIES_NS = float(os.environ.get("MEASURE_SERIES_MS", 20)) * 1e6
PATIENCE_NS = float(os.environ.get("MEASURE_PATIENCE_MS", 5000)) * 1e6
PAUSE_S = 0.05


def maximum(mine: float) -> float:
    """The largest of all ranks' numbers."""
    number = torch.tensor([mine], dtype=torch.float64)
    dist.all_reduce(number, op=dist.ReduceOp.MAX)
    return float(number.item())


def stolen() -> int:
    """Hundredths of a second that the host of a virtual machine has kept from it so far."""
    with open("/proc/stat", encoding="ascii") as statistics:
        return int(statistics.readline().split()[8])


def quiet_series(series: Callable[[int], float], n: int) -> tuple[float, float]:
    """Nanoseconds of a call, and what was stolen: see c/measure.c."""
    every: list[tuple[float, float]] = []
    quiet = 0
    since = time.perf_counter_ns()
    while len(every) < SERIES or (
        quiet < SERIES and maximum(time.perf_counter_ns() - since) < PATIENCE_NS
    ):
        before = stolen()
        ns = series(n)
        every.append((maximum(stolen() - before), ns))
        if every[-1][0] == 0:
            quiet += 1
        else:
            time.sleep(PAUSE_S)
            series(MIN_CALLS)
    every.sort(key=lambda one: one[0])
    most = every[SERIES - 1][0]
    return sorted(ns for _, ns in every[:SERIES])[SERIES // 2], most


def check(data: torch.Tensor) -> None:
    """Ends the program if a sum is wrong."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    index = torch.arange(data.numel()) % 1024
    data.copy_(index + rank)
    dist.all_reduce(data)
    expected = (ranks * index + ranks * (ranks - 1) / 2).to(torch.float32)
    if not torch.equal(data, expected):
        raise SystemExit(f"wrong sum of {data.numel()} elements")


def main(arguments: list[str]) -> None:
    """One rank."""
    backend, rank, ranks, store, library = arguments[:5]
    torch.set_num_threads(1)
    touch = ctypes.CDLL(library).touch
    touch.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_float]
    touch.restype = ctypes.c_float
    dist.init_process_group(
        backend,
        init_method=f"file://{store}",
        rank=int(rank),
        world_size=int(ranks),
        timeout=timedelta(seconds=120),
    )

    def calls(data: torch.Tensor, n: int) -> float:
        address, count, all_reduce = data.data_ptr(), data.numel(), dist.all_reduce
        since = time.perf_counter_ns()
        for _ in range(n):
            touch(address, count, 1.0)
            all_reduce(data)
        return (time.perf_counter_ns() - since) / n

    def agreed(call_ns: float) -> int:
        return min(MAX_CALLS, max(MIN_CALLS, int(SERIES_NS / maximum(call_ns))))

    for size in map(int, arguments[5:]):
        data = torch.empty(size // 4, dtype=torch.float32)
        check(data)
        call_ns = calls(data, CALIBRATION_CALLS)
        warm_ns = 0.0
        while maximum(warm_ns) < WARM_UP_NS:
            n = agreed(call_ns)
            call_ns = calls(data, n)
            warm_ns += call_ns * n
        n = agreed(call_ns)
        ns, most = quiet_series(lambda n, data=data: calls(data, n), n)  # type: ignore[misc]
        check(data)
        if rank == "0":
            print(f"{size} {ns / 1000:.4f} {most:.0f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
