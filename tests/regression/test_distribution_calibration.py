"""The exact test of predicted distributions: known laws, size, power, what is refused."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from skcal import regression
from skcal._numerics.distributions._regression import measure_uniformity
from skcal._numerics.inference._signed_pit import SignedPIT
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
    assert str(again).startswith("PIT calibration error ")


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


class Only:
    """A distribution whose rows cannot be taken one by one."""

    def cdf(self, x):
        return stats.norm.cdf(x)


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
        ({"clusters": [0, 1]}, "clusters must hold one label for each of the 1 rows; got 2"),
        ({"clusters": [0]}, "clusters must hold at least two clusters"),
        ({"clusters": [0, 0, 1], "y_true": [1.0, 2.0, 3.0], "statistic": lambda y, law: 1.0,
          "distribution": Only()}, "must be a frozen distribution of scipy.stats.*; got Only"),
    ],
)  # fmt: skip
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        distribution_calibration_test(
            **{"y_true": [0.0], "distribution": stats.norm(), "n_resamples": 9} | options
        )


def draw_hub(rng, n_clusters=40, size=8, scale=1.0):
    """Targets of places whose errors are correlated within a date, their forecasts, and dates."""
    date = np.repeat(np.arange(n_clusters), size)
    mean = rng.normal(size=len(date))
    shared = rng.normal(size=n_clusters)[date]
    return rng.normal(mean + 0.9 * shared, 0.19**0.5), (mean, np.full(len(date), scale)), date


def test_size_and_power_of_dependent_hubs(rng):
    """Of 120 samples 5 % are rejected by chance: more than 20 have a probability below 1e-6.

    The test of rows rejects half of them: fewer than 5 of 40 have a probability below 1e-6.
    """
    options = {"n_resamples": 19, "random_state": rng}
    hubs = [draw_hub(rng) for _ in range(120)]
    pvalues = [
        distribution_calibration_test(y, law, clusters=c, **options)[1] for y, law, c in hubs
    ]
    assert np.count_nonzero(np.array(pvalues) <= 0.05) <= 20
    pvalues = [distribution_calibration_test(y, law, **options)[1] for y, law, _ in hubs[:40]]
    assert np.count_nonzero(np.array(pvalues) <= 0.05) >= 5
    y, law, date = draw_hub(rng, n_clusters=100, scale=0.4)
    assert distribution_calibration_test(y, law, clusters=date, **options).pvalue == 0.05


def test_all_signs_of_clusters():
    """Draws are the distances of signed sums, for points and for intervals, by a fine grid."""
    rng = np.random.default_rng(2)
    low = rng.random(12).round(1)
    high = np.where(rng.random(12) < 0.5, low, np.minimum(low + 0.3, 1.0))
    weights, member = rng.random(12), np.repeat(np.arange(4), 3)
    grid = (np.arange(20_000) + 0.5) / 20_000
    width = np.maximum(high - low, 1e-12)
    steps = np.clip((grid[:, None] - low) / width, 0.0, 1.0) - grid[:, None]
    signs = np.array([*product([-1.0, 1.0], repeat=4)]).T
    gaps = (steps * weights / weights.sum()) @ signs[member]
    known = {1: np.abs(gaps).mean(0), 2: np.sqrt((gaps**2).mean(0)), np.inf: np.abs(gaps).max(0)}
    for norm, expected in known.items():
        signed = SignedPIT(low, high, weights, member, norm)
        np.testing.assert_allclose(signed.measure(signs), expected, atol=2e-4)
        plain = measure_uniformity(low, high, weights, norm)
        assert signed.measure(np.ones((4, 1)))[0] == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("kind", ["few", "rare", "function"])
def test_single_rows_of_clusters_where_signs_may_not_hold(kind, rng):
    """Twice the mean of exact p-values: what it says of one row of each cluster is right."""
    y, law, cluster = draw_hub(rng, n_clusters=9 if kind == "few" else 30, size=4)
    statistic, high = "pit_calibration_error", y + 6
    if kind == "rare":
        law, y = stats.poisson(0.05), np.zeros(len(y))
        y[:2], high = [1, 2], np.arange(len(y)) % 2 + 1
    if kind == "function":

        def statistic(y, law):
            return abs(float(regression.interval_coverage(y, law, levels=0.5)[0]) - 0.5)

    options = {"clusters": cluster, "random_state": 0, "n_resamples": 19, "statistic": statistic}
    right = distribution_calibration_test(y, law, **options)
    assert right.pvalue > 0.1
    result = distribution_calibration_test(high, law, **options)
    assert result.pvalue == pytest.approx(0.1)
    assert result.statistic > 2 * result.null_mean
    if kind == "function":
        assert result.estimate == statistic(high, law)
    else:
        assert result.estimate == pit_calibration_error(high, law, norm=2)


@pytest.mark.parametrize("kind", ["poisson", "ensemble", "mixture", "tuple", "one for all"])
def test_functions_of_single_rows_get_their_own_predictions(kind, rng):
    """Rows of a cluster are copies of each other: any one of them is the row itself."""
    y, mean = rng.normal(size=12).round(1), rng.normal(size=12)
    laws = {
        "poisson": lambda rows: stats.poisson(np.exp(mean[rows])),
        "ensemble": lambda rows: Ensemble(np.column_stack([mean, mean + 1, mean - 2])[rows]),
        "mixture": lambda rows: regression.Mixture(
            np.column_stack([mean**2, 1 + 0 * mean])[rows] / (1 + mean[rows, None] ** 2),
            [stats.norm(mean[rows]), stats.norm(0, 2)],
        ),
        "tuple": lambda rows: (mean[rows], np.exp(mean[rows])),
        "one for all": lambda rows: stats.norm(loc=0.3, scale=2),
    }
    y = np.maximum(np.round(y), 0) if kind == "poisson" else y
    twice = np.repeat(np.arange(12), 2)
    options = {"random_state": 0, "n_resamples": 19, "statistic": pit_calibration_error}
    found = distribution_calibration_test(y[twice], laws[kind](twice), clusters=twice, **options)
    one = distribution_calibration_test(y, laws[kind](np.arange(12)), **options)
    assert found == one._replace(estimate=pytest.approx(one.estimate, rel=1e-12))


def test_functions_of_pairs_get_pairs(rng):
    """Of all rows, of single rows of clusters, and of draws."""
    pair, kinds = (rng.normal(size=40), np.exp(rng.normal(size=40))), set()

    def miss(y, law):
        kinds.add(type(law))
        mean, deviation = law
        return float(np.mean(((y - mean) / deviation) ** 2))

    y = rng.normal(*pair)
    options = {"clusters": np.arange(40) // 4, "statistic": miss, "n_resamples": 19}
    found = distribution_calibration_test(y, pair, random_state=0, **options)
    assert kinds == {tuple}
    assert found.estimate == miss(y, pair)


def test_functions_see_rows_that_differ_in_their_predictions_alone(rng):
    """Two rows of a cluster have the same target and rank; their estimate is that of all rows."""
    y, scale = np.zeros(40), np.where(np.arange(40) % 2, 5.0, 0.1)
    members = Ensemble(scale[:, None] * [-1.0, 1.0])
    options = {"statistic": lambda y, law: np.ptp(law.members), "n_resamples": 19}
    clusters = np.arange(40) // 2
    found = distribution_calibration_test(y, members, clusters=clusters, **options)
    assert found.estimate == 10  # of the first rows alone it is 0.2


def test_functions_of_ensembles_with_missing_members(rng):
    """Neither names of clusters nor the order of the rows decide."""
    y, members = rng.normal(size=60), rng.normal(size=(60, 5))
    members[::2, 3:], clusters = np.nan, np.arange(60) // 5
    options = {"statistic": regression.continuous_ranked_probability_score, "n_resamples": 19}
    found, other = (
        distribution_calibration_test(
            y[rows], Ensemble(members[rows]), clusters=names[rows], random_state=0, **options
        )
        for rows, names in ((np.arange(60), clusters), (rng.permutation(60), 7 * clusters % 12))
    )
    assert found.pvalue == other.pvalue
    assert found[:3] == pytest.approx(other[:3])


def test_functions_of_copies_are_estimated_from_all_rows(rng):
    """Each cluster counts once for the test, and as often as it has rows for the estimate."""
    count = np.arange(1, 13)
    y, mean = rng.normal(size=12), rng.normal(size=12)
    rows = np.repeat(np.arange(12), count)

    def miss(y, law):
        return float(np.mean((y - law.mean()) ** 2))

    options = {"statistic": miss, "n_resamples": 19, "random_state": 0}
    found = distribution_calibration_test(
        y[rows], stats.norm(mean[rows], 1), clusters=rows, **options
    )
    one = distribution_calibration_test(y, stats.norm(mean, 1), **options)
    weighted = pytest.approx(np.average((y - mean) ** 2, weights=count))
    assert found == one._replace(estimate=weighted)
