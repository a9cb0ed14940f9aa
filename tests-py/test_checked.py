"""The C clients and the extension under -Xcheck:jni, and built with Address and UB Sanitizer."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import cprogram
import jccl
import misuse
import pytest
from cprogram import HEADERS, LIBRARIES, LIMIT_S, SOURCES
from jccl.bindings import load

STRESS = pytest.mark.stress
#: Program, arguments and the status that it ends with.
CLIENTS = [
    ("fork.c", "", 0),
    ("deep.c", "", 0),
    *(
        pytest.param(*client, marks=STRESS)
        for client in (
            ("threads.c", "", 0),
            *(("leave.c", how, 3) for how in ("handler", "return", "exit", "_exit")),
            *(("misuse.c", row.case, 0) for row in misuse.rows() if "C" in row.answers),
        )
    ),
]
clients = pytest.mark.parametrize(("source", "argument", "status"), CLIENTS)

#: Makes every wrong call of Python in one process; what was right must stay right.
EXTENSION = """
import sys
sys.path.insert(0, sys.argv[1])
import misuse
alone = {"group start without end", "blocking and not in a group", "unknown device"}
for case in misuse.CASES.keys() - alone:
    for on_second_thread in (True, False):
        misuse._answer(case, on_second_thread)
print("content")
"""


# ---- -Xcheck:jni ----

CHECKED = {"JAVA_TOOL_OPTIONS": "-Xcheck:jni"}


def _content_with_us(output: str) -> None:
    """Java has checked, and does not complain of these programs or of JCCL's libraries."""
    assert "Picked up JAVA_TOOL_OPTIONS: -Xcheck:jni" in output
    complaints = r".*(?:in native method|JNI local refs|\[lib(?:nccl|jccl)|_jccl\.abi3).*"
    assert not re.findall(complaints, output), output


@clients
def test_java_has_nothing_to_say_against_the_c_library(
    source: str, argument: str, status: int
) -> None:
    arguments = [argument] if argument else []
    output = cprogram.run(source, *arguments, status=status, environment=CHECKED)
    _content_with_us(output)


def test_java_that_others_have_made_has_nothing_to_say_either() -> None:
    home = load().java_home()
    options = [f"-I{home}/include", f"-I{home}/include/linux"]
    program = cprogram.program("host_jvm.c", "libnccl.so.2", *options)
    done = subprocess.run(
        [str(program), f"{home}/lib/server/libjvm.so"],
        env={**os.environ, **CHECKED},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    _content_with_us(done.stdout)


def test_java_has_nothing_to_say_against_the_extension() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXTENSION, str(Path(__file__).parent)],
        env={**os.environ, **CHECKED},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "content" in done.stdout
    _content_with_us(done.stdout)


@STRESS
@pytest.mark.parametrize("kind", ["-Xcheck:jni", "sanitized"])
def test_scenario_s1_is_clean(kind: str, tmp_path: Path) -> None:
    if kind == "sanitized":
        program, environment = _program("s1.c"), SANITIZED
    else:
        program, environment = cprogram.program("s1.c"), CHECKED
    ranks = [
        subprocess.Popen(
            [str(program), str(rank), str(tmp_path / "id"), "3"],
            env={**os.environ, **environment, "NCCL_HOSTID": f"host-{rank // 2}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(4)
    ]
    for rank, process in enumerate(ranks):
        output = cprogram.finish(process)
        assert f"rank {rank} is content\n" in output, output
        if kind == "sanitized":
            assert output == f"rank {rank} is content\n"
        else:
            _content_with_us(output)


# ---- Sanitizers ----

SANITIZER = ("-fsanitize=address,undefined", "-fno-omit-frame-pointer")
#: Java handles the signals; the leak check does not know how its threads' storage is laid out.
SANITIZED = {
    "ASAN_OPTIONS": "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0"
    ":allow_user_segv_handler=1:use_sigaltstack=0:detect_leaks=1:fast_unwind_on_malloc=0",
    "LSAN_OPTIONS": f"use_tls=0:print_suppressions=0:suppressions={SOURCES.parent}/leaks.supp",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}


@functools.cache
def _folder() -> Path:
    """The libraries, built with the sanitizers, beside the jar; or the test is skipped."""
    folder = Path(cprogram._directory().name, "sanitized")
    folder.mkdir()
    probe = [cprogram.compiler(), *SANITIZER, "-x", "c", "-", "-o", str(folder / "probe")]
    main = "int main(void) { return 0; }"
    found = subprocess.run(probe, input=main, text=True, capture_output=True, check=False)
    if found.returncode != 0:
        pytest.skip(f"{probe[0]} has no sanitizers: {found.stderr.splitlines()[-1]}")
    for jar in LIBRARIES.glob("*.jar"):
        shutil.copy(jar, folder)
    command = ["make", "-s", "-j2", "-C", str(HEADERS), f"OUT={folder}"]
    command += [f"CC={cprogram.compiler()} {' '.join(SANITIZER)}"]
    command += [f"JAVA_HOME={load().java_home()}", f"VERSION={jccl.__version__}"]
    command += [f"PYTHON_INCLUDE={sysconfig.get_path('include')}"]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    return folder


@functools.cache
def _program(source: str) -> Path:
    folder = _folder()
    path = folder / source.removesuffix(".c")
    command = [cprogram.compiler(), *SANITIZER, "-std=gnu11", "-O1", "-g", "-pthread"]
    command += [f"-I{HEADERS}", f"-I{SOURCES}", str(SOURCES / source), "-o", str(path)]
    command += [f"-L{folder}", "-l:libnccl.so.2", f"-Wl,-rpath,{folder}"]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    return path


def _run(command: list[str], environment: dict[str, str], status: int = 0) -> str:
    process = subprocess.Popen(
        command,
        env={**os.environ, **SANITIZED, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output = cprogram.finish(process, status)
    assert "Sanitizer" not in output
    assert "runtime error" not in output
    return output


@clients
def test_sanitizers_find_nothing_in_the_c_library(source: str, argument: str, status: int) -> None:
    _run([str(_program(source)), *([argument] if argument else [])], {}, status)


@STRESS
def test_sanitizers_find_nothing_in_the_extension(tmp_path: Path) -> None:
    package = tmp_path / "jccl"
    shutil.copytree(Path(jccl.__file__).parent, package, ignore=shutil.ignore_patterns("_lib"))
    shutil.copytree(_folder(), package / "_lib", ignore=shutil.ignore_patterns("obj"))
    named = [cprogram.compiler(), "-print-file-name=libasan.so"]
    runtime = subprocess.run(named, check=True, capture_output=True, text=True).stdout.strip()
    environment = {
        "LD_PRELOAD": runtime,
        "PYTHONPATH": str(tmp_path),
        # So the sanitizer sees the buffers. Python ends without freeing all of its own memory.
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": SANITIZED["ASAN_OPTIONS"].replace("detect_leaks=1", "detect_leaks=0"),
    }
    code = EXTENSION + "import jccl; assert jccl.__file__.startswith(sys.argv[2]), jccl.__file__\n"
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path)]
    assert "content" in _run(command, environment)


@STRESS
def test_sanitizers_would_find_a_leak_and_a_wild_write(tmp_path: Path) -> None:
    """The options of these tests hide neither a leak nor a wild write."""
    source = tmp_path / "wrong.c"
    source.write_text(
        """
#include "client.h"
int main(int argc, char** argv) {
    (void)argv;
    ncclUniqueId id;
    OK(ncclGetUniqueId(&id));
    char* volatile lost = malloc(10);
    lost[argc == 1 ? 9 : 10] = 1;
    lost = NULL;
    return 0;
}
"""
    )
    folder = _folder()
    path = tmp_path / "wrong"
    command = [cprogram.compiler(), *SANITIZER, "-g", f"-I{HEADERS}", f"-I{SOURCES}", str(source)]
    command += ["-pthread", f"-L{folder}", "-l:libnccl.so.2", f"-Wl,-rpath,{folder}"]
    subprocess.run([*command, "-o", str(path)], check=True, timeout=LIMIT_S)
    for arguments, found in (([], "10 byte.s. in 1 object"), (["x"], "heap-buffer-overflow")):
        done = subprocess.run(
            [str(path), *arguments],
            env={**os.environ, **SANITIZED},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode != 0
        assert re.search(found, done.stdout), done.stdout
