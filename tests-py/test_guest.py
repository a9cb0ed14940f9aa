"""The JVM is a guest of the process: traps beyond those of test_lifecycle and test_interrupt."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import cprogram
import jccl.bindings
import pytest
from cprogram import LIBRARIES
from guest import LIMIT_S, START, python
from harness import Cluster, Rank, announce_blocked

# Elements of a message so large that no rank is done with it before all have taken part.
COUNT = 1 << 18


# ---- Signals ----


def test_ctrl_c_that_nobody_catches_ends_the_program_as_ever() -> None:
    code = """
    comm = one_rank()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
    """
    output = python(code, status=-signal.SIGINT)
    assert output.splitlines()[-1] == "KeyboardInterrupt"


def _waits(comm: int, ticket: int) -> None:
    jccl.bindings.load().wait(comm, ticket)


def _polls(rank: Rank) -> str:
    import numpy as np

    comm = rank.comm()
    binding = jccl.bindings.load()
    data = np.zeros(COUNT, np.float32)
    at = data.ctypes.data
    comm.allreduce(data, data, 0)
    if rank.rank == 1:
        rank.get("interrupted")
        comm.allreduce(data, data, 0)
        return "went on"
    code, ticket = binding.start(4, at, at, COUNT, 7, 0, 0, comm.ptr)
    assert code == 7
    assert ticket != 0
    announce_blocked(rank, "waits", lambda code: code is _waits.__code__)
    try:
        _waits(comm.ptr, ticket)
    except KeyboardInterrupt:
        rank.put("interrupted")
        comm.abort()
        return "interrupted"
    return "went on"


def test_ctrl_c_ends_the_wait_for_a_started_operation() -> None:
    with Cluster(2) as cluster:
        cluster.start(_polls)
        cluster.wait_for("waits")
        cluster.signal(0, signal.SIGINT)
        interrupted, told = cluster.join()
        assert interrupted.value == "interrupted", cluster.logs() + interrupted.error
        assert told.code == 6, told.error
        assert "rank 0 was interrupted" in told.detail


def test_sigterm_ends_the_process_and_a_forked_child() -> None:
    code = """
    comm = one_rank()
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(1)
    os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM
    print("the child is gone")
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
    """
    assert python(code, status=-signal.SIGTERM) == "the child is gone\n"


def test_the_host_keeps_its_signals() -> None:
    code = """
    def caught():
        with open("/proc/self/status") as status:
            mask = int(next(line for line in status if line.startswith("SigCgt")).split()[1], 16)
        return {number for number in range(1, 65) if mask >> (number - 1) & 1}
    heard = []
    signal.signal(signal.SIGUSR2, lambda *_: heard.append("usr2"))
    before = caught()
    comm = one_rank()
    add(comm)
    assert comm.is_valid
    taken = caught() - before
    ours = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1,
            signal.SIGUSR2, signal.SIGCHLD, signal.SIGALRM}
    assert not taken & ours, taken
    os.kill(os.getpid(), signal.SIGUSR2)
    time.sleep(0.01)
    assert heard == ["usr2"]
    """
    python(code)


# ---- Processes ----


def test_a_child_made_by_spawn_has_a_java_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "spawns.py"
    body = """
    import multiprocessing
    def child():
        add(one_rank())
    if __name__ == "__main__":
        comm = one_rank()
        process = multiprocessing.get_context("spawn").Process(target=child)
        process.start()
        process.join(30)
        assert process.exitcode == 0
        print("content")
    """
    script.write_text(START + textwrap.dedent(body))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (done.stdout, done.returncode) == ("content\n", 0), done.stderr


# ---- Threads ----


def test_foreign_threads_are_attached_and_detached() -> None:
    code = """
    comm = one_rank()
    def native():
        return len(os.listdir("/proc/self/task"))
    def work():
        for _ in range(3):
            add(comm)
    threading.Thread(target=work).start()
    time.sleep(0.1)
    before = native()
    for _ in range(50):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    # Python's join may return before the system's thread has ended, which detaches itself first.
    until = time.monotonic() + 10
    while native() > before + 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert native() <= before + 2, (before, native())
    """
    python(code)


def test_java_may_be_started_by_a_thread_that_ends() -> None:
    code = """
    comms = []
    thread = threading.Thread(target=lambda: comms.append(one_rank()))
    thread.start()
    thread.join()
    add(comms[0])
    comms[0].destroy()
    """
    python(code)


# ---- The end ----


@pytest.mark.parametrize("how", ["sys.exit(3)", "os._exit(3)", "raise SystemExit(3)"])
def test_a_process_ends_with_live_communicators(how: str) -> None:
    code = f"""
    comms = nccl.Communicator.init_all(2)
    x = np.ones(3)
    blocked = threading.Thread(target=lambda: comms[0].allreduce(x, x, nccl.SUM), daemon=True)
    blocked.start()
    time.sleep(0.1)
    {how}
    """
    python(code, status=3)


def test_pytest_with_faulthandler_keeps_its_exit_status(tmp_path: Path) -> None:
    test = """
    import faulthandler

    def spin():
        comm = one_rank()
        while True:
            add(comm)

    def test_java_is_busy_while_pytest_ends():
        assert faulthandler.is_enabled()
        for _ in range(2):
            threading.Thread(target=spin, daemon=True).start()
        comm = one_rank()
        for _ in range(20000):
            add(comm)
    """
    file = tmp_path / "test_busy.py"
    file.write_text(START + textwrap.dedent(test))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    done = subprocess.run(
        [*command, str(file)], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_a_crash_leaves_its_report_where_the_user_wants_it(tmp_path: Path) -> None:
    code = """
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    comm = one_rank()
    os.chdir(sys.argv[1])
    ctypes.string_at(8)
    """
    reports, folder = tmp_path / "reports", tmp_path / "folder"
    reports.mkdir()
    folder.mkdir()
    environment = {"JCCL_ERROR_DIR": str(reports)}
    python(code, str(folder), status=-signal.SIGABRT, environment=environment)
    assert [path.name.startswith("jccl_hs_err_pid") for path in reports.iterdir()] == [True]
    assert list(folder.iterdir()) == []


# ---- Standard error ----


def test_java_starts_without_a_word() -> None:
    assert python("add(one_rank())") == ""


def test_nothing_that_others_write_to_standard_error_is_lost_while_java_starts() -> None:
    code = """
    stop = threading.Event()
    counts = [0, 0]
    def write(k):
        while not stop.is_set():
            os.write(2, b"line %d of %d\\n" % (counts[k], k))
            counts[k] += 1
    threads = [threading.Thread(target=write, args=(k,)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    comm = one_rank()
    stop.set()
    for thread in threads:
        thread.join()
    print(*counts)
    """
    *lines, numbers = python(code).splitlines()
    counts = [int(number) for number in numbers.split()]
    # A few may change places: those that are written while the old output is put back.
    assert sorted(lines) == sorted(f"line {i} of {k}" for k in (0, 1) for i in range(counts[k]))
    assert min(counts) > 50


def test_options_of_the_user_reach_java() -> None:
    assert "Picked up" in python(
        "add(one_rank())", environment={"JAVA_TOOL_OPTIONS": "-Djccl.test=1"}
    )
    code = """
    for _ in range(2):
        try:
            one_rank()
        except nccl.NCCLError as error:
            print(error.code, error.detail)
    """
    environment = {"JCCL_JVM_OPTIONS": "-XX:NoSuchOption"}
    output = [
        line for line in python(code, environment=environment).splitlines() if line[:2] == "2 "
    ]
    assert len(output) == 2
    assert output[0] == output[1]
    assert "did not start" in output[0]
    assert "-XX:NoSuchOption" in output[0]


@pytest.mark.parametrize(
    "size", ["1k", "0", "-1m", "2047k", "banana", "8mm", "1m", "99999999999999999999", "300000000t"]
)
def test_a_heap_that_java_cannot_have_is_an_error(size: str) -> None:
    code = """
    try:
        one_rank()
    except nccl.NCCLError as error:
        print(error.code, error.detail)
    """
    output = python(code, environment={"JCCL_JVM_HEAP": size})
    assert output.startswith(f"2 JCCL_JVM_HEAP={size} is no size of a heap")


@pytest.mark.parametrize("size", ["64m", "65536K", "67108864"])
def test_a_heap_has_the_size_that_is_asked_for(size: str) -> None:
    environment = {"JCCL_JVM_HEAP": size, "JCCL_JVM_OPTIONS": "-XX:+PrintCommandLineFlags"}
    output = python("add(one_rank())\nprint('added')", environment=environment)
    assert "-XX:MaxHeapSize=67108864 " in output
    assert output.splitlines()[-1] == "added"


def test_a_user_may_choose_the_garbage_collector() -> None:
    for variable in ("JAVA_TOOL_OPTIONS", "JCCL_JVM_OPTIONS"):
        output = python(
            "add(one_rank())\nprint('added')", environment={variable: "-XX:+UseParallelGC"}
        )
        assert output.splitlines()[-1] == "added"


def test_without_a_current_folder_the_first_call_says_so() -> None:
    code = """
    import tempfile
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)
    try:
        one_rank()
    except nccl.NCCLError as error:
        print(error.code, error.detail)
    """
    assert "2 the current folder has been deleted" in python(code)


# ---- What else is in the process ----


@pytest.mark.parametrize("order", ["import torch\n{}", "{}\nimport torch"])
def test_torch_before_or_after_and_neither_nccl_binds_to_the_other(order: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    use = "comm = one_rank()\nadd(comm)"
    check = """
x = torch.ones(1000, 1000, requires_grad=True)
(x @ x).sum().backward()
assert (x.grad == 2000).all()
add(comm)
assert jccl.bindings.load().get_version() == (0, 23203)
maps = open("/proc/self/maps").read()
assert "/jccl/_lib/libjccl.so" in maps and "/jccl/_lib/libnccl.so.2" not in maps
if "libnccl.so.2" in maps:
    theirs = ctypes.CDLL("libnccl.so.2")
    version = ctypes.c_int()
    assert theirs.ncclGetVersion(ctypes.byref(version)) == 0
    assert version.value == torch.cuda.nccl.version()[0] * 10000 + \\
        torch.cuda.nccl.version()[1] * 100 + torch.cuda.nccl.version()[2]
    assert not hasattr(theirs, "jcclVersionString")
"""
    _flat(order.format(use) + check)


def _flat(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START + code],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_both_libraries_of_one_process_share_one_java() -> None:
    code = f"""
    drop_in = ctypes.CDLL({str(LIBRARIES / "libnccl.so.2")!r})
    comm = one_rank()
    add(comm)
    identity = (ctypes.c_char * 128)()
    assert drop_in.ncclGetUniqueId(identity) == 0 and any(identity.raw)
    count = ctypes.c_int()
    handle = ctypes.c_void_p(comm.ptr)
    assert drop_in.ncclCommCount(handle, ctypes.byref(count)) == 0 and count.value == 1
    add(comm)
    """
    python(code)


@pytest.mark.parametrize("library", ["libnccl.so.2", "libjccl.so"])
def test_calls_of_others_on_a_thread_of_jccl_core_wait_until_their_end(library: str) -> None:
    code = f"""
    add(one_rank())
    other = ctypes.CDLL({str(LIBRARIES / library)!r})
    comms = (ctypes.c_void_p * 2)()
    assert other.ncclCommInitAll(comms, 2, None) == 0
    size, ranks = ctypes.c_size_t(4), [ctypes.c_void_p(comm) for comm in comms]

    def late(call, *arguments):
        data = (ctypes.c_float * 4)(*[5] * 4)
        time.sleep(0.2)
        assert call(data, *arguments, None) == 0

    def with_peer(call, *arguments):
        peer = threading.Thread(target=late, args=(call, *arguments))
        peer.start()
        return peer

    mine = (ctypes.c_float * 4)()
    peer = with_peer(other.ncclSend, size, 7, 0, ranks[1])
    assert other.ncclRecv(mine, size, 7, 1, ranks[0], None) == 0
    assert list(mine) == [5] * 4, list(mine)
    peer.join()

    sums = (ctypes.c_float * 4)()
    peer = with_peer(other.ncclAllReduce, sums, size, 7, 0, ranks[1])
    assert other.ncclAllReduce(mine, mine, size, 7, 0, ranks[0], None) == 0
    assert list(mine) == [10] * 4, list(mine)
    peer.join()
    add(one_rank())
    print("waited")
    """
    assert python(code) == "waited\n"


def test_a_java_that_runs_already_is_used() -> None:
    home = Path(jccl.bindings.load().java_home())
    program = cprogram.program(
        "host_jvm.c", "libnccl.so.2", f"-I{home}/include", f"-I{home}/include/linux"
    )
    done = subprocess.run(
        [str(program), str(home / "lib" / "server" / "libjvm.so")],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_jar_of_another_version_is_refused(tmp_path: Path) -> None:
    ours = next(LIBRARIES.glob("jccl-core*.jar"))
    other = tmp_path / "other.jar"
    with zipfile.ZipFile(ours) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith("version.properties"):
                content = b"version=0.0.99\n"
            target.writestr(name, content)
    code = """
    try:
        one_rank()
    except nccl.NCCLError as error:
        print(error.detail)
    """
    output = python(code, environment={"JCCL_JAR": str(other)})
    assert re.search(r"library is version \S+ but .*other\.jar is version 0\.0\.99", output)


@pytest.mark.parametrize("elements", [60, 300])
def test_a_class_path_is_whole_or_refused(elements: int, tmp_path: Path) -> None:
    ours = next(LIBRARIES.glob("jccl-core*.jar"))
    others = [tmp_path / f"{'x' * 40}{i}.jar" for i in range(elements)]
    with zipfile.ZipFile(others[0], "w") as empty:
        empty.writestr("nothing", "")
    path = ":".join(str(one) for one in [*others, ours])
    assert len(path) > 4096
    code = """
    try:
        one_rank().destroy()
        print("made")
    except nccl.NCCLError as error:
        print(error.detail)
    """
    output = python(code, environment={"JCCL_JAR": path})
    wanted = "made" if len(path) < 16384 else "JCCL_JAR is longer than 16383 bytes"
    assert wanted in output
