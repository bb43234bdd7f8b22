"""Gain of recalibration: exact expectations, samples of known populations, and single rows."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logit, rel_entr, softmax
from scipy.stats import binom

from skcal.metrics import calibration_decomposition
from skcal.recalibration import (
    BaseRecalibrator,
    IsotonicRecalibration,
    PlattScaling,
    TemperatureScaling,
)
from skcal.refinement import _recalibration_gain as module
from skcal.refinement import brier_refinement, log_loss_refinement, recalibration_gain

# Conditional probabilities given uniform predictions.
POPULATIONS = {
    "calibrated": lambda v: v,
    "slope .8": lambda v: 0.1 + 0.8 * v,
    "slope .5": lambda v: 0.25 + 0.5 * v,
    "temperature 2": lambda v: expit(logit(v) / 2),
}
GRID = (np.arange(10**5) + 0.5) / 10**5


def draw(rng, n, find_rate):
    v = rng.random(n)
    return (rng.random(n) < find_rate(v)).astype(int), v


def diverge(rate, v, loss):
    """Calibration error of the loss at predictions v."""
    if loss == "brier":
        return (rate - v) ** 2
    return rel_entr(rate, v) + rel_entr(1 - rate, 1 - v)


class Truth(BaseRecalibrator):
    """Learns nothing but knows the conditional probabilities of a temperature of 2."""

    def _fit(self, scores, codes, sample_weight):
        pass

    def _recalibrate(self, scores):
        rate = expit(logit(scores[:, 1]) / 2)
        return np.column_stack([1 - rate, rate])


class Rate(Truth):
    """Learns the base rate, quickly, and moves probabilities half of the way to it."""

    def _fit(self, scores, codes, sample_weight):
        self.rate_ = (codes.sum() + 1) / (len(codes) + 2)

    def _recalibrate(self, scores):
        rate = (scores[:, 1] + self.rate_) / 2
        return np.column_stack([1 - rate, rate])


class Reverse(Truth):
    """Gives each class the probability of the one on the other side."""

    def _recalibrate(self, scores):
        return scores[:, ::-1].copy()


@pytest.mark.parametrize(
    ("recalibrator", "loss"),
    [
        pytest.param(Rate(), "brier", marks=pytest.mark.slow),
        (Truth(), "log"),
        pytest.param(Rate(), "log", marks=pytest.mark.slow),
        pytest.param(Truth(), "brier", marks=pytest.mark.slow),
    ],
)
def test_expected_gains_over_all_labels_of_eight_rows(recalibrator, loss, monkeypatch):
    """No round has a mean above the calibration error; the best map reaches it, whole way."""
    monkeypatch.setattr(module, "_FIRST", 3)
    monkeypatch.setattr(module, "_SHARE_KEPT", 0.0)
    v = np.random.default_rng(1).uniform(0.1, 0.9, 8)
    rate = expit(logit(v) / 2)
    proba, expected, played = np.column_stack([1 - v, v]), np.zeros((3, 5)), 0.0
    for labels in product([0, 1], repeat=8):
        y = np.array(labels)
        mass = np.where(y == 1, rate, 1 - rate).prod()
        gains, *_ = module._play(recalibrator, proba, y, loss)
        # Blocks without two classes before them are left out, the first ones always.
        expected[:, 5 - gains.shape[1] :] += mass * gains
        played += mass * (np.arange(5) >= 5 - gains.shape[1])
    limit = diverge(rate, v, loss)[3:]
    assert (expected <= played * limit + 1e-12).all()
    if type(recalibrator) is Truth:
        np.testing.assert_allclose(expected[-1], played * limit, rtol=1e-9)
        assert (expected[:-1] > 0).all()


@pytest.mark.parametrize("loss", ["brier", "log"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_gain_is_below_its_floor(loss, n_classes, rng):
    """Not even by a map that turns everything upside down."""
    proba = rng.dirichlet(np.full(n_classes, 0.3), 2000)
    y = rng.integers(n_classes, size=2000)
    gains, floors, _ = module._play(Reverse(), proba, y, loss)
    assert gains.shape == (3, 1970)
    assert (gains.min(axis=1) >= -floors - 1e-12).all()
    assert gains[-1].min() == pytest.approx(-floors[-1], rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["brier", "log"])
@pytest.mark.parametrize("name", POPULATIONS)
def test_bounds_of_populations(loss, name):
    rng, find_rate, n_samples, n = np.random.default_rng(0), POPULATIONS[name], 125, 300
    truth = diverge(find_rate(GRID), GRID, loss).mean()
    options = {"loss": loss, "recalibrator": "platt", "random_state": 0}
    results = [recalibration_gain(*draw(rng, n, find_rate), **options) for _ in range(n_samples)]
    gains, approximate, certified = np.array([result[:3] for result in results]).T
    assert (certified > truth).mean() <= 0.05
    # Of 95 % bounds more than these fail with a probability of 1.5 % at most.
    assert (approximate > truth).sum() <= binom.isf(0.015, n_samples, 0.05)
    # It has no bias upwards.
    assert gains.mean() < truth + 4 * gains.std() / np.sqrt(n_samples)
    if name == "slope .5":
        assert (certified > 0).mean() > 0.7


def test_gain_and_bounds_of_many_rows(rng):
    """All three are near the truth, 1/48; and the gain is no in-sample estimate."""
    y, v = draw(rng, 30_000, POPULATIONS["slope .5"])
    options = {"recalibrator": "platt", "random_state": 0}
    result = recalibration_gain(y, v, **options)
    assert result.gain == pytest.approx(1 / 48, abs=0.003)
    assert 0.75 / 48 < result.certified_low < result.approximate_low < 1 / 48
    loose = recalibration_gain(y, v, confidence_level=0.5, **options)
    assert result.certified_low < loose.certified_low
    assert loose.approximate_low == pytest.approx(loose.gain)
    total = calibration_decomposition(y, v).total
    assert result.gain + result.refinement == pytest.approx(total, rel=1e-12)
    assert result.refinement == pytest.approx(brier_refinement(y, v), rel=1e-12)
    assert (result.loss, result.confidence_level, result.n_samples) == ("brier", 0.95, 30_000)


def test_the_default_is_the_mixture(rng):
    y, v = draw(rng, 60, POPULATIONS["slope .5"])
    default = recalibration_gain(y, v, random_state=0)
    assert default == recalibration_gain(y, v, recalibrator="auto", random_state=0)
    assert default != recalibration_gain(y, v, recalibrator="platt", random_state=0)


def test_log_loss_and_options(rng):
    y, v = draw(rng, 500, POPULATIONS["temperature 2"])
    gains = set()
    for options in ({}, {"cv": 3}, {"recalibrator": TemperatureScaling()}):
        options = {"recalibrator": PlattScaling()} | options
        result = recalibration_gain(y, v, loss="log", **options)
        assert result.refinement == pytest.approx(log_loss_refinement(y, v, **options), rel=1e-12)
        gains.add(result.gain)
    assert len(gains) == 3


def draw_classes(rng, n, temperature):
    """Three classes; logits are too large by a factor."""
    logits = rng.normal(size=(n, 3)) * 2
    y = (logits / temperature + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return y, softmax(logits, axis=1)


@pytest.mark.parametrize("loss", ["brier", pytest.param("log", marks=pytest.mark.slow)])
def test_three_classes_and_their_names(loss, rng):
    y, proba = draw_classes(rng, 3000, 2)
    rate = softmax(np.log(proba) / 2, axis=1)
    truth = ((rate - proba) ** 2 if loss == "brier" else rel_entr(rate, proba)).sum(axis=1).mean()
    options = {"loss": loss, "recalibrator": "temperature"}
    result = recalibration_gain(y, proba, random_state=0, **options)
    assert result.gain == pytest.approx(truth, rel=0.2)
    assert truth / 3 < result.certified_low < truth
    names, order = np.array(["a", "b", "c"]), [2, 0, 1]
    again = recalibration_gain(
        names[y],
        proba[:, order],
        labels=names[order],
        loss=loss,
        recalibrator="temperature",
        random_state=0,
    )
    assert again.certified_low == pytest.approx(result.certified_low, rel=1e-6)
    assert again.gain == pytest.approx(result.gain, rel=1e-6)
    calibrated = recalibration_gain(*draw_classes(rng, 3000, 1), **options)
    assert calibrated.certified_low == 0
    assert calibrated.gain < truth / 50


def test_probabilities_of_zero():
    """An impossible label came true: log loss and calibration error are infinite."""
    y, v = np.tile([0, 1, 1], 20), np.tile([0.2, 0.6, 0.9], 20)
    v[1] = 0.0
    result = recalibration_gain(y, v, loss="log")
    assert result[:3] == (np.inf, np.inf, np.inf)
    assert np.isfinite(result.refinement)
    hard = IsotonicRecalibration(min_proba=0)
    assert recalibration_gain(y, v, loss="log", recalibrator=hard)[:4] == (
        0,
        np.inf,
        np.inf,
        np.inf,
    )
    v[1] = 0.1  # possible, but not so for isotonic regression of the other folds
    result = recalibration_gain(y, v, loss="log", recalibrator=hard)
    assert result[:4] == (-np.inf, 0, result.certified_low, np.inf)
    v[1], v[3] = 0.6, 0.0  # label 0, and rightly excluded
    assert np.isfinite(recalibration_gain(y, v, loss="log")[:4]).all()


def test_few_rows_and_all_alike():
    """Up to 30 rows there are no bets; a constant rate is all that can be learned."""
    result = recalibration_gain([0, 0, 1, 1], [0.9, 0.8, 0.1, 0.2], random_state=0)
    assert result.certified_low == 0
    y = np.arange(400) % 4 == 0
    result = recalibration_gain(y, np.full(400, 0.75), random_state=0)
    assert result.gain == pytest.approx(0.25, abs=0.01)
    assert 0.1 < result.certified_low < 0.25


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_true": [1, 1, 1, 1]}, "y_true must hold at least two labels of two rows each"),
        ({"y_true": [0, 1, 1, 1]}, "y_true must hold at least two labels of two rows each"),
        ({"y_true": [0], "y_proba": [0.5]}, "got 1 rows of 1 labels"),
        ({"loss": "logg"}, "loss must be one of 'brier', 'log'; got 'logg'. Did you mean 'log'"),
        ({"cv": 1}, "cv must be at least 2; got 1"),
        ({"cv": None}, "cv must be an integer; got None"),
        ({"recalibrator": PlattScaling}, "recalibrator must be None, a name"),
        ({"recalibrator": "plat"}, r"recalibrator must be one of.*Did you mean 'platt'"),
        ({"recalibrator": PlattScaling(input="logits")}, "recalibrator must read probabilities"),
        ({"y_true": [0, 1, 0.5, 1], "pos_label": 1}, "y_true must hold labels"),
    ],
)
def test_arguments_that_are_refused(arguments, message):
    rows = {"y_true": [0, 1, 0, 1], "y_proba": [0.1, 0.5, 0.4, 0.9]}
    with pytest.raises(ValueError, match=message):
        recalibration_gain(**rows | arguments)
