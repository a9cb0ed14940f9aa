"""Plants faults one by one and sees whether the tests catch them.

Usage: faults.py [--jobs N]             all of .ci/faults, N at a time (1)
       faults.py [--jobs N] NAME...     some of them

A fault is a patch with two lines before it. The first line says what the fault breaks. The second
line names the JUnit classes, or the files of tests-py, that must catch it: after `caught by:` if
they are known to catch it, else after `expected of:`. The script clones HEAD and first requires
that these tests pass in the clone. Then it applies one fault after the other there, or in several
clones at a time; a fault is caught if one of its tests fails. The status is the number of faults
that no test caught. A run of all faults writes docs/faults.log. Needs .venv (`make install-dev`).
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import datetime
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jdk
from environment import PYTHON

ROOT = Path(__file__).resolve().parent.parent
FAULTS = ROOT / ".ci" / "faults"
CLONES = ROOT / "build" / "faults"
LOG = ROOT / "docs" / "faults.log"
LIMIT_S = 900


class NotRunError(Exception):
    """The tests could not be run; the text says why."""


def _git(clone: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=clone, check=True, capture_output=True, text=True).stdout


def _clone(name: str) -> Path:
    clone = CLONES / name
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    return clone


def _reports(clone: Path) -> list[Path]:
    return [clone / module / "target" / "surefire-reports" for module in ("tests-java", "cuda")]


def _failed_tests(clone: Path) -> list[str]:
    failed = []
    reports = [each for folder in _reports(clone) for each in sorted(folder.glob("TEST-*.xml"))]
    for report in reports:
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(f"{str(case.get('classname')).split('.')[-1]}.{case.get('name')}")
    return failed


def _run(clone: Path, command: list[str], environment: dict[str, str]) -> tuple[int | None, str]:
    """Runs a command in a clone; returns its status, None if it took too long, and its output."""
    # Its forks and the ranks run in its session, so that they can be ended with it.
    process = subprocess.Popen(
        command,
        cwd=clone,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=LIMIT_S)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        # Even if the command has ended, its ranks may still run.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _failure_of_junit(clone: Path, classes: str, environment: dict[str, str]) -> str | None:
    """Says which test fails in the clone as it is, or what else happened; None if all pass."""
    for folder in _reports(clone):
        shutil.rmtree(folder, ignore_errors=True)
    # Error Prone may find a fault itself; here the tests are on trial.
    command = ["mvn", "-q", "-B", "-pl", "java-core,cuda,tests-java", "-Djccl.unchecked"]
    command += [f"-Dtest={classes}", "verify"]
    # Ends at the first failure (FirstFailure): tests that hang would each wait for their deadline.
    command.append("-Djunit.jupiter.extensions.autodetection.enabled=true")
    status, output = _run(clone, command, environment)
    if status is None:
        return f"the tests hung for {LIMIT_S} s"
    failed = _failed_tests(clone)
    if failed:
        return f"{failed[0]}{f' and {len(failed) - 1} more' if failed[1:] else ''}"
    if status == 0:
        return None
    # For example, a rank has touched memory that a simulated device protects.
    crashed = re.search(r"Crashed tests:\s+\[ERROR\]\s+(\S+)", output)
    if crashed:
        return f"{crashed[1]}, in which the JVM crashed"
    raise NotRunError("no test failed, but Maven said: " + " ".join(output.split())[-300:])


def _failure_of_pytest(clone: Path, files: list[str], environment: dict[str, str]) -> str | None:
    """The same for the tests of Python, with a second JCCL beside the one that has no fault."""
    site = clone / "build" / "site"
    shutil.rmtree(site, ignore_errors=True)
    pip = [str(PYTHON), "-m", "pip", "-q", "install", "--no-build-isolation", "--no-deps"]
    status, output = _run(clone, [*pip, "--target", str(site), "."], environment)
    if status != 0:
        raise NotRunError("JCCL could not be installed: " + " ".join(output.split())[-300:])
    status, output = _run(
        clone,
        [str(PYTHON), "-m", "pytest", "-q", "-x", *files],
        {**environment, "PYTHONPATH": str(site)},
    )
    if status == 0:
        return None
    failed = re.findall(r"^FAILED (\S+)", output, re.MULTILINE)
    if status is None or failed:
        return failed[0] if failed else f"the tests hung for {LIMIT_S} s"
    if status < 0:
        return f"signal {-status} ended the tests"
    raise NotRunError("no test failed, but pytest said: " + " ".join(output.split())[-300:])


def _tests(patch: Path) -> list[str]:
    line = patch.read_text(encoding="utf-8").splitlines()[1]
    return re.sub(r"^(caught by|expected of): |\s", "", line).split(",")


def _failure(clone: Path, tests: list[str], environment: dict[str, str]) -> str | None:
    if tests[0].endswith(".py"):
        return _failure_of_pytest(clone, tests, environment)
    return _failure_of_junit(clone, ",".join(tests), environment)


def _require_passing(clone: Path, patches: list[Path], environment: dict[str, str]) -> None:
    """Ends the program unless all tests of these faults pass without them."""
    tests = sorted({test for patch in patches for test in _tests(patch)})
    for ending in (True, False):
        chosen = [test for test in tests if test.endswith(".py") == ending]
        try:
            failure = _failure(clone, chosen, environment) if chosen else None
        except NotRunError as why:
            failure = str(why)
        if failure is not None:
            sys.exit(f"without a fault: {failure}")
    print(f"without a fault {len(tests)} classes and files of tests pass", flush=True)


def _plant(clone: Path, patch: Path, environment: dict[str, str]) -> tuple[bool, str]:
    """Plants a fault in a clone; returns whether a test catches it, and the lines of the log."""
    start = time.monotonic()
    _git(clone, "checkout", "-q", "--", ".")
    _git(clone, "apply", str(patch))
    tests = _tests(patch)
    try:
        failure = _failure(clone, tests, environment)
        detail = failure or ", ".join(tests) + " passed"
    except NotRunError as why:
        failure, detail = None, str(why)
    what = patch.read_text(encoding="utf-8").splitlines()[0]
    seconds = time.monotonic() - start
    word = "caught" if failure else "MISSED"
    text = f"{word}  {patch.stem}: {what}\n        {seconds:.0f} s, {detail}"
    print(text, flush=True)
    return failure is not None, text


def _plant_all(
    clones: list[Path], patches: list[Path], environment: dict[str, str]
) -> list[tuple[bool, str]]:
    """Plants each fault in a clone that is free; the results are in the order of the faults."""
    free: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for clone in clones:
        free.put(clone)

    def plant(patch: Path) -> tuple[bool, str]:
        clone = free.get()
        try:
            return _plant(clone, patch, environment)
        finally:
            free.put(clone)

    with concurrent.futures.ThreadPoolExecutor(len(clones)) as threads:
        return list(threads.map(plant, patches))


def _write_log(jobs: int, commit: str, lines: list[str]) -> None:
    now = datetime.datetime.now(datetime.timezone.utc)
    command = ".ci/faults.py" + (f" --jobs {jobs}" if jobs > 1 else "")
    head = f"command: {command}\ndate:    {now:%Y-%m-%d %H:%M} UTC\ncommit:  {commit}\n"
    LOG.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Plants the faults that the command line names; returns how many no test caught."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS,
    )
    parser.add_argument("--jobs", type=int, default=1, choices=range(1, 9), help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = {patch.stem: patch for patch in sorted(FAULTS.glob("*.patch"))}
    names = options.names or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no such fault: {', '.join(unknown)}; there are {', '.join(known)}")
    home = jdk.find()
    if home is None:
        sys.exit(jdk.WHAT_TO_INSTALL)
    # A fault may well make ranks wait for ever.
    environment = {**os.environ, **jdk.maven_environment(home), "JCCL_TEST_DEADLINE": "60"}
    shutil.rmtree(CLONES, ignore_errors=True)
    clones = [_clone(str(number)) for number in range(options.jobs)]
    patches = [known[name] for name in names]
    _require_passing(clones[0], patches, environment)
    results = _plant_all(clones, patches, environment)
    missed = sum(not caught for caught, _ in results)
    summary = f"{len(names) - missed} of {len(names)} faults were caught"
    print(summary)
    if not options.names:
        commit = _git(clones[0], "describe", "--always").strip()
        _write_log(options.jobs, commit, [*(text for _, text in results), summary])
    return missed


if __name__ == "__main__":
    sys.exit(main())
