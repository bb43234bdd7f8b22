"""Records show themselves in a few lines, whatever they hold."""

import re

import numpy as np
import pandas as pd

from skcal.metrics import Mixture, MultivariateNormal, SmoothECECurve
from skcal.recalibration._fitted import FITTED
from tests.public_objects import is_record, list_functions_and_classes

RECORDS = {path: obj for path, obj in list_functions_and_classes().items() if is_record(obj)}
HOLD_ARRAYS = [
    path
    for path, record in RECORDS.items()
    if re.search("ndarray|ArrayLike|list", str(record.__annotations__))
]


def test_long_arrays_are_shown_by_their_shape():
    fitted = [record for record in FITTED if "ndarray" in str(record.__annotations__)]
    assert len(fitted) > 3
    for record in (*(RECORDS[path] for path in HOLD_ARRAYS), *fitted):
        fields = record._fields
        text = repr(record(*[np.linspace(0, 1, 900)] * len(fields)))
        shown = ", ".join(f"{name}=<ndarray of shape (900,)>" for name in fields)
        assert text == f"{record.__name__}({shown})"


def test_numbers_are_shown_by_name():
    for path, record in RECORDS.items():
        fields = record._fields
        shown = ", ".join(f"{name}={number}" for number, name in enumerate(fields))
        assert repr(record(*range(len(fields)))) == f"{record.__name__}({shown})", path


def test_short_values_tables_and_what_lists_hold():
    curve = SmoothECECurve(np.array([0.5]), (), [0.25, None], (), 0.1, (0.2,))
    assert repr(curve) == (
        "SmoothECECurve(grid=array([0.5]), prob_pred=(), prob_true=[0.25, None], density=(), "
        "bandwidth=0.1, value=(0.2,))"
    )
    components = [MultivariateNormal(np.zeros(99), pd.DataFrame(np.zeros((5, 3))))]
    assert repr(Mixture(list(range(11)), components)) == (
        "Mixture(weights=<list of 11>, components=[MultivariateNormal(mean=<ndarray of shape "
        "(99,)>, cov=<DataFrame of shape (5, 3)>)])"
    )
