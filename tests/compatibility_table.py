"""The tables of doc/compatibility.rst, written by the tests that they report.

``pytest --compatibility=doc/compatibility/newest.csv tests/test_compatibility.py`` writes one, and
beside it the versions in use. Without the option the same tests hold the table to what they find.
"""

import platform
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parent.parent / "doc" / "compatibility"
PACKAGES = {
    "scikit-learn": "scikit-learn",
    "numpy": "NumPy",
    "scipy": "SciPy",
    "pandas": "pandas",
    "matplotlib": "Matplotlib",
    "joblib": "joblib",
    "polars": "polars",
    "pyarrow": "PyArrow",
    "array-api-compat": "array-api-compat",
    "array-api-strict": "array-api-strict",
    "torch": "PyTorch",
}

# Where a kind of array was not to be had.
NOT_RUN = "–"


def read_published():
    """Answers by function and kind of array."""
    is_oldest = metadata.version("scikit-learn").startswith("1.6.")
    path = FOLDER / ("oldest.csv" if is_oldest else "newest.csv")
    return pd.read_csv(path, index_col=0, keep_default_na=False)


def as_link(path):
    return f":obj:`~{path}`"


class CompatibilityTable:
    """Plugin of pytest that gathers what tests record, and writes it when they have all passed."""

    def __init__(self, path):
        self.path = Path(path)
        self._answers = {}

    def pytest_runtest_logreport(self, report):
        for name, value in report.user_properties if report.when == "call" else ():
            if name == "compatibility":
                function, kind, answer = value
                self._answers.setdefault(function, {})[kind] = answer

    def pytest_sessionfinish(self, exitstatus):
        if exitstatus != 0:
            return
        from tests.test_compatibility import ARRAYS, LIBRARIES  # this one is imported first

        table = pd.DataFrame(
            {
                kind: {
                    as_link(path): found.get(kind, NOT_RUN) for path, found in self._answers.items()
                }
                for kind in (*ARRAYS, *LIBRARIES)
            }
        ).sort_index()
        self.path.parent.mkdir(exist_ok=True)
        table.to_csv(self.path, index_label="function")
        versions = [f"Python {platform.python_version()}"]
        for package, name in PACKAGES.items():
            with suppress(metadata.PackageNotFoundError):
                versions.append(f"{name} {metadata.version(package)}")
        self.path.with_suffix(".txt").write_text(", ".join(versions) + "\n", encoding="utf-8")
