"""Runs all cases as one rank, and writes what became of each to DIRECTORY/RANK.json.

Usage: run.py DIRECTORY [part of the names of cases]
"""

from __future__ import annotations

import array
import json
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jccl.core as nccl
from jccl.bindings import load
from jccl.core import Communicator, NCCLError

from contract import lifecycle, operations, refusals  # noqa: F401
from contract.cases import CASES, Rank
from contract.skipped import here, skipped


def _outcome(rank: Rank, name: str) -> str:
    """Runs a case; empty if it is good."""
    try:
        CASES[name](rank)
    except Exception:
        return traceback.format_exc()
    finally:
        while load().group_depth():
            load().abandon_group()
            load().group_end()
    return ""


def _all_are_well(comm: Communicator, failed: bool) -> bool:
    flag = array.array("i", [failed])
    try:
        comm.allreduce(flag, flag, nccl.MAX)
    except NCCLError:
        return False
    return not flag[0]


def main(directory: str, part: str = "") -> int:
    """Returns how many cases have failed."""
    outcomes = {}
    comm = Communicator.from_env(nccl.NCCLConfig(timeout=60.0))
    number = comm.rank
    start = time.monotonic()
    host = here()
    for name in CASES:
        if part not in name or skipped(host, name):
            continue
        outcomes[name] = _outcome(Rank(comm), name)
        if not _all_are_well(comm, bool(outcomes[name])):
            comm.abort()
            comm = Communicator.from_env(nccl.NCCLConfig(timeout=60.0))
    comm.destroy()
    Path(directory, f"{number}.json").write_text(json.dumps(outcomes), encoding="utf-8")
    bad = sum(map(bool, outcomes.values()))
    if number == 0:
        seconds = time.monotonic() - start
        print(
            f"contract on {host}: {len(CASES)} cases, {len(outcomes)} run, {bad} failed,"
            f" {len(CASES) - len(outcomes)} skipped, {seconds:.1f} s"
        )
    return bad


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 99))
