"""The README's fenced blocks."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from jccl.bindings import load

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
#: The remark of the block that test_examples_java.py runs.
TRAINS_IN_JAVA = "run by test_examples_java.py"
_FENCE = re.compile(r"^```([\w-]*)[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One block.

    Attributes:
        language: the word after the fence.
        remark: what follows it on the fence's line, such as ``ranks=2`` or ``not run: why``.
        code: the text between the fences.
        line: the number of the fence's line.
    """

    language: str
    remark: str
    code: str
    line: int

    def __str__(self) -> str:
        return f"{self.language}:{self.line}"


def blocks() -> list[Block]:
    """All blocks of the README."""
    text = README.read_text(encoding="utf-8") if README.exists() else ""
    return [
        Block(m[1], m[2].strip(), m[3], text.count("\n", 0, m.start()) + 1)
        for m in _FENCE.finditer(text)
    ]


def ranks(block: Block) -> int:
    """With how many ranks a Python block runs: ``ranks=N`` on its fence, else 2."""
    found = re.search(r"ranks=(\d+)", block.remark)
    return int(found[1]) if found else 2


def commands_path() -> str:
    """Makes the commands of the README's reader those of this environment."""
    places = [Path(sys.executable).parent, Path(load().java_home(), "bin")]
    return f"export PATH={os.pathsep.join(map(str, places))}:$PATH;"


def file_name(block: Block) -> str | None:
    """The name by which the commands below a program call it."""
    script = "sum.py" if "array.array" in block.code else "script.py"
    script = "train.py" if "init_process_group" in block.code else script
    return {"c": "sum.c", "java": "Sum.java", "python": script}.get(block.language)


def lay_files(block: Block, folder: Path) -> None:
    """Writes the blocks above this one under the names that its commands use."""
    (folder / "examples").symlink_to(ROOT / "examples")
    for other in blocks():
        name = file_name(other)
        if other.line < block.line and name:
            (folder / name).write_text(other.code, encoding="utf-8")
