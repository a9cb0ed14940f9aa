"""Lists cases, each under a name of its own."""

from __future__ import annotations

import array
from collections.abc import Callable, Iterable
from typing import Any

import jccl.core
from jccl.core import Communicator, NCCLConfig

_LIMIT_S = 60.0

#: A case by its name; all ranks run them in this order.
CASES: dict[str, Callable[[Rank], None]] = {}


class Rank:
    """One rank of a run.

    Attributes:
        comm: the communicator of all ranks; a case leaves it as good as it was.
        rank: its number.
        nranks: how many there are.
    """

    def __init__(self, comm: Communicator) -> None:
        self.comm = comm
        self.rank = comm.rank
        self.nranks = comm.nranks

    def init(self, config: NCCLConfig | None = None) -> Communicator:
        """Another communicator of all ranks, which the case may break."""
        own = bytes(jccl.core.get_unique_id()) if self.rank == 0 else bytes(128)
        content = array.array("B", own)
        self.comm.broadcast(content, content, 0)
        unique_id = jccl.core.UniqueId.from_bytes(content.tobytes())
        config = config or NCCLConfig(timeout=_LIMIT_S)
        return Communicator.init(self.nranks, self.rank, unique_id, config)


def case(
    *parameters: Iterable[Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a case of a function, for each combination of the values of its parameters."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        combinations: list[tuple[Any, ...]] = [()]
        for values in parameters:
            combinations = [(*before, value) for before in combinations for value in values]
        for values in combinations:
            name = "-".join([function.__name__, *map(str, values)])

            def run(rank: Rank, values: tuple[Any, ...] = values) -> None:
                function(rank, *values)

            CASES[name] = run
        return function

    return add


def raises(kind: type[BaseException], part: str, function: Callable[..., Any], *given: Any) -> str:
    """Calls a function that must raise; returns the text, which must contain a part."""
    try:
        function(*given)
    except kind as error:
        text = str(error)
    else:
        raise AssertionError(f"no {kind.__name__}")
    assert part in text, f"{part!r} is not in {text!r}"
    return text
