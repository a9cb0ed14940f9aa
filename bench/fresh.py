"""How much fresh processes of a library differ. For compare.py --fresh.

A process measures each size several times. Its figure is the median of those that were least
disturbed; all of them stay in the file of results.
"""

from __future__ import annotations

import math
import os
import statistics
from typing import TYPE_CHECKING

from figures import APART, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from figures import Figure, Table

#: How often a process goes through all sizes before: on a slow core the compilers need 6 s.
WARM_UPS = 2
#: How often a process measures each size after that.
PASSES = 3
#: How many times as many processes are measured at most, if some of them are disturbed.
MOST_ROUNDS = 2
#: A size is measured several times anyway.
_PATIENCE_MS = 1500


def tell_clients(folder: str, ranks: int) -> None:
    """Sets the environment of clients: whether each rank has a core to watch (measure.c)."""
    os.environ.setdefault("MEASURE_PATIENCE_MS", str(_PATIENCE_MS))
    os.environ.pop("MEASURE_NEIGHBOUR", None)
    if ranks <= len(os.sched_getaffinity(0)):
        os.environ["MEASURE_NEIGHBOUR"] = folder


def _spread(us: list[float]) -> float:
    """The 90th percentile over fresh processes as a multiple of their median."""
    return sorted(us)[math.ceil(0.9 * len(us)) - 1] / statistics.median(us)


def _nearest(results: dict[str, list[Table]]) -> float:
    return nearest(table for rounds in results.values() for table in rounds)


def _undisturbed(figure: Figure, near_ns: float) -> bool:
    return figure.stolen == 0 and figure.trip_ns <= APART * near_ns


def enough(results: dict[str, list[Table]], sizes: Iterable[int], processes: int) -> bool:
    """Whether that many processes of each library measured each size undisturbed."""
    near_ns = _nearest(results)
    return all(
        sum(_undisturbed(figures[size], near_ns) for figures in rounds) >= processes
        for rounds in results.values()
        for size in sizes
    )


def _cell(figures: list[Figure], near_ns: float) -> str:
    """The median of the processes and their spread, in brackets that of a single measurement.

    If something disturbed some of the processes, also the median and spread of the others.
    """
    middle = [figure.us for figure in figures]
    last = [figure.looks[-1][0] for figure in figures]
    quiet = [figure.us for figure in figures if _undisturbed(figure, near_ns)]
    mark = ""
    if quiet and len(quiet) < len(figures):
        without = f"without {len(figures) - len(quiet)} disturbed"
        mark = f"; {statistics.median(quiet):.2f} x {_spread(quiet):.2f} {without}"
    return f"{statistics.median(middle):.2f} (x {_spread(middle):.2f} [{_spread(last):.2f}]{mark})"


def table(ranks: int, results: dict[str, list[Table]], sizes: dict[int, str]) -> str:
    """Markdown: medians in microseconds with their spreads; each size with its name."""
    near_ns = _nearest(results)
    lines = [f"| {' | '.join(['size', *results])} |", "|---" * (1 + len(results)) + "|"]
    for size, name in sizes.items():
        cells = [
            _cell([figures[size] for figures in rounds], near_ns) for rounds in results.values()
        ]
        lines.append(f"| {' | '.join([name, *cells])} |")
    head = f"**{ranks} ranks, µs per call (90th percentile / median)**"
    return f"{head}\n\n" + "\n".join(lines) + "\n"
