"""dist.monitored_barrier: a barrier that names the ranks that did not come."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from torch.distributed import DistBackendError

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store


def _not_known(_: int) -> bool:
    return False


def wait_for_keys(
    store: Store,
    keys: Sequence[str],
    deadline: float,
    ended: Callable[[int], bool] = _not_known,
) -> list[int]:
    """Waits until a store has all keys, or until ``deadline`` on the clock of time.monotonic.

    It polls instead of blocking in the store, so that Ctrl-C works.

    Args:
        store: the store.
        keys: what it is to have.
        deadline: when to give up.
        ended: says whether the one who is to set the key with this index has ended, so far as that
            is known; then a key that is still missing is not waited for.

    Returns:
        The indices of the keys that are missing at the end.
    """
    missing = list(range(len(keys)))
    pause = 0.0005
    while missing:
        # Asked first: it may set the key, and end then.
        gone = {i for i in missing if ended(i)}
        missing = [i for i in missing if not store.check([keys[i]])]
        if not missing or not gone.isdisjoint(missing) or time.monotonic() >= deadline:
            break
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return missing


class MonitoredBarrier:
    """The barriers of one group, over its store: a communicator could not be used after one failed.

    Args:
        store: the group's store.
        rank: this rank.
        size: number of ranks.
        nonce: distinguishes this incarnation's keys from those of a former one.
    """

    def __init__(self, store: Store, rank: int, size: int, nonce: str) -> None:
        self._store = store
        self._rank = rank
        self._size = size
        self._prefix = f"monitored/{nonce}"
        # Counts this rank's calls; rank r's n-th call meets rank 0's n-th. Threads must not call at
        # once on one group: the ranks could not agree on an order.
        self._calls = 0
        # On rank 0, the keys that calls have left in the store.
        self._keys: list[str] = []

    def run(self, timeout: timedelta, wait_all_ranks: bool) -> None:
        """Waits until all ranks have called.

        Args:
            timeout: how long to wait for the others.
            wait_all_ranks: whether rank 0 names all missing ranks or only the first.

        Raises:
            DistBackendError: a rank did not come in time.
        """
        number, self._calls = self._calls, self._calls + 1
        prefix = f"{self._prefix}/{number}"
        limit = timeout.total_seconds()
        verdict = f"{prefix}/verdict"
        if self._rank:
            self._store.set(f"{prefix}/{self._rank}", "here")
            self._obey(verdict, limit)
            return
        keys = [f"{prefix}/{rank}" for rank in range(1, self._size)]
        n_former = len(self._keys)
        self._keys += [*keys, verdict]
        if limit <= 0:
            raise self._refuse(verdict, "Rank 0 timed out in monitoredBarrier after 0 s")
        self._collect(keys, verdict, limit, wait_all_ranks)
        self._forget(n_former)
        self._store.set(verdict, "go")

    def _forget(self, n_keys: int) -> None:
        """Deletes the keys of former calls, which nobody reads once all ranks have come again."""
        # Some stores cannot delete.
        with contextlib.suppress(RuntimeError, NotImplementedError):
            for key in self._keys[:n_keys]:
                self._store.delete_key(key)
        del self._keys[:n_keys]

    def _collect(self, keys: list[str], verdict: str, limit: float, wait_all_ranks: bool) -> None:
        deadline = time.monotonic() + limit
        missing = [i + 1 for i in wait_for_keys(self._store, keys, deadline)]
        if not missing:
            return
        who = f"Rank {missing[0]}"
        if wait_all_ranks and len(missing) > 1:
            who = "Ranks " + ", ".join(map(str, missing))
        raise self._refuse(verdict, f"{who} failed to pass monitoredBarrier in {limit:g} s")

    def _refuse(self, verdict: str, sentence: str) -> DistBackendError:
        self._store.set(verdict, sentence)
        return DistBackendError(sentence)

    def _obey(self, verdict: str, limit: float) -> None:
        # Rank 0 may have begun to wait later than this rank, by up to its whole limit.
        deadline = time.monotonic() + 2 * limit + 1
        came = (
            f"Rank {self._rank} successfully reached monitoredBarrier, but received errors while "
            "waiting for send/recv from rank 0"
        )
        if wait_for_keys(self._store, [verdict], deadline):
            raise DistBackendError(f"{came}: it did not come within {limit:g} s")
        answer = self._store.get(verdict).decode()
        if answer != "go":
            raise DistBackendError(f"{came}: {answer}")
