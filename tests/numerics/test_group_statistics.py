"""Statistics of overlapping groups: asymptotic p-values, and cells of equal variance."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logit
from scipy.stats import chi2, norm

from skcal._numerics.inference._group_statistics import (
    KuiperStatistic,
    MeanStatistic,
    SlopeStatistic,
    find_cells,
)

# Two groups of three patterns; the second one has equal predictions.
MEMBERS = csr_array([[1, 1, 0], [0, 0, 1]])
PATTERN, CELL = np.array([0, 0, 1, 2]), np.array([0, 2, 1, 1])
PLACES, VARIANCE = np.array([0.1, 0.8, 0.3, 0.3]), np.array([2.0, 1.0, 4.0, 3.0])
RESIDUALS = np.array([1.5, -0.5, 1.0, -2.0])
ATOMS = (np.array([0, 1, 2]), np.array([3]))


def measure(statistic):
    found = statistic(MEMBERS, PATTERN, CELL, PLACES, VARIANCE)
    values = found.measure(RESIDUALS[:, None])
    return values[:, 0], found.find_log_pvalues(values.T)[0]


def test_mean():
    values, logs = measure(MeanStatistic)
    expected = [RESIDUALS[rows].sum() / np.sqrt(VARIANCE[rows].sum()) for rows in ATOMS]
    np.testing.assert_allclose(values, expected)
    np.testing.assert_allclose(logs, np.log(2) + norm.logsf(np.abs(expected)))


def test_slope():
    """The score test of Cox's model, with one degree of freedom where predictions are equal."""
    values, logs = measure(SlopeStatistic)
    for k, rows in enumerate(ATOMS):
        design = np.stack([np.ones(len(rows)), logit(PLACES[rows])])[: 2 - k]
        score, information = design @ RESIDUALS[rows], design * VARIANCE[rows] @ design.T
        expected = score @ np.linalg.solve(information, score)
        assert values[k] == pytest.approx(expected, rel=1e-12)
        assert logs[k] == pytest.approx(chi2(2 - k).logsf(expected), rel=1e-12)


def test_slope_of_many_rows(rng):
    places = rng.beta(1, 3, 4000)
    variance, design = places * (1 - places), np.stack([np.ones(4000), logit(places)])
    pattern, residuals = np.zeros(4000, dtype=int), rng.normal(size=4000)
    found = SlopeStatistic(csr_array([[1]]), pattern, pattern, places, variance)
    (value,) = found.measure(residuals[:, None])[0]
    score = design @ residuals
    expected = score @ np.linalg.solve(design * variance @ design.T, score)
    assert value == pytest.approx(expected, rel=1e-9)
    assert found.find_log_pvalues(np.array([[value]])) == pytest.approx(chi2(2).logsf(expected))


def test_equal_predictions_that_are_rounded_apart_have_no_slope():
    places = np.array([0.02, np.nextafter(0.02, 1), 0.02, np.nextafter(0.02, 0)])
    found = SlopeStatistic(MEMBERS, PATTERN, CELL, places, VARIANCE)
    values = found.measure(RESIDUALS[:, None])[:, 0]
    for value, rows in zip(values, ATOMS, strict=True):
        assert value == pytest.approx(RESIDUALS[rows].sum() ** 2 / VARIANCE[rows].sum())
    (logs,) = found.find_log_pvalues(values[None])
    np.testing.assert_allclose(logs, chi2(1).logsf(values))


def test_kuiper():
    values, _ = measure(KuiperStatistic)
    running = np.cumsum([0, 1.5, 1.0, -0.5])  # in the order of the cells
    np.testing.assert_allclose(values, [np.ptp(running) / np.sqrt(7), 2 / np.sqrt(3)])


def test_pvalues_of_the_range_do_not_end():
    """No step where the last term of the series takes over, and no zero."""
    logs = KuiperStatistic.find_log_pvalues(np.array([0.0, 7.999999, 8.000001, 60.0]))
    assert logs[0] == 0
    assert logs[1] == pytest.approx(logs[2], abs=1e-4)
    assert -np.inf < logs[3] < -1700


@pytest.mark.parametrize("n_cells", [1, 4, 10])
def test_cells_have_about_equal_sums_of_variances(n_cells, rng):
    predictions = rng.beta(0.5, 2, 2000)
    cell = find_cells(predictions, n_cells)
    sums = np.bincount(cell, predictions * (1 - predictions))
    np.testing.assert_allclose(sums / sums.sum(), 1 / n_cells, atol=2e-3)
    assert (np.diff(cell[np.argsort(predictions)]) >= 0).all()


def test_rows_of_cells_are_counted(rng):
    predictions, n_rows = rng.permutation(np.arange(1, 60) / 60), rng.integers(1, 9, 59)
    n_rows[predictions.argmax()] = 2000
    cell = find_cells(predictions, 7, n_rows)
    repeated = find_cells(np.repeat(predictions, n_rows), 7)
    np.testing.assert_array_equal(np.repeat(cell, n_rows), repeated)


def test_few_predictions_have_a_cell_each():
    predictions = np.array([0.5, 0.0, 1.0, 0.5, 0.2])
    for n_cells in (4, 9):
        assert find_cells(predictions, n_cells).tolist() == [2, 0, 3, 2, 1]
