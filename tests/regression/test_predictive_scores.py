"""Scores of predictive distributions: closed forms, published values, laws, what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gamma
from sklearn.metrics import mean_pinball_loss

from skcal._numerics.distributions import _predictive_scores
from skcal.regression import (
    Ensemble,
    Mixture,
    MultivariateNormal,
    Quantiles,
    continuous_ranked_probability_score,
    forecast_bias,
    interval_coverage,
    interval_score,
    pinball_loss,
    pit_calibration_error,
)

score = continuous_ranked_probability_score
THREE = stats.norm([[0.0, -2.9, 0.9]], [[0.5, 1.4, 0.7]])
# A target and ten members.
MEMBERS = [-0.6042506, 1.7812118, 0.5863797, 0.7038174, -0.7743998, -0.2751647]
MEMBERS += [1.1863249, 1.2990966, -0.3242982, -0.5968781, 0.9064937]


@pytest.mark.parametrize(
    ("y", "law", "expected"),
    [
        (0.3, stats.beta(0.7, 1.1), 0.0850102437),
        (-3.0, stats.beta(0.7, 1.1, loc=-5.0, scale=9.0), 0.883206751),
        (0.2, stats.gamma(1.1, scale=1 / 0.7), 0.6343718),
        (17.1, stats.logistic(13.8, 3.3), 2.067527),
        (3.1, stats.logistic(4.0, 0.5), 0.5529776),
        (8.0, stats.binom(10, 0.9), 0.6685115),
        (-8.0, stats.binom(10, 0.9), 16.49896),
        (18.0, stats.binom(10, 0.9), 8.498957),
        (3.0, stats.expon(scale=1 / 0.7), 1.20701837),
        (0.3, stats.genextreme(0.0), 0.276440963),
        (0.3, stats.genextreme(-0.7), 0.458044365),
        (0.3, stats.genextreme(0.7), 0.207621488),
        (0.3, stats.genpareto(0.9), 0.6849332),
        (-0.3, stats.genpareto(0.9), 1.209091),
        (0.3, stats.genpareto(-0.9), 0.1338672),
        (-0.3, stats.genpareto(-0.9), 0.6448276),
        (0.4, stats.genpareto(0.0, loc=0.1), 0.281636441),
        (-1.0, stats.truncnorm(-1.4 / 2.2, 14.4 / 2.2, 2.9, 2.2), 3.982434),
        (5.0, stats.hypergeom(20, 7, 12), 0.4469742),
        (-3.0, stats.laplace(), 2.29978707),
        (3.0, stats.loglaplace(1 / 0.9, scale=np.exp(0.1)), 1.16202051),
        (3.0, stats.fisk(1 / 0.9, scale=np.exp(0.1)), 1.13295277),
        (2.0, stats.nbinom(7, 0.8), 0.3834322),
        (1.5, stats.nbinom(2, 0.5), 0.462963),
        (-1.0, stats.nbinom(17, 0.1), 132.0942),
        (2.3, stats.nbinom(11, 11 / 18.3), 3.149218),
        (1.0, stats.poisson(3.0), 1.143447),
        (1.5, stats.poisson(2.3), 0.5001159),
        (-1.0, stats.poisson(1.5), 1.840259),
        (11.1, stats.t(5.2, 13.8, 2.3), 1.658226),
        (0.7, stats.t(4.0), 0.4387929),
        (2.2, stats.uniform(0.1, 3.0), 0.37),
        (0.3, Mixture([1 / 3] * 3, THREE), 0.4510451),
        (0.3, Mixture([0.3, 0.1, 0.6], THREE), 0.2354619),
        (MEMBERS[0], Ensemble([MEMBERS[1:]]), 0.6126602),
        (MEMBERS[0], Ensemble([np.repeat(MEMBERS[1:], range(10))]), 0.4923673),
    ],
)
def test_values_of_scoringrules(y, law, expected):
    """From tests/test_crps.py of scoringrules 0.11, which has them from R's scoringRules."""
    assert score([y], law) == pytest.approx(expected, rel=5e-7)


@pytest.mark.parametrize(
    ("y", "law", "low", "high", "masses", "expected"),
    [
        (0.3, stats.expon(), 0, np.inf, (0.1, 0), 0.2384728),
        (0.3, stats.expon(-2, 3), -2, np.inf, (0.1, 0), 0.6236187),
        (-1.2, stats.expon(-2, 3), -2, np.inf, (0.1, 0), 0.751013),
        (0.7, stats.gamma(0.5, -0.3, 0.5), 0, np.inf, None, 0.5411044),
        (1.8, stats.logistic(-3, 3.3), -5, 4.7, (0.1, 0.15), 1.599721),
        (4.9, stats.logistic(3.5, 2.3), 0, 20, (0, 0), 0.7658979),
        (-0.9, stats.logistic(0.4, 1.1), 0, 1, None, 1.13237),
        (0.9, stats.norm(-2.3, 4.1), -7.3, 1.7, (0, 0.21), 1.422805),
        (1.8, stats.norm(0.4, 1.1), 0, 2, None, 0.8296078),
        (0.9, stats.t(20.1, -2.3, 4.1), -7.3, 1.7, (0, 0.21), 1.423042),
        (-1.0, stats.t(2.9, 3.1, 4.2), 1.5, 17.3, (0, 0), 5.084272),
        (1.8, stats.t(5.4, 0.4, 1.1), 0, 2, None, 0.8028996),
        (0.3, stats.uniform(-1, 3.1), -1, 2.1, (0.3, 0.1), 0.3960968),
        (-17.9, stats.uniform(-15.2, 6.5), -15.2, -8.7, (0.2, 0), 4.086667),
    ],
)
def test_masses_at_both_ends_of_scoringrules(y, law, low, high, masses, expected):
    """From the same file: laws cut at `low` and `high`, what is beyond given or that of the law."""
    below, above = masses or (law.cdf(low), law.sf(high))
    first, inner = law.cdf(low), 1 - below - above
    scale = inner / (law.cdf(high) - first)

    def cdf(x):
        x = np.atleast_1d(x)
        between = below + scale * (law.cdf(x) - first)
        return np.select([x < low, x < high], [0.0, between], 1.0)

    def ppf(q):
        q = np.atleast_1d(q)
        between = law.ppf(np.clip(first + (q - below) / scale, 0, 1))
        return np.where(q <= below, low, np.clip(between, low, high))

    given = SimpleNamespace(cdf=cdf, ppf=ppf)
    assert score([y], given) == pytest.approx(expected, rel=5e-7)


def test_losses_and_intervals_of_scoringrules():
    """From its tests/test_interval.py and tests/test_quantile.py."""
    assert interval_score([0.1], [[0.0, 0.4]], level=0.5) == pytest.approx(0.4)
    assert pinball_loss([0.3], [0.5], quantiles=0.2) == pytest.approx(0.16)
    assert pinball_loss([0.3], [0.1], quantiles=0.2) == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("y", "members", "expected", "fair"),
    [
        (2, [0, 4, 3, 7], 10 / 4 - 44 / 32, 10 / 4 - 44 / 24),
        (3, [1, -1, 2, 4], 8 / 4 - 32 / 32, 8 / 4 - 32 / 24),
        (1, [0, 1, 4, np.nan], 4 / 3 - 16 / 18, 4 / 3 - 16 / 12),
        (4, [2, np.nan, np.nan, np.nan], 2, None),
    ],
)
def test_ensembles_of_scores(y, members, expected, fair):
    """FIRST_TERM less SPREAD_ECDF or SPREAD_FAIR in crps_test_data.py of the package scores 2.3."""
    assert score([y], Ensemble([members])) == pytest.approx(expected)
    if fair is not None:
        assert score([y], Ensemble([members]), fair=True) == pytest.approx(fair)


def test_intervals_of_scores():
    """EXPECTED_WITH_TIME in its quantile_interval_score_test_data.py; quantiles of .1 and .9."""
    rows = zip([12, 14, 32], [(10, 20), (15, 25), (21, 30)], [10, 20, 29], strict=True)
    for y, ends, expected in rows:
        assert interval_score([y], [ends], level=0.8) == pytest.approx(expected)


def test_pinball_losses_of_skpro():
    """The example of its PinballLoss, in skpro/metrics/_pinball.py of skpro 2.14."""
    y, low = np.array([3, -0.5, 2, 7, 2]), np.array([1.25, 0, 1, 4, 0.625])
    columns, levels = np.column_stack([low, 2 * low, 3 * low]), [0.05, 0.5, 0.95]
    losses = [pinball_loss(y, x, quantiles=q) for x, q in zip(columns.T, levels, strict=True)]
    np.testing.assert_allclose(losses, [0.16625, 0.275, 0.09625], rtol=1e-12)
    assert pinball_loss(y, columns, quantiles=levels) == pytest.approx(0.1791666666666667)


def test_intervals_of_mapie():
    """From mapie/tests/test_metrics.py of MAPIE 1.5, which puts crossing ends in order."""
    ends = [[5, 15], [15, 25], [8, 12], [-5, 0]]
    assert interval_score([10] * 4, ends, level=0.9) == pytest.approx(82.25)
    ends = [[4, 6], [6, 9], [9, 10], [8.5, 12.5], [10.5, 12]]
    assert (
        interval_coverage([5, 7.5, 9.5, 10.5, 12.5], Quantiles(ends, [0.1, 0.9]), levels=0.8) == 0.8
    )


def test_values_of_uncertainty_toolbox():
    """From its tests/test_metrics_scoring_rule.py; two scores are means over 99 levels."""
    mean, std, y = np.array([1, 2, 3.0]), np.array([0.1, 0.5, 1]), np.array([1.5, 3, 2])
    assert score(y, (mean, std)) == pytest.approx(0.59080610693, rel=1e-10)
    levels, law = np.linspace(0.01, 0.99, 99), stats.norm(mean, std)
    loss = pinball_loss(y, law.ppf(levels[:, None]).T, quantiles=levels)
    assert loss == pytest.approx(0.29801437323836477, rel=1e-12)
    intervals = [np.column_stack(law.interval(level)) for level in levels]
    scores = [interval_score(y, ends, level=p) for ends, p in zip(intervals, levels, strict=True)]
    assert np.mean(scores) == pytest.approx(3.20755700861995, rel=1e-12)


@pytest.mark.parametrize("s", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_expected_score_of_a_normal_with_a_wrong_scale_and_mean(s, shift):
    """Of Y ~ N(0, 1): E|X - Y| - E|X - X'| / 2, from E|N(m, v)| of a folded normal."""

    def size(m, v):
        z = m / np.sqrt(v)
        return np.sqrt(2 * v / np.pi) * np.exp(-(z**2) / 2) + m * (1 - 2 * stats.norm.cdf(-z))

    expected = size(shift, 1 + s**2) - size(0.0, 2 * s**2) / 2
    y = np.linspace(-9, 9, 2001)  # on which sums of smooth functions are integrals
    law = np.full(len(y), shift), np.full(len(y), s)
    assert score(y, law, sample_weight=stats.norm.pdf(y)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("law", "closed"),
    [
        (stats.logistic(1, 2), lambda y: 2 * ((z := (y - 1) / 2) + 2 * np.log1p(np.exp(-z)) - 1)),
        (stats.expon(scale=2), lambda y: np.where(y > 0, y + 4 * np.exp(-y / 2) - 3, 1 - y)),
        (
            stats.uniform(0, 1),
            lambda y: np.where(abs(y - 0.5) < 0.5, y**2 - y + 1 / 3, np.maximum(-y, y - 1) + 1 / 3),
        ),
        (stats.gamma(0.3), lambda y: _score_gamma(y, 0.3)),
    ],
)
def test_quadrature_has_its_accuracy(law, closed):
    """Closed forms of Jordan, Krueger and Lerch (2019), appendix A."""
    y = np.array([-3.0, 1e-3, 0.4, 1.0, 7.0])
    for target in y:
        assert score([target], law) == pytest.approx(closed(target), rel=1e-8)


def _score_gamma(y, a):
    if y < 0:
        return a - y - gamma(a + 0.5) / (gamma(0.5) * gamma(a))
    first = y * (2 * stats.gamma.cdf(y, a) - 1) - a * (2 * stats.gamma.cdf(y, a + 1) - 1)
    return first - gamma(a + 0.5) / (gamma(0.5) * gamma(a))


def test_heavy_tails():
    """The score of a Cauchy law is finite, though it has no mean: integrated over x."""
    law = stats.cauchy(0, 1)
    sides = [quad(lambda x: law.sf(x) ** 2, low, np.inf)[0] for low in (0.5, -0.5)]
    assert score([0.5], law) == pytest.approx(
        sides[0] + quad(lambda x: law.cdf(x) ** 2, -np.inf, 0.5)[0], rel=1e-7
    )


@pytest.mark.parametrize("law", [stats.norm(1, 2), stats.laplace(1, 2)])
def test_closed_forms_by_their_definition(law):
    for y in (-4.0, 1.0, 1.5, 9.0):
        below = quad(lambda x: law.cdf(x) ** 2, -np.inf, y)[0]
        expected = below + quad(lambda x: law.sf(x) ** 2, y, np.inf)[0]
        assert score([y], law) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("law", [stats.binom(4, 0.3), stats.randint(0, 66)])
def test_discrete_laws_by_their_definition(law):
    y = np.array([0.0, 2.0, 2.25, 70.0, -1.5])
    k, mass = np.arange(66), law.pmf(np.arange(66))
    pairs = mass @ np.abs(np.subtract.outer(k, k)) @ mass / 2
    expected = np.abs(np.subtract.outer(y, k)) @ mass - pairs
    for target, value in zip(y, expected, strict=True):
        assert score([target], law) == pytest.approx(value, abs=1e-13)
    assert score(y, law) == pytest.approx(expected.mean())


@pytest.mark.parametrize("start", [0.1, 0.3, 0.4, 0.7, 1e9 + 0.1])
def test_discrete_laws_may_start_anywhere(start):
    """Points of the lattice are rounded to either side of the jumps."""
    expected = score([2.5], stats.poisson(3))
    assert score([start + 2.5], stats.poisson(3, loc=start)) == pytest.approx(expected, rel=1e-6)
    if start < 1:
        values, mass = np.arange(3), [0.2, 0.5, 0.3]
        expected = score([1.2], stats.rv_discrete(values=(values, mass)))
        law = stats.rv_discrete(values=(values + start, mass))
        assert score([start + 1.2], law) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("law", [stats.genlogistic(0.5), stats.moyal()])
def test_laws_without_quantiles_from_above(law):
    """SciPy's own are infinite next to 0."""
    expected = quad(lambda x: law.cdf(x) ** 2, -50, 1.2)[0]
    expected += quad(lambda x: law.sf(x) ** 2, 1.2, 100)[0]
    assert score([1.2], law) == pytest.approx(expected, rel=1e-6)


def test_rows_of_weight_zero_are_absent():
    y, weights = [1e308, 1.0], [0.0, 2.0]
    assert score(y, ([-1e308, 0.0], [1.0, 1.0]), sample_weight=weights) == score(
        [1.0], ([0.0], [1.0])
    )
    assert pinball_loss(y, [-1e308, 0.0], quantiles=0.5, sample_weight=weights) == 0.5
    ends = [[-1e308, -1e308], [0.0, 2.0]]
    assert interval_score(y, ends, level=0.5, sample_weight=weights) == 2


@pytest.mark.parametrize("block", [1 << 20, 20])
def test_ensembles_by_their_definition(rng, monkeypatch, block):
    monkeypatch.setattr(_predictive_scores, "_BLOCK", block)  # two rows at a time
    members, y = rng.normal(size=(50, 7)).round(1), rng.normal(size=50).round(1)
    pairs = np.abs(members[:, :, None] - members[:, None]).mean(axis=(1, 2)) / 2
    expected = np.abs(members - y[:, None]).mean(axis=1) - pairs
    weights = rng.integers(0, 3, 50)
    assert score(y, Ensemble(members)) == pytest.approx(expected.mean(), rel=1e-13)
    value = score(y, Ensemble(members), sample_weight=weights)
    assert value == pytest.approx(np.average(expected, weights=weights), rel=1e-13)
    # A single member is a number, and what both have in common cancels.
    assert score(y, Ensemble(members[:, :1])) == np.abs(y - members[:, 0]).mean()
    assert score([1e15 + 1], Ensemble([[1e15, 1e15 + 2]])) == 0.5


def test_mixtures_and_one_component(rng):
    y, loc, scale = rng.normal(size=5), rng.normal(size=(5, 2)), rng.uniform(0.3, 3, (5, 2))
    weights = np.array([0.3, 0.7])
    mixture = Mixture(weights, stats.norm(loc, scale))

    def square(x, row):
        return (weights @ stats.norm.cdf(x, loc[row], scale[row]) - (x >= y[row])) ** 2

    expected = [quad(square, -30, 30, args=(k,), points=[t])[0] for k, t in enumerate(y)]
    assert score(y, mixture) == pytest.approx(np.mean(expected), rel=1e-6)
    alone = Mixture([1.0], [stats.norm(loc[:, 0], scale[:, 0])])
    assert score(y, alone) == pytest.approx(score(y, (loc[:, 0], scale[:, 0])), rel=1e-12)


def test_all_ways_to_write_a_normal_law_agree(rng):
    y, loc, scale = rng.normal(size=30), rng.normal(size=30), rng.uniform(0.3, 3, 30)
    law = stats.norm(loc, scale)
    value = score(y, (loc, scale))
    assert score(y, law) == value
    given = SimpleNamespace(cdf=law.cdf, icdf=law.ppf)  # integrated
    assert score(y, given) == pytest.approx(value, rel=1e-8)
    levels = (np.arange(2000) + 0.5) / 2000
    quantiles = law.ppf(levels[:, None]).T
    assert score(y, Quantiles(quantiles, levels)) == pytest.approx(value, rel=1e-3)
    assert score(y, Ensemble(quantiles)) == pytest.approx(value, rel=1e-3)


def test_pinball_loss_and_interval_score_by_those_of_others(rng):
    y, columns = rng.normal(size=40), np.sort(rng.normal(size=(40, 3)), axis=1)
    weights, levels = rng.integers(0, 3, 40), [0.1, 0.5, 0.9]
    expected = [
        mean_pinball_loss(y, column, alpha=level, sample_weight=weights)
        for column, level in zip(columns.T, levels, strict=True)
    ]
    value = pinball_loss(y, columns, quantiles=levels, sample_weight=weights)
    assert value == pytest.approx(np.mean(expected), rel=1e-12)
    assert score(y, Quantiles(columns, levels), sample_weight=weights) == pytest.approx(2 * value)
    ends = columns[:, [0, 2]]
    both = pinball_loss(y, ends, quantiles=[0.1, 0.9])
    assert interval_score(y, ends, level=0.8) == pytest.approx(2 / 0.2 * 2 * both, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: score([0.0], ([0.0], [0.0])), "standard deviation .* be positive; got 0.0 at row"),
        (lambda: score([0.0], ([0.0],)), "must hold these two; got 1 elements"),
        (lambda: score([0.0], ([0.0], [np.nan])), "must be finite; got nan"),
        (lambda: score([0.0] * 2, ([0.0] * 3, [1.0] * 3)), "one distribution for each of the 2"),
        (lambda: score([0.0], MultivariateNormal([[0.0]], [[[1.0]]])), "must have a method cdf"),
        (lambda: score([0.0], Mixture([1.0], [stats.laplace()])), "must have normal components"),
        (lambda: score([0.0], stats.poisson(1e10)), "at most 2.20 relevant values"),
        (lambda: score([0.0] * 2, Ensemble([[1.0]])), "for each of the 2 rows .* got 1"),
        (lambda: score([0.0], Ensemble([1.0])), r"\(n_samples, n_members\).*; got shape \(1,\)"),
        (lambda: score([0.0], Ensemble([[np.inf]])), "members of distribution must be finite"),
        (lambda: score([0.0], Quantiles([[np.nan]], [0.5])), "must not hold NaN; got"),
        (lambda: score([0.0], Quantiles([[0.0]], [1.5])), "must lie strictly between 0 and 1"),
        (lambda: score([1.7e308], (-1.7e308, 1.0)), "The score must be finite"),
        (lambda: interval_score([0.0] * 2, [[1, 0], [0, 1]]), "they do in 1 of 2 rows"),
        (lambda: interval_score([0.0], [0, 1]), r"must have shape \(1, 2\).*; got \(2,\)"),
        (lambda: interval_score([0.0], [[0, 1]], level=0), "strictly between 0 and 1; got 0"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("end", [np.inf, -np.inf])
def test_infinite_predictions_have_an_infinite_score(end):
    """Conformal methods give them where rows are few; rows of weight zero count for nothing."""
    for weights, expected in (([1, 1], np.inf), ([1, 0], None)):
        options = {"sample_weight": weights}
        quantiles = {"quantiles": [0.1, 0.9]} | options
        found = pinball_loss([0.0, 1.0], [[0, 1], [0, end]], **quantiles)
        assert found == expected or found == pinball_loss([0.0], [[0, 1]], quantiles=[0.1, 0.9])
        interval = sorted([0, end])
        found = interval_score([0.0, 1.0], [[0, 1], interval], **options)
        assert found == expected or found == interval_score([0.0], [[0, 1]])
        law = Quantiles([[0, 1], interval], [0.1, 0.9])
        found = score([0.0, 1.0], law, **options)
        assert found == expected or found == score([0.0], Quantiles([[0, 1]], [0.1, 0.9]))
    assert interval_score([0.0], [[-np.inf, np.inf]]) == np.inf
    with pytest.raises(ValueError, match="y_interval must not hold NaN"):
        interval_score([0.0], [[0.0, np.nan]])
    with pytest.raises(ValueError, match="The score must be finite"):
        interval_score([0.0], [[-1.7e308, 1.7e308]])


@pytest.mark.parametrize(
    ("y", "members", "weights", "expected"),
    [
        (
            0,
            np.linspace(-5, 5, 1000),
            stats.norm.pdf(np.linspace(-5, 5, 1000)),
            0.23370047937569616,
        ),
        (1, [2, 0], [0.5, 0.5], 0.5),
        (1, [0, 2], [0.8, 0.2], 0.64 + 0.04),
        (1.5, [0, 2], [8, 2], 0.64 * 1.5 + 0.04 * 0.5),
        (1, [-1, 3], [0.5, 0.5], 1),
        (1, [0, 2], [1, 0], 1),
        (1.5, [0, 1, 2], [1, 1, 1], 1 / 9 + 4 / 9 * 0.5 + 1 / 9 * 0.5),
        (-1, [0, 1, 2], [1, 1, 1], 1 + 1 / 9 + 4 / 9),
        (2.5, [0, 1, 2], [1, 1, 1], 4 / 9 + 1 / 9 + 0.5),
        (1, [0, 1, 2, 3], [0.25] * 4, 3 / 8),
    ],
)
def test_weighted_members_of_properscoring(y, members, weights, expected):
    """The first is crps_ensemble in its README; the others are in properscoring/tests/test_crps.py.

    Weights may be those of all rows or of each, and missing members have none.
    """
    weights = np.array(weights)
    for given in (weights, 1e300 * weights[None], 1e-300 * weights):
        assert score([y], Ensemble([members], given)) == pytest.approx(expected, rel=1e-11)
    padded = Ensemble([[np.nan, *members]], [7.0, *weights])
    assert score([y], padded) == pytest.approx(expected, rel=1e-11)


def test_whole_weights_are_copies_of_members(rng, monkeypatch):
    """In the score, the bias, the cdf, mean and standard deviation; a few rows at a time."""
    monkeypatch.setattr(_predictive_scores, "_BLOCK", 20)
    members, y = rng.normal(size=(9, 5)).round(1), rng.normal(size=9).round(1)
    counts, masses = np.array([1, 0, 3, 2, 1]), rng.random(9)
    copies, weighted = Ensemble(np.repeat(members, counts, axis=1)), Ensemble(members, counts)
    by_row = Ensemble(members, np.outer(rng.random(9) + 0.1, counts))
    for one in (weighted, by_row):
        for measure in (score, forecast_bias):
            expected = measure(y, copies, sample_weight=masses)
            assert measure(y, one, sample_weight=masses) == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(one.cdf(y), copies.cdf(y))
        np.testing.assert_allclose(one.mean(), copies.mean())
        np.testing.assert_allclose(one.std(), copies.std())


@pytest.mark.parametrize(
    ("weights", "call", "message"),
    [
        ([1, -1], score, "weights of distribution must not be negative; got -1"),
        ([1, np.nan], score, "weights of distribution must be finite"),
        ([1, 2, 3], score, r"must have shape \(1, 2\), or \(2,\) for all rows; got \(3,\)"),
        ([0, 0], score, "positive for a member of each row that is not NaN; row 0 has none"),
        ([1, 2], lambda y, law: score(y, law, fair=True), "fair must be False if members have w"),
        ([1, 2], interval_coverage, "weights of distribution must be None"),
        ([1, 2], pit_calibration_error, "weights of distribution must be None"),
        ([1, 2], lambda y, law: law.ppf(0.5), "weights of the ensemble must be None"),
    ],
)
def test_weights_of_members_that_are_refused(weights, call, message):
    with pytest.raises(ValueError, match=message):
        call([0.0], Ensemble([[0.0, 1.0]], weights))
