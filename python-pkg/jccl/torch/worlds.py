"""A world of torch.distributed for each rank, where the ranks share an interpreter, as in Jep."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from jccl.bindings import own_state

# What torch computes from other attributes.
_COMPUTED = ("pg_config_info",)


class Worlds:
    """Stands for torch's one world: the attributes of each rank are its own.

    They are those of torch's class, and empty at first. Threads that belong to no rank have the
    world that torch made.
    """

    def __init__(self, world: Any, register: Callable[[Any, Any], None]) -> None:
        vars(self).update(_of_no_rank=world, _register=register)

    def _here(self) -> Any:
        state = own_state()
        if state is None:
            return vars(self)["_of_no_rank"]
        world = state.get("world")
        if world is None:
            world = state.setdefault("world", _empty(vars(self)["_of_no_rank"]))
            state["begin_thread"] = self._begin_thread
        return world

    def _begin_thread(self) -> None:
        """Makes the groups of the rank known to C++ on this new thread of it."""
        for group, name in list(self.pg_names.items()):
            vars(self)["_register"](name, group)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._here(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._here(), name, value)


def _empty(world: Any) -> SimpleNamespace:
    """The attributes of a world without groups."""
    attributes: dict[str, Any] = {}
    for name, value in vars(type(world)).items():
        if isinstance(value, property) and name not in _COMPUTED:
            now = getattr(world, name)
            attributes[name] = type(now)() if isinstance(now, (dict, list, int)) else None
    return SimpleNamespace(**attributes)


def give_each_rank_its_own(c10d: Any) -> None:
    """Replaces the world of ``torch.distributed.distributed_c10d``, which holds no group yet."""
    # Groups of different ranks have the same names, by which C++ finds those of the thread.
    c10d.torch._C._distributed_c10d._set_thread_isolation_mode(True)
    register, unregister = c10d._register_process_group, c10d._unregister_process_group

    def register_on_this_thread(name: Any, group: Any) -> None:
        # Another thread of the rank may have destroyed a group that this one has made.
        unregister(name)
        register(name, group)

    c10d._register_process_group = register_on_this_thread
    c10d.rendezvous = functools.partial(_rendezvous, c10d.rendezvous)
    computed = {name: vars(c10d._World)[name] for name in _COMPUTED}
    c10d._world = type("Worlds", (Worlds,), computed)(c10d._world, register_on_this_thread)
    # torch's handler of fatal signals would take those that the Java VM needs.
    c10d.torch._C._set_print_stack_traces_on_fatal_signal = _without_effect


def _rendezvous(
    original: Callable[..., Any], url: str, rank: int = -1, size: int = -1, **options: Any
) -> Any:
    """As torch's: yields a store, the rank and the number of ranks.

    The ranks of one job meet in a store of this process, which outlives every group.
    """
    state = own_state()
    mine = rank if rank >= 0 else int(os.environ.get("RANK", -1))
    ranks = size if size >= 0 else int(os.environ.get("WORLD_SIZE", -1))
    whole = mine >= 0 and ranks == int(os.environ.get("LOCAL_WORLD_SIZE", -1))
    if state is None or url != "env://" or not whole:
        yield from original(url, rank, size, **options)
        return
    from torch._C._distributed_c10d import HashStore, PrefixStore

    number = state["inits"] = state.get("inits", 0) + 1
    yield PrefixStore(f"init {number}", state["job"].setdefault("store", HashStore())), mine, ranks


def _without_effect(_: bool) -> None:
    """Stands for a function of torch that sets signal handlers."""
