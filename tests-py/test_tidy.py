"""Sizes of Python's functions. TidyTest (Java) looks at files, names and comments."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_FUNCTION_LINES = 70


def test_functions_are_short() -> None:
    files = [_ROOT / "setup.py"]
    for directory in (".ci", "python-pkg", "tests-py", "examples", "bench"):
        files += sorted((_ROOT / directory).rglob("*.py"))
    too_long = []
    seen = 0
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                seen += 1
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > _FUNCTION_LINES:
                    too_long.append(
                        f"{file.relative_to(_ROOT)}:{node.lineno} {node.name}: {length}"
                    )
    assert seen > 10
    assert too_long == []


def test_planted_faults_apply() -> None:
    patches = sorted((_ROOT / ".ci" / "faults").glob("*.patch"))
    assert len(patches) >= 20
    stale = []
    for patch in patches:
        command = ["git", "apply", "--check", str(patch)]
        tried = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
        if tried.returncode != 0:
            stale.append(f"{patch.name}: {tried.stderr.strip()}")
    assert not stale, "make these patches again: " + "; ".join(stale)


def test_planted_faults_name_tests_that_exist() -> None:
    modules = ("tests-java", "cuda")
    junit = {path.stem for module in modules for path in (_ROOT / module).rglob("*Test.java")}
    unknown = []
    for patch in sorted((_ROOT / ".ci" / "faults").glob("*.patch")):
        _, _, names = patch.read_text(encoding="utf-8").splitlines()[1].partition(": ")
        tests = [name.strip() for name in names.split(",")]
        assert tests
        unknown += [
            f"{patch.name}: {test}"
            for test in tests
            if test not in junit and not (test.endswith(".py") and (_ROOT / test).exists())
        ]
    assert not unknown, "no such tests: " + ", ".join(unknown)
