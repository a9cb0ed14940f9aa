"""A rank of a communicator whose other ranks are programs in other languages.

Usage: member.py ID_FILE DIRECTORY RANKS FIRST KIND COUNT

Every member does all operations with COUNT floats a part in the communicator of all ranks (world),
in one of its own KIND (kind), in one of every second rank in reverse order (across), and in that of
all ranks again; for each result it writes a line with the phase, the operation and the CRC-32 of
the bytes. The member's rank is FIRST plus its RANK in the environment. Rank 0 is a C program, which
writes the unique id to ID_FILE.
"""

from __future__ import annotations

import array
import os
import sys
import time
import zlib
from pathlib import Path
from typing import Any, TextIO

import jccl.core as nccl

PERIOD = 2003
LIMIT_S = 200.0


def wait_for(path: Path) -> bytes:
    """The content of a file that another process renames to this name."""
    deadline = time.monotonic() + LIMIT_S
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} does not come")
        time.sleep(0.01)
    return path.read_bytes()


class Member:
    """One rank: its place in the world, how much it sends, and where it reports."""

    def __init__(self, rank: int, count: int, output: TextIO) -> None:
        self.rank = rank
        self.count = count
        self.output = output

    def input(self, operation: int, parts: int = 1) -> array.array[float]:
        """What this rank gives to an operation."""
        seeds = (self.rank * 7919 + operation * 104729 + i * 31 for i in range(PERIOD))
        period = array.array("f", [(seed % PERIOD - 1001) / 7 for seed in seeds])
        length = parts * self.count
        return (period * (length // PERIOD + 1))[:length]

    def zeros(self, parts: int = 1) -> array.array[float]:
        """Room for a result."""
        return array.array("f", bytes(4 * parts * self.count))

    def all_operations(self, comm: nccl.Communicator, phase: str) -> None:
        """Runs every operation once and reports the results that come to this rank."""

        def report(operation: str, result: Any) -> None:
            self.output.write(f"{phase} {operation} {zlib.crc32(memoryview(result))}\n")

        n, rank, last = comm.nranks, comm.rank, comm.nranks - 1
        y = self.zeros()
        comm.allreduce(self.input(1), y, nccl.SUM)
        report("all_reduce", y)
        comm.broadcast(self.input(2), y, 1 % n)
        report("broadcast", y)
        comm.reduce(self.input(3), y, nccl.SUM, last)
        if rank == last:
            report("reduce", y)
        each = self.zeros(n)
        comm.allgather(self.input(4), each)
        report("all_gather", each)
        comm.reduce_scatter(self.input(5, n), y, nccl.SUM)
        report("reduce_scatter", y)
        comm.alltoall(self.input(6, n), each)
        report("all_to_all", each)
        comm.gather(self.input(7), each if rank == 0 else None, 0)
        if rank == 0:
            report("gather", each)
        comm.scatter(self.input(8, n) if rank == last else None, y, last)
        report("scatter", y)
        with nccl.group():
            comm.send(self.input(9), (rank + 1) % n)
            comm.recv(y, (rank - 1) % n)
        report("ring", y)


def main() -> None:
    """Takes part."""
    id_file, directory, ranks, first, kind, count = sys.argv[1:]
    rank = int(first) + int(os.environ.get("RANK", "0"))
    unique_id = nccl.UniqueId.from_bytes(wait_for(Path(id_file)))
    with (
        Path(directory, str(rank)).open("w", encoding="ascii") as output,
        nccl.Communicator.init(int(ranks), rank, unique_id) as world,
    ):
        member = Member(rank, int(count), output)
        member.all_operations(world, "world")
        with world.split(int(kind), rank) as own:
            member.all_operations(own, "kind")
        with world.split(rank % 2, -rank) as other:
            member.all_operations(other, "across")
        member.all_operations(world, "again")


if __name__ == "__main__":
    main()
