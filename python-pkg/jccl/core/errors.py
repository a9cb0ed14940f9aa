"""Result codes as exceptions."""

from __future__ import annotations

from jccl._numbers import IN_PROGRESS, SUCCESS
from jccl.bindings import load
from jccl.core.types import Result


class NCCLError(RuntimeError):
    """A result code that is an error.

    Attributes:
        code: the result code (``ncclResult_t``).
        name: its name, such as ``RemoteError``.
        detail: the library's sentence: the calling thread's last error, or else the process's last
            failure or warning; possibly empty.
    """

    def __init__(self, code: int, detail: str = "") -> None:
        self.code = int(code)
        try:
            self.name = Result(code).name
        except ValueError:
            self.name = "Unknown"
        self.detail = detail
        text = f"{self.name} ({self.code}): {load().get_error_string(self.code)}"
        super().__init__(f"{text}: {detail}" if detail else text)

    def __reduce__(self) -> tuple[type[NCCLError], tuple[int, str]]:
        return NCCLError, (self.code, self.detail)


def failure(code: int) -> NCCLError | None:
    """What the calling thread's last call has failed with; None for success and in progress."""
    return None if code in (SUCCESS, IN_PROGRESS) else NCCLError(code, load().get_last_error(0))


def check(code: int) -> None:
    """Raises NCCLError unless ``code`` is success or in progress."""
    why = failure(code)
    if why is not None:
        raise why


def get_error_string(result: int) -> str:
    """The text of a result code."""
    return load().get_error_string(int(result))
