"""Concentration and Lorenz curves: what is drawn, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor

from skcal.diagrams import ConcentrationDisplay
from skcal.inference import concentration_test
from skcal.regression import concentration_curve

draw = ConcentrationDisplay.from_predictions


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    rate, years = rng.gamma(2, 0.5, 300), rng.uniform(0.1, 1, 300)
    return rng.poisson(rate * years) / years, {"a": rate, "b": rate**2}, years


def test_curves_areas_and_tests(rows):
    y, models, years = rows
    options = {"sample_weight": years, "clusters": np.arange(300) // 3}
    display = draw(y, models, **options)
    for k, x in enumerate(models.values()):
        curve = concentration_curve(y, x, sample_weight=years)
        points = curve.share, curve.concentration
        np.testing.assert_array_equal(display.lines_[k].get_data(), points)
        np.testing.assert_array_equal(display.lorenz_[k].get_data(), (curve.share, curve.lorenz))
        (path,) = display.areas_[k].get_paths()
        corners = {tuple(corner) for corner in path.vertices}
        assert corners >= {*zip(*points, strict=True), *zip(curve.share, curve.lorenz, strict=True)}
        colors = {one[k].get_color() for one in (display.lines_, display.lorenz_)}
        assert len(colors) == 1
        test = concentration_test(y, x, **options)
        assert display.tests[k] == test
        label = f"{'ab'[k]} (ABC = {test.estimate:.3f}, p = {test.pvalue:.2g}, effective rows = "
        assert display.lines_[k].get_label().startswith(label)
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert words[-1] == "Area up to their share of the predictions (Lorenz curve)"
    assert len(words) == 3
    np.testing.assert_array_equal(display.ref_line_.get_xydata(), [[0, 0], [1, 1]])


def test_ways_to_one_diagram(rows):
    y, models, _ = rows
    X = np.log(models["a"])[:, None]
    model = PoissonRegressor(alpha=0).fit(X, y)
    found = ConcentrationDisplay.from_estimator(model, X, y)
    given = draw(y, model.predict(X))
    for one, other in zip(found.curves[0], given.curves[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert found.lines_[0].get_label().startswith("PoissonRegressor (ABC")
    assert given.lines_[0].get_label().startswith("Regressor (ABC")
    by_hand = ConcentrationDisplay(curves=given.curves).plot(name="mine")
    assert by_hand.lines_[0].get_label() == "mine"


def test_looks_and_common_axes(rows):
    y, models, _ = rows
    _, ax = plt.subplots()
    first = draw(y, models["a"], ax=ax)
    second = draw(
        y,
        models["b"],
        ax=ax,
        curve_kwargs={"c": "red"},
        area_kwargs={"alpha": 0.1},
        ref_line_kwargs={"lw": 3},
        despine=True,
    )
    assert second.ax_ is first.ax_ is ax
    assert second.lines_[0].get_color() == second.lorenz_[0].get_color() == "red"
    assert first.lines_[0].get_color() != "red"
    assert second.areas_[0].get_alpha() == 0.1
    assert second.ref_line_.get_linewidth() == 3
    assert not ax.spines["top"].get_visible()
    assert len(ax.get_legend().get_texts()) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y_pred": {}}, "y_pred must hold one model at least"),
        ({"y_pred": [-1, 1]}, "y_pred must not be negative"),
        ({"despine": 1}, "despine must be True or False"),
        ({"area_kwargs": "red"}, "area_kwargs must be None or a dictionary"),
        ({"name": 3}, "name must be a string"),
        ({"clusters": [1]}, "clusters must hold one label for each"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        draw(**{"y_true": [1, 2], "y_pred": [1, 2], **options})
    assert plt.get_fignums() == []


def test_lengths(rows):
    y, models, _ = rows
    curves = draw(y, models).curves
    with pytest.raises(ValueError, match="tests must have one entry for each of the 2 curves"):
        ConcentrationDisplay(curves=curves, tests=[None]).plot()
    with pytest.raises(ValueError, match="name must have one entry for each of the 2 curves"):
        ConcentrationDisplay(curves=curves).plot(name=["a", "b", "c"])


@pytest.mark.parametrize("curves", [[], None, ["x"]])
def test_curves_that_are_none(curves):
    with pytest.raises(ValueError, match="curves must be a list of"):
        ConcentrationDisplay(curves=curves).plot()
