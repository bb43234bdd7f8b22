"""Murphy diagrams of means, quantiles and expectiles: curves, bands, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skcal._numerics.curves._loss_band import band_losses
from skcal._numerics.distributions._elementary_scores import list_losses, score_elementary
from skcal.diagrams import MurphyDisplay, RegressionMurphyDisplay
from skcal.regression import murphy_curve
from tests.diagrams.artists import list_legend

FUNCTIONALS = [("mean", 0.5), ("quantile", 0.9), ("expectile", 0.2)]
every_functional = pytest.mark.parametrize(("functional", "level"), FUNCTIONALS)
draw = RegressionMurphyDisplay.from_predictions


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    mean = rng.gamma(4, 0.5, 300)
    return rng.poisson(mean).astype(float), {"a": mean, "b": 1 + mean / 2, "c": mean**2 / 2}


@every_functional
def test_few_rows_are_drawn_exactly(rows, functional, level):
    y, models = rows
    y, models = y[:20], {name: x[:20] for name, x in models.items()}
    options = {"functional": functional, "level": level}
    display = draw(y, models, **options)
    t = np.unique(np.concatenate([y, *models.values()]))
    for line, x in zip(display.lines_, models.values(), strict=True):
        curve = murphy_curve(y, x, thresholds=t, **options)
        np.testing.assert_array_equal(line.get_xdata(), np.repeat(t, 2))
        np.testing.assert_array_equal(line.get_ydata()[1::2], curve.score)
        np.testing.assert_array_equal(line.get_ydata()[::2], curve.score_below)
    (reference,) = display.ref_lines_  # the same for all models
    np.testing.assert_array_equal(reference.get_ydata()[1::2], curve.constant_score)
    name = "mean" if functional == "mean" else f"{functional} {level}"
    assert display.ax_.get_ylabel() == f"Mean elementary score ({name})"
    low, high = display.ax_.get_xlim()
    assert low < t[0] < t[-1] < high


def test_many_rows_have_thresholds_where_they_are(rows):
    y, models = rows
    display = draw(y, models, confidence_level=None)
    t = display.curves[0].thresholds
    assert 100 <= len(t) <= 200
    assert np.diff(t).min() > 0
    values = np.concatenate([y, *models.values()])
    assert np.mean((values < t[0]) | (values > t[-1])) <= 0.011
    assert display.bands is None
    assert display.baseline is None
    # Far targets leave the axes to where models differ; a constant alone has those of all targets.
    x = np.random.default_rng(0).uniform(1, 2, 300)
    far = draw(np.where(np.arange(300) % 2, 100.0, 0.0), x, confidence_level=None)
    assert far.curves[0].thresholds[[0, -1]] == pytest.approx([0.5, 2.5], abs=0.05)
    alone = draw(np.arange(300.0), np.full(300, 5.0), confidence_level=None)
    assert alone.curves[0].thresholds[-1] > 290


@every_functional
def test_bands_of_differences_lie_around_the_first_curve(rows, functional, level):
    y, models = rows
    options = {"functional": functional, "level": level, "thresholds": [2.5, 0.5, 1.0]}
    display = draw(y, models, **options)
    first, *others = display.curves
    np.testing.assert_array_equal(first.thresholds, [0.5, 1.0, 2.5])
    assert display.bands[0] is None
    assert display.baseline == 0
    for curve, (low, high) in zip(others, display.bands[1:], strict=True):
        np.testing.assert_allclose((low + high) / 2, curve.score, atol=1e-12)
        assert (low < high).all()
    single = draw(y, models, band="curve", **options)
    assert all((low >= 0).all() for low, _ in single.bands)
    label = display.bands_[0].get_label()
    assert label == "95 % band of the difference from a (all thresholds at once)"
    same = draw(y, {"a": models["a"], "again": models["a"]}, **options)
    np.testing.assert_allclose(same.bands[1], [first.score] * 2)


def test_width_of_a_band_at_one_threshold():
    """A quantile by the definition: losses of 0 and 1/2, and four more of 1/2."""
    y, x = np.repeat([0.0, 1.0], 200), np.zeros(400)
    display = draw(y, x, functional="quantile", thresholds=[0.5])
    ((low, high),) = display.bands
    share = 0.5 / 399  # what a row pulls, by half of its loss
    square = 400 * share**2 / 4 + 4 * (0.5 / 400) ** 2
    assert (low + high)[0] / 2 == pytest.approx(0.25)
    # Of the normal law 1.96; its rule with fixed points, and Student's law, are not far.
    assert (high - low)[0] / 2 == pytest.approx(1.96 * np.sqrt(square), rel=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_bands_of_clusters(rows, weighted):
    """Those of single rows are the bands of rows; copies count once, and near ones too."""
    y, models = rows
    weights = np.random.default_rng(1).integers(1, 4, 300) if weighted else np.ones(300)
    options = {"thresholds": [0.5, 1.5, 3.0]}
    plain = draw(y, models, sample_weight=weights, **options)
    single = draw(y, models, sample_weight=weights, clusters=np.arange(300), **options)
    copies = {name: np.repeat(x, 3) for name, x in models.items()}
    names = np.repeat(np.arange(300).astype(str), 3)
    found = draw(
        np.repeat(y, 3), copies, sample_weight=np.repeat(weights, 3), clusters=names, **options
    )
    for bands in (single.bands, found.bands):
        np.testing.assert_allclose(bands[1:], plain.bands[1:], rtol=1e-12)
    nearly = {name: x + 1e-9 * (np.arange(900) % 3) for name, x in copies.items()}
    found = draw(
        np.repeat(y, 3), nearly, sample_weight=np.repeat(weights, 3), clusters=names, **options
    )
    np.testing.assert_allclose(found.bands[1:], plain.bands[1:], rtol=1e-6)


def test_large_and_small_units(rows):
    """Bands are in the units of the targets, also where fourth powers are beyond all numbers."""
    y, models = rows
    plain = draw(y, models, thresholds=[0.5, 1.5])
    for unit in (1e-90, 1e95):
        display = draw(
            unit * y,
            {name: unit * x for name, x in models.items()},
            thresholds=unit * np.array([0.5, 1.5]),
            sample_weight=np.full(300, unit),
        )
        np.testing.assert_allclose(np.array(display.bands[1]) / unit, plain.bands[1], rtol=1e-9)


@pytest.mark.parametrize(
    ("functional", "level", "shift"), [("mean", 0.5, 0), ("quantile", 0.9, 1.3)]
)
def test_bands_cover(functional, level, shift):
    """Of 60 samples of 150 rows all but 14: more are missed with a chance below 1e-6 at 95 %."""
    rng, t = np.random.default_rng(2), np.linspace(0.2, 3.5, 12)
    options = functional, level, t

    def sample(n_rows):
        mean = rng.gamma(4, 0.5, n_rows)
        y = mean + rng.normal(size=n_rows)
        return y, mean + shift, np.full(n_rows, 2.0 + shift)

    y, one, other = sample(200_000)
    truth = score_elementary(y, other, None, *options) - score_elementary(y, one, None, *options)
    n_missed = 0
    for _ in range(60):
        y, one, other = sample(150)
        losses = list_losses(y, other, *options) - list_losses(y, one, *options)
        mean = losses.mean(axis=0)
        low, high = band_losses(losses.__getitem__, mean, 1.0, np.ones(150), None, 0.95)
        n_missed += not ((low <= truth) & (truth <= high)).all()
    assert n_missed <= 14


def test_probabilities_have_the_diagram_of_decisions():
    rng = np.random.default_rng(0)
    v = rng.random(100)
    y, t = (rng.random(100) < v).astype(int), [0.2, 0.5, 0.9]
    means = draw(y, v, thresholds=t, confidence_level=None)
    decisions = MurphyDisplay.from_predictions(y, v, thresholds=t, confidence_level=None)
    np.testing.assert_allclose(means.curves[0].score, decisions.curves[0].score, atol=1e-12)


def test_ways_to_one_diagram(rows):
    y, models = rows
    X = models["a"][:, None]
    model = LinearRegression().fit(X, y)
    found = RegressionMurphyDisplay.from_estimator(model, X, y, thresholds=[1.0, 2.0])
    given = draw(y, model.predict(X), thresholds=[1.0, 2.0])
    np.testing.assert_array_equal(found.curves, given.curves)
    np.testing.assert_array_equal(found.bands, given.bands)
    assert list_legend(found.ax_)[0] == "LinearRegression"
    assert list_legend(given.ax_)[0] == "Regressor"


@pytest.mark.parametrize("thresholds", [[1.0], [0.5, 2.0]])
def test_single_thresholds_and_looks(rows, thresholds):
    y, models = rows
    _, ax = plt.subplots()
    look = {"curve_kwargs": {"c": "red"}, "band_kwargs": {"alpha": 0.1}, "despine": True}
    display = draw(y, models, thresholds=thresholds, ax=ax, **look)
    assert display.ax_ is ax
    assert display.lines_[0].get_color() == "red"
    assert display.bands_[0].get_alpha() == 0.1
    low, high = ax.get_xlim()
    assert low < thresholds[0] <= thresholds[-1] < high
    assert not ax.spines["top"].get_visible()
    with pytest.raises(ValueError, match="ax must be empty, or show the quantities of this"):
        draw(y, models["a"], functional="quantile", ax=ax)


@pytest.mark.parametrize("size", [(10, 4), (6.4, 4.8), (5, 2.2)])
def test_legend_hides_nothing(rows, size):
    y, models = rows
    six = {f"gradient boosting {k}": models["a"] ** (0.5 + 0.3 * k) for k in range(6)}
    _, axes = plt.subplots(1, 2, figsize=size, layout="constrained")
    for ax, x in zip(axes, (models["a"], six), strict=True):
        draw(y, x, ax=ax, thresholds=np.linspace(0.1, 5, 20))
    axes[0].figure.canvas.draw()
    for ax in axes:
        inside, legend = ax.get_window_extent(), ax.get_legend().get_window_extent()
        assert inside.x0 - 1 <= legend.x0 < legend.x1 <= inside.x1 + 1
        (_, bottom) = ax.transData.inverted().transform((legend.x0, legend.y0))
        assert all(np.max(line.get_ydata()) < bottom for line in ax.lines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"functional": "interval"}, "functional must be one of"),
        ({"level": 0.3}, "level must be 0.5 for the mean"),
        ({"band": "both"}, "band must be one of"),
        ({"band": "difference"}, "band must be 'auto' or 'curve' for a single model"),
        ({"confidence_level": 1}, "confidence_level must"),
        ({"confidence_level": None, "clusters": [1, 2]}, "clusters must be None where no band"),
        ({"thresholds": np.arange(1001)}, "thresholds must hold at most 1000 for a band"),
        ({"thresholds": [np.inf]}, "thresholds must hold finite numbers"),
        ({"y_pred": {}}, "y_pred must hold one model at least"),
        ({"despine": 1}, "despine must be True or False"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        draw(**{"y_true": [0.0, 1.0], "y_pred": [0.2, 0.7], **options})
    assert plt.get_fignums() == []
