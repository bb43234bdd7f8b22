"""Exact and long double computations of the definitions, and samples to test rounding with."""

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np

from skcal import metrics
from tests.reference_distance import list_partitions, postprocessing_error

# Unit roundoff of float64.
U = 2.0**-53


def call(name, sample, **options):
    """Call the function of this name, which may be followed by a comma and a remark."""
    outcomes, predictions, weights = sample
    function = getattr(metrics, name.partition(",")[0])
    # The outcomes of a small sample may all be 0: the positive label must be named.
    return function(outcomes, predictions, sample_weight=weights, pos_label=1, **options)


def assert_near(value, exact, roundings):
    """The distance from an exact value in units of U; the difference itself is not rounded."""
    number = type(exact)
    assert abs(number(float(value)) - exact) <= number(roundings) * number(U)


def draw_small(seed, weights="any", n_most=12):
    """Outcomes, hard or soft, predictions with and without ties, and weights or None."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, n_most + 1))
    predictions = rng.random(n)
    if seed % 3 == 0:
        predictions = rng.choice([0.0, 0.1, 0.2, 1 / 3, 0.5, 0.7, 1.0], n)
    outcomes = rng.random(n) if seed % 4 in (1, 2) else rng.integers(0, 2, n).astype(float)
    if seed % 2:
        return outcomes, predictions, None
    counts = weights == "counts"
    return outcomes, predictions, rng.integers(1, 5, n) * 1.0 if counts else rng.random(n) + 1e-3


class Rows:
    """A sample in exact arithmetic; every float is the fraction that it stands for."""

    def __init__(self, outcomes, predictions, weights, number=Fraction):
        weights = np.ones(len(outcomes)) if weights is None else weights
        self.y, self.v, self.w = (
            np.array([number(float(x)) for x in values])
            for values in (outcomes, predictions, weights)
        )
        self.n, self.total, self.places = len(self.v), sum(self.w), np.unique(self.v)
        at_place = np.equal.outer(self.places, self.v).astype(object)
        self.mass, self.rise = at_place @ self.w, at_place @ (self.w * self.y)
        self.residual = (self.rise - self.mass * self.places) / self.total

    def bins(self, edges):
        """Rows of the bins that are not empty; right-closed, the first one on both sides."""
        found = np.searchsorted(edges[1:-1], self.v.astype(float))
        return [np.flatnonzero(found == b) for b in np.unique(found)]

    def gaps(self, edges):
        """Mass and residual of each bin."""
        residual = self.w * (self.y - self.v)
        return [(self.w[b].sum(), residual[b].sum()) for b in self.bins(edges)]

    def cumulative(self):
        return np.cumsum([type(self.total)(0), *self.residual])


def uniform(n_bins):
    return np.linspace(0, 1, n_bins + 1)


def quantiles(rows, n_bins):
    repeated = np.repeat(rows.v.astype(float), rows.w.astype(int))
    return np.percentile(repeated, np.linspace(0, 1, n_bins + 1) * 100)


def exact_ece(rows):
    return sum(abs(gap) for _, gap in rows.gaps(uniform(15))) / rows.total


def exact_mce(rows):
    return max(abs(gap) / mass for mass, gap in rows.gaps(uniform(15)))


def exact_ace(rows):
    gaps = [abs(gap) / mass for mass, gap in rows.gaps(quantiles(rows, 4))]
    return sum(gaps) / len(gaps)


def exact_squared(rows, debias):
    """Plain, or less the variance of the mean outcome, or less the squared residuals."""
    total, squares = 0, rows.y * (1 - rows.v) ** 2 + (1 - rows.y) * rows.v**2
    for b in rows.bins(quantiles(rows, 3)):
        w, n = rows.w[b], rows.w[b].sum()
        gap, mean = w @ (rows.y - rows.v)[b] / n, w @ rows.y[b] / n
        if debias == "outcomes":
            total += n * (gap**2 - mean * (1 - mean) / (n - 1)) if n > 1 else 0
        else:
            total += n * gap**2 - (w @ squares[b] / n if debias == "residuals" else 0)
    return total / rows.total


def exact_smooth_calibration(rows):
    """The dual: the best path bends at cumulative residuals or 0 only."""
    sums = rows.cumulative()[1:]
    values = sorted({Fraction(0), *sums})
    least = {g: abs(g) for g in values}
    for (low, high), here in zip(pairwise(rows.places), sums, strict=False):
        stay = {g: least[g] + (high - low) * abs(here - g) for g in values}
        least = {g: min(stay[f] + abs(g - f) for f in values) for g in values}
    return least[sums[-1]]


def exact_interval(rows):
    sums, least = rows.cumulative(), [Fraction(0)]
    for j in range(1, len(sums)):
        widths = rows.places[j - 1] - rows.places[:j]
        masses = [rows.mass[i:j].sum() / rows.total for i in range(j)]
        least.append(min(least + np.abs(sums[j] - sums[:j]) + masses * widths))
    return least[-1]


def exact_random_interval(rows, width):
    width = Fraction(width)
    ends = np.unique([*rows.places, *(rows.places - width)])
    middles = (ends[1:] + ends[:-1]) / 2
    inside = [(m < rows.places) & (rows.places < m + width) for m in middles]
    return sum(np.diff(ends) * [abs(rows.residual[part].sum()) for part in inside]) / width


def exact_surrogate(rows):
    widths = [Fraction(1, 2**k) for k in range(61)]
    limit = sum(abs(rows.residual))
    return min(limit, *(exact_random_interval(rows, width) + width for width in widths))


def exact_two_bins(rows):
    sums, ends = rows.cumulative(), [Fraction(0), *rows.places, Fraction(1)]
    return np.diff(ends) @ (sums**2 + (sums[-1] - sums) ** 2)


def exact_decision(rows):
    """Thresholds of all rows and of all mean outcomes of neighbouring ones, from both sides."""
    k = range(len(rows.places) + 1)
    rise, mass = ([sum(values[:i]) for i in k] for values in (rows.rise, rows.mass))
    means = {(rise[j] - rise[i]) / (mass[j] - mass[i]) for i in k for j in k if i < j}
    error = Fraction(0)
    for t in {Fraction(1, 2), *means, *rows.places}:
        losses = [rise[i] - t * mass[i] for i in k]
        for first in (sum(rows.places < t), sum(rows.places <= t)):
            error = max(error, (losses[first] - min(losses)) / max(t, 1 - t))
    return error / rows.total


def exact_upper_distance(rows):
    parts = (rows.places, rows.mass, rows.rise)
    return postprocessing_error(list_partitions, *parts) / rows.total


def pool(rows):
    """Isotonic mean outcome of every distinct prediction."""
    blocks = []
    for rise, mass in zip(rows.rise, rows.mass, strict=True):
        blocks.append([rise, mass, 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    return np.array([rise / mass for rise, mass, size in blocks for _ in range(size)])


def mean_score(rows, forecast):
    wrong = rows.mass - rows.rise
    return (rows.rise @ (1 - forecast) ** 2 + wrong @ forecast**2) / rows.total


def exact_miscalibration(rows):
    return mean_score(rows, rows.places) - mean_score(rows, pool(rows))


def exact_isotonic_calibration(rows):
    return rows.mass @ (pool(rows) - rows.places) ** 2 / rows.total


def decimal_kernel_square(rows, bandwidth, power=1):
    terms = rows.w * (rows.y - rows.v)
    scaled = -((abs(np.subtract.outer(rows.v, rows.v)) / Decimal(bandwidth)) ** power)
    return terms @ np.exp(scaled) @ terms / rows.total**2


def draw_large(kind, n=10**6):
    """Outcomes, predictions and weights; soft labels make residuals that are all alike."""
    rng = np.random.default_rng(0)
    if kind == "alike":
        predictions = 0.9 * rng.random(n)
        return predictions + 0.1, predictions, None
    predictions = rng.random(n)
    truth = predictions**2 if kind == "biased" else predictions
    outcomes = (rng.random(n) < truth).astype(float)
    return outcomes, predictions, rng.random(n) if kind == "weighted" else None


class LongRows:
    """Direct computations in long double."""

    def __init__(self, outcomes, predictions, weights):
        order = np.argsort(predictions)
        self.v = predictions[order].astype(np.longdouble)
        self.y = outcomes[order].astype(np.longdouble)
        self.w = np.ones_like(self.v) if weights is None else weights[order].astype(np.longdouble)
        self.p = self.w / self.w.sum()
        self.c = self.p * (self.y - self.v)

    def sum_bins(self, edges):
        """Mass and residual of each bin; the rows are sorted."""
        starts = np.searchsorted(self.v.astype(float), edges[:-1], side="right")
        starts[0] = 0
        starts = starts[starts < len(self.v)]
        return np.add.reduceat(self.p, starts), np.add.reduceat(self.c, starts)

    def cumulative(self):
        sums = np.concatenate([[np.longdouble(0)], np.cumsum(self.c)])
        return sums[np.flatnonzero(np.diff(self.v, prepend=-1, append=2))]  # where runs end

    def laplace(self):
        """For the bandwidth 1, without any chunks."""
        decayed = np.cumsum(self.c * np.exp(self.v)) * np.exp(-self.v)
        gap = np.append(np.diff(self.v), np.inf)
        return -(decayed**2 * np.expm1(-2 * gap)).sum()

    def two_bins(self):
        below = np.concatenate([[np.longdouble(0)], np.cumsum(self.c)])
        width = np.diff(self.v, prepend=0, append=1)
        return (width * (below**2 + (below[-1] - below) ** 2)).sum()

    def random_interval(self, width):
        sums = np.concatenate([[np.longdouble(0)], np.cumsum(self.c)])
        ends = np.sort(np.concatenate([self.v, self.v - width]))
        middles = (ends[1:] + ends[:-1]) / 2
        inside = [sums[np.searchsorted(self.v, middles + shift)] for shift in (width, 0)]
        return (np.diff(ends) * np.abs(inside[0] - inside[1])).sum() / width
