"""The right results of collectives, computed by numpy alone and compared bit for bit.

Every element is folded in rank order, or the ranks of each node and then the nodes. Floats of 8 and
16 bits are accumulated in float32 and rounded once a fold, to the nearest with ties to even; those
of 8 bits saturate. Averages divide the folded sum: floats by true division in the type of the sum,
integers (whose sum wraps around) toward zero. Max and min: NaN wins, -0 is less than +0. A single
input is its own result. bfloat16 lies in uint16 arrays, 8-bit floats in uint8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy

Array = numpy.ndarray[Any, numpy.dtype[Any]]


@dataclass(frozen=True)
class Kind:
    """A data type.

    Attributes:
        name: as in NcclDataType.
        number: of ncclDataType_t.
        stored: the numpy type that holds it.
        sums: the numpy type in which it is folded.
    """

    name: str
    number: int
    stored: str
    sums: str


KINDS = {
    kind.name: kind
    for kind in (
        Kind("FLOAT32", 7, "float32", "float32"),
        Kind("FLOAT64", 8, "float64", "float64"),
        Kind("FLOAT16", 6, "float16", "float32"),
        Kind("BFLOAT16", 9, "uint16", "float32"),
        Kind("INT32", 2, "int32", "int32"),
        Kind("INT64", 4, "int64", "int64"),
        Kind("UINT8", 1, "uint8", "uint8"),
        Kind("INT8", 0, "int8", "int8"),
        Kind("UINT32", 3, "uint32", "uint32"),
        Kind("UINT64", 5, "uint64", "uint64"),
        Kind("FLOAT8E4M3", 10, "uint8", "float32"),
        Kind("FLOAT8E5M2", 11, "uint8", "float32"),
    )
}
FLOAT8 = {"FLOAT8E4M3": ml_dtypes.float8_e4m3fn, "FLOAT8E5M2": ml_dtypes.float8_e5m2}
LARGEST = {"FLOAT8E4M3": 448.0, "FLOAT8E5M2": 57344.0}
OPS = {"SUM": 0, "MAX": 2, "MIN": 3, "AVG": 4, "PROD": 1}


def widened(stored: Array, kind: Kind) -> Array:
    """Stored elements in the type of the fold."""
    if kind.name == "BFLOAT16":
        bits: Array = stored.astype("uint32") << 16
        values: Array = bits.view("float32")
        return values
    if kind.name in FLOAT8:
        stored = stored.view(FLOAT8[kind.name])
    return stored.astype(kind.sums)


def rounded(values: Array, kind: Kind) -> Array:
    """Folded values as stored elements."""
    if kind.name in FLOAT8:
        narrow = FLOAT8[kind.name]
        largest = numpy.float32(LARGEST[kind.name])
        codes: Array = numpy.clip(values, -largest, largest).astype(narrow).view("uint8")
        return codes
    if kind.name != "BFLOAT16":
        with numpy.errstate(over="ignore"):
            return values.astype(kind.stored)
    bits: Array = numpy.ascontiguousarray(values).view("uint32")
    nearest: Array = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet: Array = numpy.where(numpy.isnan(values), 0x7FC0, nearest)
    return quiet.astype("uint16")


#: Larger inputs are folded node by node.
BY_NODE_BYTES = 16384

#: So are all those of an all-reduce where so many ranks are on other nodes than the smallest.
RELAYED_MESSAGES = 4


def fold_on(
    nodes: list[int], inputs: list[Array], kind: Kind, op: str, *, to_all: bool = True
) -> Array:
    """The reduction among ranks of these nodes, which are numbered by their first ranks.

    to_all: whether it is an all-reduce
    """
    several = 1 < len(set(nodes)) < len(nodes)
    far = len(nodes) - min(nodes.count(node) for node in set(nodes))
    by_node = inputs[0].nbytes > BY_NODE_BYTES or (to_all and far >= RELAYED_MESSAGES)
    if (
        not several
        or not by_node
        or (kind.name == "FLOAT16" and op in ("AVG", "PROD"))
        or (kind.name in FLOAT8 and op in ("SUM", "AVG", "PROD"))
    ):
        return fold(inputs, kind, op)
    part = "SUM" if op == "AVG" else op
    sums = [
        fold([one for one, of in zip(inputs, nodes, strict=True) if of == node], kind, part)
        for node in range(max(nodes) + 1)
    ]
    folded = fold(sums, kind, part)
    if op != "AVG":
        return folded
    with numpy.errstate(all="ignore"):
        return rounded(_divided(widened(folded, kind), len(inputs)), kind)


def fold(inputs: list[Array], kind: Kind, op: str) -> Array:
    """The reduction of stored inputs, as stored elements."""
    if len(inputs) == 1:
        return inputs[0].copy()
    result = widened(inputs[0], kind)
    with numpy.errstate(all="ignore"):
        for stored in inputs[1:]:
            other = widened(stored, kind)
            if op in ("SUM", "AVG"):
                result = result + other
            elif op == "PROD":
                result = result * other
            else:
                result = _extreme(result, other, op)
        if op == "AVG":
            result = _divided(result, len(inputs))
    return rounded(result, kind)


def _extreme(a: Array, b: Array, op: str) -> Array:
    first = a > b if op == "MAX" else a < b
    chosen: Array = numpy.where(first, a, b)
    result: Array
    if a.dtype.kind == "f":
        # Equal values differ at most in the sign of zero.
        positive, negative = numpy.where(numpy.signbit(a), (b, a), (a, b))
        chosen = numpy.where(a == b, positive if op == "MAX" else negative, chosen)
        chosen = numpy.where(numpy.isnan(a) | numpy.isnan(b), numpy.float32("nan"), chosen)
    result = chosen.astype(a.dtype)
    return result


def _divided(total: Array, ranks: int) -> Array:
    divisor = total.dtype.type(ranks)
    quotient: Array
    if total.dtype.kind == "f":
        quotient = total / divisor
    else:
        floor: Array = total // divisor
        back_to_zero: Array = (floor * divisor != total) & (total < 0)
        quotient = floor + back_to_zero.astype(total.dtype)
    return quotient


_PERIOD = 8191


def samples(count: int, kind: Kind, seed: list[int]) -> Array:
    """Random elements with everything that is special in the type; long ones repeat."""
    return numpy.resize(_samples(min(count, _PERIOD), kind, seed), count)


def _samples(count: int, kind: Kind, seed: list[int]) -> Array:
    random = numpy.random.default_rng(seed)
    stored = numpy.dtype(kind.stored)
    if kind.sums.startswith("float"):
        values = random.standard_normal(count) * 10.0 ** random.integers(-3, 4, count)
        special = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-40, -1e-40, 6e-8, 65504.0]
        where = random.random(count) < 0.05
        values[where] = random.choice(special, int(where.sum()))
        with numpy.errstate(over="ignore"):
            result = rounded(values.astype(kind.sums), kind)
        if kind.name in FLOAT8:
            # Nothing rounds to an infinity.
            where = random.random(count) < 0.05
            result[where] = random.integers(0, 256, int(where.sum()))
        return result
    limits = numpy.iinfo(stored)
    return random.integers(limits.min, limits.max, count, stored, endpoint=True)


def differing(left: Array, right: Array, kind: Kind) -> int:
    """Number of elements that are not the same bits; any NaN equals any NaN."""
    assert left.shape == right.shape
    assert left.dtype == right.dtype
    same = left.view(f"uint{8 * left.itemsize}") == right.view(f"uint{8 * right.itemsize}")
    if kind.sums.startswith("float"):
        same |= numpy.isnan(widened(left, kind)) & numpy.isnan(widened(right, kind))
    return int(numpy.count_nonzero(~same))
