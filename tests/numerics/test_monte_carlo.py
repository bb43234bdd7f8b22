"""p-values among draws, of one statistic and of the smallest of several."""

import numpy as np
import pytest
from scipy.stats import zscore

from skcal._numerics.inference._monte_carlo import find_pvalue, find_smallest_pvalue, rank_draws


def test_ties_and_rounding_count_as_exceedances():
    drawn = np.array([0.1, 0.2, 0.2, 0.3])
    assert [find_pvalue(value, drawn) for value in (0.2, 1.0, -1.0)] == [4 / 5, 1 / 5, 1]
    assert find_pvalue(0.1 + 0.2, np.array([0.3, 0.2, 0.2])) == 2 / 4
    assert find_pvalue(1e-18, np.array([0.0, 0.2, 0.1])) == 1
    assert find_pvalue(0.0, np.zeros(9)) == 1


@pytest.mark.parametrize("scale", [1e-300, 1, 1e300])
def test_ranks_do_not_depend_on_the_scale(scale):
    """Sums in another order are ties at every scale; values further apart are none."""
    values = np.array([0.1 + 0.2, 0.3, 0.1, 0.3001])
    pvalues, scores = rank_draws(scale * values)
    np.testing.assert_array_equal(pvalues, [3 / 4, 3 / 4, 1, 1 / 4])
    np.testing.assert_allclose(scores, zscore(values), rtol=1e-9)
    for value in (0, 0.3):  # nothing stands out among equal draws
        np.testing.assert_array_equal(rank_draws(np.full(5, scale * value)), [[1] * 5, [0] * 5])


def test_smallest_pvalue_by_hand():
    # p-values of the four draws: (1/4, 2/4, 3/4, 1) and (3/4, 1/4, 2/4, 1).
    values = np.array([[9.0, 3.0, 2.0, 1.0], [2.0, 4.0, 3.0, 1.0]])
    # Draws 0 and 1 have the smallest p-value; 9 stands out more than 4 does.
    for first, expected in enumerate([(1 / 4, 0), (2 / 4, 1), (3 / 4, 1), (1, 0)]):
        found = find_smallest_pvalue(np.roll(values, -first, axis=1))
        assert (found.pvalue, found.place) == expected
        np.testing.assert_array_equal(found.smallest, np.roll([1, 1, 2, 4], -first) / 4)


@pytest.mark.parametrize("n_statistics", [1, 3, 40])
def test_every_draw_is_as_likely_to_be_the_first(rng, n_statistics):
    """Over all choices of the observed draw, p <= k / n holds for at most k of n: exactness.

    Without ties p takes 1/20, ..., 1 once each; never is it above n_statistics times the smallest.
    """
    shares = np.arange(1, 21) / 20
    for has_ties in (False, True):
        values = rng.normal(size=(n_statistics, 20))
        values = np.floor(2 * values) if has_ties else values
        found = [find_smallest_pvalue(np.roll(values, -draw, axis=1)) for draw in range(20)]
        pvalues = np.sort([one.pvalue for one in found])
        assert (pvalues >= shares - 1e-12).all()
        assert all(one.pvalue <= n_statistics * one.smallest[0] for one in found)
        assert has_ties or pvalues == pytest.approx(shares, rel=1e-12)
