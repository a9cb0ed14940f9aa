"""The tests that torch ships of its own backends, on the backend "jccl"."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_team

SUITE = Path(__file__).with_name("torch_suite.py")

#: Tests that jccl fails, and the sentence that says why; see DIFFERENCES.md.
REFUSED = dict.fromkeys(
    (
        "test_send_recv_any_source",
        "test_send_recv_any_source_autograd_profiler",
        "test_send_recv_any_source_torch_profiler",
    ),
    "NCCL cannot receive from any source",
) | {"test_get_backend": "'jccl' != 'gloo'"}

FEW = (
    "test_DistributedDataParallelCPU",
    "test_all_reduce_coalesced_max_complex_unsupported",
    "test_ddp_create_graph",
    "test_gather_checks",
    "test_scatter_object_list",
    "test_send_recv_any_source",
    "test_sparse_all_reduce_sum",
)

#: torch runs these for MPI only; "_group" asks for three ranks.
ALL_TO_ALL = tuple(
    f"test_all_to_all{what}"
    for what in (
        "",
        "_complex",
        "_full_group",
        "_group",
        "_single_equal_split",
        "_single_equal_split_complex",
        "_single_equal_split_full_group",
        "_single_equal_split_group",
        "_single_unequal_split",
        "_single_unequal_split_complex",
        "_single_unequal_split_full_group",
        "_single_unequal_split_group",
    )
)


def suite(ranks: int, *arguments: str) -> dict[str, Any]:
    """Runs tests of torch; returns what torch_suite.py says of them."""
    done = subprocess.run(
        [sys.executable, str(SUITE), "--ranks", f"{ranks}", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=3000,
        env=os.environ | torch_team.environment(),
    )
    assert done.returncode == 0, done.stdout[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def require_refused(wrong: dict[str, str]) -> None:
    """Each test that failed did so as it is to."""
    for name, text in wrong.items():
        assert REFUSED.get(name, "should pass") in text, f"{name}: {text[-2000:]}"


def test_a_few_of_torchs_own_tests_pass() -> None:
    answer = suite(2, *FEW)
    require_refused(answer["wrong"])
    assert answer["right"] == len(FEW) - 1
    assert len(answer["wrong"]) == 1


@pytest.mark.stress
def test_torchs_tests_of_all_to_all_pass() -> None:
    answer = suite(3, "--like", "mpi", *ALL_TO_ALL)
    assert answer == {"right": len(ALL_TO_ALL), "skipped": 0, "wrong": {}}


@pytest.mark.stress
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_torchs_own_tests_pass(ranks: int) -> None:
    answer = suite(ranks)
    require_refused(answer["wrong"])
    assert answer["wrong"].keys() == REFUSED.keys()
    assert answer["right"] > 80
