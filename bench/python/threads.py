"""What each thread of a rank does in a step of examples/digits, by /proc/PID/task.

torchrun ... bench/python/threads.py FILE examples/digits/train.py ARGUMENTS...

Runs the training. In the later half of its steps each rank counts, for all its threads of a name
together, microseconds on a core, microseconds in which it waited for a core, times that it got one,
and changes of the core, all by step. It writes them to FILE.RANK as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TASKS = Path("/proc/self/task")

#: By a thread's name: ns on a core, ns waiting for one, times that it got one, changes of the core.
Counts = dict[str, list[int]]


def counts() -> Counts:
    """Reads what the kernel has counted for the threads of this process."""
    found: Counts = defaultdict(lambda: [0, 0, 0, 0])
    for task in TASKS.iterdir():
        try:
            name = (task / "comm").read_text().strip()
            ran, waited, times = (task / "schedstat").read_text().split()
            lines = (task / "sched").read_text().splitlines()
        except OSError:
            # The thread has ended meanwhile.
            continue
        moves = next((line.split()[-1] for line in lines if "nr_migrations" in line), "0")
        own = found["first" if task.name == str(os.getpid()) else name]
        for i, value in enumerate((ran, waited, times, moves)):
            own[i] += int(value)
    if not found:
        raise SystemExit(f"the kernel tells nothing in {TASKS}/*/schedstat and sched")
    return found


class Noted(list[float]):
    """A list of the times of steps that notes the counts in its middle and at its end."""

    def __init__(self, seconds: Iterable[float] = (), steps: int = 0) -> None:
        super().__init__(seconds)
        self.steps = steps
        self.middle: Counts = {}
        self.end: Counts = {}

    def append(self, seconds: float) -> None:
        """Adds the time of a step."""
        super().append(seconds)
        if len(self) == self.steps // 2:
            self.middle = counts()
        elif len(self) == self.steps:
            self.end = counts()

    def by_step(self) -> dict[str, list[float]]:
        """Microseconds on a core and waiting, times and changes, of a step of the later half."""
        steps = self.steps - self.steps // 2
        rows = {}
        for name, end in self.end.items():
            began = self.middle.get(name, [0, 0, 0, 0])
            ran, waited, times, moves = (b - a for a, b in zip(began, end, strict=True))
            rows[name] = [ran / steps / 1e3, waited / steps / 1e3, times / steps, moves / steps]
        return rows


def main() -> None:
    """Runs the training with a record that notes."""
    file, program, *arguments = sys.argv[1:]
    sys.path.insert(0, str(Path(program).parent))
    sys.argv = [program, *arguments]
    # By name: another example has a module of this name, too.
    train: Any = importlib.import_module("train")

    epochs = int(arguments[arguments.index("--epochs") + 1])
    noted = Noted(steps=epochs * (len(train.digits()[0]) // train.BATCH))
    make = train.Record

    def record(backend: str, ranks: int) -> Any:
        made = make(backend, ranks)
        made.step_seconds = noted
        return made

    train.Record = record
    train.main()
    Path(f"{file}.{os.environ['RANK']}").write_text(json.dumps(noted.by_step()), encoding="utf-8")


if __name__ == "__main__":
    main()
