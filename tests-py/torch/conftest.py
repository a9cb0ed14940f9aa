"""Teams of ranks for the tests of the torch backend."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from team import Team, team


@pytest.fixture(scope="session")
def two() -> Iterator[Team]:
    """Two ranks."""
    with team(2) as ranks:
        yield ranks


@pytest.fixture(scope="session")
def four() -> Iterator[Team]:
    """Four ranks on two simulated hosts."""
    with team(4, hosts=2) as ranks:
        yield ranks
