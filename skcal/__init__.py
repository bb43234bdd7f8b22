"""Probability calibration for scikit-learn: measure it, see it, repair it, select by it."""

import importlib

__version__ = "0.1.0.dev0"

__all__ = [
    "datasets",
    "diagrams",
    "inference",
    "metrics",
    "model_selection",
    "recalibration",
    "report",
    "scorers",
    "streaming",
]


def __getattr__(name):
    # Rooms are imported on first use, so that `import skcal` costs next to nothing.
    if name in __all__:
        return importlib.import_module(f"skcal.{name}")
    raise AttributeError(f"module 'skcal' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__])
