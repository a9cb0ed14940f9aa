"""The command line of ``python -m jccl.run``."""

from __future__ import annotations

import argparse
import math
import sys

from jccl.run.launcher import Job, run_job

_MOST_RANKS = 65536

# As of a shell.
NOT_FOUND = 127
NOT_STARTED = 126

_DESCRIPTION = """\
Starts the ranks of a program on this machine and ends them together.

Each rank runs `python SCRIPT ARGS...`, or with --no-python the program SCRIPT itself, with these
variables:
  RANK, WORLD_SIZE              its number and the number of ranks
  LOCAL_RANK, LOCAL_WORLD_SIZE  the same within its (simulated) host
  NODE_RANK                     the number of its host
  MASTER_ADDR, MASTER_PORT      127.0.0.1 and a free port, for torch.distributed
  NCCL_HOSTID                   its host's name, with --hosts
  JCCL_STORE                    where the ranks share a communicator id: see below

In the script:
  import jccl.core as jc
  comm = jc.Communicator.from_env()        # RANK of WORLD_SIZE; the id comes by JCCL_STORE
or  torch.distributed.init_process_group("jccl")
or, in Java, Communicator.fromEnvironment()
"""

_EPILOG = """\
Lines of output are prefixed with [rank]. When a rank fails, the others get a moment to report
it, then are terminated, then killed; its exit status becomes this command's (128 + the signal's
number if a signal ended it, 124 after --timeout, 127 if there is no such program, 126 if it cannot
be started). Ctrl-C and SIGTERM are passed on to the ranks; a second one kills them. Processes that
the ranks leave in their process groups are ended, too.

examples:
  python -m jccl.run -n 4 train.py --epochs 3
  python -m jccl.run -n 4 --hosts 2 -m package.module
  python -m jccl.run -n 4 --no-python java -cp "$(python -m jccl --jar)" Train.java
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m jccl.run",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-n", "--nranks", type=int, required=True, help="number of ranks")
    parser.add_argument(
        "--hosts",
        type=int,
        default=1,
        metavar="H",
        help="simulate H hosts; ranks on different hosts talk over TCP (default 1)",
    )
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="end everything after S seconds (status 124)"
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=5.0,
        metavar="S",
        help="seconds between terminating and killing (default 5)",
    )
    parser.add_argument("--no-prefix", action="store_true", help="leave the output as it is")
    parser.add_argument(
        "-m", "--module", action="store_true", help="SCRIPT is a module, as in python -m"
    )
    parser.add_argument(
        "--no-python", action="store_true", help="SCRIPT is a program of its own, such as java"
    )
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("args", nargs=argparse.REMAINDER, metavar="ARGS")
    return parser


def main() -> int:
    """Parses the command line, runs the job and returns its exit status."""
    parser = _parser()
    options = parser.parse_args()
    if not 1 <= options.nranks <= _MOST_RANKS:
        parser.error(f"-n is {options.nranks}: it must be 1 to {_MOST_RANKS}")
    for name in ("timeout", "grace"):
        seconds = getattr(options, name)
        if seconds is not None and not 0 <= seconds < math.inf:
            parser.error(f"--{name} is {seconds}: it must be a number of seconds")
    if not 1 <= options.hosts <= options.nranks:
        parser.error(f"--hosts is {options.hosts}: it must be 1 to {options.nranks}")
    if options.module and options.no_python:
        parser.error("-m is for Python, and --no-python for anything else: give one of them")
    script = ["-m", options.script] if options.module else [options.script]
    python = [] if options.no_python else [sys.executable]
    job = Job(
        command=[*python, *script, *options.args],
        nranks=options.nranks,
        hosts=options.hosts,
        timeout_s=options.timeout,
        grace_s=options.grace,
        prefix=not options.no_prefix,
    )
    try:
        return run_job(job)
    except OSError as e:
        program = job.command[0]
        print(f"[jccl.run] cannot start {program}: {e.strerror or e}", file=sys.stderr, flush=True)
        return NOT_FOUND if isinstance(e, FileNotFoundError) else NOT_STARTED


if __name__ == "__main__":
    sys.exit(main())
