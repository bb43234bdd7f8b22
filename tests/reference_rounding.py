"""Exact and long double computations of the definitions, and samples to test rounding with."""

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np

from skcal import metrics

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


# --------------------------------------------------------------------------- small samples


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
    return (
        outcomes,
        predictions,
        (rng.integers(1, 5, n).astype(float) if weights == "counts" else rng.random(n) + 1e-3),
    )


class Rows:
    """A sample in exact arithmetic; every float is the fraction that it stands for."""

    def __init__(self, outcomes, predictions, weights, number=Fraction):
        weights = np.ones(len(outcomes)) if weights is None else weights
        self.y, self.v, self.w = (
            [number(float(x)) for x in values] for values in (outcomes, predictions, weights)
        )
        self.total = sum(self.w)
        self.n = len(self.y)
        distinct = sorted(set(self.v))
        self.places = distinct
        self.mass = [self.add(lambda i, t=t: self.w[i] * (self.v[i] == t)) for t in distinct]
        self.rise = [
            self.add(lambda i, t=t: self.w[i] * self.y[i] * (self.v[i] == t)) for t in distinct
        ]
        self.residual = [
            (rise - mass * place) / self.total
            for rise, mass, place in zip(self.rise, self.mass, distinct, strict=True)
        ]

    def add(self, term):
        return sum(term(i) for i in range(self.n))

    def bins(self, edges):
        """Rows of the bins that are not empty; right-closed, the first one on both sides."""
        inner = [type(self.total)(float(edge)) for edge in edges[1:-1]]
        found = {}
        for i in range(self.n):
            found.setdefault(sum(edge < self.v[i] for edge in inner), []).append(i)
        return list(found.values())

    def gaps(self, edges):
        """Mass and residual of each bin."""
        return [
            (sum(self.w[i] for i in b), sum(self.w[i] * (self.y[i] - self.v[i]) for i in b))
            for b in self.bins(edges)
        ]

    def cumulative(self):
        sums = [type(self.total)(0)]
        for residual in self.residual:
            sums.append(sums[-1] + residual)
        return sums


def uniform(n_bins):
    return np.linspace(0, 1, n_bins + 1)


def quantiles(rows, n_bins):
    repeated = np.repeat([float(v) for v in rows.v], [int(w) for w in rows.w])
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
    total = 0
    for b in rows.bins(quantiles(rows, 3)):
        n = sum(rows.w[i] for i in b)
        gap = sum(rows.w[i] * (rows.y[i] - rows.v[i]) for i in b) / n
        mean = sum(rows.w[i] * rows.y[i] for i in b) / n
        squares = sum(
            rows.w[i] * (rows.y[i] * (1 - rows.v[i]) ** 2 + (1 - rows.y[i]) * rows.v[i] ** 2)
            for i in b
        )
        if debias == "outcomes":
            total += n * (gap**2 - mean * (1 - mean) / (n - 1)) if n > 1 else 0
        else:
            total += n * gap**2 - (squares / n if debias == "residuals" else 0)
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
        costs = []
        for i in range(j):
            mass = sum(rows.mass[i:j]) / rows.total
            width = rows.places[j - 1] - rows.places[i]
            costs.append(least[i] + abs(sums[j] - sums[i]) + mass * width)
        least.append(min(costs))
    return least[-1]


def exact_random_interval(rows, width):
    width = Fraction(width)
    ends = sorted({*rows.places, *(place - width for place in rows.places)})
    area = 0
    for low, high in pairwise(ends):
        middle = (low + high) / 2
        inside = [
            residual
            for place, residual in zip(rows.places, rows.residual, strict=True)
            if middle < place < middle + width
        ]
        area += (high - low) * abs(sum(inside))
    return area / width


def exact_surrogate(rows):
    widths = [Fraction(1, 2**k) for k in range(61)]
    limit = sum(abs(residual) for residual in rows.residual)
    return min(limit, *(exact_random_interval(rows, width) + width for width in widths))


def exact_two_bins(rows):
    sums = rows.cumulative()
    ends = [Fraction(0), *rows.places, Fraction(1)]
    return sum(
        (high - low) * (below**2 + (sums[-1] - below) ** 2)
        for (low, high), below in zip(pairwise(ends), sums, strict=True)
    )


def exact_upper_distance(rows):
    def split(items):
        if not items:
            yield []
            return
        first, *others = items
        for parts in split(others):
            yield [[first], *parts]
            for k, part in enumerate(parts):
                yield [*parts[:k], [first, *part], *parts[k + 1 :]]

    def cost(group):
        mean = sum(rows.rise[i] for i in group) / sum(rows.mass[i] for i in group)
        return sum(rows.mass[i] * abs(rows.places[i] - mean) for i in group)

    partitions = split(list(range(len(rows.places))))
    return min(sum(map(cost, partition)) for partition in partitions) / rows.total


def pool(rows):
    """Isotonic mean outcome of every distinct prediction."""
    blocks = []
    for rise, mass in zip(rows.rise, rows.mass, strict=True):
        blocks.append([rise, mass, 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    return [rise / mass for rise, mass, size in blocks for _ in range(size)]


def mean_score(rows, forecast):
    return (
        sum(
            rise * (1 - f) ** 2 + (mass - rise) * f**2
            for rise, mass, f in zip(rows.rise, rows.mass, forecast, strict=True)
        )
        / rows.total
    )


def exact_miscalibration(rows):
    return mean_score(rows, rows.places) - mean_score(rows, pool(rows))


def exact_isotonic_calibration(rows):
    gaps = zip(rows.mass, pool(rows), rows.places, strict=True)
    return sum(mass * (mean - v) ** 2 for mass, mean, v in gaps) / rows.total


def decimal_kernel_square(rows, bandwidth, power=1):
    bandwidth = Decimal(bandwidth)
    terms = [w * (y - v) for w, y, v in zip(rows.w, rows.y, rows.v, strict=True)]
    return sum(
        one * other * (-((abs(u - v) / bandwidth) ** power)).exp()
        for one, u in zip(terms, rows.v, strict=True)
        for other, v in zip(terms, rows.v, strict=True)
    ) / (rows.total**2)


# --------------------------------------------------------------------------- large samples


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
