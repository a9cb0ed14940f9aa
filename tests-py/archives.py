"""Archives of the classes that JCCL's JVMs load: from one a JVM starts in less time.

An archive fits one jar and one JDK. A JVM whose archive does not fit starts as it would without.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from jccl.bindings import load

_ROOT = Path(__file__).resolve().parent.parent
_FOLDER = _ROOT / "build" / "archives"
_LIMIT_S = 120

#: Two ranks in one process, and then what a JVM writes that it has loaded.
_PROGRAM = """
import array, os, subprocess, sys, threading
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
jcmd, archive = sys.argv[1:]
subprocess.run([jcmd, str(os.getpid()), "VM.cds", "dynamic_dump", archive], check=True)
"""


def _java(name: str) -> Path:
    return Path(load().java_home(), "bin", name)


def _path(jar: Path) -> Path:
    facts = [
        (str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in (jar, _java("java"))
    ]
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    return _FOLDER / f"{jar.stem}-{digest}.jsa"


def flags(jar: Path) -> list[str]:
    """What a JVM with this jar is to be told, if the jar has an archive."""
    path = _path(jar)
    return [f"-XX:SharedArchiveFile={path}"] if path.exists() else []


def make(jar: Path, command: list[str], **environment: str) -> None:
    """Makes the archive of a jar by a command, in which {} stands for it, if there is none."""
    path = _path(jar)
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in path.parent.glob(f"{jar.stem}-*"):
        old.unlink()
    made = path.with_suffix(f".{os.getpid()}")
    subprocess.run(
        [word.format(made) for word in command],
        env={**os.environ, **environment},
        capture_output=True,
        timeout=_LIMIT_S,
        check=False,
    )
    if made.exists():
        made.rename(path)


def make_for_library(jar: Path) -> None:
    """Makes the archive of JCCL's JVM inside a Python."""
    options = "-XX:TieredStopAtLevel=1 -XX:-DisableAttachMechanism -XX:+RecordDynamicDumpInfo"
    command = [sys.executable, "-c", _PROGRAM.replace("{", "{{").replace("}", "}}")]
    make(jar, [*command, str(_java("jcmd")), "{}"], JCCL_JVM_OPTIONS=options)
