"""Names: those of NCCL 2.32.3 and jccl.h's, the same in headers, libraries, table and NcclApi."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import jccl.bindings
import pytest
from cprogram import HEADERS, LIBRARIES

NCCL = Path(__file__).with_name("nccl-2.32.3-symbols.txt").read_text().split()
# NVIDIA's library exports it beside the functions of its headers.
UNDECLARED = {"ncclResetDebugInitInternal"}
BOTH = pytest.mark.parametrize("library", ["libjccl.so", "libnccl.so.2"])


def _symbols(library: str) -> dict[str, str]:
    """Kind of each exported name, as nm gives it (T strong, W weak)."""
    command = ["nm", "-D", "--defined-only", str(LIBRARIES / library)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    return {line.split()[2]: line.split()[1] for line in listed.splitlines()}


def _declared(header: str, pattern: str) -> list[str]:
    return re.findall(pattern, (HEADERS / header).read_text(), re.MULTILINE)


def _nccl_functions() -> list[str]:
    pattern = r"^NCCL_FUNCTION\([^,]+, (\w+)"
    return _declared("nccl.h", pattern) + _declared("nccl_device.h", pattern)


def _jccl_functions() -> list[str]:
    return _declared("jccl.h", r"^(?!static)[\w* ]+?\b(jccl[A-Z]\w*)\(")


def _table() -> list[tuple[str, str, str]]:
    """(kind, name, rest) of every entry of functions.def."""
    text = re.sub(r"/\*.*?\*/", "", (HEADERS / "functions.def").read_text(), flags=re.DOTALL)
    entries = re.findall(r"^([A-Z_]+)\(((?:[^\n]|\n(?![A-Z]))*)\)$", text, re.MULTILINE)
    found = []
    for kind, arguments in entries:
        parts = [part.strip() for part in arguments.split(",")]
        name = parts[1] if kind == "LATER_AS" else parts[0]
        found.append((kind, name, arguments))
    return found


@BOTH
def test_exports_are_those_of_nccl_2_32_3_and_jccl_h(library: str) -> None:
    assert sorted(_symbols(library)) == sorted([*NCCL, *_jccl_functions()])


@BOTH
def test_names_of_nccl_are_weak_and_their_twins_strong(library: str) -> None:
    symbols = _symbols(library)
    for name in _nccl_functions():
        assert symbols[f"nccl{name}"] == "W"
        assert symbols[f"pnccl{name}"] == "T"


@pytest.mark.parametrize("library", ["libjccl.so", "libnccl.so.2"])
def test_each_library_has_its_own_name_and_needs_no_other_nccl(library: str) -> None:
    command = ["readelf", "-d", str(LIBRARIES / library)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    assert re.findall(r"SONAME.*\[(.*)\]", listed) == [library]
    needed = re.findall(r"NEEDED.*\[(.*)\]", listed)
    assert all(name.startswith(("libc.", "libdl.", "libpthread.", "ld-")) for name in needed)


def test_the_extension_exports_only_its_entry() -> None:
    assert set(_symbols("_jccl.abi3.so")) == {"PyInit__jccl"}


def test_headers_declare_every_exported_name() -> None:
    functions = _nccl_functions()
    assert len(functions) == 73 + 23
    declared = {f"{prefix}{name}" for name in functions for prefix in ("nccl", "pnccl")}
    assert declared | UNDECLARED == set(NCCL)


def test_the_table_follows_the_headers() -> None:
    names = [(kind, name) for kind, name, _ in _table()]
    assert [name for kind, name in names if not kind.startswith("EXTRA")] == _nccl_functions()
    extras = {f"jccl{name}" for kind, name in names if kind.startswith("EXTRA")}
    assert extras == set(_jccl_functions())


def test_every_function_of_the_table_has_its_method_in_java() -> None:
    binding = jccl.bindings.load()
    javap = Path(binding.java_home(), "bin", "javap")
    jar = next(LIBRARIES.glob("jccl-core*.jar"))
    command = [str(javap), "-s", "-public", "-cp", str(jar), "org.jccl.abi.NcclApi"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    methods = set(re.findall(r"static .* (\w+)\(.*\);\n\s+descriptor: (\S+)", listed))
    wanted = {
        (parts[1].strip(), re.findall(r'"([^"]+)"', arguments)[0])
        for kind, _, arguments in _table()
        if kind in ("JAVA", "EXTRA")
        for parts in [arguments.split(",")]
    }
    wanted.add(("operation", "(IJJJIIIJJ)I"))
    assert wanted - methods == set()


def test_what_is_not_done_says_so_and_stands_in_differences_md() -> None:
    differences = (HEADERS.parents[3] / "DIFFERENCES.md").read_text()
    library = ctypes.CDLL(str(LIBRARIES / "libnccl.so.2"))
    library.ncclGetLastError.restype = ctypes.c_char_p
    later = [name for kind, name, _ in _table() if kind == "LATER"]
    assert later
    zeros = [ctypes.c_void_p(0)] * 12
    for name in later:
        assert library[f"nccl{name}"](*zeros) == 5
        sentence = library.ncclGetLastError(None).decode()
        assert sentence.startswith(f"nccl{name} is not done yet in JCCL")
    section = differences.partition("## Not done yet")[2].partition("\n## ")[0]
    listed = set(re.findall(r"`nccl([A-Z]\w+)`", section))
    listed -= {"GetLastError", "InvalidUsage", "GroupSimulateEnd"}
    assert listed == {name for kind, name, _ in _table() if kind.startswith("LATER")}
    assert library.ncclGroupSimulateEnd(None) == 5
    assert library.ncclTeamRankToWorld(*zeros[:5]) == -1
    assert library.ncclLLA2ACalcSlots(1, 1) == -1
