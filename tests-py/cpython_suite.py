"""Runs CPython's own tests with a live communicator in the process and without, and compares.

Usage: cpython_suite.py [--again N] [--table FILE] [test ...]

Each test module (such as test_signal) runs in two processes, one after the other. In the first it
runs as it is. In the second JCCL has started Java, and two ranks have reduced, whose communicators
stay alive. If a test differs, the module runs N more times in both ways (3 by default): this tells
a test that fails now and then from one that Java makes fail. The status is 1 if a test fails only
with JCCL, if it runs in one way only and is not EXPLAINED, or if the communicators no longer work
afterwards.
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

#: Tests that run only without JCCL, or only with it, and why that is right. There are none.
EXPLAINED: dict[str, str] = {}

_AFTERWARDS = "the communicators afterwards"
_PROCESS = "the process"


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


def _inside(name: str, live: bool, answer: Path) -> None:
    """Runs a module in this process."""
    comms = _communicators() if live else []
    module = _module(name, answer.parent)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    runner = unittest.TextTestRunner(resultclass=_Recorder, verbosity=2)
    result = runner.run(suite)
    assert isinstance(result, _Recorder)
    if comms:
        try:
            _reduce(comms)
            result.outcomes[_AFTERWARDS] = "ok"
        except Exception as error:
            result.outcomes[_AFTERWARDS] = f"failed: {error}"
    answer.write_text(json.dumps(result.outcomes), encoding="utf-8")


def _module(name: str, folder: Path) -> ModuleType:
    """A test module; makes the three of multiprocessing if the installation lacks them."""
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


# ---- Outside ----


def run(name: str, live: bool) -> Outcomes:
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
                    [*command, name],
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
            return {_PROCESS: f"failed: {status}\n{text[-2000:]}"}
        outcomes: Outcomes = json.loads(answer.read_text(encoding="utf-8"))
        if status != "0":
            outcomes[_PROCESS] = f"failed: {status}"
        return outcomes


def _word(outcomes: Outcomes, test: str) -> str:
    return outcomes.get(test, "absent").partition(":")[0]


def _blames(test: str, pairs: list[tuple[str, str]]) -> bool:
    """Whether JCCL is to blame for what a test did without and with it, in all runs.

    If a test fails with JCCL in only one run more than without it, this machine is to blame. But
    one run is enough if the process ends in it, or if the communicators no longer work after it.
    """
    without = [word == "failed" for word, _ in pairs]
    with_it = [word == "failed" for _, word in pairs]
    if test == _AFTERWARDS:
        return any(word != "ok" for _, word in pairs)
    if test == _PROCESS:
        return any(with_it) and not any(without)
    ran_once = all((one == "ok") != (other == "ok") for one, other in pairs)
    never_failed = not any(without) and not any(with_it)
    fails = sum(with_it) - sum(without) >= min(2, len(pairs))
    return fails or (ran_once and never_failed and test not in EXPLAINED)


def compare(name: str, again: int) -> tuple[str, list[str], bool]:
    """A row of the table, a line for each difference, and whether JCCL is to blame for one."""
    runs = [(run(name, False), run(name, True))]

    def words(test: str) -> list[tuple[str, str]]:
        return [(_word(plain, test), _word(live, test)) for plain, live in runs]

    def differing() -> list[str]:
        tests = {test for pair in runs for outcomes in pair for test in outcomes} - {_AFTERWARDS}
        return sorted(test for test in tests if any(one != other for one, other in words(test)))

    # The whole module: a test may fail only because of those before it.
    for _ in range(again if differing() else 0):
        runs.append((run(name, False), run(name, True)))
    lines, guilty = [], False
    for test in differing():
        alone = _blames(test, words(test))
        guilty |= alone
        without, with_it = (", ".join(each) for each in zip(*words(test), strict=True))
        why = "<-- with JCCL alone" if alone else EXPLAINED.get(test, "")
        lines.append(f"{name}: {test}: without {without}; with {with_it} {why}".rstrip())
    if _blames(_AFTERWARDS, words(_AFTERWARDS)):
        guilty = True
        works = [live.get(_AFTERWARDS, "absent") for _, live in runs]
        lines.append(f"{name}: {_AFTERWARDS}: {', '.join(works)}")

    def counts_of(outcomes: Outcomes) -> str:
        tests = [word for test, word in outcomes.items() if test != _AFTERWARDS]
        return " / ".join(
            str(sum(word.startswith(kind) for word in tests))
            for kind in ("ok", "failed", "skipped")
        )

    counts = " | ".join(map(counts_of, runs[0]))
    return f"| {name} | {counts} | {len(differing())} |", lines, guilty


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("tests", nargs="*", metavar="test", help=f"default: {' '.join(TESTS)}")
    parser.add_argument("--again", type=int, default=3, help="how often to repeat what differs (3)")
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
        _inside(arguments.tests[0], arguments.live, arguments.inside)
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
