"""``python -m jccl``: where JCCL's files lie, for compilers; without options, all versions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from jccl._version import show_versions

_LIBRARIES = Path(__file__).parent / "_lib"


def main() -> int:
    """Prints what the options ask for, in one line; the status is 1 if JCCL is not built."""
    parser = argparse.ArgumentParser(prog="python -m jccl", description=__doc__)
    parser.add_argument("--cflags", action="store_true", help="options to compile a C program")
    parser.add_argument("--libs", action="store_true", help="options to link a C program")
    parser.add_argument("--jar", action="store_true", help="the jar, for Java's class path")
    options = parser.parse_args()
    if not (options.cflags or options.libs or options.jar):
        show_versions()
        return 0
    jars = sorted(_LIBRARIES.glob("jccl-core-*.jar"))
    if not jars:
        print(f"{_LIBRARIES} has no jar: JCCL is not built; pip install .", file=sys.stderr)
        return 1
    parts = []
    if options.cflags:
        parts.append(f"-I{_LIBRARIES}")
    if options.libs:
        parts.append(f"{_LIBRARIES / 'libnccl.so.2'} -Wl,-rpath,{_LIBRARIES}")
    if options.jar:
        parts.append(str(jars[-1]))
    print(" ".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
