"""What holds for all tests, and for all examples in the package and in the documentation."""

import sys

import pytest


@pytest.fixture(autouse=True)
def close_figures():
    """Close what a test or an example has drawn: matplotlib warns of many open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
