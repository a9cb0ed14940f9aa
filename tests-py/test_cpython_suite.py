"""CPython's own tests with a live communicator in the process and without."""

from __future__ import annotations

import importlib.util

import cpython_suite
import pytest

AFTERWARDS = "the communicators afterwards"


def _compared(
    monkeypatch: pytest.MonkeyPatch, without: list[str], with_it: list[str]
) -> tuple[list[str], bool]:
    """Compares a test that ends in these ways; the differences, and whether JCCL is to blame."""
    ends = {False: list(without), True: list(with_it)}

    def run(name: str, live: bool) -> dict[str, str]:
        assert name == "test_x"
        words = ends[live]
        word = words.pop(0) if len(words) > 1 else words[0]
        own = {AFTERWARDS: "ok"} if live else {}
        return {"another": "ok"} | own | ({} if word == "absent" else {"one": word})

    monkeypatch.setattr(cpython_suite, "run", run)
    _row, lines, guilty = cpython_suite.compare("test_x", again=2)
    return lines, guilty


@pytest.mark.parametrize("word", ["ok", "failed", "skipped"])
def test_what_ends_alike_is_no_difference(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    assert _compared(monkeypatch, [word], [word]) == ([], False)


@pytest.mark.parametrize(
    ("without", "with_it"),
    [
        ("ok", "failed"),
        ("ok", "skipped"),
        ("ok", "absent"),
        ("skipped", "ok"),
        ("absent", "ok"),
        ("skipped", "failed"),
        ("absent", "failed"),
    ],
)
def test_a_lasting_difference_is_jccls(
    monkeypatch: pytest.MonkeyPatch, without: str, with_it: str
) -> None:
    lines, guilty = _compared(monkeypatch, [without], [with_it])
    assert guilty
    assert lines == [
        f"test_x: one: without {without}, {without}, {without};"
        f" with {with_it}, {with_it}, {with_it} <-- with JCCL alone"
    ]


def test_what_fails_twice_more_than_without_is_jccls(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _compared(monkeypatch, ["ok"], ["failed", "failed", "ok"])[1]
    assert _compared(monkeypatch, ["ok"], ["failed", "ok", "failed"])[1]


def test_a_difference_that_is_explained_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cpython_suite.EXPLAINED, "one", "it counts threads")
    lines, guilty = _compared(monkeypatch, ["ok"], ["skipped"])
    assert not guilty
    assert lines[0].endswith(" it counts threads")
    assert _compared(monkeypatch, ["ok"], ["failed"])[1], "a failure cannot be explained"


@pytest.mark.parametrize(
    ("without", "with_it"),
    [
        (["ok"], ["failed", "ok"]),
        (["ok", "failed", "ok"], ["failed", "failed", "ok"]),
        (["ok"], ["skipped", "ok"]),
        (["failed", "ok"], ["ok"]),
        (["failed"], ["ok"]),
    ],
)
def test_what_passes_again_in_the_whole_module_is_the_machines(
    monkeypatch: pytest.MonkeyPatch, without: list[str], with_it: list[str]
) -> None:
    lines, guilty = _compared(monkeypatch, without, with_it)
    assert len(lines) == 1
    assert not guilty


def test_a_process_or_communicators_that_end_once_are_jccls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = {"one": "ok", AFTERWARDS: "ok"}
    for bad in (
        {**good, "the process": "failed: -11"},
        {"one": "failed", AFTERWARDS: "failed: a wrong sum"},
    ):
        live = [bad, good]
        monkeypatch.setattr(
            cpython_suite,
            "run",
            lambda _, with_it, live=live: live.pop(0) if with_it and live else good,
        )
        _row, lines, guilty = cpython_suite.compare("test_x", again=1)
        assert guilty, lines


@pytest.mark.stress
@pytest.mark.parametrize("name", cpython_suite.TESTS)
def test_cpythons_tests_do_not_notice_the_guest(name: str) -> None:
    if importlib.util.find_spec("test.support") is None:
        pytest.skip("this Python has no package 'test' (Debian: libpython3-testsuite)")
    row, differences, guilty = cpython_suite.compare(name, again=3)
    print(row, *differences, sep="\n")
    assert not guilty, "\n".join(differences)
    # If a module could not be loaded, none of its tests has run.
    assert "failed: " not in row
    assert int(row.split("|")[2].split("/")[0]) > 20, row
