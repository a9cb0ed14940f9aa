"""The versions of the package and of everything it works with."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def package_version() -> str:
    """The version of the installed package; in a clone, that of its parent pom."""
    pom = Path(__file__).parent.parent.parent / "pom.xml"
    if pom.exists():
        found = re.search(r"<revision>([^<]+)</revision>", pom.read_text(encoding="utf-8"))
        if found is not None:
            return found.group(1)
    # importlib.metadata would read the same, but importing it takes as long as importing JCCL.
    installed = list(Path(__file__).parent.parent.glob("jccl-*.dist-info/METADATA"))
    if len(installed) == 1:
        said = re.search(r"^Version: (\S+)$", installed[0].read_text(encoding="utf-8"), re.M)
        if said is not None:
            return said.group(1)
    import importlib.metadata

    return importlib.metadata.version("jccl")


def _installed(name: str) -> str:
    import importlib.metadata

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def show_versions() -> None:
    """Prints what a bug report should contain: versions of JCCL, its library, Java and Python."""
    import platform

    print(f"jccl:    {package_version()} ({Path(__file__).parent})")
    try:
        from jccl.bindings import load

        binding = load()
        print(f"library: {binding.version_string()}, as NCCL {binding.get_version()[1]}")
        print(f"java:    {binding.java_home() or binding.get_last_error(0)}")
    except ImportError as e:
        print(f"library: {e}")
    print(f"python:  {platform.python_version()} ({sys.executable})")
    print(f"numpy:   {_installed('numpy')}")
    print(f"torch:   {_installed('torch')}")
    print(f"system:  {platform.platform()}")
