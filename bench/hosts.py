"""What each Python costs: how long ranks take to start, their memory, and what a call adds.

Each line is a host: CPython (one process for each rank, over JNI), and Jep and GraalPy (all ranks
in one Java VM). Start is the time from the command to the end of a program that makes a
communicator; memory is the peak of the largest process; Ctrl-C is the time from the signal to the
command's end, while rank 0 sleeps and the others wait for it in an all-reduce. A call of 8 bytes on
a communicator of one rank moves nothing, so its time is what Python and the way to Java cost; the
last column is the share of that in the faster of an all-reduce and an all-to-all of 64 MiB by as
many ranks.

python bench/hosts.py [--ranks 1 4] [--rounds 3]
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

from jccl.bindings import load

JAR = Path(__file__).parent.parent / "python-pkg" / "embed" / "target" / "jccl-embed.jar"
LARGE_BYTES = 64 << 20
_folder = tempfile.TemporaryDirectory()

START = """
import jccl.core
jccl.core.Communicator.from_env().destroy()
"""

WAITS = """
import array, time
import jccl.core as nccl

comm = nccl.Communicator.from_env()
data = array.array("f", [1.0])
comm.allreduce(data, data, nccl.SUM)
if comm.rank == 0:
    print("waits", flush=True)
    time.sleep(600)
comm.allreduce(data, data, nccl.SUM)
"""

#: Long enough for the calls to be asleep when the signal comes.
ASLEEP_S = 1

CALLS = f"""
import array, time
import jccl.core as nccl

def seconds(calls, call):
    for _ in range(calls):
        call()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls

with nccl.Communicator.from_env() as comm:
    large = array.array("B", bytes({LARGE_BYTES}))
    reduced = seconds(20, lambda: comm.allreduce(large, large, nccl.SUM))
    other = array.array("B", bytes({LARGE_BYTES}))
    swapped = seconds(20, lambda: comm.alltoall(large, other))
    alone = comm.split(comm.rank)
    small = array.array("d", [1.0])
    # The others wait meanwhile: those of one Java VM would take each other's cores.
    if comm.rank == 0:
        one = seconds(5000, lambda: alone.allreduce(small, small, nccl.SUM))
    comm.allreduce(small, small, nccl.SUM)
    alone.destroy()
    if comm.rank == 0:
        print("seconds", one, reduced, swapped)
"""


def command(host: str, ranks: int, program: str) -> list[str]:
    """The command that runs a program as ranks of a host."""
    script = Path(_folder.name, "program.py")
    script.write_text(program, encoding="utf-8")
    if host == "cpython":
        return [sys.executable, "-m", "jccl.run", "-n", str(ranks), str(script)]
    java = str(Path(load().java_home(), "bin", "java"))
    options = ["--host", host, "--python", sys.executable, "--ranks", str(ranks)]
    return [java, "-jar", str(JAR), *options, str(script)]


def start(host: str, ranks: int) -> tuple[float, float]:
    """Seconds, and MiB of the largest process."""
    begin = time.monotonic()
    process = subprocess.Popen(command(host, ranks, START), stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{host} with {ranks} ranks ended with status {process.returncode}")
    return time.monotonic() - begin, usage.ru_maxrss / 1024


def interrupted(host: str, ranks: int) -> float:
    """Seconds from Ctrl-C, which the whole group of processes gets, to the end of the command."""
    with subprocess.Popen(
        command(host, ranks, WAITS),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as job:
        assert job.stdout is not None
        if not any("waits" in line for line in job.stdout):
            sys.exit(f"{host} with {ranks} ranks ended before it was interrupted")
        time.sleep(ASLEEP_S)
        begin = time.monotonic()
        os.killpg(job.pid, signal.SIGINT)
        job.stdout.read()
        job.wait()
        return time.monotonic() - begin


def calls(host: str, ranks: int) -> list[float]:
    """Seconds of a call that moves nothing, an all-reduce and an all-to-all of 64 MiB."""
    done = subprocess.run(
        command(host, ranks, CALLS), stdout=subprocess.PIPE, text=True, check=True
    )
    return [float(word) for word in done.stdout.partition("seconds ")[2].split()[:3]]


def main() -> None:
    """Prints a table of medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hosts", nargs="+", default=["cpython", "jep", "graalpy"])
    options = parser.parse_args()
    heads = ["host", "ranks", "start, s", "memory, MiB", "Ctrl-C, s", "8 B alone, µs"]
    heads += ["all-reduce, ms", "all-to-all, ms", "Python, %"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for host in options.hosts:
        for ranks in options.ranks:
            starts = [start(host, ranks) for _ in range(options.rounds)]
            made = [calls(host, ranks) for _ in range(options.rounds)]
            ends = statistics.median(interrupted(host, ranks) for _ in range(options.rounds))
            seconds, memory = map(statistics.median, zip(*starts, strict=True))
            one, reduced, swapped = map(statistics.median, zip(*made, strict=True))
            # A rank alone has nothing to do in place.
            share = "- | - | -"
            if ranks > 1:
                percent = 100 * one / min(reduced, swapped)
                share = f"{reduced * 1e3:.1f} | {swapped * 1e3:.1f} | {percent:.2f}"
            own = f"{seconds:.1f} | {memory:.0f} | {ends:.2f} | {one * 1e6:.1f}"
            print(f"| {host} | {ranks} | {own} | {share} |", flush=True)


if __name__ == "__main__":
    main()
