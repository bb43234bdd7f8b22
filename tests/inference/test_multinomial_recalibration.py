"""Multinomial recalibration: closed forms, an independent optimiser, two classes, and coverage."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax
from scipy.stats import chi2

from skcal.inference import (
    MultinomialRecalibration,
    cox_recalibration,
    multinomial_recalibration,
)
from tests.chance import most_of

NAMES = np.array(["a", "b", "c"])


def draw_classes(rng, n, slope=1.0, shift=(0.0, 0.0, 0.0)):
    """Predictions, and labels of which softmax(slope * logits + shift) is the law."""
    logits = rng.normal(0, 1.2, size=(n, 3))
    scores = slope * logits + shift + rng.gumbel(size=(n, 3))
    return NAMES[scores.argmax(axis=1)], softmax(logits, axis=1)


def refer(proba, reference=0):
    """Log odds of the other columns."""
    logarithms = np.log(proba)
    return np.delete(logarithms - logarithms[:, [reference]], reference, axis=1)


def compute_loss(scores, codes):
    """Sum of log losses of log odds against the first class."""
    scores = np.column_stack([np.zeros(len(scores)), scores])
    return -np.log(softmax(scores, axis=1)[np.arange(len(codes)), codes]).sum()


def test_independent_optimiser(rng):
    """All three models by a search without derivatives of ours, errors by a numerical Hessian."""
    y, proba = draw_classes(rng, 300, 0.7, (0, 0.4, -0.3))
    found, codes, odds = (
        multinomial_recalibration(y, proba),
        np.searchsorted(NAMES, y),
        refer(proba),
    )
    assert isinstance(found, MultinomialRecalibration)
    assert found.reference == "a"
    assert found.table["class"].tolist() == ["b", "c"]

    def full(point):
        return compute_loss(point[:2] + odds @ point[2:].reshape(2, 2).T, codes)

    def level(point):
        return compute_loss(point + odds, codes)

    def diagonal(point):
        return compute_loss(point[:2] + odds * point[2:], codes)

    starts = [0, 0, 1, 0, 0, 1], [0, 0], [0, 0, 1, 1]
    best = [minimize(f, x, tol=1e-10) for f, x in zip((full, level, diagonal), starts, strict=True)]
    estimates = found.coefficients.set_index(["class", "term"])["estimate"]
    for k, name in enumerate("bc"):
        own = [estimates[name, term] for term in ("intercept", "log odds of b", "log odds of c")]
        expected = [best[0].x[k], *best[0].x[2 + 2 * k : 4 + 2 * k]]
        np.testing.assert_allclose(own, expected, atol=1e-4)
    table = found.table
    np.testing.assert_allclose(table["calibration_in_the_large"], best[1].x, atol=1e-4)
    np.testing.assert_allclose(table["slope"], best[2].x[2:], atol=1e-4)
    raw = compute_loss(odds, codes)
    for test, above, below, degrees in (
        (found.test, raw, best[0].fun, 6),
        (found.intercept_test, raw, best[1].fun, 2),
        (found.slope_test, best[1].fun, best[0].fun, 4),
    ):
        statistic = 2 * (above - below)
        expected = statistic, chi2.sf(statistic, degrees), statistic / 600
        np.testing.assert_allclose(test[:3], expected, rtol=1e-6)
    assert found.test.statistic == pytest.approx(
        found.intercept_test.statistic + found.slope_test.statistic, rel=1e-9
    )
    curvature, step = np.empty((6, 6)), 1e-4 * np.eye(6)
    for one in range(6):
        for other in range(6):
            ends = [
                sign * full(best[0].x + first * step[one] + second * step[other])
                for first, second, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
            ]
            curvature[one, other] = sum(ends) / 4e-8
    errors = np.sqrt(np.diag(np.linalg.inv(curvature)))
    np.testing.assert_allclose(found.coefficients["error"], errors[[0, 2, 3, 1, 4, 5]], rtol=1e-3)
    rows = found.coefficients
    np.testing.assert_allclose(rows["high"] - rows["low"], 2 * 1.959964 * rows["error"], rtol=1e-6)


def test_intercepts_of_constant_predictions():
    """They are what the log odds of the shares say, and no slope is identified."""
    counts, proba = np.array([20, 50, 30]), np.array([0.5, 0.3, 0.2])
    y = np.repeat(NAMES, counts)
    found = multinomial_recalibration(y, np.tile(proba, (100, 1)))
    expected = np.log(counts[1:] / counts[0]) - np.log(proba[1:] / proba[0])
    np.testing.assert_allclose(found.table["calibration_in_the_large"], expected, rtol=1e-9)
    errors = np.sqrt(1 / counts[1:] + 1 / counts[0])
    np.testing.assert_allclose(found.table["intercept_error"], errors, rtol=1e-9)
    assert found.table["slope"].isna().all()
    assert np.isneginf(found.table["slope_low"]).all()
    assert np.isposinf(found.table["slope_high"]).all()
    statistic = 2 * counts @ np.log(counts / 100 / proba)
    np.testing.assert_allclose(found.test[:2], (statistic, chi2.sf(statistic, 2)), rtol=1e-9)
    assert found.slope_test[:2] == (0, 1)
    assert str(found).startswith("No slope is identified; intercepts, 0 if calibrated: p < 0.001")


@pytest.mark.parametrize("case", ["rows", "weights"])
def test_two_classes_are_those_of_cox(rng, case):
    v = expit(rng.normal(0.3, 1.2, 500))
    y = (rng.random(500) < expit(0.4 + 0.7 * logit(v))).astype(int)
    weights = rng.uniform(0.2, 3, 500) if case == "weights" else None
    cox = cox_recalibration(y, v, sample_weight=weights)
    found = multinomial_recalibration(y, v, sample_weight=weights)
    for name in ("test", "intercept_test", "slope_test"):
        np.testing.assert_allclose(getattr(found, name)[:3], getattr(cox, name)[:3], rtol=1e-6)
    intercept, slope = found.coefficients["estimate"]
    assert intercept == pytest.approx(cox.intercept.estimate, rel=1e-6)
    assert slope == pytest.approx(cox.slope.estimate, rel=1e-6)
    row = found.table.iloc[0]
    assert row["slope"] == pytest.approx(slope, rel=1e-6)
    level = cox.calibration_in_the_large
    assert row["calibration_in_the_large"] == pytest.approx(level.estimate, rel=1e-6)
    for low, high, interval in (
        (row["slope_low"], row["slope_high"], cox.slope),
        (row["intercept_low"], row["intercept_high"], level),
    ):
        assert high - low == pytest.approx(interval.high - interval.low, rel=0.02)


def test_clusters_of_two_classes(rng):
    """Errors are those of Cox's recalibration, whose intervals are a little skewed."""
    member = np.repeat(np.arange(60), 10)
    x = rng.normal(size=600)
    y = (rng.random(600) < expit(x + rng.normal(size=60)[member])).astype(int)
    cox = cox_recalibration(y, expit(x), clusters=member)
    found = multinomial_recalibration(y, expit(x), clusters=member)
    row, plain = found.table.iloc[0], multinomial_recalibration(y, expit(x)).table.iloc[0]
    assert row["intercept_error"] > 1.3 * plain["intercept_error"]
    level = cox.calibration_in_the_large
    for low, high, interval in (
        (row["slope_low"], row["slope_high"], cox.slope),
        (row["intercept_low"], row["intercept_high"], level),
    ):
        assert high - low == pytest.approx(interval.high - interval.low, rel=0.02)
    for name in ("intercept_test", "slope_test"):
        np.testing.assert_allclose(getattr(found, name)[:3], getattr(cox, name)[:3], rtol=1e-6)
    copies = multinomial_recalibration(
        np.repeat(y, 3), np.repeat(expit(x), 3), clusters=np.repeat(np.arange(600), 3)
    )
    np.testing.assert_allclose(copies.table.iloc[:, 1:], plain.iloc[1:].to_numpy(dtype=float)[None])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_equal_predictions_in_clusters(rng, n_classes):
    """No slope is left to test, and nothing varies where all clusters have the same outcomes."""
    member, counts = np.repeat(np.arange(40), 7), [8 - n_classes, *[1] * (n_classes - 1)]
    proba = np.tile(np.divide(counts, 7), (280, 1))
    found = multinomial_recalibration(rng.integers(n_classes, size=280), proba, clusters=member)
    assert found.slope_test[:2] == (0, 1)
    assert found.test[:2] == found.intercept_test[:2]
    assert found.test.pvalue < 0.01
    y = np.tile(np.repeat(np.arange(n_classes), counts), 40)
    found = multinomial_recalibration(y, proba, clusters=member)
    assert found.test[:2] == found.intercept_test[:2] == (0, 1)


def test_another_reference_tells_the_same(rng):
    y, proba = draw_classes(rng, 300, 0.8, (0, 0.2, 0))
    one, other = (multinomial_recalibration(y, proba, reference=name) for name in "ac")
    assert other.reference == "c"
    assert other.table["class"].tolist() == ["a", "b"]
    for name in ("test", "intercept_test", "slope_test"):
        np.testing.assert_allclose(getattr(one, name)[:3], getattr(other, name)[:3], rtol=1e-8)
    level = [found.table["calibration_in_the_large"].tolist() for found in (one, other)]
    assert level[0][1] == pytest.approx(-level[1][0], rel=1e-6)
    order = [2, 0, 1]
    turned = multinomial_recalibration(y, proba[:, order], labels=NAMES[order], reference="a")
    np.testing.assert_allclose(turned.test[:3], one.test[:3], rtol=1e-9)
    assert turned.table["class"].tolist() == ["c", "b"]
    np.testing.assert_allclose(turned.table["slope"], one.table["slope"][::-1], rtol=1e-6)


def test_labels_of_any_type(rng):
    y, proba = draw_classes(rng, 200)
    expected = multinomial_recalibration(y, proba)
    codes = np.searchsorted(NAMES, y)
    for labels, reference in ((y.astype(object), "a"), (codes, 0), (codes.astype(float), 0.0)):
        found = multinomial_recalibration(labels, proba, reference=reference)
        assert found.reference == reference
        assert type(found.reference) is type(reference)
        np.testing.assert_array_equal(found.table["slope"], expected.table["slope"])
    names = found.coefficients["term"].tolist()[:3]
    assert names == ["intercept", "log odds of 1.0", "log odds of 2.0"]


def test_bool_labels_keep_their_names(rng):
    v = rng.uniform(0.1, 0.9, 100)
    y = rng.random(100) < v
    for rows in ((y, v), (y.astype(object), np.column_stack([1 - v, v]))):
        found = multinomial_recalibration(*rows)
        assert found.reference is False
        assert found.table["class"].tolist() == [True]
    found = multinomial_recalibration(y, v, reference=True)
    assert found.reference is True
    assert found.table["class"].tolist() == [False]


def test_a_single_column_of_other_labels_needs_their_order(rng):
    v = rng.uniform(0.1, 0.9, 100)
    y = (rng.random(100) < v).astype(int)
    names = np.array(["no", "yes"])
    with pytest.raises(ValueError, match="labels must name both classes of y_true"):
        multinomial_recalibration(names[y], v)
    found = multinomial_recalibration(names[y], v, labels=names)
    assert found.table["slope"][0] == multinomial_recalibration(y, v).table["slope"][0]


def test_weights_of_any_scale(rng):
    y, proba = draw_classes(rng, 200, 0.8)
    w = rng.uniform(0.1, 2, 200)
    one, other = (multinomial_recalibration(y, proba, sample_weight=s * w) for s in (1, 1e40))
    np.testing.assert_allclose(one.test[:3], other.test[:3], rtol=1e-9)
    np.testing.assert_allclose(one.table.iloc[:, 1:], other.table.iloc[:, 1:], rtol=1e-9)
    plain, equal = (multinomial_recalibration(y, proba, sample_weight=s) for s in (None, 3 + 0 * w))
    np.testing.assert_allclose(plain.test[:3], equal.test[:3], rtol=1e-12)
    dropped = multinomial_recalibration(y[:150], proba[:150])
    zeros = multinomial_recalibration(y, proba, sample_weight=np.arange(200) < 150)
    np.testing.assert_allclose(dropped.table.iloc[:, 1:], zeros.table.iloc[:, 1:], rtol=1e-9)


def test_separated_outcomes_and_dependent_log_odds(rng):
    y, proba = draw_classes(rng, 90)
    y = NAMES[proba.argmax(axis=1)]
    found = multinomial_recalibration(y, proba)
    assert found.table["slope"].isna().all()
    assert np.isfinite(found.test[:2]).all()
    # The log odds of c are a constant more than those of b: one slope is left in each equation.
    v = rng.uniform(0.1, 0.7, 300)
    proba = np.column_stack([v, (1 - v) / 4, 3 * (1 - v) / 4])
    y = NAMES[(rng.random((300, 1)) >= proba.cumsum(axis=1)[:, :-1]).sum(axis=1)]
    found = multinomial_recalibration(y, proba)
    assert found.coefficients["estimate"].isna().all()
    assert found.table.notna().all(axis=None)
    statistic = found.slope_test.statistic
    assert found.slope_test.pvalue == pytest.approx(chi2.sf(statistic, 2))


@pytest.mark.parametrize("n", [40, 200, 1000])
@pytest.mark.parametrize("seed", range(10))
def test_separated_outcomes_have_no_slope(n, seed):
    """Whatever is left of the residuals; two rows that overlap on each side make it finite."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 3))
    proba, y = softmax(logits, axis=1), logits.argmax(axis=1)
    found = multinomial_recalibration(y, proba)
    assert found.table["slope"].isna().all()
    assert np.isposinf(found.table["slope_high"]).all()
    v, y = expit(logits[:, 0]), logits[:, 0] > 0
    assert multinomial_recalibration(y, v).table["slope"].isna().all()
    order = np.argsort(v)
    middle = np.searchsorted(v[order], 0.5)
    y[order[middle - 1 : middle + 1]] = True, False
    cox = cox_recalibration(y, v).slope
    slope = multinomial_recalibration(y, v).table["slope"][0]
    assert slope == pytest.approx(cox.estimate, rel=1e-4)


def test_coverage_of_intervals_and_level_of_tests():
    """Of 200 samples of a calibrated model 6 % at most are missed or rejected, but for chance."""
    rng, missed, rejected = np.random.default_rng(0), [], []
    for _ in range(200):
        found = multinomial_recalibration(*draw_classes(rng, 200))
        for name, truth in (("slope", 1), ("intercept", 0)):
            low, high = (found.table[f"{name}_{end}"] for end in ("low", "high"))
            missed.append((low > truth) | (high < truth))
        rejected.append([one.pvalue <= 0.05 for one in found[2:5]])
    errors = np.sum(missed[::2], axis=0), np.sum(missed[1::2], axis=0), np.sum(rejected, axis=0)
    assert np.concatenate(errors).max() <= most_of(200, 0.06)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reference": "d"}, "reference must be one of 'a', 'b', 'c'; got 'd'"),
        ({"y_true": ["a", "b", "a"], "labels": ["a", "b", "c"]}, "no row is of 'c'"),
        ({"y_true": [[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, "y_true must hold labels"),
        ({"y_proba": [[1.0, 0, 0], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]}, "got 1 rows with such"),
        ({"confidence_level": 1}, "confidence_level must be"),
        ({}, "y_proba must have as many rows as .*, 6 of 3 classes; got 3 rows"),
        ({"sample_weight": [1e-200, 1, 1e100]}, "within a factor of 1e\\+250"),
    ],
)
def test_bad_arguments(arguments, message):
    rows = {"y_true": ["a", "b", "c"], "y_proba": [[0.2, 0.3, 0.5]] * 3}
    with pytest.raises(ValueError, match=message):
        multinomial_recalibration(**(rows | arguments))


def test_sentence_and_table(rng):
    y, proba = draw_classes(rng, 2000, 0.5)
    found = multinomial_recalibration(y, proba)
    assert str(found).startswith("Slopes of log odds are for b 0.")
    frame = found.to_frame()
    assert frame.equals(found.table)
    assert frame is not found.table
