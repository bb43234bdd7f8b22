"""What rounding alone puts outside of [0, 1] is clipped to it, by every reader of such numbers."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from skcal._input._reduction import check_class_vectors, check_predictions
from skcal.inference import isotonic_band
from skcal.metrics import BregmanDivergence, elementary_score_curve
from skcal.monitoring import CalibrationMonitor
from skcal.recalibration import PlattScaling
from skcal.regression import Mixture, probability_integral_transform
from skcal.streaming import CalibrationSummary
from skcal.survival import aj_calibration, d_calibration

Y = np.array([1, 0, 1, 0])
INSIDE = np.array([1.0, 0.0, 0.5, 0.25])


def put_outside(values, steps, dtype=np.float64):
    """Zeros and ones so many steps of the type outside of [0, 1]."""
    reach = steps * np.finfo(dtype).eps
    moved = np.where(values == 1, 1 + reach, np.where(values == 0, -reach, values))
    return moved.astype(dtype)


def summarize(rule, v):
    summary = CalibrationSummary(n_cells=16, on_invalid=rule).update(Y, v)
    assert sum(summary.dropped_.values()) == 0
    return summary.to_frame().to_numpy()


def monitor(v):
    return CalibrationMonitor().update(Y, v).to_dict()


def spread(v):
    return np.stack([1 - v, v], axis=1)


# What a reader of numbers in [0, 1] makes of them.
READERS = {
    "y_proba": lambda v: check_predictions(Y, v).proba,
    "two columns": lambda v: check_predictions(Y, spread(v)).proba,
    "soft labels": lambda v: check_predictions(v, INSIDE).target,
    "soft vectors": lambda v: check_class_vectors(spread(v), spread(INSIDE)).target,
    "summary": partial(summarize, "raise"),
    "summary that drops": partial(summarize, "drop"),
    "positive label of a summary": lambda v: (
        CalibrationSummary(n_cells=16, pos_label=1).update(v, INSIDE).to_frame().to_numpy()
    ),
    "monitor": monitor,
    "recalibrator": lambda v: PlattScaling().fit(spread(v), Y).predict_proba(spread(v)),
    "places in a band": lambda v: isotonic_band(Y, INSIDE).evaluate(v),
    "divergence": lambda v: BregmanDivergence(np.square, lambda u: 2 * u)(v, INSIDE),
    "thresholds": lambda v: elementary_score_curve(Y, INSIDE, thresholds=np.sort(v))[:2],
    "survival": lambda v: d_calibration([1, 1, 0, 0], v),
    "survival before": lambda v: d_calibration([1] * 4, np.minimum(v, 0.1), survival_before=v),
    "risk": lambda v: aj_calibration(
        Y, [1, 2, 3, 4], spread(np.sort(v))[:, ::-1], times=[1, 3], random_state=0
    ),
    "weights of a mixture": lambda v: Mixture(spread(v), [norm(), norm(1.0)]).cdf(INSIDE),
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("read", READERS.values(), ids=list(READERS))
def test_rounding_is_clipped_and_the_argument_stays(read, dtype):
    given = put_outside(INSIDE, 1, dtype)
    kept = given.copy()
    np.testing.assert_equal(read(given), read(INSIDE.astype(dtype)))
    np.testing.assert_array_equal(given, kept)


def test_a_cdf_is_clipped():
    targets = np.array([0.0, 1.0, 0.5])
    law = SimpleNamespace(cdf=lambda y: put_outside(y, 1))
    np.testing.assert_array_equal(probability_integral_transform(targets, law), targets)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_few_steps_are_clipped_and_more_are_refused_with_the_reason(dtype):
    checked = check_predictions(Y, put_outside(INSIDE, 4, dtype)).proba
    np.testing.assert_array_equal(checked, INSIDE)
    assert checked.dtype == dtype
    name = np.dtype(dtype).name
    with pytest.raises(ValueError, match=f"at row 0. 2 of .* The rounding of {name}, .*clip.y_pro"):
        check_predictions(Y, put_outside(INSIDE, 17, dtype))
    if dtype is not np.float64:  # that of float32, which recalibrators allow in float64 as well
        return
    with pytest.raises(ValueError, match=r"got 1.5 at row 0.$"):
        check_predictions([1], [1.5])


def test_rounding_beside_an_invalid_row():
    summary = CalibrationSummary(n_cells=16, on_invalid="drop")
    summary.update([1, 0, 1], [1 + 2**-52, 1.5, np.nan])
    assert summary.dropped_["y_proba"] == 2
    assert summary.n_samples_ == 1
