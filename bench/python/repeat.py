"""Repeats an operation of jccl.core: repeat.py OPERATION RANK RANKS FILE SIZE CALLS.

SIZE is the bytes of the whole buffer, which an all-gather writes and a reduce-scatter reads.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import jccl.core as nccl
import numpy


def unique_id(rank: int, file: Path) -> nccl.UniqueId:
    """The id that rank 0 makes and passes on by a file."""
    if rank == 0:
        partial = file.with_suffix(".partial")
        partial.write_bytes(bytes(nccl.get_unique_id()))
        partial.rename(file)
    while not file.exists():
        time.sleep(0.001)
    return nccl.UniqueId.from_bytes(file.read_bytes())


def main(operation: str, numbers: list[int], file: Path) -> None:
    """One rank."""
    rank, ranks, size, calls = numbers
    whole = numpy.ones(size // 4, "float32")
    part = numpy.ones(size // 4 // ranks, "float32")
    comm = nccl.Communicator.init(ranks, rank, unique_id(rank, file))
    for _ in range(calls):
        if operation == "all_reduce":
            comm.allreduce(whole, whole, nccl.SUM)
        elif operation == "all_gather":
            comm.allgather(part, whole)
        elif operation == "reduce_scatter":
            comm.reduce_scatter(whole, part, nccl.SUM)
        else:
            comm.broadcast(whole, whole, 0)
    comm.destroy()


if __name__ == "__main__":
    main(sys.argv[1], [int(sys.argv[i]) for i in (2, 3, 5, 6)], Path(sys.argv[4]))
