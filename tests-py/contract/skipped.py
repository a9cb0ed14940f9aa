"""Which cases do not run in which Python, and why."""

from __future__ import annotations

import sys

_ONE_CONTEXT = (
    "GraalPy knows its address in one context of a process only; test_embed.py runs it as one rank"
)

#: By host and case: the reason.
SKIPPED = {
    ("graalpy", "other_memory-bytearray"): _ONE_CONTEXT,
    ("graalpy", "other_memory-ctypes"): _ONE_CONTEXT,
    ("graalpy", "other_memory-part"): _ONE_CONTEXT,
}


def here() -> str:
    """The name of this Python."""
    if sys.implementation.name == "graalpy":
        return "graalpy"
    return "jep" if "_jep" in sys.modules else "jni"


def skipped(host: str, case: str) -> str | None:
    """Why a case does not run there; None if it does."""
    return SKIPPED.get((host, case))
