"""Every block of the README does what it says.

``python`` and ``c`` blocks run on 2 ranks (``ranks=N`` on the fence's line changes that), ``java``
blocks in one JVM. In ``sh`` blocks, ``make`` lines must name targets and ``pip install`` lines
something that exists; others are run beside the blocks above, which lie there as ``script.py``,
``train.py``, ``sum.py``, ``Sum.java`` and ``sum.c``, and beside ``examples``. A block that such a
command names is run by it alone. A block marked ``not run: why`` is skipped.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import embedded
import jccl.bindings
import pytest
import readme
from jccl.bindings import load
from readme import Block

LIMIT_S = 900
ROOT = Path(__file__).parent.parent
LIBRARIES = Path(jccl.bindings.__file__).parent.parent / "_lib"
HEADERS = ROOT / "java-core" / "src" / "main" / "c"
LANGUAGES = ("python", "c", "java", "sh", "bash", "text", "")


def launch(command: list[str], ranks: int, cwd: Path) -> None:
    """Runs a command on some ranks."""
    job = f"Job(command={command!r}, nranks={ranks})"
    run(
        [sys.executable, "-c", f"import sys; from jccl.run import *; sys.exit(run_job({job}))"], cwd
    )


def run(command: list[str], cwd: Path) -> None:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"


def run_python(block: Block, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(block.code, encoding="utf-8")
    launch([sys.executable, str(script)], readme.ranks(block), tmp_path)


def run_c(block: Block, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "the README's C needs a C compiler"
    source = tmp_path / "block.c"
    source.write_text(block.code, encoding="utf-8")
    program = tmp_path / "block"
    library = str(LIBRARIES / "libnccl.so.2")
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{HEADERS}", f"-Wl,-rpath,{LIBRARIES}"]
    run([compiler, *flags, str(source), library, "-o", str(program)], tmp_path)
    launch([str(program)], readme.ranks(block), tmp_path)


def run_java(block: Block, tmp_path: Path) -> None:
    name = re.search(r"^(?:public )?(?:final )?class (\w+)", block.code, re.MULTILINE)
    source = tmp_path / f"{name[1] if name else 'Block'}.java"
    source.write_text(block.code, encoding="utf-8")
    (jar,) = LIBRARIES.glob("jccl-core-*.jar")
    java = Path(load().java_home(), "bin", "java")
    flags = ["--enable-native-access=ALL-UNNAMED", "-cp", str(jar)]
    run([str(java), *flags, str(source)], tmp_path)


def runs_by_itself(block: Block) -> bool:
    """Whether neither a command below nor another test runs this block."""
    name = readme.file_name(block)
    commands = [other for other in readme.blocks() if other.language in ("sh", "bash")]
    below = any(name and name in c.code and c.line > block.line for c in commands)
    return not below and block.remark != readme.TRAINS_IN_JAVA


def run_shell(block: Block, tmp_path: Path) -> None:
    readme.lay_files(block, tmp_path)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        match words:
            case []:
                continue
            case ["make", *arguments]:
                for target in arguments:
                    known = "=" in target or re.search(rf"^{target}:", makefile, re.MULTILINE)
                    assert known, f"make has no target {target}"
            case ["pip", "install", what, *_]:
                assert what == "." or (ROOT / what.split("[")[0]).exists(), line
            case ["python" | "torchrun" | "java" | "cc" | "./sum", *_]:
                command = line.replace("python-pkg/embed/target/jccl-embed.jar", str(embedded.JAR))
                options = embedded.options() if "--host graalpy" in command else ""
                run(["bash", "-c", f"{options}{readme.commands_path()} {command}"], tmp_path)
            case _:
                pytest.fail(f"README, line {block.line}: nobody tests `{line}`")


def test_there_are_blocks_of_known_languages() -> None:
    found = readme.blocks()
    assert found, "README.md has no code"
    unknown = [str(block) for block in found if block.language not in LANGUAGES]
    assert not unknown


@pytest.mark.parametrize("block", [b for b in readme.blocks() if runs_by_itself(b)], ids=str)
def test_a_block_of_the_readme(block: Block, tmp_path: Path) -> None:
    if block.remark.startswith("not run: "):
        pytest.skip(f"README line {block.line} is {block.remark}")
    match block.language:
        case "python":
            run_python(block, tmp_path)
        case "c":
            run_c(block, tmp_path)
        case "java":
            run_java(block, tmp_path)
        case "sh" | "bash":
            run_shell(block, tmp_path)
        case _:
            assert block.language in ("", "text")
