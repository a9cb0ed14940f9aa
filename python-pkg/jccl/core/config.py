"""The configuration of a communicator, and its form in C."""

from __future__ import annotations

import array
import math
import struct
from dataclasses import dataclass, fields

from jccl.core.types import CTAPolicy, NcclInvalid

CONFIG_BYTES = 136
_MAGIC = 0xCAFEBEEF
_VERSION = 23203
_JCCL_MAGIC = 0x4746436C63636A
_UNDEF_INT = -(2**31)

# Fields of ncclConfig_t in C order; "p" is a char pointer, "i" an int. What follows them makes it a
# jcclConfig_t.
_LAYOUT = (
    ("blocking", "i"),
    ("cga_cluster_size", "i"),
    ("min_ctas", "i"),
    ("max_ctas", "i"),
    ("net_name", "p"),
    ("split_share", "i"),
    ("traffic_class", "i"),
    ("comm_name", "p"),
    ("collnet_enable", "i"),
    ("cta_policy", "i"),
    ("shrink_share", "i"),
    ("nvls_ctas", "i"),
    ("n_channels_per_net_peer", "i"),
    ("nvlink_centric_sched", "i"),
    ("graph_usage_mode", "i"),
    ("num_rma_ctx", "i"),
    ("max_p2p_peers", "i"),
    ("graph_stream_ordering", "i"),
    ("launch_order_implicit", "i"),
    ("num_rma_sig", "i"),
    ("rma_eager_init", "i"),
    ("host_cft_mode", "i"),
    ("nvls_host_mode", "i"),
)
_TEXTS = ("net_name", "comm_name", "device")
_FORMAT = "@NII" + "".join("N" if kind == "p" else kind for _, kind in _LAYOUT) + "4xQN"


@dataclass(kw_only=True)
class NCCLConfig:
    """The fields of ``ncclConfig_t`` under nccl4py's names; None leaves the library's default.

    ``blocking``, ``comm_name``, ``device`` and ``timeout`` have an effect. ``net_name``,
    ``traffic_class`` and ``nvls_host_mode`` are ignored; the others, for programs written for
    GPUs, are only checked. ``split_share`` is accepted, but children share nothing.

    Attributes:
        device: JCCL's own field: what the buffers belong to, ``"host"``, ``"cuda"`` (the GPU that
            the thread uses) or ``"cuda:1"``. None is what ``JCCL_DEVICE`` says, and in a split the
            parent's.
        timeout: JCCL's own field: the time limit of an operation in seconds, 0 for none. None
            keeps the value of ``JCCL_TIMEOUT``.
    """

    blocking: bool | None = None
    cga_cluster_size: int | None = None
    min_ctas: int | None = None
    max_ctas: int | None = None
    net_name: str | None = None
    split_share: bool | None = None
    traffic_class: int | None = None
    comm_name: str | None = None
    collnet_enable: bool | None = None
    cta_policy: CTAPolicy | int | None = None
    shrink_share: bool | None = None
    nvls_ctas: int | None = None
    n_channels_per_net_peer: int | None = None
    nvlink_centric_sched: bool | None = None
    graph_usage_mode: int | None = None
    num_rma_ctx: int | None = None
    max_p2p_peers: int | None = None
    graph_stream_ordering: bool | None = None
    launch_order_implicit: bool | None = None
    num_rma_sig: int | None = None
    rma_eager_init: bool | None = None
    host_cft_mode: int | None = None
    nvls_host_mode: int | None = None
    device: str | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raises NcclInvalid if a field has a value that it cannot have."""
        seconds = self.timeout
        if seconds is not None and not isinstance(seconds, (int, float)):
            raise NcclInvalid(f"timeout is {seconds!r}: it must be a number")
        if seconds is not None and not 0 <= seconds < math.inf:
            raise NcclInvalid(f"timeout is {self.timeout}: it must be seconds, or 0 for none")
        for field in fields(self):
            value = getattr(self, field.name)
            text = field.name in _TEXTS
            if value is None or field.name == "timeout":
                continue
            if not isinstance(value, str if text else int):
                kind = "a string" if text else "an int"
                raise NcclInvalid(f"{field.name} is {value!r}: it must be {kind}")
            if text and "\0" in str(value):
                raise NcclInvalid(f"{field.name} contains a zero byte")
            if text and not _is_unicode(str(value)):
                raise NcclInvalid(f"{field.name} is {value!r}: it must be Unicode text")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class CConfig:
    """A ``jcclConfig_t`` in memory, with the strings it points to."""

    __slots__ = ("_keep", "_struct")

    def __init__(self, config: NCCLConfig) -> None:
        config.check()
        self._keep: list[array.array[int]] = []
        values = [CONFIG_BYTES, _MAGIC, _VERSION]
        for name, kind in _LAYOUT:
            value = getattr(config, name)
            if kind == "p":
                values.append(self._text(value))
            else:
                values.append(_UNDEF_INT if value is None else int(value))
        values += [_JCCL_MAGIC, self._text(config.device)]
        try:
            content = struct.pack(_FORMAT, *values)
        except struct.error as e:
            raise NcclInvalid(f"a number of the configuration does not fit an int: {e}") from None
        self._struct = array.array("B", content)

    def _text(self, value: str | None) -> int:
        if value is None:
            return 0
        content = array.array("B", value.encode() + b"\0")
        self._keep.append(content)
        return content.buffer_info()[0]

    @property
    def ptr(self) -> int:
        """Address of the struct, valid as long as this object lives."""
        return self._struct.buffer_info()[0]
