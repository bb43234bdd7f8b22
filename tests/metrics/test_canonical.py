"""Canonical calibration error: closed forms, a worked example, and what its options do."""

import numpy as np
import pytest

from skcal.metrics import canonical_calibration_error

MEDIAN = {"strategy": "median_variance"}
FIVE = np.array(
    [[0.4, 0.1, 0.5], [0.5, 0.3, 0.2], [0.3, 0.7, 0.0], [0.1, 0.0, 0.9], [0.8, 0.1, 0.1]]
)
# Uniform, 2 bins: rows {0, 1} differ by (.1, -.6, .7) - (0, 0, 0) = (-.1, -.6, .7) in sum.
# {2}: (.3, .7, -1), {3}: (-.9, 0, .9), {4}: (.8, -.9, .1).
SQUARES = (0.01 + 0.36 + 0.49) / 2, 0.09 + 0.49 + 1, 0.81 + 0.81, 0.64 + 0.81 + 0.01


def total_variation(prediction, outcome):
    assert prediction.shape == outcome.shape == (3,)
    assert [prediction.sum(), outcome.sum()] == pytest.approx([1, 1])
    return np.abs(prediction - outcome).sum() / 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"n_bins": 2}, 0.7 + 1.0 + 0.9 + 0.9),
        ({"n_bins": 2, "distance": total_variation}, 0.7 + 1.0 + 0.9 + 0.9),
        ({"n_bins": 2, "distance": "cityblock"}, 2 * (0.7 + 1.0 + 0.9 + 0.9)),
        ({"n_bins": 2, "distance": "squared_euclidean"}, sum(SQUARES)),
        # Below the median of the last component, 0.2, rows {2, 4} differ by (1.1, -.2, -.9) in
        # sum; the others, {0, 1, 3}, by (-1, -.6, 1.6).
        ({**MEDIAN, "min_samples": 2}, 1.1 + 1.6),
        ({**MEDIAN, "min_samples": 2, "distance": total_variation}, 1.1 + 1.6),
        # One bin: (2.1, 1.2, 1.7) - (2, 2, 1).
        ({**MEDIAN, "min_samples": 3}, 0.8),
        ({**MEDIAN, "min_samples": 1, "max_bins": 1}, 0.8),
    ],
)
def test_worked_example(options, expected):
    value = canonical_calibration_error([1, 2, 3, 1, 2], FIVE, **options)
    assert value == pytest.approx(expected / 5)


def list_triangles(n):
    """Midpoints of n^2 equal triangles that fill the simplex of three classes."""
    corners = np.indices((n, n)).reshape(2, -1).T
    places = np.concatenate([corners + 1 / 3, corners + 2 / 3]) / n
    places = places[places.sum(axis=1) < 1]
    return np.column_stack([places, 1 - places.sum(axis=1)])


def test_closed_form_of_shrunk_vectors():
    """Outcomes (1 - w) p + w / K of p uniform on the simplex: w (1 - 1/K)^K, from below."""
    proba, w = list_triangles(120), 0.5
    target, limit = (1 - w) * proba + w / 3, w * (2 / 3) ** 3
    for n_bins in (3, 30):  # all residuals of a bin have the same sign if 1/3 is an edge
        value = canonical_calibration_error(target, proba, n_bins=n_bins)
        assert value == pytest.approx(limit, abs=1e-14)
    values = [canonical_calibration_error(target, proba, n_bins=n) for n in (1, 2, 4, 8, 16)]
    assert values[0] == pytest.approx(0, abs=1e-12)
    assert (np.diff(values) > 0).all()  # refinements
    assert 0.99 * limit < values[-1] < limit
    value = canonical_calibration_error(target, proba, min_samples=20, **MEDIAN)
    assert 0.98 * limit < value < limit
    # Two classes: w / 4, for any even number of bins.
    v = (np.arange(10_000) + 0.5) / 10_000
    for options in ({"n_bins": 10}, MEDIAN | {"min_samples": 700}):
        value = canonical_calibration_error(0.7 * v + 0.15, v, **options)
        assert value == pytest.approx(0.3 / 4, abs=1e-7)


@pytest.mark.parametrize(
    ("n", "n_classes"), [(1, 2), pytest.param(3_000, 100, marks=pytest.mark.slow), (500, 1_000)]
)
def test_rows_with_bins_of_their_own(rng, n, n_classes):
    """Then the error is one minus the mean probability of the true label."""
    proba, y = rng.dirichlet(np.ones(n_classes), n), rng.integers(0, n_classes, n)
    expected = 1 - proba[np.arange(n), y].mean()
    for options in ({"n_bins": 100_000}, MEDIAN | {"min_samples": 1}):
        value = canonical_calibration_error(y, proba, labels=np.arange(n_classes), **options)
        assert value == pytest.approx(expected, abs=1e-12)


def test_the_label_called_positive_does_not_choose_the_split():
    v, y = np.array([0.1, 0.2, 0.3, 0.4, 0.5]), np.array(list("nnyyy"))
    both, options = np.column_stack([1 - v, v]), MEDIAN | {"min_samples": 2}
    expected = canonical_calibration_error(y, both, labels=["n", "y"], **options)
    turned = canonical_calibration_error(y, both[:, ::-1], labels=["y", "n"], **options)
    other = canonical_calibration_error(y, both, labels=["n", "y"], pos_label="n", **options)
    assert [turned, other] == pytest.approx([expected] * 2, abs=1e-15)
