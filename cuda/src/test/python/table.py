"""Runs one of NVIDIA's nccl-tests on JCCL and on NVIDIA's library, and prints rows of a table.

Usage: table.py NAME OURS THEIRS PROGRAM [OPTION...]

OURS and THEIRS are the commands before the program, as one word each. For each size the row has
the times of both in µs, called by the host and in CUDA graphs, and two ratios: JCCL's time in a
graph by the better time of NVIDIA's library, and JCCL's time without graphs by that of NVIDIA's.
Calls of up to 16 MiB by the host are timed after 20,000 others, when Java's compilers are done, and
larger ones after 300, when Java no longer interprets them; 100 of these are timed, since the
begin and end of a series take up to 100 µs. What the former take depends on the cores that a
process gets, by a half on either library, so both are timed in three processes each, in turns, and
the row has the medians. If JCCL takes longer for one of these sizes, both are timed in three more
processes each, and if a graph of up to 512 KiB takes more than 0.6 of the better time, in two more,
so that one slow process does not make a row. The status is not 0 if a result was wrong or a run of
JCCL failed.
"""

from __future__ import annotations

import re
import shlex
import statistics
import subprocess
import sys

LIMIT_S = 120
TURNS = 3
#: In a graph JCCL aims at so much of the better time, up to so many bytes.
AIM, SMALL = 0.6, 512 << 10
FACTOR = ["-f", "8"]
WARM = [*FACTOR, "-b", "8", "-e", "16M", "-n", "1000", "-w", "20000"]
LARGE = [*FACTOR, "-b", "128M", "-e", "1G", "-n", "100", "-w", "300"]
GRAPH = [*FACTOR, "-b", "8", "-e", "1G", "-n", "20", "-w", "20", "-G", "20"]
#: Of a line of results: size, count, type, reduction, root, then time, two rates and wrong results.
ROW = re.compile(
    r"^\s*(\d+)\s+\d+\s+\w+\s+(?:\w+\s+)?-?\d+\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+(\d+|N/A)"
)


#: By size, the time out of place; the number of wrong results; the status.
Run = tuple[dict[int, float], int, int]


def times(before: str, command: list[str]) -> Run:
    """Runs a program."""
    try:
        done = subprocess.run(
            [*shlex.split(before), *command],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {}, 0, 124
    found: dict[int, float] = {}
    wrong = 0
    for line in done.stdout.splitlines():
        row = ROW.match(line)
        if row:
            found[int(row[1])] = float(row[2])
            wrong += 0 if row[3] == "N/A" else int(row[3])
    return found, wrong, done.returncode


def medians(runs: list[Run]) -> dict[int, float]:
    """By size, the median of the runs that have it."""
    sizes = set().union(*(found for found, _, _ in runs))
    return {
        each: statistics.median(found[each] for found, _, _ in runs if each in found)
        for each in sizes
    }


def in_turns(befores: list[str], command: list[str], turns: int) -> list[list[Run]]:
    """By library, the runs of a program."""
    runs: list[list[Run]] = [[] for _ in befores]
    for _ in range(turns):
        for before, its in zip(befores, runs, strict=True):
            its.append(times(before, command))
    return runs


def slower(ours: dict[int, float], theirs: dict[int, float], most: float) -> bool:
    """Whether JCCL takes more than so much of the other's time, for a size that both have."""
    return any(
        each > 0 and time > most * theirs[each] for each, time in ours.items() if each in theirs
    )


def better(one: dict[int, float], other: dict[int, float]) -> dict[int, float]:
    """By size up to SMALL, the shorter time."""
    return {each: min(time, other.get(each, time)) for each, time in one.items() if each <= SMALL}


def size(count: int) -> str:
    """Bytes in words."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >> shift:
            return f"{count / (1 << shift):.4g} {unit}"
    return f"{count} B"


def ratio(ours: float | None, theirs: float | None) -> str:
    """How much longer JCCL takes; a dash if there are not both."""
    return "-" if ours is None or not theirs else f"{ours / theirs:.2f}"


def main() -> int:
    """Prints the rows."""
    name, ours, theirs, *command = sys.argv[1:]
    both = [ours, theirs]
    warm = in_turns(both, command + WARM, TURNS)
    if slower(medians(warm[0]), medians(warm[1]), 1):
        more = in_turns(both, command + WARM, TURNS)
        warm = [runs + later for runs, later in zip(warm, more, strict=True)]
    (large,), (their_large,) = in_turns(both, command + LARGE, 1)
    graphs = in_turns(both, command + GRAPH, 1)
    if slower(graphs[0][0][0], better(graphs[1][0][0], medians(warm[1])), AIM):
        more = in_turns(both, command + GRAPH, TURNS - 1)
        graphs = [runs + later for runs, later in zip(graphs, more, strict=True)]
    graph, their_graph = medians(graphs[0]), medians(graphs[1])
    eager = medians(warm[0]) | large[0]
    their_eager = medians(warm[1]) | their_large[0]
    of_jccl = [*warm[0], large, *graphs[0]]
    statuses = [status for _, _, status in [*of_jccl, *warm[1], their_large, *graphs[1]]]
    wrong = sum(found for _, found, _ in of_jccl)
    for each in sorted(eager):
        columns = (eager, graph, their_eager, their_graph)
        found = [column.get(each) for column in columns]
        known = [time for time in found[2:] if time is not None]
        ratios = [
            ratio(found[1], min(known, default=None) if each > 0 else None),
            ratio(found[0], found[2] if each > 0 else None),
        ]
        cells = [f"{time:.1f}" if time is not None else "-" for time in found]
        print(f"| {name} | {size(each)} | {' | '.join(cells + ratios)} |", flush=True)
    failed = wrong > 0 or any(statuses[: len(of_jccl)]) or not eager
    if failed:
        print(f"{name}: {len(eager)} rows, {wrong} wrong; statuses {statuses}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
