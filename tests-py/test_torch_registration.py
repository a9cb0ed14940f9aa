"""How torch finds the backend, and what it is told when the backend cannot serve."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import jccl.bindings
import jccl.torch
import pytest
import torch
from harness import Rank, run_ranks
from torch.distributed import Backend
from torch_team import dist


def python(program: str) -> str:
    """The output of a program in an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
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


def registers_twice(_: Rank) -> None:
    jccl.torch.register()
    first = Backend._plugins["JCCL"]
    jccl.torch.register()
    assert Backend._plugins["JCCL"] is first
    assert jccl.bindings._binding is None, "registering loaded the library"


def test_registering_twice_changes_nothing() -> None:
    run_ranks(registers_twice, 1, fresh=True)


def refusal(backend: str) -> str:
    """How init_process_group refuses a backend."""
    try:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    except Exception as error:
        return f"{type(error).__name__} {error}"
    return ""


def refusals(_: Rank, *backends: str) -> list[str]:
    return [refusal(backend) for backend in backends]


def test_other_devices_are_refused_by_a_sentence() -> None:
    backends = ("cpu:jccl,cuda:nccl", "cpu:jccl,cuda:gloo", "cpu:gloo,cuda:jccl", "xpu:jccl")
    (answers,) = run_ranks(refusals, 1, *backends, fresh=True)
    assert len(answers) == len(backends)
    for answer in answers:
        assert answer.startswith("ValueError")
        assert "jccl serves whole groups, of CPU and CUDA tensors" in answer


def test_a_missing_jdk_is_said_by_init_process_group(tmp_path: Path) -> None:
    nowhere = {"JCCL_JAVA_HOME": str(tmp_path), "JAVA_HOME": str(tmp_path), "PATH": "/nowhere"}
    ((answer,),) = run_ranks(refusals, 1, "jccl", fresh=True, environment=nowhere)
    if "DistBackendError" not in answer:
        assert not answer, answer
        pytest.skip("this machine has a JDK in /usr/lib/jvm, which is found in spite of the test")
    assert "JDK" in answer


def is_a_group(_: Rank) -> str:
    dist.init_process_group("jccl", store=dist.HashStore(), rank=0, world_size=1)
    tensor = torch.arange(5.0)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [0, 1, 2, 3, 4]
    dist.barrier()
    return str(dist.get_backend())


def test_a_group_of_one_rank_works() -> None:
    # It ends without having destroyed its group.
    assert run_ranks(is_a_group, 1, fresh=True) == ["jccl"]


def needs_time(_: Rank) -> list[str]:
    dist.init_process_group("jccl", store=dist.HashStore(), rank=0, world_size=1)
    sentences = []
    # torch counts nanoseconds, of which these are too many.
    for timeout in (timedelta(0), timedelta(seconds=-1), timedelta.max):
        with pytest.raises(ValueError, match="must be above 0 s") as error:
            dist.new_group([0], timeout=timeout)
        sentences.append(str(error.value))
    with pytest.raises(ValueError, match="must be above 0 s"):
        dist.distributed_c10d._set_pg_timeout(timedelta(0))
    tensor = torch.ones(2)
    dist.all_reduce(tensor, group=dist.group.WORLD.split_group([0]))
    dist.all_reduce(tensor, group=dist.new_group([0], timeout=timedelta(days=365 * 290)))
    assert tensor.tolist() == [1, 1]
    return sentences


def test_a_group_has_a_positive_timeout() -> None:
    (sentences,) = run_ranks(needs_time, 1, fresh=True)
    assert [sentence.split(":")[0] for sentence in sentences[:2]] == [
        "the timeout of a group is 0 s",
        "the timeout of a group is -1 s",
    ]


def asks_gloo(_: Rank) -> str:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    with pytest.raises(TypeError) as error:
        jccl.torch.stats()
    dist.destroy_process_group()
    return str(error.value)


def test_stats_refuse_other_backends() -> None:
    (sentence,) = run_ranks(asks_gloo, 1, fresh=True)
    assert 'is not a group of backend "jccl"' in sentence
