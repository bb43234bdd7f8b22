"""The omnibus statistic, against its three tests by themselves."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import chi2

from skcal._numerics.cells._merging import Hits
from skcal._numerics.inference import _omnibus
from skcal._numerics.inference._omnibus import IMPOSSIBLE, LargestOmnibus, OmnibusOnPlaces
from skcal.inference import cumulative_calibration_test


def make_omnibus(places, weights=None, n_rows=None):
    """For one row at each place."""
    weights = np.ones(len(places)) if weights is None else weights
    variance = weights**2 * places * (1 - places)
    return OmnibusOnPlaces(places, weights, variance, n_rows or len(places))


def find_cox_pvalue(places, outcomes, weights):
    residuals, log_odds = weights * (outcomes - places), logit(places)
    design = np.stack([np.ones(len(places)), log_odds])
    if (log_odds == log_odds[0]).all():
        design = design[:1]
    score, spread = design @ residuals, weights * np.sqrt(places * (1 - places))
    information = (design * spread) @ (design * spread).T
    return chi2(len(design)).sf(score @ np.linalg.solve(information, score))


def find_bins_pvalue(places, outcomes, n_bins):
    """For places of equal variances."""
    rows = np.array_split(np.arange(len(places)), n_bins)
    terms = [(outcomes - places)[r].sum() ** 2 / (places * (1 - places))[r].sum() for r in rows]
    return chi2(n_bins).sf(sum(terms))


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_and_kuiper(rng, weighted):
    for _ in range(20):
        places = np.sort(rng.random(30))
        weights = rng.exponential(size=30) if weighted else np.ones(30)
        outcomes = (rng.random(30) < places**2).astype(float)
        kuiper = cumulative_calibration_test(outcomes, places, sample_weight=weights)
        expected = min(find_cox_pvalue(places, outcomes, weights), kuiper.pvalue)
        omnibus = make_omnibus(places, weights)
        omnibus.variances = np.full(len(omnibus.starts), np.inf)  # so that bins find nothing
        (value,) = omnibus.measure((weights * outcomes)[None])
        assert np.exp(-value) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["shift", "waves"])
def test_all_three_on_bins_of_equal_rows(rng, kind):
    """Places so near each other that variances are equal; waves are for the bins alone."""
    places = 0.5 + 1e-8 * np.arange(-500, 500)
    truth = 0.6 if kind == "shift" else 0.5 + 0.4 * (-1) ** (np.arange(1000) // 100)
    outcomes = (rng.random((5, 1000)) < truth).astype(float)
    values = make_omnibus(places).measure(outcomes)
    for value, row in zip(values, outcomes, strict=True):
        pvalues = [
            find_cox_pvalue(places, row, np.ones(1000)),
            find_bins_pvalue(places, row, 10),
            cumulative_calibration_test(row, places).pvalue,
        ]
        assert value == pytest.approx(-np.log(min(pvalues)), rel=1e-5)
        assert (np.argmin(pvalues) == 1) == (kind == "waves")


def test_equal_predictions_have_no_slope():
    """The sum of the outcomes is the only thing to test, by its normal law at the two tests."""
    places, mass = np.array([0.2]), np.array([100.0])
    (value,) = OmnibusOnPlaces(places, mass, np.array([16.0]), 100).measure(np.array([[28.0]]))
    assert np.exp(-value) == pytest.approx(chi2(1).sf(4.0))
    near = np.array([0.2, np.nextafter(0.2, 1)])
    (again,) = OmnibusOnPlaces(near, np.full(2, 50.0), np.full(2, 8.0), 1).measure(
        np.array([[14.0, 14.0]])
    )
    assert again == pytest.approx(value)


def test_certain_and_next_to_certain_predictions():
    places = np.array([0.0, 1e-300, 0.5, 1.0])
    sums = np.array([[0, 0, 0, 1], [1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1.0]])
    values = make_omnibus(places).measure(sums)
    assert values[0] == pytest.approx(-np.log(chi2(1).sf(1.0)))  # bins: one, of half a variance
    assert (values[1:3] == IMPOSSIBLE).all()
    # An outcome of probability 1e-300 is less than certain.
    assert values[0] < values[3] < IMPOSSIBLE
    certain = make_omnibus(places[[0, -1]]).measure(sums[:2, [0, -1]])
    np.testing.assert_array_equal(certain, [0, IMPOSSIBLE])


def test_bins_hold_half_of_an_equal_share_at_least(rng):
    for n_bins in (1, 2, 7, 30):
        for power in (0, 1, 8):
            shares = rng.random(200) ** power + 1e-12
            shares /= shares.sum()
            starts = _omnibus._cut_bins(shares, n_bins)
            sums = np.add.reduceat(shares, starts)
            assert starts[0] == 0
            assert (np.diff(starts) > 0).all()
            assert len(starts) <= n_bins
            assert sums.min() >= (1 - 1e-6) / (2 * n_bins)
    # No bin is longer than it must be.
    np.testing.assert_array_equal(_omnibus._cut_bins(np.full(30, 1 / 30), 10), range(0, 30, 3))


def test_weights_count_as_shares(rng):
    places, weights = np.sort(rng.random(40)), rng.exponential(size=40)
    outcomes = weights * (rng.random((8, 40)) < places)
    values = make_omnibus(places, weights).measure(outcomes)
    for scale in (1e-80, 1e80):
        scaled = make_omnibus(places, scale * weights).measure(scale * outcomes)
        np.testing.assert_allclose(scaled, values, rtol=1e-9)


def test_next_to_certain_outcomes_beside_others():
    """Their variances vanish against those of others, or altogether."""
    for tiny in (5e-324, 1e-310, 1e-200):
        places = np.array([tiny, 0.5])
        sums = np.array([[0.0, 0.0], [0, 1], [1, 0]])
        values = make_omnibus(places, np.array([1.0, 1e10])).measure(sums * [1, 1e10])
        assert np.isfinite(values).all()
        assert values[0] == pytest.approx(values[1])


def test_either_label_may_be_the_positive_one(rng):
    for size in (30, 200):
        places, weights = np.sort(rng.beta(1, 5, size)), rng.exponential(size=size)
        outcomes = weights * (rng.random((8, size)) < places)
        values = make_omnibus(places, weights).measure(outcomes)
        other = make_omnibus(1 - places[::-1], weights[::-1])
        turned = other.measure((weights - outcomes)[:, ::-1])
        np.testing.assert_allclose(turned, values, rtol=1e-9)


def test_weights_whose_squares_vanish_are_not_certain(rng):
    places, weights = np.sort(rng.random(20)), np.ones(20)
    weights[3] = 1e-200
    outcomes = weights * (rng.random((4, 20)) < places)
    assert (make_omnibus(places, weights).measure(outcomes) < IMPOSSIBLE).all()


@pytest.mark.parametrize("kind", ["plain", "weights", "certain", "one place"])
def test_hits_have_the_values_of_their_sums(rng, kind):
    """Several hits of a place, samples without any, and hits of certain places."""
    places = np.sort(rng.beta(0.5, 3, 40))
    if kind == "certain":
        places[:2], places[-2:] = [0.0, 1e-320], [1 - 1e-16, 1.0]
    places = places[:1] if kind == "one place" else places
    n_places, n_samples = len(places), 30
    sample = np.sort(rng.integers(1, n_samples - 1, 150))
    cell = rng.integers(n_places, size=150)
    cell[cell == 0] = rng.integers(n_places)  # of what is impossible in a few samples alone
    weights = rng.exponential(size=150) if kind == "weights" else np.ones(150)
    order = np.lexsort((cell, sample))
    hits = Hits(sample, cell[order], weights[order] if kind == "weights" else None, n_samples)
    mass = np.full(n_places, 8.0)
    sums = np.bincount(sample * n_places + cell[order], weights[order], n_samples * n_places)
    sums = sums.reshape(n_samples, n_places)
    if kind == "certain":
        mass[-1] = sums[sums[:, -1] > 0, -1][0]  # as some samples have it
    omnibus = OmnibusOnPlaces(places, mass, mass * places * (1 - places), 320)
    values = omnibus.measure(sums)
    np.testing.assert_allclose(LargestOmnibus([omnibus]).measure(hits), values, rtol=1e-9)
    if kind == "certain":
        assert 0 < np.count_nonzero(values == IMPOSSIBLE) < n_samples


@pytest.mark.parametrize("weighted", [False, True])
def test_several_problems_have_the_largest_of_their_values(rng, weighted):
    """Bins and scores of several numbers, places that are certain, and one with nothing else."""
    problems, sums = [], []
    for places in ([0.3], [0.0, 1.0], [0.0, 0.1, 0.4], np.sort(rng.beta(0.5, 3, 60))):
        places, mass = np.array(places), np.full(len(places), 8.0)
        if weighted:
            mass = rng.exponential(size=len(places))
        problems.append(OmnibusOnPlaces(places, mass, mass * places * (1 - places), 8 * len(mass)))
        sums.append(mass * rng.binomial(8, places, size=(20, len(places))) / 8)
    sums[1][3] = problems[1].mass  # of what is impossible
    expected = np.max([one.measure(own) for one, own in zip(problems, sums, strict=True)], axis=0)
    assert (expected == IMPOSSIBLE).nonzero()[0].tolist() == [3]
    largest, joined = LargestOmnibus(problems), np.concatenate(sums, axis=1)
    np.testing.assert_allclose(largest.measure(sums), expected, rtol=1e-12)
    sample, cell = np.nonzero(joined)
    problem = np.repeat(np.arange(4), [own.shape[1] for own in sums])[cell]
    order = np.lexsort((cell, sample, problem))
    weights = joined[sample, cell][order]
    hits = Hits((20 * problem + sample)[order], cell[order], weights, 20)
    np.testing.assert_allclose(largest.measure(hits), expected, rtol=1e-9)
