"""The band: of resamples, of non-decreasing curves, and of calibrated bins."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import expit, logit

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
from skcal.inference import consistency_band, isotonic_band
from skcal.metrics import smooth_ece
from tests.diagrams.artists import assert_vertices, find_shown, list_legend, read_vertices

draw = ReliabilityDisplay.from_predictions
RESAMPLES = {"n_resamples": 60, "random_state": 0}


def read_band(display, k=0):
    return display.curves[k].layers["band"]


# ------------------------------------------------------------------------- bootstrap


def test_band_surrounds_the_curve_where_that_is_drawn(rows):
    display = draw(*rows, **RESAMPLES)
    (curve,), band = display.curves, read_band(display)
    np.testing.assert_array_equal(band.prob_pred, curve.prob_pred)
    assert (band.low <= band.high).all()
    shown = find_shown(display.line_)
    inside = np.flatnonzero(shown)[10:-10]
    assert (band.low[inside] < curve.prob_true[inside]).all()
    assert (curve.prob_true[inside] < band.high[inside]).all()
    for ends in (band.low, band.high):
        assert_vertices(display.band_, band.prob_pred[shown], ends[shown])
    assert set(read_vertices(display.band_)[:, 0]) == set(band.prob_pred[shown])


def test_interval_is_of_percentiles_of_resampled_rows(rows):
    """Against smECE of redrawn rows: equal laws, so equal percentiles up to chance."""
    y, proba = rows
    display = draw(y, proba, n_resamples=400, random_state=0, name="model")
    low, high = display.curves[0].smooth_ece_interval
    drawn = np.random.default_rng(1).integers(0, 500, (400, 500))
    errors = [smooth_ece(y[i], proba[i]) for i in drawn]
    atol = 0.5 * np.std(errors)
    np.testing.assert_allclose([low, high], np.quantile(errors, [0.025, 0.975]), atol=atol)
    expected = f"model (smECE = {display.smooth_ece:.3f} [{low:.3f}, {high:.3f}])"
    assert display.line_.get_label() == list_legend(display.ax_)[1] == expected


def test_seeds_and_levels(rows):
    first, again = (read_band(draw(*rows, **RESAMPLES)) for _ in range(2))
    other = read_band(draw(*rows, n_resamples=60, random_state=1))
    narrow = read_band(draw(*rows, **RESAMPLES, confidence_level=0.5))
    np.testing.assert_array_equal(first.low, again.low)
    assert (first.low != other.low).any()
    assert (narrow.high <= first.high).all()
    assert (narrow.low >= first.low).all()


def test_interval_without_band(rows):
    """The same resamples, whatever is drawn of them; without resamples there is neither."""
    (curve,) = draw(*rows).curves
    assert curve.smooth_ece_interval is None
    assert curve.layers == {}
    expected = draw(*rows, **RESAMPLES)
    for options in ({"layers": ["density"]}, {"kind": "isotonic"}, {"band": "isotonic"}):
        display = draw(*rows, **RESAMPLES, **options)
        interval = display.curves[0].smooth_ece_interval
        assert interval == expected.curves[0].smooth_ece_interval
        assert (display.band_ is None) == ("band" not in options)


def test_bars_of_bins_hold_resampled_means(rows):
    """Against means of redrawn rows: equal laws, so equal percentiles up to chance."""
    y, proba = rows
    display = draw(y, proba, kind="binned", n_bins=4, n_resamples=1000, random_state=0)
    (curve,), band = display.curves, read_band(display)
    drawn = np.random.default_rng(1).integers(0, 500, (1000, 500))
    bins = np.minimum((proba * 4 - 1e-9).astype(int), 3)
    for k in np.flatnonzero(np.bincount(bins, minlength=4) > 20):
        means = [y[i][bins[i] == k].mean() for i in drawn]
        low, high = np.quantile(means, [0.025, 0.975])
        assert band.low[k] == pytest.approx(low, abs=0.4 * np.std(means))
        assert band.high[k] == pytest.approx(high, abs=0.4 * np.std(means))
    ends = [np.column_stack([curve.prob_pred, values]) for values in (band.low, band.high)]
    np.testing.assert_array_equal(display.band_.get_segments(), np.stack(ends, axis=1))


def test_many_rows_are_resampled_where_they_lie():
    """On the scale of logits no cells of probabilities may stand for the rows."""
    rng = np.random.default_rng(0)
    proba = expit(rng.normal(-6, 1, 40_000))
    y = rng.random(40_000) < proba
    display = draw(y, proba, scale="logit", n_resamples=40, random_state=0)
    (curve,), band = display.curves, read_band(display)
    at = np.argmin(np.abs(band.prob_pred - 0.003))
    distance = logit(band.prob_pred[at]) - logit(proba)
    kernel = np.exp(-0.5 * (distance / curve.bandwidth) ** 2)
    means = []
    for _ in range(200):
        counts = np.bincount(rng.integers(0, 40_000, 40_000), minlength=40_000)
        means.append(np.sum(counts * kernel * y) / np.sum(counts * kernel))
    width = np.ptp(np.quantile(means, [0.025, 0.975]))
    assert band.high[at] - band.low[at] == pytest.approx(width, rel=0.3)


# ------------------------------------------------------------------------- exact bands


@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])
def test_isotonic_band_is_that_of_inference(kind, scale, rows):
    display = draw(*rows, kind=kind, scale=scale, band="isotonic", confidence_level=0.9)
    band, expected = read_band(display), isotonic_band(*rows, confidence_level=0.9)
    np.testing.assert_array_equal(band.prob_pred, expected.prob_pred)
    np.testing.assert_array_equal(band.low, expected.low)
    np.testing.assert_array_equal(band.high, expected.high)
    assert display.curves[0].smooth_ece_interval is None
    for ends in (band.low, band.high):
        assert_vertices(display.band_, band.prob_pred, ends)


def test_isotonic_band_is_drawn_in_steps():
    """Between knots the lower end of the left one, the upper end of the right one."""
    band = {"prob_pred": [0.2, 0.5, 0.8], "low": [0.1, 0.2, 0.4], "high": [0.5, 0.7, 0.9]}
    curve = ReliabilityCurve(
        prob_pred=[0.2, 0.8], prob_true=[0.3, 0.6], layers={"band": {**band, "kind": "isotonic"}}
    )
    (path,) = ReliabilityDisplay(curves=[curve]).plot().band_.get_paths()
    places = np.array([0.25, 0.45, 0.55, 0.75])
    for below, above, inside in ((0.11, 0.69, [1, 1, 0, 0]), (0.21, 0.89, [0, 0, 1, 1])):
        corners = [path.contains_points(np.c_[places, np.full(4, y)]) for y in (below, above)]
        np.testing.assert_array_equal(corners[0] & corners[1], inside)


def test_isotonic_band_of_one_prediction_is_seen():
    display = draw([1] * 8 + [0] * 2, [0.7] * 10, band="isotonic")
    band = read_band(display)
    # The Clopper-Pearson interval of 8 in 10, as tables have it.
    np.testing.assert_allclose([*band.low, *band.high], [0.443905, 0.974789], atol=5e-7)
    assert_vertices(display.band_, [0.7, 0.7], [*band.low, *band.high])
    assert display.band_.get_edgecolor()[0, 3] > 0


def test_isotonic_band_has_a_gap_where_its_ends_cross(rows):
    y, proba = rows
    display = draw(1 - y, proba, kind="isotonic", band="isotonic")
    band = read_band(display)
    crossed = band.low > band.high
    assert crossed.sum() > 100
    assert not np.isin(band.prob_pred[crossed][1:-1], read_vertices(display.band_)[:, 0]).any()


def test_consistency_bars_are_those_of_inference(rows):
    options = {"n_bins": 6, "strategy": "quantile", "confidence_level": 0.8}
    display = draw(*rows, kind="binned", band="consistency", **options)
    band, expected = read_band(display), consistency_band(*rows, **options)
    np.testing.assert_array_equal(display.prob_pred, expected.prob_pred)
    np.testing.assert_array_equal(display.prob_true, expected.prob_true)
    ends = [np.c_[expected.prob_pred, values] for values in (expected.low, expected.high)]
    np.testing.assert_array_equal(display.band_.get_segments(), np.stack(ends, axis=1))
    np.testing.assert_array_equal(band.low, expected.low)
    assert display.band_.get_linewidth()[0] > display.line_.get_linewidth()
    assert display.band_.get_zorder() < display.ref_line_.get_zorder()
    style = {"color": "red", "lw": 3}
    display = display.plot(layer_kwargs={"band": style})
    np.testing.assert_allclose(display.band_.get_color()[0], (1, 0, 0, 1))
    assert display.band_.get_linewidth()[0] == 3


# ------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"band": "isotonik"}, "band must be one of .*Did you mean 'isotonic'"),
        ({"band": "consistency"}, "band='consistency' needs kind='binned'.*got kind='smooth'"),
        ({"band": "consistency", "kind": "isotonic"}, "needs kind='binned'"),
        (
            {"band": "consistency", "kind": "binned", "strategy": "sweep"},
            "bins that do not depend on the outcomes.*got strategy='sweep'",
        ),
        ({"band": "isotonic", "reduction": "full"}, "band='isotonic' needs independent rows"),
        ({"band": "isotonic", "sample_weight": np.ones(500)}, "sample_weight must be None"),
        ({"band": "isotonic", "confidence_level": 0}, "confidence_level must be above 0"),
        ({"confidence_level": 95}, "confidence_level must be at least 0 and below 1; got 95"),
        ({"n_resamples": -1}, "n_resamples must be at least 0; got -1"),
        ({"n_resamples": 2.5}, "n_resamples must be an integer"),
        ({"n_resamples": 2, "random_state": "a"}, "random_state must be None, an integer"),
    ],
)
def test_bands_that_cannot_be(options, message, rows):
    with pytest.raises(ValueError, match=message):
        draw(*rows, **options)
    assert not plt.get_fignums()


def test_exact_bands_need_labels(rows):
    with pytest.raises(ValueError, match="y_true must hold labels"):
        draw(rows[1] ** 2, rows[1], band="isotonic")
