"""One communicator of ranks in C, Java, CPython, GraalPy and Jep, each started in its own way."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import cprogram
import numpy
import pytest
from embedded import command
from harness import NET
from jccl.bindings import load
from oracle import KINDS, Array, fold, fold_on

MIXED = Path(__file__).parent / "mixed"
#: Which ranks are of which kind: C, Java, CPython, torchrun, GraalPy, Jep.
KIND_OF = [0, 1, 2, 3, 4, 4, 5, 5]
N = len(KIND_OF)
PERIOD = 2003
FLOAT32 = KINDS["FLOAT32"]
TWO_HOSTS = [{"NCCL_HOSTID": "even"}, {"NCCL_HOSTID": "odd"}]


def test_all_kinds_of_ranks_work_together(tmp_path: Path) -> None:
    run_members(tmp_path, 3001, [{}])


@pytest.mark.stress
@pytest.mark.parametrize("environments", [[{}], [NET], TWO_HOSTS], ids=["memory", "wires", "hosts"])
@pytest.mark.parametrize("count", [1, 3001, 600_000])
def test_all_kinds_of_ranks_work_together_at_length(
    tmp_path: Path, count: int, environments: list[dict[str, str]]
) -> None:
    run_members(tmp_path, count, environments)


def commands(directory: Path, count: int) -> list[list[str]]:
    """What starts the members of each kind."""
    unique_id, script = str(directory / "id"), str(MIXED / "member.py")
    (jar,) = cprogram.LIBRARIES.glob("jccl-core-*.jar")
    java = [str(Path(load().java_home(), "bin", "java")), "--enable-native-access=ALL-UNNAMED"]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1"]

    def own(rank: int) -> list[str]:
        output = str(directory / str(rank))
        return [unique_id, output, str(N), str(rank), str(KIND_OF[rank]), str(count)]

    def python(first: int) -> list[str]:
        numbers = [N, first, KIND_OF[first], count]
        return [script, unique_id, str(directory), *map(str, numbers)]

    return [
        [str(cprogram.program("member.c")), *own(0)],
        [*java, "-cp", str(jar), str(MIXED / "Member.java"), *own(1)],
        [sys.executable, *python(2)],
        [sys.executable, *torchrun, *python(3)],
        command("graalpy", "--ranks", "2", *python(4)),
        command("jep", "--ranks", "2", *python(6)),
    ]


def run_members(directory: Path, count: int, environments: list[dict[str, str]]) -> None:
    pytest.importorskip("torch", reason="torchrun is torch's")
    members = [
        subprocess.Popen(
            words,
            env={**os.environ, **environments[number % len(environments)]},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number, words in enumerate(commands(directory, count))
    ]
    try:
        for member in members:
            cprogram.finish(member)
    finally:
        for member in members:
            member.kill()
            member.communicate()
    n_hosts = len(environments)
    for rank in range(N):
        assert (directory / str(rank)).read_text().splitlines() == expected(rank, count, n_hosts)


def expected(rank: int, count: int, n_hosts: int) -> list[str]:
    """The lines of a rank."""
    world = list(range(N))
    own = [r for r in world if KIND_OF[r] == KIND_OF[rank]]
    across = [r for r in reversed(world) if r % 2 == rank % 2]
    teams = {"world": world, "kind": own, "across": across, "again": world}
    return [
        f"{phase} {operation} {zlib.crc32(result.tobytes())}"
        for phase, team in teams.items()
        for operation, result in results(team, rank, count, n_hosts).items()
        if result is not None
    ]


def given(rank: int, operation: int, length: int) -> Array:
    seeds = (rank * 7919 + operation * 104729 + numpy.arange(PERIOD) * 31) % PERIOD
    return numpy.resize((seeds - 1001).astype("float32") / numpy.float32(7), length)


def results(team: list[int], rank: int, count: int, n_hosts: int) -> dict[str, Array | None]:
    """What each operation gives to a rank."""
    n, me = len(team), team.index(rank)
    mine = slice(me * count, (me + 1) * count)
    hosts = [KIND_OF[member] % n_hosts for member in team]
    nodes = [list(dict.fromkeys(hosts)).index(host) for host in hosts]

    def inputs(operation: int, parts: int = 1) -> list[Array]:
        return [given(member, operation, parts * count) for member in team]

    def total(operation: int, parts: int = 1) -> Array:
        return fold_on(nodes, inputs(operation, parts), FLOAT32, "SUM", to_all=parts == 1)

    return {
        "all_reduce": total(1),
        "broadcast": inputs(2)[1 % n],
        "reduce": fold(inputs(3), FLOAT32, "SUM") if me == n - 1 else None,
        "all_gather": numpy.concatenate(inputs(4)),
        "reduce_scatter": total(5, n)[mine],
        "all_to_all": numpy.concatenate([x[mine] for x in inputs(6, n)]),
        "gather": numpy.concatenate(inputs(7)) if me == 0 else None,
        "scatter": inputs(8, n)[n - 1][mine],
        "ring": inputs(9)[me - 1],
    }
