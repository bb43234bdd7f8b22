"""What holds for all tests, and for all examples in the package and in the documentation."""

import gc
import sys
from importlib.util import find_spec

import pytest

# Its example needs them; part "libraries" of .ci/run has both.
collect_ignore = (
    [] if find_spec("skl2onnx") and find_spec("onnxruntime") else ["skcal/export/_onnx.py"]
)
# They draw when they are imported, for the documentation.
collect_ignore_glob = ["doc/api/pictures/*.py"]


def pytest_sessionstart():
    gc.disable()


def pytest_collection_finish():
    """What imports have made stays; it takes seconds to look for garbage there."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def close_figures():
    """Close what a test or an example has drawn: matplotlib warns of many open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
