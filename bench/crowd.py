"""More ranks than cores: how long a small all-reduce takes, and what waiting for a late rank costs.

Every rank times each of its calls; the median and the percentiles are over the calls of all ranks.
Then all ranks but the last one wait for it in an operation. Each of them reports the share of a
core that its whole process used meanwhile, including Java's own threads. Beside the figures the
script prints the load, and the share of time that the host stole.

python bench/crowd.py [--ranks 8] [--calls 20000] [--late 10] [--rounds 3]
    [--transport shm|net] [--hosts 2] [--wait allreduce|large|group]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RANK = """
import json, resource, sys, time
import numpy, jccl.core as nccl

calls, late_s, way = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
comm = nccl.Communicator.from_env()
data = numpy.zeros(8, "uint8")

def timed(n):
    clock, call = time.monotonic_ns, comm.allreduce
    stamps = numpy.empty(n + 1, "int64")
    for i in range(n):
        stamps[i] = clock()
        call(data, data, nccl.SUM)
    stamps[n] = clock()
    return numpy.diff(stamps)

def wait():
    if way == "group":
        with nccl.group():
            for peer in range(comm.nranks):
                comm.send(data, peer)
                comm.recv(numpy.empty_like(data), peer)
    else:
        some = numpy.zeros(8 if way == "allreduce" else 1 << 20, "uint8")
        comm.allreduce(some, some, nccl.SUM)

def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime

timed(calls)
own = timed(calls)
every = numpy.empty((comm.nranks, calls), "int64")
comm.allgather(own, every)
shares = numpy.zeros(comm.nranks)
def waited(seconds):
    before, since = used(), time.monotonic()
    if comm.rank == comm.nranks - 1:
        time.sleep(seconds)
        since = time.monotonic() - seconds
    wait()
    return before, since

if late_s:
    for _ in range(30):
        wait()
    waited(4)  # Not counted: meanwhile Java compiles what is new to it.
    before, since = waited(late_s)
    share = numpy.array([(used() - before) / (time.monotonic() - since)])
    comm.allgather(share, shares)
if comm.rank == 0:
    percent = numpy.percentile(every, [50, 90, 99, 99.9]) / 1000
    print(json.dumps({"us": percent.tolist(), "most_us": float(every.max() / 1000),
                      "shares": shares[:-1].tolist()}), flush=True)
comm.destroy()
"""

NET = {"NCCL_SHM_DISABLE": "1", "NCCL_P2P_DISABLE": "1"}


def _ticks() -> list[int]:
    with open("/proc/stat", encoding="ascii") as stat:
        return [int(ticks) for ticks in stat.readline().split()[1:9]]


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One round."""
    script = folder / "rank.py"
    script.write_text(RANK, encoding="utf-8")
    command = [sys.executable, "-m", "jccl.run", "-n", str(options.ranks), "--no-prefix"]
    command += [str(script), str(options.calls), str(options.late), options.wait]
    if options.hosts > 1:
        command[3:3] = ["--hosts", str(options.hosts)]
    environment = {**os.environ, **(NET if options.transport == "net" else {})}
    load, before, since = os.getloadavg()[0], _ticks(), time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    spent = [now - then for then, now in zip(before, _ticks(), strict=True)]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {
        **found,
        "load_before": load,
        "stolen_percent": 100 * spent[7] / max(1, sum(spent)),
        "seconds": time.monotonic() - since,
    }


def main() -> None:
    """Prints a line for each round, and the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--late", type=float, default=10.0)
    parser.add_argument("--transport", choices=["shm", "net"], default="shm")
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--wait", choices=["allreduce", "large", "group"], default="allreduce")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rounds = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            found = run(options, Path(folder))
        rounds.append(found)
        median, _, p99, p999 = found["us"]
        shares = [100 * share for share in found["shares"]]
        where = f"{options.ranks} ranks, {options.hosts} hosts, {options.transport}"
        print(
            f"{where}: median {median:.1f} us, p99 {p99:.0f} us, p99.9 {p999:.0f} us,"
            f" most {found['most_us']:.0f} us; waiting in {options.wait} costs"
            f" {statistics.median(shares):.2f} % of a core, most {max(shares):.2f} %"
            f" (load before {found['load_before']:.1f}, stolen {found['stolen_percent']:.1f} %)",
            flush=True,
        )
    medians = statistics.median(found["us"][0] for found in rounds)
    print(f"median of {len(rounds)} medians: {medians:.1f} us")


if __name__ == "__main__":
    main()
