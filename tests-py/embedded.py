"""Runs programs as ranks of one Java VM, by the jar of python-pkg/embed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from jccl.bindings import load

REPOSITORY = Path(__file__).resolve().parent.parent
JAR = REPOSITORY / "python-pkg" / "embed" / "target" / "jccl-embed.jar"
LIMIT_S = 300

HOSTS = {"graalpy": ("--host", "graalpy"), "jep": ("--host", "jep", "--python", sys.executable)}


def java() -> list[str]:
    """The command without a host."""
    assert JAR.exists(), f"{JAR} is missing: make it by `mvn package -DskipTests`"
    # GraalPy starts in half of the time if only the first compiler works.
    return [
        str(Path(load().java_home(), "bin", "java")),
        "-XX:TieredStopAtLevel=1",
        "-jar",
        str(JAR),
    ]


def command(host: str, *words: str) -> list[str]:
    """The command that runs a program in a host."""
    return [*java(), *HOSTS[host], *words]


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
