"""torch.distributed in Jep: each rank of one Java VM has a world of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from embedded import LIMIT_S, REPOSITORY, run

torch = pytest.importorskip("torch", reason="these programs are torch's")

TRAIN = str(REPOSITORY / "examples" / "digits" / "train.py")


def worlds(tmp_path: Path, code: str, *, ranks: int = 3, **environment: str) -> list[str]:
    """What ranks of one Jep print, sorted."""
    script = tmp_path / "script.py"
    begin = f"""
        import faulthandler, os, sys, threading
        # Shows where each thread is if the program does not end.
        faulthandler.dump_traceback_later({LIMIT_S - 60}, file=sys.__stderr__)
        import torch
        import torch.distributed as dist
    """
    script.write_text(textwrap.dedent(begin) + textwrap.dedent(code), encoding="utf-8")
    done = run("jep", "--ranks", str(ranks), str(script), **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(done.stdout.splitlines())


#: Parts of one program, since each start imports torch. Each prints a line that begins with its
#: name, after the number of the rank.
PARTS = {
    "groups": """
        assert not dist.is_initialized()
        for _ in range(3):
            dist.init_process_group("jccl")
            n, rank = dist.get_world_size(), dist.get_rank()
            x = torch.full((1000,), rank + 1.0)
            dist.all_reduce(x)
            assert (x == n * (n + 1) / 2).all()
            both = dist.new_group([0, n - 1])
            if rank in (0, n - 1):
                y = torch.tensor([rank])
                dist.all_reduce(y, group=both)
                assert y.item() == n - 1
                assert dist.get_group_rank(both, rank) == (rank > 0)
            names: list = [None] * n
            dist.all_gather_object(names, f"rank {rank}")
            assert names == [f"rank {r}" for r in range(n)]
            dist.destroy_process_group()
            assert not dist.is_initialized()
        print("groups", n, rank)
    """,
    "callbacks": """
        dist.init_process_group("jccl")
        seen = []
        for _ in range(20):
            work = dist.all_reduce(torch.ones(5), async_op=True)
            work.get_future().then(lambda _: seen.append(dist.get_rank())).wait()
        thread = threading.Thread(target=lambda: seen.append(dist.get_rank()))
        thread.start()
        thread.join()
        print("callbacks", dist.get_rank(), set(seen), len(seen))
        dist.destroy_process_group()
    """,
    "objects": """
        class Point:
            def __init__(self, x):
                self.x = x

        dist.init_process_group("jccl")
        points = [None] * dist.get_world_size()
        dist.all_gather_object(points, Point(dist.get_rank()))
        assert all(type(point) is Point for point in points)
        print("objects", [point.x for point in points])
        dist.destroy_process_group()
    """,
    "threads": """
        import torch.distributed._functional_collectives as functional

        def use():
            total = functional.all_reduce(torch.ones(3), "sum", dist.group.WORLD)
            found.append(functional.wait_tensor(total).tolist())
            dist.destroy_process_group()

        for _ in range(2):
            found = []
            dist.init_process_group("jccl")
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
            assert not dist.is_initialized()
        print("threads", found)
    """,
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What three ranks print that run all parts, below a launcher that is not theirs.

    The launcher's variables would make them look for a store that they cannot reach.
    """
    code = "".join(map(textwrap.dedent, PARTS.values()))
    return worlds(
        tmp_path_factory.mktemp("parts"),
        code,
        TORCHELASTIC_USE_AGENT_STORE="True",
        MASTER_ADDR="203.0.113.1",
        MASTER_PORT="1",
    )


def part(printed: list[str], name: str) -> list[str]:
    """The lines of a part, by rank."""
    return [line.replace(f" {name}", "", 1) for line in printed if line[3:].startswith(f" {name} ")]


def test_each_rank_has_its_own_groups(printed: list[str]) -> None:
    assert part(printed, "groups") == [f"[{r}] 3 {r}" for r in range(3)]


def test_callbacks_and_threads_are_in_the_world_of_their_rank(printed: list[str]) -> None:
    assert part(printed, "callbacks") == [f"[{r}] {r} {{{r}}} 21" for r in range(3)]


def test_objects_of_classes_of_the_script_are_exchanged(printed: list[str]) -> None:
    """Each rank has its own module __main__, by which pickle finds them."""
    assert part(printed, "objects") == [f"[{r}] [0, 1, 2]" for r in range(3)]


def test_threads_of_a_rank_find_and_end_its_groups(printed: list[str]) -> None:
    assert part(printed, "threads") == [f"[{r}] [[3.0, 3.0, 3.0]]" for r in range(3)]


def test_the_launcher_of_the_process_is_not_that_of_its_ranks(printed: list[str]) -> None:
    assert len(printed) == 3 * len(PARTS)


def test_a_rank_that_has_ended_receives_nothing_more(tmp_path: Path) -> None:
    """Its tensors are freed while its interpreter ends."""
    lines = worlds(
        tmp_path,
        """
        import sys, types

        # What the ranks share.
        shared = vars(sys.modules.setdefault("shared", types.ModuleType("shared")))
        ending = shared.setdefault("ending", threading.Event())
        told = shared.setdefault("told", threading.Event())

        class Slow:
            def __del__(self):
                ending.set()
                told.wait(60)

        dist.init_process_group("jccl")
        own = threading.local()
        # So much is not sent before its receiver takes it.
        x = torch.zeros(4 << 20)
        dist.barrier()
        if dist.get_rank() == 0:
            assert ending.wait(60)
            try:
                dist.send(x, 1)
                print("sent")
            except dist.DistBackendError as error:
                print("rank 1" in str(error))
            told.set()
        else:
            own.slow = Slow()
            dist.irecv(x, 0)
        """,
        ranks=2,
    )
    assert lines == ["[0] True"]


def test_a_rank_that_raises_is_named_by_the_others(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import threading, torch, torch.distributed as dist
            dist.init_process_group("jccl")
            x = torch.ones(4)
            dist.all_reduce(x)
            if dist.get_rank() == 1:
                try:
                    raise KeyError("odd")
                finally:
                    # The others fail before this rank has failed.
                    dist.destroy_process_group()
                    threading.Event().wait(1)
            try:
                dist.all_reduce(x)
            except dist.DistBackendError as error:
                print(error)
                raise
        """),
        encoding="utf-8",
    )
    done = run("jep", "--ranks", "3", str(script))
    assert done.returncode == 1
    assert "rank 1 raised KeyError: 'odd' (the first to fail)" in done.stderr
    others = [line for line in done.stdout.splitlines() if "rank 1" in line]
    assert {line[:3] for line in others} >= {"[0]", "[2]"}, done.stdout


def test_a_rank_that_ends_before_it_makes_the_group_is_named(tmp_path: Path, seed: int) -> None:
    _ends_before_it_makes_the_group(tmp_path, gone=seed % 2)


@pytest.mark.stress
@pytest.mark.parametrize("gone", [0, 1])
def test_each_rank_that_ends_before_it_makes_the_group_is_named(tmp_path: Path, gone: int) -> None:
    _ends_before_it_makes_the_group(tmp_path, gone)


def _ends_before_it_makes_the_group(tmp_path: Path, gone: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import os, sys, torch.distributed as dist
            gone = int(sys.argv[1])
            if int(os.environ["RANK"]) == gone:
                sys.exit(5)
            try:
                dist.init_process_group("jccl")
            except dist.DistBackendError as error:
                assert f"the program of rank {gone} has ended before" in str(error), error
                print("told")
        """),
        encoding="utf-8",
    )
    done = run("jep", "--ranks", "2", str(script), str(gone))
    assert done.returncode == 5, done.stdout + done.stderr
    assert "told" in done.stdout


# With another program, and processes without torchrun, test_torch_training.py checks the same.
@pytest.mark.stress
def test_four_ranks_of_one_jep_train_what_four_of_torchrun_do(tmp_path: Path) -> None:
    arguments = ["--epochs", "1", "--quiet", "--save"]
    jep, torchrun = tmp_path / "jep", tmp_path / "torchrun"
    jep.mkdir()
    torchrun.mkdir()
    done = run("jep", "--ranks", "4", TRAIN, *arguments, str(jep), OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stdout + done.stderr
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*command, "--nproc-per-node", "4", TRAIN, *arguments, str(torchrun)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    mine, theirs = (torch.load(place / "parameters.pt") for place in (jep, torchrun))
    assert mine.keys() == theirs.keys()
    for name, tensor in mine.items():
        assert tensor.numpy().tobytes() == theirs[name].numpy().tobytes(), name
