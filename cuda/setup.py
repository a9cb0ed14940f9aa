"""Builds the wheel of jccl-cuda: the jars that JCCL needs on GPUs, beside JCCL's own library.

Needs the whole repository. nvcc and JCuda are fetched if they are not there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Command, Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / ".ci"))

import jdk  # noqa: E402  (it lies beside the other scripts of the build, not in the package)

KERNELS = ROOT / "build" / "kernels"


def version() -> str:
    """JCCL's version, which must be that of the package jccl."""
    for line in (ROOT / "pom.xml").read_text(encoding="utf-8").splitlines():
        if "<revision>" in line:
            return line.split(">")[1].split("<")[0]
    raise SystemExit("jccl-cuda cannot be built: pom.xml declares no <revision>.")


def run(command: list[str], what: str, env: dict[str, str] | None = None) -> None:
    """Runs one step of the build."""
    print(f"jccl-cuda: {what}", flush=True)
    if subprocess.run(command, cwd=ROOT, env=env, check=False).returncode != 0:
        raise SystemExit(f"jccl-cuda cannot be built: {what} failed; its messages are above.")


def newest(*folders: Path) -> float:
    """When the newest file of some folders was changed."""
    files = (file for folder in folders for file in folder.rglob("*") if file.is_file())
    return max((file.stat().st_mtime for file in files), default=0.0)


class BuildJars(Command):
    """Puts the jars into jccl/_lib, where JCCL's library looks for them."""

    description = "build the jars"
    user_options = [("build-lib=", "b", "directory of the built package")]
    build_lib: str | None

    def initialize_options(self) -> None:
        self.build_lib = None

    def finalize_options(self) -> None:
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    def run(self) -> None:
        home = jdk.find()
        if home is None:
            raise SystemExit(jdk.WHAT_TO_INSTALL)
        if newest(KERNELS) < newest(HERE / "src" / "main" / "cuda"):
            run([str(HERE / "kernels.sh")], "compiling the kernels")
        target = Path(str(self.build_lib)).resolve() / "jccl" / "_lib"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        # A target of its own: Maven may be at work in the usual one.
        output = "target/wheel"
        command = ["mvn", "-q", "-B", "-pl", "java-core,cuda", "-DskipTests", "-Djccl.unchecked"]
        command += [f"-Djccl.target={output}", "package", "dependency:copy-dependencies"]
        command += ["-DincludeGroupIds=org.jcuda", f"-DoutputDirectory={target}"]
        run(command, "building the jars with Maven", jdk.maven_environment(home))
        jar = f"jccl-cuda-{version()}.jar"
        shutil.copyfile(HERE / output / jar, target / jar)

    def get_outputs(self) -> list[str]:
        return []

    def get_source_files(self) -> list[str]:
        return []


class Build(build):
    """Starts from an empty directory, so that no jar of an earlier build reaches a wheel."""

    sub_commands = [*build.sub_commands, ("build_jars", None)]

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class Wheel(bdist_wheel):
    """One wheel for every Python: it holds jars."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", sysconfig.get_platform().replace("-", "_").replace(".", "_")


class Jars(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(
    version=version(),
    install_requires=[f"jccl=={version()}"],
    packages=[],
    distclass=Jars,
    cmdclass={"build": Build, "build_jars": BuildJars, "bdist_wheel": Wheel},
)
