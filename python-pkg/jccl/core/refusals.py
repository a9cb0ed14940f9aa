"""Errors about buffers that several modules raise."""

from __future__ import annotations

from jccl.core.types import NcclInvalid


def not_on_host(name: str, what: str) -> NcclInvalid:
    """The error for memory that belongs to a device."""
    return NcclInvalid(
        f"{name} is {what}; a host communicator takes host buffers: copy it to the host first"
    )


def not_on_device(name: str, what: str) -> NcclInvalid:
    """The error for memory that does not belong to a GPU."""
    return NcclInvalid(
        f"{name} is {what}; a communicator of a GPU takes buffers of that GPU: copy it there first"
    )


def strided(name: str) -> NcclInvalid:
    """The error for elements that do not lie one after the other."""
    return NcclInvalid(
        f"{name} is not contiguous in row-major order: pass a contiguous copy of this view"
    )


def read_only(name: str) -> NcclInvalid:
    """The error for a buffer that may not be written."""
    return NcclInvalid(
        f"{name} is read-only, but the operation writes into it: pass a writable buffer"
    )


def element_type(name: str, dtype: object) -> NcclInvalid:
    """The error for elements for which NCCL has no data type."""
    return NcclInvalid(
        f"{name} has elements of type {dtype}, for which NCCL has no data type: convert them"
    )


def byte_order(name: str, code: str) -> NcclInvalid:
    """The error for elements in the byte order of another kind of machine."""
    return NcclInvalid(
        f"{name} has elements of a foreign byte order ({code}): convert them to this machine's"
    )
