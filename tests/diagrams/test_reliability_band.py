"""ReliabilityDisplay: the bootstrap band and the interval of smECE."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import smooth_ece


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    proba = rng.random(500)
    return (rng.random(500) < proba**1.5).astype(int), proba


OPTIONS = {"n_resamples": 60, "random_state": 0}


def test_no_band_without_resamples(data):
    display = ReliabilityDisplay.from_predictions(*data)
    assert display.band_ is None
    assert display.prob_true_low is display.prob_true_high is display.smooth_ece_interval is None


def test_band_surrounds_the_curve_and_is_drawn_from_the_attributes(data):
    display = ReliabilityDisplay.from_predictions(*data, **OPTIONS)
    low, high = display.prob_true_low, display.prob_true_high
    assert low.shape == high.shape == display.prob_true.shape
    assert (low <= high).all()
    inside = slice(20, -20)
    assert (low[inside] < display.prob_true[inside]).all()
    assert (display.prob_true[inside] < high[inside]).all()
    drawn = display.band_.get_paths()[0].vertices
    supported = ~display.line_.get_ydata().mask
    for ends in (low, high):
        points = np.column_stack([display.prob_pred, ends])[supported]
        distances = np.abs(drawn[:, None] - points).max(axis=2).min(axis=0)
        np.testing.assert_allclose(distances, 0, atol=1e-12)


def test_interval_is_of_percentiles_of_resampled_rows(data):
    """Against smECE of redrawn rows: equal laws, so equal percentiles up to chance."""
    y, proba = data
    low, high = ReliabilityDisplay.from_predictions(
        y, proba, n_resamples=400, random_state=0
    ).smooth_ece_interval
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 500, (400, 500))
    errors = [smooth_ece(y[i], proba[i]) for i in rows]
    spread = np.std(errors)
    np.testing.assert_allclose([low, high], np.quantile(errors, [0.025, 0.975]), atol=0.5 * spread)


def test_interval_in_the_legend(data):
    display = ReliabilityDisplay.from_predictions(*data, **OPTIONS, name="model")
    low, high = display.smooth_ece_interval
    expected = f"model (smECE = {display.smooth_ece:.3f} [{low:.3f}, {high:.3f}])"
    assert display.line_.get_label() == expected


def test_seeds_and_levels(data):
    first = ReliabilityDisplay.from_predictions(*data, **OPTIONS)
    again = ReliabilityDisplay.from_predictions(*data, **OPTIONS)
    other = ReliabilityDisplay.from_predictions(*data, n_resamples=60, random_state=1)
    narrow = ReliabilityDisplay.from_predictions(*data, **OPTIONS, confidence_level=0.5)
    np.testing.assert_array_equal(first.prob_true_low, again.prob_true_low)
    assert first.smooth_ece_interval == again.smooth_ece_interval
    assert (first.prob_true_low != other.prob_true_low).any()
    assert (narrow.prob_true_high <= first.prob_true_high).all()
    assert (narrow.prob_true_low >= first.prob_true_low).all()


def test_constructors_agree(data):
    y, proba = data
    X = (proba**1.5)[:, None]
    model = LogisticRegression().fit(X, y)
    from_estimator = ReliabilityDisplay.from_estimator(model, X, y, **OPTIONS)
    direct = ReliabilityDisplay.from_predictions(y, model.predict_proba(X), **OPTIONS)
    names = ("prob_pred", "prob_true", "density", "prob_true_low", "prob_true_high")
    parts = {name: getattr(direct, name) for name in names}
    for name, value in parts.items():
        np.testing.assert_array_equal(getattr(from_estimator, name), value)
    by_hand = ReliabilityDisplay(
        **parts, smooth_ece=direct.smooth_ece, smooth_ece_interval=direct.smooth_ece_interval
    ).plot()
    assert by_hand.line_.get_label() in direct.line_.get_label()
    assert by_hand.plot(plot_band=False).band_ is None


def test_several_curves_have_several_bands(data):
    one = ReliabilityDisplay.from_predictions(*data, **OPTIONS)
    several = ReliabilityDisplay(
        prob_pred=[one.prob_pred] * 2,
        prob_true=[one.prob_true] * 2,
        prob_true_low=[one.prob_true_low] * 2,
        prob_true_high=[one.prob_true_high] * 2,
        smooth_ece=[one.smooth_ece] * 2,
        smooth_ece_interval=[one.smooth_ece_interval] * 2,
    ).plot(curve_kwargs=[{"color": "red"}, {"color": "blue"}])
    assert len(several.band_) == 2
    assert several.line_[0].get_label() == one.line_.get_label().partition("(")[2].rstrip(")")


def test_band_style(data):
    _, ax = plt.subplots()
    display = ReliabilityDisplay.from_predictions(
        *data, **OPTIONS, ax=ax, band_kwargs={"facecolor": "red", "alpha": 0.4}
    )
    np.testing.assert_allclose(display.band_.get_facecolor()[0], (1, 0, 0, 0.4))


@pytest.mark.parametrize(
    ("y", "proba"),
    [([1], [0.3]), ([0, 0], [0.3, 0.3]), ([1, 1, 1], [0.0, 1.0, 0.5]), ([0, 1, 1], [0, 1, 1])],
)
def test_few_rows(y, proba):
    display = ReliabilityDisplay.from_predictions(y, proba, **OPTIONS)
    assert np.isfinite(display.prob_true_low).all()
    assert np.isfinite(display.smooth_ece_interval).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": -1}, "n_resamples must be at least 0; got -1"),
        ({"n_resamples": 2.5}, "n_resamples must be an integer"),
        ({"confidence_level": 95}, "confidence_level must be at least 0 and below 1; got 95"),
        ({"confidence_level": 0}, "confidence_level must be above 0 and below 1; got 0"),
        (
            {"n_resamples": 2, "random_state": "a"},
            "random_state must be None, an integer",
        ),
    ],
)
def test_bad_options(data, options, message):
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(*data, **options)
