"""How bench/against.py judges two installations."""

from __future__ import annotations

import importlib.util
import math
from collections import namedtuple
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def against() -> ModuleType:
    spec = importlib.util.spec_from_file_location("against", ROOT / "bench" / "against.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_interval_of_a_median_is_by_order(against: ModuleType) -> None:
    # The 4th and the 12th of 15 values: 3 or fewer of 15 lie below a median in 1.8 % of cases.
    assert against.interval([float(i) for i in range(15, 0, -1)]) == (4.0, 12.0)
    assert against.interval([float(i) for i in range(1, 10)]) == (2.0, 8.0)
    assert against.interval([1.0, 2.0, 3.0]) == (-math.inf, math.inf)


def test_only_what_is_slower_for_certain_is_named(against: ModuleType) -> None:
    figure = namedtuple("figure", "us stolen")
    before = [{8: figure(1.0, 0.0), 64: figure(1.0, 0.0)} for _ in range(15)]
    now = [{8: figure(1.06, 0.0), 64: figure(1.0 + i / 100, 0.0)} for i in range(15)]
    first, second = against.rows(now, before, [8, 64])
    assert first[-1] == "SLOWER"
    assert second[-1] == ""


def test_rounds_in_which_time_was_stolen_do_not_count(against: ModuleType) -> None:
    figure = namedtuple("figure", "us stolen")
    before = [{8: figure(1.0, 0.0)} for _ in range(4)]
    now = [{8: figure(9.0, 3.0)}] + [{8: figure(1.0, 0.0)} for _ in range(3)]
    assert against.ratios_of(now, before, 8) == [1.0, 1.0, 1.0]
    mostly = [{8: figure(9.0, 3.0)} for _ in range(3)] + [{8: figure(1.0, 0.0)}]
    assert against.ratios_of(mostly, before, 8) == [9.0, 9.0, 9.0, 1.0]


def test_an_installation_is_found_below_a_checkout(against: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds no installed JCCL"):
        against.library_in(tmp_path)
    library = tmp_path / "venv" / "jccl" / "_lib"
    library.mkdir(parents=True)
    for name in ("libnccl.so.2", "jccl-core-1.jar"):
        (library / name).touch()
    assert against.library_in(tmp_path) == library
    assert against.library_in(library) == library
