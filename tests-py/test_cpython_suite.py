"""CPython's own tests with a live communicator in the process and without."""

from __future__ import annotations

import importlib.util

import cpython_suite
import pytest


@pytest.mark.stress
@pytest.mark.parametrize("name", cpython_suite.TESTS)
def test_cpythons_tests_do_not_notice_the_guest(name: str) -> None:
    if importlib.util.find_spec("test.support") is None:
        pytest.skip("this Python has no package 'test' (Debian: libpython3-testsuite)")
    row, differences, guilty = cpython_suite.compare(name, again=3)
    print(row, *differences, sep="\n")
    assert not guilty, "\n".join(differences)
    # None of them has run if a module could not be loaded.
    assert "failed: " not in row
    assert int(row.split("|")[2].split("/")[0]) > 20, row
