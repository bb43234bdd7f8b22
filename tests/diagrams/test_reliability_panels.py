"""ReliabilityDisplay: a panel for each class."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from skcal.diagrams import ReliabilityDisplay


@pytest.fixture(scope="module")
def multiclass():
    X, y = make_classification(n_samples=400, n_classes=3, n_informative=5, random_state=0)
    y = np.array(["a", "b", "c"])[y]
    return LogisticRegression().fit(X[:200], y[:200]), X[200:], y[200:]


ARRAYS = ("prob_pred", "prob_true", "density", "smooth_ece", "bandwidth", "n_samples")


def test_classwise_panels_are_those_of_each_class(multiclass):
    model, X, y = multiclass
    weight = np.random.default_rng(0).random(len(y))
    options = {"sample_weight": weight, "n_resamples": 5, "random_state": 0}
    display = ReliabilityDisplay.from_estimator(model, X, y, reduction="classwise", **options)
    assert display.pos_label == ["a", "b", "c"]
    assert display.reduction == "classwise"
    assert len(display.ax_) == len(display.line_) == len(display.density_) == 3
    assert len({id(ax) for ax in display.ax_}) == 3
    assert display.rug_ is display.witness_ is None
    for k, label in enumerate("abc"):
        expected = ReliabilityDisplay.from_estimator(model, X, y, pos_label=label, **options)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(display, name)[k], getattr(expected, name))
        line = display.line_[k]
        assert line.axes is display.ax_[k]
        np.testing.assert_array_equal(line.get_xydata(), expected.line_.get_xydata())
        assert line.get_label() == expected.line_.get_label()
        assert display.ax_[k].get_xlabel() == expected.ax_.get_xlabel()
        assert f"(Positive label: {label})" in display.ax_[k].get_ylabel()


def test_top_label_panels_are_those_of_the_rows_with_that_prediction(multiclass):
    model, X, y = multiclass
    display = ReliabilityDisplay.from_estimator(model, X, y, reduction="top-label")
    assert display.pos_label == ["a", "b", "c"]
    predicted, proba = model.predict(X), model.predict_proba(X).max(axis=1)
    for k, label in enumerate("abc"):
        rows = predicted == label
        expected = ReliabilityDisplay.from_predictions(y[rows] == label, proba[rows])
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(display, name)[k], getattr(expected, name))
        assert display.ax_[k].get_xlabel() == f"Confidence (Predicted label: {label})"
        words = [text.get_text() for text in display.side_labels_[k]]
        assert words == ["under-confident", "over-confident"]


def test_labels_that_are_never_predicted_have_no_panel(multiclass):
    _, _, y = multiclass
    y_proba = np.tile([0.3, 0.1, 0.6], (len(y), 1))
    y_proba[:20] = [0.8, 0.1, 0.1]
    display = ReliabilityDisplay.from_predictions(y, y_proba, reduction="top-label")
    assert display.pos_label == ["a", "c"]
    assert [line.get_label()[:10] for line in display.line_] == ["Classifier"] * 2


@pytest.mark.parametrize(
    ("y_true", "options", "expected"),
    [
        ([0, 1, 1], {}, [0, 1]),
        ([False, True, True], {}, [False, True]),
        ([-1, 1, 1], {}, [-1, 1]),
        (["no", "yes", "no"], {"pos_label": "yes"}, ["no", "yes"]),
        (["no", "yes", "no"], {"labels": ["yes", "no"]}, ["yes", "no"]),
        (["yes", "yes", "yes"], {"pos_label": "yes"}, ["not yes", "yes"]),
    ],
)
def test_two_classes(y_true, options, expected):
    y_proba = np.array([0.2, 0.6, 0.7])
    display = ReliabilityDisplay.from_predictions(
        y_true, y_proba, reduction="classwise", kind="binned", **options
    )
    assert display.pos_label == expected
    assert [type(label) for label in display.pos_label] == [type(label) for label in expected]
    positive = 1 if options.get("labels") is None or expected[1] == "no" else 0
    np.testing.assert_allclose(display.prob_pred[positive], y_proba)
    np.testing.assert_allclose(display.prob_pred[1 - positive][::-1], 1 - y_proba)


def test_full_reduction_is_one_square(multiclass):
    model, X, y = multiclass
    display = ReliabilityDisplay.from_estimator(model, X, y, reduction="full")
    hits = y[:, None] == model.classes_
    expected = ReliabilityDisplay.from_predictions(hits.T.ravel(), model.predict_proba(X).T.ravel())
    np.testing.assert_array_equal(display.prob_true, expected.prob_true)
    assert display.n_samples == 3 * len(y)
    assert display.ax_.get_xlabel() == "Predicted probability, all classes"
    assert display.pos_label is None


def test_given_axes(multiclass):
    model, X, y = multiclass
    _, axes = plt.subplots(3, 1, figsize=(5, 15))
    options = {"reduction": "classwise", "name": "model", "despine": True}
    display = ReliabilityDisplay.from_estimator(model, X, y, ax=axes, **options)
    np.testing.assert_array_equal(display.ax_, axes)
    assert display.figure_ is axes[0].figure
    assert len(plt.get_fignums()) == 1
    for ax in axes:
        assert not ax.spines["top"].get_visible()
        assert ax.get_legend().get_texts()[1].get_text().startswith("model (smECE = ")
    _, axes = plt.subplots(2, 2)
    for wrong, count in ((axes, 4), (axes[0, 0], 1)):
        with pytest.raises(ValueError, match=f"array of 3 axes, one for each panel; got {count}"):
            ReliabilityDisplay.from_estimator(model, X, y, ax=wrong, reduction="classwise")


def test_new_figure_has_no_empty_axes(multiclass):
    model, X, y = multiclass
    display = ReliabilityDisplay.from_estimator(model, X, y, reduction="classwise")
    assert set(display.figure_.axes) == set(display.ax_)
    display.figure_.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in display.ax_]
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:i])


def test_hand_made_panels():
    display = ReliabilityDisplay(
        prob_pred=[[0.1, 0.9], [0.2, 0.8]],
        prob_true=[np.array([0.2, 0.8]), np.array([0.2, 0.8])],
        pos_label=["a", "b"],
        name="by hand",
    ).plot()
    assert [ax.get_xlabel()[-3:] for ax in display.ax_] == [" a)", " b)"]
    np.testing.assert_array_equal(display.line_[1].get_xdata(), [0.2, 0.8])
    display = ReliabilityDisplay(
        prob_pred=[[0.1, 0.9], [0.2, 0.8]], prob_true=[[0, 1], [0, 1]], pos_label=["a"]
    )
    with pytest.raises(ValueError, match="pos_label must have one entry for each of the 2 curves"):
        display.plot()


def test_lists_are_shared_out_to_the_panels(multiclass):
    model, X, y = multiclass
    draw = ReliabilityDisplay.from_estimator
    looks = [{"color": color} for color in ("red", "green", "blue")]
    display = draw(model, X, y, reduction="classwise", name=["A", "B", "C"], curve_kwargs=looks)
    assert [line.get_label()[0] for line in display.line_] == ["A", "B", "C"]
    assert [line.get_color() for line in display.line_] == ["red", "green", "blue"]
    plt.close("all")
    for options, message in (
        ({"name": ["A", "B"]}, "name must have one entry for each of the 3 curves; got 2"),
        ({"curve_kwargs": looks[:2]}, "curve_kwargs must have one entry for each of the 3"),
        ({"curve_kwargs": "red"}, "curve_kwargs must be None, a dictionary or a list"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(model, X, y, reduction="classwise", **options)
        assert not plt.get_fignums()


def test_panels_of_a_subclass_with_a_constructor_of_its_own(multiclass):
    class Subclass(ReliabilityDisplay):
        def __init__(self, *, extra=None, **kwargs):
            super().__init__(**kwargs)
            self.extra = extra

    model, X, y = multiclass
    display = Subclass.from_estimator(model, X, y, reduction="classwise")
    assert type(display) is Subclass
    assert len(display.line_) == 3


def test_folds_have_no_panels(multiclass):
    model, X, y = multiclass
    results = cross_validate(model, X, y, cv=2, return_estimator=True, return_indices=True)
    with pytest.raises(ValueError, match="reduction must be one of 'auto', 'confidence', 'full'"):
        ReliabilityDisplay.from_cv_results(results, X, y, reduction="classwise")
    assert not plt.get_fignums()
