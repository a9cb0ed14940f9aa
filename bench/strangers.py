"""What strangers cost: times of init and calls with and without 200 of them at the ranks' ports.

A stranger is a connection that is not a rank's. Two ranks count as two nodes and talk over TCP.
Each round times them once with and once without the strangers. Of every eight strangers two say
nothing. Each of the others sends one of these: a byte a second, garbage, the hello of another
version, the hello of a link that nobody waits for, what a rank has said before, or a known number
with a false proof. When a rank drops a stranger, the stranger connects again.

python bench/strangers.py [--rounds 10] [--strangers 200]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

RANK = """
import pathlib, socket, sys, threading, time
import numpy, jccl.core as nccl

folder, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2])
INITS = 101
small, large = numpy.ones(2, "float32"), numpy.ones(1 << 18, "float32")

def timed(comm, data, times):
    for _ in range(times // 5):
        comm.allreduce(data, data, nccl.MAX)
    series = []
    for _ in range(9):
        start = time.perf_counter()
        for _ in range(times):
            comm.allreduce(data, data, nccl.MAX)
        series.append((time.perf_counter() - start) / times)
    return sorted(series)[4]

def inits():
    "Times the init of communicators whose id both ranks know."
    series = []
    for _ in range(INITS):
        known = numpy.zeros(nccl.UNIQUE_ID_BYTES, "uint8")
        if first.rank == 0:
            known[:] = list(bytes(nccl.get_unique_id()))
        first.broadcast(known, known, 0)
        unique_id = nccl.UniqueId.from_bytes(known.tobytes())
        start = time.perf_counter()
        comm = nccl.Communicator.init(2, first.rank, unique_id)
        series.append(time.perf_counter() - start)
        comm.destroy()
    return sorted(series)[INITS // 2]

def overhear():
    "The port on which this process listens, and what a rank says there to meet another one."
    known = bytes(nccl.get_unique_id())
    port = int.from_bytes(known[10:12], "big")
    said = bytearray()

    def pump(source, target, record):
        while data := source.recv(4096):
            if record:
                said.extend(data)
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)

    with socket.create_server(("127.0.0.1", 0)) as tap:
        # The same id with another port, so that rank 1 goes through the tap.
        tapped = known[:10] + tap.getsockname()[1].to_bytes(2, "big") + known[12:]
        ids = [nccl.UniqueId.from_bytes(each) for each in (known, tapped)]
        comms = [None, None]

        def meet(rank):
            comms[rank] = nccl.Communicator.init(2, rank, ids[rank])

        threads = [threading.Thread(target=meet, args=(rank,)) for rank in (0, 1)]
        for thread in threads:
            thread.start()
        source = tap.accept()[0]
    target = socket.create_connection(("127.0.0.1", port))
    threading.Thread(target=pump, args=(target, source, False), daemon=True).start()
    pump(source, target, True)
    for thread in threads:
        thread.join()
    for comm in comms:
        comm.abort()
    return port, said

first = nccl.Communicator.from_env()
for _ in range(2):
    inits()
for phase in range(-1, 2 * rounds):
    # In each phase, since a process forgets meetings that are long over.
    port, said = overhear()
    print("overheard", port, said.hex(), flush=True)
    first.allreduce(small, small, nccl.MAX)
    if first.rank == 0:
        print("phase", phase, flush=True)
    while not (folder / f"phase{phase}").exists():
        time.sleep(0.005)
    figures = inits(), timed(first, small, 2000), timed(first, large, 100)
    if first.rank == 0:
        print("figures", phase, *figures, flush=True)
first.destroy()
"""

#: What is timed, its unit, and the factor from seconds to this unit.
FIGURES = (("init", "ms", 1e3), ("8 B", "µs", 1e6), ("1 MiB", "µs", 1e6))

_HELLO = b"JCCLnet\x01\x02\0\0\0" + bytes(8)


class Strangers:
    """Connections to some ports, driven by one thread; each acts once a second."""

    def __init__(self, overheard: dict[int, bytes], count: int) -> None:
        """Starts to connect at once, to the ports where ranks were overheard."""
        self._overheard = overheard
        self._ports = sorted(overheard)
        self._sockets: list[socket.socket | None] = [None] * count
        self._said = [0] * count
        self._over = threading.Event()
        self.dropped = 0
        self.share = 0.0
        self._thread = threading.Thread(target=self._attack, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread and all connections."""
        self._over.set()
        self._thread.join()
        for each in self._sockets:
            if each is not None:
                each.close()

    def _attack(self) -> None:
        began = time.perf_counter()
        number = 0
        while not self._over.is_set():
            self._act(number % len(self._sockets))
            number += 1
            # All of them come at once, then they take turns.
            if number >= len(self._sockets):
                time.sleep(1 / len(self._sockets))
        self.share = time.thread_time() / (time.perf_counter() - began)

    def _act(self, number: int) -> None:
        try:
            connection = self._sockets[number]
            if connection is None:
                port = self._ports[number % len(self._ports)]
                connection = socket.create_connection(("127.0.0.1", port), timeout=5)
                connection.setblocking(False)
                self._sockets[number] = connection
                self._said[number] = 0
            words = self._words(number)
            self._said[number] += 1
            if words:
                connection.send(words)
            with contextlib.suppress(BlockingIOError):
                if not connection.recv(4096):
                    raise ConnectionResetError
        except OSError:
            gone = self._sockets[number]
            if gone is not None:
                gone.close()
                self.dropped += 1
            self._sockets[number] = None

    def _words(self, number: int) -> bytes:
        said = self._said[number]
        hello = _HELLO + os.urandom(48)
        recorded = self._overheard[self._ports[number % len(self._ports)]]
        match number // len(self._ports) % 8:
            case 0 | 1:
                return b""
            case 2:
                return hello[said : said + 1]
            case 3:
                return os.urandom(4096)
            case 4:
                return hello.replace(b"net\x01", b"net\x02")
            case 5:
                return b"" if said else hello
            case 6:
                return b"" if said else recorded
            case _:
                # A hello with the number of the meeting, then a member's words and proof.
                first = recorded[:36] + os.urandom(32)
                return first if said == 0 else os.urandom(180 + 32) if said == 1 else b""


def _free_ports(count: int) -> range:
    for first in range(42000, 60000, count):
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for port in range(first, first + count):
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return range(first, first + count)
    raise SystemExit("there are no free ports")


def measure(
    rounds: int, count: int, folder: Path
) -> tuple[list[list[tuple[float, ...]]], list[Strangers]]:
    """Figures by round: without and with strangers; and the strangers of each round."""
    script = folder / "rank.py"
    script.write_text(RANK, encoding="utf-8")
    ports = _free_ports(2)
    variables = {"JCCL_PORT_RANGE": f"{ports[0]}-{ports[-1]}", "NCCL_SOCKET_IFNAME": "lo"}
    command = [sys.executable, "-m", "jccl.run", "-n", "2", "--hosts", "2", "--no-prefix"]
    command += [str(script), str(folder), str(rounds)]
    found: list[list[tuple[float, ...]]] = [[(), ()] for _ in range(rounds)]
    came: list[Strangers] = []
    strangers: Strangers | None = None
    overheard: dict[int, bytes] = {}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables}
    ) as job:
        assert job.stdout is not None
        for line in job.stdout:
            word, phase, *values = line.split()
            number = int(phase)
            if word == "overheard":
                overheard[number] = bytes.fromhex(values[0])
                continue
            # The order alternates (without, with; with, without), so that drift affects both alike.
            attacked = number >= 0 and (number % 2 == 1) != (number // 2 % 2 == 1)
            if word == "phase":
                strangers = Strangers(overheard, count) if attacked else None
                if strangers is not None:
                    time.sleep(2)
                (folder / f"phase{number}").touch()
            elif word == "figures":
                if number >= 0:
                    found[number // 2][attacked] = tuple(map(float, values))
                if strangers is not None:
                    strangers.close()
                    came.append(strangers)
            else:
                raise SystemExit(line)
    if job.returncode != 0 or not all(all(each) for each in found):
        raise SystemExit(f"the ranks ended with status {job.returncode}")
    return found, came


def interval(values: list[float]) -> tuple[float, float]:
    """The interval in which the median of such values lies in 95 % of cases, by order alone."""
    ordered = sorted(values)
    outside = max(0, int((len(values) - 1.96 * len(values) ** 0.5) / 2))
    return ordered[outside], ordered[-1 - outside]


def main() -> None:
    """Prints medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--strangers", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rounds, came = measure(options.rounds, options.strangers, Path(folder))
    dropped = sum(each.dropped for each in came)
    share = statistics.median(each.share for each in came)
    print(
        f"{options.rounds} rounds, {options.strangers} strangers, {dropped} times dropped;"
        f" they took {share:.1%} of a core themselves"
    )
    print(
        "| | without | with | ratio, median of rounds | 95 % interval | least | most |\n"
        "|---|---|---|---|---|---|---|"
    )
    for i, (name, unit, factor) in enumerate(FIGURES):
        without = statistics.median(each[0][i] for each in rounds) * factor
        attacked = statistics.median(each[1][i] for each in rounds) * factor
        ratios = [each[1][i] / each[0][i] for each in rounds]
        low, high = interval(ratios)
        print(
            f"| {name} | {without:.2f} {unit} | {attacked:.2f} {unit}"
            f" | {statistics.median(ratios):.3f} | {low:.3f} to {high:.3f}"
            f" | {min(ratios):.3f} | {max(ratios):.3f} |"
        )


if __name__ == "__main__":
    main()
