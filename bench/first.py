"""The first seconds on jccl and gloo: all steps of the demo together, and the first calls.

A training of examples/digits on two ranks ends before a JVM's compilers do, so its total shows what
they cost. jccl and gloo take turns in fresh processes: on a quiet machine, beside a process that is
busy half of the time, and beside a busy process for each core.

python bench/first.py [--pairs 9] [--surroundings quiet little busy] [--calls] [--keep FOLDER]

The ranks are forked from a process that has imported torch and has started no JVM. The figures are
the same as without that, but the imports do not take most of the time of a run.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import random
import signal
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RANKS = 2
RUN_LIMIT_S = 180
#: Text, number of busy processes, share of the time in which each of them is busy.
SURROUNDINGS = {
    "quiet": ("nothing else", 0, 0.0),
    "little": ("one process busy half of the time", 1, 0.5),
    "busy": ("a busy process for each core", os.cpu_count() or 1, 1.0),
}
Figures = dict[str, float]


def train(backend: str, rank: int, folder: Path) -> Figures:
    """Trains on one rank; times all steps of the demo together, and one of the later half."""
    demo = importlib.import_module("train")
    sys.argv = ["train.py", "--backend", backend, "--quiet", "--save", str(folder)]
    demo.main()
    if rank != 0:
        return {}
    steps = json.loads((folder / "record.json").read_text())["step_seconds"]
    return {"all steps": sum(steps), "a step": statistics.median(steps[len(steps) // 2 :])}


def calls(backend: str, rank: int, folder: Path) -> Figures:
    """Times what a program waits for until it has its first results."""
    if backend == "core":
        return _core_calls(rank, folder)
    import torch
    import torch.distributed as dist

    data = torch.ones(1 << 18)
    began = time.perf_counter()
    dist.init_process_group(backend)
    ready = time.perf_counter()
    dist.all_reduce(data[:2])
    first = time.perf_counter()
    dist.all_reduce(data[:2])
    second = time.perf_counter()
    dist.all_reduce(data)
    large = time.perf_counter()
    dist.barrier()
    dist.destroy_process_group()
    return _named(began, ready, first, second, large)


def _core_calls(rank: int, folder: Path) -> Figures:
    import numpy

    data = numpy.ones(1 << 18, "float32")
    began = time.perf_counter()
    nccl = importlib.import_module("jccl.core")
    known = folder / "id"
    if rank == 0:
        partial = folder / "partial"
        partial.write_bytes(bytes(nccl.get_unique_id()))
        partial.rename(known)
    while not known.exists():
        time.sleep(0.0005)
    comm = nccl.Communicator.init(RANKS, rank, nccl.UniqueId.from_bytes(known.read_bytes()))
    ready = time.perf_counter()
    comm.allreduce(data[:2], data[:2], nccl.SUM)
    first = time.perf_counter()
    comm.allreduce(data[:2], data[:2], nccl.SUM)
    second = time.perf_counter()
    comm.allreduce(data, data, nccl.SUM)
    large = time.perf_counter()
    comm.destroy()
    return _named(began, ready, first, second, large)


def _named(began: float, ready: float, first: float, second: float, large: float) -> Figures:
    return {
        "init": ready - began,
        "first call": first - ready,
        "second call": second - first,
        "first 1 MiB": large - second,
        "together": large - began,
    }


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _rank(
    work: Callable[[str, int, Path], Figures], backend: str, rank: int, port: int, folder: Path
) -> None:
    """Does a rank's work in a forked child, and ends the child."""
    code = 1
    # Whatever happens, the child must not continue its parent's program.
    with contextlib.suppress(BaseException):
        signal.alarm(RUN_LIMIT_S)
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(RANKS))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        try:
            figures = work(backend, rank, folder)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            raise
        (folder / f"{rank}.json").write_text(json.dumps(figures))
        code = 0
    # gloo's threads sometimes abort a process that ends in the ordinary way.
    os._exit(code)


def measure(work: Callable[[str, int, Path], Figures], backend: str) -> Figures:
    """Rank 0's figures of one run in fresh processes.

    Raises:
        SystemExit: a rank failed; its messages have been shown.
    """
    port = _free_port()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sys.stdout.flush()
        children = []
        for rank in range(RANKS):
            child = os.fork()
            if child == 0:
                _rank(work, backend, rank, port, folder)
            children.append(child)
        failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
        if failed:
            raise SystemExit(f"a rank on {backend} failed")
        found: Figures = json.loads((folder / "0.json").read_text())
    return found


def interval(values: list[float]) -> tuple[float, float]:
    """The interval in which the median of such values lies in 95 % of cases, by order alone."""
    ordered = sorted(values)
    outside = max(0, int((len(values) - 1.96 * len(values) ** 0.5) / 2))
    return ordered[outside], ordered[-1 - outside]


def compare_steps(pairs: int, where: str, keep: Path | None) -> None:
    """Prints a row of the table of steps: jccl and gloo take turns; kept pairs count, too."""
    busy = importlib.import_module("busy").busy
    text, count, share = SURROUNDINGS[where]
    runs: dict[str, list[Figures]] = {"jccl": [], "gloo": []}
    kept = None if keep is None else keep / f"{where}.json"
    if kept is not None and kept.exists():
        runs = json.loads(kept.read_text())
    with busy(count, share):
        for turn in range(pairs):
            for backend in sorted(runs, reverse=turn % 2 == 0):
                runs[backend].append(measure(train, backend))
            if kept is not None:
                kept.write_text(json.dumps(runs))
    alike = zip(runs["jccl"], runs["gloo"], strict=True)
    ratios = [ours["all steps"] / theirs["all steps"] for ours, theirs in alike]
    low, high = interval(ratios)

    def median(backend: str, name: str) -> float:
        return statistics.median(run[name] for run in runs[backend])

    print(
        f"| {text} | {median('jccl', 'all steps'):.2f} s | {median('gloo', 'all steps'):.2f} s"
        f" | {statistics.median(ratios):.2f} | {low:.2f} to {high:.2f}"
        f" | {median('jccl', 'a step') * 1e3:.2f} ms | {median('gloo', 'a step') * 1e3:.2f} ms |",
        flush=True,
    )


def compare_calls(pairs: int) -> None:
    """Prints the table of first calls, on a machine without other work."""
    names = {"core": "jccl.core", "jccl": "torch, jccl", "gloo": "torch, gloo"}
    runs: dict[str, list[Figures]] = {backend: [] for backend in names}
    for _ in range(pairs):
        for backend in random.sample(sorted(names), len(names)):
            runs[backend].append(measure(calls, backend))
    rows = list(runs["core"][0])
    print(f"\n| ms | {' | '.join(rows)} |\n|---|{'---|' * len(rows)}")
    for backend, name in names.items():
        medians = [statistics.median(run[row] for run in runs[backend]) for row in rows]
        print(f"| {name} | {' | '.join(f'{median * 1e3:.2f}' for median in medians)} |")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--surroundings", nargs="*", choices=SURROUNDINGS, default=SURROUNDINGS)
    parser.add_argument("--calls", action="store_true", help="also time the first calls")
    parser.add_argument("--keep", type=Path, help="folder that collects pairs over several runs")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path[:0] = [str(ROOT / "bench" / "python"), str(ROOT / "examples" / "digits")]
    for needed in ("torch._dynamo", "train"):
        importlib.import_module(needed)
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    if options.surroundings:
        print("| beside | jccl | gloo | jccl / gloo | 95 % interval | a step | on gloo |")
        print("|---|---|---|---|---|---|---|")
    for where in options.surroundings:
        compare_steps(options.pairs, where, options.keep)
    if options.calls:
        compare_calls(options.pairs)


if __name__ == "__main__":
    main()
