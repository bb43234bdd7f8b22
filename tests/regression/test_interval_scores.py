"""Parts of interval scores and biases: published values, identities, what is refused."""

import numpy as np
import pytest
from scipy import stats

from skcal.regression import (
    Ensemble,
    Quantiles,
    continuous_ranked_probability_score,
    forecast_bias,
    interval_score,
    interval_score_decomposition,
    pinball_loss,
    weighted_interval_score,
    weighted_interval_score_decomposition,
)

# The example of scoringutils 2.2 (R), tests/testthat/test-metrics-quantile.R.
Y = [1, -15, 22]
VALUES = np.array([[-1, 0, 1, 2, 3], [-2, 1, 2, 2, 4], [-2, 0, 3, 3, 4]], dtype=float)
LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([2], [0, 17, 19]),
        ([0, 4], [0.4, 0.6 + 13, 0.6 + 18]),
        ([1, 3], [0.5, 0.25 + 16, 0.75 + 19]),
        ([0, 1, 2, 3, 4], np.divide([0.9, 8.5 + 29.85, 9.5 + 38.35], 2.5)),
    ],
)
def test_values_of_scoringutils(columns, expected):
    """Its tests write |y - m|, a / 2 (u - l) and distances to ends; here median half, as in WIS."""
    levels = np.array(LEVELS)[columns]
    found = [
        weighted_interval_score([y], [row[columns]], quantiles=levels)
        for y, row in zip(Y, VALUES, strict=True)
    ]
    assert found == pytest.approx(expected)


def test_parts_by_hand():
    """Of the first interval of each kind: inside, below and above."""
    found = interval_score_decomposition([1, -2, 9], [[0, 2], [0, 2], [0, 4]], level=0.8)
    assert found == pytest.approx((8 / 3 + 20 / 3 + 50 / 3, 8 / 3, 20 / 3, 50 / 3))
    found = weighted_interval_score_decomposition(Y, VALUES, quantiles=LEVELS)
    assert found.dispersion == pytest.approx((0.4 + 0.5 + 0.6 + 0.25 + 0.6 + 0.75) / 2.5 / 3)
    assert found.overprediction == pytest.approx((8.5 + 13 + 16) / 2.5 / 3)
    assert found.underprediction == pytest.approx((9.5 + 18 + 19) / 2.5 / 3)


@pytest.mark.parametrize("has_median", [True, False])
def test_identities(rng, has_median):
    """Twice the pinball loss; weighted interval scores; parts that add up; order of columns."""
    low = [0.005, 0.025, 0.1, 0.3]
    levels = np.sort([*low, *([0.5] if has_median else []), *(1 - q for q in low)])
    y, weights = rng.normal(size=40).round(1), rng.integers(0, 3, 40)
    values = np.sort(rng.normal(size=(40, len(levels))).round(1), axis=1)
    order = rng.permutation(len(levels))
    levels, values = levels[order], values[:, order]
    options = {"quantiles": levels, "sample_weight": weights}
    parts = weighted_interval_score_decomposition(y, values, **options)
    assert parts.total == weighted_interval_score(y, values, **options) == sum(parts[1:])
    assert parts.total == pytest.approx(2 * pinball_loss(y, values, **options), rel=1e-12)
    scores = np.zeros(4)
    for q in low:
        ends = np.column_stack([values[:, np.isclose(levels, p)] for p in (q, 1 - q)])
        one = {"level": 1 - 2 * q, "sample_weight": weights}
        own = interval_score_decomposition(y, ends, **one)
        assert own.total == interval_score(y, ends, **one) == sum(own[1:])
        scores += q * np.array(own)
    if has_median:
        error = np.average((values[:, np.isclose(levels, 0.5)].T - y)[0].clip(0), weights=weights)
        other = np.average((y - values[:, np.isclose(levels, 0.5)].T)[0].clip(0), weights=weights)
        scores += np.array([error + other, 0, error, other]) / 2
    assert parts == pytest.approx(scores / (4.5 if has_median else 4), rel=1e-12)


def test_many_levels_approach_the_crps():
    levels = (np.arange(400) + 0.5) / 400
    y, law = np.array([0.3, -1.0]), stats.norm([0.0, 1.0], [1.0, 2.0])
    values = law.ppf(levels[:, None]).T
    expected = continuous_ranked_probability_score(y, law)
    assert weighted_interval_score(y, values, quantiles=levels) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("infinite", [[-np.inf, 0, 1], [0, 1, np.inf], [np.inf] * 3, [-np.inf] * 3])
def test_infinite_quantiles_have_an_infinite_score(infinite):
    levels = [0.1, 0.5, 0.9]
    found = weighted_interval_score_decomposition([0.5], [infinite], quantiles=levels)
    assert found.total == np.inf
    assert not np.isnan(found).any()
    rows = {"quantiles": levels, "sample_weight": [0, 1]}
    kept = weighted_interval_score_decomposition([1e308, 1], [infinite, [0, 1, 3]], **rows)
    assert kept == pytest.approx((0.2, 0.2, 0, 0))
    own = interval_score_decomposition([0.5], [infinite[::2]], level=0.8)
    assert own.total == np.inf
    assert not np.isnan(own).any()


@pytest.mark.parametrize(
    ("y", "values", "levels", "expected"),
    [
        (2, [1, 2, 3], [0.1, 0.5, 0.9], 0),
        (2, [0, 1, 2], [0.1, 0.5, 0.9], -0.8),
        (8062, [705.5, 1127, 4006.25, 4341.5, 4709, 4821.996, 5340.5, 5451, 5703.5, 6087.014,
                6329.5, 6341, 6352.5, 6594.986, 6978.5, 7231, 7341.5, 7860.004, 7973, 8340.5,
                8675.75, 11555, 11976.5],
         [0.01, 0.025, *np.arange(1, 20) / 20, 0.975, 0.99], -0.8),
        (10, [1, 5, 9], [0.1, 0.5, 0.9], -1),
        (20 / 3, [2, 6, 10], [0.1, 0.5, 0.9], -0.8),
        (10 / 3, [3, 7, 11], [0.1, 0.5, 0.9], 0.8),
        (0, [4, 8, 12], [0.1, 0.5, 0.9], 1),
        (3, [1, 2, 3, 4], [0.1, 0.3, 0.5, 0.7], 0),
        (6, [1, 2, 3, 4], [0.1, 0.3, 0.5, 0.7], -1),
        (1, [1], [0.5], 0),
    ],
)  # fmt: skip
def test_biases_of_scoringutils(y, values, levels, expected):
    """Of its bias_quantile, from the same file; levels may come in any order."""
    assert forecast_bias([y], Quantiles([values], levels)) == pytest.approx(expected)
    assert forecast_bias([y], Quantiles([values[::-1]], levels[::-1])) == pytest.approx(expected)
    mirrored = Quantiles([np.negative(values)], np.subtract(1, levels))
    assert forecast_bias([-y], mirrored) == pytest.approx(-expected)


def test_bias_of_ensembles_and_distributions(rng):
    """1 - F(y) - F(y-), of the members themselves; members that are missing are left out."""
    members, y = rng.integers(0, 4, (30, 7)).astype(float), rng.integers(0, 4, 30)
    weights = rng.random(30)
    found = forecast_bias(y, Ensemble(members), sample_weight=weights)
    below, up_to = (members < y[:, None]).mean(axis=1), (members <= y[:, None]).mean(axis=1)
    assert found == pytest.approx(np.average(1 - below - up_to, weights=weights))
    padded = np.insert(members, [0, 3], np.nan, axis=1)
    assert forecast_bias(y, Ensemble(padded), sample_weight=weights) == pytest.approx(found)
    rate = rng.random(30) + 1
    expected = 1 - stats.poisson.cdf(y, rate) - stats.poisson.cdf(y - 1, rate)
    assert forecast_bias(y, stats.poisson(rate)) == pytest.approx(expected.mean())
    z = rng.normal(size=30)
    assert forecast_bias(z, ([0.0], [1.0])) == pytest.approx(np.mean(1 - 2 * stats.norm.cdf(z)))


@pytest.mark.parametrize("law", ["ensemble", "poisson", "quantiles"])
def test_right_forecasts_have_bias_zero(law):
    """The mean over all outcomes, by enumeration."""
    if law == "ensemble":  # each of the pooled numbers may be the target
        pooled = np.array([0.0, 1, 1, 2, 5])
        rows = [np.delete(pooled, k) for k in range(5)]
        assert forecast_bias(pooled, Ensemble(rows)) == pytest.approx(0, abs=1e-15)
    elif law == "poisson":
        y = np.arange(60)
        found = forecast_bias(y, stats.poisson(3.0), sample_weight=stats.poisson.pmf(y, 3.0))
        assert found == pytest.approx(0, abs=1e-12)
    else:  # between quantiles with the probabilities of their levels
        values = np.tile([1.0, 2, 4, 8, 9], (6, 1))
        law = Quantiles(values, [0.05, 0.3, 0.5, 0.7, 0.95])
        masses = [0.05, 0.25, 0.2, 0.2, 0.25, 0.05]
        y = [0.0, 1.5, 3, 5, 8.5, 10]
        assert forecast_bias(y, law, sample_weight=masses) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weighted_interval_score([0.0], [[0, 1]], quantiles=[0.1, 0.8]), "1 - q for each"),
        (lambda: weighted_interval_score([0.0], [[1, 0]], quantiles=[0.1, 0.9]),
         "y_quantiles must not cross; they do in 1 of 1 rows"),
        (lambda: weighted_interval_score([0.0], [[1, 0]], quantiles=[0.1] * 2), "must be distinct"),
        (lambda: weighted_interval_score([-1e308], [[1e308] * 2], quantiles=[0.1, 0.9]),
         "The score must be finite"),
        (lambda: interval_score_decomposition([0.0], [[1, 0]]), "they do in 1 of 1 rows"),
        (lambda: forecast_bias([0.0], Quantiles([[0, 1]], [0.1, 0.9])), "must hold 0.5; got"),
        (lambda: forecast_bias([0.0], Quantiles([[1, 0]], [0.1, 0.5])), "must not cross"),
    ],
)  # fmt: skip
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
