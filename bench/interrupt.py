"""How long Ctrl-C takes to end a blocked collective, and its peers' next call.

Rank 0 waits in an all-reduce that rank 1 has not called; it is interrupted, and rank 1 then calls.
Rank 1's first call may still find what rank 0 had sent; its second cannot.

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

RANK = """
import sys, time
import numpy, jccl.core as nccl
comm = nccl.Communicator.from_env()
data = numpy.ones(1000, "float32")
comm.allreduce(data, data, nccl.SUM)
if comm.rank == 1:
    time.sleep(1.5)
else:
    print("blocked", __import__("os").getpid(), flush=True)
try:
    comm.allreduce(data, data, nccl.SUM)
    comm.allreduce(data, data, nccl.SUM)
    print("no error", flush=True)
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
    time.sleep(2)
except nccl.NCCLError as error:
    print("told", error.name, flush=True)
comm.abort()
"""


def trial(hosts: int, script: str) -> float:
    """One interrupt; milliseconds from the signal to the exception."""
    command = [sys.executable, "-m", "jccl.run", "-n", "2", "--hosts", str(hosts), "--no-prefix"]
    with subprocess.Popen([*command, script], stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        sent = took = 0.0
        told = ""
        for line in job.stdout:
            words = line.split()
            if words[0] == "blocked":
                time.sleep(0.5)
                sent = time.monotonic()
                os.kill(int(words[1]), signal.SIGINT)
            elif words[0] == "interrupted":
                took = float(words[1]) - sent
            elif words[0] == "told":
                told = words[1]
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
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(RANK)
        script.flush()
        times = [trial(options.hosts, script.name) for _ in range(options.trials)]
    print(f"{options.trials} interrupts: median {statistics.median(times):.1f} ms", end=", ")
    print(f"most {max(times):.1f} ms")


if __name__ == "__main__":
    main()
