"""Compares two installations of JCCL in turns: is any size slower now? For compare.py --against.

The ratio of a round is this installation's time divided by the other's. Beside each median ratio
the table shows the interval that holds it in 95 of 100 such runs (order statistics of the rounds).
It marks the sizes whose interval lies wholly above 1.05.
"""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from figures import Table

SLOWER = 1.05
ROUNDS = 15
_OUTSIDE = 0.025


def library_in(place: Path) -> Path:
    """The folder of the library, given that folder, a virtual environment or a checkout."""
    for found in [place, *sorted(place.glob("**/jccl/_lib"))]:
        if (found / "libnccl.so.2").exists() and any(found.glob("jccl-core-*.jar")):
            return found
    raise SystemExit(
        f"{place} holds no installed JCCL: pass a folder with jccl/_lib, such as a checkout after"
        " make install"
    )


def interval(ratios: list[float]) -> tuple[float, float]:
    """The interval that holds the median in 95 of 100 such samples; infinite if they are few."""
    ordered, n = sorted(ratios), len(ratios)
    below, cut = 0.0, 0
    for k in range(n):
        below += math.comb(n, k) / 2**n
        if below > _OUTSIDE:
            break
        cut = k + 1
    return (ordered[cut - 1], ordered[n - cut]) if cut else (-math.inf, math.inf)


def ratios_of(now: list[Table], before: list[Table], size: int) -> list[float]:
    """Ratios of rounds in which the host stole nothing; of all if those are less than half."""
    pairs = [(a[size], b[size]) for a, b in zip(now, before, strict=True)]
    quiet = [a.us / b.us for a, b in pairs if a.stolen == b.stolen == 0]
    return quiet if 2 * len(quiet) >= len(pairs) else [a.us / b.us for a, b in pairs]


def rows(now: list[Table], before: list[Table], sizes: list[int]) -> list[tuple[str, ...]]:
    """For each size: both medians, the median ratio, its interval, and whether it is slower."""
    found: list[tuple[str, ...]] = []
    for size in sizes:
        ratios = ratios_of(now, before, size)
        low, high = interval(ratios)
        found.append(
            (
                f"{statistics.median(table[size].us for table in now):.2f}",
                f"{statistics.median(table[size].us for table in before):.2f}",
                f"{statistics.median(ratios):.3f}",
                f"{low:.2f} to {high:.2f}",
                "SLOWER" if low > SLOWER else "",
            )
        )
    return found
