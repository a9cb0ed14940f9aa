"""Runs programs as ranks of one Java VM, by the jar of python-pkg/embed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
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
    """Runs it to its end.

    Raises:
        AssertionError: it has not ended in time; shows its output, the stacks of Java, which
            answers unless it is ending already, and what its threads wait for.
    """
    process = subprocess.Popen(
        command(host, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, **environment},
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGQUIT)
        # It goes on reading: the stacks may be more than a pipe holds.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=STACKS_S)
        threads = _threads(process.pid)
        _kill(process)
        stdout, stderr = process.communicate(timeout=STACKS_S)
        raise AssertionError(f"no end after {LIMIT_S} s\n{stdout}{stderr}{threads}") from None
    except BaseException:
        _kill(process)
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def _kill(process: subprocess.Popen[str]) -> None:
    """Ends it with its children, which may hold its pipes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _threads(pid: int) -> str:
    """A line for each thread: its name, and where in the kernel it waits."""
    lines = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            lines.append(
                f"{(thread / 'comm').read_text().strip()}: {(thread / 'wchan').read_text()}"
            )
    return "\n".join(lines)
