"""python -m jccl.run: environment, output, ends of all kinds. No rank here needs the library."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from concurrent import futures
from pathlib import Path

import pytest
from jccl.core import NcclInvalid
from jccl.core.rendezvous import _ask

LIMIT_S = 300


class Script:
    """A script in a file, and ways to launch it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, code: str) -> None:
        self.path.write_text(textwrap.dedent(code), encoding="utf-8")

    def command(self, *options: str, args: tuple[str, ...] = ()) -> list[str]:
        return [sys.executable, "-m", "jccl.run", *options, str(self.path), *args]

    def run(self, *options: str, args: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*options, args=args),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def start(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*options),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path / "script.py")


def _ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def gone(pids: list[int]) -> None:
    """Checks that processes end, by their ids."""
    end = time.monotonic() + 60
    while left := [pid for pid in pids if not _ended(pid)]:
        assert time.monotonic() < end, f"still running: {left}"
        time.sleep(0.02)


def lines(text: str) -> list[str]:
    return sorted(text.splitlines())


def read_pids(process: subprocess.Popen[str], count: int) -> list[int]:
    assert process.stdout is not None
    return [int(process.stdout.readline().split()[-1]) for _ in range(count)]


def test_ranks_get_their_numbers_and_arguments(script: Script) -> None:
    script.write("""
        import os, sys
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR")
        print(*[os.environ[n] for n in names], *sys.argv[1:], "NCCL_HOSTID" in os.environ)
    """)
    done = script.run("-n", "3", args=("--epochs", "-n"))
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == [
        f"[{r}] {r} 3 {r} 3 0 127.0.0.1 --epochs -n False" for r in range(3)
    ]


def test_hosts_are_simulated_in_blocks(script: Script) -> None:
    script.write("""
        import os
        names = ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "NCCL_HOSTID")
        print(*[os.environ[n] for n in names])
    """)
    done = script.run("-n", "5", "--hosts", "2")
    assert lines(done.stdout) == [
        "[0] 0 3 0 jccl-run-host-0",
        "[1] 1 3 0 jccl-run-host-0",
        "[2] 2 3 0 jccl-run-host-0",
        "[3] 0 2 1 jccl-run-host-1",
        "[4] 1 2 1 jccl-run-host-1",
    ]


def test_the_master_port_is_free_and_the_same_on_all_ranks(script: Script) -> None:
    script.write("""
        import os, socket
        if os.environ["RANK"] == "0":
            socket.create_server((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
        print(os.environ["MASTER_PORT"])
    """)
    done = script.run("-n", "2", "--no-prefix")
    assert done.returncode == 0, done.stderr
    assert len(set(done.stdout.split())) == 1


def test_a_module_can_be_started(script: Script) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jccl.run", "-n", "2", "-m", "platform"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert [line[:4] for line in lines(done.stdout)] == ["[0] ", "[1] "]


def test_output_keeps_its_stream_and_its_lines(script: Script) -> None:
    script.write("""
        import os, sys
        sys.stdout.write("first half, "); sys.stdout.flush()
        sys.stderr.write("an error\\n")
        sys.stdout.write("second half\\nno newline at the end")
    """)
    done = script.run("-n", "2")
    assert lines(done.stdout) == [
        f"[{r}] {text}"
        for r in range(2)
        for text in ("first half, second half", "no newline at the end")
    ]
    assert lines(done.stderr) == ["[0] an error", "[1] an error"]


def test_much_output_arrives_whole(script: Script) -> None:
    script.write("""
        for i in range(20000):
            print(f"line {i} " + "x" * 80)
    """)
    done = script.run("-n", "2")
    for rank in range(2):
        own = [line for line in done.stdout.splitlines() if line.startswith(f"[{rank}] ")]
        assert own == [f"[{rank}] line {i} " + "x" * 80 for i in range(20000)]


def test_a_failing_rank_ends_the_others_and_gives_its_status(script: Script) -> None:
    script.write("""
        import os, sys, time
        print(os.getpid(), flush=True)
        if os.environ["RANK"] == "1":
            sys.exit(7)
        time.sleep(600)
    """)
    done = script.run("-n", "3")
    assert done.returncode == 7
    assert "[jccl.run] rank 1 ended with status 7" in done.stderr
    gone([int(line.split()[-1]) for line in done.stdout.splitlines()])


def test_the_others_have_a_moment_to_report_a_failure(script: Script) -> None:
    script.write("""
        import os, sys, time
        from jccl.core.rendezvous import _ask
        if os.environ["RANK"] == "1":
            _ask("GET ready\\n")
            sys.exit(7)
        _ask("PUT ready 00\\n")
        time.sleep(0.3)
        print("rank 1 died")
    """)
    done = script.run("-n", "2")
    assert done.returncode == 7
    assert done.stdout == "[0] rank 1 died\n"


def test_a_rank_that_a_signal_ends_gives_128_and_more(script: Script) -> None:
    script.write("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    done = script.run("-n", "1")
    assert done.returncode == 128 + signal.SIGKILL
    assert "rank 0 was ended by SIGKILL" in done.stderr


def test_a_rank_that_ignores_termination_is_killed(script: Script) -> None:
    script.write("""
        import os, signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print(os.getpid(), flush=True)
        if os.environ["RANK"] == "0":
            sys.exit(3)
        time.sleep(600)
    """)
    done = script.run("-n", "2", "--grace", "0.3")
    assert done.returncode == 3
    gone([int(line.split()[-1]) for line in done.stdout.splitlines()])


def test_the_limit_ends_everything(script: Script) -> None:
    script.write("import time; time.sleep(600)")
    done = script.run("-n", "2", "--timeout", "0.5")
    assert done.returncode == 124
    assert "no end after 0.5 s" in done.stderr


@pytest.mark.parametrize(
    ("number", "options"),
    [(signal.SIGINT, ["--grace", "0.1"]), (0, ["--timeout", "0.5", "--grace", "0.1"])],
)
def test_a_job_can_be_ended_while_it_starts(
    script: Script, tmp_path: Path, number: int, options: list[str]
) -> None:
    started = tmp_path / "started"
    started.mkdir()
    script.write(f"""
        import os, pathlib, time
        pathlib.Path({str(started)!r}, os.environ["RANK"]).touch()
        if os.environ["RANK"] == "0":
            os.kill(os.getppid(), {number})
        time.sleep(600)
    """)
    done = script.run("-n", "2000", *options)
    assert done.returncode == (130 if number else 124), done.stderr
    assert len(list(started.iterdir())) < 2000


@pytest.mark.parametrize(
    ("number", "name", "status"),
    [(signal.SIGINT, "KeyboardInterrupt", 130), (signal.SIGTERM, "terminated", 143)],
)
def test_signals_are_passed_on(script: Script, number: int, name: str, status: int) -> None:
    script.write("""
        import os, signal, sys, time
        def handler(number, frame):
            print("terminated", flush=True)
            sys.exit(0)
        signal.signal(signal.SIGTERM, handler)
        try:
            print(os.getpid(), flush=True)
            # A signal that comes just before a sleep begins is seen when the sleep is over.
            while True:
                time.sleep(0.1)
        except KeyboardInterrupt:
            print("KeyboardInterrupt", flush=True)
            raise
    """)
    process = script.start("-n", "2")
    pids = read_pids(process, 2)
    process.send_signal(number)
    out, _ = process.communicate(timeout=LIMIT_S)
    assert lines(out) == [f"[0] {name}", f"[1] {name}"]
    assert process.returncode == status
    gone(pids)


def test_a_second_interrupt_kills(script: Script) -> None:
    script.write("""
        import os, signal, time
        signal.signal(signal.SIGINT, lambda *_: print("no", flush=True))
        print(os.getpid(), flush=True)
        while True:
            time.sleep(600)
    """)
    process = script.start("-n", "1", "--grace", "600")
    pids = read_pids(process, 1)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "[0] no\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    gone(pids)


def test_ranks_do_not_survive_a_killed_launcher(script: Script) -> None:
    script.write("import os, time; print(os.getpid(), flush=True); time.sleep(600)")
    process = script.start("-n", "2")
    pids = read_pids(process, 2)
    process.kill()
    process.communicate(timeout=LIMIT_S)
    gone(pids)


def test_processes_that_a_rank_leaves_behind_are_ended(script: Script) -> None:
    script.write("""
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(child.pid)
    """)
    done = script.run("-n", "2")
    assert done.returncode == 0, done.stderr
    gone([int(line.split()[-1]) for line in done.stdout.splitlines()])


def test_the_store_hands_values_on(script: Script) -> None:
    script.write("""
        import os, time
        from jccl.core.rendezvous import _ask
        if os.environ["RANK"] == "0":
            time.sleep(0.2)
            _ask("PUT some/key abcd\\n")
        else:
            print(_ask("GET some/key\\n"))
    """)
    done = script.run("-n", "3")
    assert lines(done.stdout) == ["[1] abcd", "[2] abcd"]


def test_ranks_learn_that_rank_0_ended_without_an_id(script: Script) -> None:
    script.write("""
        import os
        from jccl.core import NcclInvalid
        from jccl.core.rendezvous import _ask
        rank = os.environ["RANK"]
        if rank == "2":
            # Asks when rank 0 has ended.
            _ask("GET told\\n")
        if rank != "0":
            try:
                _ask("GET id/0\\n")
            except NcclInvalid as e:
                print(e)
            _ask(f"PUT told {rank}\\n")
    """)
    done = script.run("-n", "3")
    why = "the launcher refused the request 'GET id/0\\n': rank 0 has ended without making an id"
    assert lines(done.stdout) == [f"[1] {why}", f"[2] {why}"], done.stderr


def test_the_store_forgets_what_all_have_read(script: Script) -> None:
    # More values than the store holds at a time; no rank is ever far ahead of the others.
    script.write("""
        import os
        from jccl.core.rendezvous import _ask
        rank = int(os.environ["RANK"])
        for i in range(5000):
            if rank == 0:
                _ask(f"PUT id/{i} {i:04x} 2\\n")
            elif _ask(f"GET id/{i}\\n") != f"{i:04x}":
                print("wrong", i)
            if i % 1000 == 0:
                _ask(f"PUT at/{i}/{rank} 00\\n")
                for other in range(3):
                    _ask(f"GET at/{i}/{other}\\n")
    """)
    done = script.run("-n", "3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_store_without_launcher_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JCCL_STORE", "jccl-run-nobody")
    with pytest.raises(NcclInvalid, match="does not answer"):
        _ask("GET x\n")


def test_a_store_that_has_no_room_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"jccl-full-{os.getpid()}"
    monkeypatch.setenv("JCCL_STORE", name)
    monkeypatch.setenv("JCCL_INIT_TIMEOUT", "60")
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind("\0" + name)
        listener.listen(0)
        fillers: list[socket.socket] = []
        while not fillers or fillers[-1].connect_ex("\0" + name) == 0:
            fillers.append(stack.enter_context(socket.socket(socket.AF_UNIX)))
            fillers[-1].setblocking(False)
        pool = stack.enter_context(futures.ThreadPoolExecutor(1))
        asked = pool.submit(_ask, "GET x\n")
        with pytest.raises(futures.TimeoutError):
            asked.result(0.2)
        for _ in fillers[:-1]:
            listener.accept()[0].close()
        connection = stack.enter_context(listener.accept()[0])
        assert connection.recv(100) == b"GET x\n"
        connection.sendall(b"00ff\n")
        assert asked.result(LIMIT_S) == "00ff"


def test_the_store_says_what_it_does_not_take(script: Script) -> None:
    script.write("""
        from jccl.core import NcclInvalid
        from jccl.core.rendezvous import _ask
        def refused(*requests):
            for request in requests:
                try:
                    print(request, "is answered", _ask(request + "\\n"))
                except NcclInvalid as e:
                    print(e)
        refused("STEAL it", "GET", "PUT x 00 none", "PUT x 00 0", "PUT x " + 2500 * "00")
        for i in range(4096):
            _ask(f"PUT {i} 00\\n")
        refused("PUT one 00", "PUT one 00 1")
    """)
    done = script.run("-n", "1", "--no-prefix")
    said = done.stdout.splitlines()
    neither = "it is neither PUT key hex [readers] nor GET key"
    assert [line.split("request ")[1] for line in said] == [
        f"'STEAL it\\n': {neither}",
        f"'GET\\n': {neither}",
        f"'PUT x 00 none\\n': {neither}",
        f"'PUT x 00 0\\n': {neither}",
        f"'PUT x {34 * '0'}': it has more than 4096 bytes",
        "'PUT one 00\\n': it holds 4096 values already",
        "'PUT one 00 1\\n': it holds 4096 values already",
    ], done.stderr


def test_waiting_for_rank_0_ends_at_the_limit(script: Script) -> None:
    script.write("""
        import os
        from jccl.core import NcclInvalid
        from jccl.core.rendezvous import _ask
        os.environ["JCCL_INIT_TIMEOUT"] = "0.3"
        try:
            _ask("GET x\\n")
        except NcclInvalid as e:
            print(e)
    """)
    assert script.run("-n", "1").stdout == "[0] rank 0 made no id within 0.3 s\n"


def test_a_limit_of_0_is_none(script: Script) -> None:
    script.write("""
        import os, time
        from jccl.core.rendezvous import _ask
        os.environ["JCCL_INIT_TIMEOUT"] = "0"
        if os.environ["RANK"] == "0":
            _ask("GET asks\\n")
            time.sleep(0.2)
            _ask("PUT some/key abcd\\n")
        else:
            _ask("PUT asks 00\\n")
            print(_ask("GET some/key\\n"))
    """)
    done = script.run("-n", "2")
    assert done.stdout == "[1] abcd\n", done.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-n", "0", "x.py"], "it must be 1 to 65536"),
        (["-n", "65537", "x.py"], "it must be 1 to 65536"),
        (["-n", "2", "--timeout", "nan", "x.py"], "it must be a number of seconds"),
        (["-n", "2", "--grace", "-1", "x.py"], "it must be a number of seconds"),
        (["-n", "2", "--hosts", "3", "x.py"], "it must be 1 to 2"),
        (["x.py"], "-n"),
        (["-n", "2"], "SCRIPT"),
    ],
)
def test_a_wrong_command_line_is_explained(options: list[str], sentence: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jccl.run", *options],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 2
    assert sentence in done.stderr


def test_help_names_the_variables() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jccl.run", "--help"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    for name in ("RANK", "WORLD_SIZE", "MASTER_PORT", "NCCL_HOSTID", "JCCL_STORE", "from_env"):
        assert name in done.stdout


def test_output_that_nobody_reads_ends_nothing(script: Script) -> None:
    script.write("""
        import time
        print("first", flush=True)
        time.sleep(0.3)
        print("second", flush=True)
    """)
    process = script.start("-n", "1")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    with contextlib.suppress(ValueError):
        process.wait(timeout=LIMIT_S)
    assert process.stderr is not None
    process.stderr.close()
    assert process.returncode == 0
    assert os.path.exists(f"/proc/{process.pid}") is False
