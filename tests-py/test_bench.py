"""python -m jccl.bench: its columns, its figures' bookkeeping, its check."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy
import pytest
from harness import Rank, run_ranks
from jccl.bench import float8
from jccl.bench.__main__ import bytes_of, main, sizes
from jccl.bench.operations import (
    MEASURED,
    REDUCTIONS,
    TYPES,
    decoded,
    encoded,
    reduced,
    sample,
)
from jccl.core import NcclDataType

LIMIT_S = 900
KINDS = ("half", "double", "int32", "int64", "uint8")


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jccl.bench", *options],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def rank_of_bench(_: Rank, options: list[str]) -> str:
    """What a rank prints; it runs as one that jccl.run has started."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        sys.argv = ["jccl.bench", *options]
        assert main() == 0, output.getvalue()
    return output.getvalue()


def printed(*options: str) -> str:
    """What two ranks print, whose processes serve several measurements."""
    first, second = run_ranks(rank_of_bench, 2, list(options))
    assert second == ""
    return str(first)


@pytest.mark.parametrize(
    ("operation", "kind"), list(zip(MEASURED, itertools.cycle(KINDS), strict=False))
)
def test_each_operation_prints_nccl_tests_columns(operation: str, kind: str) -> None:
    options = ["-b", "64", "-e", "4K", "-f", "8", "-t", kind, "--iters", "5", "--warmup", "5"]
    output = printed(operation, *options)
    rows = [line.split() for line in output.splitlines() if not line.startswith("#")]
    assert [len(row) for row in rows] == [13] * 3
    assert [int(row[0]) for row in rows] == [64, 512, 4096]
    assert {row[2] for row in rows} == {kind}
    place = slice(5, 9) if operation == "sendrecv" else slice(5, 13)
    assert all(float(figure) >= 0 for row in rows for figure in row[place])
    assert "# wrong elements: 0" in output
    for name in ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong"):
        assert name in output


@pytest.mark.parametrize(
    ("kind", "op"),
    [
        ("bfloat16", "avg"),
        ("f8e4m3", "avg"),
        ("f8e5m2", "avg"),
        ("int8", "prod"),
        ("half", "prod"),
        ("uint64", "mulsum"),
        ("f8e5m2", "mulsum"),
    ],
)
def test_a_reduction_is_measured_without_wrong_elements(kind: str, op: str) -> None:
    options = ["-b", "4K", "-e", "4K", "-t", kind, "-o", op, "--iters", "3"]
    output = printed("all_reduce", *options)
    assert f" {kind} " in output
    assert f" {op} " in output
    assert "# wrong elements: 0" in output


@pytest.mark.parametrize(("name", "largest"), [("float8_e4m3fn", 448.0), ("float8_e5m2", 57344.0)])
def test_the_benchmark_rounds_to_eight_bits_as_ml_dtypes_does(name: str, largest: float) -> None:
    dtype, stored = NcclDataType(name), numpy.arange(256, dtype="uint8")
    theirs = stored.view(getattr(ml_dtypes, name)).astype("float32")
    finite = numpy.isfinite(theirs)
    assert (float8.decoded(stored[finite], dtype) == theirs[finite]).all()
    numbers = numpy.sort(theirs[finite])
    middles = (numbers[1:] + numbers[:-1]) / 2
    for values in (numbers, middles, numpy.nextafter(middles, 0), 0.9 * numbers, 1.02 * numbers):
        values = values.astype("float32").clip(-largest, largest)
        theirs = values.astype(getattr(ml_dtypes, name)).view("uint8")
        assert (float8.encoded(values, dtype) == theirs).all()
    assert float8.encoded(numpy.array([9e9, -numpy.inf], "float32"), dtype).tolist() == [
        stored[finite & (stored < 128)].max(),
        stored[finite].max(),
    ]


def test_a_report_is_written_as_json(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = bench(
        "all_gather", "-b", "1K", "-e", "1K", "-n", "3", "--iters", "4", "--warmup", "2",
        "--untouched", "--transport", "net", "--json", str(report),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    content = json.loads(report.read_text(encoding="utf-8"))
    assert (content["nranks"], content["touched"], content["transport"]) == (3, False, "net")
    (row,) = content["rows"]
    assert (row["size"], row["count"]) == (1020, 85)
    assert row["in_place"]["median_us"] > 0
    assert row["out_of_place"]["wrong"] == 0


def test_wrong_options_are_explained() -> None:
    for options, sentence in (
        (["all_reduce", "-b", "many"], "'many' is not a size"),
        (["all_reduce", "-t", "text"], "one of"),
        (["broadcast", "-r", "5"], "there are 2 ranks"),
        (["all_reduce", "--hosts", "3"], "it must be 1 to 2"),
        (["all_reduce", "-n", "0"], "there must be a rank"),
        (["all_reduce", "-b", "8", "-e", "4"], "less than 8 of -b"),
    ):
        done = bench(*options)
        assert done.returncode == 2
        assert sentence in done.stderr


def test_sizes_go_from_the_first_to_the_last() -> None:
    assert list(sizes(bytes_of("8"), bytes_of("1K"), 4)) == [8, 32, 128, 512]
    assert list(sizes(0, 100, 2)) == [0]
    assert bytes_of("64M") == 64 << 20
    assert bytes_of("2kb") == 2048


@pytest.mark.parametrize("name", TYPES)
def test_sums_and_products_of_samples_are_exact_in_every_type(name: str) -> None:
    dtype, prod = TYPES[name], REDUCTIONS["prod"]
    factors = [decoded(sample(rank, 100, dtype, prod), dtype) for rank in range(6)]
    product = numpy.asarray(decoded(encoded(reduced(factors, prod), dtype), dtype), "float64")
    exact = numpy.prod([numpy.asarray(one, "float64") for one in factors], axis=0)
    assert product.tolist() == exact.tolist()
    inputs = [decoded(sample(rank, 100, dtype), dtype) for rank in range(8)]
    exact = sum(numpy.asarray(one, "float64") for one in inputs)
    found = decoded(encoded(reduced(inputs, REDUCTIONS["sum"]), dtype), dtype)
    assert numpy.asarray(found, "float64").tolist() == numpy.asarray(exact).tolist()
