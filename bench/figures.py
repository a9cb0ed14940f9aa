"""What processes have measured, and which of it counts."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


#: Two cores that were so many times as far apart as others, or as before, were moved.
APART = 1.5


class Figure(NamedTuple):
    """Microseconds of a call, and what disturbed the process that measured them."""

    us: float
    #: Hundredths of a second that the host stole, and looks that found a core slowed (c/measure.h).
    stolen: float
    #: What a word took between the cores of two ranks and back, in ns; 0 if nobody looked.
    trip_ns: float = 0.0
    #: If this is the median of several, the three figures of each of them, in their order.
    looks: tuple[tuple[float, float, float], ...] = ()


#: The figures of a process by size.
Table = dict[int, Figure]


def parsed(text: str) -> dict[int, list[Figure]]:
    """The figures of each size in what a client has printed."""
    figures: dict[int, list[Figure]] = {}
    for row in (line.split() for line in text.splitlines()):
        if len(row) in (3, 4) and row[0].isdigit():
            us, stolen, trip_ns = map(float, [*row[1:], "0"][:3])
            figures.setdefault(int(row[0]), []).append(Figure(us, stolen, trip_ns))
    return figures


def middle(figures: list[Figure]) -> Figure:
    """The median of those from which least was stolen, and of these where cores were near."""
    if len(figures) == 1:
        return figures[0]
    least = min(figure.stolen for figure in figures)
    kept = [figure for figure in figures if figure.stolen == least]
    near = APART * min(figure.trip_ns for figure in kept)
    kept = [figure for figure in kept if figure.trip_ns <= near]
    median = statistics.median(figure.us for figure in kept)
    trip = max(figure.trip_ns for figure in kept)
    return Figure(median, least, trip, tuple(figure[:3] for figure in figures))


def nearest(tables: Iterable[Table]) -> float:
    """The shortest trip between two cores that any process found, in ns; 0 if nobody looked."""
    trips = (figure.trip_ns for table in tables for figure in table.values())
    return min((trip for trip in trips if trip > 0), default=0.0)
