"""Runs one of NVIDIA's nccl-tests on JCCL and on NVIDIA's library, and prints rows of a table.

Usage: table.py NAME OURS THEIRS PROGRAM [OPTION...]

OURS and THEIRS are the commands before the program, as one word each. For each size the row has
the times of both in µs, called by the host and in CUDA graphs, and three ratios: JCCL's time in a
graph by the better time of NVIDIA's library; JCCL's time without graphs by that of NVIDIA's; and
the latter of medians instead of best times.

The programs first call every size, in steps of two, as often as -w says. So calls of up to 16 MiB
by the host are timed after 66,000 others, when Java's compilers are done, and larger ones after
400, when Java no longer interprets them; 100 of these are timed, since the begin and end of a
series take up to 100 µs. What a small call takes depends on the core that a process gets and on
that core's other users, by a half on either library: all code of the call is slower alike. So
both are timed in five processes each, in turns, twice in each, and in graphs twice in one; what
others take from a core only adds, so the row has the best times, and the ratio of the medians
beside. The status is not 0 if a result was wrong or a run of JCCL failed.
"""

from __future__ import annotations

import re
import shlex
import statistics
import subprocess
import sys
from dataclasses import dataclass, field

LIMIT_S = 60
TURNS = 5
TWICE = ["-f", "8", "-N", "2"]
WARM = [*TWICE, "-b", "8", "-e", "16M", "-n", "1000", "-w", "3000"]
LARGE = [*TWICE, "-b", "128M", "-e", "1G", "-n", "100", "-w", "100"]
GRAPH = [*TWICE, "-b", "8", "-e", "1G", "-n", "20", "-w", "20", "-G", "10"]
#: Of a line of results: size, count, type, reduction, root, then time, two rates and wrong results.
ROW = re.compile(
    r"^\s*(\d+)\s+\d+\s+\w+\s+(?:\w+\s+)?-?\d+\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+(\d+|N/A)"
)


#: By size, the times out of place.
Times = dict[int, list[float]]


@dataclass
class Runs:
    """What runs of a program with one library have printed."""

    before: list[str]
    times: Times = field(default_factory=dict)
    wrong: int = 0
    statuses: list[int] = field(default_factory=list)

    def run(self, command: list[str]) -> None:
        """Runs it once more."""
        try:
            done = subprocess.run(
                [*self.before, *command],
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.statuses.append(124)
            return
        for line in done.stdout.splitlines():
            row = ROW.match(line)
            if row:
                self.times.setdefault(int(row[1]), []).append(float(row[2]))
                self.wrong += 0 if row[3] == "N/A" else int(row[3])
        self.statuses.append(done.returncode)

    def best(self, bytes_: int) -> float | None:
        """The least time of a size; none if no run has it."""
        return min(self.times.get(bytes_, []), default=None)

    def median(self, bytes_: int) -> float | None:
        """The median of a size."""
        return statistics.median(self.times[bytes_]) if bytes_ in self.times else None


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
    eager, their_eager, graph, their_graph = (
        Runs(shlex.split(before)) for before in (ours, theirs, ours, theirs)
    )
    for _ in range(TURNS):
        for runs in (eager, their_eager):
            runs.run(command + WARM)
    for runs in (eager, their_eager):
        runs.run(command + LARGE)
    for runs in (graph, their_graph):
        runs.run(command + GRAPH)
    for each in sorted(eager.times):
        cells = [runs.best(each) for runs in (eager, graph, their_eager, their_graph)]
        known = [time for time in cells[2:] if time is not None and each > 0]
        ratios = [
            ratio(cells[1], min(known, default=None)),
            ratio(cells[0], cells[2] if each > 0 else None),
            ratio(eager.median(each), their_eager.median(each) if each > 0 else None),
        ]
        texts = [f"{time:.1f}" if time is not None else "-" for time in cells]
        print(f"| {name} | {size(each)} | {' | '.join(texts + ratios)} |", flush=True)
    wrong = eager.wrong + graph.wrong
    failed = wrong > 0 or any(eager.statuses + graph.statuses) or not eager.times
    if failed or any(their_eager.statuses + their_graph.statuses):
        statuses = [runs.statuses for runs in (eager, graph, their_eager, their_graph)]
        print(f"{name}: {len(eager.times)} rows, {wrong} wrong; statuses {statuses}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
