"""Rank functions for which numpy does not exist. Tests import this module in the rank only."""

from __future__ import annotations

import array
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness import Rank


def sums(rank: Rank) -> tuple[list[float], bytes, bool]:
    """Sums of array.array and bytearray, and whether numpy was loaded."""
    sys.modules["numpy"] = None  # type: ignore[assignment]
    with rank.comm() as comm:
        numbers = array.array("d", [1.5, rank.rank])
        comm.allreduce(numbers, numbers, 0)
        content = bytearray([rank.rank] * 4)
        comm.allreduce(content, content, 0)
        return list(numbers), bytes(content), sys.modules["numpy"] is not None
