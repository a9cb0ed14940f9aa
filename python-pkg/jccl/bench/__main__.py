"""The command line of ``python -m jccl.bench``."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jccl.run.launcher import Job, run_job

_DESCRIPTION = """\
Measures an operation between ranks on this machine, in the columns of nccl-tests.

time is the median span from when the last rank enters a call until the last rank has left it.
algbw is size / time; busbw is what each rank's link carries: algbw times 2(n-1)/n for all_reduce,
times (n-1)/n where each rank has a part. #wrong counts the elements that differ from the expected
result, on all ranks. Before each call the benchmark writes one word of every cache line of the
input, and after the call reads one of every line of the output, as programs do; neither is timed.
--untouched skips both, as other suites do, and so measures with hotter caches.
"""

_TRANSPORTS = {
    "auto": {},
    "net": {"NCCL_SHM_DISABLE": "1", "NCCL_P2P_DISABLE": "1"},
}
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def bytes_of(text: str) -> int:
    """A size such as 8, 64K or 1M in bytes."""
    found = re.fullmatch(r"(\d+)([KMG]?)B?", text.upper())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 8, 64K or 1M")
    return int(found[1]) * _UNITS[found[2]]


def _parser() -> argparse.ArgumentParser:
    from jccl.bench.operations import MEASURED, REDUCTIONS

    parser = argparse.ArgumentParser(
        prog="python -m jccl.bench",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("operation", choices=list(MEASURED), help="the operation to measure")
    add("-b", "--minbytes", type=bytes_of, default=8, help="smallest size: 8, 64K, 1M (default 8)")
    add(
        "-e",
        "--maxbytes",
        type=bytes_of,
        default=64 << 20,
        help="largest size, as -b (default 64M)",
    )
    add(
        "-f",
        "--stepfactor",
        type=int,
        default=2,
        help="factor from one size to the next (default 2)",
    )
    add("-n", "--nranks", type=int, default=2, help="number of ranks (default 2)")
    types = "type, by its name in nccl-tests: int32, half, f8e4m3 and so on (default float)"
    add("-t", "--datatype", default="float", help=types)
    add("-o", "--op", default="sum", choices=list(REDUCTIONS), help="reduction (default sum)")
    add("-r", "--root", type=int, default=0, help="root of operations that have one (default 0)")
    add("--iters", type=int, help="measured calls per size (default 1000, fewer for large sizes)")
    add("--warmup", type=int, help="unmeasured calls before them (default: as many)")
    add("--untouched", action="store_true", help="neither write inputs nor read outputs")
    add("--hosts", type=int, default=1, help="simulate this many hosts (default 1)")
    add(
        "--transport",
        choices=sorted(_TRANSPORTS),
        default="auto",
        help="net: TCP even where ranks could share memory",
    )
    add("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    return parser


def sizes(smallest: int, largest: int, factor: int) -> Iterator[int]:
    """Sizes in bytes from the smallest to the largest."""
    size = smallest
    while size <= largest:
        yield size
        if factor < 2 or size == 0:
            return
        size *= factor


def _columns(times: Any, size: int, factor: float) -> str:
    if times is None:
        return f"{'N/A':>9}{'N/A':>8}{'N/A':>8}{'N/A':>8}"
    gbs = size / times.median_us / 1000 if times.median_us > 0 else 0.0
    return f"{times.median_us:9.2f}{gbs:8.2f}{gbs * factor:8.2f}{times.wrong:8d}"


def _heading(options: argparse.Namespace, nranks: int) -> str:
    touched = "untouched" if options.untouched else "touched"
    head = (
        f"# {options.operation}: {nranks} ranks on {options.hosts} host(s), transport"
        f" {options.transport}, {touched} buffers, time is a median\n"
        f"#{'':40}{'out-of-place':>33}{'in-place':>33}\n"
        f"#{'size':>11}{'count':>11}{'type':>9}{'redop':>8}{'root':>5}"
    )
    columns = f"{'time':>9}{'algbw':>8}{'busbw':>8}{'#wrong':>8}"
    units = f"{'(us)':>9}{'(GB/s)':>8}{'(GB/s)':>8}{'':>8}"
    return f"{head}{columns}{columns}\n#{'(B)':>11}{'(elem)':>11}{'':>22}{units}{units}"


def _rank(options: argparse.Namespace) -> int:
    """One rank of the benchmark; rank 0 prints."""
    from jccl.bench.measure import Plan, measure
    from jccl.bench.operations import FACTOR, MEASURED, REDUCTIONS, TYPES, mulsum
    from jccl.core import Communicator, get_version

    measured, dtype = MEASURED[options.operation], TYPES[options.datatype]
    reduction, multiplies = REDUCTIONS[options.op], options.op == "mulsum"
    redop = options.op if measured.operation.reduces else "none"
    root = options.root if measured.operation.rooted else -1
    rows, wrong = [], 0
    with Communicator.from_env() as comm:
        comm._library.warm(10_000)
        plan = Plan(
            measured,
            dtype,
            reduction,
            mulsum(comm, dtype) if multiplies else int(reduction),
            FACTOR if multiplies else 1,
            options.root,
            not options.untouched,
            options.iters,
            options.warmup,
        )
        factor = measured.bus_factor(comm.nranks)
        if comm.rank == 0:
            print(_heading(options, comm.nranks), flush=True)
        for size in sizes(options.minbytes, options.maxbytes, options.stepfactor):
            layout = measured.layout(size // dtype.itemsize, comm.rank, comm.nranks)
            used = max(layout.send, layout.recv) * dtype.itemsize
            out = measure(plan, size, comm, in_place=False)
            inside = measure(plan, size, comm, in_place=True) if measured.in_place else None
            wrong += out.wrong + (inside.wrong if inside else 0)
            if comm.rank == 0:
                print(
                    f"{used:12d}{layout.count:11d}{options.datatype:>9}{redop:>8}{root:5d}"
                    f"{_columns(out, used, factor)}{_columns(inside, used, factor)}",
                    flush=True,
                )
            rows.append(
                {
                    "size": used,
                    "count": layout.count,
                    "type": options.datatype,
                    "redop": redop,
                    "root": root,
                    "out_of_place": asdict(out),
                    "in_place": asdict(inside) if inside else None,
                }
            )
        if comm.rank == 0:
            print(f"# wrong elements: {wrong}", flush=True)
        if comm.rank == 0 and options.json:
            report = {
                "operation": options.operation,
                "nranks": comm.nranks,
                "hosts": options.hosts,
                "transport": options.transport,
                "touched": not options.untouched,
                "versions": asdict(get_version()),
                "rows": rows,
            }
            options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def main() -> int:
    """Starts the ranks, or runs as one of them if jccl.run has started this process."""
    parser = _parser()
    options = parser.parse_args()
    from jccl.bench.operations import TYPES

    if options.datatype not in TYPES:
        parser.error(f"-t is {options.datatype}: one of {', '.join(TYPES)} is needed")
    if options.maxbytes < options.minbytes:
        parser.error(f"-e is {options.maxbytes} bytes, which is less than {options.minbytes} of -b")
    if "JCCL_STORE" in os.environ and "RANK" in os.environ:
        return _rank(options)
    if options.nranks < 1:
        parser.error(f"-n is {options.nranks}: there must be a rank")
    if not 0 <= options.root < options.nranks:
        parser.error(f"-r is {options.root}: there are {options.nranks} ranks")
    if not 1 <= options.hosts <= options.nranks:
        parser.error(f"--hosts is {options.hosts}: it must be 1 to {options.nranks}")
    job = Job(
        command=[sys.executable, "-m", "jccl.bench", *sys.argv[1:]],
        nranks=options.nranks,
        hosts=options.hosts,
        prefix=False,
        environment=_TRANSPORTS[options.transport],
    )
    return run_job(job)


if __name__ == "__main__":
    sys.exit(main())
