"""The store of python -m jccl.run, from which ranks have their ids; none needs the library."""

from __future__ import annotations

import contextlib
import os
import socket
import textwrap
from concurrent import futures

import pytest
from jccl.core import NcclInvalid
from jccl.core.rendezvous import _ask
from launched import LIMIT_S, Script, lines

#: What a program begins with whose request for a value, once sent, lets rank 0 set that value.
TELLS = """
import os, socket
from jccl.core.rendezvous import _ask
rank = os.environ["RANK"]
class Telling(socket.socket):
    def sendall(self, request):
        super().sendall(request)
        if request.startswith(b"GET some"):
            _ask(f"PUT asked/{rank} 00\\n")
socket.socket = Telling
"""


def test_the_store_hands_values_on(script: Script) -> None:
    script.write(
        TELLS
        + textwrap.dedent("""
            if rank == "0":
                _ask("GET asked/1\\n")
                _ask("GET asked/2\\n")
                _ask("PUT some/key abcd\\n")
            else:
                print(_ask("GET some/key\\n"))
        """)
    )
    done = script.run("-n", "3")
    assert lines(done.stdout) == ["[1] abcd", "[2] abcd"]


def test_ranks_learn_that_rank_0_makes_no_more_ids(script: Script) -> None:
    script.write("""
        import os, socket
        from jccl.core import NcclInvalid
        from jccl.core.rendezvous import _ask
        match os.environ["RANK"]:
            case "0":
                _ask("GET asked\\n")
            case "1":
                connection = socket.socket(socket.AF_UNIX)
                connection.connect("\\0" + os.environ["JCCL_STORE"])
                # Before rank 0 ends.
                connection.sendall(b"GET id/0\\n")
                _ask("PUT asked 00\\n")
                print(connection.makefile().readline(), end="")
                _ask("PUT told 00\\n")
            case "2":
                _ask("GET told\\n")
                try:
                    _ask("GET id/0\\n")
                except NcclInvalid as e:
                    print(e)
    """)
    done = script.run("-n", "3")
    why = "rank 0 has ended, and makes no more ids"
    assert lines(done.stdout) == [
        f"[1] REFUSED {why}",
        f"[2] the launcher refused the request 'GET id/0\\n': {why}",
    ], done.stderr


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
    script.write(
        TELLS
        + textwrap.dedent("""
            os.environ["JCCL_INIT_TIMEOUT"] = "0"
            if rank == "0":
                _ask("GET asked/1\\n")
                _ask("PUT some/key abcd\\n")
            else:
                print(_ask("GET some/key\\n"))
        """)
    )
    done = script.run("-n", "2")
    assert done.stdout == "[1] abcd\n", done.stderr
