"""Random numbers of R, for published examples that start with ``set.seed``.

R's default generators: the Mersenne Twister, whose state an older generator fills from the seed;
normal numbers by inversion of 53 bits; and one uniform number for each outcome of a rare event.
"""

import numpy as np
from scipy.special import ndtri


class RRandom:
    """Draws of a session of R after ``set.seed(seed)``, in the same order."""

    def __init__(self, seed):
        state = [seed]
        for _ in range(50 + 1 + 624):
            state.append((69069 * state[-1] + 1) % 2**32)
        self._bits = np.random.MT19937()
        key = np.array(state[-624:], dtype=np.uint32)
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}

    def runif(self, n):
        return self._bits.random_raw(n) / (2**32 - 1)

    def rnorm(self, n):
        high, low = self.runif(2 * n).reshape(n, 2).T
        return ndtri((np.floor(2**27 * high) + low) / 2**27)

    def rbinom_1(self, probability):
        """``rbinom(n, 1, probability)``: the rarer outcome where the uniform number is large."""
        is_rarer = self.runif(len(probability)) >= 1 - np.minimum(probability, 1 - probability)
        return np.where(probability > 0.5, ~is_rarer, is_rarer).astype(int)
