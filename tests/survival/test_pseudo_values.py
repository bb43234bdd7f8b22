"""Pseudo-values of censored rows: derivatives of the Aalen-Johansen estimate in weights of rows."""

import numpy as np
import pandas as pd
import pytest

from skcal.inference import mean_calibration_test
from skcal.survival import aj_calibration, at_horizon, pseudo_values

# Of rows that were drawn without a thought of how many are left.
pytestmark = pytest.mark.filterwarnings("ignore:Up to .*, each row that is left")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def find_risk(kinds, time, kind, horizon, weights):
    """Aalen-Johansen estimate of weighted rows, by its definition, one time after the other."""
    risk, free = 0.0, 1.0
    for t in np.unique(time[time <= horizon]):
        at_risk, now = weights[time >= t].sum(), time == t
        risk += free * weights[now & np.isin(kinds, kind)].sum() / at_risk
        free *= 1 - weights[now & (kinds > 0)].sum() / at_risk
    return risk


def differentiate(kinds, time, kind, horizon, step=1e-20):
    """F + n dF/dw_i by a complex step, which is exact up to rounding."""
    n = len(time)
    weights = np.ones((n, n)) + 1j * step * np.eye(n)
    risks = np.array([find_risk(kinds, time, kind, horizon, row) for row in weights])
    return risks.real + n * risks.imag / step


def draw_kinds(rng, n=30):
    """Censored rows and two kinds of events, all with ties."""
    kinds, time = rng.integers(0, 3, n), rng.integers(1, 8, n).astype(float)
    kinds[:3], time[3] = [0, 1, 2], 9
    return kinds, time


def test_derivatives_of_the_weighted_estimate(rng):
    """With ties of events of both kinds and of censored rows, also at the horizon."""
    for _ in range(10):
        kinds, time = draw_kinds(rng)
        horizons = [0.5, 1, 3.5, 4, 7, 9]
        for kind in (1, 2):
            found = pseudo_values(kinds, time, horizon=horizons, cause=kind)
            expected = [differentiate(kinds, time, kind, h) for h in horizons]
            np.testing.assert_allclose(found, np.transpose(expected), atol=1e-12)
        found = pseudo_values(kinds > 0, time, horizon=horizons)
        expected = [differentiate(kinds, time, (1, 2), h) for h in horizons]
        np.testing.assert_allclose(found, np.transpose(expected), atol=1e-12)


def test_the_estimate_falls_to_0_where_all_that_are_left_have_an_event(rng):
    """The last rows tie, with events only, or with some that are censored then."""
    for last in ([1, 2, 1], [1, 0, 2]):
        kinds, time = draw_kinds(rng)
        kinds[-3:], time[-3:], time[3] = last, 10, 10
        kinds[3] = last[1]
        for kind in (1, 2):
            found = pseudo_values(kinds, time, horizon=10, cause=kind)
            np.testing.assert_allclose(found, differentiate(kinds, time, kind, 10), atol=1e-12)


def test_means_are_the_curves_of_kaplan_meier_and_aalen_johansen(rng):
    for _ in range(20):
        kinds, time = draw_kinds(rng)
        for kind in (1, 2):
            rows = {"event": kinds, "time": time, "cause": kind}
            curves = aj_calibration(**rows, risk=np.zeros((30, 2)), times=[2, 6]).observed
            found = pseudo_values(**rows, horizon=[2, 6])
            np.testing.assert_allclose(found.mean(axis=0), curves, atol=1e-12)
            y, weights = at_horizon(**rows, horizon=6)
            assert found[:, 1].mean() == pytest.approx(np.average(y, weights=weights), abs=1e-12)


def test_close_to_the_jackknife(rng):
    """n F - (n - 1) F_{-i}, of Andersen, Klein and Rosthøj (2003), up to terms of order 1 / n."""
    gaps = []
    for n in (50, 400):
        time, end = rng.exponential(size=(2, n))
        event, seen = (time <= end).astype(int), np.minimum(time, end)
        found = pseudo_values(event, seen, horizon=0.7)
        one = 1.0 - np.eye(n)
        left_out = [find_risk(event, seen, 1, 0.7, row) for row in one]
        whole = find_risk(event, seen, 1, 0.7, np.ones(n))
        gaps.append(np.abs(n * whole - (n - 1) * np.array(left_out) - found).max())
    assert gaps[0] < 5 / 50
    assert gaps[1] < 5 / 400


def test_outcomes_without_censoring(rng):
    time, kinds = rng.exponential(size=60), rng.integers(1, 3, 60)
    for horizon in (0.7, time.max(), time.max() + 1):
        y = pseudo_values(kinds, time, horizon=horizon, cause=2, censored=0)
        np.testing.assert_allclose(y, (time <= horizon) & (kinds == 2), atol=1e-9)
    # Nor does what comes after the horizon matter; who is censored there is known.
    seen = np.minimum(time, 1)
    y = pseudo_values(time < 1, seen, horizon=[0.5, 1])
    np.testing.assert_allclose(y, time[:, None] <= [0.5, 1], atol=1e-12)


def test_kinds_sum_to_any_event(rng):
    kinds, time = draw_kinds(rng)
    parts = [pseudo_values(kinds, time, horizon=[2, 5], cause=k) for k in (1, 2)]
    whole = pseudo_values(kinds > 0, time, horizon=[2, 5])
    np.testing.assert_allclose(sum(parts), whole, atol=1e-12)


def test_strata_are_each_by_itself(rng):
    kinds, time = draw_kinds(rng, 80)
    site = rng.choice(["a", "b"], 80)
    time[:2], site[:2] = 9, ["a", "b"]
    found = pseudo_values(kinds, time, horizon=5, strata=site, cause=1)
    for name in "ab":
        rows = site == name
        alone = pseudo_values(kinds[rows], time[rows], horizon=5, cause=1)
        np.testing.assert_array_equal(found[rows], alone)


def test_neither_order_nor_unit_nor_container_matter(rng):
    kinds, time = draw_kinds(rng)
    found = pseudo_values(kinds, time, horizon=4, cause=1)
    order = rng.permutation(30)
    shuffled = pseudo_values(kinds[order], time[order], horizon=4, cause=1)
    np.testing.assert_allclose(shuffled, found[order], atol=1e-12)
    days = pseudo_values(kinds, 365 * time, horizon=365 * 4, cause=1)
    np.testing.assert_allclose(days, found, atol=1e-12)
    table = pd.DataFrame({"kind": kinds, "time": time}, index=order)
    np.testing.assert_array_equal(
        pseudo_values(table.kind, table.time, horizon=4, cause=1), found, strict=True
    )
    several = pseudo_values(kinds, time, horizon=[2, 4], cause=1)
    np.testing.assert_array_equal(several[:, 1], found)


def test_before_the_first_and_after_the_last_event():
    event, time = [1, 0, 1, 0], [2.0, 3, 4, 6]
    found = pseudo_values(event, time, horizon=[1, 4, 5, 6])
    np.testing.assert_array_equal(found[:, 0], 0)
    np.testing.assert_array_equal(found[:, 2:], found[:, [1, 1]])
    # A time of 0 is before all horizons.
    np.testing.assert_allclose(pseudo_values([1, 1], [0, 2], horizon=[1, 3]), [[1, 1], [0, 1]])


def test_a_single_row():
    np.testing.assert_array_equal(pseudo_values([1], [2], horizon=[1, 2, 3]), [[0, 1, 1]])
    np.testing.assert_array_equal(pseudo_values([0], [2], horizon=2), [0])


# Influences of rows of the survival package of R on the Kaplan-Meier curve, by hand: `inf1` of
# tests/residsf.R (therneau/survival). Rows are sorted by time, columns are the times 1, 6 and 9.
TIME, STATUS = [1, 1, 6, 6, 8, 9], [1, 0, 1, 1, 0, 1]
INFLUENCE = np.transpose([[-20, 4, 4, 4, 4, 4], [-10, 2, -13, -13, 17, 17], [0] * 6]) / 144


def test_influences_of_r():
    found = pseudo_values(STATUS, TIME, horizon=[1, 6, 9])
    np.testing.assert_allclose(1 - found, [5 / 6, 5 / 12, 0] + 6 * INFLUENCE, atol=1e-12)


def test_squared_influences_sum_to_the_variance_of_greenwood(rng):
    """S^2 sum d / (Y (Y - d)): censored rows count with as little as they tell."""
    time, end = rng.exponential(size=(2, 200))
    event, seen = time <= end, np.minimum(time, end)
    y = pseudo_values(event, seen, horizon=0.7)
    at_risk = np.array([np.sum(seen >= t) for t in seen[event & (seen <= 0.7)]])
    variance = (1 - y.mean()) ** 2 * np.sum(1 / (at_risk * (at_risk - 1.0)))
    assert np.sum((y - y.mean()) ** 2) / 200**2 == pytest.approx(variance)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": [1, -2, 3]}, "time must be finite and not negative; got -2.0 at row 1"),
        ({"event": [0, 2, 1]}, "event must hold 0 and 1, or booleans; got 2 at row 1. Kinds"),
        ({"event": [0, 1]}, r"event must have the shape of time, \(3,\); got shape \(2,\)"),
        ({"horizon": 0}, "horizon must be above 0; got 0"),
        ({"horizon": "1"}, "horizon must hold real numbers; got a str"),
        ({"horizon": [2, 1]}, r"horizon must be positive and increasing; got \[2.0, 1.0\]"),
        ({"horizon": [0, 1]}, "horizon must be positive and increasing"),
        ({"horizon": []}, "horizon must be one-dimensional and not empty"),
        ({"horizon": [[1, 2]]}, "horizon must be one-dimensional and not empty"),
        (
            {"event": [1, 1, 0], "horizon": [1, 4]},
            "horizon must not be later than the last time, 3, when rows were censored; got 4",
        ),
        ({"strata": ["a", "b"]}, "strata must hold a label for each of the 3 rows; got 2"),
        (
            {"strata": ["a", "b", "b"], "horizon": 2},
            "horizon must not be later than the last time of stratum 'a', 1, when rows were",
        ),
        ({"cause": 1, "censored": 1}, "cause must be another kind than censored, 1; got 1"),
        ({"censored": 1}, "censored needs cause, the kind of the event; got 1 alone"),
    ],
)
def test_what_is_refused(change, message):
    arguments = {"event": [0, 1, 1], "time": [1, 2, 3], "horizon": 1} | change
    with pytest.raises(ValueError, match=message):
        pseudo_values(**arguments)


def test_a_kind_that_does_not_occur():
    with pytest.warns(UserWarning, match="No event is of the kind cause=3"):
        found = pseudo_values([0, 1, 2], [3, 1, 2], horizon=3, cause=3)
    np.testing.assert_array_equal(found, 0)


# Rates of censoring, and shares of rows that are lost before the horizon.
@pytest.mark.slow
@pytest.mark.parametrize(("rate", "share"), [(0.15, 0.2), (0.5, 0.5), (1.2, 0.75)])
def test_level_of_a_test_of_means(rate, share):
    """Of 300 rows whose predicted risks are right."""
    rng, n, n_samples = np.random.default_rng(0), 300, 500
    rejected, lost = 0, 0.0
    for _ in range(n_samples):
        hazard = rng.uniform(0.1, 0.5, n)
        time, end = rng.exponential(1 / hazard), rng.exponential(1 / rate, n)
        end[0] = 3  # one row is followed up to the horizon
        event, seen = time <= end, np.minimum(time, end)
        lost += np.mean(~event & (seen < 2)) / n_samples
        y = pseudo_values(event, seen, horizon=2)
        risk = 1 - np.exp(-2 * hazard)
        rejected += mean_calibration_test(y, risk, n_resamples=199, random_state=0).pvalue <= 0.05
    assert abs(lost - share) < 0.05
    assert rejected / n_samples <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_samples)
