"""The CRPS taken apart: published values, its definition at thresholds, laws, what is refused."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from skcal.metrics import corp_decomposition
from skcal.regression import (
    Ensemble,
    IsotonicDistributionalRegression,
    Quantiles,
    continuous_ranked_probability_score,
    corp_distribution_decomposition,
    corp_regression_decomposition,
    distribution_calibration_test,
)

decompose = corp_distribution_decomposition


def test_values_of_walz():
    """From the case study of Arnold, Walz, Ziegel, Gneiting (2024): yacht, split 1, one Gaussian.

    Data and results, by isodisregSD, are in github.com/evwalz/paper_isocrpsdeco, ML_example; that
    solves its quadratic programs up to 1e-5.
    """
    path = Path(__file__).with_name("walz_yacht_normals.csv")
    y, mean = np.loadtxt(path, delimiter=",", skiprows=1).T
    parts = decompose(y, (mean, np.full(31, 0.37126335756205214)))
    published = [0.307107738259324, 0.256588522452872, 5.94001148138398, 5.99053069719043]
    np.testing.assert_allclose(parts, published, rtol=2e-7)


@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize(
    "family",
    [
        stats.norm,
        pytest.param(stats.laplace, marks=pytest.mark.slow),
        pytest.param(stats.logistic, marks=pytest.mark.slow),
    ],
)
def test_one_shape_is_isotonic_distributional_regression(family, weighted, rng):
    """The order of the predictions is that of their means; far tails have it, too."""
    mean, std = rng.normal(size=25).round(1), 0.01
    y = rng.normal(mean).round(1)
    weights = rng.integers(0, 3, 25) if weighted else None
    parts = decompose(
        y, family(mean, std if family is not stats.logistic else 1.0), sample_weight=weights
    )
    fitted = IsotonicDistributionalRegression().fit(mean[:, None], y, sample_weight=weights)
    law = fitted.predict_distribution(mean[:, None])
    score = continuous_ranked_probability_score(y, law, sample_weight=weights)
    assert parts.score - parts.miscalibration == pytest.approx(score, rel=1e-12)
    climate = continuous_ranked_probability_score(
        y, Ensemble(np.tile(y if weights is None else np.repeat(y, weights), (25, 1))),
        sample_weight=weights,
    )  # fmt: skip
    assert parts.uncertainty == pytest.approx(climate, rel=1e-12)
    # Recalibrated predictions are calibrated.
    again = decompose(y, law, sample_weight=weights)
    np.testing.assert_allclose(again[1:], [0, *parts[2:]], atol=1e-12)


@pytest.mark.parametrize("kind", ["ensemble", "poisson"])
def test_whole_numbers_by_the_sum_over_thresholds(kind, rng):
    rate = np.exp(rng.normal(1, 1, 50))
    y, weights = rng.poisson(rate), rng.integers(1, 4, 50)
    law = stats.poisson(rate) if kind == "poisson" else Ensemble(rng.poisson(rate, (7, 50)).T)
    expected = 0.0
    for t in range(y.max()):
        up_to = law.cdf(t) if kind == "poisson" else np.mean(law.members <= t, axis=1)
        terms = corp_decomposition(y <= t, up_to, sample_weight=weights, labels=[False, True])
        expected += np.array(terms)
    parts = decompose(y, law, sample_weight=weights)
    assert parts.uncertainty == pytest.approx(expected[3], rel=1e-12)
    # Up to the tolerance, because members lie between targets, too.
    assert parts.discrimination == pytest.approx(expected[2], abs=1e-3 * expected[3])
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert parts.score == pytest.approx(total, rel=1e-12)
    # Beyond the targets there is a score, and nothing else.
    assert parts.miscalibration > expected[1] - 1e-3 * expected[3]


def test_thresholds_are_as_many_as_it_takes(rng):
    """Orders that change between the targets, by many more thresholds."""
    mean, std = rng.normal(size=8), np.exp(rng.normal(size=8))
    y = rng.normal(mean, std)
    edges, expected = np.sort(y), 0.0
    for low, high in pairwise(edges):
        for t in low + (high - low) * (np.arange(60) + 0.5) / 60:
            terms = corp_decomposition(y <= t, stats.norm.cdf(t, mean, std))
            expected += (high - low) / 60 * terms.discrimination
    for law in ((mean, std), stats.norm(mean, std)):
        parts = decompose(y, law)
        assert parts.discrimination == pytest.approx(expected, abs=2e-3 * parts.uncertainty)
        assert 0 < parts.miscalibration < parts.score


def test_quantiles_have_their_own(rng):
    y, values, levels = rng.normal(size=30), np.sort(rng.normal(size=(30, 2))), [0.2, 0.7]
    parts = corp_regression_decomposition(y, values, functional="quantile", level=levels)
    np.testing.assert_allclose(decompose(y, Quantiles(values, levels)), 2 * np.array(parts))


def test_one_target_and_what_is_refused():
    parts = decompose([1.0, 1.0], ([0.0, 1.0], [1.0, 2.0]))
    assert parts.score == parts.miscalibration > parts.discrimination == parts.uncertainty == 0
    for law, message in (
        ((np.zeros(3), np.ones(3)), "one distribution for each of the 2"),
        (([0.0, 0.0], [1.0, 0.0]), "must be positive; got 0.0 at row 1"),
        (Quantiles([[1, 0], [0, 1]], [0.2, 1.7]), "strictly between 0 and 1"),
        ([0.0, 1.0], "must have a method cdf"),
    ):
        with pytest.raises(ValueError, match=message):
            decompose([1.0, 2.0], law)
    large = np.array([-1.7e308, 1.7e308])
    with pytest.raises(ValueError, match="y_true must have a finite range"):
        decompose(large, Ensemble(large[:, None]))


@pytest.mark.slow
def test_of_threshold_calibration_is_a_test_of_its_own():
    """Its size, and its power where the PIT of all rows together is uniform."""

    def miscalibration(y, law):
        return decompose(y, law).miscalibration

    rng, rejected = np.random.default_rng(0), np.zeros(3)
    for _ in range(100):
        x = rng.normal(size=50)
        y = rng.normal(x)
        options = {"n_resamples": 19, "random_state": rng}
        right, half = (x, np.ones(50)), (x / 2, np.full(50, np.sqrt(1.25)))
        for place, (law, statistic) in enumerate(
            [(right, miscalibration), (half, miscalibration), (half, "pit_calibration_error")]
        ):
            result = distribution_calibration_test(y, law, statistic=statistic, **options)
            rejected[place] += result.pvalue <= 0.05
    assert rejected[0] / 100 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 100)
    assert rejected[1] > 3 * rejected[2]
