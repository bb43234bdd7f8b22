"""ReliabilityDisplay on the scale of logits."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import expit, logit

from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import smooth_ece, smooth_ece_curve


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    proba = expit(rng.normal(-4, 1.5, 800))
    return (rng.random(800) < proba**0.8).astype(int), proba


def test_everything_is_on_the_scale_of_logits(data):
    display = ReliabilityDisplay.from_predictions(*data, scale="logit", bandwidth=0.4)
    curve = smooth_ece_curve(*data, scale="logit", bandwidth=0.4, n_points=len(display.prob_pred))
    np.testing.assert_array_equal(display.prob_pred, curve.grid)
    np.testing.assert_array_equal(display.prob_true, curve.calibration)
    np.testing.assert_array_equal(display.density, curve.density)
    assert display.smooth_ece == smooth_ece(*data, scale="logit")
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "logit"
    assert display.scale == "logit"
    assert display.line_.get_label() == f"Classifier (logit smECE = {display.smooth_ece:.3f})"
    plain = ReliabilityDisplay.from_predictions(*data)
    assert (plain.scale, plain.ax_.get_xscale()) == ("probability", "linear")


@pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])
def test_square_holds_the_predictions(data, kind):
    _, proba = data
    display = ReliabilityDisplay.from_predictions(*data, scale="logit", kind=kind)
    low, high = display.ax_.get_xlim()
    # All but sparse predictions in the tails.
    assert np.mean((proba > low) & (proba < high)) > 0.9
    # Steps and bins of a few rows may have a mean outcome of 1.
    assert 1e-6 < low < 0.01 < high < (0.9 if kind == "smooth" else 1)
    # Equal steps of both axes are equal lengths, and the diagonal joins the corners.
    display.figure_.canvas.draw()
    corners = display.ax_.transData.transform([(low, low), (high, high)])
    width, height = corners[1] - corners[0]
    assert width == pytest.approx(height, rel=1e-6)
    ticks = display.ax_.get_xticks()
    assert 2 <= len(ticks) <= 12
    assert ((ticks > low) & (ticks < high)).all()


@pytest.mark.parametrize(
    ("y", "proba"),
    [
        ([1], [0.3]),
        ([0, 1], [0.0, 1.0]),
        ([0, 0], [0.0, 0.0]),
        ([1, 0, 1], [0.5, 0.5, 0.5]),
        ([1, 0, 1], [1e-300, 1 - 1e-16, 0.5]),
    ],
    ids=["one row", "perfect", "zero", "constant", "extreme"],
)
@pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])
def test_odd_predictions_are_drawn(y, proba, kind):
    options = {"n_resamples": 20, "random_state": 0, "rug": True, "witness": True}
    display = ReliabilityDisplay.from_predictions(
        y, proba, scale="logit", kind=kind, curve_density="width", split_density=True, **options
    )
    display.figure_.canvas.draw()
    assert np.isfinite(display.prob_true).all()
    low, high = display.ax_.get_xlim()
    assert 0 < low < high < 1


def test_many_lines_in_the_legend_fit_above_the_square():
    _, ax = plt.subplots()
    for k in range(8):
        ReliabilityDisplay.from_predictions(
            [0, 1] * 20, [1e-7, 1 - 1e-7] * 20, scale="logit", ax=ax, name=f"model {k}"
        )
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y1 <= ax.get_window_extent().y1 + 1


def test_displays_on_shared_axes(data):
    y, proba = data
    first = ReliabilityDisplay.from_predictions(y, proba, scale="logit")
    narrow = first.ax_.get_xlim()
    second = ReliabilityDisplay.from_predictions(
        1 - y, 1 - proba, scale="logit", ax=first.ax_, name="other"
    )
    low, high = second.ax_.get_xlim()
    assert low <= narrow[0] < narrow[1] < high
    assert second.ref_line_ is first.ref_line_
    with pytest.raises(ValueError, match=r"ax must show .* 'linear'; got 'logit' and 'logit'"):
        ReliabilityDisplay.from_predictions(y, proba, ax=first.ax_)
    plain = ReliabilityDisplay.from_predictions(y, proba)
    with pytest.raises(ValueError, match=r"ax must show .* 'logit'; got 'linear' and 'linear'"):
        ReliabilityDisplay.from_predictions(y, proba, scale="logit", ax=plain.ax_)


@pytest.mark.slow
def test_band_and_interval_are_of_resampled_rows(data):
    """Against redrawn rows: equal laws, so equal percentiles up to chance."""
    y, proba = data
    options = {"scale": "logit", "bandwidth": 0.5}
    display = ReliabilityDisplay.from_predictions(
        y, proba, **options, n_resamples=400, random_state=0
    )
    rows = np.random.default_rng(1).integers(0, 800, (400, 800))
    errors = [smooth_ece(y[i], proba[i], scale="logit") for i in rows]
    np.testing.assert_allclose(
        display.smooth_ece_interval,
        np.quantile(errors, [0.025, 0.975]),
        atol=0.5 * np.std(errors),
    )
    at = np.argmin(np.abs(display.prob_pred - 0.02))
    kernel = np.exp(-0.5 * ((logit(display.prob_pred[at]) - logit(proba)) / 0.5) ** 2)
    means = [np.sum(kernel[i] * y[i]) / np.sum(kernel[i]) for i in rows]
    ends = np.quantile(means, [0.025, 0.975])
    atol = 0.5 * np.std(means)
    np.testing.assert_allclose(display.prob_true_low[at], ends[0], atol=atol)
    np.testing.assert_allclose(display.prob_true_high[at], ends[1], atol=atol)


def test_many_rows_are_resampled_where_they_lie():
    """On the scale of logits no cells of probabilities may stand for the rows."""
    rng = np.random.default_rng(0)
    proba = expit(rng.normal(-6, 1, 40_000))
    y = rng.random(40_000) < proba
    options = {"scale": "logit", "n_resamples": 40, "random_state": 0}
    display = ReliabilityDisplay.from_predictions(y, proba, **options)
    at = np.argmin(np.abs(display.prob_pred - 0.003))
    kernel = np.exp(-0.5 * ((logit(display.prob_pred[at]) - logit(proba)) / display.bandwidth) ** 2)
    means = []
    for _ in range(200):
        counts = np.bincount(rng.integers(0, 40_000, 40_000), minlength=40_000)
        means.append(np.sum(counts * kernel * y) / np.sum(counts * kernel))
    width = np.ptp(np.quantile(means, [0.025, 0.975]))
    assert display.prob_true_high[at] - display.prob_true_low[at] == pytest.approx(width, rel=0.3)


@pytest.mark.parametrize("bandwidth", [100, 1e6])
def test_bandwidths_beyond_all_logits(bandwidth):
    with pytest.raises(ValueError, match=r"bandwidth must be .* below 100"):
        ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7], scale="logit", bandwidth=bandwidth)
    with pytest.raises(ValueError, match=r"bandwidth must be .* below 100"):
        smooth_ece_curve([0, 1], [0.2, 0.7], scale="logit", bandwidth=bandwidth)


def test_hand_made_display_of_an_unknown_scale():
    display = ReliabilityDisplay(prob_pred=[0.1, 0.9], prob_true=[0.1, 0.9], scale="log")
    with pytest.raises(ValueError, match="scale must be one of 'probability', 'logit'"):
        display.plot()
    hand_made = ReliabilityDisplay(prob_pred=[0.1, 0.9], prob_true=[0.1, 0.9], scale="logit")
    low, high = hand_made.plot().ax_.get_xlim()
    assert low < 0.1 < 0.9 < high
