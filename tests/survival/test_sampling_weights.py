"""Sampling weights of censored rows: those of repeated rows, and of case-cohort designs."""

import numpy as np
import pytest

from skcal.diagrams import SurvivalReliabilityDisplay
from skcal.survival import at_horizon, pseudo_values, survival_calibration

# Of rows that were drawn without a thought of how many are left.
pytestmark = pytest.mark.filterwarnings("ignore:Up to .*, each row that is left")

TIMES = [0.5, 1.0]
LINES = "observed", "ratio", "calibration_in_the_large", "slope"


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw_kinds(rng, n=40):
    """Censored rows and two kinds of events with ties, whole weights, and none for the last."""
    kinds, time = rng.integers(0, 3, n), rng.integers(1, 9, n).astype(float)
    kinds[:3], time[:3] = [0, 1, 2], 9
    weights = rng.integers(0, 4, n)
    weights[:3] = 1
    kinds[-2:], time[-2:], weights[-2:] = [0, 1], 10, 0
    return kinds, time, weights


def draw_times(rng, n=300):
    """Events, times and right risks at `TIMES`."""
    rate = np.exp(rng.normal(-0.5, 0.8, n))
    time, end = rng.exponential(1 / rate), rng.exponential(2, n)
    return time <= end, np.minimum(time, end), -np.expm1(-rate[:, None] * TIMES)


@pytest.mark.parametrize("strata", [False, True])
def test_weights_are_repeated_rows(rng, strata):
    for _ in range(10):
        kinds, time, weights = draw_kinds(rng)
        rows = np.repeat(np.arange(40), weights)
        options = {"horizon": [0.5, 2, 4.5, 9], "cause": 1}
        more = {"strata": np.arange(40) // 20} if strata else {}
        if strata:
            kinds[20:22], time[20:22], weights[20:22] = [1, 0], 9, 1
            rows = np.repeat(np.arange(40), weights)
        again = {name: values[rows] for name, values in more.items()}
        found = pseudo_values(kinds, time, sample_weight=weights, **options, **more)
        repeated = pseudo_values(kinds[rows], time[rows], **options, **again)
        np.testing.assert_allclose(found[rows], repeated, atol=1e-12)
        assert np.isfinite(found).all()
        scaled = pseudo_values(kinds, time, sample_weight=1e-3 * weights, **options, **more)
        np.testing.assert_allclose(scaled, found, atol=1e-12)
        options["horizon"] = 4.5
        y, found = at_horizon(kinds, time, sample_weight=weights, **options, **more)
        target, repeated = at_horizon(kinds[rows], time[rows], **options, **again)
        np.testing.assert_array_equal(y[rows], target)
        np.testing.assert_allclose(found[rows], (weights[rows] * repeated), rtol=1e-12)
        assert not found[weights == 0].any()


def test_weighted_means_are_the_weighted_estimate(rng):
    kinds, time, weights = draw_kinds(rng)
    weights = weights * rng.random(40)
    options = {"cause": 1, "horizon": 5, "sample_weight": weights}
    values, (y, found) = pseudo_values(kinds, time, **options), at_horizon(kinds, time, **options)
    risk = np.average(values, weights=weights)
    assert np.average(y, weights=found) == pytest.approx(risk, abs=1e-12)
    assert found.sum() == pytest.approx(weights.sum())


def list_numbers(found):
    return [
        [one.expected, *(end for name in LINES for end in getattr(one, name))]
        for one in found.horizons
    ] + [[*found.ratio_over_time]]


def test_calibration_of_weighted_rows_is_that_of_clusters_of_copies(rng):
    """All of it that does not depend on draws: estimates, intervals, and expected risks."""
    event, time, risk = draw_times(rng, 100)
    weights = rng.integers(1, 4, 100)
    rows = np.repeat(np.arange(100), weights)
    options = {"times": TIMES, "n_resamples": 19, "random_state": 0}
    found = survival_calibration(event, time, risk, sample_weight=weights, **options)
    copies = survival_calibration(event[rows], time[rows], risk[rows], clusters=rows, **options)
    for one, other in zip(list_numbers(found), list_numbers(copies), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    for one, other in zip(found.horizons, copies.horizons, strict=True):
        assert one.smooth_ece.estimate == pytest.approx(other.smooth_ece.estimate, rel=1e-9)
    # A scale means nothing, and neither do equal weights.
    scaled = survival_calibration(event, time, risk, sample_weight=7.0 * weights, **options)
    np.testing.assert_allclose(scaled.to_frame(), found.to_frame(), rtol=1e-9)
    equal = survival_calibration(event, time, risk, sample_weight=np.full(100, 0.5), **options)
    plain = survival_calibration(event, time, risk, **options)
    np.testing.assert_allclose(equal.to_frame(), plain.to_frame(), rtol=1e-9)


def test_rows_of_weight_0_do_not_count(rng):
    """With strata and clusters, and where only they are followed for long."""
    event, time, risk = draw_times(rng)
    kept = rng.random(300) < 0.7
    event[~kept], time[~kept] = False, 100
    risk[~kept] = 0.0
    parts = {"strata": np.where(kept, np.arange(300) % 2, 2), "clusters": np.arange(300) // 3}
    weights = np.where(kept, rng.random(300), 0)
    options = {"times": TIMES, "n_resamples": 19, "random_state": 0}
    found = survival_calibration(event, time, risk, sample_weight=weights, **options, **parts)
    rest = survival_calibration(
        event[kept],
        time[kept],
        risk[kept],
        sample_weight=weights[kept],
        **options,
        **{name: values[kept] for name, values in parts.items()},
    )
    np.testing.assert_array_equal(found.to_frame(), rest.to_frame())


def draw_case_cohort(rng, n=8000, share=0.1):
    """A cohort with 6 % events, which of it are sampled, and their weights."""
    rate = 0.01 * np.exp(rng.normal(size=n))
    time, end = rng.exponential(1 / rate), np.minimum(rng.exponential(8, n), 6)
    event, seen = time <= end, np.minimum(time, end)
    kept = event | (rng.random(n) < share)
    cohort = event, seen, -np.expm1(-5 * rate)
    return cohort, [values[kept] for values in cohort], np.where(event, 1, 1 / share)[kept]


def find_error(interval):
    return (interval.high - interval.low) / (2 * 1.96)


def test_case_cohort_has_the_values_of_the_cohort(rng):
    """All cases and a tenth of the others; five standard errors, by chance in 6 of 10^7 runs."""
    cohort, sample, weights = draw_case_cohort(rng)
    options = {"times": [5.0], "n_resamples": 2, "random_state": 0}
    (whole,) = survival_calibration(*cohort, **options).horizons
    (found,) = survival_calibration(*sample, sample_weight=weights, **options).horizons
    for name in LINES:
        one, other = getattr(found, name), getattr(whole, name)
        assert abs(one.estimate - other.estimate) < 5 * find_error(one)
        # Nearly all that tells of events is in the sample.
        assert find_error(other) < find_error(one) < 2 * find_error(other)
    (wrong,) = survival_calibration(*sample, **options).horizons
    assert wrong.ratio.low > 2
    # Outcomes of 0 and 1 are weighted, too.
    y, products = at_horizon(*sample[:2], horizon=5, sample_weight=weights)
    assert np.average(y, weights=products) == pytest.approx(found.observed.estimate, rel=1e-9)


def test_case_cohort_of_wrong_risks(rng):
    """They are half as large as they should be, and found so."""
    _, (event, seen, risk), weights = draw_case_cohort(rng, 4000)
    found = survival_calibration(
        event, seen, risk / 2, times=[5.0], sample_weight=weights, random_state=0
    ).horizons[0]
    assert found.ratio.low < 2 < found.ratio.high
    assert found.ratio.low > 1.4
    assert found.pvalue < 0.01


def test_unequal_weights_without_an_event(rng):
    """What none of the rows tells of those that they stand for is not known."""
    time, risk, weights = np.full(40, 3.0), np.full((40, 1), 0.2), 1.0 + np.arange(40) % 2
    options = {"times": [1.0], "n_resamples": 99, "random_state": 0}
    found = survival_calibration(np.zeros(40), time, risk, sample_weight=weights, **options)
    one = found.horizons[0]
    # Kish's number of rows, 60^2 / 100 = 36, none of which has the event.
    assert one.pvalue == pytest.approx(2 * 0.8**36)
    assert one.observed == (0, 0, 1)
    assert one.ratio == (0, 0, np.inf)


def test_display_of_weighted_rows(rng):
    event, time, risk = draw_times(rng, 100)
    weights = rng.random(100)
    options = {"times": TIMES, "sample_weight": weights}
    found = survival_calibration(event, time, risk, n_resamples=2, **options)
    display = SurvivalReliabilityDisplay.from_predictions(event, time, risk, **options)
    for one, curve in zip(found.horizons, display.curves, strict=True):
        assert curve.ratio == one.ratio
        assert curve.observed == one.observed
        assert curve.expected == one.expected
    display = SurvivalReliabilityDisplay.from_predictions(
        event, time, risk, horizons=[1.0], **options
    )
    np.testing.assert_allclose(display.expected_curve[1], np.average(risk, 0, weights))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"sample_weight must have shape \(3,\)"),
        ([1, -2, 1], "sample_weight must be finite and not negative; got -2 at row 1"),
        ([0, 0, 0], "sample_weight must hold at least one positive weight"),
        ([1, 1, 0], "not be later than the last time, 2, when rows were censored; got 2.5"),
    ],
)
def test_weights_that_are_refused(weights, message):
    rows = [1, 0, 1], [1, 2, 3]
    for function in (at_horizon, pseudo_values):
        with pytest.raises(ValueError, match=message):
            function(*rows, horizon=2.5, sample_weight=weights)
    with pytest.raises(ValueError, match=message):
        survival_calibration(*rows, [0.1, 0.2, 0.3], times=2.5, sample_weight=weights)
