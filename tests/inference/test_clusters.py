"""Rows in clusters, which depend on each other in any way."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, norm

from skcal.diagrams import ReliabilityDisplay
from skcal.inference import (
    Interval,
    TestResult,
    audit_groups,
    calibration_belt,
    calibration_belt_test,
    calibration_test,
    confidence_interval,
    cox_recalibration,
    observed_expected_ratio,
    spiegelhalter_test,
)

RANDOM = {"random_state": 0, "n_resamples": 99}


def find_band(y, v, bandwidth=0.1, **options):
    """Curve and band of a reliability diagram, but for its ends."""
    (curve,) = ReliabilityDisplay.estimate(y, v, bandwidth=bandwidth, **options).curves
    inside, band = np.abs(curve.prob_pred - 0.5) < 0.43, curve.layers["band"]
    return Interval(curve.prob_true[inside], band.low[inside], band.high[inside])


def find_belt(y, v, **options):
    """Curve and belt."""
    belt = calibration_belt(y, v, **options)
    return Interval(belt.prob_true, belt.low, belt.high)


def find_legend(y, v, **options):
    """SmoothECE and its interval in the legend of a reliability diagram."""
    options = {"interval": True, "random_state": 0, "layers": ()} | options
    (curve,) = ReliabilityDisplay.estimate(y, v, **options).curves
    return Interval(curve.smooth_ece, *curve.smooth_ece_interval)


def audit(y, v, **options):
    """Audit of overlapping groups, from groups of predictions."""
    groups = np.column_stack([v >= 0, v > 0.4, v < 0.3])
    return audit_groups(y, v, groups, **RANDOM, **options)


def audit_by_tests(y, v, **options):
    """Statistics, p-values and differences of an audit."""
    found = audit(y, v, **options)
    difference = found.mean_outcome - found.mean_prediction
    parts, order = (found.statistics, found.adjusted_pvalues, difference), np.argsort(found.names)
    return TestResult(*(part[order] for part in parts))


def audit_by_intervals(y, v, **options):
    """Intervals of an audit."""
    found = audit(y, v, statistic="kuiper", **options)
    order = np.argsort(found.names)
    return Interval(found.mean_outcome[order], found.low[order], found.high[order])


FUNCTIONS = {
    "omnibus": partial(calibration_test, **RANDOM),
    "smooth_ece": partial(calibration_test, statistic="smooth_ece", **RANDOM),
    "kernel": partial(calibration_test, statistic="kernel_calibration_error", **RANDOM),
    "square": partial(calibration_test, statistic="squared_calibration_error", **RANDOM),
    "interval": partial(confidence_interval, random_state=0),
    "percentile": partial(confidence_interval, method="percentile", **RANDOM),
    "cox": cox_recalibration,
    "ratio": observed_expected_ratio,
    "spiegelhalter": spiegelhalter_test,
    "smooth band": find_band,
    "logit band": partial(find_band, scale="logit", bandwidth=0.5),
    "bars": partial(find_band, kind="binned", n_bins=5),
    "legend": find_legend,
    "belt": find_belt,
    "belt test": calibration_belt_test,
    "mean of groups": partial(audit_by_tests, statistic="mean"),
    "slope of groups": audit_by_tests,
    "kuiper of groups": partial(audit_by_tests, statistic="kuiper"),
    "intervals of groups": audit_by_intervals,
}
every_function = pytest.mark.parametrize("find", FUNCTIONS.values(), ids=FUNCTIONS)


def list_numbers(found):
    """All numbers of an answer."""
    if isinstance(found, tuple):
        return np.concatenate([list_numbers(part) for part in found])
    return np.atleast_1d(np.nan if found is None else found).astype(float)


def draw(rng, n_clusters, n_rows=5, *, correlation=1.0, rate=None, sizes="equal"):
    """Outcomes of a calibrated model, whose latent variables are correlated in clusters."""
    counts = np.full(n_clusters, n_rows)
    if sizes == "geometric":
        counts = rng.geometric(1 / n_rows, n_clusters)
    elif sizes == "one large":
        counts[0] = max((n_clusters - 1) * n_rows // 9, 1)
    clusters = np.repeat(np.arange(n_clusters), counts)
    n = len(clusters)
    v = rng.random(n) if rate is None else norm.cdf(norm.ppf(rate) + 0.3 * rng.normal(size=n))
    shared, own = rng.normal(size=n_clusters)[clusters], rng.normal(size=n)
    latent = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    return (norm.cdf(latent) < v).astype(int), v, clusters


@every_function
def test_clusters_of_one_row_are_rows(find, rng):
    y, v, _ = draw(rng, 60, correlation=0.5)
    weights = rng.exponential(size=len(y))
    for options in ({}, {"sample_weight": weights}):
        found, rows = find(y, v, clusters=np.arange(len(y)), **options), find(y, v, **options)
        np.testing.assert_array_equal(list_numbers(found), list_numbers(rows))


@every_function
def test_clusters_of_copies_are_single_rows(find, rng):
    v = rng.random(80)
    y = (rng.random(80) < v).astype(int)
    names = np.char.zfill(np.arange(80).astype(str), 2)
    copies = [np.repeat(values, 7) for values in (y, v)]
    found, rows = find(*copies, clusters=np.repeat(names, 7)), find(y, v)
    np.testing.assert_allclose(list_numbers(found), list_numbers(rows), rtol=1e-9, atol=1e-12)
    counts = rng.integers(1, 5, 80)  # and copies of several numbers weigh as much
    copies = [np.repeat(values, counts) for values in (y, v)]
    found = find(*copies, clusters=np.repeat(names, counts))
    rows = find(y, v, sample_weight=1.0 * counts)
    np.testing.assert_allclose(list_numbers(found), list_numbers(rows), rtol=1e-9, atol=1e-12)


@every_function
def test_order_names_and_absent_rows_change_nothing(find, rng):
    y, v, clusters = draw(rng, 60, correlation=0.5)
    order, names = rng.permutation(len(y)), rng.permutation(60)
    found = find(y, v, clusters=clusters)
    other = find(y[order], v[order], clusters=np.char.add("c", names.astype(str))[clusters[order]])
    np.testing.assert_allclose(list_numbers(other), list_numbers(found), rtol=1e-9, atol=1e-12)
    rows = [np.append(y, [1, 0]), np.append(v, [0.2, 0.3])]
    weights = np.append(np.ones(len(y)), [0.0, 0.0])
    other = find(*rows, clusters=np.append(clusters, [5, 99]), sample_weight=weights)
    np.testing.assert_allclose(list_numbers(other), list_numbers(found), rtol=1e-9, atol=1e-12)


@every_function
def test_more_dependence_is_more_chance(find, rng):
    """Ten equal answers to 150 questions, which a test of rows takes for 1500 answers."""
    v, u = rng.random((150, 10)), rng.random((150, 1))
    rows = (u < v).astype(int).ravel(), v.ravel()
    clusters = np.repeat(np.arange(150), 10)
    plain, found = find(*rows), find(*rows, clusters=clusters)
    if hasattr(found, "low"):
        assert np.mean(found.high - found.low) > 1.3 * np.mean(plain.high - plain.low)
    elif hasattr(found, "slope"):
        assert found.slope.high - found.slope.low > 1.5 * (plain.slope.high - plain.slope.low)
        assert found.test.statistic < plain.test.statistic / 2
    else:
        assert found.estimate == pytest.approx(plain.estimate)
        assert np.mean(found.pvalue) >= np.mean(plain.pvalue)


@pytest.mark.parametrize("name", ["smooth_ece", "kernel"])
def test_a_null_mean_is_that_of_calibrated_clusters(name, rng):
    """As large as the error of other outcomes of the same kind is on average."""
    estimates, chance = [], []
    for _ in range(20):
        y, v, clusters = draw(rng, 200, 20)
        found = FUNCTIONS[name](y, v, clusters=clusters)
        estimates.append(found.estimate)
        chance.append(found.null_mean)
        assert found.statistic == pytest.approx(found.estimate, rel=1e-3)
    error = np.std(estimates) / np.sqrt(20)
    assert abs(np.mean(chance) - np.mean(estimates)) < 3.5 * error


def test_what_was_predicted_to_be_impossible(rng):
    y, v, clusters = draw(rng, 100, correlation=0.5)
    v[:2], y[:2] = [0.0, 1.0], [0, 1]
    assert calibration_test(y, v, clusters=clusters, **RANDOM).pvalue > 0.01
    y[0] = 1
    assert calibration_test(y, v, clusters=clusters, **RANDOM).pvalue == 0.01


def test_groups_hold_whole_clusters(rng):
    y, v, clusters = draw(rng, 200, correlation=0.5)
    group = np.where(clusters < 100, "a", "b")
    off = np.where((group == "b") & (v < 0.7), v + 0.25, v)
    found = calibration_test(y, off, clusters=clusters, groups=group, **RANDOM)
    assert (found.pvalue, found.worst_group) == (0.01, "b")
    with pytest.raises(ValueError, match="groups must hold whole clusters"):
        calibration_test(y, v, clusters=clusters, groups=np.arange(len(y)) % 2, **RANDOM)


def test_single_rows_are_tested_where_signs_do_not_hold(rng):
    """With few events, few clusters, and statistics that are no norm of residuals."""
    for options, n_clusters, rate in (
        ({}, 60, 0.02),
        ({}, 12, None),
        ({"statistic": "squared_calibration_error"}, 60, None),
        ({"reduction": "classwise"}, 60, None),
    ):
        y, v, clusters = draw(rng, n_clusters, rate=rate)
        y[:2] = 0, 1
        found = calibration_test(y, v, clusters=clusters, **options, **RANDOM)
        # The mean of twenty p-values of 99 draws has two digits more than one of them.
        assert found.pvalue == 1 or abs(found.pvalue * 1000 - round(found.pvalue * 1000)) < 1e-9
        assert 0.02 <= found.pvalue <= 1


def test_power_is_that_of_clusters(rng):
    """Predictions that are off by a wide margin are found all the same."""
    y, v, clusters = draw(rng, 300, correlation=0.5)
    for name in ("omnibus", "smooth_ece", "kernel"):
        assert FUNCTIONS[name](y, expit(3 * (v - 0.3)), clusters=clusters).pvalue == 0.01


SETTINGS = [
    (50, {"correlation": 1.0}),
    (50, {"correlation": 0.5, "sizes": "geometric"}),
    (200, {"correlation": 0.1, "sizes": "one large"}),
    (200, {"correlation": 1.0, "rate": 0.02}),
]


def cover(draw_sample, n_samples, **options):
    """How often a band holds the smoothed truth, at points with five rows or more: by sample."""
    covered = []
    for seed in range(n_samples):
        y, v, clusters = draw_sample(np.random.default_rng(seed))
        display = ReliabilityDisplay.estimate(
            y, v, clusters=clusters, labels=[0, 1], pos_label=1, **options
        )
        (curve,), band = display.curves, display.curves[0].layers["band"]
        near = np.ones(len(band.low), dtype=bool)
        if len(curve.density) == len(near):
            width = curve.bandwidth * np.sqrt(2 * np.pi)
            near = len(y) * width * curve.density >= 5
        truth = curve.prob_pred  # a calibrated model's smoothed truth is the smoothed prediction
        covered.append(((band.low <= truth) & (truth <= band.high))[near].mean())
    return np.array(covered)


BANDS = [{}, {"kind": "binned", "n_bins": 10}]


@pytest.mark.parametrize("options", BANDS, ids=["smooth", "binned"])
def test_bands_cover_at_points(options, rng):
    """Far more often than bands that take rows for independent."""
    sample = partial(draw, n_clusters=100, n_rows=20)

    def draw_alone(rng):
        y, v, _ = sample(rng)
        return y, v, None

    assert cover(sample, 15, **options).mean() > 0.9
    assert cover(draw_alone, 15, **options).mean() < 0.85


@pytest.mark.slow
@pytest.mark.parametrize("options", BANDS, ids=["smooth", "binned"])
@pytest.mark.parametrize(
    ("n_clusters", "settings"),
    [
        (50, {"correlation": 1.0}),
        (50, {"correlation": 0.5, "sizes": "geometric"}),
        (50, {"correlation": 0.3, "sizes": "one large", "n_rows": 20}),
        (200, {"correlation": 0.1, "sizes": "one large"}),
        (200, {"correlation": 1.0, "n_rows": 20}),
        (200, {"correlation": 1.0, "rate": 0.02}),
    ],
)
def test_coverage_of_bands(n_clusters, settings, options):
    """93 % at a point on average, which is known to a standard error of .005 to .013."""
    covered = cover(partial(draw, n_clusters=n_clusters, **settings), 200, **options)
    assert covered.mean() + 3 * covered.std() / np.sqrt(200) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_clusters", "settings", "statistic"),
    [
        (*SETTINGS[0], "slope"),
        (*SETTINGS[1], "kuiper"),
        (*SETTINGS[2], "slope"),
        (*SETTINGS[2], "mean"),
        (*SETTINGS[3], "mean"),
    ],
)
def test_level_of_all_groups(n_clusters, settings, statistic):
    """Groups hold clusters, or cut them."""
    found, n_samples = [], 200
    for seed in range(n_samples):
        rng = np.random.default_rng([seed, n_clusters])
        y, v, clusters = draw(rng, n_clusters, **settings)
        columns = {
            "visit": rng.choice(["first", "later"], len(y)),
            "site": rng.choice(["north", "south"], n_clusters)[clusters],
        }
        options = {"statistic": statistic, "labels": [0, 1], "pos_label": 1, "min_samples": 20}
        audit = audit_groups(y, v, columns, clusters=clusters, **options, **RANDOM)
        inside = (audit.low <= 1e-12) & (audit.high >= -1e-12)
        found.append([audit.pvalue <= 0.05, not inside.all()])
    assert (np.mean(found, axis=0) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_samples)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n_clusters", "settings"), SETTINGS)
def test_level(n_clusters, settings):
    """At 5 %; with four events of clusters to be expected, Cox's test has no law that is known."""
    found, n_samples = [], 400
    for seed in range(n_samples):
        rng = np.random.default_rng([seed, n_clusters])
        y, v, clusters = draw(rng, n_clusters, **settings)
        rows = {"clusters": clusters, "labels": [0, 1], "pos_label": 1}
        ratio = observed_expected_ratio(y, v, **rows)
        found.append(
            [
                FUNCTIONS["omnibus"](y, v, **rows).pvalue <= 0.05,
                spiegelhalter_test(y, v, **rows).pvalue <= 0.05,
                not ratio.low <= 1 <= ratio.high,
            ]
        )
        if "rate" not in settings:
            cox = cox_recalibration(y, v, **rows)
            found[-1] += [cox.test.pvalue <= 0.05, not cox.slope.low <= 1 <= cox.slope.high]
            found[-1] += [calibration_belt_test(y, v, **rows).pvalue <= 0.05]
    # Approximations for many clusters: up to 6 %, and by chance more than that.
    assert (np.sum(found, axis=0) <= binom.ppf(0.999, n_samples, 0.06)).all(), np.mean(found, 0)


@every_function
def test_bad_clusters(find):
    y, v = np.arange(40) % 2, (np.arange(40) + 0.5) / 40
    for clusters, message in (
        (np.zeros(40), "clusters must hold at least two clusters with rows; got 1"),
        (np.arange(39), "clusters must hold one label for each of the 40 rows; got 39"),
        (np.arange(40) / 7, "clusters must hold labels, such as integers or strings; got numbers"),
        (np.where(np.arange(40) < 20, np.nan, 1.0), "clusters"),
        (v[:, None] > [0.2, 0.5], "clusters must"),
    ):
        with pytest.raises(ValueError, match=message):
            find(y, v, clusters=clusters)
    with pytest.warns(UserWarning, match="clusters holds 4 clusters"):
        find(y, v, clusters=np.arange(40) // 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find(y, v, clusters=np.arange(40) // 4)
