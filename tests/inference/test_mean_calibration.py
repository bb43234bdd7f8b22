"""The test of predicted means: its definition, all signs of few rows, and levels of many."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, poisson

from skcal._numerics.inference._signed_residuals import UnitSums, unite_neighbours
from skcal.inference import mean_calibration_test
from tests.chance import most_of

Y = np.array([1.0, 0.2, 3.0, 2.5, 0.0, 4.0, 2.0, 7.0])
P = np.array([0.5, 1.0, 1.0, 2.0, 2.5, 2.5, 4.0, 5.0])
SIDES = {"two-sided": (0, 1), "greater": (0,), "less": (1,)}
each_deviation = pytest.mark.parametrize("deviation", ["range", "max"])
each_alternative = pytest.mark.parametrize("alternative", SIDES)
ignore_few = pytest.mark.filterwarnings("ignore:clusters holds . clusters")


def find_sides(residuals, p, deviation):
    """Largest sums of residuals over the predictions from one to another, and their negatives."""
    places = np.append(-np.inf, np.unique(p))
    ends = [(low, high) for low in places for high in places if low <= high]
    if deviation == "max":
        ends = [(low, high) for low, high in ends if low == -np.inf]
    sums = [residuals[(p > low) & (p <= high)].sum() for low, high in ends]
    return np.array([max(sums), -min(sums)])


def flip_all_signs(residuals, p, w, member, deviation, alternative):
    """Statistic, p-value, estimate and mean of the draws, by their definition."""
    sides, n_units = list(SIDES[alternative]), member.max() + 1
    centred = residuals - w * np.average(residuals / w, weights=w)
    centred_sums = np.bincount(member, centred)
    sums = np.bincount(member, residuals)
    scale = np.sqrt(sums @ sums)
    observed = find_sides(residuals, p, deviation)[sides] / scale
    by_signs, by_halves = [], []
    for signs in [*product([1, -1], repeat=n_units)][1:]:
        signs = np.array(signs)
        found = find_sides(signs[member] * residuals, p, deviation)[sides]
        by_signs.append(found / scale)
        found = find_sides(signs[member] * centred, p, deviation)[sides]
        half = np.sqrt(2 * np.sum(centred_sums[signs > 0] ** 2))
        by_halves.append(found / half if half else np.where(found > 0, np.inf, 0.0))
    counts = [np.sum(drawn >= observed - 1e-9, axis=0) for drawn in (by_signs, by_halves)]
    pvalues = np.max((1 + np.array(counts)) / 2**n_units, axis=0)
    null_mean = np.max(by_signs, axis=1).mean()
    return observed.max(), min(len(sides) * pvalues.min(), 1.0), observed.max() * scale, null_mean


@each_deviation
@pytest.mark.parametrize("n_rows", [1, 8, 9, 100, 1000])
def test_sums_of_strips_are_those_of_all_predictions(n_rows, deviation, rng):
    place, unit = (
        np.unique(rng.integers(n, size=n_rows), return_inverse=True)[1]
        for n in (2 * n_rows, 1 + n_rows // 3)
    )
    residuals, shape = rng.normal(size=n_rows), (place.max() + 1, unit.max() + 1)
    signs = rng.choice([-1.0, 1.0], size=(shape[1], 3))
    for n_draws in (1, 3, 1000):  # as many strips as can be, and one
        sums = UnitSums(residuals, place, unit, shape, n_draws)
        found = sums.measure(signs, deviation == "range")
        for rise, fall, column in zip(*found, signs.T, strict=True):
            cumulative = np.append(0.0, np.cumsum(np.bincount(place, column[unit] * residuals)))
            starts = cumulative if deviation == "range" else cumulative[:1]
            changes = np.triu(cumulative - starts[:, None])
            assert [rise, fall] == pytest.approx([changes.max(), -changes.min()], rel=1e-12)


@ignore_few
@each_deviation
@each_alternative
def test_all_signs_of_few_rows(deviation, alternative, rng):
    weights, member = rng.uniform(0.5, 2, 8), np.array([0, 1, 2, 0, 3, 4, 5, 2])
    options = {"deviation": deviation, "alternative": alternative}
    for w, clusters in ((np.ones(8), None), (weights, None), (weights, member)):
        found = mean_calibration_test(Y, P, sample_weight=w, clusters=clusters, **options)
        units = np.arange(8) if clusters is None else clusters
        expected = np.array(flip_all_signs(w * (Y - P), P, w, units, deviation, alternative))
        scale = 1 / w.sum()
        got = found.statistic, found.pvalue, found.estimate / scale, found.null_mean
        np.testing.assert_allclose(got, expected, rtol=1e-9)


@each_deviation
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_exact_where_residuals_are_symmetric(deviation, alternative, rng):
    """All signs of given sizes are as likely: no p-value comes more often than it says."""
    sizes, p = rng.exponential(size=6), np.array([1.0, 2.0, 2.0, 3.0, 4.0, 5.0])
    pvalues = [
        mean_calibration_test(
            p + signs * sizes, p, deviation=deviation, alternative=alternative
        ).pvalue
        for signs in product([1, -1], repeat=6)
    ]
    for level in np.unique(pvalues):
        assert np.mean(np.array(pvalues) <= level + 1e-12) <= level + 1e-12
    assert len(np.unique(pvalues)) > 5


def test_draws_tend_to_all_signs():
    options = {"alternative": "less", "deviation": "max"}
    exact = mean_calibration_test(Y, P, n_resamples=255, **options)
    assert mean_calibration_test(Y, P, n_resamples=10**5, **options) == exact
    y, p = np.tile(Y, 2), np.tile(P, 2)  # 2^16 signs
    exact = mean_calibration_test(y, p, n_resamples=2**16 - 1, **options)
    drawn = mean_calibration_test(y, p, n_resamples=20_000, random_state=0, **options)
    error = np.sqrt(exact.pvalue * (1 - exact.pvalue) / 20_000)
    assert drawn.pvalue == pytest.approx(exact.pvalue, abs=4 * error)
    assert drawn.null_mean == pytest.approx(exact.null_mean, rel=0.02)


def test_order_units_weights_and_clusters_of_copies(rng):
    p = rng.gamma(4, 0.25, 60).round(1)
    y, weights, order = rng.poisson(p), rng.integers(1, 4, 60), rng.permutation(60)
    member, options = rng.integers(0, 20, 60), {"random_state": 3}
    plain = mean_calibration_test(y, p, **options)
    weighted = mean_calibration_test(y, p, sample_weight=weights, **options)
    assert weighted != plain
    for given in ({}, {"sample_weight": weights}, {"clusters": member}):
        expected = mean_calibration_test(y, p, **given, **options)
        moved = {name: values[order] for name, values in given.items()}
        found = mean_calibration_test(y[order], p[order], **moved, **options)
        np.testing.assert_allclose(found[:3], expected[:3], rtol=1e-12)
    names = mean_calibration_test(y, p, clusters=(97 * member % 101).astype(str), **options)
    by_cluster = mean_calibration_test(y, p, clusters=member, **options)
    np.testing.assert_allclose(names[:3], by_cluster[:3], rtol=1e-12)
    for scale in (1e-300, 1e-90, 1e90):
        scaled = mean_calibration_test(
            scale * y, scale * p, sample_weight=scale * weights, **options
        )
        assert scaled.pvalue == weighted.pvalue
        assert scaled.estimate == pytest.approx(scale * weighted.estimate, rel=1e-9, abs=0)
    absent = np.append(y, 1e9), np.append(p, 0.0), np.append(weights, 0)
    found = mean_calibration_test(*absent[:2], sample_weight=absent[2], **options)
    np.testing.assert_allclose(found[:3], weighted[:3], rtol=1e-12)
    plain, copies = (
        mean_calibration_test(
            np.tile(y, k), np.tile(p, k), clusters=clusters, alternative="greater"
        )
        for k, clusters in ((1, None), (2, np.tile(np.arange(60), 2)))
    )
    assert copies.statistic == pytest.approx(plain.statistic)
    assert copies.pvalue == pytest.approx(plain.pvalue, abs=0.1)  # of 999 draws each


def test_sides_mirror_each_other():
    found, mirrored = (
        mean_calibration_test(y, p, alternative=alternative)
        for y, p, alternative in ((Y, P, "less"), (-Y, -P, "greater"))
    )
    np.testing.assert_allclose(found[:3], mirrored[:3], rtol=1e-12)


def test_one_row_and_exact_predictions():
    assert mean_calibration_test([1.0], [2.0]).pvalue == 1
    exact = mean_calibration_test(P, P)
    assert (exact.statistic, exact.pvalue, exact.estimate) == (0, 1, 0)


def test_refusals():
    for options, message in (
        ({"deviation": "kuiper"}, "^deviation must be one of 'range', 'max'; got 'kuiper'"),
        ({"alternative": "larger"}, "^alternative must be one of 'two-sided', 'greater', 'less'"),
        ({"n_resamples": 0}, "^n_resamples must be at least 1; got 0"),
        ({"sample_weight": -Y}, "^sample_weight must be finite and not negative"),
        ({"clusters": np.zeros(8)}, "^clusters must hold at least two clusters with rows; got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            mean_calibration_test(Y, P, **options)
    with pytest.raises(ValueError, match=r"^y_pred must hold finite numbers; got inf at row 0"):
        mean_calibration_test([1.0, 2.0], [np.inf, 1.0])


def test_finds_where_means_are_wrong(rng):
    """A wrong shift is one-sided; errors that cancel as a whole are found too."""
    p = rng.normal(size=400)
    shifted = p + 0.3 + rng.normal(size=400)
    options = {"random_state": 0}
    assert mean_calibration_test(shifted, p, **options).pvalue < 0.01
    assert mean_calibration_test(shifted, p, alternative="less", **options).pvalue > 0.2
    bent = p + 0.4 * np.sign(np.abs(p) - 0.67) + rng.normal(size=400)
    assert mean_calibration_test(bent, p, **options).pvalue < 0.01
    assert mean_calibration_test(bent, p, deviation="max", **options).pvalue < 0.05


def draw(kind, n, rng):
    """Calibrated rows, as arguments of the function."""
    p, options = np.exp(rng.normal(0, 0.5, n)), {}
    amounts = np.exp(rng.normal(-0.5, 1, n))
    if kind == "counts":
        options["sample_weight"] = rng.uniform(0.1, 1, n)
        y = rng.poisson(0.3 * p * options["sample_weight"]) / (0.3 * options["sample_weight"])
    elif kind == "amounts":
        y = p * amounts
    elif kind == "amounts with zeros":
        y = p * amounts * (rng.random(n) < 0.3) / 0.3
    elif kind == "normal":
        p = rng.normal(size=n)
        y = p + np.exp(p / 2) * rng.normal(size=n)
    else:
        options["clusters"] = np.arange(n) // 5
        y = rng.poisson(2 * p * rng.gamma(4, 1 / 4, n)[options["clusters"]]) / 2
    return {"y_true": y, "y_pred": p} | options


@each_deviation
@each_alternative
def test_no_event_at_all(deviation, alternative):
    """Nothing is known of the variance; targets that may be negative are not events."""
    p, options = np.linspace(0.008, 0.012, 100), {"deviation": deviation, "random_state": 0}
    found = mean_calibration_test(np.zeros(100), p, alternative=alternative, **options)
    assert found.pvalue == 1
    assert found.statistic >= 0
    low = mean_calibration_test(np.zeros(100), p - 0.02, **options)
    assert low.pvalue < 0.05


def put_events(number, n_rows):
    return np.repeat([1.0, 0.0], [number, n_rows - number])


@each_deviation
@pytest.mark.parametrize(
    ("n_events", "n_rows", "risk"), [(1, 200, 0.9), (5, 2000, 0.02), (20, 2000, 0.02), (3, 300, 0)]
)
def test_few_outcomes_of_1_have_the_law_of_binomial_numbers(n_events, n_rows, risk, deviation):
    """And as few of 0; all rows may have a weight, or two copies in a cluster."""
    y, p = put_events(n_events, n_rows), np.full(n_rows, float(risk))
    law = binom(n_rows, risk)
    least, side = (law.cdf(n_events), "less") if risk else (law.sf(n_events - 1), "greater")
    options = {"deviation": deviation, "random_state": 0}
    for given in (
        {},
        {"sample_weight": np.full(n_rows, 0.3)},
        {
            "y_true": np.tile(y, 2),
            "y_pred": np.tile(p, 2),
            "clusters": np.arange(2 * n_rows) % n_rows,
        },
    ):
        data = {"y_true": y, "y_pred": p} | given | options
        assert mean_calibration_test(**data).pvalue <= 2 * least * (1 + 1e-6)
        assert mean_calibration_test(**data, alternative=side).pvalue <= least * (1 + 1e-6)
    mirrored = mean_calibration_test(1 - y, 1 - p, **options)
    assert mirrored.pvalue <= 2 * least * (1 + 1e-6)


@pytest.mark.parametrize("n_events", [2, 5, 10])
def test_few_events_behind_class_weights(n_events):
    """Logarithms of p-values are those of the binomial number, up to a tenth; 40 are expected."""
    y = put_events(n_events, 2000)
    options = {"sample_weight": np.where(y == 1, 10.0, 1.0), "n_resamples": 19, "random_state": 0}
    p = np.full(2000, 10 * 0.02 / (10 * 0.02 + 0.98))
    found = mean_calibration_test(y, p, alternative="less", **options)
    assert 1 <= np.log(found.pvalue) / binom(2000, 0.02).logcdf(n_events) <= 1.1


def test_fewer_events_are_no_less_evidence():
    """Of 40 expected ones; the p-values are those of binomial numbers, or less."""
    p = np.full(2000, 0.02)
    for number in range(1, 41):
        found = mean_calibration_test(
            put_events(number, 2000), p, alternative="less", n_resamples=19, random_state=0
        )
        assert found.pvalue <= max(binom(2000, 0.02).cdf(number), 1e-300) * (1 + 1e-9)


@pytest.mark.parametrize("size", [1.0, 7.0])
def test_few_counts_have_the_law_of_poisson(size):
    """Of any unit, with exposures; rows of several events count as what they are."""
    y, years = put_events(5, 1000), np.linspace(0.1, 1, 1000)
    rate, options = np.full(1000, 40 / years.sum()), {"alternative": "less", "random_state": 0}
    rates = mean_calibration_test(size * y / years, size * rate, sample_weight=years / 3, **options)
    assert rates.pvalue <= poisson(40).cdf(5) * (1 + 1e-6)
    clumps = mean_calibration_test(size * y, np.full(1000, size * 0.04 / 5), **options)
    assert poisson(8).cdf(4) < clumps.pvalue <= poisson(8).cdf(5) * (1 + 1e-6)


def test_few_amounts_keep_what_protects_them():
    """Their sizes are unknown, so that few of them may stand for many."""
    y = np.zeros(1000)
    y[:5] = [0.3, 0.7, 1.1, 1.9, 4.2]
    assert mean_calibration_test(y, np.full(1000, 0.04), random_state=0).pvalue > 0.05


def test_level_of_few_over_dispersed_counts():
    """Their variance is twice that of Poisson, whose law alone would reject 15 %."""
    rng, n_rejected, n_poisson = np.random.default_rng(0), 0, 0
    for _ in range(250):
        y, p = rng.poisson(0.1 * rng.gamma(0.1, 10, 300)), np.full(300, 0.1)
        found = mean_calibration_test(y, p, n_resamples=99, random_state=rng)
        n_rejected += found.pvalue <= 0.05
        n_poisson += 2 * min(poisson(30).cdf(y.sum()), poisson(30).sf(y.sum() - 1)) <= 0.05
    assert n_rejected <= most_of(250, 0.05) < n_poisson


@pytest.mark.slow
@pytest.mark.parametrize("expected", [1, 2, 3])
def test_level_of_rare_counts(expected, rng):
    """Some samples have no event."""
    n_rejected = 0
    for _ in range(200):
        p = expected / 150 * np.exp(0.3 * rng.normal(size=150) - 0.045)
        found = mean_calibration_test(rng.poisson(p), p, n_resamples=199, random_state=rng)
        n_rejected += found.pvalue <= 0.05
    assert n_rejected <= binom(200, 0.05).ppf(0.9987)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("kind", ["counts", "amounts", "amounts with zeros", "normal", "clusters"])
def test_levels(kind, n, rng):
    n_samples, options = 1000, {"n_resamples": 199, "random_state": rng}
    found = [mean_calibration_test(**draw(kind, n, rng), **options) for _ in range(n_samples)]
    n_rejected = sum(one.pvalue <= 0.05 for one in found)
    assert n_rejected <= binom(n_samples, 0.05).ppf(0.999)


@pytest.mark.parametrize("clustered", [False, True])
def test_many_rows_are_tested_in_blocks_of_neighbours(clustered, rng):
    """The estimate is that of all rows, and the statistic the same up to what blocks hide."""
    p = np.round(rng.gamma(4, 1 / 4, 20_000), 4)
    y = rng.poisson(p**1.02)
    members = rng.integers(5000, size=20_000) if clustered else None
    found = mean_calibration_test(y, p, clusters=members, random_state=0)
    order = np.argsort(p, kind="stable")
    last = np.append(np.diff(p[order]) > 0, True)
    sums = np.append(0, np.cumsum((y - p)[order])[last])
    assert found.estimate == pytest.approx(
        max((sums - np.minimum.accumulate(sums)).max(), (np.maximum.accumulate(sums) - sums).max())
        / 20_000
    )
    place, unit = unite_neighbours(p[order], 1 << 11)
    assert (np.diff(place)[~last[:-1]] == 0).all()
    assert 1500 < place.max() < 1 << 11
    ends = np.append(0, np.cumsum(np.bincount(place, (y - p)[order])))
    low, high = np.minimum.accumulate(ends), np.maximum.accumulate(ends)
    largest = max((ends - low).max(), (high - ends).max())
    # Which rows of equal predictions share a sign is drawn, but not that of clusters.
    if clustered:
        spread = np.sqrt(np.sum(np.bincount(members, y - p) ** 2))
        assert found.statistic == pytest.approx(largest / spread, rel=1e-12)
        return
    spread = np.sqrt(np.sum(np.bincount(unit, (y - p)[order]) ** 2))
    assert found.statistic == pytest.approx(largest / spread, rel=0.02)


def test_signs_of_many_rows_part_equal_predictions_at_random():
    """All units have as many rows, of one prediction or of those beside each other."""
    p = np.repeat([0.1, 0.2, 0.3], [10_000, 1, 9_999])
    place, unit = unite_neighbours(p, 100)
    assert np.unique(p[np.append(True, np.diff(place) > 0)]).tolist() == [0.1, 0.2]
    assert np.bincount(unit).tolist() == [200] * 100
    assert (np.unique(unit[:10_000]) == np.arange(50)).all()
    # Rows of equal predictions come in the order of their targets, by which signs must not go.
    assert abs(np.corrcoef(unit[:10_000], np.arange(10_000))[0, 1]) < 4 / 100


@pytest.mark.parametrize("n_values", [1, 2, 10])
def test_many_rows_with_few_distinct_predictions(n_values, rng):
    """All are a tenth too low, which is about ten standard errors of the sum or more."""
    p = rng.integers(1, n_values + 1, 20_000) / n_values
    y = rng.poisson(1.1 * p)
    found = mean_calibration_test(y, p, random_state=0)
    assert found.pvalue <= 0.01
    assert found.statistic == pytest.approx((y - p).sum() / np.sqrt(np.sum((y - p) ** 2)), rel=0.1)
    again = rng.permutation(20_000)
    assert mean_calibration_test(y[again], p[again], random_state=0) == found
    right = mean_calibration_test(rng.poisson(p), p, random_state=0)
    assert right.pvalue > 0.01
