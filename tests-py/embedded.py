"""Runs programs as ranks of one Java VM, by the jar of python-pkg/embed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import archives

REPOSITORY = Path(__file__).resolve().parent.parent
JAR = REPOSITORY / "python-pkg" / "embed" / "target" / "jccl-embed.jar"
LIMIT_S = 300

#: How long a JVM may take to print its threads' stacks.
STACKS_S = 5

HOSTS = {"graalpy": ("--host", "graalpy"), "jep": ("--host", "jep", "--python", sys.executable)}


def java(*flags: str) -> list[str]:
    """The command without a host."""
    assert JAR.exists(), f"{JAR} is missing: make it by `mvn package -DskipTests`"
    # GraalPy starts in half of the time if only the first compiler works.
    return [str(archives.java()), archives.FIRST_COMPILER, *flags, "-jar", str(JAR)]


def _archive() -> list[str]:
    """Flags by which GraalPy's classes come from an archive."""
    archives.make_for_embed(JAR)
    # The first of the two JVMs, which only starts the other one, says that it has other flags.
    return [*archives.flags(JAR), "-Xlog:cds=off"]


def options() -> str:
    """What a shell sets so that `java`, which a user's command calls, starts GraalPy earlier.

    Nothing in the long form of the tests: see conftest.
    """
    own = os.environ.get("JDK_JAVA_OPTIONS")
    return "" if own is None else f"export JDK_JAVA_OPTIONS='{' '.join([own, *_archive()])}';"


def command(host: str, *words: str) -> list[str]:
    """The command that runs a program in a host."""
    flags = _archive() if host == "graalpy" else []
    return [*java(*flags), *HOSTS[host], *words]


def run(host: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs it to its end. If that does not come, the error shows its output and Java's stacks."""
    with subprocess.Popen(
        command(host, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            # The host may have started another JVM, in which the program runs.
            pids = [process.pid, *_children(process.pid)]
            for pid in pids:
                os.kill(pid, signal.SIGQUIT)
            time.sleep(STACKS_S)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            raise AssertionError(f"no end after {LIMIT_S} s\n{stdout}{stderr}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def _children(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in children for child in file.read_text().split()]
