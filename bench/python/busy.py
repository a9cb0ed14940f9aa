"""Other work on the machine: processes that are busy a given share of the time.

python bench/python/busy.py 2 0.5    # two processes, each busy half of the time, until it is ended
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

#: One turn of work and rest, like a data loader's or a browser's: a few slices of a core.
PERIOD_S = 0.02


def work(share: float) -> None:
    """Computes and sleeps in turns, for as long as the process that started this one lives."""
    parent = os.getppid()
    while os.getppid() == parent:
        began = time.perf_counter()
        while time.perf_counter() - began < PERIOD_S * share:
            sum(range(1000))
        if share < 1:
            time.sleep(PERIOD_S * (1 - share))


@contextlib.contextmanager
def busy(count: int, share: float = 1.0, *, apart: bool = False) -> Iterator[None]:
    """Starts processes that are busy for a share of the time; they end with the block.

    Args:
        count: number of processes.
        share: of the time in which each is busy.
        apart: in a session of their own, with which Linux divides a core as with one thread.
    """
    command = [sys.executable, __file__, str(count), str(share)]
    if count == 0:
        yield
        return
    # A session's leader leads a process group, too.
    group = None if apart else 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, start_new_session=apart, process_group=group
    ) as workers:
        assert workers.stdout is not None
        try:
            if workers.stdout.readline() != b"busy\n":
                raise SystemExit("the busy processes did not start")
            yield
        finally:
            os.killpg(workers.pid, signal.SIGKILL)


def main() -> None:
    """Starts the other processes and works as one of them."""
    count, share = int(sys.argv[1]), float(sys.argv[2])
    for _ in range(count - 1):
        if os.fork() == 0:
            break
    else:
        print("busy", flush=True)
    work(share)


if __name__ == "__main__":
    main()
