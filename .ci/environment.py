"""Makes .venv, a virtual environment with what a target needs, and installs JCCL into it.

Every step leaves a stamp with a digest of its inputs. A second run does only the steps whose inputs
have changed.

Usage: environment.py demo    what the demo needs, JCCL included
       environment.py dev     what the tests need, without JCCL
       environment.py jccl    JCCL alone
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import jdk

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOGS = ROOT / "build" / "logs"

#: The oldest Python that torch 2.15 has wheels for; JCCL itself runs on 3.10.
OLDEST_PYTHON = (3, 11)

#: The inputs of an installation of JCCL; other files do not change it.
INSTALLED_FROM = (
    "setup.py",
    "pyproject.toml",
    "MANIFEST.in",
    "pom.xml",
    "LICENSE",
    "NOTICE",
    "README.md",
    "java-core/pom.xml",
    "java-core/src",
    "python-pkg/jccl",
    ".ci/jdk.py",
)


def _say(sentence: str) -> None:
    print(sentence, flush=True)


def _files(names: Iterable[str]) -> Iterable[Path]:
    for name in names:
        path = ROOT / name
        if path.is_file():
            yield path
        for below in sorted(path.rglob("*")) if path.is_dir() else ():
            parts = below.relative_to(ROOT).parts
            made = {"_lib", "__pycache__"} & set(parts) or any(
                part.endswith(".egg-info") for part in parts
            )
            if below.is_file() and not made:
                yield below


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path in paths:
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _succeeds(log: Path, command: Sequence[str], environment: dict[str, str]) -> bool:
    """Runs a command, logs its output, and prints the progress lines of setup.py."""
    with log.open("a", encoding="utf-8") as out:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None
        for line in process.stdout:
            out.write(line)
            # Maven leaves escape sequences before the next program's first line.
            progress = re.match(r"(?:\s|\x1b\[\d*m)*jccl: (.*)", line)
            if progress:
                _say("  " + progress.group(1))
        return process.wait() == 0


def _call(name: str, *commands: Sequence[str], environment: dict[str, str] | None = None) -> None:
    """Runs the first command; if it fails, the next one, which does the same in another way."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{name}.log"
    log.write_text("", encoding="utf-8")
    for command, other in zip(commands, [*commands[1:], None], strict=True):
        if _succeeds(log, command, environment or {}):
            return
        if other is not None:
            _say(f"  {Path(command[0]).name} failed ({log.relative_to(ROOT)}); trying {other[2]}")
    tail = log.read_text(encoding="utf-8").splitlines()[-40:]
    sys.exit("\n".join(tail) + f"\n{name} failed; the whole log is {log.relative_to(ROOT)}")


def _step(
    name: str,
    what: str,
    sources: Iterable[Path],
    *commands: Sequence[str],
    environment: dict[str, str] | None = None,
) -> None:
    stamp = VENV / f".made-{name}"
    digest = _digest(sources)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
        return
    _say(what)
    start = time.monotonic()
    _call(name, *commands, environment=environment)
    stamp.write_text(digest, encoding="utf-8")
    _say(f"  done in {time.monotonic() - start:.0f} s")


def _venv_python() -> str:
    """The Python version in the configuration of .venv; empty if there is no .venv."""
    try:
        lines = (VENV / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.split("=")[1].strip() for line in lines if line.startswith("version")), "")


def _pip(*arguments: str) -> list[str]:
    return [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", *arguments]


def _uv(*arguments: str) -> list[str]:
    return [str(VENV / "bin" / "uv"), "pip", "install", "--python", str(PYTHON), *arguments]


def _pip_settings() -> dict[str, str]:
    """The places where pip looks for packages, as variables of uv, which ignores pip's files."""
    names = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "find-links": "UV_FIND_LINKS",
        "cert": "SSL_CERT_FILE",
    }
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    settings: dict[str, str] = {}
    # As in pip, the environment comes before the files, and in them `install` before `global`.
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith("global.")):
        key, _, value = line.partition("=")
        variable = names.get(key.rpartition(".")[2])
        if variable and variable not in settings and variable not in os.environ:
            # pip quotes a value as Python does, and separates several by white space.
            separator = "," if variable == "UV_FIND_LINKS" else " "
            settings[variable] = separator.join(" ".join(shlex.split(value)).split())
    return settings


def _compilers() -> dict[str, str]:
    """Variables for Jep, which compiles Java, for which `java` in PATH may be too old, and C.

    Its build is short and nobody debugs it: Java's second compiler and debug information would
    take a third of the build's time.
    """
    quick = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1", "CFLAGS": "-g0"}
    more = {name: f"{os.environ.get(name, '')} {flag}".strip() for name, flag in quick.items()}
    home = jdk.find()
    return more | ({"JAVA_HOME": str(home)} if home else {})


def prepare(purpose: str) -> None:
    """Makes or completes .venv for `demo` or, with the tools of the tests, for `dev`."""
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(
            "The demo and the tests use torch 2.15, which needs Python 3.11 or newer;"
            f" {sys.executable} is {sys.version.split()[0]}."
            " Choose another by `make PYTHON=python3.12 ...`."
        )
    wanted = ".".join(map(str, sys.version_info[:3]))
    if _venv_python() != wanted:
        _say(f"making .venv with Python {wanted}")
        _call("venv", [sys.executable, "-m", "venv", "--clear", str(VENV)])
    build, demo, dev = (ROOT / ".ci" / f"requirements-{n}.txt" for n in ("build", "demo", "dev"))
    _step(
        "build",
        "installing the build's requirements",
        [build],
        _pip("--no-compile", "-r", str(build)),
    )
    sizes = {demo: " (torch: 3 GB to download, 5 GB on disk)"}
    for file in (demo, dev) if purpose == "dev" else (demo,):
        what = f"installing {file.relative_to(ROOT)}{sizes.get(file, '')}"
        # Python compiles a module at its import; compiling all of torch now takes half a minute.
        ways = _uv("-r", str(file)), _pip("--no-compile", "-r", str(file))
        name = file.stem.partition("-")[2]
        settings = _pip_settings() | (_compilers() if file == dev else {})
        _step(name, what, [file], *ways, environment=settings)


def install() -> None:
    """Builds JCCL and installs it into .venv."""
    command = _pip("-v", "--no-build-isolation", "--no-deps", "--force-reinstall", ".")
    _step("jccl", "installing JCCL", _files(INSTALLED_FROM), command)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("demo", "dev", "jccl"):
        sys.exit("usage: environment.py demo|dev|jccl")
    if sys.argv[1] != "jccl":
        prepare(sys.argv[1])
    if sys.argv[1] != "dev":
        install()
