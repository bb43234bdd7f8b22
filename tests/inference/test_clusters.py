"""Rows in clusters, which depend on each other in any way."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm
from scipy.stats import t as student

from skcal._numerics.curves import _clustered_decisions
from skcal._sources._row_source import RowSource
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
    net_benefit_difference,
    observed_expected_ratio,
    spiegelhalter_test,
)
from skcal.refinement import (
    brier_refinement,
    log_loss_refinement,
    refinement_decomposition,
)
from tests.chance import most_of
from tests.inference.samples import draw_clusters

RANDOM = {"random_state": 0, "n_resamples": 99}


def compare_models(y_true, y_proba, **options):
    """Net benefit beyond that of other predictions."""
    return net_benefit_difference(y_true, y_proba, y_proba**2, thresholds=[0.4], **options)


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
    "benefit": partial(net_benefit_difference, baseline="none", thresholds=[0.5]),
    "models": compare_models,
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
# What is fitted to some clusters for others.
FITTED = {
    "brier": brier_refinement,
    "log loss": log_loss_refinement,
    "decomposition": partial(refinement_decomposition, recalibrator="platt"),
}
ALL = FUNCTIONS | FITTED
every_function = pytest.mark.parametrize("find", ALL.values(), ids=ALL)
every_inference = pytest.mark.parametrize("find", FUNCTIONS.values(), ids=FUNCTIONS)


def list_numbers(found):
    """All numbers of an answer."""
    if isinstance(found, tuple):
        return np.concatenate([list_numbers(part) for part in found])
    is_number = not isinstance(found, str | None)
    return np.atleast_1d(found if is_number else np.nan).astype(float)


@every_function
def test_clusters_of_one_row_are_rows(find, rng):
    y, v, _ = draw_clusters(rng, 60, correlation=0.5)
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
    y, v, clusters = draw_clusters(rng, 60, correlation=0.5)
    v = (v * 20).round().clip(1, 19) / 20  # equal rows of several clusters
    order, names = rng.permutation(len(y)), rng.permutation(60)
    found = find(y, v, clusters=clusters)
    other = find(y[order], v[order], clusters=np.char.add("c", names.astype(str))[clusters[order]])
    np.testing.assert_allclose(list_numbers(other), list_numbers(found), rtol=1e-9, atol=1e-12)
    rows = [np.append(y, [1, 0]), np.append(v, [0.2, 0.3])]
    weights = np.append(np.ones(len(y)), [0.0, 0.0])
    other = find(*rows, clusters=np.append(clusters, [5, 99]), sample_weight=weights)
    np.testing.assert_allclose(list_numbers(other), list_numbers(found), rtol=1e-9, atol=1e-12)


@every_inference
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
        y, v, clusters = draw_clusters(rng, 200, 20)
        found = FUNCTIONS[name](y, v, clusters=clusters)
        estimates.append(found.estimate)
        chance.append(found.null_mean)
        assert found.statistic == pytest.approx(found.estimate, rel=1e-3)
    error = np.std(estimates) / np.sqrt(20)
    assert abs(np.mean(chance) - np.mean(estimates)) < 3.5 * error


def test_what_was_predicted_to_be_impossible(rng):
    y, v, clusters = draw_clusters(rng, 100, correlation=0.5)
    v[:2], y[:2] = [0.0, 1.0], [0, 1]
    assert calibration_test(y, v, clusters=clusters, **RANDOM).pvalue > 0.01
    y[0] = 1
    assert calibration_test(y, v, clusters=clusters, **RANDOM).pvalue == 0.01


def test_groups_hold_whole_clusters(rng):
    y, v, clusters = draw_clusters(rng, 200, correlation=0.5)
    group = np.where(clusters < 100, "a", "b")
    off = np.where((group == "b") & (v < 0.7), v + 0.25, v)
    found = calibration_test(y, off, clusters=clusters, groups=group, **RANDOM)
    assert (found.pvalue, found.worst_group) == (0.01, "b")
    with pytest.raises(ValueError, match="groups must hold whole clusters"):
        calibration_test(y, v, clusters=clusters, groups=np.arange(len(y)) % 2, **RANDOM)


def test_single_rows_are_tested_where_signs_do_not_hold(rng, monkeypatch):
    """With few events, few clusters, and statistics that are no norm of residuals."""
    make_null, numbers = RowSource.make_null, []

    def count(source, **options):
        numbers.append(source._rows.n_rows)
        return make_null(source, **options)

    monkeypatch.setattr(RowSource, "make_null", count)

    for options, n_clusters, rate in (
        ({}, 60, 0.02),
        ({}, 12, None),
        ({"statistic": "squared_calibration_error"}, 60, None),
        ({"reduction": "classwise"}, 60, None),
    ):
        y, v, clusters = draw_clusters(rng, n_clusters, rate=rate)
        y[:2] = 0, 1
        found = calibration_test(y, v, clusters=clusters, **options, **RANDOM)
        assert numbers == [n_clusters] * 20
        numbers.clear()
        assert 0.02 <= found.pvalue <= 1  # twice the least one of 99 draws, at least
    y, v, clusters = draw_clusters(rng, 60)
    calibration_test(y, v, clusters=clusters, **RANDOM)
    assert numbers == [300]


def test_power_is_that_of_clusters(rng):
    """Predictions that are off by a wide margin are found all the same."""
    y, v, clusters = draw_clusters(rng, 300, correlation=0.5)
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
    sample = partial(draw_clusters, n_clusters=100, n_rows=20)

    def draw_alone(rng):
        y, v, _ = sample(rng)
        return y, v, None

    assert cover(sample, 15, **options).mean() > 0.9
    assert cover(draw_alone, 15, **options).mean() < 0.85


@pytest.mark.parametrize(("n_clusters", "settings"), SETTINGS)
def test_level(n_clusters, settings):
    """At 5 %; tables of `benchmarks/` have hundreds of samples.

    With four events of clusters to be expected, Cox's test has no law that is known.
    """
    found, n_samples = [], 12
    for seed in range(n_samples):
        rng = np.random.default_rng([seed, n_clusters])
        y, v, clusters = draw_clusters(rng, n_clusters, **settings)
        rows = {"clusters": clusters, "labels": [0, 1], "pos_label": 1}
        ratio = observed_expected_ratio(y, v, **rows)
        columns = {
            "visit": rng.choice(["first", "later"], len(y)),
            "site": rng.choice(["north", "south"], n_clusters)[clusters],
        }
        audit = audit_groups(y, v, columns, min_samples=20, **rows, **RANDOM)
        inside = (audit.low <= 1e-12) & (audit.high >= -1e-12)
        found.append(
            [
                FUNCTIONS["omnibus"](y, v, **rows).pvalue <= 0.05,
                spiegelhalter_test(y, v, **rows).pvalue <= 0.05,
                not ratio.low <= 1 <= ratio.high,
                audit.pvalue <= 0.05,
                not inside.all(),
            ]
        )
        if "rate" not in settings:
            cox = cox_recalibration(y, v, **rows)
            found[-1] += [cox.test.pvalue <= 0.05, not cox.slope.low <= 1 <= cox.slope.high]
            found[-1] += [calibration_belt_test(y, v, **rows).pvalue <= 0.05]
    # Approximations for many clusters: up to 6 %.
    assert (np.sum(found, axis=0) <= most_of(n_samples, 0.06)).all(), np.mean(found, 0)


def list_kinds(acting, baseline, n_thresholds):
    """What each row decides at each threshold, as far as the decisions of the model tell."""
    own = acting[:, None] > np.arange(n_thresholds)
    if isinstance(baseline, tuple):
        return 1 * own
    other = baseline[:, None] > np.arange(n_thresholds)
    return np.where(own == other, 0, own + 2 * other)


@pytest.mark.parametrize("baseline", ["none", "all", "outcome", "model"])
def test_gains_of_clusters_are_those_of_their_rows(baseline, rng, monkeypatch):
    """Row by row, threshold by threshold; in parts as at once."""
    n, n_thresholds = 300, 7
    t = np.sort(rng.random(n_thresholds))
    gains = np.stack([-t / (1 - t), np.ones(n_thresholds)])
    fixed = {"none": (0, 0), "all": (7, 7), "outcome": (0, 7)}
    baseline = fixed.get(baseline, rng.integers(0, 8, n))
    acting, y, w = rng.integers(0, 8, n), rng.integers(0, 2, n), rng.exponential(size=n)
    member = rng.permutation(np.arange(n) % 23)
    other = np.array(baseline)[y] if isinstance(baseline, tuple) else baseline
    place = np.arange(n_thresholds)
    acts = 1.0 * (acting[:, None] > place) - (other[:, None] > place)
    values = gains[y] * acts
    mean = w @ values / w.sum()
    told, kinds = np.zeros_like(values), list_kinds(acting, baseline, n_thresholds)
    for k in place:
        for kind in np.unique(kinds[:, k]):
            rows = kinds[:, k] == kind
            told[rows, k] = np.average((values[rows, k] - mean[k]) ** 2, weights=w[rows])
    is_in = member == np.arange(23)[:, None]
    share = is_in @ (w[:, None] * told) / (w @ told)
    sums = is_in @ (w[:, None] * (values - mean)) / (1 - share)
    for budget in (_clustered_decisions._BUDGET, 60):
        monkeypatch.setattr(_clustered_decisions, "_BUDGET", budget)
        found = _clustered_decisions.compare_clusters(acting, baseline, y, w, member, gains, mean)
        np.testing.assert_allclose(found.products, sums.T @ sums, atol=1e-9)
        np.testing.assert_allclose(found.degrees, 1 / (share**2).sum(axis=0) - 1)
        assert found.squares == pytest.approx(((is_in @ w) ** 2).sum())


def test_many_clusters_have_the_normal_band(rng):
    """The variance of a mean of independent sums; one threshold, where nothing is rare."""
    y, v, clusters = draw_clusters(rng, 20_000, correlation=0.5)
    t = 0.3
    gains = np.where(v >= t, np.where(y == 1, 1.0, -t / (1 - t)), 0.0)
    sums = np.bincount(clusters, gains - gains.mean())
    width = norm.ppf(0.975) * np.sqrt(sums @ sums) / len(y)
    found = net_benefit_difference(y, v, "none", thresholds=[t], clusters=clusters)
    np.testing.assert_allclose(found.low, gains.mean() - width, atol=0.02 * width)
    np.testing.assert_allclose(found.high, gains.mean() + width, atol=0.02 * width)


def test_few_large_clusters_have_the_band_of_student(rng):
    """Of 11 degrees of freedom, whose quantile is 1.12 times that of the normal distribution."""
    y, v, clusters = draw_clusters(rng, 12, 5000, correlation=0.01)
    t = 0.3
    gains = np.where(v >= t, np.where(y == 1, 1.0, -t / (1 - t)), 0.0)
    sums = np.bincount(clusters, gains - gains.mean()) / (1 - 1 / 12)
    width = student.ppf(0.975, 11) * np.sqrt(sums @ sums) / len(y)
    found = net_benefit_difference(y, v, "none", thresholds=[t], clusters=clusters)
    np.testing.assert_allclose(found.low, gains.mean() - width, atol=0.05 * width)
    np.testing.assert_allclose(found.high, gains.mean() + width, atol=0.05 * width)


def test_clusters_tell_as_much_as_single_rows_at_least(rng):
    """Where rows of one cluster alone act, nobody knows how clusters differ."""
    clusters = np.repeat(np.arange(40), 10)
    v = np.where(clusters == 0, 0.9, 0.01)
    y = (rng.random(400) < v).astype(int)
    t = [0.5, 0.95]
    found, plain = (
        net_benefit_difference(y, v, "none", thresholds=t, **options)
        for options in ({"clusters": clusters}, {})
    )
    # One row for each cluster: the one that acts is right, or wrong.
    wrong, right = (
        net_benefit_difference(np.arange(40) < k, v[::10], "none", thresholds=t, labels=[0, 1])
        for k in (0, 1)
    )
    assert wrong.low[0] <= found.low[0] < plain.low[0]
    assert plain.high[0] < found.high[0] <= right.high[0]
    assert found.high[1] == pytest.approx(right.high[1], rel=0.1)  # no row acts


def find_benefit(proba, t):
    """Net benefit of acting at predictions that are calibrated."""
    return np.mean((proba >= t) * (proba - (1 - proba) * t / (1 - t)))


def test_bands_of_net_benefit_cover():
    """95 % bands in about as many samples; those of rows do not."""
    t, n_samples = np.array([0.1, 0.3, 0.6]), 16
    grid = norm.cdf(norm.ppf((np.arange(100_000) + 0.5) / 100_000))
    truth = np.array([find_benefit(grid, one) for one in t])
    beyond = truth - [
        np.mean((grid**2 >= one) * (grid - (1 - grid) * one / (1 - one))) for one in t
    ]
    missed = np.zeros(3)
    for seed in range(n_samples):
        rng = np.random.default_rng(seed)
        y, v, clusters = draw_clusters(rng, 50, n_rows=100, shared=0.9)
        for k, (baseline, by) in enumerate([("none", clusters), (v**2, clusters), ("none", None)]):
            found = net_benefit_difference(y, v, baseline, thresholds=t, clusters=by)
            own = beyond if k == 1 else truth
            missed[k] += not ((found.low <= own) & (own <= found.high)).all()
    assert missed[:2].max() <= most_of(n_samples, 0.07) < missed[2]


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


@every_inference
def test_few_clusters(find):
    y, v = np.arange(40) % 2, (np.arange(40) + 0.5) / 40
    with pytest.warns(UserWarning, match="clusters holds 4 clusters"):
        find(y, v, clusters=np.arange(40) // 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find(y, v, clusters=np.arange(40) // 4)


def test_a_cluster_that_varies_alone():
    """Predictions of 1/2 tell Spiegelhalter's test nothing: no degree of freedom is left."""
    v, clusters = np.repeat([0.3, 0.5], 100), np.arange(200) // 10
    clusters[:100] = 0
    assert 0.5 < spiegelhalter_test(np.arange(200) % 2, v, clusters=clusters).pvalue <= 1


def test_nothing_is_left_to_chance_in_clusters():
    y, clusters = np.arange(200) % 2, np.arange(200) // 10
    for v in (np.full(200, 0.5), y, np.where(clusters < 10, 0.5, y)):
        assert spiegelhalter_test(y, v, clusters=clusters)[:3] == (0, 1, 0)


def test_separated_outcomes_in_clusters():
    """A threshold separates them; rows at log odds of 0 tell of the intercept."""
    v = np.repeat([0.2, 0.3, 0.5, 0.5, 0.7, 0.9] * 10, 2)
    y = (v > 0.5).astype(int)
    y[v == 0.5] = np.arange(40) % 2
    found = cox_recalibration(y, v, clusters=np.arange(120) // 4)
    assert found.slope.estimate == np.inf
    assert found.intercept.low < 0 < found.intercept.high
    plain = cox_recalibration(y, v)
    assert found.slope.low < plain.slope.low


def test_bandwidths_and_scales_of_the_user(rng):
    y, v, clusters = draw_clusters(rng, 60, correlation=0.5)
    draws = {"random_state": 0, "n_resamples": 24}
    for options in ({"bandwidth": 0.1}, {"scale": lambda p: p**2}):
        options |= {"statistic": "smooth_ece", "clusters": clusters} | draws
        assert calibration_test(y, v, **options).pvalue > 0.1
        assert calibration_test(y, v / 2, **options).pvalue < 0.1


def test_groups_of_single_rows_and_of_clusters(rng):
    """Few clusters are tested by single rows; beside them rows may be clusters of their own."""
    y, v, clusters = draw_clusters(rng, 12)
    group = np.repeat(["a", "b"], 60)
    y, v = np.append(y, rng.random(60) < 0.5), np.append(v, np.full(60, 0.5))
    clusters = np.append(clusters, 100 + np.arange(60))
    found = calibration_test(y, v, clusters=clusters, groups=group, **RANDOM)
    assert found.pvalue > 0.01


def test_certain_predictions_are_left_to_no_chance():
    y, clusters = np.arange(80) % 2, np.arange(80) // 2
    groups = np.where(clusters % 2, "a", "b")
    found = audit_groups(y, 1.0 * y, groups, clusters=clusters, **RANDOM)
    assert found.pvalue == 1
