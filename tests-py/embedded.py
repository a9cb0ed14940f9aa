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


def command(host: str, *words: str) -> list[str]:
    """The command that runs a program in a host."""
    flags: list[str] = []
    if host == "graalpy":
        archives.make_for_embed(JAR)
        # The first of the two JVMs, which only starts the other one, says that it has other flags.
        flags = [*archives.flags(JAR), "-Xlog:cds=off"]
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
