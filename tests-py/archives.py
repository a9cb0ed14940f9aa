"""Archives of the classes that JCCL's JVMs load: from one a JVM starts in less time.

An archive fits one jar and one JDK. A JVM whose archive does not fit starts as it would without.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from jccl.bindings import load

_ROOT = Path(__file__).resolve().parent.parent
_FOLDER = _ROOT / "build" / "archives"
_LIMIT_S = 120

#: Short processes spend most time on compiling.
FIRST_COMPILER = "-XX:TieredStopAtLevel=1"

#: Flags of all JVMs that JCCL starts; an archive is for a JVM with the same.
_MODULES = ("--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED")

#: Two ranks in one process.
_PROGRAM = """
import array, threading
from jccl.core import SUM, Communicator, get_unique_id

def rank(number):
    comm = Communicator.init(2, number, name)
    data = array.array("f", [1.0]) * 10000
    comm.allreduce(data, data, SUM)
    comm.destroy()

name = get_unique_id()
ranks = [threading.Thread(target=rank, args=(number,)) for number in range(2)]
for each in ranks:
    each.start()
for each in ranks:
    each.join()
"""


def java() -> Path:
    """The program."""
    return Path(load().java_home(), "bin", "java")


def _path(jar: Path) -> Path:
    files = [(str(file), file.stat()) for file in (jar, java())]
    facts = [(name, state.st_size, state.st_mtime_ns) for name, state in files]
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    return _FOLDER / f"{jar.stem}-{digest}.jsa"


def flags(jar: Path) -> list[str]:
    """What a JVM with this jar is to be told, if the jar has an archive."""
    path = _path(jar)
    return [f"-XX:SharedArchiveFile={path}"] if path.exists() else []


def _make(jar: Path, make: Callable[[Path], bool]) -> None:
    """Makes the archive of a jar, if there is none.

    Args:
        jar: the jar.
        make: writes the archive to a path, and says whether it did.
    """
    path = _path(jar)
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # It takes longer than a start: other workers, and other threads, wait for it.
    with path.parent.joinpath(f"{jar.stem}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return
        for old in path.parent.glob(f"{jar.stem}-*"):
            old.unlink()
        made = path.with_suffix(".new")
        if make(made) and made.exists():
            made.rename(path)
        else:
            made.unlink(missing_ok=True)
            print(f"JVMs start slower: there is no archive for {jar.name}", file=sys.stderr)


def _run(command: list[str], **environment: str) -> bool:
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=_LIMIT_S,
        check=False,
    )
    return done.returncode == 0


def make_for_library(jar: Path) -> None:
    """Makes the archive of the JVM inside a Python.

    Nobody destroys that JVM, so it would not write an archive at its end.
    """

    def make(archive: Path) -> bool:
        classes = archive.with_suffix(".classes")
        options = f"{FIRST_COMPILER} -XX:DumpLoadedClassList={classes}"
        listed = _run([sys.executable, "-c", _PROGRAM], JCCL_JVM_OPTIONS=options)
        files = f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={archive}"
        dump = [str(java()), "-Xshare:dump", *files, "-XX:+UseSerialGC", *_MODULES]
        dumped = listed and _run([*dump, "-cp", str(jar)])
        classes.unlink(missing_ok=True)
        return dumped

    _make(jar, make)


def make_for_embed(jar: Path) -> None:
    """Makes the archive of the JVM that runs GraalPy."""
    program = ["--host", "graalpy", "--ranks", "2", "-c", "import jccl.core"]

    def make(archive: Path) -> bool:
        at_exit = [FIRST_COMPILER, f"-XX:ArchiveClassesAtExit={archive}"]
        return _run([str(java()), *at_exit, "-jar", str(jar), *program])

    _make(jar, make)
