"""Fixtures for tests that draw."""

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    """Close what a test has drawn."""
    import matplotlib.pyplot as plt

    yield
    plt.close("all")
