"""DIFFERENCES.md says what becomes of each name of nccl4py that JCCL lacks, and names no others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jccl.core
import numpy
import pytest
from jccl.core import Communicator, NcclCommMemStat, NCCLError, get_unique_id

PAGE = (Path(__file__).resolve().parent.parent / "DIFFERENCES.md").read_text(encoding="utf-8")

CALLS: dict[str, Callable[[Any], Any]] = {
    "create_dev_comm": lambda c: c.create_dev_comm(),
    "get_mem_stat": lambda c: c.get_mem_stat(NcclCommMemStat.GPU_MEM_TOTAL),
    "get_unique_id": lambda c: c.get_unique_id(),
    "grow": lambda c: c.grow(2),
    "properties": lambda c: c.properties,
    "put_signal": lambda c: c.put_signal(numpy.zeros(1), 0, None),
    "register_buffer": lambda c: c.register_buffer(numpy.zeros(1)),
    "register_window": lambda c: c.register_window(numpy.zeros(1)),
    "resume": lambda c: c.resume(),
    "revoke": lambda c: c.revoke(),
    "shrink": lambda c: c.shrink([0]),
    "signal": lambda c: c.signal(0),
    "suspend": lambda c: c.suspend(),
    "wait_signal": lambda c: c.wait_signal([]),
}


def _listed(beginning: str) -> set[str]:
    """The names in the item that begins with this text."""
    item = PAGE.partition(f"\n- {beginning}")[2].partition("\n- ")[0]
    names = set(re.findall(r"`(\w+)`", item)) - {"Communicator", "config"}
    assert names, f"DIFFERENCES.md has no item that begins with {beginning!r}"
    return names


@pytest.fixture(scope="module")
def comm() -> Iterator[Communicator]:
    with Communicator.init(1, 0, get_unique_id()) as one:
        yield one


def test_the_members_that_raise_are_those_that_are_listed() -> None:
    assert _listed("These members of `Communicator` raise") == CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_listed_member_raises(comm: Communicator, name: str) -> None:
    with pytest.raises(NCCLError, match="is not done yet in JCCL"):
        CALLS[name](comm)


def test_what_is_said_not_to_exist_does_not() -> None:
    members = _listed("These members of `Communicator` do not exist yet")
    assert not {name for name in members if hasattr(Communicator, name)}
    names = _listed("Of the module these do not exist yet")
    assert not {name for name in names if hasattr(jccl.core, name)}
