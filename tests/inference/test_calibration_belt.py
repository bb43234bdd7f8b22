"""The GiViTI belt and its test: the choice of the degree, levels, coverage, and separation."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, chi2, kstest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from skcal._estimates import _belt
from skcal._numerics.inference._cox import CoxLikelihood
from skcal.inference import (
    CalibrationBelt,
    calibration_belt,
    calibration_belt_test,
    cox_recalibration,
)
from tests.chance import most_of


def draw_sample(rng, n, *coefficients):
    """Outcomes whose log odds are a polynomial of the predicted ones."""
    log_odds = rng.normal(0, 1.2, n)
    true_odds = np.polynomial.polynomial.polyval(log_odds, coefficients or (0, 1))
    return (rng.random(n) < expit(true_odds)).astype(int), expit(log_odds)


def fit_plainly(y, v, first):
    """Degree and statistic of forward selection, by the logistic regression of scikit-learn."""
    powers = logit(v)[:, None] ** np.arange(1, 5)

    def find_deviance(degree):
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10)
        scores = model.fit(powers[:, :degree], y).decision_function(powers[:, :degree])
        return 2 * np.sum(np.logaddexp(0, scores) - y * scores)

    degree, least = first, find_deviance(first)
    while degree < 4 and least - (wider := find_deviance(degree + 1)) >= chi2.ppf(0.95, 1):
        degree, least = degree + 1, wider
    return degree, -2 * np.sum(np.log(np.where(y, v, 1 - v))) - least


@pytest.mark.parametrize("coefficients", [(0, 1), (0, 1, 0.4), (0, 2, 0, -0.3)])
@pytest.mark.parametrize("data", ["external", "training"])
def test_plain_forward_selection(rng, coefficients, data):
    y, v = draw_sample(rng, 600, *coefficients)
    expected, statistic = fit_plainly(y, v, 1 if data == "external" else 2)
    result, belt = calibration_belt_test(y, v, data=data), calibration_belt(y, v, data=data)
    assert belt.degree == expected
    assert result.statistic == pytest.approx(statistic, rel=1e-6)
    assert result.estimate == pytest.approx(statistic / 1200, rel=1e-6)
    if belt.degree == 1:  # nothing was selected, and it is Cox's test
        assert result[:3] == pytest.approx(cox_recalibration(y, v).test[:3], rel=1e-9)
    assert (belt.low < belt.prob_true).all()
    assert (belt.prob_true < belt.high).all()
    assert (belt.prob_pred[0], belt.prob_pred[-1]) == (v.min(), v.max())
    assert (np.diff(belt.prob_pred) > 0).all()


def test_values_of_givitir():
    """What the vignette of givitiR 1.3 says of 1000 patients in intensive care, of whom 254 died.

    https://cran.r-project.org/web/packages/givitiR/vignettes/givitiR.html; the file has how many
    of its patients had each SAPS II score and died, and the predictions are the formula of
    Le Gall, Lemeshow and Saulnier (1993), doi:10.1001/jama.1993.03510240069035.
    """
    path = Path(__file__).with_name("givitir_saps_counts.csv")
    score, patients, deaths = np.loadtxt(path, delimiter=",", skiprows=1, dtype=int).T
    proba = np.repeat(expit(-7.7631 + 0.0737 * score + 0.9971 * np.log1p(score)), patients)
    y = np.concatenate([np.arange(n, 0, -1) <= d for n, d in zip(patients, deaths, strict=True)])
    result = calibration_belt_test(y, proba)
    assert round(result.statistic, 2) == 51.27
    assert result.pvalue == pytest.approx(6.269563e-10, rel=2e-6)
    belt = calibration_belt(y, proba)
    assert belt.degree == 2
    log_odds = np.polynomial.polynomial.polyval(
        logit(belt.prob_pred), (-0.25342187, 0.67880695, -0.09505753)
    )
    np.testing.assert_allclose(belt.prob_true, expit(log_odds), atol=1e-7)
    for level, published in ((0.8, 0.56), (0.95, 0.60)):
        too_low, too_high = calibration_belt(y, proba, confidence_level=level).find_deviations()
        assert len(too_low) == 0
        assert too_high[:, 0].round(2) == [published]


@pytest.mark.parametrize(
    ("center", "width", "data", "statistic", "pvalue"),
    [
        (14.5, 1, "external", 4.050544896411168, 0.1319578866004818),
        (14.5, 1, "training", 5.00060895325322, 0.02533840219669803),
        (14.9, 1, "external", 1.0003444367399652, 0.606426212985154),
        (14.9, 1, "training", 1.9504084935819606, 0.16254283845468076),
        (
            16,
            2,
            "external",
            63.5575433875876,
            1.5765166949677223e-14,
        ),  # less digits: 1 minus a quadrature
    ],
)
def test_values_of_pycaleva(center, width, data, statistic, pvalue):
    """What pycaleva 0.8.2, another program for this test, says of the breast cancer data."""
    X, benign = load_breast_cancer(return_X_y=True)
    proba = expit((X[:, 0] - center) / width)  # by the mean radius
    result = calibration_belt_test(1 - benign, proba, data=data)
    assert result.statistic == pytest.approx(statistic, rel=1e-10)
    assert result.pvalue == pytest.approx(pvalue, rel=1e-9 if pvalue > 1e-9 else 5e-3)


def test_outcomes_and_levels(rng):
    """Names of the outcomes may be swapped; a higher level is wider."""
    y, v = draw_sample(rng, 300, 0.3, 1, 0.3)
    belt, other = calibration_belt(y, v), calibration_belt(1 - y, 1 - v)
    for name, opposite in (("prob_pred", "prob_pred"), ("prob_true", "prob_true"), ("low", "high")):
        expected = 1 - getattr(belt, opposite)[::-1]
        np.testing.assert_allclose(getattr(other, name), expected, atol=1e-9)
    wide = calibration_belt(y, v, confidence_level=0.99)
    assert (wide.low < belt.low).all()
    assert (wide.high > belt.high).all()
    assert wide.confidence_level == 0.99


def test_regions_that_leave_the_diagonal():
    places = np.array([0.1, 0.2, 0.4, 0.6, 0.9])
    low = np.array([0.15, 0.15, 0.3, 0.7, 0.8])
    belt = CalibrationBelt(places, low + 0.05, low, low + 0.15, 1, 0.95)
    too_low, too_high = belt.find_deviations()
    np.testing.assert_allclose(too_low, [[0.1, 0.15], [0.5, 0.75]])
    assert too_high.shape == (0, 2)
    np.testing.assert_allclose(
        belt._replace(low=0 * low, high=low).find_deviations()[1], [[0.15, 0.5], [0.75, 0.9]]
    )


def test_belt_leaves_the_diagonal_only_where_the_test_rejects(rng):
    outside = []
    for shift in (0.0, 0.2, 0.35, 0.5) * 10:
        y, v = draw_sample(rng, 150, shift, 0.9)
        outside.append(sum(map(len, calibration_belt(y, v).find_deviations())) > 0)
        assert not outside[-1] or calibration_belt_test(y, v).pvalue <= 0.05
    assert 5 < sum(outside) < 35


def test_separated_outcomes(rng):
    """The likelihood ratio has a limit, the belt has none."""
    v = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    result = calibration_belt_test([0, 0, 0, 1, 1, 1], v)
    statistic = -2 * np.log([0.9, 0.8, 0.7, 0.6, 0.7, 0.9]).sum()
    assert result.statistic == pytest.approx(statistic, rel=1e-9)
    with pytest.raises(ValueError, match="of degree 1, separates them"):
        calibration_belt([0, 0, 0, 1, 1, 1], v)
    # Rare at both ends and certain in between.
    v = expit(np.linspace(-3, 3, 60))
    y = ((v > 0.3) & (v < 0.8)).astype(int)
    with pytest.raises(ValueError, match="of degree 2, separates them"):
        calibration_belt(y, v)
    assert calibration_belt_test(y, v).pvalue < 1e-9


def test_a_single_event_is_not_taken_for_a_curve():
    """A parabola separates it wherever it is; one in 400 with predictions of .3 % is no wonder."""
    v, places = np.linspace(0.001, 0.005, 400), np.arange(5, 400, 10)
    pvalues = np.array([calibration_belt_test(np.arange(400) == k, v).pvalue for k in places])
    assert np.average(pvalues <= 0.05, weights=v[places]) < 0.08
    with pytest.raises(ValueError, match=r"at least two rows of each outcome .*'training'"):
        calibration_belt_test(np.arange(400) == 9, v, data="training")


def test_events_with_equal_predictions_count_one_by_one():
    v = np.append(np.linspace(0.05, 0.6, 40), [0.3, 0.3])
    y = np.arange(42) >= 40
    apart = calibration_belt_test(y, np.append(v[:-1], 0.3001))
    tied = calibration_belt_test(y, v)
    assert tied.statistic == pytest.approx(apart.statistic, rel=1e-2)
    assert calibration_belt_test(y, v, data="training").pvalue < 1e-6


def test_bad_input():
    y = [0, 1, 0, 1]
    for v, options, message in (
        ([0.2, 1.0, 0.4, 0.5], {}, "y_proba must lie between 0 and 1, both excluded"),
        ([0.2] * 4, {}, "y_proba must hold at least two different predictions"),
        ([0.2, 0.2, 0.4, 0.4], {"data": "training"}, "at least 3 different .*'training'; got 2"),
    ):
        for function in (calibration_belt, calibration_belt_test):
            with pytest.raises(ValueError, match=message):
                function(y, v, **options)
    assert calibration_belt(y, [0.2, 0.2, 0.4, 0.4]).degree == 1
    with pytest.raises(ValueError, match=r"within a factor of 1e\+12 of each other"):
        calibration_belt(y, [0.2, 0.3, 0.4, 0.5], sample_weight=[1e13, 1, 1, 1])


def test_many_distinct_predictions_are_merged(rng, monkeypatch):
    y, v = draw_sample(rng, 5000, 0.1, 0.9)
    merged = calibration_belt(y, v)
    monkeypatch.setattr(_belt, "_MOST_PLACES", 5000)
    expected = calibration_belt(y, v)
    for name in ("prob_true", "low", "high"):
        np.testing.assert_allclose(getattr(merged, name), getattr(expected, name), atol=1e-8)


@pytest.mark.parametrize("data", ["external", "training"])
def test_pvalues_are_uniform_for_every_degree(rng, data):
    """1 in 20 samples goes beyond the first degree; limits are 5 to 6 standard errors."""
    pvalues, straight, n_samples = [], [], 150
    for _ in range(n_samples):
        y, v = draw_sample(rng, 300)
        if data == "training":
            fitted = CoxLikelihood(v, y, np.ones(300)).fit()
            v = expit(fitted.intercept + fitted.slope * logit(v))
        log_odds, *sums = _belt.sum_by_log_odds(v, y, np.ones(300))
        likelihood = _belt.PolynomialLikelihood(log_odds, *sums[0])
        first = _belt.FIRST_DEGREES[data]
        straight.append(likelihood.choose(first).degree == first)
        pvalues.append(calibration_belt_test(y, v, data=data).pvalue)
    assert n_samples - np.sum(straight) <= most_of(n_samples, 0.06)
    assert np.sum(np.array(pvalues) <= 0.05) <= most_of(n_samples, 0.055)
    assert kstest(np.array(pvalues)[straight], "uniform").pvalue > 1e-7


@pytest.mark.parametrize("coefficients", [(0, 1), (0.3, 0.8), (0, 1, 0.5)])
def test_belt_covers_the_whole_curve(rng, coefficients):
    """`bench_coverage.py` has the shares of 200 samples."""
    missed, n_samples = 0, 20
    for _ in range(n_samples):
        y, v = draw_sample(rng, 600, *coefficients)
        belt = calibration_belt(y, v, confidence_level=0.9)
        truth = expit(np.polynomial.polynomial.polyval(logit(belt.prob_pred), coefficients))
        missed += not ((belt.low <= truth) & (truth <= belt.high)).all()
    assert missed <= most_of(n_samples, 0.1)


@pytest.mark.slow
def test_belts_miss_curves_whose_bend_they_do_not_see():
    """What the Notes say of 0.3 (x^2 - 1): degree 1 misses it, degree 2 holds it."""
    holds, is_straight = [], []
    for seed in range(120):
        rng = np.random.default_rng(1000 + seed)
        log_odds = rng.normal(size=200)
        true_odds = log_odds + 0.3 * (log_odds**2 - 1)
        y = (rng.random(200) < expit(true_odds)).astype(int)
        belt = calibration_belt(y, expit(log_odds))
        x = logit(belt.prob_pred)
        curve = expit(x + 0.3 * (x**2 - 1))
        holds.append(((belt.low <= curve) & (curve <= belt.high)).all())
        is_straight.append(belt.degree == 1)
    holds, is_straight = np.array(holds), np.array(is_straight)
    error = np.sqrt(0.48 * 0.52 / 120)
    assert is_straight.mean() == pytest.approx(0.48, abs=4 * error)
    assert holds.mean() == pytest.approx(0.52, abs=4 * error)
    n_bent = np.count_nonzero(~is_straight)
    assert np.count_nonzero(holds[~is_straight]) >= binom.ppf(0.0005, n_bent, 0.95)


def test_clusters_of_degree_1_have_the_test_of_cox():
    """The likelihood is the same, and so are the rows that tell as much as clusters do."""
    rng, n_compared = np.random.default_rng(0), 0
    for _ in range(10):
        clusters = np.repeat(np.arange(60), rng.integers(1, 8, 60))
        v = rng.uniform(0.05, 0.95, len(clusters))
        y = (
            np.where(rng.random(len(v)) < 0.5, rng.random(60)[clusters], rng.random(len(v))) < v
        ) * 1
        rows = {"clusters": clusters, "sample_weight": rng.uniform(1, 2, len(v))}
        if calibration_belt(y, v, **rows).degree == 1:
            found, cox = calibration_belt_test(y, v, **rows), cox_recalibration(y, v, **rows).test
            assert found.pvalue == pytest.approx(cox.pvalue, rel=1e-6)
            assert found.estimate == pytest.approx(cox.estimate, rel=1e-6)
            n_compared += 1
    assert n_compared >= 5
