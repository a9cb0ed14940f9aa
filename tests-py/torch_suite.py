"""Runs the tests that torch ships of its own backends on the backend "jccl".

Usage: torch_suite.py [--ranks N] [--like BACKEND] [TEST ...]

The tests are those of torch.testing for a backend of CPU tensors, each in N processes (2 by
default), forked from one that has imported torch. Where a test asks for the backend (gloo, or mpi,
which alone has some tests), it gets jccl. The last line is an object in JSON: how many tests were
right, how many torch skips, and, by name, how the others failed. The status is 0.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

REPLACED = (
    "init_process_group",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
)


def on_jccl(backend: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; an argument that is the backend becomes "jccl"."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        given = ["jccl" if each == backend else each for each in args]
        named = {name: "jccl" if each == backend else each for name, each in options.items()}
        return function(*given, **named)

    return call


def suite(ranks: int, like: str, directory: str) -> type[unittest.TestCase]:
    """The class of torch's tests."""
    for folder in ("barrier", "test_dir"):
        Path(directory, folder).mkdir()
    # torch reads these when its module is imported, and in each test.
    os.environ |= {"BACKEND": like, "WORLD_SIZE": f"{ranks}", "TEMP_DIR": directory}
    for name in REPLACED:
        setattr(torch.distributed, name, on_jccl(like, getattr(torch.distributed, name)))
    from torch.testing._internal.distributed import distributed_test

    backend: Any = distributed_test.TestDistBackend
    tests: Any = distributed_test.DistributedTest._DistTestBase

    class OnJccl(backend, tests):  # type: ignore[misc]
        def setUp(self) -> None:
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    return OnJccl


def main() -> None:
    """Runs the tests that the arguments name, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2, help="ranks of each test (2)")
    parser.add_argument("--like", default="gloo", help="the backend whose tests run (gloo)")
    parser.add_argument("tests", nargs="*", help="as in test_barrier; all if there is none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        cases = suite(options.ranks, options.like, directory)
        names = options.tests or unittest.defaultTestLoader.getTestCaseNames(cases)
        run = unittest.TestSuite(cases(name) for name in names)
        result = unittest.TextTestRunner(sys.stdout, verbosity=2).run(run)
    wrong = {str(case).split()[0]: text for case, text in result.errors + result.failures}
    right = result.testsRun - len(result.skipped) - len(wrong)
    answer = {"right": right, "skipped": len(result.skipped), "wrong": wrong}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
