"""Audits of predicted means: closed forms, all signs, clusters, weights, and what may not be."""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm, t

from skcal._numerics.inference._brownian import exceed_range
from skcal._numerics.inference._skewness import correct_skewness, undo_skewness
from skcal.diagrams import GroupAuditDisplay
from skcal.inference import audit_mean_groups
from tests.answers import list_numbers
from tests.inference.samples import FEW, STATISTICS, every_statistic, take_group


def draw_counts(rng, n_rows, factor=1.0):
    """Rates of Poisson counts, what is predicted, and exposures."""
    years = rng.uniform(0.1, 1, n_rows)
    rates = rng.uniform(0.2, 1, n_rows)
    return rng.poisson(years * rates * factor) / years, rates, years


def correct(t, k):
    """Hall's (1992) transformation with twice the skewness k of the sums."""
    return t + 2 * k / 6 * (2 * t**2 + 1) + (2 * k) ** 2 * t**3 / 27


def find_z(sums):
    """Of sums of units, the last axis."""
    error = np.sqrt((sums**2).sum(axis=-1))
    return correct(sums.sum(axis=-1) / error, (sums**3).sum(axis=-1) / error**3)


def find_statistic(statistic, pulls, v, shares, units=None):
    """Statistic and asymptotic p-value by their definitions, of the rows of one group.

    `pulls`, (..., n_rows), are weighted residuals, `units` are indicators of clusters.
    """
    units = np.eye(len(v)) if units is None else units
    if statistic == "mean":
        value = find_z(pulls @ units)
        return value, 2 * norm.sf(np.abs(value))
    if statistic == "slope":
        both = (find_z((pulls * own) @ units) for own in (shares, 1 - shares))
        value = np.maximum(*map(np.abs, both))
        return value, np.minimum(2 * 2 * norm.sf(value), 1)
    sums = pulls @ units
    error = np.sqrt((sums**2).sum(axis=-1, keepdims=True))
    running = np.cumsum(pulls @ (v[:, None] == np.unique(v)), axis=-1)
    running = np.insert(running, 0, 0.0, axis=-1) / error
    skewness = (sums**3).sum(axis=-1, keepdims=True) / error**3
    value = np.ptp(correct(running, skewness), axis=-1)
    return value, exceed_range(np.atleast_1d(value))


def find_shares(v, weights):
    """Share of the weight below each prediction, and half of that of equal ones."""
    below, equal = v[:, None] > v, v[:, None] == v
    return (below @ weights + equal @ weights / 2) / weights.sum()


@every_statistic
@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_of_overlapping_groups(rng, statistic, weighted):
    y, v, weights = draw_counts(rng, 60)
    weights = weights if weighted else np.ones(60)
    inside = rng.random((60, 4)) < 0.6
    audit = audit_mean_groups(y, v, inside, sample_weight=weights, statistic=statistic, **FEW)
    shares = find_shares(v, weights)
    for group, value in zip(audit.names, audit.statistics, strict=True):
        rows = inside[:, group]
        residuals = (weights * (y - v))[rows]
        expected = find_statistic(statistic, residuals, v[rows], shares[rows])[0]
        assert value == pytest.approx(expected, rel=1e-9)


@every_statistic
def test_pvalues_tend_to_those_of_all_signs(rng, statistic):
    """All 2^9 signs of nine rows, each as likely as the observed ones."""
    y, v = rng.lognormal(size=9), np.linspace(0.5, 2, 9)
    inside = np.array([[1] * 9, [1, 1, 1, 1, 1, 0, 0, 0, 0], [0, 1, 0, 1, 1, 1, 0, 1, 1]]).T
    signs = np.array(list(product([1.0, -1.0], repeat=9)))  # the observed ones are the first
    shares = (np.arange(9) + 0.5) / 9
    logs = []
    for rows in inside.T.astype(bool):
        terms = (signs * (y - v))[:, rows], v[rows], shares[rows]
        logs.append(np.log(find_statistic(statistic, *terms)[1]))
    logs = np.array(logs)
    audit = audit_mean_groups(y, v, inside, statistic=statistic, n_resamples=20_000, random_state=0)
    hits = logs <= logs[:, :1] + 1e-9
    np.testing.assert_allclose(audit.pvalues, hits.mean(axis=1)[audit.names], atol=0.015)
    adjusted, left = [], list(np.argsort(logs[:, 0]))
    while left:
        hit = logs[left].min(axis=0) <= logs[left[0], 0] + 1e-9
        adjusted.append(max(*adjusted, hit.mean(), 0.0))
        left = left[1:]
    np.testing.assert_allclose(audit.adjusted_pvalues, adjusted, atol=0.015)


def test_one_sided_alternatives_of_all_signs(rng):
    y, v = rng.lognormal(size=9), np.linspace(0.5, 2, 9)
    signs = np.array(list(product([1.0, -1.0], repeat=9)))
    z = find_z(signs * (y - v))
    for alternative, sign in (("greater", 1), ("less", -1)):
        audit = audit_mean_groups(
            y, v, ["all"] * 9, alternative=alternative, n_resamples=20_000, random_state=0
        )
        assert audit.pvalue == pytest.approx((sign * z >= sign * z[0] - 1e-9).mean(), abs=0.015)


def test_correction_of_skewness(rng):
    """Hall's (1992) cube, which is monotone; its inverse, and nothing without skewness."""
    ratios, k = rng.normal(size=200) * 3, rng.normal(size=200)
    corrected = correct_skewness(ratios, k)
    np.testing.assert_allclose(((1 + k * ratios / 3) ** 3 - 1) / k + k / 6, corrected)
    np.testing.assert_allclose(undo_skewness(corrected, k), ratios, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(correct_skewness(ratios, 0.0), ratios)
    np.testing.assert_allclose(undo_skewness(ratios, 0.0), ratios, rtol=1e-15)


def test_means_and_intervals_of_symmetric_residuals(rng):
    """Those of Student's t at the level of Bonferroni where the skewness is 0."""
    half = rng.normal(size=40)
    residuals = np.concatenate([half, -half]) + 0.01
    v = rng.normal(size=80)
    group = np.tile(["a", "b"], 40)
    group[40:] = group[:40]
    audit = audit_mean_groups(v + residuals, v, group, statistic="kuiper", **FEW)
    for name in "ab":
        own, rows = take_group(audit, name), group == name
        assert own["mean_outcome"] == pytest.approx((v + residuals)[rows].mean())
        assert own["mean_prediction"] == pytest.approx(v[rows].mean())
        n_rows = rows.sum()
        assert own["n_samples"] == n_rows
        step = t.isf(0.0125, n_rows - 1) * residuals[rows].std(ddof=1) / np.sqrt(n_rows)
        np.testing.assert_allclose([own["low"], own["high"]], [0.01 - step, 0.01 + step])


@pytest.mark.parametrize(
    ("y", "p", "group", "weights", "errors"),
    [
        ([0, 1, 2, 4, 3], [1, 1, 2, 2, 2], "aabbb", None, [np.sqrt(0.5 / 2), np.sqrt(1 / 3)]),
        ([0.5, 8 / 3, 10 / 3], [1, 2, 2], "abb", [2, 1.5, 1.5], [np.inf, 1 / 3]),
    ],
)
def test_standard_errors_of_model_diagnostics(y, p, group, weights, errors):
    """bias_mean and bias_stderr in test_compute_bias of model-diagnostics 1.5, test_compute.py.

    The error of a single row, of which nothing is known, is 0 there.
    """
    options = {"sample_weight": weights, "confidence_level": 0.9}
    audit = audit_mean_groups(y, p, list(group), **options, **FEW)
    for name, bias, error in zip("ab", [0.5, -1], errors, strict=True):
        own = take_group(audit, name)
        assert own["mean_prediction"] - own["mean_outcome"] == pytest.approx(bias)
        step = error * (t.isf(0.025, own["n_samples"] - 1) if np.isfinite(error) else 1)
        np.testing.assert_allclose([own["low"], own["high"]], [-bias - step, -bias + step])


def test_intervals_of_skewed_residuals_reach_further_on_the_long_side(rng):
    y = rng.lognormal(size=400)
    audit = audit_mean_groups(y, np.full(400, np.exp(0.5)), ["all"] * 400, **FEW)
    (low,), (high,), gap = audit.low, audit.high, y.mean() - np.exp(0.5)
    assert low < 0 < high
    assert high - gap > 1.1 * (gap - low)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("clustered", [False, True])
def test_intervals_agree_with_tests(rng, alternative, clustered):
    y, v, years = draw_counts(rng, 1500)
    inside = rng.random((1500, 5)) < 0.3
    off = v * np.where(inside[:, 3], 0.7, np.where(inside[:, 4], 1.4, 1.0))
    options = {"clusters": np.arange(1500) // 2} if clustered else {}
    audit = audit_mean_groups(
        y, off, inside, sample_weight=years, alternative=alternative, **options, **FEW
    )
    holds = (audit.low <= 0) & (audit.high >= 0)
    np.testing.assert_array_equal(holds, audit.adjusted_pvalues > 0.05)
    assert 0 < holds.sum() < len(holds)
    assert np.isinf(audit.high).all() == (alternative == "greater")
    assert np.isinf(audit.low).all() == (alternative == "less")


@every_statistic
def test_a_tilted_group_is_found(rng, statistic):
    y, v, years = draw_counts(rng, 6000)
    region = rng.choice(["east", "north", "south"], 6000)
    off = np.where(region == "north", v / 1.3, v)
    audit = audit_mean_groups(y, off, region, sample_weight=years, statistic=statistic, **FEW)
    assert audit.find() == ["north"]
    assert take_group(audit, "north")["low"] > 0


@pytest.mark.parametrize("statistic", ["slope", "kuiper"])
def test_predictions_that_are_too_extreme_are_found(rng, statistic):
    """Though their mean is right."""
    v = rng.uniform(0.5, 1.5, 3000)
    y = rng.gamma(2.0, (1 + 0.5 * (v - 1)) / 2)
    y *= v.sum() / y.sum()
    assert audit_mean_groups(y, v, ["all"] * 3000, statistic=statistic, **FEW).pvalue < 0.05
    assert audit_mean_groups(y, v, ["all"] * 3000, statistic="mean", **FEW).pvalue > 0.9


@every_statistic
def test_clusters(rng, statistic):
    """Sums of clusters take the place of rows, also of clusters in several groups."""
    y, v, years = draw_counts(rng, 240)
    v, cluster = np.round(v, 1), rng.permutation(np.arange(240) % 60)
    inside = np.column_stack([np.ones(240, dtype=bool), rng.random((240, 3)) < 0.5])
    data = {"sample_weight": years, "statistic": statistic, "clusters": cluster}
    audit = audit_mean_groups(y, v, inside, **data, **FEW)
    pulls, units = years * (y - v), 1.0 * (cluster[:, None] == np.arange(60))
    for name in range(4):
        terms = pulls * inside[:, name], v, find_shares(v, years), units
        expected = find_statistic(statistic, *terms)[0]
        assert take_group(audit, name)["statistics"] == pytest.approx(expected)


def test_intervals_of_clusters(rng):
    """Hall's transformation of centred sums, with Student's quantile, turned around."""
    y, v, years = draw_counts(rng, 240)
    y *= rng.uniform(0.5, 1.5, 240)  # no counts, whose intervals are shorter
    cluster = rng.permutation(np.arange(240) % 60)
    data = {"sample_weight": years, "clusters": cluster, "statistic": "kuiper"}
    audit = audit_mean_groups(y, v, np.arange(240) % 2, **data, **FEW)
    for name in (0, 1):
        rows = np.arange(240) % 2 == name
        mass = np.bincount(cluster[rows], years[rows], 60)
        sums = np.bincount(cluster[rows], (years * (y - v))[rows], 60)
        gap, parts = sums.sum() / mass.sum(), mass / mass.sum()
        sums -= gap * mass
        error = np.sqrt((sums**2).sum() / (1 - (parts**2).sum())) / mass.sum()
        skewness = (sums**3).sum() / (sums**2).sum() ** 1.5
        own = take_group(audit, name)
        ends = (gap - np.array([own["low"], own["high"]])) / error
        far = t.isf(0.0125, 1 / (parts**2).sum() - 1)
        np.testing.assert_allclose(correct(ends, skewness), [far, -far])


@every_statistic
def test_copies_in_clusters_are_single_rows(rng, statistic):
    y, v, years = draw_counts(rng, 150)
    inside = rng.random((150, 3)) < 0.5
    options = {"statistic": statistic, **FEW}
    expected = audit_mean_groups(y, v, inside, sample_weight=years, **options)
    twice = [np.repeat(own, 2, axis=0) for own in (y, v, inside, years, np.arange(150))]
    found = audit_mean_groups(*twice[:3], sample_weight=twice[3], clusters=twice[4], **options)
    assert found.names == expected.names
    np.testing.assert_array_equal(found.n_samples, 2 * expected.n_samples)
    for one, other in zip(list_numbers(found), list_numbers(expected), strict=True):
        if not np.array_equal(one, found.n_samples):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    single = audit_mean_groups(y, v, inside, sample_weight=years, clusters=range(150), **options)
    np.testing.assert_allclose(single.pvalues, expected.pvalues)


@every_statistic
@pytest.mark.parametrize("clustered", [False, True])
def test_units_and_order_do_not_matter(rng, statistic, clustered):
    y, v, years = draw_counts(rng, 200)
    inside, cluster = rng.random((200, 3)) < 0.5, np.arange(200) // 2
    options = {"statistic": statistic, **FEW}
    more = {"clusters": cluster} if clustered else {}
    expected = audit_mean_groups(y, v, inside, sample_weight=years, **more, **options)
    for scale in (1e-90, 7.0, 1e90):
        found = audit_mean_groups(y, v, inside, sample_weight=scale * years, **more, **options)
        np.testing.assert_allclose(found.statistics, expected.statistics)
        np.testing.assert_allclose(found.low, expected.low)
        found = audit_mean_groups(
            scale * y, scale * v, inside, sample_weight=years, **more, **options
        )
        np.testing.assert_array_equal(found.adjusted_pvalues, expected.adjusted_pvalues)
        np.testing.assert_allclose(found.high, scale * expected.high)
    order = rng.permutation(200)
    more = {"clusters": cluster[order]} if clustered else {}
    found = audit_mean_groups(
        y[order], v[order], inside[order], sample_weight=years[order], **more, **options
    )
    np.testing.assert_array_equal(found.pvalues, expected.pvalues)
    if statistic == "mean":  # of targets around any point
        found = audit_mean_groups(
            y + 5, v + 5, inside, sample_weight=years, **{"clusters": cluster} if clustered else {},
            **options,
        )  # fmt: skip
        np.testing.assert_allclose(found.statistics, expected.statistics)


def test_rows_without_weight_are_absent(rng):
    y, v, years = draw_counts(rng, 200)
    group = rng.choice(["a", "b", "c"], 200)
    weights = np.where(group == "c", 0.0, years)
    kept = group != "c"
    options = {"statistic": "slope", **FEW}
    expected = audit_mean_groups(
        y[kept], v[kept], group[kept], sample_weight=years[kept], **options
    )
    found = audit_mean_groups(y, v, group, sample_weight=weights, **options)
    assert found.names == expected.names
    np.testing.assert_allclose(found.low, expected.low)
    np.testing.assert_array_equal(found.pvalues, expected.pvalues)


@every_statistic
def test_residuals_of_zero_and_single_rows(statistic):
    """A perfect group is not found, one row tells nothing, and constant ones are no error."""
    group = ["right"] * 30 + ["off"] * 30 + ["one"]
    y = np.concatenate([np.arange(30.0), np.arange(30.0) + 1, [5.0]])
    v = np.concatenate([np.arange(30.0), np.arange(30.0), [0.0]])
    audit = audit_mean_groups(y, v, group, statistic=statistic, n_resamples=199, random_state=0)
    assert audit.find() == ["off"]
    right, off, one = (take_group(audit, name) for name in ("right", "off", "one"))
    assert right["pvalues"] == one["pvalues"] == 1
    assert right["low"] == right["high"] == 0
    assert off["low"] == pytest.approx(1, abs=1e-6) == off["high"]
    assert (one["low"], one["high"]) == (-np.inf, np.inf)
    assert audit_mean_groups(v, v, group, statistic=statistic, **FEW).pvalue == 1


def test_large_numbers():
    y = np.array([1e100, -1e100, 1e100, 5e99] * 10)
    for statistic in STATISTICS:
        found = audit_mean_groups(y, -y / 2, ["a", "b"] * 20, statistic=statistic, **FEW)
        assert np.isfinite(found.to_frame().drop(columns="group").to_numpy(dtype=float)).all()


def test_small_numbers_beside_large_ones(rng):
    """Cubes of the residuals of a vanish, which are symmetric."""
    half = rng.normal(size=20)
    y = np.concatenate([half, -half])
    found = audit_mean_groups(
        np.append(1e-120 * y, y), np.zeros(80), ["a"] * 40 + ["b"] * 40, statistic="kuiper", **FEW
    )
    own, other = take_group(found, "a"), take_group(found, "b")
    for end in ("low", "high"):
        assert own[end] == pytest.approx(1e-120 * other[end], rel=1e-9, abs=0)


def test_table_and_display(rng, capsys):
    y, v, years = draw_counts(rng, 3000)
    table = pd.DataFrame({"age": rng.integers(18, 80, 3000), "sex": rng.choice(["F", "M"], 3000)})
    off = np.where(table["sex"] == "F", v / 1.5, v)
    audit = audit_mean_groups(y, off, table, max_depth=1, sample_weight=years, **FEW)
    assert audit.names[0] == "sex = F"
    assert audit.statistic == "mean"
    frame = audit.to_frame()
    ratio = (frame["mean_outcome"] / frame["mean_prediction"])[0]
    assert ratio == pytest.approx(1.5, rel=0.1)
    audit.print(n_groups=1)
    head = " ".join(capsys.readouterr().out.splitlines())
    assert head.startswith(
        f"Wrong in {len(audit.find())} of 7 groups (p <= 0.025), most clearly in "
    )
    given, seen = frame["mean_prediction"][0], frame["mean_outcome"][0]
    assert f": {given:.3g} is predicted on average, where {seen:.3g} is observed" in head
    display = GroupAuditDisplay.from_audit(audit)
    assert display.ax_.get_xlabel().startswith("Observed minus predicted")
    assert display.points_[0].get_xdata()[0] == frame["difference"][0]


@pytest.mark.parametrize(("alternative", "inner"), [("greater", "low"), ("less", "high")])
def test_display_of_bounds(rng, alternative, inner):
    """Intervals that end at infinity reach the edge of the axes."""
    y, v, years = draw_counts(rng, 400)
    audit = audit_mean_groups(
        y, v, np.arange(400) % 3, sample_weight=years, alternative=alternative, **FEW
    )
    display = GroupAuditDisplay.from_audit(audit)
    (bars,) = display.intervals_
    edge = display.ax_.get_xlim()[alternative == "greater"]
    shown = audit.to_frame().sort_values("difference", key=abs, ascending=False)
    for segment, bound in zip(bars.get_segments(), shown[inner], strict=True):
        assert sorted(segment[:, 0]) == pytest.approx(sorted([bound, edge]))


Y, V = np.arange(120.0), np.arange(120.0) + 1
GROUP = ["a", "b"] * 60


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_true": ["a"] * 120}, "y_true"),
        ({"y_true": np.append(Y[:-1], np.nan)}, "y_true must hold finite numbers"),
        ({"y_pred": V[:-1]}, "y_true and y_pred must have the same length; got 120 and 119"),
        ({"y_pred": np.append(V[:-1], np.inf)}, "y_pred must hold finite numbers"),
        ({"y_pred": np.append(V[:-1], 1e101)}, "y_pred must be at most 1e100"),
        ({"groups": GROUP[:-1]}, "groups must have one entry for each of the 120 rows; got 119"),
        ({"sample_weight": -Y}, "sample_weight"),
        ({"clusters": Y[:-1]}, "clusters must hold one label for each of the 120 rows"),
        ({"sample_weight": np.append(1e-101, V[1:])}, "The weights above 0 must lie within a fac"),
        (
            {"groups": np.eye(120, 1, dtype=bool), "sample_weight": Y},
            "groups must have a group that has a row with a weight above 0",
        ),
        ({"statistic": "ece"}, "statistic must be one of"),
        ({"adjust": "bonferroni"}, "adjust must be one of"),
        ({"alternative": "less", "statistic": "slope"}, "alternative must be 'two-sided' for"),
        ({"alternative": "less", "confidence_level": 0.5}, "confidence_level must be above 0.5"),
        ({"adjust": "holm", "n_resamples": 38}, "n_resamples must be at least 39 for adjust='hol"),
        ({"groups": {"x": Y}, "min_samples": 121}, "min_samples must be at most the number of"),
    ],
)
def test_what_arguments_may_not_be(changes, message):
    arguments = {"y_true": Y, "y_pred": V, "groups": GROUP} | changes
    with pytest.raises(ValueError, match=message):
        audit_mean_groups(**arguments)


# ------------------------------------------------------------------- frequencies of false alarms


def draw_amounts(rng, n_rows, kind, cluster):
    """Targets, their means, and weights; rows of a cluster share a factor."""
    shared = rng.normal(size=n_rows)[cluster] if len(np.unique(cluster)) < n_rows else None
    if kind == "counts":
        years, means = rng.uniform(0.1, 1, n_rows), 0.15 * np.exp(0.5 * rng.normal(size=n_rows))
        factor = 1.0 if shared is None else np.exp(0.7 * shared - 0.245)
        return rng.poisson(years * means * factor) / years, means, years
    means, own = 100 * np.exp(0.5 * rng.normal(size=n_rows)), rng.normal(size=n_rows)
    logs = own if shared is None else np.sqrt(0.5) * (own + shared)
    targets = means * np.exp(logs - 0.5)
    if kind == "zeros":
        targets *= (rng.random(n_rows) < 0.3) / 0.3
    return targets, means, np.ones(n_rows)


def draw_groups(rng, n_rows, n_groups):
    """Overlapping groups of at least 100 rows."""
    columns = []
    while len(columns) < n_groups:
        inside = rng.random(n_rows) < rng.uniform(100 / n_rows, 1)
        if inside.sum() >= 100:
            columns.append(inside)
    return np.array(columns).T


@pytest.mark.slow
@every_statistic
@pytest.mark.parametrize("kind", ["counts", "log-normal", "zeros"])
@pytest.mark.parametrize(
    ("n_rows", "size", "n_times"), [(300, 1, 300), (900, 3, 150), (3000, 1, 100)]
)
def test_level(statistic, kind, n_rows, size, n_times):
    """Of skewed targets, for one group and for many, and of clusters of `size` rows."""
    rng, false, missed = np.random.default_rng(0), 0, 0
    cluster = np.arange(n_rows) // size
    options = {"n_resamples": 99, "random_state": rng}
    options |= {} if size == 1 else {"clusters": cluster}
    for k in range(n_times):
        y, v, weights = draw_amounts(rng, n_rows, kind, cluster)
        inside = draw_groups(rng, n_rows, [1, 10, 50][k % 3])
        data = options | {"sample_weight": weights}
        false += audit_mean_groups(y, v, inside, statistic=statistic, **data).pvalue <= 0.05
        if statistic == "kuiper":  # intervals of the difference, as they are
            audit = audit_mean_groups(y, 0.7 * v, inside, statistic=statistic, **data)
            gap = (0.3 * weights * v) @ inside / (weights @ inside)
            missed += ((audit.low > gap[audit.names]) | (audit.high < gap[audit.names])).any()
    assert false <= binom.ppf(0.9987, n_times, 0.05)
    assert missed <= binom.ppf(0.9987, n_times, 0.12)  # as the notes say


@pytest.mark.slow
@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize("kind", ["counts", "log-normal", "zeros"])
def test_level_of_one_sided_alternatives(alternative, kind):
    rng, false = np.random.default_rng(0), 0
    run = partial(audit_mean_groups, alternative=alternative, n_resamples=99, random_state=rng)
    for _ in range(300):
        y, v, weights = draw_amounts(rng, 300, kind, np.arange(300))
        false += run(y, v, draw_groups(rng, 300, 20), sample_weight=weights).pvalue <= 0.05
    assert false <= binom.ppf(0.9987, 300, 0.05)
