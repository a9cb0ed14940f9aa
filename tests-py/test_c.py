"""C programs that know nothing but nccl.h."""

from __future__ import annotations

from pathlib import Path

import cprogram
import pytest
from harness import NET

BOTH = pytest.mark.parametrize("library", ["libjccl.so", "libnccl.so.2"])
LEFT = pytest.mark.usefixtures("nothing_left")


def test_the_header_has_nccls_layouts() -> None:
    cprogram.run("layout.c")


@pytest.mark.parametrize("order", ["-DCUDA_FIRST", "-DCUDA_LAST"])
def test_the_header_agrees_with_cudas(order: str) -> None:
    program = cprogram.program("with_cuda.cc", "libnccl.so.2", order)
    assert program.exists()


def test_what_is_not_done_says_so_in_every_state_and_changes_none() -> None:
    assert cprogram.run("not_done.c") == "content\n"


@BOTH
def test_version_and_texts_start_no_java(library: str) -> None:
    cprogram.run("no_java.c", library=library)


def test_without_java_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.2"\n')
    output = cprogram.run("no_java.c", environment={"JCCL_JAVA_HOME": str(tmp_path)})
    lines = output.splitlines()
    assert len(lines) == 2
    assert lines[0] == lines[1]
    assert f"JCCL_JAVA_HOME={tmp_path} is Java 17, but JCCL needs Java 25 or newer" in lines[0]


@LEFT
@pytest.mark.parametrize("transport", [{}, NET], ids=["shm", "tcp"])
@pytest.mark.parametrize(("library", "nranks"), [("libjccl.so", 2), ("libnccl.so.2", 4)])
def test_all_reduce_of_several_processes(
    library: str, nranks: int, transport: dict[str, str], tmp_path: Path
) -> None:
    arguments: list[list[object]] = [[rank, nranks, tmp_path / "id"] for rank in range(nranks)]
    outputs = cprogram.run_ranks(
        "all_reduce.c", arguments, library=library, environments=[transport] * nranks
    )
    assert outputs == [f"rank {rank} of {nranks} is content\n" for rank in range(nranks)]


@LEFT
def test_scenario_s1(tmp_path: Path) -> None:
    _scenario_s1(tmp_path / "id")


@LEFT
@pytest.mark.stress
@pytest.mark.parametrize("time", range(30))
def test_scenario_s1_again_and_again(time: int, tmp_path: Path) -> None:
    _scenario_s1(tmp_path / f"id{time}")


@LEFT
@pytest.mark.stress
def test_scenario_s1_two_hundred_times_in_one_set_of_processes(tmp_path: Path) -> None:
    _scenario_s1(tmp_path / "id", times=200)


def _scenario_s1(file: Path, times: int = 1) -> None:
    outputs = cprogram.run_ranks(
        "s1.c",
        [[rank, file, times] for rank in range(4)],
        environments=[{"NCCL_HOSTID": f"host-{rank // 2}"} for rank in range(4)],
    )
    assert outputs == [f"rank {rank} is content\n" for rank in range(4)]


@LEFT
def test_the_first_thread_may_end_before_the_ranks() -> None:
    assert "content" in cprogram.run("first_thread_ends.c")


@LEFT
def test_frequent_calls_come_through_a_stub_and_fail_as_others_do(tmp_path: Path) -> None:
    log = tmp_path / "log"
    environment = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": str(log)}
    assert "content" in cprogram.run("deep.c", log, environment=environment)


@LEFT
def test_foreign_threads_come_and_go() -> None:
    assert "content" in cprogram.run("threads.c")


@LEFT
@pytest.mark.parametrize("how", ["return", "exit", "_exit", "handler"])
def test_a_process_ends_with_live_communicators(how: str) -> None:
    cprogram.run("leave.c", how, status=3)


@BOTH
def test_threads_that_fail_at_once_read_their_own_sentences_whole(library: str) -> None:
    assert "content" in cprogram.run("last_error.c", 3_000, library=library)


@pytest.mark.stress
def test_threads_that_fail_at_once_read_their_own_sentences_again_and_again() -> None:
    assert "content" in cprogram.run("last_error.c", 300_000)


def test_a_profiler_can_define_nccl_names_itself() -> None:
    cprogram.run("interpose.c")


@LEFT
def test_a_forked_child_is_told_what_to_do_instead() -> None:
    assert "content" in cprogram.run("fork.c")
