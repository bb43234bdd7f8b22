"""Bands around histograms and curves of uniform numbers, and around shares, all at once."""

from bisect import bisect_left
from functools import partial

import numpy as np
from scipy import stats
from scipy.fft import irfft, next_fast_len, rfft


def bound_histogram(n_samples, n_bins, level):
    """Smallest distance from n / B that no count of B equal bins exceeds with probability `level`.

    Counts of uniform numbers are independent Poisson variables given their sum. So the probability
    that all lie in a range is the value at n of the B-fold convolution of the Poisson probabilities
    in this range, divided by the Poisson probability of n.
    """
    mean = n_samples / n_bins
    most = min(n_samples, 2 * mean + 20 * np.sqrt(mean) + 60)
    distances = np.unique(np.abs(np.arange(most + 1) - mean))
    covered = partial(_cover_counts, n_samples, n_bins)
    return float(distances[bisect_left(distances[:-1], level, key=covered)])


def _cover_counts(n_samples, n_bins, distance):
    mean = n_samples / n_bins
    slack = 1e-9 * max(1.0, mean)
    low = max(0, int(np.ceil(mean - distance - slack)))
    high = min(n_samples, int(np.floor(mean + distance + slack)))
    place = n_samples - n_bins * low
    if high < low or not 0 <= place <= n_bins * (high - low):
        return 0.0
    masses = stats.poisson.pmf(np.arange(low, high + 1), mean)
    length = next_fast_len(n_bins * (high - low) + 1, real=True)
    total = irfft(rfft(masses, length) ** n_bins, length)[place]
    return total / stats.poisson.pmf(n_samples, n_samples)


def bound_curve(n_samples, level):
    """Largest distance of a cumulative distribution of uniform numbers, Kolmogorov's exact law."""
    return float(stats.kstwo.ppf(level, n_samples))


def bound_draws(values, level):
    """What a value that is exchangeable with `values` does not exceed with probability `level`."""
    rank = int(np.ceil(level * (len(values) + 1) - 1e-9))
    return float(np.sort(values)[rank - 1]) if rank <= len(values) else np.inf


def bound_shares(counts, level, confidence_level):
    """Ends between which the shares of all groups lie, whose counts are binomial."""
    tail = -np.expm1(np.log(confidence_level) / len(counts)) / 2
    law = stats.binom(counts, level)
    return law.ppf(tail) / counts, law.isf(tail) / counts


def bound_weighted_shares(place, weights, level, confidence_level, rng, n_draws, show=iter):
    """The same of weighted shares, as far from the level in units of their standard deviations."""
    # Shares depend on what weights are beside others of their group.
    largest = np.zeros(place.max() + 1)
    np.maximum.at(largest, place, weights)
    weights = weights / largest[place]
    mass = np.bincount(place, weights)
    unit = np.sqrt(level * (1 - level) * np.bincount(place, weights**2)) / mass
    farthest = np.empty(n_draws)
    for draw in show(range(n_draws)):
        hits = np.where(rng.random(len(place)) < level, weights, 0.0)
        farthest[draw] = np.max(np.abs(np.bincount(place, hits) / mass - level) / unit)
    width = bound_draws(farthest, confidence_level) * unit
    return np.maximum(level - width, 0.0), np.minimum(level + width, 1.0)
