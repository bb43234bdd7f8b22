"""Murphy curves: definition, areas, published values, closed forms, weights."""

import numpy as np
import pytest

from skcal.metrics import elementary_score_curve
from skcal.regression import corp_regression_decomposition, murphy_curve, pinball_loss

FUNCTIONALS = [("mean", 0.5), ("quantile", 0.5), ("quantile", 0.9), ("expectile", 0.2)]
every_functional = pytest.mark.parametrize(("functional", "level"), FUNCTIONALS)


@pytest.fixture
def rows():
    """With ties of targets, predictions and both."""
    rng = np.random.default_rng(3)
    y, x = (rng.normal(size=60).round(1) for _ in range(2))
    return np.r_[y, 0.5, -0.5], np.r_[x, 0.5, -0.5], rng.integers(0, 4, 62)


def find_loss(y, x, t, functional, level):
    """The definition, row by row."""
    if not min(x, y) <= t < max(x, y):
        return 0.0
    side = abs((y < x) - level)
    return side if functional == "quantile" else 2 * side * abs(y - t)


def integrate(curve):
    lengths = np.diff(curve.thresholds)
    return lengths @ (curve.score[:-1] + curve.score_below[1:]) / 2


@every_functional
def test_definition(rows, functional, level):
    y, x, w = rows
    t = np.r_[np.linspace(-3, 3, 61).round(1), 0.25, -0.5, 7.0]
    options = {"functional": functional, "level": level, "sample_weight": w}
    curve = murphy_curve(y, x, thresholds=t, **options)
    step = 1e-9
    for at, score, below in zip(t, curve.score, curve.score_below, strict=True):
        losses = [
            [find_loss(*row, place, functional, level) for row in zip(y, x, strict=True)]
            for place in (at, at - step)
        ]
        expected = np.average(losses, axis=1, weights=w)
        assert [score, below] == pytest.approx(expected, abs=3 * step)
    np.testing.assert_array_equal(curve.thresholds, t)
    assert curve.score[-1] == curve.score_below[-1] == 0


@every_functional
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_area_is_the_loss(rows, functional, level, offset):
    y, x, w = rows
    options = {"functional": functional, "level": level, "sample_weight": w}
    area = integrate(murphy_curve(y + offset, x + offset, **options))
    if functional == "quantile":
        expected = pinball_loss(y, x, quantiles=level, sample_weight=w)
    else:
        expected = corp_regression_decomposition(y, x, **options).score / 2
    assert area == pytest.approx(expected, rel=1e-9 if offset else 1e-12)


@every_functional
def test_best_constant(rows, functional, level):
    """Its area is the uncertainty, whichever of several best quantiles it is."""
    y, x, _ = rows
    options = {"functional": functional, "level": level}
    t = np.linspace(-4, 4, 80_001)
    curve = murphy_curve(y, x, thresholds=t, **options)
    parts = corp_regression_decomposition(y, x, **options)
    unit = 1 if functional == "quantile" else 2
    area = unit * np.trapezoid(curve.constant_score, t)
    assert area == pytest.approx(parts.uncertainty, rel=1e-3)


def test_values_of_scores():
    """Of the tests of the package `scores` (murphy_score), without the factor 2 of expectiles."""
    y, t = [2.0, 4.0], [0.0, 2.0, 10.0]
    for x, quantile, expectile in (
        ([0.0, 5.0], [0.25, 0.0, 0.0], [0.5, 0.0, 0.0]),
        ([10.0, 15.0], [0.0, 0.25, 0.25], [0.0, 0.0, 1.5]),
    ):
        for functional, expected in (("quantile", quantile), ("expectile", expectile)):
            curve = murphy_curve(y, x, functional=functional, thresholds=t)
            unit = 1 if functional == "quantile" else 2
            np.testing.assert_allclose(curve.score, unit * np.array(expected))


def test_value_of_model_diagnostics():
    """Of the docstring of ElementaryScore(eta=2, functional="mean")."""
    assert murphy_curve([1, 2, 2, 1], [4, 1, 2, 3], thresholds=[2]).score == [0.5]


def test_probabilities_have_the_curve_of_decisions():
    rng = np.random.default_rng(0)
    v = rng.random(200)
    y, w = (rng.random(200) < v).astype(int), rng.random(200)
    t = np.r_[0, np.sort(v)[::7], 0.3, 1]
    means = murphy_curve(y, v, thresholds=t, sample_weight=w)
    decisions = elementary_score_curve(y, v, thresholds=t, sample_weight=w)
    np.testing.assert_allclose(means.score, decisions.score, atol=1e-12)
    np.testing.assert_allclose(means.constant_score, decisions.base_rate_score, atol=1e-12)


@every_functional
def test_weights_count_rows_in_any_order(rows, functional, level):
    y, x, w = rows
    options = {"functional": functional, "level": level}
    weighted = murphy_curve(y, x, sample_weight=w * 1e-8, **options)
    repeated = murphy_curve(np.repeat(y, w)[::-1], np.repeat(x, w)[::-1], **options)
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"functional": "median"}, "functional must be one of"),
        ({"functional": "quantile", "level": 1}, "level must lie strictly between 0 and 1"),
        ({"level": 0.3}, "level must be 0.5 for the mean"),
        ({"thresholds": []}, "thresholds must be one-dimensional, with at least one"),
        ({"thresholds": [np.nan]}, "thresholds must hold finite numbers"),
        ({"thresholds": [1e200]}, "thresholds must be at most 1e100"),
        ({"y_pred": [[1, 2], [1, 2]], "functional": "quantile", "level": [0.1, 0.9]}, "one column"),
        ({"y_pred": [1]}, "y_pred must have shape"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        murphy_curve(**{"y_true": [0, 1], "y_pred": [1, 2], **options})
