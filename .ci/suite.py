"""Runs everything that must be green, stage by stage, and sums it up.

Usage: suite.py test     formatter, static checks, kernels, JUnit, installation, pytest
       suite.py stress   the long form; its log is docs/stress.log

JUnit runs beside all stages but pytest: two suites at once would make each other's ranks late.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import re
import resource
import shlex
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass

import doctor
import jdk
from environment import LOGS, PYTHON, ROOT, VENV

STRESS_LOG = ROOT / "docs" / "stress.log"
REPORTS = tuple(
    ROOT / module / "target" / "surefire-reports"
    for module in ("tests-java", "python-pkg/embed", "cuda")
)
#: A stage that takes longer than this hangs, and is ended.
STAGE_LIMIT_S = {"test": 1800, "stress": 5400}


@dataclass
class Stage:
    """One line of the summary."""

    name: str
    good: bool
    seconds: float
    cpu_seconds: float
    detail: str = ""
    #: One line for each failed test.
    tests: tuple[str, ...] = ()


class FailedError(Exception):
    """A stage failed; the text says how, and which tests did."""

    def __init__(self, text: str, tests: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.tests = tests


#: The programs that run now; each is the leader of its process group.
_running: set[subprocess.Popen[str]] = set()


class _Spent(threading.local):
    """CPU time of the programs that this thread has waited for, and of their children."""

    seconds = 0.0


_spent = _Spent()


def _show(line: str) -> None:
    """Prints a line; if the stage runs beside others, its name stands before the line."""
    beside = threading.current_thread() is not threading.main_thread()
    print(f"{threading.current_thread().name} | {line}" if beside else line, flush=True)


def _end(process: subprocess.Popen[str], number: int) -> None:
    # Without poll(): it could take the status before the thread that waits for it does.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def _wait(process: subprocess.Popen[str]) -> int:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    _spent.seconds += usage.ru_utime + usage.ru_stime
    return process.returncode


def _run(name: str, command: list[str], limit_s: int) -> str:
    """Runs a command, shows and logs its output, and returns it."""
    LOGS.mkdir(parents=True, exist_ok=True)
    _show("$ " + shlex.join(command).replace(str(ROOT) + "/", ""))
    home = jdk.find()
    env = jdk.maven_environment(home) if home else dict(os.environ)
    env["PATH"] = f"{VENV / 'bin'}{os.pathsep}{env['PATH']}"
    text: list[str] = []
    start = time.monotonic()
    with (LOGS / f"{name}.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        _running.add(process)
        # An interrupt first: pytest then says what has failed so far.
        timers = [
            threading.Timer(limit_s, _end, (process, signal.SIGINT)),
            threading.Timer(limit_s + 30, _end, (process, signal.SIGKILL)),
        ]
        for timer in timers:
            timer.daemon = True
            timer.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                _show(line.rstrip("\n"))
                log.write(line)
                text.append(line)
            status = _wait(process)
        except KeyboardInterrupt:
            _end(process, signal.SIGKILL)
            raise
        finally:
            for timer in timers:
                timer.cancel()
            _running.discard(process)
    if time.monotonic() - start >= limit_s:
        raise FailedError(f"ended after {limit_s} s; {LOGS.relative_to(ROOT)}/{name}.log")
    if status != 0:
        failed = tuple(line.rstrip() for line in text if line.startswith(("FAILED ", "ERROR ")))
        raise FailedError(f"status {status}; {LOGS.relative_to(ROOT)}/{name}.log", failed)
    return "".join(text)


def _failed_cases(suite: ElementTree.Element) -> list[str]:
    cases = []
    for case in suite.iter("testcase"):
        for failure in (*case.findall("failure"), *case.findall("error")):
            text = failure.get("message") or failure.text or failure.get("type") or ""
            name = f"{case.get('classname')}.{case.get('name')}"
            cases.append(f"FAILED {name} - {' '.join(text.split())}")
    return cases


def _junit_summary() -> tuple[str, tuple[str, ...]]:
    """Counts of the JUnit reports, and the failed tests; prints why tests were skipped."""
    total = failed = skipped = 0
    failed_cases: list[str] = []
    for report in sorted(path for place in REPORTS for path in place.glob("TEST-*.xml")):
        suite = ElementTree.parse(report).getroot()
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        failed_cases += _failed_cases(suite)
        for case in suite.iter("testcase"):
            reason = case.find("skipped")
            if reason is not None:
                skipped += 1
                why = (reason.get("message") or reason.text or "no reason given").strip()
                name = f"{case.get('classname')}.{case.get('name')}"
                _show(f"SKIPPED {name}: {why.splitlines()[0]}")
    if total == 0:
        raise FailedError("no JUnit test ran")
    return f"{total} tests, {failed} failed, {skipped} skipped", tuple(failed_cases)


def _pytest_summary(output: str) -> str:
    lines = [line for line in output.splitlines() if re.search(r"\d+ (passed|failed|error)", line)]
    return re.sub(r" in [\d.]+s.*", "", lines[-1].strip("= ")) if lines else ""


class Usage:
    """CPU time since this was made, used by stages or kept by the host of a virtual machine."""

    def __init__(self) -> None:
        self._start = self._ticks()

    @staticmethod
    def _ticks() -> list[int]:
        with open("/proc/stat", encoding="ascii") as stat:
            return [int(ticks) for ticks in stat.readline().split()[1:9]]

    def text(self) -> str:
        """Says how much time the stages used, and which share of the wanted time the host kept."""
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = children.ru_utime + children.ru_stime
        spent = [now - then for then, now in zip(self._start, self._ticks(), strict=True)]
        idle, stolen = spent[3] + spent[4], spent[7]
        wanted = max(1, sum(spent) - idle)
        return (
            f"{used:.0f} s of CPU time;"
            f" the host stole {100 * stolen / wanted:.0f} % of the time that was wanted"
        )


class Suite:
    """The stages of one run; a failed stage does not keep the others from running."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.stages: list[Stage] = []
        self.limit_s = STAGE_LIMIT_S[kind]
        self.start = time.monotonic()
        self.usage = Usage()

    def stage(self, name: str, work: Callable[[], str]) -> bool:
        """Runs one stage; returns whether it was good."""
        _show(f"=== {name}")
        start, spent = time.monotonic(), _spent.seconds
        tests: tuple[str, ...] = ()
        try:
            detail, good = work(), True
        except FailedError as failed:
            detail, good, tests = str(failed), False, failed.tests
        seconds = time.monotonic() - start
        self.stages.append(Stage(name, good, seconds, _spent.seconds - spent, detail, tests))
        _show(f"=== {name}: {'ok' if good else 'FAILED'}, {seconds:.0f} s")
        return good

    def command(self, name: str, *command: str) -> bool:
        def work() -> str:
            _run(name.replace(" ", "-"), list(command), self.limit_s)
            return ""

        return self.stage(name, work)

    def install(self) -> bool:
        return self.command("installation", sys.executable, ".ci/environment.py", "jccl")

    def skip(self, name: str, reason: str) -> None:
        """A stage that cannot run counts as failed."""
        self.stages.append(Stage(name, False, 0.0, 0.0, "not run: " + reason))

    def junit(self, *properties: str) -> None:
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"

        def work() -> str:
            for report in (path for place in REPORTS for path in place.glob("*")):
                report.unlink()
            try:
                _run("junit", ["mvn", quiet, "--fail-at-end", *properties, "verify"], self.limit_s)
            except FailedError as failed:
                counts, cases = _junit_summary()
                raise FailedError(f"{counts}; {failed}", cases) from failed
            return _junit_summary()[0]

        self.stage("JUnit", work)

    def compile_c(self) -> str:
        """Compiles the C sources with warnings as errors; nothing uses the result."""
        home = jdk.find()
        options = ["OUT=" + str(ROOT / "build" / "c"), f"JAVA_HOME={home}"]
        options.append("PYTHON_INCLUDE=" + sysconfig.get_path("include"))
        _run("c", ["make", "-s", "-j2", "-C", "java-core/src/main/c", *options], self.limit_s)
        return ""

    def pytest(self, *arguments: str) -> None:
        def work() -> str:
            command = [str(PYTHON), "-m", "pytest", "-q", "--durations=10", *arguments]
            return _pytest_summary(_run("pytest", command, self.limit_s))

        self.stage("pytest", work)

    def summary(self) -> str:
        """The failed tests, and the table at the end with one line for each stage."""
        width = max(len(stage.name) for stage in self.stages)
        lines = [f"  {test[:500]}" for stage in self.stages for test in stage.tests]
        for stage in self.stages:
            verdict = "ok    " if stage.good else "FAILED"
            lines.append(
                f"  {verdict} {stage.name:{width}} {stage.seconds:6.1f} s"
                f" {stage.cpu_seconds:6.1f} s CPU  {stage.detail}".rstrip()
            )
        total = time.monotonic() - self.start
        result = "green" if self.good() else "RED"
        lines.append(f"  make {self.kind}: {result}, {total:.0f} s; {self.usage.text()}")
        return "\n".join(lines)

    def good(self) -> bool:
        return all(stage.good for stage in self.stages)


def _doctor() -> str:
    failed = doctor.examine()
    if failed:
        raise FailedError(f"{failed} of {len(doctor.CHECKS)} checks failed")
    return f"{len(doctor.CHECKS)} checks"


def _checked_directories() -> list[str]:
    names = (".ci", "python-pkg", "tests-py", "examples", "bench", "cuda")
    return [name for name in names if any((ROOT / name).rglob("*.py"))]


def _test(suite: Suite) -> None:
    python = str(PYTHON)
    suite.stage("prerequisites", _doctor)
    junit = threading.Thread(target=suite.junit, name="JUnit")
    junit.start()
    ready = suite.command("environment", sys.executable, ".ci/environment.py", "dev")
    if ready:
        suite.command("formatter", python, ".ci/formatting.py", "--check")
        suite.command("ruff", python, "-m", "ruff", "check", ".")
        suite.command("mypy", python, "-m", "mypy", *_checked_directories())
    suite.stage("C", suite.compile_c)
    suite.command("kernels", "cuda/kernels.sh")
    installed = ready and suite.install()
    junit.join()
    if installed:
        # Three: on two cores one waits while two work.
        suite.pytest("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
    else:
        suite.skip("pytest", "JCCL is not installed")


def _stress(suite: Suite) -> None:
    ready = suite.command("environment", sys.executable, ".ci/environment.py", "dev")
    long_form = ("-Djccl.groups=stress", "-Djccl.excludedGroups=")
    suite.junit(*long_form)
    if ready and suite.install():
        suite.pytest("-m", "stress", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
    else:
        suite.skip("pytest", "JCCL is not installed")
    _write_stress_log(suite)


def _write_stress_log(suite: Suite) -> None:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    now = datetime.datetime.now(datetime.timezone.utc)
    STRESS_LOG.parent.mkdir(exist_ok=True)
    STRESS_LOG.write_text(
        "command: make stress\n"
        f"date:    {now:%Y-%m-%d %H:%M} UTC\n"
        f"commit:  {commit}\n"
        f"machine: {os.cpu_count()} cores, Linux {platform.release()}\n"
        f"result:\n{suite.summary()}\n",
        encoding="utf-8",
    )
    print(f"\nwrote {STRESS_LOG.relative_to(ROOT)}")


def main() -> int:
    """Runs the suite that the command line names; the status is 0 if all is green."""
    runs = {"test": _test, "stress": _stress}
    if len(sys.argv) != 2 or sys.argv[1] not in runs:
        sys.exit("usage: suite.py test|stress")
    suite = Suite(sys.argv[1])
    try:
        runs[sys.argv[1]](suite)
    except KeyboardInterrupt:
        for process in list(_running):
            _end(process, signal.SIGKILL)
        return 130
    print("\n" + suite.summary())
    return 0 if suite.good() else 1


if __name__ == "__main__":
    sys.exit(main())
