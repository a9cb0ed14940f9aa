"""DDP on backend "jccl", beside gloo."""

from __future__ import annotations

import copy
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import embedded
import pytest
import torch
import torch_team
import training
from harness import Rank, run_ranks
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch_team import Team, dist

ROOT = Path(__file__).parents[1]
DEMONSTRATION = ROOT / "examples" / "digits"
Parameters = dict[str, torch.Tensor]


def train(rank: Rank, unused: bool, directory: str, compiled: bool) -> None:
    """See training.train."""
    training.train(rank.rank, unused, directory, compiled)


def trained(
    team: Team, unused: bool, directory: Path, backend: str, compiled: bool = False
) -> Parameters:
    """Trains on a team; returns the parameters, which must be the same on all ranks."""
    team.run(train, unused, str(directory), compiled, backend=backend)
    return saved(directory)


def saved(directory: Path) -> Parameters:
    """The parameters that the ranks have saved, which must be the same."""
    answers: list[Parameters] = [torch.load(path) for path in sorted(directory.glob("*.pt"))]
    # The running statistics of a batch norm are of each rank's own data.
    answers = [{n: t for n, t in a.items() if "norm.run" not in n} for a in answers]
    for other in answers[1:]:
        for name, tensor in answers[0].items():
            assert torch.equal(tensor, other[name]), f"ranks differ in {name}"
    return answers[0]


def bits(parameters: Parameters) -> dict[str, bytes]:
    """Every bit of the parameters."""
    return {name: tensor.numpy().tobytes() for name, tensor in parameters.items()}


@pytest.mark.parametrize("unused", [False, True], ids=["all_used", "some_unused"])
def test_parameters_are_bit_equal_to_gloo_at_two_ranks(
    two: Team, unused: bool, tmp_path: Path
) -> None:
    ours = trained(two, unused, tmp_path, "jccl")
    theirs = trained(two, unused, tmp_path, "gloo")
    assert bits(ours) == bits(theirs)


def test_a_compiled_model_learns_what_it_does_on_gloo(two: Team, tmp_path: Path) -> None:
    ours = trained(two, False, tmp_path, "jccl", compiled=True)
    theirs = trained(two, False, tmp_path, "gloo", compiled=True)
    assert bits(ours) == bits(theirs)


def test_four_ranks_train_alike(four: Team, tmp_path: Path) -> None:
    ours = trained(four, False, tmp_path, "jccl")
    theirs = trained(four, False, tmp_path, "gloo")
    for name, tensor in ours.items():
        # jccl adds in another order than gloo.
        assert torch.allclose(tensor, theirs[name], atol=1e-4), name


def test_four_ranks_of_one_jep_train_what_four_processes_do(tmp_path: Path) -> None:
    script, jep, processes = (tmp_path / name for name in ("script.py", "jep", "processes"))
    script.write_text(
        "import sys\n"
        f"sys.path.append({str(Path(__file__).parent)!r})\n"
        "import training\n"
        "import torch.distributed as dist\n"
        "dist.init_process_group('jccl')\n"
        "training.train(dist.get_rank(), False, sys.argv[1])\n"
        "dist.destroy_process_group()\n",
        encoding="utf-8",
    )
    jep.mkdir()
    processes.mkdir()
    done = embedded.run("jep", "--ranks", "4", str(script), str(jep), OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stdout + done.stderr
    # On one host, as the ranks of Jep are: nodes would add in another order.
    with torch_team.team(4) as team:
        assert bits(saved(jep)) == bits(trained(team, False, processes, "jccl"))


def steps(model: nn.Module, count: int) -> None:
    for _ in range(count):
        model(torch.ones(1, 4)).sum().backward()


def a_failed_bucket_raises(rank: Rank) -> bool:
    model = DistributedDataParallel(nn.Linear(4, 4))
    steps(model, 1)
    group = dist.group.WORLD
    assert group is not None
    rank.meet("one-step")
    if rank.rank == 0:
        # The other rank ends its communicator instead of taking part.
        with pytest.raises(RuntimeError):
            steps(model, 2)
    else:
        group.abort()
    rank.meet("failed")
    return True


def test_a_lost_peer_fails_backward_and_not_the_process(two: Team) -> None:
    assert two.run(a_failed_bucket_raises) == [True, True]


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the demonstration; bench has one with the same name."""
    monkeypatch.delitem(sys.modules, "compare", raising=False)
    monkeypatch.syspath_prepend(str(DEMONSTRATION))
    yield importlib.import_module("compare")
    del sys.modules["compare"]


def test_the_digits_are_learned_with_gloo_forbidden(compare: Any, tmp_path: Path) -> None:
    """The demonstration's run on jccl, with fewer epochs, beside itself in the place of others."""
    compare.run("jccl", 2, 10, True, tmp_path)
    runs = compare.Runs()
    runs.add(tmp_path)
    compare.table(dict.fromkeys(compare.NAMES, runs), 2)
    assert compare.verdict(dict.fromkeys(compare.NAMES, runs), 2) == []
    other, few = copy.deepcopy(runs), copy.deepcopy(runs)
    next(iter(other.parameters.values())).view(torch.int32)[0] ^= 1
    few.record["accuracy"] = 0.9
    sentences = compare.verdict({"jccl": runs, "gloo": other, "none": few}, 2)
    assert len(sentences) == 2
    assert "none: accuracy 0.9000 is below" in sentences[0]
    assert "jccl's parameters differ from gloo's" in sentences[1]


@pytest.mark.stress
def test_the_demonstration_compares_three_runs(tmp_path: Path) -> None:
    """As `make demo` starts it, with fewer epochs."""
    options = ["--ranks", "2", "--rounds", "1", "--epochs", "10"]
    done = subprocess.run(
        [sys.executable, str(DEMONSTRATION / "compare.py"), *options],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "all is well" in done.stdout


def forbids_gloo(_: Rank) -> str:
    sys.path.insert(0, str(DEMONSTRATION))
    importlib.import_module("train").forbid_gloo()
    with pytest.raises(RuntimeError) as error:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    return str(error.value)


def test_forbidding_gloo_forbids_it() -> None:
    assert run_ranks(forbids_gloo, 1, fresh=True) == ["this run must not use gloo"]
