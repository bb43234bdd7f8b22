"""Cases of tests that are left to the slow suite, because lighter cases show the same."""

import pytest


def slow_among(cases, *heavy):
    """The cases, of which the heavy ones are slow."""
    assert set(heavy) <= set(cases)
    return [pytest.param(case, marks=pytest.mark.slow) if case in heavy else case for case in cases]
