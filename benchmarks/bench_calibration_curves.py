"""Integrated calibration index by four curves: how far it is from the truth, and how long it takes.

Predictions are drawn whose mean outcomes are known. Takes some minutes.
"""

from functools import partial

import numpy as np
from scipy.special import expit, logit
from timing import describe_machine, make_predictions, median_cpu_times, print_table, show_time

from skcal.metrics import integrated_calibration_index

CURVES = ("local", "spline", "isotonic", "smooth")
# Numbers of rows, and of samples.
SIZES = {200: 200, 1000: 100, 10**4: 25}


def draw_usual(rng, n):
    return expit(rng.normal(-0.5, 1.5, n))


def draw_rare(rng, n):
    return expit(rng.normal(-4.6, 1.0, n))


def draw_forest(rng, n):
    """Shares of 50 trees, of which a quarter is 0."""
    return rng.binomial(50, rng.beta(0.3, 1.2, n)) / 50


def draw_network(rng, n):
    """Most predictions are .03 or .97, the others anywhere."""
    clump = rng.choice([0.03, 0.97, np.nan], n, p=[0.5, 0.3, 0.2])
    return np.where(np.isnan(clump), rng.random(n), clump)


# Predictions, and the probability of the outcome given the prediction.
CASES = {
    "calibrated": (draw_usual, lambda v: v),
    "over-confident": (draw_usual, lambda v: expit(0.6 * logit(v))),
    "shifted": (draw_usual, lambda v: expit(logit(v) - 0.5)),
    "a wave": (draw_usual, lambda v: v + 0.08 * np.sin(4 * np.pi * v) * 4 * v * (1 - v)),
    "rare, calibrated": (draw_rare, lambda v: v),
    "rare, over-confident": (draw_rare, lambda v: expit(0.6 * (logit(v) + 4.6) - 4.6)),
    "forest with zeros": (draw_forest, lambda v: (50 * v + 2) / 56),
    "clumped network": (draw_network, lambda v: 0.1 + 0.8 * v),
}


def find_truth(draw, find_mean):
    proba = draw(np.random.default_rng(1), 10**6)
    return np.abs(find_mean(proba) - proba).mean()


def compare_curves():
    for title, (draw, find_mean) in CASES.items():
        truth = find_truth(draw, find_mean)
        for n, n_samples in SIZES.items():
            rng = np.random.default_rng(0)
            values = []
            for _ in range(n_samples):
                proba = draw(rng, n)
                y = rng.random(n) < find_mean(proba)
                rows = y.astype(int), proba
                values.append([integrated_calibration_index(*rows, curve=one) for one in CURVES])
            away = np.array(values) - truth
            bias, size = away.mean(axis=0), np.abs(away).mean(axis=0)
            cells = [f"{b * 1e3:+.1f} / {s * 1e3:.1f}" for b, s in zip(bias, size, strict=True)]
            yield title, f"{truth * 1e3:.1f}", str(n), *cells


def time_curves():
    rows = [[name] for name in CURVES]
    for n in (10**3, 10**4, 10**5, 10**6):
        y, proba = make_predictions(n)
        measures = [partial(integrated_calibration_index, y, proba, curve=name) for name in CURVES]
        sort, *times = median_cpu_times([partial(np.sort, proba), *measures])
        for cells, seconds in zip(rows, times, strict=True):
            cells.extend([show_time(seconds), f"{seconds / sort:.1f}"])
    return rows


if __name__ == "__main__":
    print(describe_machine(), end="\n\n")
    print("Bias / mean absolute error, in thousandths:\n")
    print_table(("predictions", "truth", "rows", *CURVES), list(compare_curves()))
    print("\nTime, and in multiples of a sort of the predictions:\n")
    header = (text for k in range(3, 7) for text in (f"10^{k}", "sorts"))
    print_table(("curve", *header), time_curves())
