"""The same cases in each Python that the package runs in; see contract."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import embedded
import pytest
from contract import lifecycle, operations, refusals  # noqa: F401
from contract.cases import CASES
from contract.skipped import SKIPPED, skipped

HOSTS = ("jni", "jep", "graalpy")
RANKS = 3
LIMIT_S = 300
LEAST_SHARE = 0.9
_RUN = str(Path(__file__).parent / "contract" / "run.py")


def _outcomes(host: str) -> list[dict[str, str]]:
    """What became of each case on each rank: its traceback, or nothing."""
    outcomes, failure = _run_cases(host)
    assert not failure, failure
    return outcomes


@functools.cache
def _run_cases(host: str) -> tuple[list[dict[str, str]], str]:
    """The outcomes, and why there are none: a cache keeps no exception."""
    with tempfile.TemporaryDirectory() as folder:
        if host == "jni":
            command = [sys.executable, "-m", "jccl.run", "-n", str(RANKS), _RUN, folder]
        else:
            options = ("--ranks", str(RANKS), "--deadline", "240")
            command = embedded.command(host, *options, _RUN, folder)
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=LIMIT_S)
            how = f"exited with status {process.returncode}"
        except subprocess.TimeoutExpired:
            # The ranks of jni are processes of its session.
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            how = f"was not done after {LIMIT_S} s"
        print(said)
        files = [Path(folder, f"{rank}.json") for rank in range(RANKS)]
        if not all(file.exists() for file in files):
            return [], f"{host} {how}, and a rank has written no outcomes:\n{said}"
        return [json.loads(file.read_text(encoding="utf-8")) for file in files], ""


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("host", HOSTS)
def test_every_case_is_good(host: str, case: str) -> None:
    reason = skipped(host, case)
    if reason is not None:
        pytest.skip(reason)
    failed = [outcome[case] for outcome in _outcomes(host) if outcome[case]]
    assert failed == [], failed[0]


@pytest.mark.parametrize("host", HOSTS)
def test_nearly_all_cases_run(host: str, record_property: Callable[[str, object], None]) -> None:
    ran = [len(outcome) for outcome in _outcomes(host)]
    record_property("said", f"{host}: {ran[0]} of {len(CASES)} cases ran")
    assert min(ran) == max(ran) >= LEAST_SHARE * len(CASES)


def test_what_is_skipped_exists() -> None:
    assert {case for _, case in SKIPPED} <= set(CASES)
