"""What people hand in: rows that no function may misread, over every public function.

test_compatibility.py lists the calls, and test_containers.py tests what the entrances read.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.naive_bayes import GaussianNB

from skcal.model_selection import AbstainingClassifierCV
from skcal.recalibration import (
    AutoRecalibration,
    CrossFitProba,
    MulticalibratedClassifierCV,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.shift import PriorShift
from tests.test_compatibility import CALLS, check_refused

# Displays hand rows to classifiers, which NumPy reads for them.
OWN = [name for name in CALLS if not name.endswith((".from_estimator", ".from_cv_results"))]


def mask_first(array):
    mask = np.zeros(array.shape, dtype=bool)
    mask[0] = True
    return np.ma.array(array, mask=mask)


def list_masked_rows(array):
    return list(mask_first(array)) if array.ndim > 1 else mask_first(array)


@pytest.mark.parametrize("name", OWN)
def test_masked_arrays_are_refused(name):
    for convert in (mask_first, list_masked_rows):
        check_refused(name, convert, ValueError, "must not be masked")


# What reads labels and has a column of probabilities for each; of summaries labels are named.
LABELLED = [
    name
    for name, (_, arrays) in CALLS.items()
    if {"y_true", "y_proba"} <= arrays.keys() and "Summary" not in name and "Monitor" not in name
]
LABELLED = [name for name in LABELLED if name not in ("summarize_batches", "monitor_batches")]
PROBABILITIES = {"y_proba", "other", "y_proba_new", "y_proba_check", "test_proba", "baseline"}
OF_LABELLED = [
    (name, argument)
    for name, (_, arrays) in CALLS.items()
    for argument in arrays
    if argument in PROBABILITIES & arrays.keys() and "y_true" in arrays
]
SCORES = ("BaseRecalibrator.", "VennAbers.", "PriorShift.", "AutoRecalibration.")
OF_SCORES = [(name, "X") for name in CALLS if name.startswith(SCORES) and "X" in CALLS[name][1]]


@pytest.mark.filterwarnings("ignore:X has feature names, but")
@pytest.mark.parametrize(("name", "argument"), OF_LABELLED + OF_SCORES)
def test_columns_that_have_labels_in_their_names(name, argument):
    """In another order they are refused, in that of the labels they are silent."""
    call, arrays = CALLS[name]
    array = arrays[argument]
    names = [f".pred_{label}" for label in range(array.shape[1])]
    turned = pd.DataFrame(array[:, ::-1], columns=names[::-1])
    with pytest.raises(ValueError, match=r"The columns of .* named after the labels"):
        call(**arrays | {argument: turned})
    call(**arrays | {argument: pd.DataFrame(array, columns=names)})


@pytest.mark.parametrize("name", LABELLED)
def test_categories_in_another_order(name):
    """The two orders that columns without names may have are offered."""
    call, arrays = CALLS[name]
    labels = pd.Categorical(arrays["y_true"], categories=[2, 1, 0], ordered=True)
    with pytest.raises(ValueError, match=r"labels=model.classes_, here \[0, 1, 2\]; .*\[2, 1, 0\]"):
        call(**arrays | {"y_true": labels})


# Integers that floats do not tell apart, in what has integers of its own, and booleans.
HUGE = 10**17 + np.array([1, 2, 3])
CODES = np.resize([0, 1, 2, 0, 2, 1, 1], 70)
PROBA = np.random.default_rng(0).dirichlet([1, 1, 1], 70)
EXACT = {
    "nullable": lambda y: pd.Series(y).convert_dtypes(),
    "array": lambda y: pd.Series(y).convert_dtypes().array,
    "frame": lambda y: pd.DataFrame({"y": y}).convert_dtypes(),
    "arrow-in-pandas": lambda y: pd.Series(y).convert_dtypes(dtype_backend="pyarrow"),
    "category": lambda y: pd.Series(y, dtype="category"),
    "polars": lambda y: pl.Series(y),
    "arrow": lambda y: pa.array(y),
    "objects": lambda y: y.astype(object),
    "list": lambda y: y.tolist(),
}
FITTED = {
    "temperature": TemperatureScaling,
    "shift": PriorShift,
    "choice": lambda: AutoRecalibration(["temperature", "platt"]),
    "cross-fit": lambda: CrossFitProba(GaussianNB(), cv=2),
    "wrapper": lambda: RecalibratedClassifierCV(GaussianNB(), cv=2),
    "groups": lambda: MulticalibratedClassifierCV(GaussianNB(), cv=2),
    "abstaining": lambda: AbstainingClassifierCV(GaussianNB(), at_most=0.9, random_state=0),
}


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("make", FITTED.values(), ids=FITTED)
@pytest.mark.parametrize("contain", EXACT.values(), ids=EXACT)
def test_labels_stay_integers(make, contain):
    found = make().fit(PROBA, contain(HUGE[CODES]))
    assert found.classes_.dtype == np.int64
    np.testing.assert_array_equal(found.classes_, HUGE)
    flags = make().fit(PROBA[:, :2] / PROBA[:, :2].sum(axis=1)[:, None], contain(CODES > 0))
    assert flags.classes_.dtype == bool
