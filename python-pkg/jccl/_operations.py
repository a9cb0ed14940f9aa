"""What each operation reads and writes."""

from __future__ import annotations

from typing import Final, NamedTuple

from jccl._numbers import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    RECV,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND,
)

#: How many parts a buffer holds: none, one, or one for each rank in the order of ranks.
NONE, ONE, EACH = range(3)

#: Which ranks have such a buffer: all of them, or the root alone.
ALL, ROOT = range(2)


class Operation(NamedTuple):
    """One operation. A part has as many elements as the call's count says.

    Attributes:
        name: its name without the prefix ``nccl``.
        function: its function in a binding.
        takes: how many parts an input holds.
        senders: which ranks have an input.
        gives: how many parts an output holds.
        receivers: which ranks have an output.
        reduces: whether the operation combines elements and so takes a reduction.
    """

    name: str
    function: str
    takes: int
    senders: int
    gives: int
    receivers: int
    reduces: bool

    @property
    def rooted(self) -> bool:
        """Whether the operation has a root."""
        return ROOT in (self.senders, self.receivers)

    @property
    def point_to_point(self) -> bool:
        """Whether the operation is a send or a receive."""
        return NONE in (self.takes, self.gives)

    @property
    def divides(self) -> bool:
        """Whether a buffer holds a part for each rank."""
        return EACH in (self.takes, self.gives)

    def sends(self, rank: int, root: int) -> bool:
        """Whether the input of ``rank`` is read."""
        return self.takes != NONE and (self.senders == ALL or rank == root)

    def receives(self, rank: int, root: int) -> bool:
        """Whether the output of ``rank`` is written."""
        return self.gives != NONE and (self.receivers == ALL or rank == root)

    def in_size(self, part: int, nranks: int) -> int:
        """The size of an input, in the unit of ``part``, the size of a part."""
        return part * (nranks if self.takes == EACH else self.takes)

    def out_size(self, part: int, nranks: int) -> int:
        """The size of an output, likewise."""
        return part * (nranks if self.gives == EACH else self.gives)

    def in_place_distance(self, part: int, rank: int) -> int:
        """How far the input lies behind the output in place, in the unit of ``part``.

        The smaller buffer is the rank's own part of the larger one.
        """
        if self.takes == self.gives:
            return 0
        return rank * part if self.gives == EACH else -rank * part


OPERATIONS: Final = {
    # operations written by NumbersTest from org.jccl.type
    BROADCAST: Operation("Broadcast", "broadcast", ONE, ROOT, ONE, ALL, False),
    REDUCE: Operation("Reduce", "reduce", ONE, ALL, ONE, ROOT, True),
    ALL_GATHER: Operation("AllGather", "all_gather", ONE, ALL, EACH, ALL, False),
    REDUCE_SCATTER: Operation("ReduceScatter", "reduce_scatter", EACH, ALL, ONE, ALL, True),
    ALL_REDUCE: Operation("AllReduce", "all_reduce", ONE, ALL, ONE, ALL, True),
    SEND: Operation("Send", "send", ONE, ALL, NONE, ALL, False),
    RECV: Operation("Recv", "recv", NONE, ALL, ONE, ALL, False),
    ALL_TO_ALL: Operation("AlltoAll", "allto_all", EACH, ALL, EACH, ALL, False),
    SCATTER: Operation("Scatter", "scatter", EACH, ROOT, ONE, ALL, False),
    GATHER: Operation("Gather", "gather", ONE, ALL, EACH, ROOT, False),
    # operations end here
}
