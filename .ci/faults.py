"""Plants faults one by one and sees whether the tests catch them.

Usage: faults.py              all of .ci/faults
       faults.py NAME...      some of them

A fault is a patch with two lines before it: what is wrong then, and the JUnit classes, or the
files of tests-py, that must catch it (`expected of:` where that has not been shown yet,
`caught by:` where it has). Each is applied to a clone of its own; the fault is caught when a test
of those fails. The status is the number of faults that were not. Needs .venv
(`make install-dev`).
"""

from __future__ import annotations

import os
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
CLONE = ROOT / "build" / "faults"
REPORTS = CLONE / "tests-java" / "target" / "surefire-reports"
LIMIT_S = 900


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=CLONE, check=True, capture_output=True)


def _failed_tests() -> list[str]:
    failed = []
    for report in sorted(REPORTS.glob("TEST-*.xml")):
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(f"{str(case.get('classname')).split('.')[-1]}.{case.get('name')}")
    return failed


def _run(command: list[str], environment: dict[str, str]) -> tuple[int | None, str]:
    """Status and output of a command in the clone; no status if it took too long."""
    # Its forks and the ranks are in its session, and end with it.
    process = subprocess.Popen(
        command,
        cwd=CLONE,
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
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _verdict_of_junit(classes: str, environment: dict[str, str]) -> tuple[bool, str]:
    """Whether a test fails in the clone as it is now, and which, or what happened instead."""
    shutil.rmtree(REPORTS, ignore_errors=True)
    # Error Prone may find a fault itself; here the tests are on trial.
    command = ["mvn", "-q", "-B", "-Djccl.unchecked", f"-Dtest={classes}", "verify"]
    status, output = _run(command, environment)
    if status is None:
        return True, f"the tests hung for {LIMIT_S} s"
    failed = _failed_tests()
    if failed:
        return True, f"{failed[0]}{f' and {len(failed) - 1} more' if failed[1:] else ''}"
    if status == 0:
        return False, f"{classes} passed"
    # As when memory is touched that a fake device protects.
    crashed = re.search(r"Crashed tests:\s+\[ERROR\]\s+(\S+)", output)
    if crashed:
        return True, f"{crashed[1]}, in which the JVM crashed"
    return False, "no test failed, but Maven: " + " ".join(output.split())[-300:]


def _verdict_of_pytest(files: list[str], environment: dict[str, str]) -> tuple[bool, str]:
    """The same for the tests of Python, with a JCCL installed beside the faultless one."""
    site = CLONE / "build" / "site"
    shutil.rmtree(site, ignore_errors=True)
    pip = [str(PYTHON), "-m", "pip", "-q", "install", "--no-build-isolation", "--no-deps"]
    status, output = _run([*pip, "--target", str(site), "."], environment)
    if status != 0:
        return False, "it could not be installed: " + " ".join(output.split())[-300:]
    status, output = _run(
        [str(PYTHON), "-m", "pytest", "-q", "-x", *files],
        {**environment, "PYTHONPATH": str(site)},
    )
    failed = re.findall(r"^FAILED (\S+)", output, re.MULTILINE)
    if status is None or failed:
        return True, failed[0] if failed else f"the tests hung for {LIMIT_S} s"
    if status < 0:
        return True, f"signal {-status} ended the tests"
    return False, " ".join(output.split())[-100:]


def _verdict(tests: str, environment: dict[str, str]) -> tuple[bool, str]:
    names = tests.split(",")
    if names[0].endswith(".py"):
        return _verdict_of_pytest(names, environment)
    return _verdict_of_junit(tests, environment)


def _plant(patch: Path, environment: dict[str, str]) -> bool:
    what, caught_by = patch.read_text(encoding="utf-8").splitlines()[:2]
    classes = re.sub(r"^(caught by|expected of): |\s", "", caught_by)
    start = time.monotonic()
    _git("checkout", "-q", "--", ".")
    _git("apply", str(patch))
    caught, detail = _verdict(classes, environment)
    seconds = time.monotonic() - start
    print(f"{'caught' if caught else 'MISSED'}  {patch.stem}: {what}", flush=True)
    print(f"        {seconds:.0f} s, {detail}", flush=True)
    return caught


def main() -> int:
    """Plants what the command line names; the number of faults that no test has caught."""
    known = {patch.stem: patch for patch in sorted(FAULTS.glob("*.patch"))}
    names = sys.argv[1:] or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no such fault: {', '.join(unknown)}; there are {', '.join(known)}")
    home = jdk.find()
    if home is None:
        sys.exit(jdk.WHAT_TO_INSTALL)
    # A fault may well make ranks wait for ever.
    environment = {**os.environ, **jdk.maven_environment(home), "JCCL_TEST_DEADLINE": "60"}
    shutil.rmtree(CLONE, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(CLONE)], check=True)
    missed = [name for name in names if not _plant(known[name], environment)]
    print(f"{len(names) - len(missed)} of {len(names)} faults were caught")
    return len(missed)


if __name__ == "__main__":
    sys.exit(main())
