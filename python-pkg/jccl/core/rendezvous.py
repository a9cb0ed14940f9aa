"""How ranks that a launcher started learn their numbers and share an id.

``python -m jccl.run`` listens on an abstract Unix socket (its name is in JCCL_STORE; no file
exists) and keeps a few small values. A request is one line. It answers ``PUT key hex [readers]``
with ``OK``, and ``GET key`` with the value in hex as soon as it has it. After ``readers`` answers
it forgets the value. It answers a request that it does not accept with ``REFUSED`` and the reason.

torchrun keeps a TCPStore of torch at MASTER_ADDR and MASTER_PORT, which serves without JCCL_STORE.
The ids have the same keys there as those of ranks in Java (``org.jccl.launch``).
"""

from __future__ import annotations

import os
import socket
import threading
import time
import warnings
from datetime import timedelta

from jccl.bindings import load
from jccl.core.types import NcclInvalid
from jccl.core.unique_id import UniqueId, get_unique_id

STORE_VARIABLE = "JCCL_STORE"
LIMIT_VARIABLE = "JCCL_INIT_TIMEOUT"
_DEFAULT_LIMIT_S = 120.0
_LONGEST_S = 1e9
_FULL_NAP_S = 0.005

# How many ids this process has had; read and written under the lock.
_exchanges = 0
_lock = threading.Lock()


def rank_from_environment() -> tuple[int, int]:
    """RANK and WORLD_SIZE from the environment.

    Raises:
        NcclInvalid: if they are missing or make no sense.
    """
    try:
        rank, nranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        raise NcclInvalid(
            "RANK and WORLD_SIZE are not set, or no numbers: start this program with"
            " `python -m jccl.run -n <ranks> script.py`"
        ) from None
    if not 0 <= rank < nranks:
        raise NcclInvalid(
            f"RANK is {rank} and WORLD_SIZE {nranks}; RANK must lie in [0, WORLD_SIZE): start this"
            " program with `python -m jccl.run -n <ranks> script.py`"
        )
    return rank, nranks


def exchange_unique_id(rank: int, nranks: int) -> UniqueId:
    """The same new id on all ranks: rank 0 makes it, the launcher or the host hands it on."""
    global _exchanges
    share = getattr(load(), "share", None)
    if share is not None and nranks > 1:
        own = bytes(get_unique_id()) if rank == 0 else None
        limit = _limit()
        try:
            content = share(own, limit)
        except TimeoutError:
            raise NcclInvalid(f"rank 0 made no id within {limit:g} s") from None
        if content:
            return UniqueId.from_bytes(content)
        if content is not None:
            raise NcclInvalid("the program of rank 0 has ended without making an id")
    with _lock:
        # One that was not handed on is asked for again, as the other ranks do or have done.
        unique_id = _exchange(rank, nranks, f"id/{_exchanges}")
        _exchanges += 1
    return unique_id


def _exchange(rank: int, nranks: int, key: str) -> UniqueId:
    if nranks > 1 and STORE_VARIABLE not in os.environ and _torchrun_keeps_a_store():
        return _exchange_by_torchrun(rank, key)
    if rank == 0:
        unique_id = get_unique_id()
        if nranks > 1:
            _ask(f"PUT {key} {bytes(unique_id).hex()} {nranks - 1}\n")
        return unique_id
    return UniqueId.from_bytes(bytes.fromhex(_ask(f"GET {key}\n")))


def _torchrun_keeps_a_store() -> bool:
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def _exchange_by_torchrun(rank: int, key: str) -> UniqueId:
    """The same through the store of torchrun, whose ranks have torch."""
    from torch._C._distributed_c10d import TCPStore
    from torch.distributed import DistError

    key = f"jccl/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{key}"
    limit = timedelta(seconds=_limit() or _LONGEST_S)
    try:
        port = int(os.environ["MASTER_PORT"])
        store = TCPStore(os.environ["MASTER_ADDR"], port, is_master=False, timeout=limit)
        if rank == 0:
            unique_id = get_unique_id()
            store.set(key, bytes(unique_id).hex())
            return unique_id
        return UniqueId.from_bytes(bytes.fromhex(store.get(key).decode()))
    except (DistError, KeyError, ValueError) as e:
        raise NcclInvalid(f"torchrun's store at MASTER_ADDR and MASTER_PORT: {e}") from e


def _limit() -> float | None:
    """JCCL_INIT_TIMEOUT in seconds; None if it is 0, which means no limit.

    If it is invalid, warns and returns the default, as the library does.
    """
    text = os.environ.get(LIMIT_VARIABLE)
    if not text:
        return _DEFAULT_LIMIT_S
    try:
        limit = float(text)
    except ValueError:
        limit = -1.0
    if not 0 <= limit <= _LONGEST_S:
        warnings.warn(
            f"{LIMIT_VARIABLE} value '{text}' is not valid, leaving it set at {_DEFAULT_LIMIT_S:g}",
            RuntimeWarning,
            stacklevel=2,
        )
        return _DEFAULT_LIMIT_S
    return limit or None


def _connect(connection: socket.socket, name: str, limit: float | None) -> None:
    """Connects; while the listener has no room for another connection, tries again."""
    end = None if limit is None else time.monotonic() + limit
    while True:
        try:
            connection.connect(name)
            return
        except BlockingIOError:
            if end is not None and time.monotonic() >= end:
                raise TimeoutError from None
            time.sleep(_FULL_NAP_S)


def _ask(request: str) -> str:
    name = os.environ.get(STORE_VARIABLE)
    if not name:
        raise NcclInvalid(
            f"{STORE_VARIABLE} is not set, so the ranks cannot share an id: start this program"
            " with `python -m jccl.run` or torchrun, or pass one yourself to Communicator.init"
        )
    limit = _limit()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(limit)
            _connect(connection, "\0" + name, limit)
            connection.sendall(request.encode())
            answer = connection.makefile("r", encoding="ascii").readline()
    except TimeoutError:
        raise NcclInvalid(f"rank 0 made no id within {limit:g} s") from None
    except OSError as e:
        raise NcclInvalid(f"the launcher that set {STORE_VARIABLE} does not answer: {e}") from e
    if not answer.endswith("\n"):
        raise NcclInvalid(f"the launcher ended while this rank asked it: {request.split()[:2]}")
    if answer.startswith("REFUSED "):
        why = answer.removeprefix("REFUSED ").strip()
        raise NcclInvalid(f"the launcher refused the request {request[:40]!r}: {why}")
    return answer.strip()
