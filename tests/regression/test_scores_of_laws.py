"""CRPS of all laws of SciPy, of step functions, and of ensembles that are draws or incomplete."""

from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special, stats
from scipy.integrate import quad
from scipy.stats._distr_params import distcont, distdiscrete  # SciPy's own standard parameters

from skcal.regression import (
    Ensemble,
    continuous_ranked_probability_score,
    corp_distribution_decomposition,
)

score = continuous_ranked_probability_score

# Each value of a cdf of these is an integral, a root or a sum.
SLOW = {
    "dpareto_lognorm",
    "gausshyper",
    "genhyperbolic",
    "geninvgauss",
    "irwinhall",
    "kappa4",
    "ksone",
    "kstwo",
    "levy_stable",
    "norminvgauss",
    "rel_breitwigner",
    "studentized_range",
}
# 1 - F(x) falls like the root of 1 / x.
INFINITE = {"levy", "levy_l"}
# A law on the circle, whose cdf goes on beyond 1.
CIRCULAR = {"vonmises"}
_NOISE = np.random.default_rng(0).random(997)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def _list_laws():
    """Of the usual ones every third is no slow test."""
    for k, (name, shapes) in enumerate(distcont):
        is_usual = name not in (*CIRCULAR, *INFINITE)
        marks = [pytest.mark.slow] * (name in SLOW or (is_usual and k % 3 > 0))
        yield pytest.param(name, shapes, id=f"{name}{shapes}", marks=marks)


def _score_stable(law, y):
    """By the characteristic function f: E|X| is 2 / pi times the integral of (1 - Re f(t)) / t^2.

    SciPy's own quantiles next to 0 and 1 are no knots to integrate between.
    """
    alpha, beta = law.args
    skew = beta * np.tan(np.pi * alpha / 2)

    def integrand(t):
        power = t**alpha
        turned = 2 * np.exp(-power) * np.sin((t * y - skew * power) / 2) ** 2
        return (turned - np.expm1(-power) + np.expm1(-2 * power) / 2) / t**2

    ends = [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 3.0, 10.0]
    parts = [quad(integrand, low, high, epsabs=1e-12)[0] for low, high in pairwise(ends)]
    return 2 / np.pi * (sum(parts) + 1 / (2 * ends[-1]))


def _integrate(law, y):
    """Integral of (F - 1{x >= y})^2 by Gauss and Legendre between 57 quantiles."""
    tails = 10.0 ** -np.arange(2, 13)
    levels = np.concatenate([tails[::-1], np.linspace(0.03, 0.97, 33), [0.5]])
    knots = np.concatenate([law.ppf(levels), law.isf(tails), [y]])
    knots = np.unique(knots[np.isfinite(knots)])
    low, high = knots[:-1, None], knots[1:, None]
    x = low + (high - low) * (_NODES + 1) / 2
    values = np.where(x < y, law.cdf(x), law.sf(x)) ** 2
    return np.sum((high - low) / 2 * values * _WEIGHTS)


@pytest.mark.parametrize(("name", "shapes"), list(_list_laws()))
def test_continuous_laws_by_their_definition(name, shapes):
    law = getattr(stats, name)(*shapes)
    for y in law.ppf([0.2] if name in SLOW else [0.2, 0.9]):
        if name in CIRCULAR:
            with pytest.raises(ValueError, match=r"distribution.* must lie in \[0, 1\]"):
                score([y], law)
        elif name in INFINITE:
            assert score([y], law) == np.inf
        else:
            integrate = _score_stable if name == "levy_stable" else _integrate
            assert score([y], law) == pytest.approx(integrate(law, y), rel=1e-6)


@pytest.mark.parametrize(("name", "shapes"), distdiscrete)
def test_discrete_laws_by_their_masses(name, shapes):
    law = getattr(stats, name)(*shapes)
    low, high = law.support()
    k = np.arange(max(low, -1000), min(high, 20_000) + 1)
    below = np.cumsum(law.pmf(k))
    for y in (law.ppf(0.2), law.ppf(0.9) + 0.25, k[0] - 1.5):
        up_to_y = np.clip(y - k, 0, 1)
        expected = np.sum(up_to_y * below**2 + (1 - up_to_y) * (1 - below) ** 2)
        expected += max(k[0] - y, 0) + max(y - k[-1] - 1, 0)
        assert score([y], law) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("a", [1.6, 2.0, 3.5])
def test_zipf_by_the_zeta_function(a):
    """1 - F(k) is zeta(a, k + 1) / zeta(a), next to (k + 1/2)^(1 - a) / (a - 1) / zeta(a)."""
    n = 100_000
    beyond = special.zeta(a, np.arange(2, n + 1)) / special.zeta(a)
    rest = (n ** (3 - 2 * a) / (2 * a - 3)) / ((a - 1) * special.zeta(a)) ** 2
    expected = np.sum(beyond**2) + rest
    assert score([1.0], stats.zipf(a)) == pytest.approx(expected, rel=1e-7)


def test_yulesimon_by_its_masses():
    """With shape 1 that of k is 1 / (k (k + 1)), and the squares of 1 / (k + 1) sum to this."""
    assert score([1.0], stats.yulesimon(1.0)) == pytest.approx(np.pi**2 / 6 - 1, rel=1e-8)
    beyond = 1 - np.cumsum(stats.yulesimon.pmf(np.arange(1, 10_000), 3.0))
    assert score([1.0], stats.yulesimon(3.0)) == pytest.approx(np.sum(beyond**2), rel=1e-8)


@pytest.mark.parametrize("a", [0.55, 0.7, 1.0, 3.0])
def test_pareto_in_closed_form(a):
    """The integral of (1 - x^-a)^2 up to y, and of x^(-2 a) from there on, cancels in part."""
    y = 3.0
    first = np.log(y) if a == 1 else (y ** (1 - a) - 1) / (1 - a)
    expected = y - 1 - 2 * first + 1 / (2 * a - 1)
    assert score([y], stats.pareto(a)) == pytest.approx(expected, rel=1e-8)


def test_laws_of_many_rows_are_scored_row_by_row():
    y, shape, start = np.array([1.0, 4.0, 30.0]), np.array([1.7, 3.5, 8.0]), np.array([0, 1, -2.0])
    for law in (stats.zipf, stats.poisson, stats.pareto, stats.triang):
        shapes = shape / 10 if law is stats.triang else shape
        alone = [score([a - c], law(b)) for a, b, c in zip(y, shapes, start, strict=True)]
        assert score(y, law(shapes, loc=start)) == pytest.approx(np.mean(alone), rel=1e-8)
    shapes = [0.1, 0.6, 0.7]
    if hasattr(stats, "poisson_binom"):  # SciPy >= 1.15
        alone = score([1.5], stats.poisson_binom(shapes))
        assert score([1.8], stats.poisson_binom(shapes, loc=0.3)) == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize(
    "law",
    [
        pytest.param(stats.pareto(0.5), marks=pytest.mark.slow),
        stats.t(0.4),
        stats.zipf(1.5),
        stats.yulesimon(0.4),
        SimpleNamespace(
            cdf=lambda x: 1 - 1 / np.log(np.maximum(x, np.e)), ppf=lambda q: np.exp(1 / (1 - q))
        ),
    ],
)
def test_infinite_scores(law):
    """Of laws that have no mean, and whose 1 - F is not even square integrable."""
    assert score([1.0], law) == np.inf
    assert score([1.0, 1.0], law, sample_weight=[0.0, 1.0]) == np.inf


def test_a_long_plateau_is_no_heavy_tail():
    """Nearly constant probabilities look like small powers; E|X - 1| - E|X - X'| / 2."""
    p = 5e-5
    expected = (1 - p) ** 2 / (1 - (1 - p) ** 2)
    assert score([1.0], stats.geom(p)) == pytest.approx(expected, rel=1e-7)
    law = stats.rv_discrete(values=([0.0, 1e9 + 0.5], [0.75, 0.25]))
    assert score([0.0], law) == pytest.approx((1e9 + 0.5) / 16, rel=1e-12)


# --------------------------------------------------------------------------- step functions


def _censor(law, low):
    """The law of max(X, low)."""
    return SimpleNamespace(
        cdf=lambda x: np.where(x < low, 0.0, law.cdf(x)), ppf=lambda q: np.maximum(law.ppf(q), low)
    )


def _mix_with_zero(law, share):
    return SimpleNamespace(
        cdf=lambda x: np.where(x < 0, 0.0, share + (1 - share) * law.cdf(x)),
        ppf=lambda q: np.where(
            q <= share, 0.0, law.ppf(np.clip((q - share) / (1 - share), 0.0, 1.0))
        ),
    )


@pytest.mark.parametrize(
    "law",
    [
        _censor(stats.norm(0.3, 1.0), 0.0),
        _censor(stats.norm(-3.0, 1.0), 0.0),
        _censor(stats.norm(4.0, 1.0), 0.1),
        _mix_with_zero(stats.gamma(0.7), 0.4),
        _mix_with_zero(stats.gamma(2.0, scale=3.0), 0.99),
    ],
)
@pytest.mark.parametrize(
    "y",
    [
        pytest.param(-1.5, marks=pytest.mark.slow),
        0.0,
        pytest.param(0.1, marks=pytest.mark.slow),
        2.0,
    ],
)
def test_jumps_in_a_cdf(law, y):
    """Censored at a bound, or rain: the integral from jump to jump."""
    knots = np.unique([min(y, 0.0), 0.0, 0.1, y, 2.0, 8.0, 40.0, 200.0])
    expected = sum(
        quad(lambda x: float(law.cdf(x) - (x >= y)) ** 2, low, high, epsabs=1e-13)[0]
        for low, high in pairwise(knots)
    )
    assert score([y], law) == pytest.approx(expected, rel=1e-7)
    assert score([y] * 3, law) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("n_atoms", [1, 2, 30, pytest.param(200, marks=pytest.mark.slow)])
def test_a_step_function_is_the_ensemble_of_its_atoms(rng, n_atoms):
    atoms = np.sort(rng.normal(size=n_atoms).round(2))
    law = SimpleNamespace(
        cdf=lambda x: np.searchsorted(atoms, x, side="right") / n_atoms,
        ppf=lambda q: atoms[np.ceil(q * n_atoms * (1 - 1e-12)).astype(int) - 1],
    )
    y = np.array([-5.0, atoms[0], 0.1, atoms[-1], 7.0])
    expected = score(y, Ensemble(np.tile(atoms, (5, 1))))
    assert score(y, law) == pytest.approx(expected, rel=1e-9, abs=1e-14)
    values, counts = np.unique(atoms, return_counts=True)
    sample = stats.rv_discrete(values=(values, counts / n_atoms))
    assert score(y, sample) == pytest.approx(expected, rel=1e-9, abs=1e-14)


def _blur(x):
    """A cdf with an error of 1e-4."""
    x = np.asarray(x)
    noise = _NOISE[np.abs(x * 1e7).astype(int) % len(_NOISE)]
    return special.ndtr(x) * (1 + 4e-4 * noise * special.ndtr(-x))


@pytest.mark.parametrize(
    "cdf", [pytest.param(_blur, marks=pytest.mark.slow), lambda x: 0.999 * stats.norm.cdf(x)]
)
def test_a_cdf_that_is_not_accurate_is_refused(cdf):
    with pytest.raises(ValueError, match="a relative error of 1e-08, but its cdf"):
        score([0.3], SimpleNamespace(cdf=cdf, ppf=stats.norm.ppf))


# --------------------------------------------------------------------------- ensembles


@pytest.mark.parametrize("m", [2, 3, 5])
def test_fair_scores_do_not_depend_on_the_number_of_members(m):
    """Over all draws of m members, the expected score is that of the law (Ferro 2014)."""
    values, masses = np.array([-1.0, 0.5, 3.0]), np.array([0.2, 0.5, 0.3])
    law = stats.rv_discrete(values=(values, masses))
    draws = np.array(list(product(range(3), repeat=m)))
    chances = masses[draws].prod(axis=1)
    for y in (-2.0, 0.5, 1.0):
        y_true = np.full(len(draws), y)
        fair = score(y_true, Ensemble(values[draws]), sample_weight=chances, fair=True)
        plain = score(y_true, Ensemble(values[draws]), sample_weight=chances)
        assert fair == pytest.approx(score([y], law), rel=1e-12)
        pairs = masses @ np.abs(np.subtract.outer(values, values)) @ masses
        assert plain - fair == pytest.approx(pairs / (2 * m), rel=1e-12)


def test_fair_scores_by_their_definition(rng):
    members, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    pairs = np.abs(members[:, :, None] - members[:, None]).sum(axis=(1, 2)) / (2 * 6 * 5)
    expected = np.abs(members - y[:, None]).mean(axis=1) - pairs
    assert score(y, Ensemble(members), fair=True) == pytest.approx(expected.mean(), rel=1e-12)
    assert score([0.0], Ensemble([[-1.0, 1.0]]), fair=True) == 0
    assert score([0.5], Ensemble([[0.0, 1.0]]), fair=True) == 0
    assert score([0.0], Ensemble([[-1.0, 0.0, 0.0, 1.0]]), fair=True) < 0.1


@pytest.mark.parametrize("fair", [False, True])
def test_missing_members_make_a_smaller_ensemble(rng, fair):
    members, y = rng.normal(size=(60, 7)), rng.normal(size=60)
    members[rng.random((60, 7)) < 0.3] = np.nan
    members[:, :2] = rng.normal(size=(60, 2))
    rows = [row[~np.isnan(row)] for row in members]
    alone = [score([a], Ensemble([row]), fair=fair) for a, row in zip(y, rows, strict=True)]
    assert score(y, Ensemble(members), fair=fair) == pytest.approx(np.mean(alone), rel=1e-12)
    empty = np.vstack([members, np.full((1, 7), np.nan)])
    with pytest.raises(ValueError, match=r"not NaN.* row 60"):
        score(np.append(y, 0.0), Ensemble(empty), fair=fair)
    with pytest.raises(ValueError, match="members of distribution must be finite; got nan"):
        corp_distribution_decomposition(y, Ensemble(members))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: score([0.0], Ensemble([[1.0]]), fair=True),
            "two that are not NaN.*; got .* at row 0",
        ),
        (lambda: score([0.0], stats.norm(0, 1), fair=True), "False unless .* an Ensemble; got"),
        (lambda: score([0.0], Ensemble([[1.0, 2.0]]), fair="yes"), "fair must be .*; got 'yes'"),
        (lambda: score([0.0], Ensemble([[1.0, -np.inf]])), "finite, or NaN if missing; got -inf"),
        (lambda: score([0.0], stats.zipfian(1.3, 10**9)), "at most 2.20 relevant values"),
        (
            lambda: score([0.0] * 2, stats.zipf([2.0, 3.0, 4.0])),
            "one number for each of the 2 rows",
        ),
        (lambda: score([0.0], stats.zipf(0.5)), "must not give NaN"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_the_decomposition_of_an_infinite_score():
    parts = corp_distribution_decomposition([1.0, 2.0, 3.0], stats.pareto([0.4, 0.5, 3.0]))
    assert parts[0] == parts[1] == np.inf
    assert np.isfinite(parts[2:]).all()
