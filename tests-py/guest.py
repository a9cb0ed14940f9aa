"""New interpreters that a test's code runs in, with Java as their guest."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import cprogram

LIMIT_S = 300
START = """
import ctypes, os, signal, subprocess, sys, threading, time
import numpy as np
import jccl.bindings
import jccl.core as nccl

def one_rank():
    return nccl.Communicator.init(1, 0, nccl.get_unique_id())

def add(comm):
    x = np.ones(5, np.float32)
    comm.allreduce(x, x, nccl.SUM)
    assert (x == 1).all()
"""


def python(
    code: str, *arguments: str, status: int = 0, environment: dict[str, str] | None = None
) -> str:
    """Runs code in a new interpreter, which must end with this status; returns its output."""
    process = start(code, *arguments, environment=environment)
    return cprogram.finish(process, status, LIMIT_S)


def start(
    code: str, *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    """Starts code in a new interpreter; its two outputs are one pipe."""
    return subprocess.Popen(
        [sys.executable, "-c", START + textwrap.dedent(code), *arguments],
        env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
