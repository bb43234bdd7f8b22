"""Gains of recalibration where rows of a cluster depend on each other."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t as student

from skcal._numerics.monitoring._betting import find_lower_bound
from skcal._refinement import cross_fit
from skcal.recalibration import HistogramBinning, PlattScaling
from skcal.refinement import _recalibration_gain as gain_module
from skcal.refinement import (
    brier_refinement,
    recalibration_gain,
    refinement_decomposition,
)
from tests.chance import most_of
from tests.inference.samples import draw_clusters


def draw_answers(rng, n_clusters, n_rows):
    """Questions whose answers come true together, at about the same confidence."""
    clusters = np.repeat(np.arange(n_clusters), n_rows)
    v = np.clip(rng.random(n_clusters)[clusters] + rng.uniform(-0.01, 0.01, len(clusters)), 0, 1)
    return (rng.random(n_clusters)[clusters] < v).astype(int), v, clusters


def test_no_map_has_seen_other_rows_of_a_cluster(rng):
    """A step function learns the answers by heart: new questions cost as much as v (1 - v)."""
    y, v, clusters = draw_answers(rng, 80, 25)
    expected = np.mean(v * (1 - v))  # about 1/6
    options = {"recalibrator": HistogramBinning(n_bins=100)}
    assert brier_refinement(y, v, **options) < expected - 0.05
    assert brier_refinement(y, v, clusters=clusters, **options) > expected
    plain = refinement_decomposition(y, v, **options)
    found = refinement_decomposition(y, v, clusters=clusters, **options)
    assert found.calibration < 0 < 0.04 < plain.calibration
    with pytest.raises(ValueError, match="y_true must hold labels"):
        brier_refinement(v, v, clusters=clusters, pos_label=1)
    # Fewer clusters than folds make as many folds as there are clusters.
    assert np.isfinite(brier_refinement(y, v, clusters=clusters // 40))


GAIN = partial(recalibration_gain, recalibrator="platt", random_state=0)


def test_gain_of_clusters_of_one_row_and_of_copies(rng):
    """Of as many copies each: the gain has no weights."""
    y, v, _ = draw_clusters(rng, 200, 1)
    expected = GAIN(y, v, labels=[0, 1])
    assert GAIN(y, v, clusters=rng.permutation(200), labels=[0, 1]) == expected
    rows = np.repeat(np.arange(200), 3)
    found = GAIN(y[rows], v[rows], clusters=np.char.zfill(rows.astype(str), 3))
    np.testing.assert_allclose(found[:4], expected[:4], rtol=1e-9)
    assert found.n_samples == 600
    counts = rng.integers(1, 5, 200)
    rows = np.repeat(np.arange(200), counts)
    names, order = rng.permutation(200), rng.permutation(len(rows))
    found = GAIN(y[rows], v[rows], clusters=rows)
    other = GAIN(y[rows][order], v[rows][order], clusters=names[rows][order])
    np.testing.assert_allclose(other[:4], found[:4], rtol=1e-9)
    assert found.gain == pytest.approx(expected.gain, abs=0.05)


@pytest.mark.parametrize("sizes", ["equal", "geometric"])
def test_gain_bounds_of_clusters(sizes, rng):
    """Gain and refinement are those of the folds; the approximate bound is written out."""
    y, v, clusters = draw_clusters(rng, 150, correlation=0.5, sizes=sizes)
    v = expit(2 * logit(v))
    found = GAIN(y, v, clusters=clusters, confidence_level=0.9)
    assert found.refinement == brier_refinement(y, v, clusters=clusters, recalibrator="platt")
    assert found.gain == pytest.approx(np.mean((y - v) ** 2) - found.refinement, rel=1e-9)
    # By the gains of each row, from the folds.
    proba = np.column_stack([1 - v, v])
    after = cross_fit(PlattScaling(), proba, y, None, 5, clusters)[:, 1]
    gains = (y - v) ** 2 - (y - after) ** 2
    share = np.bincount(clusters) / len(y)
    sums = np.bincount(clusters, gains - gains.mean()) / (1 - share)
    width = student.ppf(0.9, 1 / (share @ share) - 1) * np.sqrt(sums @ sums) / len(y)
    assert found.approximate_low == pytest.approx(max(gains.mean() - width, 0), rel=1e-6)
    assert GAIN(y, v, confidence_level=0.9).approximate_low > found.approximate_low


def test_gain_of_many_clusters(rng):
    """Both bounds near the truth, 1/48: outcomes are half as far from 1/2 as predicted."""
    y, v, clusters = draw_clusters(rng, 4000, correlation=0.5, slope=0.5)
    found = GAIN(y, v, clusters=clusters)
    assert 0.6 / 48 < found.certified_low < found.approximate_low < 1 / 48


def test_blocks_hold_whole_clusters():
    """Each cluster meets a map that was fitted to earlier clusters alone, of 30 rows or more."""
    rng, seen = np.random.default_rng(0), []
    sizes = rng.integers(1, 9, 60)
    n = sizes.sum()
    v = (np.arange(n) + 0.5) / n  # tells the number of the row

    class Spy(PlattScaling):
        def _fit(self, scores, codes, sample_weight):
            self.n_ = len(scores)
            super()._fit(scores, codes, sample_weight)

        def _recalibrate(self, scores):
            seen.append((self.n_, np.rint(scores[:, 1] * n - 0.5).astype(int)))
            return super()._recalibrate(scores)

    proba, codes = np.column_stack([1 - v, v]), np.arange(n) % 2
    gains, floors, shares = gain_module._play(Spy(), proba, codes, "brier", sizes=sizes)
    starts = np.cumsum(sizes) - sizes
    first = np.searchsorted(starts, 30)
    np.testing.assert_array_equal(shares, sizes[first:] / sizes.max())
    assert gains.shape == (3, 60 - first)
    assert (gains >= -floors[:, None] * shares - 1e-12).all()
    assert [rows[0] for _, rows in seen] == [n_before for n_before, _ in seen]
    assert {rows[0] for _, rows in seen} <= {*starts}
    assert np.concatenate([rows for _, rows in seen]).tolist() == list(range(starts[first], n))
    ones = np.ones(n, dtype=int)
    rows = gain_module._play(PlattScaling(), proba, codes, "brier")
    for one, other in zip(
        rows, gain_module._play(PlattScaling(), proba, codes, "brier", sizes=ones), strict=False
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("certain", [0.0, 0.3])
def test_bets_on_sums_bound_the_mean_of_rows(certain):
    """Large clusters gain nothing: rows gain less than clusters do, and that is what is bounded."""
    rng = np.random.default_rng(1)
    sizes = rng.choice([1, 15], 5000)
    gains = np.where(sizes == 1, 0.4, certain) * sizes + rng.normal(0, 0.01, 5000)
    of_rows = (0.4 + 15 * certain) / 16
    low = find_lower_bound(gains[None] / 15, np.array([0.5]), 0.95, sizes / 15)
    assert 0.6 * of_rows < low < of_rows
    equal = rng.uniform(-0.5, 1, 1000)[None]
    np.testing.assert_array_equal(
        find_lower_bound(equal, np.array([0.5]), 0.95, np.ones(1000)),
        find_lower_bound(equal, np.array([0.5]), 0.95),
    )


def test_labels_in_too_few_clusters():
    y, v = np.arange(60) < 5, np.linspace(0.1, 0.9, 60)
    with pytest.raises(ValueError, match=r"labels of two clusters each.*got 12 clusters of 2"):
        GAIN(y, v, clusters=np.arange(60) // 5)


@pytest.mark.parametrize(("sizes", "slope"), [("equal", 1.0), ("one large", 0.5)])
def test_bounds_of_gains_hold(sizes, slope):
    """Of 95 % each: certified ones by a theorem, approximate ones in about as many samples."""
    truth, n_samples = (1 - slope) ** 2 / 12, 20
    found = np.zeros((n_samples, 2))
    for seed in range(n_samples):
        y, v, clusters = draw_clusters(
            np.random.default_rng(seed), 50, sizes=sizes, slope=slope, shared=0.9, correlation=1.0
        )
        result = GAIN(y, v, clusters=clusters, labels=[0, 1])
        found[seed] = result.approximate_low, result.certified_low
    missed = (found > truth + 1e-12).sum(axis=0)
    assert (missed <= most_of(n_samples, np.array([0.07, 0.05]))).all(), missed / n_samples
