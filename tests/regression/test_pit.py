"""The PIT of all kinds of predictions, and its distance from uniform."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from skcal.regression import (
    Ensemble,
    Quantiles,
    adversarial_group_calibration,
    interval_coverage,
    miscalibration_area,
    pit_calibration_error,
    probability_integral_transform,
)

NORMS = [1, 2, np.inf]
# Each prediction of the targets, and the interval of the PIT of each row.
Y = np.array([0.0, 1.0, 2.5])
KINDS = {
    "binomial": (stats.binom(2, 0.5), [(0, 0.25), (0.25, 0.75), (1, 1)]),
    # Targets among four numbers, themselves one of them.
    "ensemble": (Ensemble([[0, 1, 2]] * 3), [(0, 0.5), (0.25, 0.75), (0.75, 1)]),
    "quantiles": (Quantiles([[0.5, 1.0]] * 3, [0.2, 0.7]), [(0, 0.2), (0.7, 0.7), (0.7, 1)]),
    "equal quantiles": (Quantiles([[1.0, 1.0]] * 3, [0.7, 0.2]), [(0, 0.2), (0.2, 0.7), (0.7, 1)]),
    "normal": ((np.zeros(3), np.ones(3)), np.repeat(stats.norm.cdf(Y)[:, None], 2, axis=1)),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def shares(p, ends, weights):
    """Mean over rows of the share of the interval up to p."""
    inside = [np.clip((p - a) / (b - a), 0, 1) if b > a else float(p >= a) for a, b in ends]
    return np.average(inside, weights=weights)


@every_kind
@pytest.mark.parametrize("weights", [None, [3, 0, 1]])
def test_distance_by_its_definition(kind, weights):
    law, ends = KINDS[kind]
    places = np.unique(ends)

    def gap(p):
        return abs(shares(p, ends, weights) - p)

    for q in (1, 2):
        nodes = np.unique([0, 1, *places])
        integral = sum(
            quad(lambda p, q=q: gap(p) ** q, a, b, limit=200)[0] for a, b in pairwise(nodes)
        )
        value = pit_calibration_error(Y, law, sample_weight=weights, norm=q)
        assert value == pytest.approx(integral ** (1 / q), abs=1e-7)
    grid = np.concatenate([places, places - 1e-12, np.linspace(0, 1, 1001)])
    largest = max(gap(p) for p in np.clip(grid, 0, 1))
    value = pit_calibration_error(Y, law, sample_weight=weights, norm=np.inf)
    assert value == pytest.approx(largest, abs=1e-11)


@every_kind
def test_draws_lie_in_their_interval_and_spread_evenly(kind):
    law, ends = KINDS[kind]
    draws = np.array(
        [
            probability_integral_transform(Y, law, randomized=True, random_state=seed)
            for seed in range(200)
        ]
    )
    low, high = np.transpose(ends)
    assert np.all((draws >= low) & (draws <= high))
    # The mean of 200 uniform draws, five standard errors.
    np.testing.assert_allclose(
        draws.mean(axis=0), (low + high) / 2, atol=5 * (high - low).max() / np.sqrt(12 * 200)
    )
    first = pit_calibration_error(Y, law, randomized=True, random_state=7)
    pit = probability_integral_transform(Y, law, randomized=True, random_state=7)
    assert first == pytest.approx(pit_calibration_error(pit, stats.uniform()))


def test_area_is_the_first_norm(rng):
    u, weights = rng.random(300) ** 2, rng.integers(0, 3, 300)
    for given in (None, weights):
        area = miscalibration_area(u, stats.uniform(), sample_weight=given)
        value = pit_calibration_error(u, stats.uniform(), sample_weight=given)
        assert value == pytest.approx(area, rel=1e-12)
    largest = pit_calibration_error(u, stats.uniform(), norm=np.inf)
    assert largest == pytest.approx(stats.kstest(u, "uniform").statistic, rel=1e-12)
    square = stats.cramervonmises(u, "uniform").statistic / len(u)
    value = pit_calibration_error(u, stats.uniform(), norm=2)
    assert value**2 == pytest.approx(square, rel=1e-10)


def test_worst_of_random_groups(rng):
    """A group of all rows has the error of all; small ones stand out by chance alone."""
    mean, weights = rng.normal(size=300), rng.integers(0, 3, 300)
    y, options = rng.normal(mean), {"group_size": [0.1, 1.0], "random_state": 0}
    right, narrow = (mean, np.ones(300)), (mean, np.full(300, 0.4))
    for law, given in ((right, None), (narrow, weights), (Ensemble(mean[:, None] + [-1, 1]), None)):
        curve = adversarial_group_calibration(y, law, sample_weight=given, norm=2, **options)
        whole = pit_calibration_error(y, law, sample_weight=given, norm=2)
        assert curve.error[1] == pytest.approx(whole, rel=1e-12)
        assert curve.error[0] > whole
    curves = [adversarial_group_calibration(y, law, **options) for law in (right, narrow)]
    assert curves[0].error[0] < 1.5 * curves[0].null_error[0]
    assert np.all(curves[1].error > 1.5 * curves[1].null_error)
    # One row has the mean of |u - p|, at most 1/2, and the worst of many nearly that.
    single = adversarial_group_calibration(y, right, group_size=1e-9, n_groups=99, random_state=0)
    assert 0.47 < single.error[0] <= 0.5


def test_a_normal_with_a_wrong_mean():
    y = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    law = np.full(20_000, 0.7), np.ones(20_000)
    expected = {1: stats.norm.cdf(0.7 / np.sqrt(2)) - 0.5, np.inf: 2 * stats.norm.cdf(0.35) - 1}
    for norm, value in expected.items():
        assert pit_calibration_error(y, law, norm=norm) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("width", [1e-15, 1e-12, 1e-7])
def test_next_to_a_point(width):
    """Intervals that are hardly more than a point neither break nor count."""
    law = Quantiles([[0.0, 0.0]] * 2, [0.5, 0.5 + width])
    assert pit_calibration_error(np.zeros(2), law) == pytest.approx(0.25, abs=1e-7)


def place_targets(pooled):
    """Each number of each row as the target of the others: equally likely if exchangeable."""
    pooled = np.atleast_2d(pooled)
    n = pooled.shape[1]
    others = np.array([np.delete(row, k) for row in pooled for k in range(n)])
    return pooled.ravel(), others


@pytest.mark.parametrize("n_members", [1, 2, 5, 11, 20])
def test_right_ensembles_keep_their_promises(n_members, rng):
    """Over all exchanges of target and members, also with missing ones and with ties."""
    y, members = place_targets(rng.normal(size=(3, n_members + 1)))
    for k in range(1, n_members + 1):
        is_below = y <= Ensemble(members).ppf(k / (n_members + 1))
        assert is_below.mean() == pytest.approx(k / (n_members + 1))
    assert y.mean() == pytest.approx(Ensemble(members).mean().mean())
    at = np.median(members)
    assert np.mean(y <= at) == pytest.approx(Ensemble(members).cdf(at).mean())
    levels = [0.01, 0.3, 0.5, 0.9, 0.99]
    for values, given in (place_targets(rng.integers(3, size=(3, n_members + 1))), (y, members)):
        some = np.insert(given.astype(float), 0, np.nan, axis=1)
        for law in (Ensemble(given), Ensemble(some)):
            np.testing.assert_allclose(interval_coverage(values, law, levels=levels), levels)
            assert pit_calibration_error(values, law) == pytest.approx(0, abs=1e-12)


def test_quantiles_of_ensembles_between_and_beyond_the_members():
    law = Ensemble([[3.0, 1.0, 2.0, 6.0]])
    for q, expected in ((0.2, 1), (0.3, 1.5), (0.7, 4.5), (0.8, 6), (0.4 * (1 + 1e-15), 2)):
        assert law.ppf(q) == pytest.approx(expected, rel=1e-12)
    assert law.ppf((1 - 0.6) / 2) == 1  # however that is rounded
    for q in (0.19, 0.81):
        with pytest.raises(ValueError, match=r"between 0\.2 and 0\.8 for rows of 4 members"):
            law.ppf(q)
    assert Ensemble([[-1e308, 1e308]]).ppf(0.5) == 0


def test_coverage_of_ensembles_and_quantiles():
    y = [0.0, 1.0, 2.5, 9.0]
    members = Ensemble([[0, 1, 2, 3]] * 4)
    # PITs from 0 to .4, .2 to .6, .6 to .8 and .8 to 1, of which .25 to .75 is covered.
    expected = np.mean([0.15 / 0.4, 0.35 / 0.4, 0.15 / 0.2, 0])
    np.testing.assert_allclose(interval_coverage(y, members, levels=[0.5]), [expected])
    quantiles = Quantiles([[0.5, 2.5]] * 4, [0.25, 0.75])
    np.testing.assert_array_equal(interval_coverage(y, quantiles, levels=[0.5]), [0.5])
    with pytest.raises(ValueError, match=r"must hold 0.1; got \[0.25, 0.75\]"):
        interval_coverage(y, quantiles, levels=[0.8])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pit_calibration_error(Y, KINDS["normal"][0], norm=3), "norm must be 1, 2 or"),
        (lambda: probability_integral_transform(Y, KINDS["ensemble"][0]), "Use randomized=True"),
        (lambda: miscalibration_area(Y, KINDS["quantiles"][0]), "or pit_calibration_error"),
        (
            lambda: pit_calibration_error(Y, Quantiles([[1, 0], [0, 1], [1, 0]], [0.2, 0.7])),
            "must not cross; they do in 2 of 3 rows",
        ),
        (lambda: adversarial_group_calibration(Y, KINDS["normal"][0], norm=3), "norm must be 1, 2"),
        (
            lambda: adversarial_group_calibration(Y, KINDS["normal"][0], group_size=[0.5, 0]),
            r"group_size must lie above 0 and up to 1; got \[0.5, 0.0\]",
        ),
        (lambda: Ensemble([[1.0]]).ppf(1.5), "q must lie strictly between 0 and 1; got 1.5"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
