"""C programs of the tests: compiled against nccl.h alone, linked with the installed library."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import harness
import jccl

REPOSITORY = Path(__file__).resolve().parent.parent
HEADERS = REPOSITORY / "java-core" / "src" / "main" / "c"
SOURCES = Path(__file__).resolve().parent / "c"
LIBRARIES = Path(jccl.__file__).resolve().parent / "_lib"
LIMIT_S = 300


def compiler() -> str:
    """The C compiler of this machine; the wheel was built with one."""
    found = shutil.which(os.environ.get("CC", "gcc")) or shutil.which("cc")
    assert found is not None, "no C compiler in PATH"
    return found


@functools.cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="jccl-test-c-")


@functools.cache
def program(source: str, library: str = "libnccl.so.2", *options: str) -> Path:
    """The program compiled from ``c/<source>``, linked with one of the two libraries."""
    name = "-".join([source, library, *options]).replace("/", "_")
    path = Path(_directory().name, name)
    standard = "-std=c++11" if source.endswith(".cc") else "-std=gnu11"
    command = [compiler(), standard, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
    command += [*options, f"-I{HEADERS}", f"-I{SOURCES}", str(SOURCES / source), "-o", str(path)]
    command += [f"-L{LIBRARIES}", f"-l:{library}", f"-Wl,-rpath,{LIBRARIES}"]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    return path


def start(
    source: str,
    *arguments: object,
    library: str = "libnccl.so.2",
    environment: dict[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Starts a program; its two outputs are one pipe."""
    process = subprocess.Popen(
        [str(program(source, library)), *map(str, arguments)],
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    harness.started.append(process.pid)
    return process


def finish(process: subprocess.Popen[str], status: int = 0, limit_s: float = LIMIT_S) -> str:
    """Waits for a program, which must end with this status; returns what it printed."""
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        raise AssertionError(f"not done after {limit_s} s:\n{output}") from None
    assert process.returncode == status, f"status {process.returncode}:\n{output}"
    return output


def run_ranks(
    source: str,
    arguments: list[list[object]],
    *,
    library: str = "libnccl.so.2",
    environments: list[dict[str, str]] | None = None,
) -> list[str]:
    """Runs a program for each list of arguments, all at once; returns what each printed."""
    each = environments or [{}] * len(arguments)
    program(source, library)
    ranks = [
        start(source, *words, library=library, environment=environment)
        for words, environment in zip(arguments, each, strict=True)
    ]
    try:
        return [finish(rank) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()


def run(
    source: str,
    *arguments: object,
    status: int = 0,
    library: str = "libnccl.so.2",
    environment: dict[str, str] | None = None,
) -> str:
    """Runs a program to its end; returns what it printed."""
    return finish(start(source, *arguments, library=library, environment=environment), status)
