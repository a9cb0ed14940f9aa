"""The JDK that JCCL is built with is new enough, wherever it was found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

_CI = Path(__file__).parent.parent / ".ci"


def _jdk(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "javac").touch()
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


@pytest.fixture
def jdk(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(_CI))
    for name in ("JCCL_JAVA_HOME", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    import jdk

    return jdk


def test_own_variable_comes_first(
    jdk: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JCCL_JAVA_HOME", str(_jdk(tmp_path / "a", "26-ea")))
    monkeypatch.setenv("JAVA_HOME", str(_jdk(tmp_path / "b", "25.0.3")))
    assert jdk.find() == tmp_path / "a"


def test_old_and_broken_ones_are_passed_over(
    jdk: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JCCL_JAVA_HOME", str(_jdk(tmp_path / "old", "17.0.15")))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "missing"))
    found = jdk.find()
    assert found is not None
    assert jdk.release_of(found) >= 25


def test_none_is_one_sentence(tmp_path: Path) -> None:
    code = "import jdk, sys; jdk._candidates = lambda: iter(()); sys.exit(jdk.WHAT_TO_INSTALL"
    code += " if jdk.find() is None else 0)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=_CI, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "JCCL_JAVA_HOME" in done.stderr
