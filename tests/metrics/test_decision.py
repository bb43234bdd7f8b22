"""Decisions: elementary scores, net benefit, and the most that recalibration can gain."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import brier_score_loss, log_loss

from skcal._numerics.errors import _decision
from skcal._numerics.recalibration._logistic import fit_logistic
from skcal.metrics import (
    decision_calibration_error,
    decision_calibration_witness,
    elementary_score_curve,
    net_benefit_curve,
)

every_act = pytest.mark.parametrize("act", [">", ">="])
SEEDS = range(25)


def draw(seed):
    """A small sample with ties, weights, and hard or soft labels."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    v = rng.choice(np.arange(6) / 5, n) if seed % 3 == 0 else np.round(rng.random(n), 2)
    y = rng.random(n) if seed % 4 == 1 else (rng.random(n) < v**2).astype(float)
    return y, v, rng.random(n) + 0.01 if seed % 2 else np.ones(n)


def score(y, v, w, t, act=">"):
    """The elementary score by its definition."""
    acts = v > t if act == ">" else v >= t
    return np.average(np.where(acts, t * (1 - y), (1 - t) * y), weights=w)


def loss(y, v, w, t, cut):
    """That of acting from a prediction on."""
    return np.average(np.where(v >= cut, t * (1 - y), (1 - t) * y), weights=w)


@every_act
def test_curves_by_their_definitions(act):
    for seed in SEEDS:
        y, v, w = draw(seed)
        thresholds = np.unique([*np.linspace(0.01, 0.99, 23), *v[(v > 0) & (v < 1)]])
        given = {"sample_weight": w, "thresholds": thresholds, "act": act, "pos_label": 1}
        scores = elementary_score_curve(y, v, **given)
        expected = [score(y, v, w, t, act) for t in thresholds]
        np.testing.assert_allclose(scores.score, expected, rtol=0, atol=1e-14)
        curve, odds = net_benefit_curve(y, v, **given), thresholds / (1 - thresholds)
        np.testing.assert_allclose(curve.thresholds, thresholds, rtol=1e-15)
        for found, acts in (
            (curve.net_benefit, [v > t if act == ">" else v >= t for t in thresholds]),
            (curve.treat_all, np.ones((len(thresholds), 1), bool)),
            (curve.treat_none, np.zeros((len(thresholds), 1), bool)),
        ):
            expected = [
                np.average(chosen * (y - (1 - y) * o), weights=w)
                for chosen, o in zip(acts, odds, strict=True)
            ]
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
        rest = np.average(y, weights=w) - scores.score / (1 - thresholds)
        np.testing.assert_allclose(curve.net_benefit, rest, rtol=1e-12, atol=1e-13)


def test_default_thresholds():
    y, v = [0, 1, 1], [0.5, 0.25, 0.5]
    assert elementary_score_curve(y, v).thresholds.tolist() == [0, 0.25, 0.5, 1]
    assert elementary_score_curve([0, 1], [0, 1]).thresholds.tolist() == [0, 1]
    np.testing.assert_allclose(net_benefit_curve(y, v).thresholds, np.linspace(0.01, 0.99, 99))
    hundredths = np.arange(1, 100) / 100
    for base_rate in (0.1, 0.05, 0.01, 0.004, 1e-5):
        rare = net_benefit_curve([0, 1], [0, base_rate], sample_weight=[1 - base_rate, base_rate])
        t = rare.thresholds
        assert base_rate / 100 < t[0] <= base_rate / 10 * (1 + 1e-9)
        assert set(hundredths) <= set(t)
        # Steps are a tenth of the thresholds at most, and numbers of two digits.
        assert (np.diff(t)[t[:-1] >= 10 * t[0]] <= 0.1 * t[:-1][t[:-1] >= 10 * t[0]] + 1e-12).all()
        assert all(float(f"{one:.1e}") == one for one in t)
    assert net_benefit_curve([0, 0], [0.2, 0.1], labels=[0, 1]).thresholds[0] == 0.01


def test_default_acts_at_the_threshold():
    y, v = [0, 1], [0.5, 0.5]
    assert elementary_score_curve(y, v, thresholds=[0.5]).score == [0.25]
    assert elementary_score_curve(y, v, thresholds=[0.25]).score == [0.125]
    assert net_benefit_curve(y, v, thresholds=[0.5]).net_benefit == [0.0]
    assert net_benefit_curve([1, 1], v, thresholds=[0.5], pos_label=1).net_benefit == [1.0]
    never = net_benefit_curve([1, 1], v, thresholds=[0.5], pos_label=1, act=">")
    assert never.net_benefit == [0.0]


def test_mixtures_of_elementary_scores_are_proper_scores():
    """Integrals of the linear pieces: S_t is a + b t, from the right of one jump to the next."""
    for seed in SEEDS:
        y, v, w = draw(seed)
        y, v = (y > 0.5).astype(int), np.clip(v, 0.01, 0.99)
        given = {"sample_weight": w, "pos_label": 1}
        right, left = (elementary_score_curve(y, v, act=act, **given) for act in (">", ">="))
        low, high = right.thresholds[:-1], right.thresholds[1:]
        start, end = right.score[:-1], left.score[1:]
        brier = 2 * ((start + end) / 2 * (high - low)).sum()
        assert brier == pytest.approx(
            brier_score_loss(y, v, sample_weight=w, pos_label=1), abs=1e-13
        )
        # (a + b t) / (t (1 - t)) = a / t + (a + b) / (1 - t); a = 0 at t = 0, a + b = 0 at t = 1.
        b = (end - start) / (high - low)
        a = start - b * low
        assert a[0] == pytest.approx(0, abs=1e-15)
        assert (a + b)[-1] == pytest.approx(0, abs=1e-15)
        log = (a[1:] * np.log(high[1:] / low[1:])).sum()
        log -= ((a + b)[:-1] * np.log((1 - high[:-1]) / (1 - low[:-1]))).sum()
        assert log == pytest.approx(log_loss(y, v, sample_weight=w, labels=[0, 1]), abs=1e-12)


@pytest.mark.parametrize("seeds", [SEEDS[:8], pytest.param(SEEDS[8:], marks=pytest.mark.slow)])
def test_error_by_brute_force(monkeypatch, seeds):
    """All thresholds that matter and many more, from both sides, and all increasing decisions."""
    for seed in seeds:
        monkeypatch.setattr(_decision, "_CHUNK", 3 if seed % 2 else 1 << 15)
        y, v, w = draw(seed)
        cuts = [*np.unique(v), 2.0]
        means = [
            np.average(y[(v >= low) & (v <= high)], weights=w[(v >= low) & (v <= high)])
            for low in cuts[:-1]
            for high in cuts[:-1]
            if low <= high
        ]
        gains = [
            (score(y, v, w, t, act) - min(loss(y, v, w, t, cut) for cut in cuts)) / max(t, 1 - t)
            for t in [*v, *means, *np.linspace(0, 1, 41)]
            for act in (">", ">=")
        ]
        witness = decision_calibration_witness(y, v, sample_weight=w, pos_label=1)
        assert witness.error == pytest.approx(max(gains), abs=1e-13)
        t = witness.threshold
        best = min(loss(y, v, w, t, cut) for cut in cuts)
        at_threshold = (score(y, v, w, t, witness.act) - best) / max(t, 1 - t)
        assert witness.error == pytest.approx(at_threshold, abs=1e-13)
        value = decision_calibration_error(y, v, sample_weight=w, pos_label=1)
        assert value == witness.error
        assert 0 <= value <= 1


def test_no_increasing_recalibration_gains_more():
    for seed in SEEDS:
        y, v, w = draw(seed)
        rng = np.random.default_rng(seed)
        value = decision_calibration_error(y, v, sample_weight=w, pos_label=1)
        for _ in range(20):
            knots, steps = np.sort(rng.random(4)), np.sort(rng.random(5))
            mapped = steps[np.searchsorted(knots, v)]
            t = rng.choice([*v, *steps, rng.random()])
            gain = score(y, v, w, t) - score(y, mapped, w, t)
            assert gain / max(t, 1 - t) <= value + 1e-13


def test_closed_form_of_a_shrinkage():
    """Mean outcome 1/2 + (v - 1/2) / 2: 0.0252551 at 1 - sqrt(2 / 3) or its mirror image.

    For t <= 1/4 one should act at all v <= t too, which gains the integral of 1/4 + v / 2 - t from
    0 to t, over 1 - t.
    """
    v = (np.arange(200_000) + 0.5) / 200_000
    witness = decision_calibration_witness(0.25 + v / 2, v)
    t = 1 - np.sqrt(2 / 3)
    assert witness.error == pytest.approx((t / 4 - 3 * t**2 / 4) / (1 - t), abs=1e-6)
    assert witness.error == pytest.approx(0.0252551, abs=1e-6)
    assert min(witness.threshold, 1 - witness.threshold) == pytest.approx(t, abs=1e-5)


def test_closed_form_of_a_shift():
    """v uniform on [0, .9], mean outcome v + .1: the best threshold is 1/2."""
    v = np.linspace(0, 0.9, 100_001)
    witness = decision_calibration_witness(v + 0.1, v)
    assert witness.error == pytest.approx(1 / 90, abs=2e-5)
    assert witness.threshold == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize(("v", "threshold", "act"), [(0.3, 0.3, ">"), (0.7, 0.7, ">=")])
def test_closed_form_of_a_constant(v, threshold, act):
    """Acting gains .2 of at most .7 where the threshold is the prediction."""
    witness = decision_calibration_witness([0, 1], [v, v])
    assert witness == (threshold, act, pytest.approx(2 / 7, abs=1e-15))


def test_worst_and_best_forecasts():
    assert decision_calibration_error([0, 0], [1, 1]) == 1
    assert decision_calibration_error([1, 1], [0, 0]) == 1
    assert decision_calibration_witness([0, 1], [0, 1]) == (0.5, ">", 0)


def test_zero_for_calibrated_predictions_only():
    for seed in SEEDS:
        y, v, w = draw(seed)
        mean = np.array([np.average(y[v == value], weights=w[v == value]) for value in v])
        given = {"sample_weight": w, "pos_label": 1}
        assert decision_calibration_error(y, mean, **given) == pytest.approx(0, abs=1e-15)
        moved = np.where(mean < 0.5, mean + 0.01, mean - 0.01)
        assert decision_calibration_error(y, moved, **given) > 1e-5


def test_either_label_may_be_the_positive_one():
    for seed in SEEDS:
        y, v, w = draw(seed)
        one, other = (
            decision_calibration_witness(target, proba, sample_weight=w, labels=[0, 1])
            for target, proba in ((y, v), (1 - y, 1 - v))
        )
        assert one.error == pytest.approx(other.error, abs=1e-13)


def load_dcurves(name):
    """Columns of a file of R's dcurves; the file names its source and licence."""
    return pd.read_csv(Path(__file__).with_name(f"dcurves_{name}.csv"), comment="#")


@pytest.mark.parametrize("model", ["famhistory", "age"])
def test_published_decision_curve(model):
    """All 99 thresholds for 750 patients: a test of 0 and 1, and a logistic regression on age."""
    patients, published = load_dcurves("patients"), load_dcurves("net_benefit")
    y, v = patients["cancer"].to_numpy(), patients[model].to_numpy()
    if model == "age":
        slope, intercept = fit_logistic(v[:, None], y, fit_intercept=True)
        v = expit(slope * v + intercept)
    curve = net_benefit_curve(y, v)
    np.testing.assert_allclose(curve.thresholds, published["threshold"], rtol=1e-15)
    np.testing.assert_allclose(curve.net_benefit, published[model], atol=4e-15)
    np.testing.assert_allclose(curve.treat_all, published["all"], atol=4e-15)
    np.testing.assert_array_equal(curve.treat_none, 0)


def test_curves_of_several_classes_are_those_of_the_confidence():
    y, proba = ["a", "b", "c"], [[0.5, 0.2, 0.3], [0.2, 0.1, 0.7], [0.1, 0.1, 0.8]]
    curve = net_benefit_curve(y, proba, thresholds=[0.25, 0.6])
    expected = net_benefit_curve([1, 0, 1], [0.5, 0.7, 0.8], thresholds=[0.25, 0.6])
    np.testing.assert_array_equal(curve.net_benefit, expected.net_benefit)


def test_treat_all_near_certainty():
    """Where nearly all are positive 1 minus a rounded base rate would have few digits."""
    n, threshold = 10**6 + 1, 1 - 1e-9
    y = np.arange(n) != 7
    curve = net_benefit_curve(y, np.full(n, threshold), thresholds=[threshold])
    odds = Fraction(threshold) / (1 - Fraction(threshold))
    expected = float((n - 1 - odds) / n)
    assert curve.treat_all[0] == pytest.approx(expected, rel=1e-12)
