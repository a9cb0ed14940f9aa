"""Finds a JDK that can build JCCL.

Used by setup.py, .ci/run and the scripts beside it; needs only the standard library. Run as a
program, it prints the JDK's home. If there is none, it prints one sentence on standard error and
ends with status 1.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

#: The oldest Java release that can compile JCCL.
OLDEST_RELEASE = 25

WHAT_TO_INSTALL = (
    f"JCCL is built with a JDK {OLDEST_RELEASE} or newer, and none was found in JCCL_JAVA_HOME,"
    f" JAVA_HOME, /usr/lib/jvm or PATH: install one (for example Temurin {OLDEST_RELEASE} from"
    " adoptium.net, or your distribution's openjdk package) or set JCCL_JAVA_HOME to its directory."
)


def release_of(home: Path) -> int:
    """The Java release of the JDK in `home`; 0 if there is no JDK with a compiler."""
    if not (home / "bin" / "javac").exists():
        return 0
    try:
        lines = (home / "release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    for line in lines:
        name, _, value = line.partition("=")
        if name.strip() == "JAVA_VERSION":
            first = value.strip().strip('"').split(".")[0].split("-")[0].split("+")[0]
            return int(first) if first.isdigit() else 0
    return 0


def _candidates() -> Iterator[Path]:
    for variable in ("JCCL_JAVA_HOME", "JAVA_HOME"):
        value = os.environ.get(variable)
        if value:
            yield Path(value)
    installed = Path("/usr/lib/jvm")
    if installed.is_dir():
        yield from sorted(installed.iterdir(), key=release_of, reverse=True)
    javac = shutil.which("javac")
    if javac:
        yield Path(javac).resolve().parent.parent


def find() -> Path | None:
    """The first JDK that is new enough, in the order of the places in WHAT_TO_INSTALL."""
    for home in _candidates():
        if release_of(home) >= OLDEST_RELEASE:
            return home.resolve()
    return None


def maven_environment(home: Path) -> dict[str, str]:
    """An environment in which Maven's toolchain discovery finds `home`, wherever that is."""
    return {**os.environ, f"JAVA{OLDEST_RELEASE}_HOME": str(home)}


if __name__ == "__main__":
    found = find()
    if found is None:
        sys.exit(WHAT_TO_INSTALL)
    print(found)
