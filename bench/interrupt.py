"""How long Ctrl-C takes to end a blocked collective; the peer's next calls must fail, too.

Rank 0 is interrupted while it waits in an all-reduce that rank 1 has not called; then rank 1 calls.
Rank 1's first call may still find what rank 0 had sent, and succeed. Its second call must fail.

python bench/interrupt.py [--trials 20] [--hosts 2]
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANK = """
import pathlib, sys, time
import numpy, jccl.core as nccl

def wait_for(note):
    while not pathlib.Path(sys.argv[1], note).exists():
        time.sleep(0.001)

comm = nccl.Communicator.from_env()
data = numpy.ones(1000, "float32")
comm.allreduce(data, data, nccl.SUM)
if comm.rank == 1:
    wait_for("interrupted")
else:
    print("blocked", __import__("os").getpid(), flush=True)
try:
    comm.allreduce(data, data, nccl.SUM)
    comm.allreduce(data, data, nccl.SUM)
    print("no error", flush=True)
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
    wait_for("told")
except nccl.NCCLError as error:
    print("told", error.name, flush=True)
comm.abort()
"""

#: Long enough for the call to be asleep when the signal comes.
ASLEEP_S = 0.5


def trial(hosts: int, folder: Path) -> float:
    """One interrupt; milliseconds from the signal to the exception."""
    script = folder / "rank.py"
    script.write_text(RANK, encoding="utf-8")
    command = [sys.executable, "-m", "jccl.run", "-n", "2", "--hosts", str(hosts), "--no-prefix"]
    command += [str(script), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        sent = took = 0.0
        told = ""
        for line in job.stdout:
            words = line.split()
            if words[0] == "blocked":
                time.sleep(ASLEEP_S)
                sent = time.monotonic()
                os.kill(int(words[1]), signal.SIGINT)
            elif words[0] == "interrupted":
                took = float(words[1]) - sent
                (folder / "interrupted").touch()
            elif words[0] == "told":
                told = words[1]
                (folder / "told").touch()
            else:
                raise SystemExit(line)
    if not took or told != "RemoteError":
        raise SystemExit(f"rank 0 took {took} s, rank 1 was told {told!r}")
    return 1000 * took


def main() -> None:
    """Prints the trials' figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--hosts", type=int, default=1)
    options = parser.parse_args()
    times = []
    for _ in range(options.trials):
        with tempfile.TemporaryDirectory() as folder:
            times.append(trial(options.hosts, Path(folder)))
    print(f"{options.trials} interrupts: median {statistics.median(times):.1f} ms", end=", ")
    print(f"most {max(times):.1f} ms")


if __name__ == "__main__":
    main()
