"""Canonical calibration error: closed forms, the worked example, and the laws of a measure."""

import numpy as np
import pandas as pd
import pytest

from skcal.metrics import canonical_calibration_error, expected_calibration_error

BINNINGS = [
    {"strategy": "uniform", "n_bins": 2},
    {"strategy": "uniform", "n_bins": 10},
    {"strategy": "median_variance", "min_samples": 5},
    {"strategy": "median_variance", "min_samples": 1, "max_bins": 4},
]
every_binning = pytest.mark.parametrize("options", BINNINGS, ids=str)
every_distance = pytest.mark.parametrize(
    "distance", ["total_variation", "cityblock", "squared_euclidean"]
)

FIVE = np.array(
    [[0.4, 0.1, 0.5], [0.5, 0.3, 0.2], [0.3, 0.7, 0.0], [0.1, 0.0, 0.9], [0.8, 0.1, 0.1]]
)


@pytest.fixture
def rng():
    return np.random.default_rng(62)


def draw_problem(rng, n=80, n_classes=3):
    """Predictions with ties, exact in binary, and labels that do not follow them."""
    proba = rng.multinomial(16, rng.dirichlet(np.ones(n_classes)), n) / 16
    return np.append(np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)), proba


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


def test_worked_example():
    """Five predictions, labels in place of the columns 0, 1, 2, 0, 1; sums are by hand."""
    y = [1, 2, 3, 1, 2]
    # Uniform, 2 bins: rows {0, 1} differ by (.1, -.6, .7) - (0, 0, 0) = (-.1, -.6, .7) in sum.
    # {2}: (.3, .7, -1), {3}: (-.9, 0, .9), {4}: (.8, -.9, .1).
    options = {"strategy": "uniform", "n_bins": 2}
    assert canonical_calibration_error(y, FIVE, **options) == pytest.approx(
        (0.7 + 1.0 + 0.9 + 0.9) / 5
    )
    assert canonical_calibration_error(y, FIVE, distance="cityblock", **options) == pytest.approx(
        2 * (0.7 + 1.0 + 0.9 + 0.9) / 5
    )
    squares = (0.01 + 0.36 + 0.49) / 2, 0.09 + 0.49 + 1, 0.81 + 0.81, 0.64 + 0.81 + 0.01
    assert canonical_calibration_error(
        y, FIVE, distance="squared_euclidean", **options
    ) == pytest.approx(sum(squares) / 5)
    # Below the median of the last component, 0.2, rows {2, 4} differ by (1.1, -.2, -.9) in sum;
    # the others, {0, 1, 3}, by (-1, -.6, 1.6).
    options = {"strategy": "median_variance", "min_samples": 2}
    assert canonical_calibration_error(y, FIVE, **options) == pytest.approx((1.1 + 1.6) / 5)
    # One bin: (2.1, 1.2, 1.7) - (2, 2, 1).
    options["min_samples"] = 3
    assert canonical_calibration_error(y, FIVE, **options) == pytest.approx(0.8 / 5)
    options.update(min_samples=1, max_bins=1)
    assert canonical_calibration_error(y, FIVE, **options) == pytest.approx(0.8 / 5)


@pytest.mark.parametrize("w", [0.1, 0.5, 1.0])
def test_closed_form_of_shrunk_vectors(w):
    """Family E of DEFINITIONS.md for three classes: w (1 - 1/K)^K, from below."""
    proba = simplex(300)
    target = (1 - w) * proba + w / 3
    limit = w * (2 / 3) ** 3

    def measure(n_bins):
        return canonical_calibration_error(target, proba, n_bins=n_bins)

    # All residuals of a bin have the same sign if 1/3 is an edge.
    for n_bins in (3, 6, 30):
        assert measure(n_bins) == pytest.approx(limit, abs=1e-5 * w)
    values = [measure(n_bins) for n_bins in (1, 2, 4, 8, 16, 128)]  # refinements
    assert values[0] == pytest.approx(0, abs=1e-12)
    assert (np.diff(values) > 0).all()
    assert values[-1] < limit + 1e-5 * w
    assert values[-1] == pytest.approx(limit, abs=0.001 * w)
    value = canonical_calibration_error(target, proba, strategy="median_variance", min_samples=20)
    assert 0.98 * limit < value < limit + 1e-5 * w


def test_closed_form_of_shrunk_vectors_in_two_classes():
    """K = 2: w / 4, for any even number of bins."""
    v = (np.arange(10_000) + 0.5) / 10_000
    for options in (
        {"n_bins": 2},
        {"n_bins": 10},
        {"strategy": "median_variance", "min_samples": 700},
    ):
        assert canonical_calibration_error(0.7 * v + 0.15, v, **options) == pytest.approx(
            0.3 / 4, abs=1e-7
        )


@every_distance
def test_a_calibrated_sample_has_error_0(distance):
    proba = np.repeat([[0.5, 0.25, 0.25], [0.25, 0.0, 0.75]], 4, axis=0)
    y = ["a", "a", "b", "c", "c", "c", "a", "c"]
    for options in ({}, {"strategy": "median_variance", "min_samples": 4}):
        assert canonical_calibration_error(y, proba, distance=distance, **options) == 0


def test_sees_what_the_confidence_hides():
    """The confidence 1/2 is right half of the time, but the rest goes to one class alone."""
    y, proba = [0, 1] * 10, [[0.5, 0.25, 0.25]] * 20
    assert expected_calibration_error(y, proba, labels=[0, 1, 2]) == 0
    assert canonical_calibration_error(y, proba, labels=[0, 1, 2]) == 0.25


@every_binning
def test_binary_input_has_one_column_or_two(rng, options):
    p = rng.random(200)
    y = (rng.random(200) < p**2).astype(int)
    expected = canonical_calibration_error(y, np.column_stack([1 - p, p]), **options)
    assert canonical_calibration_error(y, p, **options) == expected
    assert canonical_calibration_error(y, p[:, None], **options) == expected
    assert canonical_calibration_error(y.astype(float), p, **options) == expected
    names = np.array(["no", "yes"])[y]
    assert canonical_calibration_error(names, p, pos_label="yes", **options) == expected


def test_binary_error_is_that_of_the_positive_class(rng):
    """Away from the edges both columns have the same bins, and the distance is the gap."""
    p = rng.random(300)
    y = (rng.random(300) < p**2).astype(int)
    assert canonical_calibration_error(y, p) == pytest.approx(
        expected_calibration_error(y, p, n_bins=10), abs=1e-14
    )
    assert canonical_calibration_error(y, p, distance="squared_euclidean") == pytest.approx(
        2 * expected_calibration_error(y, p, n_bins=10, norm=2) ** 2, abs=1e-14
    )


def test_each_component_is_binned():
    """0.5 shares no bin with 0.4 (whose other component is larger), nor with 0.6."""
    p = [0.4, 0.5, 0.6]
    assert canonical_calibration_error([1, 0, 0], p, n_bins=2) == pytest.approx(1.7 / 3)
    assert canonical_calibration_error([1, 0, 0], p, n_bins=1) == pytest.approx(0.5 / 3)


@every_distance
@every_binning
def test_callable_distance(rng, options, distance):
    y, proba = draw_problem(rng)

    def measure(prediction, outcome):
        assert prediction.shape == outcome.shape == (3,)
        assert prediction.sum() == pytest.approx(1)
        assert outcome.sum() == pytest.approx(1)
        gap = np.abs(prediction - outcome)
        if distance == "squared_euclidean":
            return gap @ gap
        return gap.sum() / (2 if distance == "total_variation" else 1)

    assert canonical_calibration_error(y, proba, distance=measure, **options) == pytest.approx(
        canonical_calibration_error(y, proba, distance=distance, **options), abs=1e-14
    )


@every_binning
def test_order_repetition_and_absence(rng, options):
    y, proba = draw_problem(rng)
    expected = canonical_calibration_error(y, proba, **options)
    assert expected > 0
    for _ in range(5):
        order = rng.permutation(len(y))
        assert canonical_calibration_error(y[order], proba[order], **options) == pytest.approx(
            expected, abs=1e-14
        )
    weights = np.append([1, 1, 1], rng.integers(0, 4, len(y) - 3))
    weighted = canonical_calibration_error(y, proba, sample_weight=weights, **options)
    rows = np.repeat(np.arange(len(y)), weights)
    assert canonical_calibration_error(y[rows], proba[rows], **options) == pytest.approx(
        weighted, abs=1e-14
    )
    present = weights > 0
    assert canonical_calibration_error(
        y[present], proba[present], sample_weight=weights[present], **options
    ) == pytest.approx(weighted, abs=1e-14)


def test_scale_of_weights(rng):
    y, proba = draw_problem(rng)
    weights = rng.exponential(size=len(y))
    assert canonical_calibration_error(y, proba, sample_weight=weights) == pytest.approx(
        canonical_calibration_error(y, proba, sample_weight=1e-3 * weights), abs=1e-14
    )
    # Counts, on the other hand, have a scale.
    with pytest.raises(ValueError, match=r"min_samples=10 rows.*; got weights that sum to 1\."):
        canonical_calibration_error(
            y, proba, sample_weight=weights / weights.sum(), strategy="median_variance"
        )


@every_binning
def test_soft_labels(rng, options):
    y, proba = draw_problem(rng)
    expected = canonical_calibration_error(y, proba, **options)
    assert canonical_calibration_error(np.eye(3)[y], proba, **options) == expected
    # Soft labels are means of hard ones.
    share = rng.multinomial(4, [0.3, 0.3, 0.4], len(y))
    hard = np.concatenate([np.repeat([0, 1, 2], counts) for counts in share])
    repeated = canonical_calibration_error(
        hard, np.repeat(proba, 4, axis=0), labels=[0, 1, 2], **options
    )
    weights = np.full(len(y), 4)
    assert canonical_calibration_error(
        share / 4, proba, sample_weight=weights, **options
    ) == pytest.approx(repeated, abs=1e-14)
    assert canonical_calibration_error(proba, proba, **options) == 0


def test_labels_and_columns(rng):
    y, proba = draw_problem(rng)
    expected = canonical_calibration_error(y, proba)
    order = np.array([2, 0, 1])
    names = np.array(["ant", "bee", "cat"])
    assert canonical_calibration_error(
        names[y], proba[:, order], labels=names[order]
    ) == pytest.approx(expected, abs=1e-14)
    assert canonical_calibration_error(
        pd.Series(names[y]), pd.DataFrame(proba, columns=names)
    ) == pytest.approx(expected, abs=1e-14)
    assert canonical_calibration_error(y, proba, pos_label=1) == canonical_calibration_error(
        (y == 1).astype(int), proba[:, 1]
    )


def test_float32_accumulates_in_float64(rng):
    proba = np.full((200_000, 4), 0.25, dtype=np.float32)
    y = np.repeat(np.arange(4), 50_000)
    assert canonical_calibration_error(y, proba) == 0
    assert canonical_calibration_error(y, proba, strategy="median_variance") == 0
    y, proba = draw_problem(rng)  # exact in float32
    for options in BINNINGS:
        assert canonical_calibration_error(
            y, proba.astype(np.float32), **options
        ) == canonical_calibration_error(y, proba, **options)


@pytest.mark.parametrize(("n", "n_classes"), [(20_000, 3), (3_000, 100), (500, 1_000)])
def test_rows_with_bins_of_their_own(rng, n, n_classes):
    """Then the error is one minus the mean probability of the true label."""
    proba = rng.dirichlet(np.ones(n_classes), n)
    y = rng.integers(0, n_classes, n)
    expected = 1 - proba[np.arange(n), y].mean()
    for options in (
        {"n_bins": 100_000},
        {"strategy": "median_variance", "min_samples": 1},
    ):
        assert canonical_calibration_error(
            y, proba, labels=np.arange(n_classes), **options
        ) == pytest.approx(expected, abs=1e-12)


def test_single_row():
    assert canonical_calibration_error([1], [0.25]) == 0.75
    assert (
        canonical_calibration_error([1], [0.25], strategy="median_variance", min_samples=1) == 0.75
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "quantile"}, "strategy must be one of 'uniform', 'median_variance'"),
        ({"n_bins": 0}, "n_bins must be at least 1; got 0"),
        ({"n_bins": 2.5}, "n_bins must be an integer; got 2.5"),
        ({"min_samples": 0}, "min_samples must be at least 1; got 0"),
        ({"max_bins": 0}, "max_bins must be at least 1; got 0"),
        ({"max_bins": "all"}, "max_bins must be an integer; got 'all'"),
        ({"distance": "total"}, "distance must be one of .* Did you mean 'total_variation'"),
        ({"distance": None}, "distance must be one of .*; got None"),
        ({"distance": lambda p, q: -1.0}, r"finite, non-negative number; got -1\.0"),
        ({"distance": lambda p, q: np.nan}, r"finite, non-negative number; got nan"),
        ({"distance": lambda p, q: np.inf}, r"finite, non-negative number; got inf"),
        ({"distance": lambda p, q: p - q}, r"distance must return .* got array"),
        ({"distance": lambda p, q: None}, r"distance must return .* got None"),
        ({"strategy": "median_variance"}, r"at least min_samples=10 rows.*; got 5\."),
        ({"sample_weight": [1, 2]}, r"sample_weight must have shape \(5,\)"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        canonical_calibration_error([0, 1, 2, 0, 1], FIVE, **options)


def test_bad_predictions():
    with pytest.raises(ValueError, match=r"Rows of y_proba must sum to 1; got a sum of 0\.9"):
        canonical_calibration_error([0, 1, 2], [[0.4, 0.3, 0.2]] * 3)
    with pytest.raises(ValueError, match="y_true and y_proba must have the same shape"):
        canonical_calibration_error([[0.5, 0.5]] * 5, FIVE)


@pytest.mark.parametrize("strategy", ["uniform", "median_variance"])
def test_names_of_two_labels_do_not_matter(strategy):
    proba = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    y, both = np.array(list("nnyyy")), np.column_stack([1 - proba, proba])
    options = {"strategy": strategy, "min_samples": 2}
    expected = canonical_calibration_error(y, both, labels=["n", "y"], **options)
    turned = canonical_calibration_error(y, both[:, ::-1], labels=["y", "n"], **options)
    other = canonical_calibration_error(y, both, labels=["n", "y"], pos_label="n", **options)
    assert turned == pytest.approx(expected, abs=1e-15)
    assert other == pytest.approx(expected, abs=1e-15)
