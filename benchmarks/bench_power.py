"""Power of the exact test with different statistics: which one should be the default?

``python benchmarks/bench_power.py`` prints the share of samples in which a test at 5 % rejects, in
percent. Predictions of a case are fixed, and the labels of 200 samples are drawn from their true
probabilities; statistics are compared with those of 499 draws from the predictions. Errors shrink
with the root of the number of rows, so that no case is hopeless and none too easy. An argument sets
another number of samples. It takes ten minutes.
"""

import sys

import numpy as np
from scipy.special import chdtrc, expit, logit, softmax
from timing import show_progress

from skcal._estimates._belt import measure_deviance
from skcal._input._sample import Sample
from skcal._numerics.cells._merging import draw_labels, find_label_edges
from skcal._numerics.errors._smooth_calibration import smooth_error
from skcal._numerics.inference._brownian import exceed_range
from skcal._numerics.inference._omnibus import OmnibusOnPlaces
from skcal._numerics.inference._place_resampling import SmoothECEOnPlaces

SIZES = (100, 1000, 10_000)
N_DRAWS = 499
LAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "crowded at 0 and 1": lambda rng, n: rng.beta(0.3, 0.3, n).clip(1e-4, 1 - 1e-4),
    "one hill": lambda rng, n: expit(rng.normal(0, 0.7, n)),
    "rare": lambda rng, n: rng.beta(0.5, 9.5, n).clip(1e-4, 1 - 1e-4),
}


# ---------------------------------------------------------------------------------------- cases


def shift(v, size):
    return expit(logit(v) + 0.25 * size)


def change_slope(v, size):
    middle = logit(v).mean()
    return expit(middle + (1 - 0.25 * size) * (logit(v) - middle))


def raise_bump(v, size):
    """The highest sixth of the predictions is too high."""
    return np.where(v >= np.quantile(v, 0.85), expit(logit(v) - 0.8 * size), v)


def add_wave(v, size):
    rank = np.argsort(np.argsort(v)) / len(v)
    height = 0.09 * size * np.sqrt(4 * v * (1 - v))
    return np.clip(v + height * np.sin(8 * np.pi * rank), 1e-4, 1 - 1e-4)


ERRORS = {"shift": shift, "slope": change_slope, "wave": add_wave, "bump": raise_bump}


def make_binary_cases(n):
    """Yield the kind of the case, predictions of two labels, and their true probabilities."""
    for law, draw in LAWS.items():
        v = np.sort(draw(np.random.default_rng(11), n))
        size = (400 / n) ** 0.5 * (1.6 if law == "rare" else 1)
        for error, change in ERRORS.items():
            kind = "rare" if law == "rare" else error
            truth = change(v, size)
            yield kind, np.column_stack([1 - v, v]), np.column_stack([1 - truth, truth])


def make_class_cases(n):
    """The same of ten classes: too extreme, and one class too low."""
    scores = np.random.default_rng(11).normal(0, 1.5, (n, 10))
    size, one = (400 / n) ** 0.5, np.arange(10) == 0
    for truth in (scores / (1 + 0.2 * size), scores + 0.4 * size * one):
        yield "ten classes", softmax(scores, axis=1), softmax(truth, axis=1)


# ----------------------------------------------------------------------------------- statistics


class Problem:
    """One column: its statistics for rows of outcomes, all of which are large for an error."""

    def __init__(self, v):
        self.order = np.argsort(v)
        self.v = v[self.order]
        self.variance = self.v * (1 - self.v)
        self.omnibus = OmnibusOnPlaces(self.v, np.ones(len(v)), self.variance, len(v))
        self.smooth_ece = SmoothECEOnPlaces(self.v, np.ones(len(v)), self.variance / len(v) ** 2)

    def list_statistics(self, outcomes):
        outcomes = outcomes[:, self.order].astype(np.float64)
        residuals = outcomes - self.v
        cox, quantiles, kuiper = (
            find(residuals) for find in (self.find_cox, self.find_quantiles, self.find_kuiper)
        )
        smallest = np.minimum(np.minimum(cox, quantiles), kuiper)
        return {
            "omnibus": self.omnibus.measure(outcomes),
            "the same, bins of equal numbers": -smallest,
            "Cox score": -cox,
            "chi-squared, n^(1/3) quantile bins": -quantiles,
            "Kuiper": -kuiper,
            "GiViTI belt": -self.find_belt(outcomes),
            "ECE, 15 bins": self.find_ece(residuals),
            "smooth ECE": self.smooth_ece.measure(outcomes),
            "smooth calibration error": self.find_smooth_error(residuals),
        }

    def find_cox(self, residuals):
        design = np.stack([np.ones(len(self.v)), logit(self.v)])
        scores = residuals @ design.T
        information = (design * self.variance) @ design.T
        return chdtrc(2, (scores * np.linalg.solve(information, scores.T).T).sum(axis=1))

    def find_belt(self, outcomes):
        ones = np.ones(len(self.v))
        samples = (Sample(self.v, row, ones) for row in outcomes)
        return np.array([measure_deviance(sample, "external")[1] for sample in samples])

    def find_quantiles(self, residuals):
        n_bins = int(np.ceil(len(self.v) ** (1 / 3)))
        starts = np.arange(n_bins) * len(self.v) // n_bins
        sums = np.add.reduceat(residuals, starts, axis=1)
        return chdtrc(n_bins, (sums**2 / np.add.reduceat(self.variance, starts)).sum(axis=1))

    def find_kuiper(self, residuals):
        cumulative = np.pad(np.cumsum(residuals, axis=1), ((0, 0), (1, 0)))
        return exceed_range(np.ptp(cumulative, axis=1) / np.sqrt(self.variance.sum()))

    def find_ece(self, residuals):
        bins = np.minimum((15 * self.v).astype(int), 14)
        starts = np.flatnonzero(np.diff(bins, prepend=-1))
        return np.abs(np.add.reduceat(residuals, starts, axis=1)).sum(axis=1)

    def find_smooth_error(self, residuals):
        """On means of neighbours, at most 500 of them."""
        starts = np.arange(0, len(self.v), -(-len(self.v) // 500))
        places = np.add.reduceat(self.v, starts) / np.diff(starts, append=len(self.v))
        return np.array([smooth_error(places, np.add.reduceat(row, starts)) for row in residuals])


def measure(problems, labels, n_classes):
    """The largest omnibus or -p of several problems, and the mean of the measures."""
    columns = range(1, 2) if n_classes == 2 else range(n_classes)
    tables = [
        problem.list_statistics(labels == k) for problem, k in zip(problems, columns, strict=True)
    ]
    return {
        name: np.mean([table[name] for table in tables], axis=0)
        if "EC" in name or "error" in name
        else np.max([table[name] for table in tables], axis=0)
        for name in tables[0]
    }


def draw(rng, proba, n_samples):
    edges = find_label_edges(proba)
    return draw_labels(rng, edges, n_samples)


def find_powers(proba, truth, n_samples):
    """Share of rejections by statistic."""
    rng, n_classes = np.random.default_rng(5), proba.shape[1]
    columns = proba.T[1:] if n_classes == 2 else proba.T
    problems = [Problem(column) for column in columns]
    null = measure(problems, draw(rng, proba, N_DRAWS), n_classes)
    found = measure(problems, draw(rng, truth, n_samples), n_classes)
    powers = {}
    for name, values in found.items():
        as_large = len(null[name]) - np.searchsorted(np.sort(null[name]), values - 1e-12)
        powers[name] = np.mean((1 + as_large) / (N_DRAWS + 1) <= 0.05)
    return powers


def main(n_samples):
    for n in SIZES:
        cases = [*make_binary_cases(n), *make_class_cases(n)]
        kinds = [kind for kind, _, _ in cases]
        powers = [
            find_powers(proba, truth, n_samples)
            for _, proba, truth in show_progress(cases, f"cases of {n} rows")
        ]
        best = np.array([max(row.values()) for row in powers])
        heads = list(dict.fromkeys(kinds))
        print(f"\nn = {n:<31}{'  '.join(f'{head:>6}' for head in heads)}    mean  most lost")
        for name in powers[0]:
            own = np.array([row[name] for row in powers])
            means = [own[[kind == head for kind in kinds]].mean() for head in heads]
            shown = "  ".join(
                f"{100 * value:{max(6, len(head))}.0f}"
                for value, head in zip(means, heads, strict=True)
            )
            lost = (best - own).max()
            print(f"{name:35}{shown}{100 * own.mean():8.0f}{100 * lost:11.0f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
