"""Runs programs as ranks of one Java VM, by the jar of python-pkg/embed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import archives

REPOSITORY = Path(__file__).resolve().parent.parent
JAR = REPOSITORY / "python-pkg" / "embed" / "target" / "jccl-embed.jar"
LIMIT_S = 300

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
    """Runs it to its end."""
    return subprocess.run(
        command(host, *words),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env={**os.environ, **environment},
    )
