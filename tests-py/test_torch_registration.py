"""How torch finds the backend, and what it is told when the backend cannot serve."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys

import pytest


def python(program: str, **environment: str) -> str:
    """The output of a program in an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_entry_point_names_register() -> None:
    (entry,) = (
        point
        for point in importlib.metadata.entry_points(group="torch.distributed.backends")
        if point.name == "jccl"
    )
    assert entry.value == "jccl.torch:register"


def test_torch_finds_the_backend_without_an_import() -> None:
    print_state = (
        "import sys, torch.distributed as dist;"
        "print(dist.is_backend_available('jccl'));"
        "print('jccl.bindings' in sys.modules)"
    )
    assert python(print_state).split() == ["True", "False"]


def test_importing_it_imports_next_to_nothing() -> None:
    program = (
        "import sys; import jccl.torch; print(sorted(m for m in ('torch', 'numpy',"
        " 'jccl.core', 'jccl.bindings') if m in sys.modules))"
    )
    assert python(program).strip() == "[]"


def test_registering_twice_changes_nothing() -> None:
    program = """
import jccl.torch
from torch.distributed import Backend
jccl.torch.register()
first = Backend._plugins["JCCL"]
jccl.torch.register()
assert Backend._plugins["JCCL"] is first
import jccl.bindings
assert jccl.bindings._binding is None, "registering loaded the library"
"""
    python(program)


def init(*backends: str) -> str:
    """A program that prints how init_process_group refuses each backend, a line each."""
    return f"""
import torch.distributed as dist
for backend in {backends}:
    try:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_other_devices_are_refused_by_a_sentence() -> None:
    backends = ("cpu:jccl,cuda:nccl", "cpu:jccl,cuda:gloo", "cpu:gloo,cuda:jccl", "xpu:jccl")
    answers = python(init(*backends)).splitlines()
    assert len(answers) == len(backends), answers
    for answer in answers:
        assert answer.startswith("ValueError")
        assert "jccl serves whole groups, of CPU and CUDA tensors" in answer


def test_a_missing_jdk_is_said_by_init_process_group(tmp_path: object) -> None:
    answer = python(
        init("jccl"), JCCL_JAVA_HOME=str(tmp_path), JAVA_HOME=str(tmp_path), PATH="/nowhere"
    )
    if "DistBackendError" not in answer:
        assert not answer, answer
        pytest.skip("this machine has a JDK in /usr/lib/jvm, which is found in spite of the test")
    assert "JDK" in answer


def test_a_group_of_one_rank_works() -> None:
    program = """
import torch, torch.distributed as dist
dist.init_process_group("jccl", store=dist.HashStore(), rank=0, world_size=1)
tensor = torch.arange(5.0)
dist.all_reduce(tensor)
assert tensor.tolist() == [0, 1, 2, 3, 4]
dist.barrier()
print(dist.get_backend())
"""
    assert python(program).split()[-1] == "jccl"


def test_stats_refuse_other_backends() -> None:
    program = """
import torch.distributed as dist, jccl.torch
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
try:
    jccl.torch.stats()
except TypeError as error:
    print(error)
dist.destroy_process_group()
"""
    assert 'is not a group of backend "jccl"' in python(program)
