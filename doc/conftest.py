"""Which pages are followed, and which of them are slow."""

import pytest

# What is built here, copies of the examples among it, and what needs the gallery's package;
# test_other_libraries.py runs its page.
collect_ignore = [
    "_build",
    "auto_examples",
    "gallery_order.py",
    "gallery_pictures.py",
    "page_plot.py",
    "user_guide/other_libraries.rst",
]


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    """A page that runs scikit-learn's suite of checks is as slow as the tests that do."""
    for item in items:
        if item.path.name == "estimator_checks.rst":
            item.add_marker(pytest.mark.slow)
