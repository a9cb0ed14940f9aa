"""Checks what this machine has for building and testing JCCL, and says what to install."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import jdk
from environment import OLDEST_PYTHON, ROOT, VENV

OLDEST_MAVEN = (3, 6, 3)
#: GB that .venv needs while torch is being installed into it.
DISK_GB = 10


class MissingError(Exception):
    """One sentence that says what is missing and what to do about it."""


def _system() -> str:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise MissingError("so far JCCL runs on Linux on x86_64 only")
    return f"Linux {platform.release()} on x86_64"


def _python() -> str:
    version = sys.version.split()[0]
    if sys.version_info < OLDEST_PYTHON:
        raise MissingError(
            f"{sys.executable} is {version}: the demo and the tests need 3.11 or newer"
            " (`make PYTHON=python3.12 ...` chooses another)"
        )
    return f"{version} ({sys.executable})"


def _venv() -> str:
    try:
        import ensurepip
        import venv
    except ImportError as error:
        raise MissingError("Python has no venv module: install python3-venv") from error
    return f"venv, pip {ensurepip.version()}" if venv else ""


def _headers() -> str:
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        raise MissingError(f"{header} does not exist: install python3-dev (python3-devel)")
    return str(header)


def _jdk() -> str:
    home = jdk.find()
    if home is None:
        raise MissingError(jdk.WHAT_TO_INSTALL)
    return f"release {jdk.release_of(home)} in {home}"


def _maven() -> str:
    if shutil.which("mvn") is None:
        raise MissingError("no mvn in PATH: install maven")
    done = subprocess.run(["mvn", "-v"], capture_output=True, text=True, check=False)
    found = re.search(r"Apache Maven (\d+)\.(\d+)\.(\d+)", done.stdout)
    if found is None:
        raise MissingError(f"`mvn -v` does not work: {(done.stdout + done.stderr).strip()[:200]}")
    version = tuple(map(int, found.groups()))
    if version < OLDEST_MAVEN:
        raise MissingError(f"Maven {found.group(0)[13:]} is too old: install 3.6.3 or newer")
    return found.group(0)


def _compiler() -> str:
    name = os.environ.get("CC", "cc")
    if shutil.which(name.split()[0]) is None:
        raise MissingError(f"no {name} in PATH: install gcc (and libc6-dev) or clang")
    done = subprocess.run([*name.split(), "--version"], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.stdout else name


def _make() -> str:
    path = shutil.which("make")
    if path is None:
        raise MissingError("no make in PATH: install make")
    return path


def _namespaces() -> str:
    if shutil.which("unshare") is None:
        raise MissingError("no unshare in PATH: install util-linux")
    if shutil.which("ip") is None:
        raise MissingError("no ip in PATH: install iproute2")
    done = subprocess.run(["unshare", "-Urn", "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MissingError(
            f"the system refuses `unshare -Urn true` ({done.stderr.strip()}), which the tests"
            " between network namespaces need: allow user namespaces, on Ubuntu by"
            " `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, in a container by a"
            " seccomp profile that lets unshare pass"
        )
    return "unshare -Urn works"


def _shared_memory() -> str:
    if not hasattr(os, "memfd_create"):
        raise MissingError("this Python has no memfd_create: Linux 3.17 with glibc 2.27 is needed")
    os.close(os.memfd_create("doctor"))
    return "memfd works"


def _disk() -> str:
    if (VENV / ".made-demo").exists():
        return "torch is installed already"
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < DISK_GB:
        raise MissingError(f"{free:.1f} GB free in {ROOT}: installing torch needs {DISK_GB} GB")
    return f"{free:.0f} GB free"


CHECKS: dict[str, Callable[[], str]] = {
    "system": _system,
    "JDK": _jdk,
    "Maven": _maven,
    "C compiler": _compiler,
    "make": _make,
    "Python": _python,
    "Python venv": _venv,
    "Python headers": _headers,
    "network namespaces": _namespaces,
    "shared memory": _shared_memory,
    "disk": _disk,
}


def examine() -> int:
    """Prints one line for each check; returns how many of them failed."""
    failed = 0
    for name, check in CHECKS.items():
        try:
            print(f"  ok       {name}: {check()}")
        except MissingError as missing:
            failed += 1
            print(f"  MISSING  {name}: {missing}")
    return failed


if __name__ == "__main__":
    missing_count = examine()
    if missing_count:
        sys.exit(f"{missing_count} of {len(CHECKS)} checks failed")
    print("everything that JCCL needs is here")
