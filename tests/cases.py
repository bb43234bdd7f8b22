"""Cases of tests that are left to the slow suite, because lighter cases show the same."""

import pytest


def slow_among(cases, *heavy):
    """The cases, values or tuples of them, of which the heavy ones are slow."""
    assert set(heavy) <= set(cases)
    return [_mark(case) if case in heavy else case for case in cases]


def _mark(case):
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
