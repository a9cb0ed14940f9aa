"""Scripts that python -m jccl.run starts."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

LIMIT_S = 300


class Script:
    """A script in a file, and ways to launch it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, code: str) -> None:
        self.path.write_text(textwrap.dedent(code), encoding="utf-8")

    def command(self, *options: str, args: tuple[str, ...] = ()) -> list[str]:
        return [sys.executable, "-m", "jccl.run", *options, str(self.path), *args]

    def run(self, *options: str, args: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*options, args=args),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def start(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*options),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def lines(text: str) -> list[str]:
    return sorted(text.splitlines())
