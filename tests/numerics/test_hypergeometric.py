"""Groups of cells, and outcomes that are dealt out between two samples."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import hypergeom

from skcal._numerics.inference import _hypergeometric
from skcal._numerics.inference._hypergeometric import draw_overlaps, group_cells


def test_groups_by_hand():
    first, second = np.zeros((2, 64), dtype=int)
    first[[0, 2, 3]], second[[1, 3]] = (10, 9, 1), (10, 10)
    # Parts of two cells: 10 and 10 rows end a group in the first and in the second part.
    assert group_cells(first, second).tolist() == list(range(0, 64, 2))
    first[[0, 1]], second[0] = 20, 20
    assert group_cells(first, second)[:3].tolist() == [0, 1, 2]
    second[1] = 9  # too few for a group of their own
    assert group_cells(first, second)[:2].tolist() == [0, 2]


@pytest.mark.parametrize(("n_cells", "n_rows"), [(16, 30), (64, 0), (64, 3000), (4096, 10**5)])
def test_groups_are_as_small_as_they_may_be(rng, n_cells, n_rows):
    rows = np.stack([np.histogram(rng.beta(a, 3, n_rows), n_cells, (0, 1))[0] for a in (1, 3)])
    starts, part = group_cells(*rows), n_cells // min(32, n_cells)
    assert set(range(0, n_cells, part)) <= set(starts.tolist())
    for start, end in pairwise([*starts, n_cells]):
        assert start < end
        assert rows[:, start:end].sum(axis=1).min() >= 10 or start % part == end % part == 0
        # Without its last cell, a group that others follow in its part would have been too small.
        assert end % part == 0 or rows[:, start : end - 1].sum(axis=1).min() < 10


def draw(rng, marked, taken, total, n_draws):
    arrays = (np.array([number]) for number in (marked, taken, total))
    return draw_overlaps(rng, *arrays, (n_draws, 1))[:, 0]


@pytest.mark.parametrize("few", [50, 3 * 10**8])
@pytest.mark.parametrize("is_marked_common", [False, True])
@pytest.mark.parametrize("is_taken_common", [False, True])
def test_large_populations_have_the_moments_of_their_law(
    rng, is_marked_common, is_taken_common, few
):
    total = 3 * 10**9
    marked = total - few if is_marked_common else few
    taken = total - 10**9 if is_taken_common else 10**9
    drawn, mean = draw(rng, marked, taken, total, 4000), taken * (marked / total)
    variance = mean * (1 - marked / total) * (1 - taken / total)
    assert max(0, marked + taken - total) <= drawn.min() <= drawn.max() <= min(marked, taken)
    assert abs(drawn.mean() - mean) < 4 * np.sqrt(variance / 4000)
    assert drawn.var() == pytest.approx(variance, rel=5 * np.sqrt(2 / 4000))


@pytest.mark.parametrize("shape", [(3,), (2, 4, 3)])
@pytest.mark.parametrize("total", [10, 10**9 - 1, 10**9, 3 * 10**9])
def test_certain_draws_on_both_sides_of_the_limit(rng, shape, total):
    """All members marked, none of them, and all of them taken: chance has no say."""
    marked, taken = np.array([total, 0, 7]), np.array([4, 5, total])
    drawn = draw_overlaps(rng, marked, taken, np.full(3, total), shape)
    np.testing.assert_array_equal(drawn, np.broadcast_to([4, 0, 7], shape))


@pytest.mark.parametrize(("marked", "taken"), [(1, 2), (3, 7), (6, 4), (8, 7)])
def test_normal_draws_keep_variance_and_range_of_the_law(rng, monkeypatch, marked, taken):
    """On a small population, where it matters that members are not put back."""
    monkeypatch.setattr(_hypergeometric, "_LIMIT", 0)
    monkeypatch.setattr(_hypergeometric, "_FEW_MEMBERS", 0)
    law, given, ends = hypergeom(9, marked, taken), [], set()

    def draw_far_away(mean, deviation, size):
        given.append((mean, deviation**2))
        return np.full(size, mean + (-1) ** len(given) * 1000 * deviation)

    for _ in range(2):
        extreme = SimpleNamespace(hypergeometric=rng.hypergeometric, normal=draw_far_away)
        ends |= set(draw(extreme, marked, taken, 9, 1))
    assert ends == set(law.support())
    mean = min(marked, 9 - marked) * min(taken, 9 - taken) / 9  # in the roles that it draws for
    np.testing.assert_allclose(given, [(mean, law.var())] * 2, rtol=1e-12)
