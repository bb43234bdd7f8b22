"""Displays of regression: what is drawn, bands that hold all at once, options."""

from functools import partial
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from scipy import stats
from sklearn.linear_model import BayesianRidge, LinearRegression

from skcal._numerics.curves._uniform_bands import (
    bound_shares,
    bound_weighted_shares,
)
from skcal.diagrams import IntervalCoverageDisplay, PITDisplay, QuantileReliabilityDisplay
from skcal.regression import (
    corp_regression_curve,
    corp_regression_decomposition,
    pinball_loss,
)

LEVELS = [0.1, 0.5]


def test_quantiles_are_drawn(normals):
    y, (mean, _) = normals
    columns = mean[:, None] + stats.norm.ppf(LEVELS)
    display = QuantileReliabilityDisplay.from_predictions(y, columns, quantiles=LEVELS)
    for level, column, line in zip(LEVELS, columns.T, display.lines_, strict=True):
        options = {"functional": "quantile", "level": level}
        np.testing.assert_array_equal(line.get_data(), corp_regression_curve(y, column, **options))
        parts = corp_regression_decomposition(y, column, **options)
        assert f"MCB = {parts.miscalibration:.3g}" in line.get_label()
    low, high = display.ref_line_.get_data()[0]
    assert (low, high) == (columns.min(), columns.max())
    plain = QuantileReliabilityDisplay(curves=display.curves, quantiles=LEVELS).plot()
    assert [line.get_label() for line in plain.lines_] == ["Level 0.1", "Level 0.5"]


@pytest.mark.parametrize("weights", [None, np.arange(80) % 3])
def test_coverage_is_drawn(normals, weights, rng):
    y, (mean, _) = normals
    ends = mean[:, None] + np.array([-1, 1]) * rng.uniform(0.5, 2, 80)[:, None]
    inside = np.abs(y - mean) <= np.diff(ends)[:, 0] / 2
    mass = np.ones(80) if weights is None else weights
    options = {"sample_weight": weights, "random_state": 0, "n_resamples": 99, "n_bins": 4}
    display = IntervalCoverageDisplay.from_predictions(y, ends, level=0.8, **options)
    place = np.flatnonzero(mass)
    place = place[np.argsort(np.diff(ends)[place, 0])]
    assert display.n_rows.sum() == len(place)
    for rows_of_bin, share, x in zip(
        np.split(place, np.cumsum(display.n_rows)[:-1]), display.coverage, range(4), strict=True
    ):
        assert share == pytest.approx(np.average(inside[rows_of_bin], weights=mass[rows_of_bin]))
        width = np.diff(ends)[rows_of_bin, 0].mean()
        assert display.groups[x] == f"{width:.3g}"
    np.testing.assert_array_equal(display.points_.get_data(), [range(4), display.coverage])
    segments = np.array(display.bars_.get_segments())[:, :, 1]
    np.testing.assert_array_equal(segments, np.column_stack([display.low, display.high]))
    assert np.all((display.low <= 0.8) & (display.high >= 0.8))
    # Names make groups in their order, and so do True and False.
    by = np.where(mean > 0, "b", "a")
    display = IntervalCoverageDisplay.from_predictions(y, ends, by=by, **options)
    again = IntervalCoverageDisplay.from_predictions(y, ends, by=mean > 0, **options)
    assert (display.groups, again.groups) == (["a", "b"], ["False", "True"])
    for found in (display, again):
        expected = [np.average(inside[by == name], weights=mass[by == name]) for name in "ab"]
        np.testing.assert_allclose(found.coverage, expected)
    plain = IntervalCoverageDisplay(
        groups=["a"], coverage=np.array([0.5]), n_rows=np.array([2]), level=0.9
    ).plot(name="other")
    assert plain.bars_ is None
    assert plain.points_.get_label() == "other"


def test_coverage_of_a_regressor(normals):
    y, (mean, _) = normals
    X = pd.DataFrame({"mean": mean, "kind": list("ab") * 40})
    model = SimpleNamespace(
        predict_interval=lambda X: np.column_stack([X["mean"] - 1, X["mean"] + 1])
    )
    for by, name, n_groups in (
        (
            None,
            "Width of the interval: the same for all rows.\nby= tells coverage by other values",
            1,
        ),
        ("kind", "kind", 2),
        (0, "Feature 0", 3),
    ):
        options = {"n_bins": 3, "by": by}
        display = IntervalCoverageDisplay.from_estimator(model, X, y, **options)
        assert display.ax_.get_xlabel() == name
        assert len(display.groups) == n_groups
    assert display.name == "SimpleNamespace"
    with pytest.raises(ValueError, match=r"by must be the name .*; got 'size'. X has \['mean', 'k"):
        IntervalCoverageDisplay.from_estimator(model, X, y, by="size")


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_bars_of_shares_by_all_outcomes(level):
    """The probability that the counts of both groups lie on their bars, added up."""
    counts = np.array([7, 30])
    for confidence in (0.5, 0.95):
        low, high = bound_shares(counts, level, confidence)
        inside = 1.0
        for n, a, b in zip(counts, low, high, strict=True):
            at = np.arange(n + 1) / n
            mass = stats.binom(n, level).pmf(np.arange(n + 1))
            inside *= mass[(at >= a) & (at <= b)].sum()
            tail = (1 - np.sqrt(confidence)) / 2
            for outside, there in ((at < a, at <= a), (at > b, at >= b)):
                assert mass[outside].sum() <= tail + 1e-12
                assert mass[there].sum() >= tail - 1e-12
        assert inside >= confidence


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "level must be"),
        ({"y_interval": [[1, 0], [0, 1]]}, "must not lie below the lower ones; they do in 1 of 2"),
        ({"by": [1.0]}, r"by must have shape \(2,\), a value for each target; got \(1,\)"),
        ({"by": [1.0, np.nan]}, "by must hold finite numbers; got nan at row 1"),
    ],
)
def test_what_coverage_refuses(options, message):
    rows = {"y_true": [0.0, 1.0], "y_interval": [[0, 1], [0, 1]]}
    with pytest.raises(ValueError, match=message):
        IntervalCoverageDisplay.from_predictions(**rows | options)


def test_weights_count_beside_others_of_their_group():
    """However small those of one group are, its coverage and its bar are the same."""
    weights, by, bars = np.array([1.0, 2, 3, 1]), [0, 0, 1, 1], []
    for factor in (1, 2.0**-1000):
        display = IntervalCoverageDisplay.from_predictions(
            [0, 1, 0, 1], [[0, 0]] * 4, by=by, sample_weight=weights * [factor, factor, 1, 1],
            n_resamples=99, random_state=0,
        )  # fmt: skip
        bars.append([display.coverage, display.low, display.high])
    np.testing.assert_array_equal(*bars)


def test_bars_of_weighted_shares(rng):
    """As far from the level as the draws, each group in units of its own standard deviation."""
    place, weights, level = np.arange(60) % 3, rng.integers(1, 4, 60), 0.7
    groups = [(place == k, weights[place == k]) for k in range(3)]
    unit = np.array([np.sqrt(level * (1 - level) * w @ w) / w.sum() for _, w in groups])
    draws = np.random.default_rng(0).random((19, 60)) < level
    shares = np.array([[np.average(draw[k], weights=w) for k, w in groups] for draw in draws])
    width = np.sort(np.abs((shares - level) / unit).max(axis=1))[15] * unit  # 16 of 20
    scaled = weights * np.array([1e-200, 1.0, 1e200])[place]  # the unit of a group is not read
    low, high = bound_weighted_shares(place, scaled, level, 0.8, np.random.default_rng(0), 19)
    np.testing.assert_allclose(low, level - width, rtol=1e-12)
    np.testing.assert_allclose(high, level + width, rtol=1e-12)


@pytest.mark.parametrize(("level", "seed"), [(0.3, 2), (0.7, 4)])
def test_bars_of_weighted_shares_end_at_0_and_1(level, seed):
    """The only draw of the only row is .7 away."""
    row, draws = (np.array([0]), np.array([3.0])), np.random.default_rng(seed)
    low, high = bound_weighted_shares(*row, level, 0.5, draws, 1)
    assert (low, high) == (pytest.approx(0, abs=1e-15), pytest.approx(1))


def test_groups_have_names_that_differ(rng):
    y, ends = rng.normal(size=100), np.array([[-1.0, 1.0]] * 100)
    for by, first in ((1e5 + np.arange(100), "100000"), (1e-7 * np.arange(100), "4.5e-07")):
        display = IntervalCoverageDisplay.from_predictions(y, ends, by=by)
        assert len(set(display.groups)) == 10
        assert display.groups[0] == first
    labels = np.array([f"$group_{'long' * 20}_{k}" for k in range(5)])[np.arange(100) % 5]
    display = IntervalCoverageDisplay.from_predictions(y, ends, by=labels)
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.get_xticklabels()]
    assert all(box.y0 >= 0 and box.width < 300 for box in boxes)
    assert display.ax_.xaxis.label.get_window_extent().y0 >= 0


@pytest.mark.parametrize(
    "scale",
    [pytest.param(1e-6, marks=pytest.mark.slow), 1.0, pytest.param(1e6, marks=pytest.mark.slow)],
)
def test_widths_that_differ_by_rounding_make_one_group(rng, scale):
    middle = scale * rng.normal(size=(400, 1))
    noisy = middle + scale * np.array([-1.1, 1.3])
    widths = np.diff(noisy)[:, 0]
    assert 0 < np.ptp(widths) < 1e-12 * scale
    assert len(IntervalCoverageDisplay.from_predictions(middle[:, 0], noisy).groups) == 1
    wider = middle + (noisy - middle) * np.repeat([[1], [1 + 1e-6]], 200, axis=0)
    display = IntervalCoverageDisplay.from_predictions(middle[:, 0], wider)
    assert display.n_rows.tolist() == [200, 200]
    # Ends may be rounded to float32, and widths far from 0 differ for all that.
    rough = noisy.astype(np.float32)
    assert len(IntervalCoverageDisplay.from_predictions(middle[:, 0], rough).groups) == 1
    far = 1.7e9 + np.column_stack([np.zeros(400), 0.2 + 0.002 * np.arange(400)])
    assert len(IntervalCoverageDisplay.from_predictions(far[:, 0], far).groups) == 10


def test_models_on_one_axes(normals):
    y, law = normals
    ends = np.column_stack([law[0] - 1, law[0] + 1])
    displays = [IntervalCoverageDisplay.from_predictions(y, ends, by=y > 0, name="one")]
    ax = displays[0].ax_
    displays += [IntervalCoverageDisplay.from_predictions(y, 2 * ends, by=y > 0, ax=ax)]
    assert len({display.points_.get_color() for display in displays}) == 2
    assert (displays[0].points_.get_xdata() < displays[1].points_.get_xdata()).all()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["False", "True"]
    assert len(ax.get_legend_handles_labels()[1]) == 3
    with pytest.raises(ValueError, match=r"^ax must be empty, or show the same groups; got axes"):
        IntervalCoverageDisplay.from_predictions(y, ends, ax=ax)
    displays = [PITDisplay.from_predictions(y, law, name="one")]
    displays += [PITDisplay.from_predictions(y, (law[0], 2 * law[1]), ax=displays[0].ax_)]
    assert len({display.line_.get_color() for display in displays}) == 2
    labels = displays[0].ax_[1].get_legend_handles_labels()[1]
    assert sorted(labels) == ["95 % band if calibrated", "Regressor", "one"]
    options = {"quantiles": 0.5, "name": "one"}
    display = QuantileReliabilityDisplay.from_predictions(y, law[0], **options)
    assert display.lines_[0].get_label().startswith("one, level 0.5 (MCB")
    assert display.plot(name="two").lines_[0].get_label().startswith("two, level 0.5")


def test_legends_of_regression_hide_no_curve(normals):
    y, (mean, spread) = normals
    name = "A regressor with a long name, before it is repaired"
    for shift in (-2, 2):
        display = PITDisplay.from_predictions(y + shift, (mean, spread), name=name)
        display.figure_.canvas.draw()
        ax = display.ax_[1]
        legend = ax.get_legend().get_window_extent()
        frame = ax.get_window_extent()
        assert frame.x0 <= legend.x0 < legend.x1 <= frame.x1
        assert frame.y0 <= legend.y0 < legend.y1 <= frame.y1
        places = ax.transData.transform(display.line_.get_xydata())
        assert not any(legend.contains(*place) for place in places)
    columns = mean[:, None] + stats.norm.ppf(LEVELS)
    options = {"quantiles": LEVELS, "name": name, "sample_weight": 1 + np.arange(80) % 2}
    display = QuantileReliabilityDisplay.from_predictions(y, columns, **options)
    ax = display.ax_
    # Of a model with other values all is seen, too.
    again = QuantileReliabilityDisplay.from_predictions(3 * y, 3 * columns, ax=ax, **options)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    low, high = ax.get_xlim()
    for line in (*display.lines_, *again.lines_):
        (x, _), (_, top) = line.get_xydata().min(axis=0), line.get_xydata().max(axis=0)
        assert low < x < line.get_xdata().max() < high
        assert low < line.get_ydata().min()
        assert ax.transData.transform((0, top))[1] < legend.y0
    assert legend.x1 <= ax.figure.bbox.x1
    assert legend.y1 <= ax.get_window_extent().y1 + 1
    assert max(ax.get_yticks()) <= high
    assert len(ax.get_xticks()) > 2


def test_quantiles_of_several_models(normals):
    """Each has the curves that it has alone, with its name."""
    y, (mean, _) = normals
    columns = {"a": mean[:, None] + stats.norm.ppf(LEVELS), "b": mean[:, None] + [[-1, 0.3]]}
    display = QuantileReliabilityDisplay.from_predictions(y, columns, quantiles=LEVELS)
    alone = [
        QuantileReliabilityDisplay.from_predictions(y, values, quantiles=LEVELS, name=name)
        for name, values in columns.items()
    ]
    labels = [line.get_label() for one in alone for line in one.lines_]
    assert [line.get_label() for line in display.lines_] == labels
    assert display.quantiles == [*LEVELS, *LEVELS]
    assert labels[2].startswith("b, level 0.1")
    lines = [line for one in alone for line in one.lines_]
    for line, other in zip(display.lines_, lines, strict=True):
        np.testing.assert_array_equal(line.get_data(), other.get_data())
    with pytest.raises(ValueError, match="name must be None: the keys of y_quantiles"):
        QuantileReliabilityDisplay.from_predictions(y, columns, quantiles=LEVELS, name="a")
    with pytest.raises(ValueError, match="name must"):
        display.plot(name=["a", "b"])


@pytest.mark.parametrize("end", [np.inf, -np.inf])
def test_infinite_quantiles_have_no_place(normals, end):
    """They are the largest or the smallest, and their loss is infinite."""
    y, (mean, _) = normals
    column, options = mean.copy(), {"functional": "quantile", "level": 0.5}
    column[::4] = end
    display = QuantileReliabilityDisplay.from_predictions(y, column, quantiles=0.5)
    far = np.where(np.isfinite(column), column, np.sign(end) * 1e6)
    curve, parts = corp_regression_curve(y, far, **options), display.decompositions[0]
    known = np.abs(curve.y_pred) < 1e6
    np.testing.assert_array_equal(display.curves[0].y_pred, curve.y_pred[known])
    np.testing.assert_array_equal(display.curves[0].y_recalibrated, curve.y_recalibrated[known])
    expected = corp_regression_decomposition(y, far, **options)
    assert parts[2:] == expected[2:]
    assert parts.score == parts.miscalibration == np.inf
    weights = np.isfinite(column).astype(float)
    options = {"quantiles": 0.5, "sample_weight": weights}
    weighted = QuantileReliabilityDisplay.from_predictions(y, column, **options)
    assert weighted.decompositions[0].score == pytest.approx(
        pinball_loss(y[weights > 0], column[weights > 0], quantiles=0.5)
    )
    nothing = QuantileReliabilityDisplay.from_predictions(y, np.full(len(y), end), quantiles=0.5)
    assert len(nothing.curves[0].y_pred) == 0


def test_intervals_of_infinite_width_are_a_group():
    rng = np.random.default_rng(4)
    y, low = rng.normal(size=80), np.repeat([-1.0, -2.0, -np.inf, -1.5], 20)
    ends = np.column_stack([low, np.where(np.arange(80) < 50, -low, np.inf)])
    display = IntervalCoverageDisplay.from_predictions(y, ends, level=0.8, n_bins=2)
    is_infinite = np.isinf(ends).any(axis=1)
    assert display.groups[-1] == "inf"
    covered = (ends[:, 0] <= y) & (y <= ends[:, 1])
    assert display.coverage[-1] == covered[is_infinite].mean()
    finite = IntervalCoverageDisplay.from_predictions(
        y[~is_infinite], ends[~is_infinite], level=0.8, n_bins=2
    )
    assert display.groups[:-1] == finite.groups
    np.testing.assert_array_equal(display.coverage[:-1], finite.coverage)
    everything = IntervalCoverageDisplay.from_predictions(y, np.full((80, 2), [-np.inf, np.inf]))
    assert everything.groups == ["inf"]


def test_quantiles_on_shared_axes_and_other_scales(normals):
    y, (mean, _) = normals
    draw = partial(QuantileReliabilityDisplay.from_predictions, quantiles=0.5)
    _, axes = plt.subplots(1, 2, sharex=True, sharey=True)
    for factor, ax in ((10, axes[0]), (1, axes[1])):
        draw(factor * y, factor * mean, ax=ax)
        low, high = ax.get_xlim()
        assert low < 10 * mean.min() < 10 * mean.max() < high
        assert high - low < 20 * max(np.ptp(mean), np.ptp(y))
    ax = plt.subplots()[1]
    ax.set(xscale="log", yscale="log")
    draw(np.exp(y), np.exp(mean), ax=ax, despine=True)
    assert ax.get_xlim()[0] > 0
    assert ax.get_xlim() == ax.get_ylim()
    assert not ax.spines["top"].get_visible()
    assert len(ax.get_xticks()) > 2
    ax = plt.subplots()[1]
    draw(1e7 + 1e6 * y, 1e7 + 1e6 * mean, ax=ax)
    assert len(ax.get_xticks()) > 2


def test_bands_and_bars_say_whose_they_are(normals):
    y, (mean, spread) = normals
    many = PITDisplay.from_predictions(y, (mean, spread), name="many")
    few = PITDisplay.from_predictions(y[:20], (mean[:20], spread[:20]), name="few", ax=many.ax_)
    labels = many.ax_[1].get_legend_handles_labels()[1]
    assert {
        "95 % band if calibrated (many)",
        "95 % band if calibrated (few)",
    } < set(labels)
    for band in few.bands_:
        assert to_rgba(few.line_.get_color())[:3] == tuple(band.get_facecolor()[0, :3])
    for one, other in zip(many.bands_, few.bands_, strict=True):
        assert not np.array_equal(one.get_facecolor(), other.get_facecolor())
    ends = np.column_stack([mean - 1, mean + 1])
    first = IntervalCoverageDisplay.from_predictions(y, ends, by=y > 0)
    second = IntervalCoverageDisplay.from_predictions(y, ends, by=y > 0, level=0.5, ax=first.ax_)
    assert not np.array_equal(first.bars_.get_color(), second.bars_.get_color())
    third = IntervalCoverageDisplay.from_predictions(y, ends, by=y > 0, level=0.5, ax=first.ax_)
    np.testing.assert_array_equal(third.bars_.get_color(), second.bars_.get_color())
    labels = first.ax_.get_legend_handles_labels()[1]
    assert {"95 % if all cover 90 %", "95 % if all cover 50 %"} < set(labels)


def test_bars_are_seen_on_their_band(normals):
    """The outline lies above the band, which is seen through the bars, and is drawn once."""
    first = PITDisplay.from_predictions(*normals, name="one")
    again = PITDisplay.from_predictions(*normals, name="two", ax=first.ax_)
    for display in (first, again):
        bars, color = display.bars_, to_rgba(display.line_.get_color())
        assert bars.get_zorder() > display.bands_[0].get_zorder()
        assert bars.get_edgecolor() == color
        assert bars.get_facecolor()[:3] == color[:3]
        assert 0 < bars.get_facecolor()[3] < 0.5
    assert first.bars_.get_linestyle() != again.bars_.get_linestyle()
    shares = [[band.get_facecolor()[0, 3] for band in one.bands_] for one in (first, again)]
    assert min(shares[0]) > 0
    assert shares[1] == [0, 0]
    look = {"color": "red"}
    display = PITDisplay.from_predictions(*normals, histogram_kwargs=look)
    assert to_rgba("red") == display.bars_.get_edgecolor()


def test_one_prediction_and_many_levels(normals):
    y, (mean, _) = normals
    display = QuantileReliabilityDisplay.from_predictions(y, np.ones(80), quantiles=0.5)
    assert display.lines_[0].get_marker() == "o"
    levels = np.arange(1, 6) / 6
    columns = mean[:, None] + stats.norm.ppf(levels)
    display = QuantileReliabilityDisplay.from_predictions(y, columns, quantiles=levels)
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert display.ax_.get_window_extent().x1 < legend.x0 < legend.x1 <= display.figure_.bbox.width


def test_regressors(normals):
    y, (mean, _) = normals
    X = mean[:, None]
    model = BayesianRidge().fit(X, y)
    display = PITDisplay.from_estimator(model, X, y)
    expected = PITDisplay.from_predictions(y, model.predict(X, return_std=True))
    assert display.name == "BayesianRidge"
    np.testing.assert_array_equal(display.share, expected.share)
    quantiles = QuantileReliabilityDisplay.from_estimator(model, X, y, quantiles=0.5)
    direct = QuantileReliabilityDisplay.from_predictions(y, model.predict(X), quantiles=0.5)
    assert quantiles.decompositions == direct.decompositions
    with pytest.raises(TypeError, match=r"LinearRegression.predict must take .*return_std"):
        PITDisplay.from_estimator(LinearRegression().fit(X, y), X, y)


def test_looks(normals):
    y, law = normals
    figure, axes = plt.subplots(1, 2)
    display = PITDisplay.from_predictions(
        y, law, ax=axes, despine=True, curve_kwargs={"c": "red"}, histogram_kwargs={"fc": "green"},
        band_kwargs={"alpha": 0.1}, ref_line_kwargs={"lw": 3},
    )  # fmt: skip
    assert display.figure_ is figure
    assert display.line_.get_color() == "red"
    assert {band.get_alpha() for band in display.bands_} == {0.1}
    assert {line.get_linewidth() for line in display.ref_lines_} == {3}
    assert not axes[1].spines["top"].get_visible()
    options = {"quantiles": 0.5, "ax": axes[0], "despine": True}
    options |= {"curve_kwargs": {"c": "red"}, "ref_line_kwargs": {"lw": 3}}
    display = QuantileReliabilityDisplay.from_predictions(y, law[0], **options)
    assert display.ax_ is axes[0]
    assert display.lines_[0].get_color() == "red"
    assert display.ref_line_.get_linewidth() == 3
    ends = np.column_stack([law[0] - 1, law[0] + 1])
    side = (y > 0)[:, None]
    display = IntervalCoverageDisplay.from_predictions(y, ends, by=side, despine=True)
    assert display.groups == ["False", "True"]
    assert not display.ax_.spines["top"].get_visible()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_bins": 0}, ValueError, "n_bins must be at least 1"),
        ({"confidence_level": 0}, ValueError, "must be above 0 and below 1"),
        ({"n_resamples": 0}, ValueError, "n_resamples must be at least 1"),
        ({"colour": 1}, TypeError, "unexpected keyword arguments: colour"),
        ({"despine": 1}, ValueError, "despine must be True or False"),
        ({"name": 3}, ValueError, "name must be a string, a list of strings or None; got 3"),
        ({"name": ["a", "b"]}, ValueError, "name must have one entry for each of the 1 curves"),
        ({"band_kwargs": 1}, ValueError, "band_kwargs must be None or a dictionary"),
    ],
)
def test_what_is_refused(options, error, message, normals):
    with pytest.raises(error, match=message):
        PITDisplay.from_predictions(*normals, **options)
    assert plt.get_fignums() == []


def test_many_levels_are_shares_against_levels():
    rng = np.random.default_rng(0)
    y, levels = rng.normal(size=200), np.arange(1, 100) / 100
    right = np.tile(stats.norm.ppf(levels), (200, 1))
    draw = partial(QuantileReliabilityDisplay.from_predictions, y, confidence_level=0.9)
    shuffled = rng.permutation(99)
    models = {"right": right[:, shuffled], "narrow": right[:, shuffled] / 2}
    display = draw(models, quantiles=levels[shuffled])
    ax = display.ax_
    assert [line.get_label() for line in display.lines_] == ["right", "narrow"]
    for line, factor in zip(display.lines_, (1, 2), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), levels)
        shares = [np.mean(y <= q) for q in right[0] / factor]
        np.testing.assert_allclose(line.get_ydata(), shares)
    width = stats.kstwo.ppf(0.9, 200)
    corners = display.band_.get_paths()[0].vertices
    inside = corners[(corners[:, 1] > 0) & (corners[:, 1] < 1)]
    np.testing.assert_allclose(np.abs(inside[:, 1] - inside[:, 0]), width)
    assert "90 % band if calibrated, all levels at once" in [
        text.get_text().replace("\n", " ") for text in ax.get_legend().get_texts()
    ]
    off = [np.abs(line.get_ydata() - levels).max() for line in display.lines_]
    assert off[0] < width < off[1]
    again = draw(right, quantiles=levels, ax=ax, name="again")
    assert again.band_ is display.band_
    assert len(display.curves) == 198  # that of each level is known, and drawn on request
    assert len(display.plot(kind="curves").lines_) == 198
    few = draw(right[:, :9], quantiles=levels[:9])
    assert few.band_ is None
    assert len(few.lines_) == 9
    assert len(few.plot(kind="coverage").lines_) == 1
    weights = np.where(np.arange(200) < 100, 1.0, 3.0)
    weighted = draw(right, quantiles=levels, sample_weight=weights)
    np.testing.assert_allclose(weighted.shares, weights @ (y[:, None] <= right) / weights.sum())
    assert weighted.coverage_width == stats.kstwo.ppf(0.9, 160)  # 400^2 / 1000
    by_hand = QuantileReliabilityDisplay(curves=display.curves, quantiles=display.quantiles)
    with pytest.raises(ValueError, match="kind must be 'curves' for a display without shares"):
        by_hand.plot(kind="coverage")
    with pytest.raises(ValueError, match="kind must be one of 'auto', 'curves', 'coverage'"):
        display.plot(kind="lines")
