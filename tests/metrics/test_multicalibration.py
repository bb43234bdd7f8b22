"""The largest error over groups, by its definition and by published cases."""

import numpy as np
import pytest

from skcal.inference import audit_groups, cumulative_calibration_test, make_groups
from skcal.metrics import cumulative_calibration_error, multicalibration_error

SCALES = ("probability", "noise", "share")


@pytest.mark.parametrize("weighted", [False, True])
def test_definition(weighted):
    rng = np.random.default_rng(0)
    v = rng.random(400).round(2)
    y, inside = rng.random(400) < v, rng.random((400, 6)) < 0.4
    weights = rng.exponential(size=400) if weighted else None

    def describe(rows):
        own = None if weights is None else weights[rows]
        test = cumulative_calibration_test(y[rows], v[rows], sample_weight=own)
        return test.estimate, test.statistic

    errors, noises = np.array([describe(rows) for rows in inside.T]).T
    error, noise = describe(slice(None))
    ones = np.ones(400) if weights is None else weights
    expected = {
        "noise": noises.max(),
        "probability": noises.max() * error / noise,
        "share": (errors * (ones @ inside) / ones.sum()).max(),
    }
    for scale in SCALES:
        found = multicalibration_error(y, v, inside, scale=scale, sample_weight=weights)
        assert found == pytest.approx(expected[scale], rel=1e-12)


def test_one_group_of_all_rows():
    """In the tests of MCGrad 0.1.5 (Meta) it is the ECCE of these rows."""
    y, v = [0, 1, 0, 1], [0.1, 0.8, 0.3, 0.7]
    expected = cumulative_calibration_error(y, v)
    for scale in ("probability", "share"):
        assert multicalibration_error(y, v, ["a"] * 4, scale=scale) == pytest.approx(expected)


def test_certain_rows():
    """Right ones have no error (a test of MCGrad 0.1.5); wrong ones have no noise."""
    groups = ["a", "a", "b", "b"]
    for scale in SCALES:
        assert multicalibration_error([0, 1, 0, 1], [0.0, 1, 0, 1], groups, scale=scale) == 0
    for scale, expected in zip(SCALES, (np.inf, np.inf, 0.25), strict=True):
        found = multicalibration_error([0, 1, 0, 0], [0.0, 1, 0, 1], groups, scale=scale)
        assert found == expected


def test_groups_of_a_table_and_of_an_audit():
    rng = np.random.default_rng(1)
    v, table = rng.random(900), {"x": rng.normal(size=900), "z": rng.integers(3, size=900)}
    y, options = rng.random(900) < v, {"min_samples": 50, "n_bins": 3}
    groups = make_groups(table, **options)
    found = multicalibration_error(y, v, table, scale="noise", **options)
    assert found == multicalibration_error(y, v, groups, scale="noise")
    audit = audit_groups(y, v, groups, statistic="kuiper", n_resamples=9, random_state=0)
    # Cells of the audit miss some of the extremes.
    assert audit.statistics.max() <= found < audit.statistics.max() + 0.7
    for k, rows in enumerate(groups.list_rows()):
        assert rows.sum() == groups.n_samples[k]


def test_scale_is_refused():
    with pytest.raises(ValueError, match="scale must be one of 'probability', 'noise', 'share'"):
        multicalibration_error([0, 1], [0.5, 0.5], [0, 1], scale="logit")


@pytest.mark.parametrize("weight", [1e-20, 1e-160, 1e-300])
def test_light_rows_beside_one_that_is_certain(weight):
    """The error of the group is that of the light rows, in units of their own noise."""
    y, v, w = [1, 1, 0, 1], [1.0, 0.5, 0.5, 0.75], [1.0, weight, weight, weight]
    found = multicalibration_error(y, v, ["a"] * 4, sample_weight=w, scale="noise")
    assert found == pytest.approx(0.25 / np.sqrt(2 * 0.25 + 0.75 * 0.25), rel=1e-12)
