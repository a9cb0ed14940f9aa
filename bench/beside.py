"""JCCL beside other work: all-reduces and a training step while other processes keep cores busy.

The libraries take turns beside 0, 1 and 2 busy processes. The table shows medians over the turns,
and medians of the ratios within a turn: JCCL from torch to gloo, and JCCL from Java and C to
OpenMPI, which is told to yield. The script neither pins a process nor raises its priority. The time
of a call is the median of nine means over a tenth of a second, which is many slices of a core. The
time of a step of examples/digits is the median over the later half of its steps.

python bench/beside.py [--pairs 9] [--busy 0 1 2] [--only calls step] [--json FILE]
python bench/beside.py --threads --pairs 3 --busy 2
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import compare

sys.path.insert(0, str(compare.HERE / "python"))

from busy import busy

SIZES = [8, 4096, 256 << 10, 4 << 20]
STEP = "step"
RATIOS = {"java": "openmpi", "c": "openmpi", "torch-jccl": "torch-gloo"}
TRAIN = compare.ROOT / "examples/digits/train.py"
THREADS = compare.HERE / "python/threads.py"
SERIES = {"MEASURE_SERIES_MS": "100", "MEASURE_PATIENCE_MS": "0"}

#: Threads that run more rarely in a step are not shown.
LEAST_TIMES = 0.05

#: Microseconds by what was timed: a size in bytes, or STEP.
Row = dict[str, float]


def _calls(library: str, setting: compare.Setting) -> Row:
    """Times the all-reduces of a library on two ranks."""
    table = compare.LIBRARIES[library](setting, 2, [str(size) for size in SIZES])
    return {str(size): figure.us for size, figure in table.items()}


def _train(library: str, directory: str, *before: str) -> list[float]:
    """Seconds of each step of the demo on two ranks, which torchrun starts."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [sys.executable, *torchrun, *before, str(TRAIN), "--backend", library.split("-")[1]]
    command += ["--epochs", "40", "--quiet", "--save", directory]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    record = Path(directory, "record.json")
    if done.returncode != 0 or not record.exists():
        raise SystemExit(f"the training on {library} failed:\n{done.stdout}{done.stderr}")
    steps: list[float] = json.loads(record.read_text(encoding="utf-8"))["step_seconds"]
    return steps


def _later_us(steps: list[float]) -> float:
    """The median of the later half, in which a training is warm."""
    return statistics.median(steps[len(steps) // 2 :]) * 1e6


def _step(library: str, _: compare.Setting) -> Row:
    """Times a step of the demo."""
    with tempfile.TemporaryDirectory() as directory:
        return {STEP: _later_us(_train(library, directory))}


def _threads(library: str) -> None:
    """Prints what each thread of each rank does in a step of the demo."""
    with tempfile.TemporaryDirectory() as directory:
        steps = _train(library, directory, str(THREADS), f"{directory}/threads")
        print(f"{library}: a step takes {compare.us_text(_later_us(steps))} us")
        for rank in range(2):
            text = Path(directory, f"threads.{rank}").read_text(encoding="utf-8")
            rows: dict[str, list[float]] = json.loads(text)
            for name, (ran, waited, times, moves) in sorted(
                rows.items(), key=lambda row: -row[1][0]
            ):
                if times > LEAST_TIMES:
                    print(
                        f"  rank {rank} {name:16} on a core {ran:5.0f} us, waiting for one "
                        f"{waited:5.0f} us, got one {times:5.2f} times, another {moves:.2f} times",
                        flush=True,
                    )


MEASURES: dict[str, tuple[Callable[[str, compare.Setting], Row], list[str]]] = {
    "calls": (_calls, ["java", "c", "openmpi", "torch-jccl", "torch-gloo"]),
    "step": (_step, ["torch-jccl", "torch-gloo"]),
}


@contextlib.contextmanager
def _others(processes: int) -> Iterator[None]:
    """Keeps busy processes."""
    with contextlib.ExitStack() as others:
        for _ in range(processes):
            # Each has a session of its own, as each rank under torchrun has: Linux divides a core
            # between sessions first.
            others.enter_context(busy(1, apart=True))
        yield


def _turns(
    names: list[str], measure: Callable[[str, compare.Setting], Row], n: int, processes: int
) -> dict[str, list[Row]]:
    """Runs turns of all libraries beside some busy processes."""
    setting = compare.setting()
    rows: dict[str, list[Row]] = {name: [] for name in names}
    for turn in range(n):
        for name in names if turn % 2 == 0 else reversed(names):
            with _others(processes):
                rows[name].append(measure(name, setting))
            print(f"# {processes} busy, turn {turn + 1}: {name} {rows[name][-1]}", flush=True)
    return rows


def _name(what: str) -> str:
    return what if what == STEP else compare.size_name(int(what))


def table(results: dict[str, dict[str, list[Row]]]) -> str:
    """Markdown: a line for each number of busy processes and each call; libraries, then ratios."""
    names = list(dict.fromkeys(name for rows in results.values() for name in rows))
    ratios = [(a, b) for a, b in RATIOS.items() if a in names and b in names]
    heads = ["busy", "call", *names, *(f"{a} / {b}" for a, b in ratios)]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for processes, rows in results.items():
        whats = dict.fromkeys(what for turns in rows.values() for row in turns for what in row)
        for what in whats:
            cells = [processes, _name(what)]
            for name in names:
                found = [row[what] for row in rows[name] if what in row]
                cells.append(compare.us_text(statistics.median(found)) if found else "")
            for a, b in ratios:
                pairs = zip(rows[a], rows[b], strict=True)
                found = [x[what] / y[what] for x, y in pairs if what in x and what in y]
                cells.append(f"{statistics.median(found):.2f}" if found else "")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _wanted(asked: list[str] | None, libraries: list[str]) -> list[str]:
    """Those of some libraries that were asked for; all if none was."""
    return [name for name in libraries if not asked or name in asked]


def main() -> None:
    """Runs, prints the table, adds the figures to a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--libraries", nargs="+", choices=MEASURES["calls"][1])
    parser.add_argument(
        "--threads",
        action="store_true",
        help="instead of a table, what each thread does in a step of the demo, in --pairs turns",
    )
    parser.add_argument("--json", type=Path, help="file to add the figures to")
    options = parser.parse_args()
    if options.threads and options.json:
        parser.error("--threads prints text only: leave --json out")
    os.environ.update(SERIES)
    compare.undisturbed = False
    if options.threads:
        for turn in range(options.pairs):
            for processes in options.busy:
                for library in _wanted(options.libraries, MEASURES[STEP][1]):
                    print(f"# {processes} busy, turn {turn + 1}")
                    with _others(processes):
                        _threads(library)
        return
    compare.build(compare.setting(), ["openmpi"])
    results: dict[str, dict[str, list[Row]]] = {}
    if options.json and options.json.exists():
        results = json.loads(options.json.read_text(encoding="utf-8"))
    for processes in options.busy:
        for what in options.only:
            measure, libraries = MEASURES[what]
            names = compare.present(compare.setting(), _wanted(options.libraries, libraries))
            rows = _turns(names, measure, options.pairs, processes)
            known = results.setdefault(str(processes), {})
            for name in names:
                known.setdefault(name, []).extend(rows[name])
    print(table(results))
    print(
        datetime.now(timezone.utc).isoformat(timespec="seconds"), compare.machine(compare.setting())
    )
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
