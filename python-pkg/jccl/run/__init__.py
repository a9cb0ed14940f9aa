"""``python -m jccl.run``: starts the ranks of a program on this machine."""

from __future__ import annotations

from jccl.run.launcher import Job, run_job

__all__ = ["Job", "run_job"]
