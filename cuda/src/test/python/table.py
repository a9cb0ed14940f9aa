"""Runs one of NVIDIA's nccl-tests on JCCL and on NVIDIA's library, and prints rows of a table.

Usage: table.py NAME OURS THEIRS PROGRAM [OPTION...]

OURS and THEIRS are the commands before the program, as one word each. For each size the row has
the times of both in µs, called by the host and in CUDA graphs, and two ratios: JCCL's time in a
graph by the better time of NVIDIA's library, and JCCL's time without graphs by that of NVIDIA's.
Calls of up to 16 MiB by the host are timed after 20,000 others, when Java's compilers are done, and
larger ones after 300, when Java no longer interprets them. The status is not 0 if a result was
wrong or a run of JCCL failed.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

LIMIT_S = 120
FACTOR = ["-f", "8"]
WARM = [*FACTOR, "-b", "8", "-e", "16M", "-n", "1000", "-w", "20000"]
LARGE = [*FACTOR, "-b", "128M", "-e", "1G", "-n", "20", "-w", "300"]
GRAPH = [*FACTOR, "-b", "8", "-e", "1G", "-n", "20", "-w", "20", "-G", "20"]
#: Of a line of results: size, count, type, reduction, root, then time, two rates and wrong results.
ROW = re.compile(
    r"^\s*(\d+)\s+\d+\s+\w+\s+(?:\w+\s+)?-?\d+\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+(\d+|N/A)"
)


def times(before: str, command: list[str]) -> tuple[dict[int, float], int, int]:
    """By size, the time out of place; the number of wrong results; the status."""
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
    options = (WARM, LARGE, GRAPH)
    runs = [times(before, command + more) for before in (ours, theirs) for more in options]
    warm, large, graph, their_warm, their_large, their_graph = (found for found, _, _ in runs)
    eager, their_eager = warm | large, their_warm | their_large
    statuses = [status for _, _, status in runs]
    wrong = sum(found for _, found, _ in runs[:3])
    for each in sorted(eager):
        found = [runs.get(each) for runs in (eager, graph, their_eager, their_graph)]
        known = [time for time in found[2:] if time is not None]
        ratios = [
            ratio(found[1], min(known, default=None) if each > 0 else None),
            ratio(found[0], found[2] if each > 0 else None),
        ]
        cells = [f"{time:.1f}" if time is not None else "-" for time in found]
        print(f"| {name} | {size(each)} | {' | '.join(cells + ratios)} |", flush=True)
    failed = wrong > 0 or any(statuses[:3]) or not eager
    if failed:
        print(f"{name}: {len(eager)} rows, {wrong} wrong; statuses {statuses}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
