"""python -m jccl.run: environment, output, ends of all kinds. No rank here needs the library."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from launched import LIMIT_S, Script, lines


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
