"""The exact test of predicted distributions: known laws, size, power, what is refused."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from skcal import regression
from skcal.regression import (
    Ensemble,
    Quantiles,
    distribution_calibration_test,
    pit_calibration_error,
)

N_DRAWS = 1999
# Five standard errors of a p-value from so many draws.
ERROR = 5 * np.sqrt(0.25 / N_DRAWS)


@pytest.mark.parametrize("power", [1.0, pytest.param(1.3, marks=pytest.mark.slow)])
def test_pvalues_of_kolmogorov_and_of_cramer(power, rng):
    u = rng.random(60) ** power
    known = {np.inf: stats.kstest(u, "uniform", mode="exact").pvalue}
    known[2] = stats.cramervonmises(u, "uniform").pvalue
    for norm, expected in known.items():
        options = {"norm": norm, "n_resamples": N_DRAWS, "random_state": 0}
        result = distribution_calibration_test(u, stats.uniform(), **options)
        assert result.pvalue == pytest.approx(expected, abs=ERROR)
        assert result.statistic == pit_calibration_error(u, stats.uniform(), norm=norm)
    again = distribution_calibration_test(u, stats.uniform(), n_jobs=2, **options)
    assert again == result


@pytest.mark.parametrize(
    "statistic",
    ["pit_calibration_error", pytest.param(pit_calibration_error, marks=pytest.mark.slow)],
)
def test_all_outcomes_of_a_coin(statistic):
    """Of four rows of a fair coin the statistic has three values; their shares are binomial."""
    law, n_draws = stats.bernoulli(0.5), 399
    for n_heads, expected in ((0, 2 / 16), (1, 10 / 16), (2, 1.0)):
        options = {"n_resamples": n_draws, "random_state": 0, "statistic": statistic}
        result = distribution_calibration_test(np.arange(4.0) < n_heads, law, **options)
        assert result.pvalue == pytest.approx(expected, abs=5 * np.sqrt(0.25 / n_draws))


@pytest.mark.parametrize("statistic", ["pit_calibration_error", regression.interval_coverage])
def test_missing_members_make_a_smaller_ensemble(statistic, rng):
    """The same draws as without a column of NaN, and some rows with fewer members."""
    y, members = rng.normal(size=30), rng.normal(size=(30, 4))

    def measure(y, law):
        return float(statistic(y, law, levels=0.5)[0])

    options = {"statistic": measure if callable(statistic) else statistic}
    options |= {"n_resamples": 99, "random_state": 0}
    whole = distribution_calibration_test(y, Ensemble(members), **options)
    padded = np.insert(members, [0, 2], np.nan, axis=1)
    assert distribution_calibration_test(y, Ensemble(padded), **options) == whole
    members[::2, 1:3] = np.nan
    odd, even = (y[k::2] for k in (1, 0))
    result = distribution_calibration_test(y, Ensemble(members), **options)
    assert 0 < result.pvalue <= 1
    if callable(statistic):
        parts = [
            measure(even, Ensemble(members[::2, [0, 3]])),
            measure(odd, Ensemble(members[1::2])),
        ]
        assert result.statistic == pytest.approx(np.mean(parts))


def test_all_exchanges_of_targets_and_members():
    """Each of the three numbers of a row may be its target: 27 samples are equally likely."""
    pooled = np.array([[4.0, 0, 1], [2.5, 2, 5], [7, 3, 3.5]])
    options = {"n_resamples": N_DRAWS, "random_state": 0}

    def statistic(y, law):
        return abs(float(np.mean(y - np.mean(law.members, axis=1))))

    target, law = pooled[:, 0], Ensemble(pooled[:, 1:])
    result = distribution_calibration_test(target, law, statistic=statistic, **options)
    values = []
    for places in product(range(3), repeat=3):
        drawn = pooled[range(3), places]
        values.append(statistic(drawn, Ensemble((pooled.sum(axis=1) - drawn)[:, None] / 2)))
    assert result.statistic == statistic(target, law)
    exact = np.mean(np.array(values) >= result.statistic - 1e-9)
    assert result.pvalue == pytest.approx(exact, abs=ERROR)
    assert result.null_mean == pytest.approx(
        np.mean(values), abs=5 * np.std(values) / np.sqrt(N_DRAWS)
    )


def draw_rows(kind, rng):
    """Targets that the predictions are right for, and the predictions."""
    mean = rng.normal(size=20)
    if kind == "poisson":
        rate = np.exp(mean)
        return rng.poisson(rate), stats.poisson(rate)
    pooled = rng.normal(mean[:, None], 1.0, (20, 5)).round(1)
    if kind == "ensemble":
        return pooled[:, 0], Ensemble(pooled[:, 1:])
    levels = [0.2, 0.5, 0.9]
    values = mean[:, None] + stats.norm.ppf(levels)
    return rng.normal(mean), Quantiles(values, levels)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["poisson", "ensemble", "quantiles"])
@pytest.mark.parametrize("statistic", ["pit_calibration_error", regression.interval_coverage])
def test_size(kind, statistic, rng):
    if callable(statistic):
        if kind == "quantiles":
            return

        def statistic(y, law):
            return abs(float(regression.interval_coverage(y, law, levels=0.5)[0]) - 0.5)

    options = {"statistic": statistic, "n_resamples": 19}
    pvalues = [
        distribution_calibration_test(*draw_rows(kind, rng), random_state=rng, **options).pvalue
        for _ in range(1500)
    ]
    for level in (0.05, 0.2, 0.5):
        share = np.mean(np.array(pvalues) <= level + 1e-9)
        assert share <= level + 4 * np.sqrt(level * (1 - level) / 1500)


@pytest.mark.parametrize("kind", ["poisson", "ensemble", "quantiles"])
def test_wrong_predictions_stand_out(kind, rng):
    y, law = draw_rows(kind, rng)
    options = {"n_resamples": 99, "random_state": 0}
    assert distribution_calibration_test(y, law, **options).pvalue > 0.01
    result = distribution_calibration_test(y + 3, law, **options)
    assert result.pvalue == 0.01
    assert result.statistic == result.estimate > 2 * result.null_mean


def test_weights_are_those_of_the_measure(rng):
    u, weights = rng.random(50), rng.integers(0, 4, 50)
    options = {"sample_weight": weights, "norm": 1}
    result = distribution_calibration_test(u, stats.uniform(), n_resamples=9, **options)
    assert result.statistic == pit_calibration_error(u, stats.uniform(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statistic": "ece"}, 'statistic must be "pit_calibration_error" or a function; got'),
        ({"statistic": lambda y, law: np.nan}, "statistic must return a finite float; got nan"),
        ({"statistic": lambda y, law: 1.0, "sample_weight": [1.0]}, "sample_weight must be None"),
        ({"statistic": pit_calibration_error, "distribution": Quantiles([[0.0]], [0.5])},
         "must not be Quantiles"),
        ({"norm": 3}, "norm must be 1, 2 or numpy.inf; got 3"),
        ({"n_resamples": 0}, "n_resamples must be at least 1"),
    ],
)  # fmt: skip
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        distribution_calibration_test(
            **{"y_true": [0.0], "distribution": stats.norm(), "n_resamples": 9} | options
        )
