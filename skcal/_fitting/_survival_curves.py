"""Curves of survival models, which are functions of time, and risks at given times."""

import numpy as np

from skcal._input._validation import check_unit_range
from skcal._tools._arrays import refuse_other_libraries


def find_curves(model, X, n_rows=None):
    """A survival function of each row, or an error."""
    refuse_other_libraries("X", X)
    found = model.predict_survival_function(X)
    curves = list(found) if np.iterable(found) else [found]
    if not all(map(callable, curves)):
        raise ValueError(
            "estimator must return a function of time for each row from predict_survival_function; "
            f"got {type(found).__name__}."
        )
    if n_rows is not None and len(curves) != n_rows:
        raise ValueError(
            f"estimator must return a function of time for each of {n_rows} rows from "
            f"predict_survival_function; got {len(curves)}."
        )
    return curves


def read_risks_at(curves, times):
    """One minus what curves are at these times, or at the nearest at which they are known."""
    rows = [curve(np.clip(times, *getattr(curve, "domain", (0, np.inf)))) for curve in curves]
    survival = np.array(rows, dtype=np.float64).reshape(len(rows), len(times))
    return 1 - check_unit_range("survival curves of estimator", survival)
