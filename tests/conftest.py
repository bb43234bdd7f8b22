"""Fixtures shared by all rooms."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real predictions beside the repository; it is not part of the package."""
    for parent in Path(__file__).resolve().parents:
        folder = parent / "shared" / "data"
        if folder.is_dir():
            return folder
    pytest.skip("the real predictions (shared/data beside the checkout) are not on this machine")
