"""Decision curves up to a horizon, of rows some of which are censored."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from scipy.special import expit

from skcal.diagrams import DecisionCurveDisplay
from skcal.inference import net_benefit_difference
from skcal.metrics import net_benefit_curve
from skcal.survival import at_horizon, pseudo_values
from tests.chance import most_of

THRESHOLDS = np.arange(1, 20) / 20


def draw(rng, n, hazard=1.0, *, kinds=1):
    """Kinds of events, times and true risks of kind 1 up to time 1."""
    risk = expit(-1 + 1.2 * rng.normal(size=n))
    time, kind = rng.exponential(size=n) / -np.log1p(-risk), np.ones(n, dtype=int)
    if kinds == 2:  # half of the rows that would have no event in time have another one
        other = (time > 1) & (rng.random(n) < 0.5)
        time[other], kind[other] = rng.random(other.sum()), 2
    end = rng.exponential(1 / hazard, n) if hazard else np.full(n, np.inf)
    return np.where(time <= end, kind, 0), np.minimum(np.minimum(time, end), 2), risk


def load(name):
    """Columns of a file of dcurves; the file names its source and licence."""
    return pd.read_csv(Path(__file__).with_name(f"dcurves_{name}.csv"), comment="#")


def act_by_threshold(event, time, risk, thresholds, **horizon):
    """Net benefits from the risks of the rows that act, each estimated from these rows alone."""
    found = []
    for t in thresholds:
        y, weight = at_horizon(event, time, strata=risk >= t, **horizon)
        curve = net_benefit_curve(y, risk, sample_weight=weight, thresholds=[t])
        found.append(curve.net_benefit[0])
    return np.array(found)


# --------------------------------------------------------------------------- published values


@pytest.mark.filterwarnings("ignore:Up to 1.5, each row that is left stands for")
@pytest.mark.parametrize(
    ("model", "treat_all", "horizon"), [("marker", "all_one", 1), ("cox", "all_later", 1.5)]
)
def test_published_decision_curve(model, treat_all, horizon):
    """R's dcurves estimates the risk within the rows above each threshold, by Kaplan and Meier.

    With these as a stratum the values are the same. Without strata they lie within the band; 59 and
    71 % of the patients are censored before.
    """
    patients, published = load("survival"), load("survival_net_benefit")
    rows, risk = (patients["cancer"], patients["years"]), patients[model].to_numpy()
    found = act_by_threshold(*rows, risk, published["threshold"], horizon=horizon)
    np.testing.assert_allclose(found, published[model], atol=4e-15)

    y, weight = at_horizon(*rows, horizon=horizon)
    options = {"sample_weight": weight, "thresholds": published["threshold"]}
    curve = net_benefit_curve(y, risk, **options)
    np.testing.assert_allclose(curve.treat_all, published[treat_all], atol=1e-14)
    band = net_benefit_difference(y, risk, "none", **options)
    assert ((band.low <= published[model]) & (published[model] <= band.high)).all()


def test_published_net_benefit_of_a_survival_model():
    """.362 for the model and for all at 23 % is what D. Giardiello and others find for GBSG.

    McLernon and others (2023), doi:10.7326/M22-0844, and 03_predsurv_extended.md of
    https://github.com/danielegiardiello/Prediction_performance_survival
    """
    path = Path(__file__).parents[1] / "inference" / "gbsg_rotterdam_risk.csv"
    days, relapse, risk = np.loadtxt(path, delimiter=",", skiprows=4, unpack=True)
    event, years = relapse * (days <= 5 * 365.25), np.minimum(days / 365.25, 5)
    y, weight = at_horizon(event, years, horizon=5)
    curve = net_benefit_curve(y, risk, sample_weight=weight, thresholds=[0.23])
    np.testing.assert_allclose([*curve.net_benefit, *curve.treat_all], 0.362, atol=5e-4)


# --------------------------------------------------------------------------- what is the same


@pytest.mark.parametrize("baseline", ["all", "none", "model"])
def test_without_censoring_decisions_are_those_about_the_outcomes(baseline):
    event, time, risk = draw(np.random.default_rng(0), 200, hazard=0)
    y, weight = at_horizon(event, time, horizon=1)
    other = risk**1.2 if baseline == "model" else baseline
    found = net_benefit_difference(y, risk, other, sample_weight=weight, thresholds=THRESHOLDS)
    expected = net_benefit_difference(time <= 1, risk, other, thresholds=THRESHOLDS)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("coding", [{}, {"cause": 1}, {"cause": 2}])
def test_rows_that_act_as_a_stratum_have_their_own_risk(coding):
    """That of Kaplan and Meier, or of Aalen and Johansen: the mean of their pseudo-values."""
    kinds = 2 if coding else 1
    event, time, risk = draw(np.random.default_rng(1), 300, kinds=kinds)
    t = np.array([0.1, 0.3, 0.5])
    found = act_by_threshold(event, time, risk, t, horizon=1, **coding)
    odds, expected = t / (1 - t), []
    for one, price in zip(t, odds, strict=True):
        acts = risk >= one
        own = pseudo_values(event[acts], time[acts], horizon=1, **coding).mean()
        expected.append(acts.mean() * (own - price * (1 - own)))
    np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("coding", [{}, {"cause": 1}])
def test_acting_always_has_the_risk_of_all_rows(coding):
    event, time, risk = draw(np.random.default_rng(2), 300, kinds=2 if coding else 1)
    y, weight = at_horizon(event, time, horizon=1, **coding)
    curve = net_benefit_curve(y, risk, sample_weight=weight, thresholds=THRESHOLDS)
    mean = pseudo_values(event, time, horizon=1, **coding).mean()
    expected = mean - THRESHOLDS / (1 - THRESHOLDS) * (1 - mean)
    np.testing.assert_allclose(curve.treat_all, expected, atol=1e-13)


def test_four_rows():
    """One leaves first. The weights of the others are 1, 3/2 and 3/2."""
    y, weight = at_horizon([1, 0, 1, 0], [1, 2, 3, 4], horizon=3)
    curve = net_benefit_curve(y, [0.9, 0.9, 0.5, 0.2], sample_weight=weight, thresholds=[0.2, 0.5])
    np.testing.assert_allclose(curve.net_benefit, [(2.5 - 1.5 / 4) / 4, 2.5 / 4], rtol=1e-14)


def test_displays_draw_curves_and_bands_of_the_same():
    event, time, risk = draw(np.random.default_rng(3), 300)
    y, weight = at_horizon(event, time, horizon=1)
    options = {"sample_weight": weight, "thresholds": THRESHOLDS}
    display = DecisionCurveDisplay.from_predictions(y, risk, **options)
    plt.close(display.figure_)
    found = net_benefit_difference(y, risk, "none", **options)
    np.testing.assert_allclose(display.curves[0].net_benefit, found.difference, atol=1e-14)
    np.testing.assert_allclose(display.bands[0], [found.low, found.high], atol=1e-14)


# --------------------------------------------------------------------------- coverage


@cache
def find_truth(baseline):
    rng, odds = np.random.default_rng(9), THRESHOLDS / (1 - THRESHOLDS)
    risk = np.sort(expit(-1 + 1.2 * rng.normal(size=10**6)))[::-1]
    acting = np.searchsorted(-risk, -THRESHOLDS, side="right")
    hits = np.append(0.0, np.cumsum(risk))[acting]
    found = (hits - odds * (acting - hits)) / len(risk)
    return found - (risk.mean() * (1 + odds) - odds if baseline == "all" else 0)


@pytest.mark.parametrize("kinds", [1, 2])
def test_coverage(kinds):
    """95 % of 300 rows, half of them censored; tables of `benchmarks/` have hundreds of samples."""
    rng, coding, n_samples = np.random.default_rng(0), {"cause": 1} if kinds == 2 else {}, 20
    missed = dict.fromkeys(("none", "all"), 0)
    for _ in range(n_samples):
        event, time, risk = draw(rng, 300, 0.9, kinds=kinds)
        y, weight = at_horizon(event, time, horizon=1, **coding)
        for name in missed:
            options = {"sample_weight": weight, "thresholds": THRESHOLDS}
            found, truth = net_benefit_difference(y, risk, name, **options), find_truth(name)
            slack = 1e-3 * (found.high - found.low)
            inside = (found.low - slack <= truth) & (truth <= found.high + slack)
            missed[name] += not inside.all()
    assert max(missed.values()) <= most_of(n_samples, 0.07)
