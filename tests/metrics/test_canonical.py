"""Canonical calibration error: closed forms, a worked example, and what its options do."""

import numpy as np
import pytest

from skcal.metrics import canonical_calibration_error

MEDIAN = {"strategy": "median_variance", "min_samples": 5}
every_binning = pytest.mark.parametrize("options", [{"n_bins": 4}, MEDIAN], ids=str)

FIVE = np.array(
    [[0.4, 0.1, 0.5], [0.5, 0.3, 0.2], [0.3, 0.7, 0.0], [0.1, 0.0, 0.9], [0.8, 0.1, 0.1]]
)


@pytest.fixture
def rng():
    return np.random.default_rng(62)


def draw_problem(rng, n=80):
    """Predictions with ties, exact in binary, and labels that do not follow them."""
    proba = rng.multinomial(16, rng.dirichlet([1, 1, 1]), n) / 16
    return np.append([0, 1, 2], rng.integers(0, 3, n - 3)), proba


def simplex(n):
    """Midpoints of n^2 equal triangles that fill the simplex of three classes."""
    i, j = np.divmod(np.arange(n * n), n)
    flipped = i + j >= n
    i, j = np.where(flipped, n - 1 - i, i), np.where(flipped, n - 1 - j, j)
    shift = np.where(flipped, 2 / 3, 1 / 3)
    first, second = (i + shift) / n, (j + shift) / n
    inside = first + second < 1
    first, second = first[inside], second[inside]
    return np.column_stack([first, second, 1 - first - second])


# Uniform, 2 bins: rows {0, 1} differ by (.1, -.6, .7) - (0, 0, 0) = (-.1, -.6, .7) in sum.
# {2}: (.3, .7, -1), {3}: (-.9, 0, .9), {4}: (.8, -.9, .1).
SQUARES = (0.01 + 0.36 + 0.49) / 2, 0.09 + 0.49 + 1, 0.81 + 0.81, 0.64 + 0.81 + 0.01


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"n_bins": 2}, 0.7 + 1.0 + 0.9 + 0.9),
        ({"n_bins": 2, "distance": "cityblock"}, 2 * (0.7 + 1.0 + 0.9 + 0.9)),
        ({"n_bins": 2, "distance": "squared_euclidean"}, sum(SQUARES)),
        # Below the median of the last component, 0.2, rows {2, 4} differ by (1.1, -.2, -.9) in
        # sum; the others, {0, 1, 3}, by (-1, -.6, 1.6).
        ({**MEDIAN, "min_samples": 2}, 1.1 + 1.6),
        # One bin: (2.1, 1.2, 1.7) - (2, 2, 1).
        ({**MEDIAN, "min_samples": 3}, 0.8),
        ({**MEDIAN, "min_samples": 1, "max_bins": 1}, 0.8),
    ],
)
def test_worked_example(options, expected):
    value = canonical_calibration_error([1, 2, 3, 1, 2], FIVE, **options)
    assert value == pytest.approx(expected / 5)


def test_closed_form_of_shrunk_vectors():
    """Outcomes (1 - w) p + w / K of p uniform on the simplex: w (1 - 1/K)^K, from below."""
    proba, w = simplex(120), 0.5
    target, limit = (1 - w) * proba + w / 3, w * (2 / 3) ** 3
    for n_bins in (3, 30):  # all residuals of a bin have the same sign if 1/3 is an edge
        value = canonical_calibration_error(target, proba, n_bins=n_bins)
        assert value == pytest.approx(limit, abs=1e-14)
    values = [canonical_calibration_error(target, proba, n_bins=n) for n in (1, 2, 4, 8, 16)]
    assert values[0] == pytest.approx(0, abs=1e-12)
    assert (np.diff(values) > 0).all()  # refinements
    assert 0.99 * limit < values[-1] < limit
    value = canonical_calibration_error(target, proba, strategy="median_variance", min_samples=20)
    assert 0.98 * limit < value < limit
    # Two classes: w / 4, for any even number of bins.
    v = (np.arange(10_000) + 0.5) / 10_000
    for options in ({"n_bins": 10}, {"strategy": "median_variance", "min_samples": 700}):
        value = canonical_calibration_error(0.7 * v + 0.15, v, **options)
        assert value == pytest.approx(0.3 / 4, abs=1e-7)


def test_each_component_is_binned():
    """0.5 shares no bin with 0.4 (whose other component is larger), nor with 0.6."""
    p = [0.4, 0.5, 0.6]
    assert canonical_calibration_error([1, 0, 0], p, n_bins=2) == pytest.approx(1.7 / 3)
    assert canonical_calibration_error([1, 0, 0], p, n_bins=1) == pytest.approx(0.5 / 3)


@every_binning
def test_callable_distance(rng, options):
    y, proba = draw_problem(rng)

    def measure(prediction, outcome):
        assert prediction.shape == outcome.shape == (3,)
        assert prediction.sum() == pytest.approx(1)
        assert outcome.sum() == pytest.approx(1)
        return np.abs(prediction - outcome).sum() / 2

    value = canonical_calibration_error(y, proba, distance=measure, **options)
    assert value == pytest.approx(canonical_calibration_error(y, proba, **options), abs=1e-14)


@every_binning
def test_weights_and_soft_labels_are_repetitions(rng, options):
    y, proba = draw_problem(rng)
    weights = np.append([1, 1, 1], rng.integers(0, 4, len(y) - 3))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weights))
    value = canonical_calibration_error(y, proba, sample_weight=weights, **options)
    repeated = canonical_calibration_error(y[rows], proba[rows], **options)
    assert value == pytest.approx(repeated, abs=1e-14)
    share = rng.multinomial(4, [0.3, 0.3, 0.4], len(y))
    hard = np.concatenate([np.repeat([0, 1, 2], counts) for counts in share])
    four = np.full(len(y), 4)
    value = canonical_calibration_error(share / 4, proba, sample_weight=four, **options)
    repeated = canonical_calibration_error(hard, np.repeat(proba, 4, axis=0), **options)
    assert value == pytest.approx(repeated, abs=1e-14)


@pytest.mark.parametrize(("n", "n_classes"), [(1, 2), (3_000, 100), (500, 1_000)])
def test_rows_with_bins_of_their_own(rng, n, n_classes):
    """Then the error is one minus the mean probability of the true label."""
    proba = rng.dirichlet(np.ones(n_classes), n)
    y = rng.integers(0, n_classes, n)
    expected = 1 - proba[np.arange(n), y].mean()
    for options in ({"n_bins": 100_000}, {"strategy": "median_variance", "min_samples": 1}):
        value = canonical_calibration_error(y, proba, labels=np.arange(n_classes), **options)
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"strategy": "median_variance", "min_samples": 2}])
def test_names_of_two_labels_do_not_matter(options):
    proba = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    y, both = np.array(list("nnyyy")), np.column_stack([1 - proba, proba])
    expected = canonical_calibration_error(y, both, labels=["n", "y"], **options)
    turned = canonical_calibration_error(y, both[:, ::-1], labels=["y", "n"], **options)
    other = canonical_calibration_error(y, both, labels=["n", "y"], pos_label="n", **options)
    assert turned == pytest.approx(expected, abs=1e-15)
    assert other == pytest.approx(expected, abs=1e-15)
