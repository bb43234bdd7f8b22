"""Groups of cells, and outcomes that are dealt out between two samples."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import hypergeom

from skcal._numerics import _hypergeometric
from skcal._numerics._hypergeometric import DealtOutcomes, draw_overlaps, group_cells


def test_groups_by_hand():
    first, second = np.zeros(64, dtype=int), np.zeros(64, dtype=int)
    first[[0, 2, 3]], second[[1, 3]] = (10, 9, 1), (10, 10)
    # Parts of two cells: 10 and 10 rows end a group in the first and in the second part.
    assert group_cells(first, second).tolist() == list(range(0, 64, 2))
    first[0], second[0] = 20, 20
    first[1] = 20
    assert group_cells(first, second)[:3].tolist() == [0, 1, 2]
    second[1] = 9  # too few for a group of their own
    assert group_cells(first, second)[:2].tolist() == [0, 2]


@pytest.mark.parametrize(("n_cells", "n_rows"), [(16, 30), (64, 0), (64, 3000), (4096, 10**5)])
def test_groups_are_as_small_as_they_may_be(n_cells, n_rows):
    rng = np.random.default_rng(n_rows)
    first, second = (
        np.bincount((rng.beta(a, 3, n_rows) * n_cells).astype(int), minlength=n_cells)
        for a in (1, 3)
    )
    starts = group_cells(first, second)
    assert starts[0] == 0
    assert (np.diff(starts) > 0).all()
    assert starts[-1] < n_cells
    part = n_cells // min(32, n_cells)
    assert set(range(0, n_cells, part)) <= set(starts.tolist())
    fewest = np.minimum(np.add.reduceat(first, starts), np.add.reduceat(second, starts))
    is_alone = (starts % part == 0) & (np.append(starts[1:], n_cells) % part == 0)
    assert (fewest[~is_alone] >= 10).all()
    # Without its last cell, a group that others follow in its part would have been too small.
    for start, end in pairwise(starts):
        if end % part:
            cells = slice(start, end - 1)
            assert min(first[cells].sum(), second[cells].sum()) < 10


@pytest.mark.parametrize(("marked", "taken", "total"), [(3, 4, 9), (7, 5, 9), (6, 8, 9), (0, 3, 5)])
def test_small_populations_are_hypergeometric(marked, taken, total):
    rng = np.random.default_rng(3)
    arrays = (np.array([value]) for value in (marked, taken, total))
    drawn = draw_overlaps(rng, *arrays, (20_000, 1))[:, 0]
    law = hypergeom(total, marked, taken).pmf(np.arange(total + 1))
    found = np.bincount(drawn, minlength=total + 1) / 20_000
    assert (np.abs(found - law) <= 4.5 * np.sqrt(law * (1 - law) / 20_000)).all()


@pytest.mark.parametrize("few", [50, 3 * 10**8])
@pytest.mark.parametrize(
    ("is_marked_common", "is_taken_common"),
    [(False, False), (False, True), (True, False), (True, True)],
)
def test_large_populations_have_the_moments_of_their_law(is_marked_common, is_taken_common, few):
    rng, total = np.random.default_rng(5), 3 * 10**9
    marked = total - few if is_marked_common else few
    taken = total - 10**9 if is_taken_common else 10**9
    arrays = (np.array([value]) for value in (marked, taken, total))
    drawn = draw_overlaps(rng, *arrays, (4000, 1))[:, 0]
    mean, variance = (
        taken * (marked / total),
        taken * (marked / total) * (1 - marked / total) * (1 - taken / total),
    )
    assert (drawn >= max(0, marked + taken - total)).all()
    assert (drawn <= min(marked, taken)).all()
    assert abs(drawn.mean() - mean) < 4 * np.sqrt(variance / 4000)
    assert drawn.var() == pytest.approx(variance, rel=5 * np.sqrt(2 / 4000))


def test_differences_by_hand():
    """Groups: 2 of 4 against 0 of 4; 0 of 3 against no rows; 0 of 2 against 2 of 2; 1 of 2, 2 of 2.

    Sums are 0, 2 - 4 * 2 / 8 = 1, then 1 - 2 * 2 / 4 = 0, and 1 - 2 * 3 / 4 = -0.5 with that.
    """
    first, second = np.array([[2, 3, 2, 1], [2, 0, 0, 1]]), np.array([[4, 0, 0, 0], [0, 0, 2, 2]])
    variance = hypergeom(8, 2, 4).var() + hypergeom(4, 2, 2).var() + hypergeom(4, 3, 2).var()
    for outcomes in (DealtOutcomes(first, second), DealtOutcomes(second, first)):
        assert outcomes.overlap == 4 * 4 / 8 + 2 * 2 / 4 + 2 * 2 / 4
        assert outcomes.observe("range") == 1.5
        assert outcomes.observe("max") == 1.0
        assert outcomes.error == pytest.approx(np.sqrt(variance), rel=1e-12)


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 4, 3)])
def test_certain_draws_on_both_sides_of_the_limit(shape):
    """All members marked, none of them, and all of them taken: chance has no say."""
    for total in (10, 10**9 - 1, 10**9, 3 * 10**9):
        marked, taken = np.array([total, 0, 7]), np.array([4, 5, total])
        drawn = draw_overlaps(np.random.default_rng(0), marked, taken, np.full(3, total), shape)
        np.testing.assert_array_equal(drawn, np.broadcast_to([4, 0, 7], shape))


class NormalLaw(np.random.Generator):
    """Every normal variable is so many deviations from its mean, which it keeps."""

    def __init__(self, deviations):
        super().__init__(np.random.PCG64(0))
        self.deviations = deviations

    def normal(self, mean, deviation, size):
        self.mean, self.variance = mean, deviation**2
        return np.full(size, mean + self.deviations * deviation)


@pytest.mark.parametrize(("marked", "taken"), [(1, 2), (3, 7), (6, 4), (8, 7)])
def test_normal_draws_have_the_exact_variance_and_the_range_of_their_law(
    monkeypatch, marked, taken
):
    """On a small population, where it matters that members are not put back."""
    monkeypatch.setattr(_hypergeometric, "_LIMIT", 0)
    monkeypatch.setattr(_hypergeometric, "_FEW_MEMBERS", 0)
    law, arrays = hypergeom(9, marked, taken), [np.array([value]) for value in (marked, taken, 9)]
    ends = []
    for deviations in (-1000, 1000):
        rng = NormalLaw(deviations)
        ends.append(int(draw_overlaps(rng, *arrays, (1, 1))[0, 0]))
        assert rng.variance == pytest.approx(law.var(), rel=1e-12)
        few = [min(value, 9 - value) for value in (marked, taken)]  # the roles that it draws for
        assert rng.mean == pytest.approx(few[0] * few[1] / 9, rel=1e-12)
    assert sorted(ends) == list(law.support())
