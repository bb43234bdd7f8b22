"""Errors of single values: pairs of rows, the law of a sum of squares, and exact tests."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, ncx2

from skcal._numerics.inference._fine_error import find_cell_errors, number_cells


def find_all(predictions, outcomes, weights=None, n_draws=99, confidence_level=0.95):
    rows = (np.asarray(one, dtype=float) for one in (predictions, outcomes))
    rng, level = np.random.default_rng(0), confidence_level
    return find_cell_errors(*rows, weights, confidence_level=level, n_draws=n_draws, rng=rng)


def find(*args, **options):
    """The error of small cells."""
    return find_all(*args, **options).fine


def draw(rng, n_rows, n_values):
    """Predictions of values in the middle, and outcomes of other probabilities."""
    predictions = rng.choice(np.linspace(0.3, 0.7, n_values), n_rows)
    return predictions, (rng.random(n_rows) < predictions + 0.2).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_size_is_the_mean_product_of_two_rows_of_a_value(rng, weighted):
    predictions, outcomes = draw(rng, 60, 4)
    weights = rng.uniform(0.5, 1, 60) if weighted else np.ones(60)
    products = mass = 0.0
    for value in np.unique(predictions):
        rows = np.flatnonzero(predictions == value)
        total = weights[rows].sum()
        for i, j in product(rows, rows):
            if i != j:
                pair = weights[i] * weights[j] / total
                products += pair * (outcomes[i] - value) * (outcomes[j] - value)
                mass += pair
    found = find(predictions, outcomes, 3 * weights if weighted else None)
    assert found.size == pytest.approx(np.sqrt(products / mass), rel=1e-9)
    assert found.width == 0


def test_bounds_of_one_value_are_those_of_a_square_of_a_normal_number():
    """R^2 / S is non-central chi-squared of one degree of freedom."""
    n_rows, value, n_ones = 400, 0.4, 200
    found = find(np.full(n_rows, value), np.arange(n_rows) < n_ones)
    squares = n_ones * (1 - value) ** 2 + (n_rows - n_ones) * value**2
    observed = (n_ones - n_rows * value) ** 2 / squares
    for end, level in ((found.low, 0.95), (found.high, 0.05)):
        noncentral = end**2 * n_rows * (n_rows - 1) / squares
        assert ncx2.cdf(observed, 1, noncentral) == pytest.approx(level, abs=1e-6)


def test_pvalue_of_one_value_is_that_of_the_binomial_law():
    """Of 20000 draws a share has a standard error of .0035 at most."""
    numbers = np.arange(31)
    for n_ones in (2, 6, 11, 14):
        far = np.abs(numbers - 9) >= abs(n_ones - 9)
        expected = binom.pmf(numbers, 30, 0.3)[far].sum()
        found = find(np.full(30, 0.3), np.arange(30) < n_ones, n_draws=20_000)
        assert found.pvalue == pytest.approx(expected, abs=0.014)
        assert found.null_mean == pytest.approx(0.21 / 30, rel=0.05)


@pytest.mark.parametrize("n_values", [5, 3000])
def test_units_of_weights_order_and_positive_label_do_not_matter(rng, n_values):
    predictions, outcomes = draw(rng, 1000, n_values)
    weights, order = rng.uniform(0.5, 1, 1000), rng.permutation(1000)
    found = find(predictions, outcomes, weights)
    scaled = find(predictions, outcomes, 1e-200 * weights)
    np.testing.assert_allclose(scaled, found, rtol=1e-9)
    same = find(predictions[order], outcomes[order])
    np.testing.assert_allclose(same, find(predictions, outcomes), rtol=1e-9)
    if n_values == 5:
        other = find(1 - predictions, 1 - outcomes, weights)
        np.testing.assert_allclose(other[3:6], found[3:6], rtol=1e-9)
        assert found.width == 0
    else:
        assert 0.001 < found.width < 0.01


def test_certain_predictions():
    hard = np.arange(100.0) % 2
    right, wrong = find(hard, hard), find(hard, 1 - hard)
    assert right.pvalue == 1
    assert right.size == right.high == right.plain_size == find_all(hard, hard).rough_size == 0
    assert wrong.pvalue == 0.01
    assert wrong.size == pytest.approx(1)
    # Outcomes that never come tell what is possible, though none varies.
    never = find(np.full(1000, 0.01), np.zeros(1000))
    assert never.low < 0.01 < never.high < 0.02
    assert find([0.5], [1])[3:6] == (0, 0, 1)


def test_errors_that_cancel_in_large_cells_are_found_in_small_ones(rng):
    predictions = np.sort(rng.random(5000))
    turns = np.where(np.arange(5000) // 35 % 2, 0.2, -0.2)
    outcomes = rng.random(5000) < np.clip(predictions, 0.2, 0.8) + turns
    found = find_all(np.clip(predictions, 0.2, 0.8), outcomes)
    assert found.fine.pvalue == 0.01
    assert found.coarse.high < found.fine.low < found.fine.size


def test_values_that_rows_share_are_cells_among_others(rng):
    """Those of five rows and more; the other rows share cells, of at least two of them."""
    shared, sizes = np.linspace(0.4, 0.42, 21), np.r_[np.full(20, 5), 4]
    predictions = rng.permutation(np.r_[np.repeat(shared, sizes), rng.random(500)])
    number = number_cells(predictions, np.zeros(604), None)
    members = np.bincount(number)
    cell = np.array([number[predictions == one][0] for one in shared])
    assert (members[cell[:-1]] == 5).all()
    assert members[cell[-1]] > 4
    assert members.min() > 1
    begin = [predictions[number == one].min() for one in range(len(members))]
    assert (np.diff(begin) > 0).all()


def test_errors_of_neighbouring_values_are_found_among_other_rows(rng):
    """A third of the rows, at 50 values, is off by .25 up or down in turn."""
    values, uniform = 0.4 + np.arange(50) / 2500, rng.random(600)
    turns = np.where(np.arange(50) % 2, 0.25, -0.25)
    predictions = np.r_[np.repeat(values, 6), uniform]
    truth = np.r_[np.repeat(values + turns, 6), uniform]
    found = find_all(predictions, rng.random(900) < truth)
    assert found.fine.pvalue == 0.01
    assert found.coarse.high < found.bounds.high
    assert found.fine.low < 0.25 / np.sqrt(3) < found.bounds.high


@pytest.mark.parametrize("n_times", [100, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("n_values", "error"),
    [
        pytest.param(1, 0.05, marks=pytest.mark.slow),
        (30, 0.1),
        pytest.param(30, 0.0, marks=pytest.mark.slow),
    ],
)
def test_bounds_cover_the_root_mean_square(n_values, error, n_times):
    """Each misses 5 %, with a standard error of 2.2 points of 100 samples; all but 0."""
    rng, low, high = np.random.default_rng(0), 0, 0
    values = np.linspace(0.2, 0.8, n_values)
    for _ in range(n_times):
        number = rng.integers(n_values, size=600)
        truth = values + error * rng.choice([-1, 1], n_values)
        found = find(values[number], rng.random(600) < truth[number], n_draws=2)
        low, high = low + (found.low > error), high + (found.high < error)
    reach = 0.05 + 4 * np.sqrt(0.05 * 0.95 / n_times)
    assert low <= reach * n_times
    assert high <= reach * n_times


@pytest.mark.parametrize("n_times", [200, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_values", [3, pytest.param(100_000, marks=pytest.mark.slow)])
def test_test_keeps_its_level(n_values, n_times):
    """5 %, with a standard error of 1.5 points of 200 samples."""
    rng, rejected = np.random.default_rng(1), 0
    for _ in range(n_times):
        predictions = rng.choice(np.linspace(0, 1, n_values) ** 3, 100)
        rejected += find(predictions, rng.random(100) < predictions, n_draws=39).pvalue <= 0.05
    assert rejected <= n_times * (0.05 + 4 * np.sqrt(0.05 * 0.95 / n_times))
