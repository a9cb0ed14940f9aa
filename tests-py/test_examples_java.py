"""examples/java: training in plain Java ends with equal parameters, whatever the ranks are."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import readme

LIMIT_S = 600
RANKS = 4
LINE = re.compile(r"rank (\d+): ([\d.]+) % right, parameters ([0-9a-f]+)")


def trained(command: str, folder: Path) -> dict[int, tuple[float, str]]:
    """What each rank says: how much it gets right, and its parameters."""
    done = subprocess.run(
        ["bash", "-c", f"{readme.commands_path()} {command}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {int(m[1]): (float(m[2]), m[3]) for m in LINE.finditer(done.stdout)}


def test_processes_and_threads_train_the_same_network(tmp_path: Path) -> None:
    """Runs the README's block of two commands: 4 processes, then 4 threads."""
    (block,) = [b for b in readme.blocks() if b.remark == readme.TRAINS_IN_JAVA]
    readme.lay_files(block, tmp_path)
    processes, threads = block.code.splitlines()
    assert threads.endswith(f" {RANKS}"), threads
    by_threads = trained(threads, tmp_path)
    assert sorted(by_threads) == list(range(RANKS))
    ((right, parameters),) = set(by_threads.values())
    assert right > 90
    assert trained(processes, tmp_path) == by_threads
    # Another number of ranks adds in another order: the parameters do depend on all of it.
    two = threads.removesuffix(f" {RANKS}") + " 2"
    ((_, others),) = set(trained(two, tmp_path).values())
    assert others != parameters
