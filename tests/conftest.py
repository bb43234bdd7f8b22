"""Fixtures shared by all rooms."""

import os
from pathlib import Path

import pytest
import sklearn
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

# Calls of each function in tests/fuzz: `pytest --hypothesis-profile=thorough tests/fuzz`. The last
# profile makes more than 10^5 in all, and others each time.
for profile, n_calls in (("quick", 6), ("thorough", 100), ("exhaustive", 1200)):
    settings.register_profile(
        profile,
        max_examples=n_calls,
        derandomize=profile != "exhaustive",
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
settings.load_profile("quick")


if "PYTEST_XDIST_WORKER" in os.environ:
    # The processes use all cores, and threads would wait for each other.
    threadpool_limits(1)


def pytest_make_parametrize_id(val):
    """Names by which a test can be called again: pytest finds none with a backslash."""
    return val.replace("\\", "") if isinstance(val, str) and "\\" in val else None


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real predictions beside the repository; it is not part of the package."""
    for parent in Path(__file__).resolve().parents:
        folder = parent / "shared" / "data"
        if folder.is_dir():
            return folder
    pytest.skip("the real predictions (shared/data beside the checkout) are not on this machine")


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def dispatch(monkeypatch):
    """array_api_dispatch is on.

    scikit-learn refuses to dispatch unless SCIPY_ARRAY_API is 1. SciPy reads that once, when it is
    imported, but skcal hands NumPy arrays alone to SciPy, so that it can be set here.
    """
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    try:
        context = sklearn.config_context(array_api_dispatch=True)
        context.__enter__()
    except ImportError as error:  # of array_api_compat, or of SciPy 1.14, in scikit-learn 1.6
        pytest.skip(f"scikit-learn cannot dispatch here: {error}")
    yield
    context.__exit__(None, None, None)
