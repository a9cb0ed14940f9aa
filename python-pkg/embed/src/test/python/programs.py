"""What the tests of the hosts call."""

from __future__ import annotations

import array
import sys
from typing import Any

import jccl.core


def values(*given: str) -> dict[str, Any]:
    """One of each kind of value that Java gets."""
    return {"none": None, "yes": True, "int": 7, "float": 2.0, "list": [given, "x"], "other": 1j}


def sum_of_ranks() -> float:
    """What an all-reduce gives."""
    with jccl.core.Communicator.from_env() as comm:
        x = array.array("d", [comm.rank])
        comm.allreduce(x, x, jccl.core.SUM)
        print("rank", comm.rank)
        print("and so on", end="", file=sys.stderr)
        return x[0]


def odd() -> None:
    """Raises."""
    raise LookupError("odd")
