"""The calibration belt: the law of selected likelihood ratios, separation, and bounds."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog, minimize
from scipy.special import expit
from scipy.stats import chi2, norm

from skcal._numerics.curves import _belt
from skcal._numerics.curves._belt import (
    PolynomialLikelihood,
    count_turns,
    exceed_selected,
    find_critical,
    merge_places,
)
from tests.cases import slow_among

QUANTILE = chi2.ppf(0.95, 1)
LAWS = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3)]


@pytest.mark.parametrize(("n_free", "n_selected"), slow_among(LAWS, (1, 2), (2, 2)))
def test_law_is_that_of_drawn_terms(n_free, n_selected):
    rng, n = np.random.default_rng(0), 200_000
    selected = chi2.isf(0.05 * rng.random((n_selected, n)), 1)
    drawn = rng.chisquare(n_free, n) + selected.sum(axis=0)
    for place in np.quantile(drawn, [0.02, 0.5, 0.95, 0.999]):
        share = np.mean(drawn >= place)
        error = 4 * np.sqrt(share * (1 - share) / n)
        assert exceed_selected(place, n_selected, n_free) == pytest.approx(share, abs=error)


@pytest.mark.parametrize(("n_free", "n_selected"), [law for law in LAWS if law[1]])
def test_law_adds_one_selected_term_at_a_time(n_free, n_selected):
    def exceed(t):
        least = (n_selected - 1) * QUANTILE
        reach = max(t - least, QUANTILE)

        def integrand(root):
            rest = exceed_selected(max(t - root**2, least), n_selected - 1, n_free)
            return rest * 2 * norm.pdf(root) / 0.05

        near = quad(integrand, np.sqrt(QUANTILE), np.sqrt(reach), epsabs=0, epsrel=1e-9)[0]
        return near + chi2.sf(reach, 1) / 0.05

    for excess in (1e-6, 0.3, 5.0, 40.0):
        t = n_selected * QUANTILE + excess
        assert exceed_selected(t, n_selected, n_free) == pytest.approx(exceed(t), rel=1e-7)


def test_closed_form_and_ends_of_the_law():
    root = np.sqrt(QUANTILE)
    for t in (4.0, 12.0, 60.0, 600.0):
        ball = np.sqrt(2 / np.pi) * np.exp(-t / 2) * (np.sqrt(t) - root)
        expected = (ball + chi2.sf(t, 1)) / 0.05
        assert exceed_selected(t, 1, 2) == pytest.approx(expected, rel=1e-9)
    for n_free, n_selected in LAWS:
        assert exceed_selected(n_selected * QUANTILE, n_selected, n_free) == pytest.approx(1)
        assert exceed_selected(1e200, n_selected, n_free) == 0
        for level in (0.01, 0.95, 1 - 1e-9):
            critical = find_critical(level, n_selected, n_free)
            tail = exceed_selected(critical, n_selected, n_free)
            assert tail == pytest.approx(1 - level, rel=1e-7)


def test_published_pvalue():
    """Of data that the model was fitted on, from the vignette of givitiR 1.3."""
    assert round(exceed_selected(1.4941, 0, 1), 4) == 0.2216


def test_separation_is_that_of_a_linear_program():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = rng.integers(2, 8)
        positive, negative = rng.integers(0, 2, (2, n))
        positive[(positive == 0) & (negative == 0)] = 1
        basis = np.polynomial.chebyshev.chebvander(np.linspace(-1, 1, n), n - 1)
        sign, is_mixed = np.where(positive, 1, -1), positive & negative > 0
        for degree in range(n):
            sides = sign[:, None] * basis[:, : degree + 1]
            found = linprog(
                -sides[~is_mixed].sum(axis=0),
                A_ub=-sides,
                b_ub=np.zeros(n),
                A_eq=basis[is_mixed][:, : degree + 1] if is_mixed.any() else None,
                b_eq=np.zeros(is_mixed.sum()) if is_mixed.any() else None,
                bounds=(-1, 1),
            )
            assert (found.fun < -1e-7) == (count_turns(positive, negative) <= degree)


def test_loss_of_a_degree_that_separates_is_that_of_the_places():
    log_odds, positive, negative = np.arange(3.0), np.array([0, 1, 3]), np.array([2, 3, 0])
    likelihood = PolynomialLikelihood(log_odds, positive, negative)
    assert count_turns(positive, negative) == 1
    degree, coefficients, loss, _ = likelihood.fit(1)
    assert (degree, coefficients) == (1, None)
    assert loss == pytest.approx(-(np.log(1 / 4) + 3 * np.log(3 / 4)) / 9)


@pytest.mark.parametrize("n_climbs", [0, _belt._MAX_CLIMBS])
@pytest.mark.parametrize(("degree", "n"), [(1, 30), (2, 80), (4, 200)])
def test_bounds_are_those_of_an_independent_optimiser(rng, monkeypatch, degree, n, n_climbs):
    """By Newton's method, and by the profile likelihood where that does not converge."""
    monkeypatch.setattr(_belt, "_MAX_CLIMBS", n_climbs)
    if n_climbs:  # it does converge here
        monkeypatch.setattr(PolynomialLikelihood, "_find_end", lambda *_: np.nan)
    log_odds = np.sort(rng.normal(0, 1.5, n))
    weights = rng.uniform(0.5, 2, n)
    positive = weights * (rng.random(n) < expit(log_odds))
    places, critical = np.array([-2.0, 0.3, 1.7]), 9.0
    likelihood = PolynomialLikelihood(log_odds, positive, weights - positive, places)
    fit = likelihood.fit(degree)
    features = np.polynomial.polynomial.polyvander(log_odds / 2, degree)
    at_places = np.polynomial.polynomial.polyvander(places / 2, degree)

    def compute_deviance(coefficients):
        scores = features @ coefficients
        return 2 * np.sum(weights * np.logaddexp(0, scores) - positive * scores)

    def find_slope(coefficients):
        return 2 * (weights * expit(features @ coefficients) - positive) @ features

    best = minimize(compute_deviance, np.zeros(degree + 1), jac=find_slope, tol=1e-10)
    np.testing.assert_allclose(likelihood.evaluate(fit), at_places @ best.x, atol=1e-5)
    assert 2 * weights.sum() * fit.loss == pytest.approx(best.fun, rel=1e-9)
    limit = {
        "type": "ineq",
        "fun": lambda x: critical - compute_deviance(x) + best.fun,
        "jac": lambda x: -find_slope(x),
    }
    n_rows = np.full(3, weights.sum())
    for side, ends in zip((1, -1), likelihood.bound(fit, critical, n_rows), strict=True):
        for place, end in zip(at_places, ends, strict=True):
            found = minimize(
                lambda x, place=place, side=side: side * place @ x,
                best.x,
                jac=lambda x, place=place, side=side: side * place,
                constraints=limit,
                method="SLSQP",
                options={"ftol": 1e-12, "maxiter": 500},
            )
            assert end == pytest.approx(place @ found.x, abs=1e-5)


def test_merged_places_have_the_same_bounds(rng):
    log_odds = np.sort(rng.normal(-1, 1.5, 20_000))
    positive = (rng.random(20_000) < expit(0.3 + 0.8 * log_odds)).astype(float)
    rows, places = (log_odds, positive, 1 - positive), np.linspace(-6, 4, 5)
    merged = merge_places(*rows)
    assert len(merged[0]) <= 4096
    (low, high), others = (
        likelihood.bound(likelihood.fit(3), 12.0, np.full(5, 2e4))
        for likelihood in (PolynomialLikelihood(*part, places) for part in (rows, merged))
    )
    np.testing.assert_allclose((others - low) / (high - low), [[0] * 5, [1] * 5], atol=1e-6)
