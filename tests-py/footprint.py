"""Resources that a process holds: descriptors, threads, mappings and resident memory."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from pathlib import Path

_SELF = Path("/proc/self")
_LIMIT_S = 20.0
_ANONYMOUS = "mapping without a file"
#: Mappings join their neighbours or split; one more for each communicator would be hundreds.
_ANONYMOUS_SLACK = 24
#: Threads that are made when needed, up to these bounds.
_BOUNDS = {"thread jccl-job-": 4, "thread jccl-stream-": min(4, os.cpu_count() or 1)}


def counts() -> Counter[str]:
    """How many there are of each kind, without the JVM's compiler threads, which come and go."""
    found: Counter[str] = Counter()
    for each in os.listdir(_SELF / "fd"):
        try:
            target = os.readlink(_SELF / "fd" / each)
        except FileNotFoundError:
            continue
        found["descriptor " + re.sub(r"\d+", "", target)] += 1
    for each in os.listdir(_SELF / "task"):
        try:
            name = (_SELF / "task" / each / "comm").read_text().strip()
        except OSError:
            continue
        if "CompilerThre" not in name:
            found["thread " + re.sub(r"\d+", "", name)] += 1
    for line in (_SELF / "maps").read_text().splitlines():
        words = line.split(maxsplit=5)
        file = len(words) == 6 and words[5].startswith("/")
        found["mapping of " + words[5] if file else _ANONYMOUS] += 1
    return found


def growth(before: Counter[str]) -> list[str]:
    """The counts that have grown since then; waits a while for sockets that linger."""
    end = time.monotonic() + _LIMIT_S
    while True:
        allowed = Counter(before)
        allowed[_ANONYMOUS] += _ANONYMOUS_SLACK
        allowed |= Counter(_BOUNDS)
        now = counts()
        more = [f"{k}: {before[k]} before, now {n}" for k, n in now.items() if n > allowed[k]]
        if not more or time.monotonic() > end:
            return more
        time.sleep(0.02)


def resident_kb() -> int:
    """Kilobytes of resident memory."""
    match = re.search(r"VmRSS:\s+(\d+)", (_SELF / "status").read_text())
    assert match is not None
    return int(match[1])
