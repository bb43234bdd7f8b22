"""Diagrams of internal validations: apparent and corrected curves, and stability."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from skcal.diagrams import MeanReliabilityDisplay, ReliabilityDisplay, StabilityDisplay
from skcal.metrics import net_benefit_curve
from skcal.model_selection import internal_validation

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 5))
Y = np.array(["no", "yes"])[(RNG.random(150) < expit(X[:, 0])).astype(int)]
KINDS = ("predictions", "errors", "calibration", "classification", "decision")


@pytest.fixture(scope="module")
def validation():
    return internal_validation(
        LogisticRegression(), X, Y, n_resamples=12, stability=True, random_state=0
    )


def draw(validation, kind, **options):
    threshold = 0.4 if kind == "classification" else None
    return StabilityDisplay.from_internal_validation(
        validation, kind=kind, threshold=threshold, **options
    )


def test_apparent_and_corrected_curve(validation):
    display = ReliabilityDisplay.from_internal_validation(validation)
    curve = validation.curve
    for line, expected in zip(display.line_, (curve.apparent, curve.corrected), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), curve.prob_pred)
        np.testing.assert_array_equal(np.ma.getdata(line.get_ydata()), expected)
    assert display.ax_.get_xlabel() == "Predicted probability (Positive label: yes)"
    assert len(np.atleast_1d(display.band_)) == 1
    _, ax = plt.subplots()
    named = ReliabilityDisplay.from_internal_validation(validation, name=["a", "b"], ax=ax)
    assert [line.get_label() for line in named.line_] == ["a", "b"]
    for name in ("a", ["a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match=r"^name must be a list of two strings or None; got"):
            ReliabilityDisplay.from_internal_validation(validation, name=name)
    with pytest.raises(ValueError, match=r"^validation must be what internal_validation returned"):
        ReliabilityDisplay.from_internal_validation(3)


def test_what_each_kind_shows(validation):
    found = validation.stability
    ranges = draw(validation, "predictions").ranges_.get_segments()
    places = np.repeat(found.predictions[:, None], 2, axis=1)
    ends = np.column_stack([found.low, found.high])
    np.testing.assert_array_equal(ranges, np.stack([places, ends], axis=2))
    points = draw(validation, "errors").points_.get_offsets()
    np.testing.assert_array_equal(points, np.column_stack([found.predictions, found.errors]))
    points = draw(validation, "classification").points_.get_offsets()[:, 1]
    differ = (found.resampled >= 0.4) != (found.predictions >= 0.4)[:, None]
    np.testing.assert_array_equal(points, differ.mean(axis=1))
    display = draw(validation, "decision")
    assert len(display.lines_) == 12
    own = net_benefit_curve(found.outcomes, found.resampled[:, 3])
    np.testing.assert_array_equal(display.lines_[3].get_ydata(), own.net_benefit)
    np.testing.assert_array_equal(display.lines_[3].get_xdata(), own.thresholds)
    labels = [line.get_label() for line in display.ref_lines_]
    assert labels == ["Treat all", "Treat none"]


def test_calibration_curves_of_a_calibrated_model_are_the_diagonal(validation):
    """Outcomes that are the predictions themselves leave nothing to smooth."""
    found = validation.stability
    exact = validation._replace(stability=found._replace(outcomes=found.predictions))
    display = draw(exact, "calibration")
    x, y = display.line_.get_data()
    known = np.isfinite(y)
    assert known.sum() > 50
    np.testing.assert_allclose(y[known], x[known], atol=1e-9)
    assert len(display.lines_) == 12


@pytest.mark.parametrize("kind", KINDS)
def test_looks_and_constructor(validation, kind):
    _, ax = plt.subplots()
    options = {"ref_line_kwargs": {"lw": 3}, "others_kwargs": {"alpha": 0.9}, "despine": True}
    display = draw(validation, kind, ax=ax, curve_kwargs={"c": "red"}, **options)
    assert display.ax_ is ax
    assert display.line_ is None or display.line_.get_color() == "red"
    assert all(line.get_linewidth() == 3 for line in display.ref_lines_)
    others = [*display.lines_, display.points_, display.ranges_]
    assert {one.get_alpha() for one in others if one is not None} == {0.9}
    assert not ax.spines["top"].get_visible()
    names = ("kind", "places", "own", "others", "treat_all", "pos_label", "confidence_level")
    again = StabilityDisplay(**{name: getattr(display, name) for name in names}).plot()
    assert again.ax_.get_ylabel() == ax.get_ylabel()


@pytest.mark.parametrize("kind", KINDS)
def test_axes_of_another_display_are_refused(validation, kind):
    display = draw(validation, kind)
    with pytest.raises(ValueError, match="ax must not show another display"):
        draw(validation, kind, ax=display.ax_)
    with pytest.raises(ValueError, match="ax must be empty, or show the quantities"):
        MeanReliabilityDisplay.from_predictions([0.0, 1.0], [0.2, 0.7], ax=display.ax_)


def test_bad_arguments(validation):
    for options, error in (
        ({"kind": "curves"}, "kind must be one of"),
        ({"kind": "classification"}, "threshold must be given for kind='classification'"),
        ({"threshold": 0.5}, "threshold must be given for kind='classification' and for no other"),
        ({"kind": "classification", "threshold": 1.5}, "threshold must"),
        ({"despine": 3}, "despine must be"),
    ):
        with pytest.raises(ValueError, match=f"^{error}"):
            StabilityDisplay.from_internal_validation(validation, **options)
    without = validation._replace(stability=None)
    with pytest.raises(
        ValueError, match=r"^validation must come from internal_validation\(\.\.\., s"
    ):
        StabilityDisplay.from_internal_validation(without)
