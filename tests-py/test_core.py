"""jccl.core against a binding that records: arguments, sizes, errors, misuse."""

from __future__ import annotations

import array
import pickle
import struct
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jccl
import numpy
import pytest
from fake import COMM, NRANKS, RANK, FakeBinding
from jccl.core import (
    AVG,
    SUM,
    Communicator,
    NCCLConfig,
    NCCLError,
    NcclInvalid,
    UniqueId,
    get_unique_id,
    get_version,
)
from jccl.core.config import CConfig
from jccl.core.rendezvous import _limit


@pytest.fixture
def comm(fake: FakeBinding) -> Communicator:
    return Communicator.init(NRANKS, RANK, get_unique_id())


def floats(count: int) -> Any:
    return numpy.zeros(count, "float32")


# --- importing -------------------------------------------------------------------------------


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_jccl_loads_neither_core_nor_numpy() -> None:
    code = (
        "import jccl, sys; print([m for m in ('numpy', 'jccl.core', 'torch') if m in sys.modules])"
    )
    assert _python(code) == "[]\n"


def test_core_is_found_by_attribute_and_needs_no_numpy() -> None:
    code = "import sys; sys.modules['numpy'] = None; import jccl; print(jccl.core.Communicator)"
    assert "Communicator" in _python(code)


def test_an_unknown_attribute_of_jccl_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = jccl.no_such_name


# --- arguments that reach the library ---------------------------------------------------------


def test_init_hands_over_rank_and_ids(fake: FakeBinding) -> None:
    ids = [UniqueId.from_bytes(bytes([i]) * 128) for i in range(3)]
    comm = Communicator.init(NRANKS, RANK, ids)
    nranks, rank, n_id, pointer, config = fake.last("comm_init_rank_scalable")
    assert (nranks, rank, n_id, config) == (NRANKS, RANK, 3, 0)
    assert pointer
    assert (comm.ptr, comm.nranks, comm.rank, comm.device) == (COMM, NRANKS, RANK, -1)


def test_allreduce_passes_addresses_count_and_numbers(
    fake: FakeBinding, comm: Communicator
) -> None:
    send, recv = floats(5), floats(7)
    comm.allreduce(send, recv, AVG)
    expected = (send.ctypes.data, recv.ctypes.data, 5, 7, 4, COMM, 0)
    assert fake.last("all_reduce") == expected


def test_allreduce_in_place_passes_one_address(fake: FakeBinding, comm: Communicator) -> None:
    both = floats(5)
    comm.allreduce(both, both, SUM)
    assert fake.last("all_reduce")[:3] == (both.ctypes.data, both.ctypes.data, 5)


def test_broadcast_looks_at_the_send_buffer_on_the_root_only(
    fake: FakeBinding, comm: Communicator
) -> None:
    send, recv = floats(5), floats(5)
    comm.broadcast(send, recv, RANK)
    assert fake.last("broadcast")[:5] == (send.ctypes.data, recv.ctypes.data, 5, 7, RANK)
    comm.broadcast(None, recv, 0)
    assert fake.last("broadcast")[1:5] == (recv.ctypes.data, 5, 7, 0)


def test_allgather_counts_what_a_rank_sends(fake: FakeBinding, comm: Communicator) -> None:
    recv = floats(3 * NRANKS)
    comm.allgather(recv[3 * RANK :][:3], recv)
    assert fake.last("all_gather")[:4] == (recv.ctypes.data + 12 * RANK, recv.ctypes.data, 3, 7)


def test_reduce_scatter_counts_what_a_rank_receives(fake: FakeBinding, comm: Communicator) -> None:
    comm.reduce_scatter(floats(3 * NRANKS), floats(3), SUM)
    assert fake.last("reduce_scatter")[2:6] == (3, 7, 0, COMM)


def test_alltoall_counts_what_goes_to_a_rank(fake: FakeBinding, comm: Communicator) -> None:
    both = floats(3 * NRANKS)
    comm.alltoall(both, both)
    assert fake.last("allto_all")[:5] == (both.ctypes.data, both.ctypes.data, 3, 7, COMM)


def test_buffers_that_only_the_root_has_are_looked_at_there(
    fake: FakeBinding, comm: Communicator
) -> None:
    part, all_parts = floats(3), floats(3 * NRANKS)
    comm.reduce(part, None, SUM, 0)
    assert fake.last("reduce")[2:7] == (3, 7, 0, 0, COMM)
    comm.reduce(part, part, SUM, RANK)
    assert fake.last("reduce")[1:6] == (part.ctypes.data, 3, 7, 0, RANK)
    comm.gather(part, None, 0)
    assert fake.last("gather")[2:6] == (3, 7, 0, COMM)
    comm.gather(part, all_parts, RANK)
    assert fake.last("gather")[:5] == (part.ctypes.data, all_parts.ctypes.data, 3, 7, RANK)
    comm.scatter(None, part, 0)
    assert fake.last("scatter")[1:6] == (part.ctypes.data, 3, 7, 0, COMM)
    comm.scatter(all_parts, part, RANK)
    assert fake.last("scatter")[:5] == (all_parts.ctypes.data, part.ctypes.data, 3, 7, RANK)


def test_send_and_recv_name_the_peer(fake: FakeBinding, comm: Communicator) -> None:
    buffer = floats(3)
    comm.send(buffer, 2)
    comm.recv(buffer, 3)
    assert fake.last("send") == (buffer.ctypes.data, 3, 7, 2, COMM, 0)
    assert fake.last("recv") == (buffer.ctypes.data, 3, 7, 3, COMM, 0)


def test_empty_buffers_reach_the_library(fake: FakeBinding, comm: Communicator) -> None:
    comm.allreduce(floats(0), floats(0), SUM)
    comm.allgather(floats(0), floats(0))
    comm.reduce_scatter(floats(0), floats(0), SUM)
    assert fake.last("reduce_scatter")[2] == 0


def test_reduce_and_gather_without_a_root_are_their_all_forms(
    fake: FakeBinding, comm: Communicator
) -> None:
    comm.reduce(floats(3), floats(3), SUM)
    comm.gather(floats(3), floats(12))
    assert [fake.count("all_reduce"), fake.count("all_gather")] == [1, 1]
    assert [fake.count("reduce"), fake.count("gather")] == [0, 0]


# --- sizes and types --------------------------------------------------------------------------


def test_differing_types_are_refused(comm: Communicator) -> None:
    calls: list[Callable[[Any, Any], None]] = [
        lambda s, r: comm.allreduce(s, r, SUM),
        comm.allgather,
        lambda s, r: comm.reduce_scatter(s, r, SUM),
        lambda s, r: comm.broadcast(s, r, RANK),
    ]
    names = ["allreduce", "allgather", "reduce_scatter", "broadcast"]
    for name, call in zip(names, calls, strict=True):
        said = rf"type FLOAT32 and recvbuf of type FLOAT64: .*convert one \({name}, rank {RANK}\)"
        with pytest.raises(NcclInvalid, match=said):
            call(floats(4), numpy.zeros(16))


def test_too_small_receive_buffers_are_refused(comm: Communicator) -> None:
    with pytest.raises(
        NcclInvalid, match=r"has 3 elements.*writes 4: pass a longer.*allreduce, rank 1"
    ):
        comm.allreduce(floats(4), floats(3), SUM)
    with pytest.raises(
        NcclInvalid, match=r"has 7 elements.*writes 8: pass a longer.*allgather, rank 1"
    ):
        comm.allgather(floats(2), floats(7))
    with pytest.raises(NcclInvalid, match=r"has 1 elements.*writes 2: .*reduce_scatter, rank 1"):
        comm.reduce_scatter(floats(8), floats(1), SUM)


def test_a_broadcast_of_unequal_lengths_is_refused_on_the_root(comm: Communicator) -> None:
    with pytest.raises(NcclInvalid, match=r"recvbuf has 5 .* receives 4: .*broadcast, rank 1"):
        comm.broadcast(floats(4), floats(5), RANK)


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.reduce_scatter(floats(9), floats(9), SUM),
        lambda c: c.alltoall(floats(9), floats(9)),
        lambda c: c.scatter(floats(9), floats(2), RANK),
    ],
)
def test_a_remainder_of_equal_parts_is_refused(comm: Communicator, call: Any) -> None:
    with pytest.raises(
        NcclInvalid, match=r"9 elements.*4 ranks cannot share.*1 would be left.*pad"
    ):
        call(comm)


def test_buffers_on_a_root_that_are_too_small_are_refused(comm: Communicator) -> None:
    with pytest.raises(NcclInvalid, match=r"has 3 elements.*writes 4: .*reduce, rank 1"):
        comm.reduce(floats(4), floats(3), SUM, RANK)
    with pytest.raises(NcclInvalid, match=r"has 7 elements.*writes 8: .*gather, rank 1"):
        comm.gather(floats(2), floats(7), RANK)
    with pytest.raises(NcclInvalid, match=r"has 7 elements.*writes 8: .*alltoall, rank 1"):
        comm.alltoall(floats(8), floats(7))
    with pytest.raises(NcclInvalid, match=r"recvbuf has 3 .* receives 2: .*scatter, rank 1"):
        comm.scatter(floats(8), floats(3), RANK)


def test_read_only_buffers_may_be_sent_but_not_received_into(
    fake: FakeBinding, comm: Communicator
) -> None:
    comm.send(b"1234", 0)
    comm.allreduce(b"1234", bytearray(4), SUM)
    with pytest.raises(NcclInvalid, match=r"recvbuf is read-only.*writable.*\(recv, rank 1\)"):
        comm.recv(b"1234", 0)
    same = b"1234"
    with pytest.raises(NcclInvalid, match="the buffer is read-only"):
        comm.allreduce(same, same, SUM)
    assert fake.count("recv") == 0


def test_streams_are_refused_by_name(comm: Communicator) -> None:
    with pytest.raises(NcclInvalid, match=r"no streams, pass None \(allreduce, rank 1\)"):
        comm.allreduce(floats(1), floats(1), SUM, stream=7)
    comm.allreduce(floats(1), floats(1), SUM, stream=0)


# --- errors -----------------------------------------------------------------------------------


def test_an_error_has_code_name_and_sentence(fake: FakeBinding, comm: Communicator) -> None:
    fake.answers["all_reduce"] = 6
    with pytest.raises(NCCLError) as caught:
        comm.allreduce(floats(1), floats(1), SUM)
    error = caught.value
    assert (error.code, error.name, error.detail) == (6, "RemoteError", "the sentence")
    assert str(error) == "RemoteError (6): some text: the sentence"
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.detail, str(again)) == (6, "the sentence", str(error))


def test_a_failed_init_leaves_no_handle(fake: FakeBinding) -> None:
    fake.answers["comm_init_rank_scalable"] = (8, 0)
    comm = Communicator()
    with pytest.raises(NCCLError, match="Timeout"):
        comm.initialize(NRANKS, RANK, get_unique_id())
    assert not comm.is_valid


@pytest.mark.parametrize(
    ("member", "function"),
    [
        (lambda c: c.shrink([1]), "comm_shrink"),
        (lambda c: c.grow(8), "comm_grow"),
        (lambda c: c.get_unique_id(), "comm_get_unique_id"),
        (lambda c: c.revoke(), "comm_revoke"),
        (lambda c: c.suspend(), "comm_suspend"),
        (lambda c: c.resume(), "comm_resume"),
        (lambda c: c.get_mem_stat(3), "comm_mem_stats"),
    ],
)
def test_what_is_not_done_raises_the_librarys_sentence(
    fake: FakeBinding, comm: Communicator, member: Any, function: str
) -> None:
    fake.answers.setdefault(function, 5)
    with pytest.raises(NCCLError, match=r"InvalidUsage .*the sentence"):
        member(comm)


@pytest.mark.parametrize(
    "member",
    [
        lambda c: c.register_buffer(floats(1)),
        lambda c: c.register_window(floats(1)),
        lambda c: c.create_dev_comm(),
        lambda c: c.put_signal(floats(1), 0, None),
        lambda c: c.signal(0),
        lambda c: c.wait_signal([]),
        lambda c: c.properties,
        lambda c: c.allreduce(floats(1), floats(1), SUM, config=object()),
    ],
)
def test_what_the_binding_does_not_have_raises_too(comm: Communicator, member: Any) -> None:
    with pytest.raises(NCCLError, match=r"nccl\w+ is not done yet in JCCL"):
        member(comm)


# --- misuse -----------------------------------------------------------------------------------


def test_a_communicator_without_handle_refuses_operations(fake: FakeBinding) -> None:
    comm = Communicator()
    assert not comm.is_valid
    for call in (
        lambda: comm.allreduce(floats(1), floats(1), SUM),
        lambda: comm.send(floats(1), 0),
        lambda: comm.rank,
        comm.finalize,
        comm.get_async_error,
        comm.split,
    ):
        with pytest.raises(NcclInvalid, match=r"not initialized, or already destroyed: use it"):
            call()
    comm.destroy()
    comm.abort()


def test_a_destroyed_communicator_refuses_operations(fake: FakeBinding, comm: Communicator) -> None:
    assert comm.rank == RANK
    comm.destroy()
    assert fake.last("comm_destroy") == (COMM,)
    with pytest.raises(NcclInvalid, match=r"already destroyed: .*\(allreduce, rank 1\)"):
        comm.allreduce(floats(1), floats(1), SUM)
    comm.destroy()
    assert fake.count("comm_destroy") == 1


def test_a_second_initialize_is_refused(comm: Communicator) -> None:
    with pytest.raises(NcclInvalid, match="Communicator is already initialized"):
        comm.initialize(NRANKS, RANK, get_unique_id())


@pytest.mark.parametrize("wrong", [None, [], b"x" * 128, [b"x"]])
def test_init_without_an_id_is_refused(fake: FakeBinding, wrong: Any) -> None:
    with pytest.raises(NcclInvalid, match="unique_id is neither a UniqueId nor a sequence of them"):
        Communicator.init(NRANKS, RANK, wrong)
    assert fake.count("comm_init_rank_scalable") == 0


@pytest.mark.parametrize("wrong", ["sum", None, 1.5])
def test_an_op_that_is_none_is_refused(comm: Communicator, wrong: Any) -> None:
    sentence = rf"^op is {wrong!r}: pass SUM, PROD, MAX, MIN, AVG or a CustomRedOp "
    for call in (comm.allreduce, comm.reduce_scatter):
        with pytest.raises(NcclInvalid, match=sentence):
            call(floats(4), floats(4), wrong)
    with pytest.raises(NcclInvalid, match=sentence):
        comm.reduce(floats(4), floats(4), wrong, 0)


@pytest.mark.parametrize("nranks", [0, -1])
def test_init_of_no_ranks_is_refused(nranks: int) -> None:
    with pytest.raises(NCCLError, match=f"nranks {nranks} must be positive"):
        Communicator.init(nranks, 0, get_unique_id())


@pytest.mark.parametrize("text", ["abc", "-3", "nan", "inf"])
def test_an_invalid_time_limit_is_left_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("JCCL_INIT_TIMEOUT", text)
    with pytest.warns(RuntimeWarning, match=f"JCCL_INIT_TIMEOUT value '{text}' is not valid"):
        assert _limit() == 120


@pytest.mark.parametrize(("text", "limit"), [("0", None), ("-0", None), ("2.5", 2.5), ("", 120)])
def test_a_time_limit_is_in_seconds_and_0_is_none(
    monkeypatch: pytest.MonkeyPatch, text: str, limit: float | None
) -> None:
    monkeypatch.setenv("JCCL_INIT_TIMEOUT", text)
    assert _limit() == limit


def test_from_env_says_how_to_start(fake: FakeBinding, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "JCCL_STORE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NcclInvalid, match=r"python -m jccl\.run"):
        Communicator.from_env()
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(NcclInvalid, match="JCCL_STORE is not set"):
        Communicator.from_env()
    # One rank needs nobody.
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert Communicator.from_env().is_valid


# --- ids, configuration, versions -------------------------------------------------------------


def test_a_unique_id_hides_its_content_and_travels() -> None:
    unique_id = UniqueId.from_bytes(bytes(range(128)))
    assert repr(unique_id) == "UniqueId(hidden)"
    assert pickle.loads(pickle.dumps(unique_id)) == unique_id
    assert bytes(unique_id) == unique_id.as_bytes == bytes(range(128))
    unique_id.as_ndarray[0] = 77
    assert bytes(unique_id)[0] == 77
    with pytest.raises(NcclInvalid, match="128 bytes, not 5"):
        UniqueId.from_bytes(b"12345")


def test_an_empty_id_needs_no_library() -> None:
    assert bytes(get_unique_id(empty=True)) == bytes(128)


def test_a_configuration_lies_in_memory_as_in_c() -> None:
    wanted = NCCLConfig(
        blocking=False, comm_name="mine", min_ctas=3, nvls_host_mode=2, device="host"
    )
    config = CConfig(wanted)
    content = array.array("B", config._struct)
    size, magic, version, blocking, cga, min_ctas = struct.unpack_from("<QIIiii", content)
    assert (size, magic, version) == (136, 0xCAFEBEEF, 23203)
    assert (blocking, cga, min_ctas) == (0, -(2**31), 3)
    net_name, split_share, traffic_class, comm_name = struct.unpack_from("<Qiiq", content, 32)
    assert (net_name, split_share, traffic_class) == (0, -(2**31), -(2**31))
    assert comm_name == config._keep[0].buffer_info()[0]
    assert config._keep[0].tobytes() == b"mine\0"
    assert struct.unpack_from("<i", content, 112) == (2,)
    assert content[120:128].tobytes() == b"jcclCFG\0"
    assert struct.unpack_from("<q", content, 128) == (config._keep[1].buffer_info()[0],)
    assert config._keep[1].tobytes() == b"host\0"
    assert len(content) == 136


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout": -1},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"timeout": "5"},
        {"timeout": [1.0]},
        {"comm_name": 5},
        {"comm_name": "\ud800"},
        {"device": 1},
        {"min_ctas": "3"},
    ],
)
def test_a_wrong_configuration_is_refused(fake: FakeBinding, wrong: dict[str, Any]) -> None:
    with pytest.raises(NcclInvalid, match=next(iter(wrong))):
        NCCLConfig(**wrong)
    changed = NCCLConfig()
    for name, value in wrong.items():
        setattr(changed, name, value)
    with pytest.raises(NcclInvalid, match=next(iter(wrong))):
        Communicator.init(NRANKS, RANK, get_unique_id(), changed)


def test_a_number_that_no_int_holds_is_refused() -> None:
    with pytest.raises(NcclInvalid, match="does not fit an int"):
        CConfig(NCCLConfig(traffic_class=2**40))


@pytest.mark.parametrize(
    ("timeout", "limit_ms"),
    [
        (1.5, 1500),
        (0.0004, 1),
        (1e-300, 1),
        (0, 0),
        (0.0, 0),
        (1e20, 2**63 - 1),
        (1.7e308, 2**63 - 1),
    ],
)
def test_a_timeout_becomes_the_operations_limit(
    fake: FakeBinding, timeout: float, limit_ms: int
) -> None:
    Communicator.init(NRANKS, RANK, get_unique_id(), NCCLConfig(timeout=timeout))
    assert fake.last("comm_options") == (COMM, limit_ms)


def test_versions_are_those_of_package_and_library(fake: FakeBinding) -> None:
    version = get_version()
    assert (version.jccl, version.library, version.nccl) == (jccl.__version__, "0.0.0", "2.32.3")


def test_show_versions_names_every_part(
    fake: FakeBinding, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.answers["java_home"] = "/some/jdk"
    jccl.show_versions()
    printed = capsys.readouterr().out
    for part in (f"jccl:    {jccl.__version__}", "NCCL 23203", "/some/jdk", "python:", "torch:"):
        assert part in printed
