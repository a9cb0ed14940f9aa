"""A world of torch.distributed for each rank, where the ranks share an interpreter, as in Jep."""

from __future__ import annotations

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

    def __init__(self, world: Any) -> None:
        vars(self)["_of_no_rank"] = world

    def _here(self) -> Any:
        state = own_state()
        if state is None:
            return vars(self)["_of_no_rank"]
        if "world" not in state:
            state["world"] = _empty(vars(self)["_of_no_rank"])
        return state["world"]

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
    # Groups of different ranks have the same names.
    c10d.torch._C._distributed_c10d._set_thread_isolation_mode(True)
    computed = {name: vars(c10d._World)[name] for name in _COMPUTED}
    c10d._world = type("Worlds", (Worlds,), computed)(c10d._world)
