"""Operations against the oracle: a sample by seed, the rest under `-m stress`."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
import oracle
import pytest
from harness import DEADLINE_S, NET, Cluster, Rank, run_ranks, settled
from jccl.core import (
    AVG,
    MAX,
    SUM,
    Communicator,
    NCCLConfig,
    NCCLError,
    NcclInvalid,
    Result,
    group,
)
from jccl.core.errors import check
from oracle import KINDS, OPS, Array, Kind

GUARD = 64
COUNTS = (0, 1, 3, 1023, 65537)
FEW_COUNTS = (3, 65537)
# Types that differ from another type only in how they are folded.
SIBLINGS = ("INT8", "UINT32", "UINT64", "FLOAT8E5M2")
OPERATIONS = (
    "allreduce",
    "broadcast",
    "allgather",
    "reduce_scatter",
    "reduce",
    "alltoall",
    "gather",
    "scatter",
    "sendrecv",
)
# Whether the input, and whether the output, has a part for each rank.
OF_PARTS = {
    "allgather": (False, True),
    "reduce_scatter": (True, False),
    "alltoall": (True, True),
    "gather": (False, True),
    "scatter": (True, False),
}


@dataclass(frozen=True)
class Case:
    """One cell of the matrix; ``count`` is that of the whole buffer."""

    operation: str
    kind: str
    op: str
    count: int
    in_place: bool
    offset: int = 0


class Guarded:
    """Elements with guard bytes around them, at any alignment."""

    def __init__(self, count: int, kind: Kind, offset: int = 0) -> None:
        stored = numpy.dtype(kind.stored)
        self._before = GUARD + offset
        self._bytes = numpy.full(self._before + count * stored.itemsize + GUARD, 0xA5, "uint8")
        inside = self._bytes[self._before : self._before + count * stored.itemsize]
        self.elements: Array = inside.view(stored)

    @property
    def address(self) -> int:
        """The address of the first element."""
        address: int = self._bytes.ctypes.data
        return address + self._before

    def untouched(self) -> bool:
        """Whether the guards are what they were."""
        after = self._bytes[self._before + self.elements.nbytes :]
        return bool((self._bytes[: self._before] == 0xA5).all() and (after == 0xA5).all())


def _expected(case: Case, inputs: list[Array], rank: int, nodes: list[int]) -> Array:
    kind = KINDS[case.kind]
    match case.operation:
        case "allreduce":
            return oracle.fold_on(nodes, inputs, kind, case.op)
        case "broadcast":
            return inputs[-1]
        case "allgather":
            return numpy.concatenate(inputs)
        case "reduce_scatter":
            folded = oracle.fold_on(nodes, inputs, kind, case.op, to_all=False)
            return numpy.split(folded, len(inputs))[rank]
        case "reduce":
            return oracle.fold(inputs, kind, case.op)
        case "alltoall":
            return numpy.concatenate([numpy.split(each, len(inputs))[rank] for each in inputs])
        case "gather":
            return numpy.concatenate(inputs)
        case "scatter":
            return numpy.split(inputs[-1], len(inputs))[rank]
        case _:
            return inputs[rank - 1]


def run_case(comm: Communicator, case: Case, seed: int, nodes: list[int]) -> str:
    """Runs one cell on this rank; an empty text if everything is right."""
    kind, n, rank = KINDS[case.kind], comm.nranks, comm.rank
    part = case.count // n
    from_parts, to_parts = OF_PARTS.get(case.operation, (False, False))
    count = part if case.operation in OF_PARTS else case.count
    sent = count * n if from_parts else count
    received = count * n if to_parts else count
    gathers, scatters = sent < received, sent > received
    inputs = [oracle.samples(sent, kind, [seed, r]) for r in range(n)]
    send = Guarded(sent, kind, case.offset)
    recv = Guarded(received, kind, case.offset)
    send_address, recv_address = send.address, recv.address
    own, result = send.elements, recv.elements
    if case.in_place and gathers:
        own = recv.elements[rank * part :][:part]
        send_address = recv.address + rank * part * own.itemsize
    elif case.in_place and scatters:
        result = send.elements[rank * part :][:part]
        recv_address = send.address + rank * part * own.itemsize
    elif case.in_place:
        result, recv_address = own, send_address
    own[:] = inputs[rank]
    before = result.copy()
    _call(comm, case, send_address, recv_address, count)
    if case.operation in ("reduce", "gather") and rank != n - 1:
        same = not oracle.differing(result, before, kind)
        return "" if same else f"rank {rank} of {n}, {case}: wrote, but is not the root"
    wrong = oracle.differing(result, _expected(case, inputs, rank, nodes), kind)
    if wrong:
        return f"rank {rank} of {n}, {case}, seed {seed}: {wrong} of {result.size} wrong"
    if not case.in_place and oracle.differing(own, inputs[rank], kind):
        return f"rank {rank} of {n}, {case}: the input was written to"
    if not (send.untouched() and recv.untouched()):
        return f"rank {rank} of {n}, {case}: bytes beside a buffer were written"
    return ""


def _call(comm: Communicator, case: Case, send: int, recv: int, count: int) -> None:
    # By address, so that bfloat16 and unaligned buffers need nothing but numpy.
    library, n, rank = comm._library, comm.nranks, comm.rank
    number, op = KINDS[case.kind].number, OPS[case.op]
    match case.operation:
        case "allreduce":
            check(library.all_reduce(send, recv, count, number, op, comm.ptr, 0))
        case "broadcast":
            check(library.broadcast(send, recv, count, number, n - 1, comm.ptr, 0))
        case "allgather":
            check(library.all_gather(send, recv, count, number, comm.ptr, 0))
        case "reduce_scatter":
            check(library.reduce_scatter(send, recv, count, number, op, comm.ptr, 0))
        case "reduce":
            check(library.reduce(send, recv, count, number, op, n - 1, comm.ptr, 0))
        case "alltoall":
            check(library.allto_all(send, recv, count, number, comm.ptr, 0))
        case "gather":
            check(library.gather(send, recv, count, number, n - 1, comm.ptr, 0))
        case "scatter":
            check(library.scatter(send, recv, count, number, n - 1, comm.ptr, 0))
        case _:
            with group():
                check(library.send(send, count, number, (rank + 1) % n, comm.ptr, 0))
                check(library.recv(recv, count, number, (rank - 1) % n, comm.ptr, 0))


def run_cases(rank: Rank, cases: list[Case], seed: int, nodes: list[int]) -> list[str]:
    """Runs cells one after the other on one communicator; returns what went wrong."""
    with rank.comm() as comm:
        return [text for case in cases if (text := run_case(comm, case, seed, nodes))]


def matrix() -> list[Case]:
    """All cells."""
    cells = []
    for operation, kind, count in itertools.product(OPERATIONS, KINDS, COUNTS):
        reduces = operation in ("allreduce", "reduce_scatter", "reduce")
        places = (False,) if operation == "sendrecv" else (False, True)
        for op, in_place in itertools.product(OPS if reduces else ("SUM",), places):
            if (kind in SIBLINGS or op == "PROD") and count not in FEW_COUNTS:
                continue
            offset = count % 3 * (1 if kind == "UINT8" else 0)
            cells.append(Case(operation, kind, op, count, in_place, offset))
    return cells


LARGE = [
    Case(operation, kind, "SUM", 3 * 2**20 + 1, in_place)
    for operation in OPERATIONS
    for kind in ("FLOAT32", "BFLOAT16")
    for in_place in (False, True)
    if not (in_place and operation == "sendrecv")
]
SETTINGS: dict[str, dict[str, Any]] = {
    "threads": {"threads": 8},
    "processes": {},
    "tcp": {"environment": NET},
    "mixed": {"hosts": 2},
    "threads over tcp": {"threads": 2, "hosts": 2},
}


def _run(
    cases: list[Case], nranks: int, setting: str, seed: int, deadline_s: float = DEADLINE_S
) -> None:
    options = {**SETTINGS[setting], "deadline_s": deadline_s}
    if nranks < 2:
        options.pop("hosts", None)
    hosts, threads = options.get("hosts", 1), options.get("threads", 1)
    nodes = [r // threads * threads * hosts // nranks for r in range(nranks)]
    found = run_ranks(run_cases, nranks, cases, seed, nodes, **options)
    assert not any(found), "\n".join(text for texts in found for text in texts)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("nranks", [2, 3])
def test_a_sample_of_the_matrix_is_exact(nranks: int, setting: str, seed: int) -> None:
    chosen = random.Random(f"{seed} {nranks} {setting}").sample(matrix(), 60)
    _run(chosen, nranks, setting, seed)


def test_large_buffers_are_exact(seed: int) -> None:
    _run(random.Random(seed).sample(LARGE, 3), 2, "processes", seed)


@pytest.mark.stress
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("nranks", [1, 2, 3, 4, 7, 8])
def test_the_whole_matrix_is_exact(nranks: int, setting: str, seed: int) -> None:
    _run(matrix() + LARGE, nranks, setting, seed, deadline_s=900)


def _numpy_and_torch(rank: Rank) -> list[Any]:
    import torch

    with rank.comm() as comm:
        numbers = numpy.arange(6, dtype="float32") + rank.rank
        out = numpy.empty_like(numbers)
        comm.allreduce(numbers, out, SUM)
        tensor = torch.full((5,), float(rank.rank), dtype=torch.bfloat16)
        comm.allreduce(tensor, tensor, MAX)
        gathered = torch.empty(2 * rank.nranks, dtype=torch.int64)
        comm.allgather(torch.tensor([rank.rank, 7]), gathered)
        averaged = bytearray(8)
        comm.allreduce(bytes([10 * rank.rank] * 8), averaged, AVG)
        return [out.tolist(), tensor.tolist(), gathered.tolist(), bytes(averaged)]


def test_buffers_of_all_kinds_meet_in_one_operation() -> None:
    expected = [
        [float(2 * i + 1) for i in range(6)],
        [1.0] * 5,
        [0, 7, 1, 7],
        bytes([5] * 8),
    ]
    assert run_ranks(_numpy_and_torch, 2) == [expected] * 2


def test_core_all_reduces_where_numpy_cannot_be_imported() -> None:
    import without_numpy

    assert (
        run_ranks(without_numpy.sums, 2, fresh=True)
        == [([3.0, 1.0], b"\x01\x01\x01\x01", False)] * 2
    )


def _mixed_group(rank: Rank) -> tuple[float, list[int]]:
    with rank.comm() as comm:
        total = numpy.array([rank.rank + 1.0])
        received = numpy.zeros(4, "int64")
        with group():
            comm.allreduce(total, total, SUM)
            comm.send(numpy.full(4, rank.rank), 1 - rank.rank)
            comm.recv(received, 1 - rank.rank)
        return float(total[0]), received.tolist()


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_group_mixes_collectives_and_messages(setting: str) -> None:
    assert run_ranks(_mixed_group, 2, **SETTINGS[setting]) == [(3.0, [1] * 4), (3.0, [0] * 4)]


def _two_communicators(rank: Rank) -> list[float]:
    with rank.comm() as first, rank.comm(name="second") as second:
        a, b = numpy.ones(5), numpy.full(70000, 2.0)
        with group():
            # Each rank names the communicators in another order.
            for comm, data in [(first, a), (second, b)][:: 1 - 2 * (rank.rank % 2)]:
                comm.allreduce(data, data, SUM)
        return [float(a.sum()), float(b.sum())]


def test_a_group_spans_communicators_in_any_order() -> None:
    assert run_ranks(_two_communicators, 2) == [[10.0, 280000.0]] * 2


def _init_all(rank: Rank) -> list[list[float]]:
    comms = Communicator.init_all(3)
    data = [numpy.full(4, float(i)) for i in range(3)]
    with group():
        for comm, own in zip(comms, data, strict=True):
            comm.allreduce(own, own, SUM)
    with group():
        for comm in comms:
            comm.destroy()
    return [own.tolist() for own in data]


def test_one_process_drives_all_ranks_of_init_all() -> None:
    assert run_ranks(_init_all, 1) == [[[3.0] * 4] * 3]


def _mismatch(rank: Rank, other: bool) -> None:
    comm = rank.comm()
    data = numpy.zeros(8)
    try:
        if rank.rank == 0 or not other:
            comm.allreduce(data, data, SUM)
        else:
            comm.allreduce(data[:4], data[:4], MAX)
    finally:
        comm.abort()


def test_differing_calls_are_an_error_on_both_sides_that_names_both() -> None:
    with Cluster(2) as cluster:
        outcomes = cluster.start(_mismatch, True).join()
    for outcome in outcomes:
        assert outcome.kind == "NCCLError", outcome.error
        assert "AllReduce" in outcome.detail
        assert "8" in outcome.detail
        assert "4" in outcome.detail


def _non_blocking(rank: Rank) -> tuple[float, int]:
    comm = settled(rank.comm(NCCLConfig(blocking=False)))
    data = numpy.full(1 << 16, rank.rank + 1.0)
    for _ in range(5):
        comm.allreduce(data, data, SUM)
    settled(comm)
    comm.finalize()
    settled(comm)
    comm.destroy()
    return float(data[0]), data.size


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_non_blocking_communicator_queues_operations(setting: str) -> None:
    assert run_ranks(_non_blocking, 2, **SETTINGS[setting]) == [(3.0 * 2**4, 1 << 16)] * 2


def _errors(rank: Rank) -> list[str]:
    texts = []
    with rank.comm() as comm:
        one = numpy.zeros(1)
        calls: list[Callable[[], object]] = [
            lambda: comm.allreduce(one, one, 77),
            lambda: comm.broadcast(one, one, 5),
            lambda: comm.send(one, 9),
            lambda: comm.allreduce(one, one, 5),
            lambda: comm.allreduce(one.astype("c16"), one.astype("c16"), SUM),
        ]
        for call in calls:
            try:
                call()
                texts.append("no error")
            except NCCLError as error:
                refused = error.code in (Result.InvalidArgument, Result.InvalidUsage)
                texts.append(error.detail if refused else f"wrong code: {error}")
            except NcclInvalid as error:
                texts.append(error.msg)
        comm.allreduce(one, one, SUM)
    return texts


def test_wrong_arguments_are_errors_with_sentences_and_do_no_harm() -> None:
    for texts in run_ranks(_errors, 2):
        assert all(len(text) > 10 and "wrong code" not in text for text in texts), texts


def _short_lives(rank: Rank) -> int:
    wrong = 0
    for i in range(20):
        with rank.comm(name=str(i)) as comm:
            received = numpy.zeros(4)
            with group():
                comm.send(numpy.full(4, rank.rank + 1.0), 1 - rank.rank)
                comm.recv(received, 1 - rank.rank)
            wrong += received.tolist() != [2.0 - rank.rank] * 4
    return wrong


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_was_sent_arrives_though_the_sender_destroys_at_once(setting: str) -> None:
    assert run_ranks(_short_lives, 2, **SETTINGS[setting]) == [0, 0]


def _fails_in_a_group(rank: Rank) -> float:
    with rank.comm() as comm:
        data = numpy.ones(4)

        def body() -> None:
            with group():
                comm.allreduce(data, data, SUM)
                comm.send(data, 1 - rank.rank)
                raise ValueError

        with pytest.raises(ValueError):  # noqa: PT011 (raised five lines above)
            body()
        assert data.tolist() == [1.0] * 4
        comm.allreduce(data, data, SUM)
        return float(data[0])


def test_a_group_whose_body_raises_does_nothing_and_the_communicator_works_on() -> None:
    assert run_ranks(_fails_in_a_group, 2) == [2.0, 2.0]
