"""Plane of miscalibration and discrimination: numbers, points, and lines of equal scores."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.naive_bayes import GaussianNB

from skcal.diagrams import ScoreDecompositionDisplay
from skcal.metrics import CORPDecomposition, corp_decomposition
from skcal.regression import corp_regression_decomposition
from tests.diagrams.artists import list_legend

rng = np.random.default_rng(0)
Z = rng.normal(size=300)
Y = (rng.random(300) < expit(Z)).astype(int)
MODELS = {"right": expit(Z), "extreme": expit(3 * Z), "constant": np.full(300, Y.mean())}
DRAW = ScoreDecompositionDisplay.from_predictions
SCORES = {"brier": brier_score_loss, "log": log_loss}


@pytest.mark.parametrize("loss", SCORES)
@pytest.mark.parametrize("weights", [None, np.arange(300) % 3])
def test_points_are_the_decompositions(loss, weights):
    display = DRAW(Y, MODELS, loss=loss, sample_weight=weights)
    for k, (name, proba) in enumerate(MODELS.items()):
        parts = corp_decomposition(Y, proba, loss=loss, sample_weight=weights)
        x, y = display.points_[k].get_xydata()[0]
        assert (x, y) == (parts.miscalibration, parts.discrimination)
        score = SCORES[loss](Y, proba, sample_weight=weights)
        assert display.score[k] == pytest.approx(score)
        assert f"{name} (" in display.points_[k].get_label()
        assert f"= {score:.3g}" in display.points_[k].get_label()
    base_rate = np.full(300, np.average(Y, weights=weights))
    assert display.uncertainty == pytest.approx(SCORES[loss](Y, base_rate, sample_weight=weights))


@pytest.mark.parametrize("loss", SCORES)
def test_lines_have_the_score_that_is_written_on_them(loss):
    """A point of a line has the score MCB - DSC + UNC."""
    display = DRAW(Y, MODELS, loss=loss)
    (_, right), (_, top) = display.ax_.get_xlim(), display.ax_.get_ylim()
    lines = np.array(display.isolines_.get_segments())
    scores = lines[..., 0] - lines[..., 1] + display.uncertainty
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], atol=1e-12)
    written = [float(text.get_text()) for text in display.ax_.texts]
    assert len(written) >= 3
    assert all(np.isclose(scores, one).any() for one in written)
    on_frame = np.isclose(lines, 0) | np.isclose(lines, [right, top])
    assert on_frame.any(axis=2).all()  # they cross the axes from end to end
    for text in display.ax_.texts:  # on its line
        x, y = text.get_position()
        assert x - y + display.uncertainty == pytest.approx(float(text.get_text()))
    assert display.ref_line_.get_slope() == 1
    assert display.ref_line_.get_xy1() == (0, 0)
    assert f"UNC = {display.uncertainty:.3g}" in display.ref_line_.get_label()


def test_infinite_miscalibration_is_an_arrow_at_the_edge():
    models = MODELS | {"hard": (Z > 0).astype(float)}
    display = DRAW(Y, models, loss="log")
    assert display.miscalibration[3] == np.inf
    arrow = display.points_[3]
    assert arrow.get_marker() == ">"
    place = arrow.get_transform().transform(arrow.get_xydata()[0])
    right = display.ax_.get_xlim()[1]
    expected = display.ax_.transData.transform([right, display.discrimination[3]])
    np.testing.assert_allclose(place, expected)
    assert right > display.miscalibration[:3].max()
    assert display.score[3] == np.inf
    assert "inf" in arrow.get_label()
    assert DRAW(Y, models["hard"], loss="log").points_[0].get_marker() == ">"


def test_classifiers_by_name():
    """Of three classes the parts are means over the classes, or those of one of them."""
    X, y = load_iris(return_X_y=True)
    X, y = X[:, :2], np.array(["a", "b", "c"])[y]
    models = {
        name: model.fit(X[::2], y[::2])
        for name, model in {"Bayes": GaussianNB(), "logistic": LogisticRegression()}.items()
    }
    for options in ({}, {"pos_label": "b"}, {"reduction": "full", "loss": "log"}):
        display = ScoreDecompositionDisplay.from_estimator(models, X[1::2], y[1::2], **options)
        asked = {"reduction": "auto" if "pos_label" in options else "classwise"} | options
        for k, model in enumerate(models.values()):
            proba = model.predict_proba(X[1::2])
            parts = corp_decomposition(y[1::2], proba, **asked)
            found = display.score[k], display.miscalibration[k], display.discrimination[k]
            np.testing.assert_allclose((*found, display.uncertainty), parts, atol=1e-12)
        assert display.pos_label == options.get("pos_label")
        assert display.name == ["Bayes", "logistic"]
    one = ScoreDecompositionDisplay.from_estimator(models["Bayes"], X[1::2], y[1::2])
    assert one.name == ["GaussianNB"]


def test_decompositions_of_means():
    models = {"right": Z, "far": Z + 1}
    found = {name: corp_regression_decomposition(Y, mean) for name, mean in models.items()}
    display = ScoreDecompositionDisplay.from_decompositions(found, score_name="squared error")
    expected = [np.mean((Y - mean) ** 2) for mean in models.values()]
    np.testing.assert_allclose(display.score, expected)
    assert display.uncertainty == pytest.approx(Y.var())
    assert display.points_[0].get_label().startswith("right (squared error = ")
    assert display.ref_line_.get_label().startswith("Squared error of a constant")


def test_models_on_shared_axes():
    """The axes grow, with lines of all of them."""
    first = DRAW(Y, MODELS["right"], name="right")
    before = first.ax_.get_xlim()[1]
    second = DRAW(Y, MODELS["extreme"], name="extreme", ax=first.ax_)
    assert second.ref_line_ is first.ref_line_
    assert first.ax_.get_xlim()[1] > before
    assert list(first.ax_.collections) == [second.isolines_]
    together = DRAW(Y, {name: MODELS[name] for name in ("right", "extreme")})
    assert together.ax_.get_xlim() == first.ax_.get_xlim()
    np.testing.assert_allclose(together.isolines_.get_segments(), second.isolines_.get_segments())
    assert set(list_legend(first.ax_)) == set(list_legend(together.ax_))
    assert first.points_[0].get_color() != second.points_[0].get_color()
    for y, options in ((Y, {"loss": "log"}), (1 - Y[:200], {})):
        with pytest.raises(ValueError, match="ax must be empty, or show the quantities"):
            DRAW(y, MODELS["right"][: len(y)], ax=first.ax_, **options)


def test_looks():
    looks = [{"c": "red"}, {"ms": 3}, {}]
    display = DRAW(
        Y, MODELS, point_kwargs=looks, isoline_kwargs={"lw": 2}, ref_line_kwargs={"ls": "-"},
        despine=True,
    )  # fmt: skip
    red, small, _ = display.points_
    assert (red.get_color(), small.get_markersize()) == ("red", 3)
    assert display.isolines_.get_linewidth() == [2]
    assert display.ref_line_.get_linestyle() == "-"
    assert not display.ax_.spines["top"].get_visible()
    again = display.plot(name=["a", "b", "c"])
    assert [point.get_label()[0] for point in again.points_] == ["a", "b", "c"]
    many = DRAW(Y, {str(k): MODELS["right"] for k in range(25)})
    assert len({(one.get_color(), one.get_marker()) for one in many.points_}) == 25


@pytest.mark.parametrize("constant", [0, 1])
def test_outcomes_of_one_kind(constant):
    display = DRAW(np.full(9, constant), np.full(9, 0.25), labels=[0, 1])
    assert display.uncertainty == display.discrimination[0] == 0
    assert display.miscalibration[0] == pytest.approx((constant - 0.25) ** 2)
    perfect = DRAW(np.full(9, constant), np.full(9, float(constant)), labels=[0, 1])
    assert perfect.score[0] == 0
    assert perfect.ax_.get_xlim()[1] > 0


def test_words_on_small_axes_are_inside():
    figure, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
    display = DRAW(Y, MODELS, ax=axes[0, 1])
    figure.canvas.draw()
    assert list_legend(display.ax_) == list(MODELS)  # the numbers have left
    legend = display.ax_.get_legend().get_window_extent()
    assert figure.bbox.contains(legend.x0, legend.y0)
    assert figure.bbox.contains(legend.x1, legend.y1)


def test_bad_input():
    parts = CORPDecomposition(0.2, 0.1, 0.1, 0.2)
    other = parts._replace(uncertainty=0.3)
    compare = ScoreDecompositionDisplay.from_decompositions
    three = np.full((3, 3), 1 / 3)
    for call, error, message in (
        (lambda: DRAW(Y, MODELS, reduction="confidence"), ValueError, "reduction must be one of"),
        (lambda: DRAW(Y, MODELS, loss="x"), ValueError, "loss must be one of"),
        (lambda: DRAW(Y, MODELS, name="x"), ValueError, "name must be None: the keys of y_proba"),
        (lambda: DRAW(Y, {}), ValueError, "y_proba must hold one model at least"),
        (lambda: DRAW(Y, MODELS, color="k"), TypeError, "unexpected keyword arguments: color"),
        (lambda: DRAW(Y, MODELS, point_kwargs=[{}]), ValueError, "point_kwargs must be .* of 3"),
        (lambda: DRAW(Y, MODELS, isoline_kwargs=3), ValueError, "isoline_kwargs must be None or"),
        (lambda: DRAW([0, 1, 2], three, pos_label=7), ValueError, "pos_label must be one of"),
        (lambda: compare([parts]), ValueError, "decompositions must be a dictionary"),
        (lambda: compare({}), ValueError, "decompositions must be a dictionary"),
        (lambda: compare({"a": 1}), ValueError, "must hold CORPDecomposition; got an int"),
        (lambda: compare({"a": parts, "b": other}), ValueError, r"same uncertainty.*\[0.2, 0.3\]"),
        (lambda: compare({"a": parts}, score_name=1), ValueError, "score_name must be a string"),
    ):
        with pytest.raises(error, match=message):
            call()
        assert not plt.get_fignums()
    arrays = {"miscalibration": np.zeros(2), "discrimination": np.zeros(3), "uncertainty": 0.2}
    with pytest.raises(ValueError, match="miscalibration and discrimination must have one number"):
        ScoreDecompositionDisplay(**arrays).plot()
    with pytest.raises(ValueError, match=r"miscalibration must hold a number .* shape \(\)"):
        ScoreDecompositionDisplay(**arrays | {"miscalibration": 0.1}).plot()
