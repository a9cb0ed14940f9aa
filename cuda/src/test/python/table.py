"""Runs one of NVIDIA's nccl-tests on JCCL and on NVIDIA's library, and prints rows of a table.

Usage: table.py NAME OURS THEIRS PROGRAM [OPTION...]

OURS and THEIRS are the commands before the program, as one word each. For each size the row has
the times of both in µs, called by the host and in CUDA graphs, and two ratios: JCCL's time in a
graph by the better time of NVIDIA's library, and JCCL's time without graphs by that of NVIDIA's.
Calls of up to 16 MiB by the host are timed after 20,000 others, when Java's compilers are done, and
larger ones after 300, when Java no longer interprets them; 100 of these are timed, since the
begin and end of a series take up to 100 µs. What the former take depends on the cores that a
process gets, by a half on either library, so both are timed in three processes each, in turns, and
the row has the medians. The status is not 0 if a result was wrong or a run of JCCL failed.
"""

from __future__ import annotations

import re
import shlex
import statistics
import subprocess
import sys

LIMIT_S = 120
TURNS = 3
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
    warm: tuple[list[Run], list[Run]] = ([], [])
    for _ in range(TURNS):
        for before, runs in zip((ours, theirs), warm, strict=True):
            runs.append(times(before, command + WARM))
    large, their_large = (times(before, command + LARGE) for before in (ours, theirs))
    graph, their_graph = (times(before, command + GRAPH) for before in (ours, theirs))
    eager = medians(warm[0]) | large[0]
    their_eager = medians(warm[1]) | their_large[0]
    of_jccl = [*warm[0], large, graph]
    statuses = [status for _, _, status in [*of_jccl, *warm[1], their_large, their_graph]]
    wrong = sum(found for _, found, _ in of_jccl)
    for each in sorted(eager):
        columns = (eager, graph[0], their_eager, their_graph[0])
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
