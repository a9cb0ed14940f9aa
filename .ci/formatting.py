"""Formats the sources; with --check it only says which files are not formatted.

google-java-format formats Java, on the JDK that builds JCCL; Ruff formats Python, and clang-format
C. Runs in .venv, which has Ruff and clang-format.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jdk

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.prefix) / "bin"
FORMATTER = ROOT / "build" / "tools" / "google-java-format.jar"


def _tracked(*patterns: str) -> list[str]:
    """The existing files that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted({name for name in listed.split("\0") if name and (ROOT / name).exists()})


def _works(command: list[str]) -> bool:
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def _java(check: bool) -> bool:
    home = jdk.find()
    if home is None:
        sys.exit(jdk.WHAT_TO_INSTALL)
    if not FORMATTER.exists():
        fetch = ["mvn", "-q", "-N", "dependency:copy@formatter"]
        if subprocess.run(fetch, cwd=ROOT, check=False).returncode != 0:
            sys.exit("Maven could not fetch google-java-format")
    how = ["--dry-run", "--set-exit-if-changed"] if check else ["--replace"]
    files = _tracked("*.java")
    java = [str(home / "bin" / "java"), "-XX:TieredStopAtLevel=1", "-jar", str(FORMATTER)]
    return _works([*java, "--aosp", *how, *files]) if files else True


def _python(check: bool) -> bool:
    how = ["--check"] if check else []
    return _works([str(BIN / "ruff"), "format", "--quiet", *how, "."])


def _c(check: bool) -> bool:
    files = _tracked("*.c", "*.cpp", "*.h", "*.cu")
    if not check:
        return _works([str(BIN / "clang-format"), "-i", *files]) if files else True
    unformatted = [file for file in files if _changes(file)]
    print("\n".join(unformatted), end="\n" if unformatted else "")
    return not unformatted


def _changes(file: str) -> bool:
    command = [str(BIN / "clang-format"), "--dry-run", "--Werror", file]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode != 0


if __name__ == "__main__":
    checking = "--check" in sys.argv
    results = {"Java": _java(checking), "Python": _python(checking), "C": _c(checking)}
    bad = [name for name, good in results.items() if not good]
    if bad:
        sys.exit(f"not formatted: {', '.join(bad)} (files above; `make format` formats them)")
