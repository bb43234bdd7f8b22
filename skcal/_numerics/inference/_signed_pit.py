r"""The probability integral transform of clusters, whose residuals change their signs at random.

Let H_i be the distribution function of the PIT of row i, a step or a slope. Right predictions have
E H_i(p) = p at all p, so that the residuals H_i(p) - p of a cluster have mean 0, whatever the
dependence of its rows. See `_cluster_signs` for random signs of whole clusters.
"""

import numpy as np

from skcal._numerics.distributions._regression import SHORTEST, measure_gaps
from skcal._numerics.inference._certification import GOLDEN
from skcal._numerics.inference._cluster_signs import find_design_effect, sum_pairs

# Nodes times draws that are worked on at a time.
_BUDGET = 1 << 20
# Directions that residuals are skewed in, and quantiles of each row that tell how much.
_DIRECTIONS, _N_QUANTILES = (1, 2), 16
# Tests of fewer clusters read single rows of them.
_FEWEST_CLUSTERS = 10
# Largest skewness for which signs stand for the law under the hypothesis. Tests at 5 % reject 7 to
# 8 % of calibrated samples where it is 0.22, and 5 to 6 % at 0.15.
_LARGEST_SKEWNESS = 0.15


class SignedPIT:
    """Distances from uniform of rows whose PIT is spread over intervals; `member` are clusters."""

    def __init__(self, low, high, weights, member, norm):
        mass = np.ones(len(low)) if weights is None else weights.astype(np.float64)
        mass = mass / mass.sum()
        self._nodes = np.unique(np.concatenate([[0.0, 1.0], low, high]))
        start, end = (np.searchsorted(self._nodes, side) for side in (low, high))
        is_point = high - low < SHORTEST
        slope = np.divide(mass, high - low, where=~is_point, out=np.zeros(len(mass)))
        shape = len(self._nodes), int(member.max()) + 1
        self._jumps = sum_pairs(np.where(is_point, mass, 0.0), end, member, shape)
        changes = np.concatenate([slope, -slope]), np.concatenate([start, end])
        self._slopes = sum_pairs(*changes, np.concatenate([member, member]), shape)
        self._mass, self._norm = np.bincount(member, mass), norm

    def draw(self, rng, n_draws):
        """Distances of so many draws."""
        step = max(1, _BUDGET // len(self._nodes))
        sizes = np.diff([*range(0, n_draws, step), n_draws])
        signs = (2.0 * rng.integers(2, size=(len(self._mass), size)) - 1.0 for size in sizes)
        return np.concatenate([self.measure(one) for one in signs])

    def measure(self, signs):
        """Distance for each column of signs."""
        lengths, jumps = np.diff(self._nodes), self._jumps @ signs
        after = np.cumsum(jumps, axis=0)
        after[1:] += np.cumsum(np.cumsum(self._slopes @ signs, axis=0)[:-1].T * lengths, axis=1).T
        after -= np.multiply.outer(self._nodes, self._mass @ signs)
        return measure_gaps(lengths, after - jumps, after, self._norm)


def has_known_law(draw_one, low, high, weights, member):
    """Whether signs of clusters give about the law under the hypothesis.

    That takes enough clusters, and sums of residuals that are hardly skewed. Those of a uniform PIT
    are not skewed, those of a discrete target that hardly ever differs from 0 are, like those of
    rare events. It is measured along cos(pi p) and cos(2 pi p), the directions that uniform numbers
    vary most in. `draw_one` makes PITs of uniform numbers.
    """
    if member.max() + 1 < _FEWEST_CLUSTERS:
        return False
    mass = np.ones(len(low)) if weights is None else weights / weights.max()
    shift = np.arange(len(low)) * GOLDEN
    drawn = [draw_one((shift + k / _N_QUANTILES) % 1.0) for k in range(_N_QUANTILES)]
    for direction in _DIRECTIONS:
        values = np.array([mass * _average_cosine(*ends, direction) for ends in drawn])
        variance, third = (np.sum(values**power) / _N_QUANTILES for power in (2, 3))
        effect = find_design_effect(mass * _average_cosine(low, high, direction), member)
        if abs(third) * np.sqrt(max(effect, 1.0)) > _LARGEST_SKEWNESS * variance**1.5:
            return False
    return True


def _average_cosine(low, high, direction):
    """Mean of cos(direction * pi * p) over intervals of p."""
    middle, half = (low + high) / 2, (high - low) / 2
    return np.cos(np.pi * direction * middle) * np.sinc(direction * half)
