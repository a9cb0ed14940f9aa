"""examples/java: training in plain Java ends with equal parameters, whatever the ranks are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import jccl.bindings
from jccl.bindings import load

LIMIT_S = 600
RANKS = 4
TRAIN = Path(__file__).parent.parent / "examples" / "java" / "Train.java"
(JAR,) = (Path(jccl.bindings.__file__).parent.parent / "_lib").glob("jccl-core-*.jar")
LINE = re.compile(r"rank (\d+): ([\d.]+) % right, parameters ([0-9a-f]+)")


def trained(*command: str) -> dict[int, tuple[float, str]]:
    """What each rank says: how much it gets right, and its parameters."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {int(m[1]): (float(m[2]), m[3]) for m in LINE.finditer(done.stdout)}


def test_processes_and_threads_train_the_same_network() -> None:
    java = [str(Path(load().java_home(), "bin", "java")), "-cp", str(JAR), str(TRAIN)]
    run = [sys.executable, "-m", "jccl.run", "-n", str(RANKS), "--no-python"]
    threads = trained(*java, str(RANKS))
    assert sorted(threads) == list(range(RANKS))
    ((right, parameters),) = set(threads.values())
    assert right > 90
    assert trained(*run, *java) == threads
    # Another number of ranks adds in another order: the parameters do depend on all of it.
    ((_, others),) = set(trained(*java, "2").values())
    assert others != parameters
