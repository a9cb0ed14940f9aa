"""The same cases in each Python that the package runs in; see contract."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import embedded
import pytest
from contract import lifecycle, operations, refusals  # noqa: F401
from contract.cases import CASES
from contract.skipped import SKIPPED, skipped

HOSTS = ("jni", "jep", "graalpy")
RANKS = 3
LEAST_SHARE = 0.9
_RUN = str(Path(__file__).parent / "contract" / "run.py")


@functools.cache
def _outcomes(host: str) -> list[dict[str, str]]:
    """What became of each case on each rank: its traceback, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        if host == "jni":
            command = [sys.executable, "-m", "jccl.run", "-n", str(RANKS), _RUN, folder]
        else:
            options = ("--ranks", str(RANKS), "--deadline", "240")
            command = embedded.command(host, *options, _RUN, folder)
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        print(done.stdout, done.stderr)
        return [
            json.loads(Path(folder, f"{rank}.json").read_text(encoding="utf-8"))
            for rank in range(RANKS)
        ]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("host", HOSTS)
def test_every_case_is_good(host: str, case: str) -> None:
    reason = skipped(host, case)
    if reason is not None:
        pytest.skip(reason)
    failed = [outcome[case] for outcome in _outcomes(host) if outcome[case]]
    assert failed == [], failed[0]


@pytest.mark.parametrize("host", HOSTS)
def test_nearly_all_cases_run(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    ran = [len(outcome) for outcome in _outcomes(host)]
    with capsys.disabled():
        print(f"\n{host}: {ran[0]} of {len(CASES)} cases ran")
    assert min(ran) == max(ran) >= LEAST_SHARE * len(CASES)


def test_what_is_skipped_exists() -> None:
    assert {case for _, case in SKIPPED} <= set(CASES)
