"""Which source files a warm all-reduce of 8 bytes enters, from Python's line to the bytes.

Two ranks on this machine make several calls. The call that enters the fewest files counts: in it
the second rank came before the first one looked for it, or while it did, so that the first one
neither returned without a result nor slept. A call that enters no kernel does not count, since
its end was not seen. A profile function
records what Python enters, and a debugger (JDI) what Java enters. For C the script builds libraries
that record it themselves (-finstrument-functions). The script prints the files in the order in
which the call enters them, each with its functions. The status is 1 in three cases: the call enters
too many files; a method between the door and the kernels (both excluded) has too many parameters;
or ARCHITECTURE.md, which describes this call, does not name one of the files.

python bench/corridor.py [--most 24] [--parameters 4]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path

import jccl

ROOT = Path(__file__).resolve().parent.parent
C_FOLDER = ROOT / "java-core" / "src" / "main" / "c"
JAVA_FOLDER = ROOT / "java-core" / "src" / "main" / "java"
FLAGS = ["-std=gnu11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", "-pthread", "-shared"]

#: These may have more parameters: the door repeats C's functions, and the kernels are loops.
DOOR = "org/jccl/abi/NcclApi.java"
KERNELS = ("org/jccl/reduce/", "org/jccl/platform/")

RANK = """
import ctypes, json, os, pathlib, socket, subprocess, sys, time

def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]

folder, tracer, many = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
traced = os.environ["RANK"] == "0"
port = free_port()
if traced:
    debugger = f"transport=dt_socket,server=y,suspend=n,quiet=y,address=127.0.0.1:{port}"
    os.environ["JCCL_JVM_OPTIONS"] = "-agentlib:jdwp=" + debugger

import numpy
import jccl.core as nccl

comm = nccl.Communicator.from_env()
send, recv = numpy.ones(1), numpy.zeros(1)
# Fewer than make C call Java by a stub: the debugger sees no method of compiled code, which a stub
# goes on to call. After the first two functions the call is the same.
for _ in range(2_000):
    comm.allreduce(send, recv, nccl.SUM)

LATE_S = (0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)

if not traced:
    for i, late in enumerate(LATE_S):
        while not (folder / str(i)).exists():
            time.sleep(0.001)
        time.sleep(late)
        comm.allreduce(send, recv, nccl.SUM)
    comm.destroy()
    sys.exit()

java = str(pathlib.Path(comm._library.java_home()) / "bin" / "java")
command = [java, "--add-modules", "jdk.jdi", tracer, str(port), many, "operation"]
debugger = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
assert debugger.stdout.readline().strip() == "ready"
package = pathlib.Path(nccl.__file__).parent.parent
libraries = [ctypes.CDLL(str(package / "_lib" / name)) for name in ("_jccl.abi3.so", "libjccl.so")]
calls = []

def entered(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith(str(package)):
        path = pathlib.Path(frame.f_code.co_filename).relative_to(package.parent)
        python.append([str(path), frame.f_code.co_name])

for i in range(len(LATE_S)):
    python = []
    (folder / str(i)).touch()
    for library in libraries:
        library.jcclNoteEntries(1)
    sys.setprofile(entered)
    comm.allreduce(send, recv, nccl.SUM)
    sys.setprofile(None)
    for library in libraries:
        library.jcclNoteEntries(0)
    assert recv[0] == 2
    found = {}
    for library in libraries:
        offsets = (ctypes.c_uint64 * 4096)()
        n = library.jcclEntries(offsets, 4096)
        found[library._name] = offsets[:n]
    calls.append({"python": python, "c": found})
java = debugger.communicate()[0]
(folder / "found.json").write_text(json.dumps({"calls": calls, "java": java}))
comm.destroy()
"""

Entry = tuple[str, str, int]
#: A file, a function in it, and how many parameters the function has (0 if it is not Java's).


def instrumented(folder: Path) -> None:
    """Makes a copy of the package whose libraries record which functions are entered."""
    package = Path(jccl.__file__).parent
    if not (package / "_lib").exists():
        sys.exit("JCCL is not built here: call `make install`, and run this by .venv/bin/python")
    shutil.copytree(package, folder / "jccl", ignore=shutil.ignore_patterns("__pycache__"))
    from jccl.bindings import load

    include = Path(load().java_home()) / "include"
    version = f'-DJCCL_VERSION="{jccl.__version__}"'
    includes = [f"-I{C_FOLDER}", f"-I{include}", f"-I{include / 'linux'}"]
    includes.append(f"-I{sysconfig.get_path('include')}")
    notes = str(folder / "entries.o")
    subprocess.run(["gcc", "-c", *FLAGS[:-1], ROOT / "bench/c/entries.c", "-o", notes], check=True)
    exports = f"-Wl,--version-script={C_FOLDER / 'exports.map'}"
    for name, sources, link in (
        ("libjccl.so", C_FOLDER.glob("*.c"), [exports]),
        ("_jccl.abi3.so", C_FOLDER.glob("python/*.c"), []),
    ):
        target = str(folder / "jccl" / "_lib" / name)
        command = ["gcc", *FLAGS, "-finstrument-functions", version, *includes, *link]
        files = [str(source) for source in sorted(sources)]
        subprocess.run([*command, *files, notes, "-ldl", "-o", target], check=True)


def traced(folder: Path, parameters: int) -> tuple[list[list[Entry]], list[Entry]]:
    """The entries of each call, and other methods that have more parameters."""
    rank = folder / "rank.py"
    rank.write_text(RANK, encoding="utf-8")
    tracer = str(ROOT / "bench" / "java" / "MethodEntries.java")
    command = [sys.executable, "-m", "jccl.run", "-n", "2", str(rank), str(folder), tracer]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    subprocess.run([*command, str(parameters)], env=env, check=True, timeout=300)
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    calls: list[list[Entry]] = []
    for call in found["calls"]:
        calls.append([("python-pkg/" + path, name, 0) for path, name in call["python"]])
        for library, offsets in call["c"].items():
            calls[-1] += [(*place, 0) for place in places(library, offsets)]
    beside: list[Entry] = []
    number = -1
    for line in found["java"].splitlines():
        word, *rest = line.split()
        if word == "call":
            number += 1
        elif word == "beside":
            beside.append(of_java(*rest))
        elif number >= 0:
            calls[number].append(of_java(*rest))
    whole = [call for call in calls if any(is_java(path, KERNELS[:1]) for path, _, _ in call)]
    if not whole:
        sys.exit("the debugger saw no call enter a kernel")
    return whole, beside


def of_java(source: str, owner: str, method: str, parameters: str) -> Entry:
    """The entry that a line of MethodEntries describes."""
    path = str((JAVA_FOLDER / source).relative_to(ROOT))
    return path, f"{owner.rpartition('.')[2]}.{method}", int(parameters)


def places(library: str, offsets: list[int]) -> list[tuple[str, str]]:
    """The source file and name of functions of a library, without those of CPython's headers.

    A function that api.c makes from a row of functions.def counts as one of api.c.
    """
    if not offsets:
        return []
    command = ["addr2line", "-f", "-e", library, *map(hex, offsets)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    named = [line.rpartition(":")[0].replace("functions.def", "api.c") for line in lines[1::2]]
    files = [Path(name).resolve() for name in named]
    found = zip(files, lines[::2], strict=True)
    return [(str(f.relative_to(ROOT)), name) for f, name in found if f.is_relative_to(ROOT)]


def is_java(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a file is Java's, and in one of these folders."""
    _, is_source, source = path.partition("java-core/src/main/java/")
    return bool(is_source) and source.startswith(folders)


def between(path: str) -> bool:
    """Whether a Java file lies between the door and the kernels."""
    return is_java(path, ("",)) and not is_java(path, (DOOR, *KERNELS))


def untold(files: Iterable[str]) -> list[str]:
    """The files that ARCHITECTURE.md names neither by path nor by class."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    walk = page.partition("## One all-reduce")[2].partition("\n## ")[0]
    names = " ".join(re.findall(r"`([^`]+)`", walk))
    told = set(re.findall(r"[\w/.-]+\.\w+", names)) | set(re.findall(r"\b[A-Z]\w+", names))
    return [path for path in files if path not in told and Path(path).stem not in told]


def main() -> int:
    """Prints the files; returns the status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--most", type=int, default=24, help="most files a call may enter")
    parser.add_argument("--parameters", type=int, default=4, help="most parameters of a method")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        instrumented(folder)
        calls, beside = traced(folder, options.parameters)
    entered = min(calls, key=lambda call: len({path for path, _, _ in call}))
    files: dict[str, dict[str, None]] = {}
    for path, name, _ in entered:
        files.setdefault(path, {})[name] = None
    for i, (path, names) in enumerate(files.items(), 1):
        print(f"{i:3} {path.replace('java-core/src/main/', '')}: {', '.join(names)}")
    for path, name, n in beside:
        if path in files and between(path):
            print(f"{name} has {n} parameters, but is not entered")
    wide = {e for e in entered if between(e[0]) and e[2] > options.parameters}
    for _, name, n in sorted(wide):
        print(f"{name} has {n} parameters, and is entered")
    missing = untold(files)
    for path in missing:
        print(f"ARCHITECTURE.md does not name {path}")
    print(f"{len(files)} files, of {options.most}; {len(wide)} methods are too wide")
    return 1 if len(files) > options.most or wide or missing else 0


if __name__ == "__main__":
    sys.exit(main())
