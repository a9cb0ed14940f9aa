"""Trains on jccl, on gloo and in one process, and compares the three.

python examples/digits/compare.py --ranks 2

Ends with an error if the network has learned too little, if at 2 ranks jccl's parameters differ
from gloo's in any bit, or if the operations that the communicators counted are not those that
DDP's communication hook logged.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

TRAIN = Path(__file__).with_name("train.py")
NAMES = ("jccl", "gloo", "none")
LEAST_ACCURACY = 0.95


@dataclass
class Runs:
    """The runs of one backend.

    Attributes:
        record: what the last one recorded.
        parameters: what it learned.
        step_medians: median time of a step in the second half of each, in seconds.
        all_steps: time of all steps of each, in seconds; jccl's includes compilation by its JVM.
    """

    record: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, torch.Tensor] = field(default_factory=dict)
    step_medians: list[float] = field(default_factory=list)
    all_steps: list[float] = field(default_factory=list)

    def add(self, directory: Path) -> None:
        """Adds the run whose results are in a directory."""
        self.record = json.loads((directory / "record.json").read_text())
        self.parameters = torch.load(directory / "parameters.pt")
        steps = self.record["step_seconds"]
        self.step_medians.append(statistics.median(steps[len(steps) // 2 :]))
        self.all_steps.append(sum(steps))


def run(backend: str, ranks: int, epochs: int, quiet: bool, directory: Path) -> None:
    """One training in processes of its own.

    Raises:
        SystemExit: it failed; its messages have been shown.
    """
    command = [sys.executable]
    if backend != "none":
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command += [str(TRAIN), "--backend", backend, "--epochs", str(epochs), "--save", str(directory)]
    if quiet:
        command.append("--quiet")
    if backend == "jccl":
        # This proves that no call reaches gloo.
        command.append("--forbid-gloo")
    status = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False)
    if status.returncode == 0:
        return
    if backend == "gloo" and (directory / "record.json").exists():
        # A process that uses gloo sometimes aborts while it ends; its work is done by then.
        print("gloo's processes did not end cleanly after their training")
        return
    raise SystemExit(f"the training on {backend} failed")


def difference(a: Runs, b: Runs) -> float:
    """Largest difference of two networks' parameters; 0 only if every bit is the same."""
    largest = 0.0
    for name, mine in a.parameters.items():
        other = b.parameters[name]
        if torch.equal(mine.view(torch.int32), other.view(torch.int32)):
            continue
        largest = max(largest, (mine - other).abs().max().item(), sys.float_info.min)
    return largest


def table(runs: dict[str, Runs], ranks: int) -> None:
    """Prints the three side by side, then what jccl's ranks have counted."""
    print(f"\n{'':10} {'held-out':>9} {'largest difference':>19} {'time per step':>16} {'all':>8}")
    print(f"{'':10} {'accuracy':>9} {'to gloo':>19} {'later half, ms':>16} {'steps, s':>8}")
    for name in NAMES:
        one = runs[name]
        print(
            f"{'1 process' if name == 'none' else f'{name} x {ranks}':10} "
            f"{one.record['accuracy']:9.4f} {difference(one, runs['gloo']):19.2e} "
            f"{statistics.median(one.step_medians) * 1000:16.3f} "
            f"{statistics.median(one.all_steps):8.2f}"
        )
    logged = runs["jccl"].record["reduced_bytes"]
    print(f"\nlogged by DDP's hook: {len(logged)} all-reduces, {sum(logged)} bytes")
    for rank, counted in enumerate(runs["jccl"].record["counted"]):
        print(
            f"counted on rank {rank}: {counted['all_reduce']} all-reduces, "
            f"{counted['all_reduce_bytes']} bytes; sent over shm {counted['shm_bytes']}, "
            f"net {counted['net_bytes']}, self {counted['self_bytes']}"
        )


def verdict(runs: dict[str, Runs], ranks: int) -> list[str]:
    """Sentences that say what is wrong; none if all is well."""
    wrong = []
    for name in NAMES:
        accuracy = runs[name].record["accuracy"]
        if accuracy < LEAST_ACCURACY:
            wrong.append(f"{name}: accuracy {accuracy:.4f} is below {LEAST_ACCURACY}")
    apart = difference(runs["jccl"], runs["gloo"])
    if ranks == 2 and apart:
        wrong.append(f"jccl's parameters differ from gloo's by up to {apart:.2e}")
    logged = runs["jccl"].record["reduced_bytes"]
    counted = runs["jccl"].record["counted"]
    if len(counted) != ranks:
        wrong.append(f"{len(counted)} of {ranks} ranks have counted")
    for rank, of_rank in enumerate(counted):
        if (of_rank["all_reduce"], of_rank["all_reduce_bytes"]) != (len(logged), sum(logged)):
            wrong.append(f"rank {rank} counted other all-reduces than the hook logged")
        # When DDP has seen the order in which gradients come, it broadcasts its buckets in two
        # messages of its own.
        allowed = {"broadcast": 2, "all_gather": 0, "reduce_scatter": 0, "send": 0, "recv": 0}
        others = [name for name, most in allowed.items() if of_rank[name] > most]
        if others:
            wrong.append(f"rank {rank} counted operations nobody asked for: {', '.join(others)}")
    return wrong


def main() -> int:
    """Runs, prints and judges; 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, interleaved")
    options = parser.parse_args()
    runs = {name: Runs() for name in NAMES}
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(options.rounds):
            for name in NAMES:
                print(f"--- {name}, run {turn + 1} of {options.rounds}", flush=True)
                directory = Path(scratch) / f"{name}-{turn}"
                directory.mkdir()
                run(name, options.ranks, options.epochs, turn > 0, directory)
                runs[name].add(directory)
        table(runs, options.ranks)
        wrong = verdict(runs, options.ranks)
    for sentence in wrong:
        print(f"WRONG: {sentence}")
    print("all is well" if not wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
