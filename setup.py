"""Builds the wheel: the jar by Maven, the libraries by the C compiler, both inside the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Command, Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / ".ci"))

import jdk  # noqa: E402  (it lies beside the other scripts of the build, not in the package)

C_SOURCES = ROOT / "java-core" / "src" / "main" / "c"
LIBRARIES = ("libjccl.so", "libnccl.so.2", "_jccl.abi3.so")
HEADERS = ("nccl.h", "nccl_device.h", "jccl.h")


def version() -> str:
    """The version that the parent pom declares, the only place where it is written."""
    pom = (ROOT / "pom.xml").read_text(encoding="utf-8")
    found = re.search(r"<revision>([^<]+)</revision>", pom)
    if found is None:
        raise SystemExit("JCCL cannot be built: pom.xml declares no <revision>.")
    return found.group(1)


def say(sentence: str) -> None:
    """One line of progress; pip shows it with -v."""
    print(f"jccl: {sentence}", flush=True)


def need_program(name: str, package: str) -> str:
    """Returns the path of a program that the build calls; ends the build if there is none."""
    path = shutil.which(name)
    if path is None:
        raise SystemExit(f"JCCL cannot be built: `{name}` is not in PATH; install {package}.")
    return path


def refuse_python() -> None:
    """Ends the build with one sentence if this Python could not load the result."""
    if sys.implementation.name != "cpython":
        raise SystemExit(
            f"JCCL cannot be built: this Python is {sys.implementation.name}, and JCCL's native"
            " part is an extension of CPython; install it into CPython 3.10 or newer."
        )
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit(
            "JCCL cannot be built: this CPython is free-threaded and has no stable ABI; install"
            " JCCL into one with a GIL."
        )


def run(command: list[str], what: str, env: dict[str, str] | None = None) -> None:
    """Runs one step of the build; its output is shown as it comes."""
    done = subprocess.run(command, cwd=ROOT, env=env, check=False)
    if done.returncode != 0:
        raise SystemExit(f"JCCL cannot be built: {what} failed; its messages are above.")


class BuildNative(Command):
    """Makes the jar and the libraries and puts them into jccl/_lib."""

    description = "build JCCL's jar and libraries"
    user_options = [("build-lib=", "b", "directory of the built package")]
    editable_mode: bool
    build_lib: str | None

    def initialize_options(self) -> None:
        self.editable_mode = False
        self.build_lib = None

    def finalize_options(self) -> None:
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    def target(self) -> Path:
        """The folder of the files: beside the sources in editable mode, else in the build."""
        package = ROOT / "python-pkg" if self.editable_mode else Path(str(self.build_lib))
        return package / "jccl" / "_lib"

    def names(self) -> list[str]:
        return [f"jccl-core-{version()}.jar", *LIBRARIES, *HEADERS]

    def run(self) -> None:
        refuse_python()
        home = jdk.find()
        if home is None:
            raise SystemExit(jdk.WHAT_TO_INSTALL)
        need_program("mvn", "Apache Maven 3.6.3 or newer")
        need_program("make", "GNU make")
        need_program(os.environ.get("CC", "cc").split()[0], "a C compiler, for example gcc")
        include = sysconfig.get_path("include")
        if not Path(include, "Python.h").exists():
            raise SystemExit(
                f"JCCL cannot be built: {include} has no Python.h; install Python's headers"
                " (python3-dev or python3-devel)."
            )
        target = self.target()
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        self.build_jar(home, target)
        self.build_libraries(home, include, target)

    def build_jar(self, home: Path, target: Path) -> None:
        say(f"building the jar with Maven on the JDK in {home}")
        output = "target/wheel"
        command = ["mvn", "-q", "-B", "-f", "java-core/pom.xml", "-DskipTests"]
        command += ["-Djccl.unchecked", f"-Djccl.target={output}", "package"]
        run(command, "Maven", jdk.maven_environment(home))
        jar = f"jccl-core-{version()}.jar"
        shutil.copyfile(ROOT / "java-core" / output / jar, target / jar)

    def build_libraries(self, home: Path, include: str, target: Path) -> None:
        say("compiling the C sources")
        command = ["make", "-s", "-j2", "-C", str(C_SOURCES), f"OUT={target.resolve()}"]
        command += [f"PYTHON_INCLUDE={include}", f"JAVA_HOME={home}", f"VERSION={version()}"]
        # As with Java: a newer compiler's warnings must not keep anybody from installing.
        command += [f"CFLAGS=-Wno-error {os.environ.get('CFLAGS', '')}".rstrip()]
        run(command, "compiling the C sources")
        for header in HEADERS:
            shutil.copyfile(C_SOURCES / header, target / header)
        missing = [name for name in self.names() if not (target / name).exists()]
        if missing:
            raise SystemExit(f"JCCL cannot be built: the build did not make {', '.join(missing)}.")
        # Intermediate files have no place in a wheel.
        for path in target.iterdir():
            if path.name not in self.names():
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def get_outputs(self) -> list[str]:
        return [str(self.target() / name) for name in self.names()]

    def get_output_mapping(self) -> dict[str, str]:
        return {}

    def get_source_files(self) -> list[str]:
        return []


class Build(build):
    """Starts from an empty directory, so that no file of an earlier build reaches a wheel."""

    sub_commands = [*build.sub_commands, ("build_native", None)]

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class Wheel(bdist_wheel):
    """One wheel for every CPython: the extension keeps to the limited API."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", sysconfig.get_platform().replace("-", "_").replace(".", "_")


class NativeDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(
    version=version(),
    distclass=NativeDistribution,
    cmdclass={"build": Build, "build_native": BuildNative, "bdist_wheel": Wheel},
)
