"""p-values among draws, of one statistic and of the smallest of several."""

import numpy as np
import pytest

from skcal._numerics._monte_carlo import find_pvalue, find_smallest_pvalue, rank_draws


def test_ties_and_rounding_count_as_exceedances():
    drawn = np.array([0.1, 0.2, 0.2, 0.3])
    assert find_pvalue(0.2, drawn) == 4 / 5
    assert find_pvalue(0.1 + 0.2, np.array([0.3, 0.2, 0.2])) == 2 / 4
    assert find_pvalue(1.0, drawn) == 1 / 5
    assert find_pvalue(-1.0, drawn) == 1
    assert find_pvalue(1e-18, np.array([0.0, 0.2, 0.1])) == 1
    assert find_pvalue(0.0, np.zeros(9)) == 1


def test_ranks_of_draws():
    pvalues, scores = rank_draws(np.array([3.0, 1.0, 2.0, 1.0]))
    np.testing.assert_array_equal(pvalues, [1 / 4, 1, 2 / 4, 1])
    np.testing.assert_allclose(scores.mean(), 0, atol=1e-15)
    np.testing.assert_allclose(scores.std(), 1)
    for value in (0, 0.3):  # nothing stands out among equal draws
        pvalues, scores = rank_draws(np.full(5, value))
        np.testing.assert_array_equal(pvalues, np.ones(5))
        np.testing.assert_array_equal(scores, np.zeros(5))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_ranks_do_not_depend_on_the_scale(scale):
    """Sums in another order are ties at every scale; values further apart are none."""
    values = np.array([0.1 + 0.2, 0.3, 0.1, 0.3001])
    pvalues, scores = rank_draws(scale * values)
    np.testing.assert_array_equal(pvalues, [3 / 4, 3 / 4, 1, 1 / 4])
    np.testing.assert_allclose(scores, rank_draws(values)[1], rtol=1e-9)


def test_smallest_pvalue_by_hand():
    # p-values of the four draws: (1/4, 2/4, 3/4, 1) and (3/4, 1/4, 2/4, 1).
    values = np.array([[9.0, 3.0, 2.0, 1.0], [2.0, 4.0, 3.0, 1.0]])
    # Draws 0 and 1 have the smallest p-value; 9 stands out more than 4 does.
    for order, expected in (
        ([0, 1, 2, 3], (1 / 4, 0)),
        ([1, 0, 2, 3], (2 / 4, 1)),
        ([2, 0, 1, 3], (3 / 4, 1)),
        ([3, 0, 1, 2], (1, 0)),
    ):
        *found, smallest = find_smallest_pvalue(values[:, order])
        assert tuple(found) == expected
        np.testing.assert_array_equal(smallest, np.array([1 / 4, 1 / 4, 2 / 4, 1])[order])


@pytest.mark.parametrize("n_statistics", [1, 3, 40])
def test_every_draw_is_as_likely_to_be_the_first(n_statistics):
    """Over all choices of the observed draw, p <= k / n holds for at most k of n: exactness.

    Without ties p takes 1/20, ..., 1 once each; never is it above n_statistics times the smallest.
    """
    rng = np.random.default_rng(n_statistics)
    for values in (rng.normal(size=(n_statistics, 20)), rng.integers(0, 4, (n_statistics, 20))):
        found = [
            find_smallest_pvalue(np.roll(values, -draw, axis=1).astype(float)) for draw in range(20)
        ]
        pvalues = np.array([one.pvalue for one in found])
        for k in range(1, 21):
            assert np.count_nonzero(pvalues <= k / 20 + 1e-12) <= k
        assert (pvalues <= n_statistics * np.array([one.smallest[0] for one in found])).all()
        if values.dtype.kind == "f":
            np.testing.assert_allclose(np.sort(pvalues), np.arange(1, 21) / 20)
    assert min(pvalues) >= 1 / 20
