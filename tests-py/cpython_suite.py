"""Runs CPython's own tests with a live communicator in the process and without, and compares.

Usage: cpython_suite.py [--again N] [--table FILE] [test ...]

Each test module (such as test_signal) runs in two processes one after the other: as it is, and
after JCCL has started Java there and two ranks have reduced, whose communicators stay alive. What
differs is run N more times in both ways (3), so that a test that fails now and then is told from
one that Java makes fail. The status is 1 if something fails with JCCL alone, or if the
communicators do not work any more afterwards.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any

TESTS = (
    "test_signal",
    "test_threading",
    "test_subprocess",
    "test_faulthandler",
    "test_multiprocessing_fork",
    "test_multiprocessing_spawn",
)
LIMIT_S = 1800
Outcomes = dict[str, str]


# ---- In the process of a test module ----


class _Recorder(unittest.TextTestResult):
    """Notes how each test ended."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.outcomes: Outcomes = {}

    def _note(self, test: unittest.TestCase, outcome: str) -> None:
        # The worst counts: a test may succeed and then fail to clean up.
        before = self.outcomes.get(test.id())
        if before is None or before in ("ok", "skipped"):
            self.outcomes[test.id()] = outcome

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addSuccess(test)
        self._note(test, "ok")

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addError(test, err)
        self._note(test, "failed")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addFailure(test, err)
        self._note(test, "failed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        self._note(test, "skipped")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addExpectedFailure(test, err)
        self._note(test, "ok")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failed")


def _communicators() -> list[Any]:
    from jccl.core import Communicator

    comms = Communicator.init_all(2)
    _reduce(comms)
    return comms


def _reduce(comms: list[Any]) -> None:
    import array

    from jccl.core import SUM, group

    data = [array.array("d", [rank + 1.0] * 1000) for rank in range(len(comms))]
    with group():
        for comm, values in zip(comms, data, strict=True):
            comm.allreduce(values, values, SUM)
    assert all(value == 3 for values in data for value in values), "a wrong sum"


def _inside(name: str, only: list[str], live: bool, answer: Path) -> None:
    """Runs a module, or tests of it, in this process."""
    comms = _communicators() if live else []
    module = _module(name, answer.parent)
    suite = unittest.TestSuite()
    loaded = unittest.defaultTestLoader.loadTestsFromModule(module)
    if only:
        loaded = unittest.TestSuite(test for test in _flat(loaded) if test.id() in only)
    suite.addTest(loaded)
    runner = unittest.TextTestRunner(resultclass=_Recorder, verbosity=2)
    result = runner.run(suite)
    assert isinstance(result, _Recorder)
    if comms:
        try:
            _reduce(comms)
            result.outcomes["the communicators afterwards"] = "ok"
        except Exception as error:
            result.outcomes["the communicators afterwards"] = f"failed: {error}"
    answer.write_text(json.dumps(result.outcomes), encoding="utf-8")


def _module(name: str, folder: Path) -> ModuleType:
    """A test module; the three of multiprocessing are made where an installation lacks them."""
    if importlib.util.find_spec(f"test.{name}") is not None:
        return importlib.import_module(f"test.{name}")
    start = name.removeprefix("test_multiprocessing_")
    # A file, since children import it, too.
    Path(folder, f"{name}.py").write_text(
        "import test._test_multiprocessing as tests\n"
        f"tests.install_tests_in_module_dict(globals(), {start!r})\n",
        encoding="utf-8",
    )
    sys.path.insert(0, str(folder))
    return importlib.import_module(name)


def _flat(suite: unittest.TestSuite) -> Any:
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from _flat(each)
        else:
            yield each


# ---- Outside ----


def run(name: str, live: bool, only: list[str] | None = None) -> Outcomes:
    """How each test of a module ends in a new process."""
    with tempfile.TemporaryDirectory(prefix="jccl-cpython-suite-") as folder:
        answer = Path(folder, "answer")
        work = Path(folder, "work")
        work.mkdir()
        command = [sys.executable, str(Path(__file__).resolve()), "--inside", str(answer)]
        command += ["--live"] if live else []
        with Path(folder, "log").open("w+", encoding="utf-8", errors="replace") as log:
            try:
                done = subprocess.run(
                    [*command, name, *(only or [])],
                    cwd=work,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    timeout=LIMIT_S,
                    check=False,
                )
                status = str(done.returncode)
            except subprocess.TimeoutExpired:
                status = f"not done after {LIMIT_S} s"
            log.seek(0)
            text = log.read()
        kept = os.environ.get("JCCL_SUITE_LOGS")
        if kept:
            Path(kept, f"{name}-{'live' if live else 'plain'}.log").write_text(text)
        if not answer.exists():
            return {"the process": f"failed: {status}\n{text[-2000:]}"}
        outcomes: Outcomes = json.loads(answer.read_text(encoding="utf-8"))
        if status != "0":
            outcomes["the process"] = f"failed: {status}"
        return outcomes


def _word(outcomes: Outcomes, test: str) -> str:
    return outcomes.get(test, "absent").partition(":")[0]


def compare(name: str, again: int) -> tuple[str, list[str], bool]:
    """A row of the table, a line for each difference, and whether JCCL is to blame for one."""
    plain, live = run(name, False), run(name, True)
    own = {"the communicators afterwards"}
    differing = sorted(
        test
        for test in (plain.keys() | live.keys()) - own
        if _word(plain, test) != _word(live, test)
    )
    lines, guilty = [], False
    for test in differing:
        words = [f"without {_word(plain, test)}, with {_word(live, test)}"]
        fails = [[_word(plain, test) == "failed"], [_word(live, test) == "failed"]]
        for _ in range(again if test != "the process" else 0):
            for with_it in (False, True):
                fails[with_it].append(_word(run(name, with_it, [test]), test) == "failed")
        counts = [f"{sum(each)} of {len(each)}" for each in fails]
        words.append(f"failures without {counts[0]}, with {counts[1]}")
        alone = sum(fails[1]) > sum(fails[0]) and all(fails[1])
        guilty |= alone
        lines.append(
            f"{name}: {test}: {'; '.join(words)}{'  <-- with JCCL alone' if alone else ''}"
        )
    works = live.get("the communicators afterwards", "absent")
    if works != "ok":
        guilty = True
        lines.append(f"{name}: the communicators afterwards: {works}")

    def counts_of(outcomes: Outcomes) -> str:
        tests = [word for test, word in outcomes.items() if test not in own]
        return " / ".join(
            str(sum(word.startswith(kind) for word in tests))
            for kind in ("ok", "failed", "skipped")
        )

    return f"| {name} | {counts_of(plain)} | {counts_of(live)} | {len(differing)} |", lines, guilty


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("tests", nargs="*", metavar="test", help=f"default: {' '.join(TESTS)}")
    parser.add_argument("--again", type=int, default=3, help="repeat what differs so often (3)")
    parser.add_argument("--table", type=Path, help="write the table there, too")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--live", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if importlib.util.find_spec("test.support") is None:
        sys.exit(
            f"{sys.executable} has no package 'test' with CPython's own tests: install it (Debian:"
            " libpython3-testsuite), or use a CPython that was built from its sources (pyenv)"
        )
    if arguments.inside:
        name, *only = arguments.tests
        _inside(name, only, arguments.live, arguments.inside)
        return 0
    rows, lines, guilty = [], [], False
    for name in arguments.tests or TESTS:
        row, differences, blamed = compare(name, arguments.again)
        print(row, *differences, sep="\n", flush=True)
        rows.append(row)
        lines += differences
        guilty |= blamed
    if arguments.table:
        head = "| Module | ok / failed / skipped without | with | differ |\n|---|---|---|---|\n"
        body = "\n".join(rows) + "\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"
        arguments.table.write_text(head + body, encoding="utf-8")
    return 1 if guilty else 0


if __name__ == "__main__":
    sys.exit(main())
