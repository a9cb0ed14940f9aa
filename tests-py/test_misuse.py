"""Every wrong call of misuse.txt, from C and Python, on one thread and on another; Java's are in
MisuseTest."""

from __future__ import annotations

import functools

import cprogram
import misuse
import pytest
from harness import run_ranks
from misuse import Row

ROWS = list(misuse.rows())
CODES = {"0": "ok", "4": "ARGUMENT", "5": "USAGE"}


def of(language: str) -> pytest.MarkDecorator:
    rows = [row for row in ROWS if language in row.answers]
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.case.replace(" ", "-"))


def check(row: Row, language: str, answers: list[tuple[str, str]]) -> None:
    assert len(answers) == 2
    for answer, sentence in answers:
        assert answer == row.answers[language], sentence
        for part in row.parts if answer != "ok" else ():
            assert any(words in sentence for words in part.split("/")), sentence


@functools.cache
def answers_of_c(*cases: str) -> dict[str, list[tuple[str, str]]]:
    """What one process says that makes the wrong calls of these cases."""
    printed = cprogram.run("misuse.c", *cases).splitlines()
    lines = [line for line in printed if " WARN " not in line]
    answers = [(CODES.get(lines[i], lines[i]), lines[i + 1]) for i in range(0, len(lines), 2)]
    return {case: answers[2 * i : 2 * i + 2] for i, case in enumerate(cases)}


@of("C")
def test_a_wrong_call_of_c(row: Row) -> None:
    together = [r.case for r in ROWS if "C" in r.answers and r.case not in misuse.ALONE]
    cases = [row.case] if row.case in misuse.ALONE else together
    check(row, "C", answers_of_c(*cases)[row.case])


@of("Python")
def test_a_wrong_call_of_python(row: Row) -> None:
    (answers,) = run_ranks(misuse.answers, 1, row.case, fresh=row.case in misuse.ALONE)
    check(row, "Python", answers)


def test_the_table_is_complete() -> None:
    assert {row.case for row in ROWS if "Python" in row.answers} == set(misuse.CASES)
    text = (cprogram.SOURCES / "misuse.c").read_text(encoding="utf-8")
    missing = [r.case for r in ROWS if "C" in r.answers and f'{{"{r.case}",' not in text]
    assert not missing
