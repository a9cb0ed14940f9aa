"""Fixtures of all tests."""

from __future__ import annotations

import gc
import importlib
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import archives
import harness
import jccl.bindings
import pytest
from fake import FakeBinding
from jccl.core import held
from launched import Script

# In the environment, so that all workers of a run have the same.
if not os.environ.get("JCCL_TEST_SEED"):
    os.environ["JCCL_TEST_SEED"] = str(random.SystemRandom().randrange(1 << 32))
_SEED = int(os.environ["JCCL_TEST_SEED"])
#: Files for one worker, whose ranks with torch then serve all of them.
_TOGETHER = "test_torch_"
#: What takes longest: each worker begins with one of the first.
_FIRST = (_TOGETHER, "test_embed.py", "test_misuse.py", "test_readme.py", "test_kill.py")


# A shell without job control makes its background programs ignore Ctrl-C, and every child would
# inherit that. So tests begin with a handler: exec gives children the default in its place.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    # The long form of the tests runs what ships.
    if config.getoption("markexpr") != "stress" and "JCCL_JVM_OPTIONS" not in os.environ:
        (jar,) = (Path(jccl.__file__).parent / "_lib").glob("jccl-core-*.jar")
        archives.make_for_library(jar)
        options = [archives.FIRST_COMPILER, *archives.flags(jar)]
        os.environ["JCCL_JVM_OPTIONS"] = " ".join(options)
        # For the JVMs that tests start by Java's own commands.
        os.environ.setdefault("JDK_JAVA_OPTIONS", archives.FIRST_COMPILER)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Workers take whole files, in this order: those that take longest come first."""
    items.sort(key=lambda item: [not item.path.name.startswith(first) for first in _FIRST])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The scheduler of --dist loadfile, for which some files are one."""
    if config.getoption("dist") != "loadfile":
        return None
    scheduler: Any = importlib.import_module("xdist.scheduler").LoadFileScheduling(config, log)
    file_of = scheduler._split_scope

    def split_scope(nodeid: str) -> str:
        file: str = file_of(nodeid)
        return _TOGETHER if Path(file).name.startswith(_TOGETHER) else file

    scheduler._split_scope = split_scope
    return scheduler


def pytest_collection_finish() -> None:
    # With torch, a collection of all garbage takes half a second, and tests ask for hundreds.
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    return f"JCCL_TEST_SEED={_SEED}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # What a worker of xdist prints goes nowhere: tests record it as a property.
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "said":
                terminalreporter.write_line(str(value))
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(f"JCCL_TEST_SEED={_SEED}")


@pytest.fixture
def seed() -> int:
    """The seed of this run; set JCCL_TEST_SEED to repeat one."""
    return _SEED


@pytest.fixture
def fake() -> Iterator[FakeBinding]:
    """A binding that only records, in place of the library."""
    # Communicators that earlier tests have not ended have the same handles as this test's.
    gc.collect()
    held.held.clear()
    held._lost.clear()
    binding = FakeBinding()
    before = jccl.bindings.use(cast(Any, binding))
    yield binding
    jccl.bindings.use(before)


def _ours() -> set[str]:
    """Files that JCCL or its JVM could leave behind on this machine."""
    found = {str(path) for path in Path("/dev/shm").glob("*jccl*")}
    found |= {str(path) for path in Path("/tmp").glob("jccl*") if path.is_file()}
    for pid in harness.started:
        for name in (f"hsperfdata_*/{pid}", f".java_pid{pid}", f".attach_pid{pid}"):
            found |= {str(path) for path in Path("/tmp").glob(name)}
    return found


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """A script for python -m jccl.run."""
    return Script(tmp_path / "script.py")


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """Fails the test if it leaves files in /dev/shm or /tmp."""
    before = _ours()
    yield
    left = _ours() - before
    assert not left


@pytest.fixture(scope="session")
def two() -> Iterator[Any]:
    """Two ranks with torch; a ``torch_team.Team``."""
    from torch_team import team

    with team(2) as ranks:
        yield ranks


@pytest.fixture(scope="session")
def four() -> Iterator[Any]:
    """Four ranks with torch on two simulated hosts; a ``torch_team.Team``."""
    from torch_team import team

    with team(4, hosts=2) as ranks:
        yield ranks
