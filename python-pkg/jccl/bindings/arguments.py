"""The int arguments of a binding that is written in Python: which fit, and in which order."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

from jccl import _numbers as numbers

_LONG = 1 << 63
# What a letter stands for: the lowest number, the highest, and both in words. A word is an address,
# a handle or a count.
_KINDS = {
    "i": (-(1 << 31), (1 << 31) - 1, "an int of C"),
    "l": (-_LONG, _LONG - 1, "a signed number of 64 bits"),
    "w": (0, 2 * _LONG - 1, "an unsigned number of 64 bits"),
}


class Ints:
    """Checks the arguments of one function.

    Args:
        function: its name.
        kinds: a letter for each argument.
        names: their names, separated by spaces.
    """

    __slots__ = ("_function", "_kinds", "_names", "_ranges")

    def __init__(self, function: str, kinds: str, names: str) -> None:
        self._function = function
        self._kinds = kinds
        self._names = names.split()
        # Java has no unsigned numbers: larger words take the slow way.
        self._ranges = [(_KINDS[k][0], min(_KINDS[k][1], _LONG - 1)) for k in kinds]

    def __call__(self, given: tuple[Any, ...]) -> tuple[int, ...]:
        """The arguments as Java's ints and longs.

        Raises:
            OverflowError: one does not fit its type.
            TypeError: one is no int, or there are too many or too few.
        """
        if len(given) != len(self._ranges):
            wanted = len(self._ranges)
            raise TypeError(f"{self._function} takes {wanted} arguments, not {len(given)}")
        for value, (lowest, highest) in zip(given, self._ranges):  # noqa: B905
            if type(value) is not int or not lowest <= value <= highest:
                return tuple(self._read(i, each) for i, each in enumerate(given))
        return given

    def _read(self, i: int, given: object) -> int:
        lowest, highest, _ = _KINDS[self._kinds[i]]
        try:
            value = operator.index(given)  # type: ignore[arg-type]
        except TypeError:
            self._refuse(TypeError, i, given)
        if not lowest <= value <= highest:
            self._refuse(OverflowError, i, given)
        return value - 2 * _LONG if value >= _LONG else value

    def _refuse(self, kind: type[Exception], i: int, given: object) -> NoReturn:
        must = _KINDS[self._kinds[i]][2]
        raise kind(f"{self._function}: {self._names[i]} is {given!r}: it must be {must}") from None


# For each function: its number, its arguments, and for each parameter of NcclApi.operation (input,
# output, count, type, reduction, root or peer, communicator, stream) which argument it gets; None
# is 0.
_TWO = "send recv count datatype"
_OPERATIONS = {
    "all_reduce": (
        numbers.ALL_REDUCE, "wwwiiww", f"{_TWO} op comm stream", (0, 1, 2, 3, 4, None, 5, 6)
    ),
    "broadcast": (
        numbers.BROADCAST, "wwwiiww", f"{_TWO} root comm stream", (0, 1, 2, 3, None, 4, 5, 6)
    ),
    "bcast": (
        numbers.BROADCAST, "wwiiww", "buff count datatype root comm stream",
        (0, 0, 1, 2, None, 3, 4, 5),
    ),
    "reduce": (
        numbers.REDUCE, "wwwiiiww", f"{_TWO} op root comm stream", (0, 1, 2, 3, 4, 5, 6, 7)
    ),
    "all_gather": (
        numbers.ALL_GATHER, "wwwiww", "send recv sendcount datatype comm stream",
        (0, 1, 2, 3, None, None, 4, 5),
    ),
    "reduce_scatter": (
        numbers.REDUCE_SCATTER, "wwwiiww", "send recv recvcount datatype op comm stream",
        (0, 1, 2, 3, 4, None, 5, 6),
    ),
    "allto_all": (
        numbers.ALL_TO_ALL, "wwwiww", f"{_TWO} comm stream", (0, 1, 2, 3, None, None, 4, 5)
    ),
    "gather": (
        numbers.GATHER, "wwwiiww", f"{_TWO} root comm stream", (0, 1, 2, 3, None, 4, 5, 6)
    ),
    "scatter": (
        numbers.SCATTER, "wwwiiww", f"{_TWO} root comm stream", (0, 1, 2, 3, None, 4, 5, 6)
    ),
    "send": (
        numbers.SEND, "wwiiww", "buff count datatype peer comm stream",
        (0, None, 1, 2, None, 3, 4, 5),
    ),
    "recv": (
        numbers.RECV, "wwiiww", "buff count datatype peer comm stream",
        (None, 0, 1, 2, None, 3, 4, 5),
    ),
}  # fmt: skip


def operations(
    operation: Callable[..., int], wait: Callable[..., int]
) -> dict[str, Callable[..., int]]:
    """The functions of all operations, by name.

    Args:
        operation: NcclApi.operation.
        wait: makes a call that may block.
    """

    def define(number: int, check: Ints, places: tuple[int | None, ...]) -> Callable[..., int]:
        def call(*given: int) -> int:
            ints = (*check(given), 0)
            return wait(operation, number, *[ints[place] for place in at])

        # The 0 stands behind the arguments.
        at = [-1 if place is None else place for place in places]
        return call

    return {
        name: define(number, Ints(name, kinds, names), places)
        for name, (number, kinds, names, places) in _OPERATIONS.items()
    }
