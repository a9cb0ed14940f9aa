"""The README's fenced blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
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
