"""Probability calibration for scikit-learn: measure it, see it, repair it, select by it.

What it offers lies in modules, which are imported on first use:

metrics
    Calibration measures: y_true and y_proba in, a float out.
scorers, model_selection
    Every measure as a scorer for ``scoring=``; models chosen by calibration, or validated without
    a test set.
recalibration
    Recalibrators, from class scores to calibrated probabilities, and classifiers with one inside.
refinement
    What recalibration leaves of a proper score, and what it gains.
regression
    Predicted means, quantiles, ensembles and distributions: measures, tests and repairs.
diagrams
    Displays in the manner of scikit-learn, such as the reliability diagram.
inference
    Tests, intervals and bands: is an error more than chance?
report
    One object that tells the whole story of a model's calibration.
streaming
    Small summaries of streams and of files larger than memory, which can be merged.
monitoring
    Monitors of streams, with alarms that are valid however often one looks.
shift
    Another population: changed base rates, known or found in rows without labels.
survival
    Times until an event: risks of censored rows, at one horizon and over time.
export
    Recalibrators and recalibrated classifiers as graphs of ONNX, for programs without Python.
datasets
    Synthetic problems whose true calibration error is known.

``help(skcal.metrics)`` tells more of a module, and so does ``help`` of all that it holds.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # names that editors complete and type checkers follow
    from skcal import (
        datasets,
        diagrams,
        export,
        inference,
        metrics,
        model_selection,
        monitoring,
        recalibration,
        refinement,
        regression,
        report,
        scorers,
        shift,
        streaming,
        survival,
    )

__version__ = "0.1.0"

__all__ = [
    "datasets",
    "diagrams",
    "export",
    "inference",
    "metrics",
    "model_selection",
    "monitoring",
    "recalibration",
    "refinement",
    "regression",
    "report",
    "scorers",
    "shift",
    "streaming",
    "survival",
]


if not TYPE_CHECKING:

    def __getattr__(name):
        # Rooms are imported on first use, so that `import skcal` costs next to nothing.
        if name in __all__:
            return importlib.import_module(f"skcal.{name}")
        hint, rooms = "", []
        if not name.startswith("_"):  # tools look for private names of all kinds
            rooms = [f"skcal.{room}" for room in __all__ if name in __getattr__(room).__all__]
        if rooms:
            hint = f"; it is in {' and '.join(rooms)}: from {rooms[0]} import {name}"
        raise AttributeError(f"module 'skcal' has no attribute {name!r}{hint}")


def __dir__():
    return list(__all__)
