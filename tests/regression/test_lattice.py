"""Draws from laws on whole numbers, against the quantiles and probabilities of SciPy."""

import numpy as np
import pytest
from scipy import stats

from skcal._input._predicted._lattice import make_lattice_source
from skcal._numerics.distributions import _lattice_table
from skcal.regression import distribution_calibration_test, pit_calibration_error

N_ROWS = 200
_MEANS = np.exp(np.random.default_rng(0).normal(1, 2, N_ROWS))
LAWS = {
    "poisson": stats.poisson(_MEANS),
    "poisson of equal rows": stats.poisson(np.repeat([0.0, 0.3, 5000.0, 4.0], N_ROWS // 4)),
    "one poisson": stats.poisson(2.5),
    "wide": stats.poisson(1e6),
    "moved": stats.poisson(_MEANS, loc=np.repeat([0.25, -1e3], N_ROWS // 2)),
    "negative binomial": stats.nbinom(1.5, 1 / (1 + _MEANS)),
    "binomial": stats.binom(20, np.linspace(0, 1, N_ROWS)),
    "geometric": stats.geom(0.02),
    "uniform": stats.randint(-3, np.arange(N_ROWS) + 1),
}


@pytest.mark.parametrize("most_cells", [1 << 24, 3000, 0])
@pytest.mark.parametrize("kind", LAWS)
def test_draws_are_quantiles_and_their_probabilities(kind, most_cells, rng, monkeypatch):
    """With few cells the widest laws, or all, are left to SciPy."""
    monkeypatch.setattr(_lattice_table, "_MOST_CELLS", most_cells)
    monkeypatch.setattr(_lattice_table, "_BLOCK", 1 << 10)
    law = LAWS[kind]
    draw = make_lattice_source(law, N_ROWS)
    for _ in range(3):
        u = rng.random(N_ROWS)
        targets, low, high = draw(u)
        np.testing.assert_array_equal(targets, law.ppf(u))
        # Half a step away, where rounding of the location moves no number.
        np.testing.assert_allclose(high, law.cdf(targets + 0.5), rtol=0, atol=1e-14)
        np.testing.assert_allclose(low, law.cdf(targets - 0.5), rtol=0, atol=1e-14)
        assert np.all((low < u) & (u <= high))


def test_numbers_beyond_the_table_are_found():
    u = np.repeat([1e-13, 1e-9, 1 - 1e-9, 1 - 1e-13], 2)
    law = stats.poisson(np.tile([3.0, 400.0], 4))
    targets, low, high = make_lattice_source(law, 8)(u)
    np.testing.assert_array_equal(targets, law.ppf(u))
    np.testing.assert_allclose(high, law.cdf(targets), rtol=1e-14)
    np.testing.assert_allclose(low, law.cdf(targets - 1), rtol=1e-14)


@pytest.mark.parametrize(
    "law",
    [
        stats.norm(0, 1),
        stats.zipf(2.5),  # SciPy sums up its probabilities
        stats.rv_discrete(values=([0.5, 2.0], [0.4, 0.6]))(),
        stats.poisson([1.0, 2.0, 3.0]),
        stats.poisson(-1.0),
        stats.poisson(1.0).dist,
    ],
)
def test_other_laws_are_left_to_their_own_quantiles(law):
    assert make_lattice_source(law, 2) is None


def test_quantiles_are_looked_up_twice_in_all(rng, monkeypatch):
    """SciPy takes longer for those of 100 rows than the test for all that it does with them."""
    calls, own = [], type(stats.poisson)._ppf

    def count(self, *arguments):
        calls.append(arguments)
        return own(self, *arguments)

    monkeypatch.setattr(type(stats.poisson), "_ppf", count)
    rate = np.exp(rng.normal(size=100))
    y = rng.poisson(rate)
    found = distribution_calibration_test(y, stats.poisson(rate), n_resamples=99, random_state=0)
    assert len(calls) == 2
    assert found.pvalue > 0.01

    def distance(y, law):
        return pit_calibration_error(y, law, norm=1)

    options = {"statistic": distance, "n_resamples": 19, "random_state": 0}
    distribution_calibration_test(y, stats.poisson(rate), **options)
    assert len(calls) == 4
