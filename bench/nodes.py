"""All-reduce across nodes: JCCL's C ABI beside gloo and OpenMPI, and what a node sends.

A node is a network namespace with a host name of its own; a bridge joins the nodes. So every byte
between nodes is a byte of TCP, and the counters of a node's interface count all of them.

python bench/nodes.py [--nodes 2 4] [--per-node 4] [--sizes 1048576 ...] [--rounds 9]
python bench/nodes.py --traffic    for each operation: bytes that a node sends, and the least
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import compare
from figures import Table

SIZES = [4096, 65536, 1 << 20, 16 << 20, 64 << 20]
TRAFFIC_SIZES = [16 << 20, 64 << 20]
#: The small sizes are timed so many times before the others.
WARM_UPS = 2
#: Then all sizes are timed so many times in turn (--repeats), and the last time counts: many JVMs
#: on few cores need a minute until their compilers have finished what each size runs, vector
#: kernels included.
REPEATS = 4
#: The second of two runs makes this many more calls: the bytes of the init cancel out.
CALLS = 8


@dataclass
class Node:
    """A network namespace; it lasts as long as the process that holds it."""

    number: int
    holder: subprocess.Popen[str]
    directory: Path

    @property
    def name(self) -> str:
        """Its host name."""
        return f"node{self.number}"

    def enter(self, *, from_node: bool = False) -> list[str]:
        """The beginning of a command that runs on this node, called outside or from another one."""
        user = [] if from_node else ["--user", "--preserve-credentials"]
        return [
            *("nsenter", "--target", str(self.holder.pid), *user, "--net", "--uts", "--"),
            *("env", f"NCCL_HOSTID={self.name}"),
            *("NCCL_SOCKET_IFNAME==eth0", "GLOO_SOCKET_IFNAME=eth0"),
            *(f"TMPDIR={self.directory}", f"MASTER_ADDR=10.78.0.{self.number + 1}"),
        ]

    def sent(self) -> int:
        """Bytes that it has sent to other nodes so far."""
        shown = subprocess.run(
            [*self.enter(), "cat", "/proc/net/dev"], text=True, capture_output=True, check=True
        ).stdout
        words = next(line for line in shown.splitlines() if "eth0:" in line).split(":")[1].split()
        return int(words[8])


def _hold(command: list[str], host_name: str) -> subprocess.Popen[str]:
    script = f"hostname {host_name} && echo inside && exec cat"
    holder = subprocess.Popen(
        [*command, "sh", "-c", script],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert holder.stdout is not None
    said = holder.stdout.readline()
    if said != "inside\n":
        holder.kill()
        raise SystemExit(f"network namespaces are refused here: {said}")
    return holder


@contextlib.contextmanager
def network(count: int) -> Iterator[list[Node]]:
    """Makes nodes, which end with the block, or with this process."""
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:

        def hold(command: list[str], name: str) -> subprocess.Popen[str]:
            holder = _hold(command, name)
            stack.callback(holder.wait)
            stack.callback(holder.kill)
            return holder

        spaces = ["unshare", "--net", "--uts"]
        switch = hold([*spaces, "--user", "--map-root-user"], "switch")
        inside = ["nsenter", "--target", str(switch.pid), "--user", "--preserve-credentials"]

        def script(pid: int, text: str) -> None:
            at = ["nsenter", "--target", str(pid), "--user", "--preserve-credentials", "--net"]
            subprocess.run([*at, "sh", "-ec", text], check=True)

        script(switch.pid, "ip link add br0 type bridge && ip link set br0 up")
        nodes = []
        for number in range(count):
            holder = hold([*inside, *spaces], f"node{number}")
            directory = Path(temporary, f"node{number}")
            directory.mkdir()
            nodes.append(Node(number, holder, directory))
            port = f"port{number}"
            script(
                switch.pid,
                f"ip link add {port} type veth peer name eth0 netns {holder.pid}\n"
                f"ip link set {port} master br0 up",
            )
            script(
                holder.pid,
                f"ip addr add 10.78.0.{number + 1}/24 dev eth0\n"
                "ip link set eth0 up\nip link set lo up",
            )
        yield nodes


class Bench:
    """Runs the libraries on some nodes, with the same number of ranks on each."""

    def __init__(self, setting: compare.Setting, nodes: list[Node], per_node: int) -> None:
        self.setting = setting
        self.nodes = nodes
        self.per_node = per_node
        self.ranks = per_node * len(nodes)

    def _run(self, name: str, command: Callable[[int, str], list[str]]) -> Table:
        with tempfile.TemporaryDirectory() as directory:
            meeting = str(Path(directory, "meeting"))
            enter = [self.nodes[r // self.per_node].enter() for r in range(self.ranks)]
            started = [compare.start([*enter[r], *command(r, meeting)]) for r in range(self.ranks)]
            return compare.collect(started, name)

    def jccl(self, sizes: list[str], order: str = "node") -> Table:
        """The C ABI."""
        client = [f"JCCL_DETERMINISTIC={order}", str(compare.BUILD / "nccl_client")]
        return self._run("C", lambda r, at: [*client, str(r), str(self.ranks), at, *sizes])

    def jccl_in_rank_order(self, sizes: list[str]) -> Table:
        """The same in rank order, in which every rank talks to every other."""
        return self.jccl(sizes, "rank")

    def gloo(self, sizes: list[str]) -> Table:
        """Gloo from torch."""
        script = str(compare.HERE / "python/all_reduce.py")
        touch = str(compare.BUILD / "touch.so")
        return self._run(
            "gloo",
            lambda r, at: [
                *(sys.executable, script, "gloo", str(r), str(self.ranks), at, touch),
                *sizes,
            ],
        )

    def open_mpi(self, sizes: list[str]) -> Table:
        """OpenMPI; a script of ours starts its daemon on each node."""
        agent = self.nodes[0].directory / "agent"
        lines = ["#!/bin/sh", "node=$1", "shift", "case $node in"]
        for node in self.nodes:
            enter = " ".join(node.enter(from_node=True))
            lines.append(f'{node.name}) exec {enter} sh -c "$*" ;;')
        agent.write_text("\n".join([*lines, "esac", "exit 1", ""]), encoding="ascii")
        agent.chmod(0o700)
        hosts = ",".join(f"{node.name}:{self.per_node}" for node in self.nodes)
        command = [
            *self.nodes[0].enter(),
            compare.open_mpi("mpirun") or "mpirun",
            *("--allow-run-as-root", "--oversubscribe", "--bind-to", "none"),
            *("--host", hosts, "-n", str(self.ranks)),
            *("--mca", "plm_rsh_agent", str(agent), "--mca", "coll_han_priority", "100"),
            *("--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0"),
            *("--mca", "mpi_yield_when_idle", "1"),
            str(compare.BUILD / "mpi_client"),
            *sizes,
        ]
        return compare.collect([compare.start(command)], "OpenMPI")


LIBRARIES = {
    "jccl": Bench.jccl,
    "jccl-rank-order": Bench.jccl_in_rank_order,
    "openmpi": Bench.open_mpi,
    "gloo": Bench.gloo,
}


def compare_libraries(
    bench: Bench, names: list[str], sizes: list[int], rounds: int, repeats: int
) -> None:
    """Runs rounds in which the libraries take turns, and prints the table."""
    texts = [str(size) for size in [*compare.WARM_UP * WARM_UPS, *sizes * repeats]]
    results: dict[str, list[Table]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names:
            results[name].append(LIBRARIES[name](bench, texts))
            print(f"# round {number + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
    heads = ["size", *names, *(f"{names[0]} / {name}" for name in names[1:])]
    print(f"\n**{len(bench.nodes)} nodes of {bench.per_node} ranks, µs per call**\n")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for size in sizes:
        us = {name: [table[size].us for table in results[name]] for name in names}
        cells = [compare.us_text(statistics.median(us[name])) for name in names]
        for name in names[1:]:
            pairs = zip(us[names[0]], us[name], strict=True)
            cells.append(f"{statistics.median(a / b for a, b in pairs):.2f}")
        print(f"| {' | '.join([compare.size_name(size), *cells])} |", flush=True)


# -- what a node sends


#: The least that a node can send for a call, divided by the size, for a number of nodes.
LEAST: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda nodes: 2 * (nodes - 1) / nodes,
    "all_gather": lambda nodes: (nodes - 1) / nodes,
    "reduce_scatter": lambda nodes: (nodes - 1) / nodes,
    "broadcast": lambda nodes: 1.0,
}


def traffic(bench: Bench, sizes: list[int]) -> None:
    """Counts the bytes that leave each node's interface."""
    script = str(compare.HERE / "python/repeat.py")
    count = len(bench.nodes)
    print(f"\n**{count} nodes of {bench.per_node} ranks: bytes that the busiest node sends**\n")
    print("| operation | size | sent / size | least | sent / least |\n|---|---|---|---|---|")
    for operation, least in LEAST.items():
        for size in sizes:
            sent = []
            for calls in (1, 1 + CALLS):
                before = [node.sent() for node in bench.nodes]
                bench._run(
                    operation,
                    lambda r, at, calls=calls, operation=operation, size=size: [  # type: ignore[misc]
                        *(sys.executable, script, operation, str(r), str(bench.ranks), at),
                        *(str(size), str(calls)),
                    ],
                )
                sent.append([n.sent() - b for n, b in zip(bench.nodes, before, strict=True)])
            most = max(b - a for a, b in zip(*sent, strict=True)) / CALLS / size
            print(
                f"| {operation} | {compare.size_name(size)} | {most:.3f} | {least(count):.3f}"
                f" | {most / least(count):.3f} |",
                flush=True,
            )


def main() -> None:
    """Runs the comparison, or counts bytes, and prints tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--per-node", type=int, default=4)
    parser.add_argument("--sizes", type=int, nargs="+", metavar="BYTES")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--repeats", type=int, default=REPEATS, help="the last one counts")
    parser.add_argument("--only", nargs="+", choices=sorted(LIBRARIES), default=list(LIBRARIES))
    parser.add_argument("--traffic", action="store_true")
    options = parser.parse_args()
    compare.undisturbed = False
    setting = compare.setting()
    compare.build(setting, ["openmpi"])
    os.environ["OMP_NUM_THREADS"] = "1"
    for count in options.nodes:
        with network(count) as nodes:
            bench = Bench(setting, nodes, options.per_node)
            if options.traffic:
                traffic(bench, options.sizes or TRAFFIC_SIZES)
            else:
                names = [name for name in LIBRARIES if name in options.only]
                names = [n for n in names if n != "openmpi" or compare.open_mpi("mpirun")]
                sizes = options.sizes or SIZES
                compare_libraries(bench, names, sizes, options.rounds, options.repeats)


if __name__ == "__main__":
    main()
