"""The contents of the wheel and the sdist that are built from this clone."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import jccl
import pytest

_ROOT = Path(__file__).parent.parent
_VERSION = re.findall(r"<revision>(.+)</revision>", (_ROOT / "pom.xml").read_text())[0]
_NATIVE = {f"jccl-core-{_VERSION}.jar", "libjccl.so", "libnccl.so.2", "_jccl.abi3.so"}
_NATIVE |= {"nccl.h", "nccl_device.h", "jccl.h"}


def _build(backend_call: str, source: Path) -> str:
    """Calls a hook of the build backend in a fresh interpreter; returns the file's name."""
    code = (
        "import sys, setuptools.build_meta as backend\n"
        f"sys.stdout.flush(); name = backend.{backend_call}\n"
        "print(); print('made', name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=source, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split("made ")[-1].strip()


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    return folder / _build(f"build_sdist({str(folder)!r})", _ROOT)


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the unpacked sdist, which therefore holds what a build needs."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as tar:
        tar.extractall(folder, filter="data")
    source = folder / sdist.name.removesuffix(".tar.gz")
    return folder / _build(f"build_wheel({str(folder)!r})", source)


def test_one_wheel_for_every_cpython(wheel: Path) -> None:
    assert wheel.name == f"jccl-{_VERSION}-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"jccl-{_VERSION}.dist-info/WHEEL").decode()
    assert "Root-Is-Purelib: false" in text


def test_wheel_holds_jar_libraries_and_licences(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        lib = {Path(name).name for name in names if name.startswith("jccl/_lib/")}
        assert lib == _NATIVE
        assert "jccl/py.typed" in names
        licences = f"jccl-{_VERSION}.dist-info/licenses/"
        assert {licences + "LICENSE", licences + "NOTICE"} <= names
        assert not [name for name in names if name.startswith(("tests", "examples", "org/"))]
        points = archive.read(f"jccl-{_VERSION}.dist-info/entry_points.txt").decode()
        assert "[torch.distributed.backends]\njccl = jccl.torch:register" in points


def test_numpy_is_the_only_dependency(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"jccl-{_VERSION}.dist-info/METADATA").decode()
    message = email.message_from_string(metadata)
    required = message.get_all("Requires-Dist", [])
    assert [name for name in required if "extra ==" not in name] == ["numpy"]
    assert message["Requires-Python"] == ">=3.10"
    assert message["License-Expression"] == "Apache-2.0"


def test_jar_holds_version_and_licences(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        jar = archive.extract(f"jccl/_lib/jccl-core-{_VERSION}.jar", tmp_path)
    with zipfile.ZipFile(jar) as archive:
        assert {"META-INF/LICENSE", "META-INF/NOTICE"} <= set(archive.namelist())
        manifest = archive.read("META-INF/MANIFEST.MF").decode()
        assert f"Implementation-Version: {_VERSION}" in manifest
        properties = archive.read("org/jccl/version.properties").decode()
        assert f"version={_VERSION}" in properties
        foreign = [n for n in archive.namelist() if n.endswith(".class") and "org/jccl/" not in n]
        assert foreign == []


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("PATH", "/nowhere", "`mvn` is not in PATH; install Apache Maven"),
        ("CC", "no-such-compiler", "`no-such-compiler` is not in PATH; install a C compiler"),
    ],
)
def test_missing_programs_are_named(
    variable: str, value: str, sentence: str, sdist: Path, tmp_path: Path
) -> None:
    with tarfile.open(sdist) as tar:
        tar.extractall(tmp_path, filter="data")
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_native", f"--build-lib={tmp_path}/lib"],
        cwd=tmp_path / sdist.name.removesuffix(".tar.gz"),
        env={**os.environ, variable: value},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def cuda_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cuda")
    return folder / _build(f"build_wheel({str(folder)!r})", _ROOT / "cuda")


def test_the_wheel_for_gpus_adds_jars_beside_the_library(cuda_wheel: Path, tmp_path: Path) -> None:
    assert cuda_wheel.name == f"jccl_cuda-{_VERSION}-py3-none-linux_x86_64.whl"
    installed = Path(jccl.__file__).parent
    shutil.copytree(installed, tmp_path / "jccl")
    for information in installed.parent.glob("jccl-*.dist-info"):
        shutil.copytree(information, tmp_path / information.name)
    program = """
import jccl.core as nccl
try:
    nccl.Communicator.init(1, 0, nccl.get_unique_id(), nccl.NCCLConfig(device="cuda"))
except nccl.NCCLError as error:
    print(error)
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    environment.pop("JCCL_JAR", None)

    def said() -> str:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert 'no device "cuda": this process knows host' in said()
    with zipfile.ZipFile(cuda_wheel) as archive:
        names = archive.namelist()
        assert f"jccl/_lib/jccl-cuda-{_VERSION}.jar" in names
        assert any(re.fullmatch(r"jccl/_lib/jcuda-natives-.*\.jar", name) for name in names)
        metadata = archive.read(f"jccl_cuda-{_VERSION}.dist-info/METADATA").decode()
        assert f"Requires-Dist: jccl=={_VERSION}" in metadata
        archive.extractall(tmp_path)
    # Now the module is found, and says what this machine lacks.
    assert 'no device "cuda"' in said()
    assert "this process knows" not in said()
