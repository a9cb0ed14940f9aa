"""DDP on backend "jccl", beside gloo."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from harness import Rank
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch_team import Team, dist

ROOT = Path(__file__).parents[1]
Parameters = dict[str, torch.Tensor]


class Net(nn.Module):
    """Layers of several sizes, a buffer, and one that some steps do not use."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(32, 300)
        self.norm = nn.BatchNorm1d(300)
        self.maybe = nn.Linear(300, 300)
        self.last = nn.Linear(300, 5)

    def forward(self, x: torch.Tensor, use_all: bool) -> torch.Tensor:
        x = self.norm(self.first(x).relu())
        if use_all:
            x = self.maybe(x).relu()
        result: torch.Tensor = self.last(x)
        return result


def train(rank: Rank, unused: bool, directory: str) -> None:
    """Trains a small network; several buckets a step, so several operations in flight."""
    torch.manual_seed(3)
    plain = Net()
    model = DistributedDataParallel(plain, find_unused_parameters=unused, bucket_cap_mb=0.1)
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.05, momentum=0.9)
    data = torch.Generator().manual_seed(100 + rank.rank)
    for step in range(12):
        optimizer.zero_grad()
        x = torch.randn(16, 32, generator=data)
        model(x, not unused or step % 3 > 0).square().mean().backward()
        optimizer.step()
    torch.save(plain.state_dict(), Path(directory, f"{rank.rank}.pt"))


def trained(team: Team, unused: bool, directory: Path, backend: str) -> Parameters:
    """Trains on a team; returns the parameters, which must be the same on all ranks."""
    team.run(train, unused, str(directory), backend=backend)
    answers: list[Parameters] = [torch.load(path) for path in sorted(directory.glob("*.pt"))]
    # The running statistics of a batch norm are of each rank's own data.
    answers = [{n: t for n, t in a.items() if "norm.run" not in n} for a in answers]
    for other in answers[1:]:
        for name, tensor in answers[0].items():
            assert torch.equal(tensor, other[name]), f"ranks differ in {name}"
    return answers[0]


@pytest.mark.parametrize("unused", [False, True], ids=["all_used", "some_unused"])
def test_parameters_are_bit_equal_to_gloo_at_two_ranks(
    two: Team, unused: bool, tmp_path: Path
) -> None:
    ours = trained(two, unused, tmp_path, "jccl")
    theirs = trained(two, unused, tmp_path, "gloo")
    for name, tensor in ours.items():
        assert torch.equal(
            tensor.reshape(-1).view(torch.uint8), theirs[name].reshape(-1).view(torch.uint8)
        ), name


def test_four_ranks_train_alike(four: Team, tmp_path: Path) -> None:
    ours = trained(four, False, tmp_path, "jccl")
    theirs = trained(four, False, tmp_path, "gloo")
    for name, tensor in ours.items():
        # jccl adds in another order than gloo.
        assert torch.allclose(tensor, theirs[name], atol=1e-4), name


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


def test_the_digits_are_learned_with_gloo_forbidden(tmp_path: Path) -> None:
    """One run of the demonstration as `make demo` starts it, with fewer epochs."""
    options = ["--ranks", "2", "--rounds", "1", "--epochs", "10"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/digits/compare.py"), *options],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "all is well" in done.stdout


def test_forbidding_gloo_forbids_it() -> None:
    program = """
import sys
sys.path.insert(0, "examples/digits")
import train, torch.distributed as dist
train.forbid_gloo()
try:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=480,
        check=True,
    )
    assert "must not use gloo" in done.stdout
