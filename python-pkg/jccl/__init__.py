"""JCCL: NCCL's API, implemented in Java, for Python.

``jccl.core`` has the communicators (nccl4py's names), ``jccl.torch`` the backend of
``torch.distributed``. Importing this package loads neither, starts no JVM and imports no numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jccl import core as core
    from jccl._version import show_versions as show_versions

    __version__: str

__all__ = ["__version__", "core", "show_versions"]


def __getattr__(name: str) -> Any:
    if name == "core":
        return importlib.import_module("jccl.core")
    if name == "__version__":
        from jccl._version import package_version

        globals()[name] = package_version()
        return globals()[name]
    if name == "show_versions":
        from jccl._version import show_versions

        return show_versions
    raise AttributeError(f"module 'jccl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
