"""Times short calls of jccl.core: short.py RANK RANKS FILE REPEATS SIZE...

SIZE is what a rank gives, in bytes. Rank 0 prints the median of the last six times of each, in µs a
call; "mixed" is an all-reduce, an all-gather and a broadcast in turns. Root of the broadcasts is 0.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jccl.core as nccl
import numpy
from repeat import unique_id

CALLS = 100
LAST = 6


def main(rank: int, ranks: int, file: Path, repeats: int, sizes: list[int]) -> None:
    """One rank."""
    comm = nccl.Communicator.init(ranks, rank, unique_id(rank, file))
    word = numpy.zeros(2, "float32")
    times: dict[tuple[str, int], list[float]] = {}
    for _ in range(repeats):
        for size in sizes:
            for name, call in _calls(comm, size, ranks).items():
                comm.allreduce(word, word, nccl.SUM)
                begin = time.perf_counter()
                for _ in range(CALLS):
                    call()
                # So that a root is not done before its readers.
                comm.allreduce(word, word, nccl.SUM)
                taken = (time.perf_counter() - begin) / CALLS
                times.setdefault((name, size), []).append(taken * 1e6)
    comm.destroy()
    if rank == 0:
        for (name, size), each in times.items():
            print(f"| {name} | {size} B | {statistics.median(each[-LAST:]):.1f} |")


def _calls(comm: nccl.Communicator, size: int, ranks: int) -> dict[str, Callable[[], None]]:
    part = numpy.ones(size // 4, "float32")
    whole = numpy.ones(size // 4 * ranks, "float32")

    def all_reduce() -> None:
        comm.allreduce(part, part, nccl.SUM)

    def all_gather() -> None:
        comm.allgather(part, whole)

    def broadcast() -> None:
        comm.broadcast(part, part, 0)

    def mixed() -> None:
        all_reduce()
        all_gather()
        broadcast()

    return {f.__name__: f for f in (all_reduce, all_gather, broadcast, mixed)}


if __name__ == "__main__":
    main(
        int(sys.argv[1]),
        int(sys.argv[2]),
        Path(sys.argv[3]),
        int(sys.argv[4]),
        [int(size) for size in sys.argv[5:]],
    )
