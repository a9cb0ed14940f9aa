"""The 8-bit floats in numpy, which has no types for them: arrays of uint8 hold them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy

from jccl.core.types import NcclDataType

Array = numpy.ndarray[Any, numpy.dtype[Any]]

#: By type: bits of the fraction, bias of the exponent, code of the largest number.
_FORMATS = {NcclDataType.FLOAT8E4M3: (3, 7, 0x7E), NcclDataType.FLOAT8E5M2: (2, 15, 0x7B)}

TYPES = tuple(_FORMATS)


@cache
def _numbers(dtype: NcclDataType) -> Array:
    """The finite numbers from zero up, indexed by their codes."""
    bits, bias, largest = _FORMATS[dtype]
    codes = numpy.arange(largest + 1)
    exponents, fractions = codes >> bits, codes % (1 << bits)
    significands = fractions + numpy.where(exponents > 0, 1 << bits, 0)
    numbers: Array = numpy.ldexp(significands, numpy.maximum(exponents, 1) - bias - bits)
    return numbers.astype("float32")


def decoded(stored: Array, dtype: NcclDataType) -> Array:
    """Stored elements, all of them finite, as float32."""
    magnitudes = _numbers(dtype)[stored & 0x7F]
    values: Array = numpy.where(stored & 0x80, -magnitudes, magnitudes)
    return values


def encoded(values: Array, dtype: NcclDataType) -> Array:
    """Numbers as stored elements: rounded to the nearest, ties to even, too large ones capped."""
    numbers = _numbers(dtype)
    middles = (numbers[:-1] + numbers[1:]) / 2
    magnitudes = numpy.abs(numpy.asarray(values, "float32"))
    codes = numpy.searchsorted(middles, magnitudes)
    above = numpy.searchsorted(middles, magnitudes, side="right")
    codes = numpy.where(codes % 2 == 1, above, codes)
    stored: Array = codes | numpy.where(numpy.signbit(values), 0x80, 0)
    return stored.astype("uint8")
