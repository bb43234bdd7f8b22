"""Curves and histograms of the PIT, and their bands."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

from skcal._numerics.curves._uniform_bands import (
    bound_draws,
    bound_histogram,
)
from skcal.diagrams import PITDisplay
from skcal.regression import (
    Ensemble,
    pit_calibration_error,
    probability_integral_transform,
)


def test_pit_is_drawn(normals):
    y, law = normals
    display = PITDisplay.from_predictions(y, law, n_bins=5, name="model")
    pit = probability_integral_transform(y, law)
    counts, edges = np.histogram(pit, bins=5, range=(0, 1))
    np.testing.assert_allclose(display.bars_.get_data().values, counts / 80 * 5)
    np.testing.assert_allclose(display.bars_.get_data().edges, edges)
    x, share = display.line_.get_data()
    at = np.sort(pit)[[10, 40, 70]]
    # Just above the eleventh value eleven of the normals are below.
    np.testing.assert_allclose(np.interp(at + 1e-9, x, share), np.array([11, 41, 71]) / 80)
    largest = pit_calibration_error(y, law, norm=np.inf)
    assert np.abs(share - x).max() == pytest.approx(largest)
    assert display.line_.get_label() == "model"
    assert len(display.bands_) == len(display.ref_lines_) == len(display.ax_) == 2
    assert display.plot() is display


def test_band_of_the_curve_is_kolmogorovs(normals):
    display = PITDisplay.from_predictions(*normals, confidence_level=0.9)
    assert stats.kstwo.cdf(display.curve_width, 80) == pytest.approx(0.9)


@pytest.mark.parametrize(("n_samples", "n_bins"), [(4, 2), (5, 3), (7, 4), (1, 3), (4, 7)])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.999])
def test_band_of_the_histogram_by_all_outcomes(n_samples, n_bins, level):
    """The multinomial probabilities of all counts, added up."""
    counts = np.stack(np.meshgrid(*[np.arange(n_samples + 1)] * n_bins), -1).reshape(-1, n_bins)
    counts = counts[counts.sum(axis=1) == n_samples]
    mass = stats.multinomial(n_samples, np.full(n_bins, 1 / n_bins)).pmf(counts)
    distance = np.abs(counts - n_samples / n_bins).max(axis=1)
    expected = min(d for d in distance if mass[distance <= d + 1e-9].sum() >= level - 1e-12)
    assert bound_histogram(n_samples, n_bins, level) == pytest.approx(expected)


def test_band_of_many_rows():
    """Of two bins the count is binomial."""
    n_samples = 10**6
    width = bound_histogram(n_samples, 2, 0.95)
    law = stats.binom(n_samples, 0.5)
    middle = n_samples // 2

    def cover(distance):
        return law.cdf(middle + distance) - law.cdf(middle - distance - 1)

    assert cover(width - 1) < 0.95 <= cover(width)


def test_bands_from_draws(rng):
    values = np.arange(1.0, 20)
    assert bound_draws(values, 0.95) == 19
    assert bound_draws(values, 0.5) == 10
    assert bound_draws(values, 0.96) == np.inf
    members = rng.normal(size=(40, 4))
    options = {"n_resamples": 39, "random_state": 0}
    display = PITDisplay.from_predictions(members[:, 0], Ensemble(members[:, 1:]), **options)
    again = PITDisplay.from_predictions(members[:, 0], Ensemble(members[:, 1:]), **options)
    assert display.curve_width == again.curve_width < 0.5
    # With so few draws there is no band at this level.
    wide = PITDisplay.from_predictions(
        members[:, 0], stats.norm(), sample_weight=np.ones(40), **options | {"n_resamples": 9}
    )
    assert wide.curve_width == np.inf
    assert wide.bands_ == []


def test_bands_of_weighted_rows(rng):
    """The 16th of 19 distances of drawn rows: at 80 %, any of 20 alike is as likely the largest."""
    weights, options = rng.integers(1, 4, 50), {"n_resamples": 19, "confidence_level": 0.8}
    display = PITDisplay.from_predictions(
        rng.random(50), stats.uniform(), sample_weight=weights,
        random_state=np.random.default_rng(7), **options,
    )  # fmt: skip
    drawn = np.random.default_rng(7).random((19, 50))
    draws, rank = np.sort(drawn, axis=1), np.argsort(drawn, axis=1)
    above = np.cumsum(weights[rank], axis=1) / weights.sum()
    below = above - weights[rank] / weights.sum()
    curve = np.maximum(above - draws, draws - below).max(axis=1)
    bars = [
        np.abs(10 * np.histogram(row, 10, (0, 1), weights=own)[0] / weights.sum() - 1).max()
        for row, own in zip(draws, weights[rank], strict=True)
    ]
    assert display.curve_width == pytest.approx(np.sort(curve)[15])
    assert display.histogram_width == pytest.approx(np.sort(bars)[15])


def test_pit_on_one_axes_is_the_curve():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    whole = PITDisplay.from_predictions(y, (np.zeros(50), np.ones(50)))
    _, (ax, other) = plt.subplots(1, 2)
    for one in (ax, [other]):
        display = PITDisplay.from_predictions(y, (np.zeros(50), np.ones(50)), ax=one)
        assert list(display.ax_) == [np.ravel(one)[0]]
        assert display.bars_ is None
        np.testing.assert_array_equal(display.line_.get_xydata(), whole.line_.get_xydata())
        assert len(display.bands_) == len(display.ref_lines_) == 1
        np.testing.assert_array_equal(display.ref_lines_[0].get_ydata(), [0, 1])
        box = [band.get_paths()[0].vertices for band in (display.bands_[0], whole.bands_[1])]
        np.testing.assert_array_equal(*box)
        assert display.ax_[0].get_ylabel() == whole.ax_[1].get_ylabel()
    with pytest.raises(
        ValueError, match="ax must be an array of 2 axes, one for each panel; got 3"
    ):
        whole.plot(plt.subplots(1, 3)[1])


def test_pit_minus_the_diagonal():
    """The same curve and band, without the line that hides how far they are from each other."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    laws = np.zeros(500), np.full(500, 0.9)
    plain = PITDisplay.from_predictions(y, laws)
    level = PITDisplay.from_predictions(y, laws, difference=True)
    x, share = plain.line_.get_data()
    np.testing.assert_array_equal(level.line_.get_xdata(), x)
    np.testing.assert_allclose(level.line_.get_ydata(), share - x)
    corners = level.bands_[1].get_paths()[0].vertices
    np.testing.assert_allclose(np.abs(corners[:, 1]), level.curve_width)
    np.testing.assert_array_equal(level.ref_lines_[1].get_ydata(), [0, 0])
    low, high = level.ax_[1].get_ylim()
    assert -low == high > max(np.abs(share - x).max(), level.curve_width)
    bars = [display.bars_.get_data().values for display in (plain, level)]
    np.testing.assert_array_equal(*bars)
    with pytest.raises(ValueError, match="ax must be empty, or show the quantities"):
        plain.plot(level.ax_)
    with pytest.raises(ValueError, match="difference must be True or False"):
        plain.plot(difference="yes")
