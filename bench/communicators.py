"""How long it takes to open many communicators that stay open, and what they hold.

Every rank opens communicators one after the other: first by an id that an older communicator
broadcasts, then by split. It uses each of them once. The figure is the time of the call on rank 0.

python bench/communicators.py [--ranks 2] [--many 200] [--transport shm|net] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RANK = """
import json, os, sys, time
import numpy, jccl.core as nccl

many = int(sys.argv[1])
control = nccl.Communicator.from_env()
data = numpy.ones(1)

def opened_by_id():
    content = numpy.zeros(128, "uint8")
    if control.rank == 0:
        content[:] = numpy.frombuffer(bytes(nccl.get_unique_id()), "uint8")
    control.broadcast(content, content, 0)
    new = nccl.UniqueId.from_bytes(content.tobytes())
    since = time.monotonic_ns()
    comm = nccl.Communicator.init(control.nranks, control.rank, new)
    return comm, time.monotonic_ns() - since

def opened_by_split():
    control.allreduce(data, data, nccl.SUM)
    since = time.monotonic_ns()
    comm = control.split(0, control.rank)
    return comm, time.monotonic_ns() - since

def held():
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

def measure(opened):
    first, _ = opened()
    first.allreduce(data, data, nccl.SUM)
    before = held()
    comms, times = [], []
    for _ in range(many):
        comm, ns = opened()
        comms.append(comm)
        times.append(ns / 1e6)
        comm.allreduce(data, data, nccl.SUM)
    after = held()
    since = time.monotonic_ns()
    for comm in comms:
        comm.destroy()
    closing = (time.monotonic_ns() - since) / 1e6 / many
    first.destroy()
    times.sort()
    return {"median": times[many // 2], "mean": sum(times) / many, "most": times[-1],
            "threads": after[0] - before[0], "descriptors": (after[1] - before[1]) / many,
            "destroy": closing}

measure(opened_by_id)
found = {"by id": measure(opened_by_id), "by split": measure(opened_by_split)}
if control.rank == 0:
    print(json.dumps(found), flush=True)
control.destroy()
"""

NET = {"NCCL_SHM_DISABLE": "1", "NCCL_P2P_DISABLE": "1"}


def main() -> None:
    """Prints a line for each way and round."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--many", type=int, default=200)
    parser.add_argument("--transport", choices=["shm", "net"], default="shm")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    environment = {**os.environ, **(NET if options.transport == "net" else {})}
    for _ in range(options.rounds):
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder, "rank.py")
            script.write_text(RANK, encoding="utf-8")
            command = [sys.executable, "-m", "jccl.run", "-n", str(options.ranks), "--no-prefix"]
            command += [str(script), str(options.many)]
            done = subprocess.run(
                command, stdout=subprocess.PIPE, text=True, check=True, env=environment
            )
        for way, found in json.loads(done.stdout.splitlines()[-1]).items():
            print(
                f"{options.many} communicators of {options.ranks} ranks {way},"
                f" {options.transport}: median {found['median']:.2f} ms,"
                f" mean {found['mean']:.2f} ms, most {found['most']:.1f} ms;"
                f" {found['threads']} threads more, {found['descriptors']:.2f} descriptors each;"
                f" destroy {found['destroy']:.2f} ms (load before {load:.1f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
