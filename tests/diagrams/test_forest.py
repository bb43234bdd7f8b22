"""Forest plots of meta-analyses: what is drawn, where, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy.special import expit, logit
from scipy.stats import norm

from skcal.diagrams import ForestDisplay
from skcal.inference import pool_estimates, pooled_validation

RATIOS, ERRORS = np.array([0.6, 1.2, 0.7, 0.9, 1.3]), np.array([0.1, 0.2, 0.05, 0.03, 0.1])


@pytest.fixture
def found():
    """The last of four sites has events alone."""
    rng = np.random.default_rng(0)
    site = np.repeat(["a", "b", "c", "d"], [300, 400, 500, 20])
    risk = rng.uniform(0.1, 0.9, 1220)
    y = (rng.random(1220) < expit(logit(risk) + 0.3 * (site == "b"))).astype(int)
    return pooled_validation(np.where(site == "d", 1, y), risk, site)


def test_points_intervals_diamond_and_bar():
    display = ForestDisplay.from_estimates(RATIOS, ERRORS, confidence_level=0.9, reference=1)
    np.testing.assert_array_equal(display.points_.get_xydata(), np.column_stack([RATIOS, range(5)]))
    ends = np.array(display.intervals_.get_segments())[:, :, 0].T
    reach = norm.isf(0.05) * ERRORS
    np.testing.assert_allclose(ends, [RATIOS - reach, RATIOS + reach])
    pooled = pool_estimates(RATIOS, ERRORS, confidence_level=0.9)
    corners = display.mean_.get_xy()[:4]
    np.testing.assert_array_equal(corners[[0, 2]], [[pooled.low, 5], [pooled.high, 5]])
    np.testing.assert_array_equal(corners[[1, 3], 0], [pooled.estimate] * 2)
    expected = [[pooled.low_of_next, 6], [pooled.high_of_next, 6]]
    np.testing.assert_array_equal(display.next_.get_xydata(), expected)
    np.testing.assert_array_equal(display.ref_line_.get_xdata(), [1, 1])
    axes = display.ax_
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["1", "2", "3", "4", "5", "mean", "another one"]
    assert axes.get_xlabel() == "Estimate\n(90 % intervals)"
    low, high = axes.get_ylim()
    assert low > 6 > 0 > high  # the first one is on top
    low, high = axes.get_xlim()
    assert low < min(ends[0].min(), pooled.low_of_next)
    assert high > max(ends[1].max(), pooled.high_of_next)


def test_scales():
    display = ForestDisplay.from_estimates(RATIOS, ERRORS, scale="log")
    assert display.ax_.get_xscale() == "log"
    ends = np.array(display.intervals_.get_segments())[:, :, 0].T
    reach = np.exp(norm.isf(0.025) * ERRORS / RATIOS)
    np.testing.assert_allclose(ends, [RATIOS / reach, RATIOS * reach])
    assert display.ref_line_ is None
    shares = ForestDisplay.from_estimates([0.7, 0.8, 0.99], [0.1, 0.1, 0.05], scale="logit")
    ends = np.array(shares.intervals_.get_segments())[:, :, 0]
    assert 0 < ends.min() < ends.max() < 1


@pytest.mark.parametrize("scale", ["identity", "log", "logit"])
def test_two_centres_say_nothing_of_a_third(scale):
    """Its bar reaches both ends of the axis, or of what is possible."""
    display = ForestDisplay.from_estimates([0.6, 0.8], [0.05, 0.05], scale=scale, reference=0.5)
    expected = (0, 1) if scale == "logit" else display.ax_.get_xlim()
    np.testing.assert_allclose(display.next_.get_xdata(), expected)
    assert len(display.beyond_) == (0 if scale == "logit" else 2)
    display.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("quantity", "title", "reference"),
    [
        ("observed_expected", "Observed / expected (O:E)", 1),
        ("calibration_in_the_large", "Calibration in the large", 0),
        ("slope", "Calibration slope", 1),
        ("c_statistic", "C statistic", None),
    ],
)
def test_quantities_of_a_validation(found, quantity, title, reference):
    display = ForestDisplay.from_validation(found, quantity)
    assert display.names == ["a", "b", "c"]  # the others are not in the mean
    assert display.pooled == getattr(found, quantity)
    np.testing.assert_array_equal(display.points_.get_xdata(), found.table[quantity][:3])
    assert display.ax_.get_xlabel() == f"{title}\n(95 % intervals)"
    line = display.ref_line_
    assert (line is None) if reference is None else (line.get_xdata()[0] == reference)
    assert display.ax_.get_xscale() == ("log" if quantity == "observed_expected" else "linear")
    again = ForestDisplay(
        pooled=display.pooled,
        names=display.names,
        estimates=display.estimates,
        errors=display.errors,
    ).plot()
    np.testing.assert_array_equal(again.points_.get_xydata(), display.points_.get_xydata())


def test_looks_and_axes(found):
    _, ax = plt.subplots()
    display = ForestDisplay.from_validation(
        found,
        ax=ax,
        interval_kwargs={"c": "red"},
        mean_kwargs={"fc": "green"},
        next_kwargs={"lw": 7},
        ref_line_kwargs={"ls": ":"},
        despine=True,
    )
    assert display.ax_ is ax
    assert plt.get_fignums() == [ax.figure.number]
    assert to_hex(display.points_.get_color()) == to_hex("red")
    assert to_hex(display.mean_.get_facecolor()) == to_hex("green")
    assert display.next_.get_linewidth() == 7
    assert display.ref_line_.get_linestyle() == ":"
    assert not ax.spines["top"].get_visible()
    with pytest.raises(ValueError, match="the y axis has the centres of one meta-analysis"):
        display.plot(ax=ax)


def test_long_names_and_formulas():
    names = ["$a_b_c$", "x" * 200]
    display = ForestDisplay.from_estimates([1, 2], [0.1, 0.1], names=names)
    display.figure_.canvas.draw()
    assert display.ax_.get_yticklabels()[0].get_text() == "$a_b_c$"
    assert len(display.ax_.get_yticklabels()[1].get_text()) < 60


def test_what_is_refused(found):
    with pytest.raises(ValueError, match="validation must be a PooledValidation; got a dict"):
        ForestDisplay.from_validation({})
    with pytest.raises(ValueError, match="quantity must be one of"):
        ForestDisplay.from_validation(found, "brier")
    unknown = found._replace(slope=found.slope._replace(estimate=np.nan))
    with pytest.raises(ValueError, match="must be known of at least two groups; 'slope' is of 3"):
        ForestDisplay.from_validation(unknown, "slope")
    with pytest.raises(ValueError, match="names must have one for each of the 5 estimates; got 1"):
        ForestDisplay.from_estimates(RATIOS, ERRORS, names=["a"])
    with pytest.raises(ValueError, match="errors must lie above 0"):
        ForestDisplay.from_estimates(RATIOS, -ERRORS)
    with pytest.raises(ValueError, match="reference must lie between 0 and inf on the log scale"):
        ForestDisplay.from_estimates(RATIOS, ERRORS, scale="log", reference=0)
    with pytest.raises(ValueError, match="reference must be a number"):
        ForestDisplay.from_estimates(RATIOS, ERRORS, reference="1")
    with pytest.raises(ValueError, match="despine must be"):
        ForestDisplay.from_estimates(RATIOS, ERRORS, despine="x")
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("estimates", "errors"),
    [
        ([0.93, 0.98, 1.05, 1.02], [0.02] * 4),
        ([0.01, 5, 300], [0.002, 1, 50]),
        ([0.8, 1.4], [0.1] * 2),
    ],
)
def test_logarithmic_axes_have_numbers_and_arrows_where_a_bar_goes_on(estimates, errors):
    display = ForestDisplay.from_estimates(estimates, errors, scale="log", reference=1)
    low, high = display.ax_.get_xlim()
    ticks = [tick for tick in display.ax_.get_xticks() if low <= tick <= high]
    assert 3 <= len(ticks) <= 12
    display.figure_.canvas.draw()
    words = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert len({*words}) == len(words) >= 3
    pooled = display.pooled
    is_beyond = [pooled.low_of_next < low, pooled.high_of_next > high]
    assert [arrow.get_marker() for arrow in display.beyond_] == [
        marker for marker, goes_on in zip("<>", is_beyond, strict=True) if goes_on
    ]
