"""What papers prove holds on every sample: the measures against each other."""

from itertools import product

import numpy as np
import pytest

from skcal import metrics
from tests import reference_distance as reference

SAMPLES = [(kind, n) for kind in reference.KINDS for n in (1, 4, 30, 300)]
# Nearly calibrated, nearly tied and nearly empty samples, beside the random ones.
SAMPLES += [("grid of means", n) for n in (2, 3, 5, 9)]
SAMPLES += [("two points", n) for n in (10, 11, 12, 1000)]


def draw_sample(kind, n):
    rng = np.random.default_rng(n)
    if kind == "grid of means":  # soft labels around neighbouring predictions
        v = np.arange(1, n + 1) / (n + 1)
        return np.clip(v + rng.normal(size=n) / n, 0, 1), v, rng.random(n)
    if kind == "two points":
        v = 0.5 + 10.0 ** -(n % 7) * rng.choice([-0.1, 0.1], n)
        return (rng.random(n) < 1 - v).astype(int), v, None
    return reference.draw_sample(rng, kind, n)


def list_theorems(y, v, weights):
    """Each inequality of Blasiok, Gopalan, Hu and Nakkiran (2023), and of Blasiok and Nakkiran
    (2024) for smECE: two numbers, the first of which is never the larger one.

    Measures that are known within bounds enter by the bound that makes the theorem hardest to
    satisfy without making it false.
    """

    def measure(name, **options):
        return getattr(metrics, name)(y, v, sample_weight=weights, **options)

    low, high = measure("calibration_distance_bounds", distance="lower")
    upper = measure("calibration_distance_bounds", distance="upper")
    distance = measure("calibration_distance_bounds")
    smooth = measure("smooth_calibration_error", method="exact")
    grid = measure("smooth_calibration_error", method="grid")
    smooth_ece, kernel = measure("smooth_ece"), measure("kernel_calibration_error")
    intervals = measure("interval_calibration_error")
    decision = measure("decision_calibration_error")
    cumulative = measure("cumulative_calibration_error")
    surrogate = measure("surrogate_interval_calibration_error")
    binned = [
        measure("expected_calibration_error", n_bins=n, bin_width_penalty=True) for n in (15, 100)
    ]
    root = np.sqrt(2 / np.pi)
    theorems = {
        "dCE_low / 2 <= smCE": (low / 2, smooth),
        "smCE <= 2 dCE_low": (smooth, 2 * high),
        "smCE / (1 + sqrt(2 / pi)) <= smECE": (smooth / (1 + root), smooth_ece + 1e-6),
        "smECE <= max(smCE, sqrt(sqrt(2 / pi) smCE))": (
            smooth_ece - 1e-6,
            max(smooth, np.sqrt(root * smooth)),
        ),
        "dCE_low <= ECE + mean bin width": (low, min(binned)),
        "dCE_high <= intCE": (max(upper.high, distance.high), intervals),
        "intCE <= 4 sqrt(dCE_low)": (intervals, 4 * np.sqrt(high)),
        "intCE <= SintCE": (intervals, surrogate),
        "SintCE <= 6 sqrt(dCE_low)": (surrogate, 6 * np.sqrt(high)),
        "smCE / 3 <= kCE_Laplace": (smooth / 3, kernel),
        "kCE_Laplace^2 <= smCE": (kernel**2, smooth),
        "smCE_grid <= smCE": (grid - 1e-5, smooth),
        "smCE <= smCE_grid + h / 2": (smooth, grid + 1e-5),
        "dCE_low <= dCE": (low, distance.low),
        "dCE_low <= dCE_high": (low, upper.low),
        "2 smCE^2 / 3 <= decision error": (2 * smooth**2 / 3, decision),
        "decision error <= 2 cumulative error": (decision, 2 * cumulative),
    }
    for w in (1e-3, 0.1, 0.5):
        one, two = (measure("random_interval_calibration_error", width=k * w) for k in (1, 2))
        theorems[f"RintCE({2 * w}) <= RintCE({w})"] = two, one
        theorems[f"RintCE({w}) <= (1 + 2 / {w}) dCE_low"] = one, (1 + 2 / w) * high
    return theorems


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: "-".join(map(str, p)))
def test_theorems(sample):
    for name, (smaller, larger) in list_theorems(*draw_sample(*sample)).items():
        assert smaller <= larger + 1e-9, name


def test_averaged_two_bins_are_truthful():
    """Mean over all outcomes: nothing scores better than the true probabilities.

    Theirs is the mean square of their noise; forecasts of group means reach it, but not below
    (Hartline et al. 2026).
    """

    def expect(truth, v):
        outcomes = np.array(list(product([0, 1], repeat=len(truth))))
        chance = np.where(outcomes, truth, 1 - truth).prod(axis=1)
        return chance @ [metrics.averaged_two_bin_calibration_error(y, v) for y in outcomes]

    rng = np.random.default_rng(43)
    for size in (1e-3, 0.1, 1.0):
        truth = rng.random(4)
        honest = expect(truth, truth)
        assert honest == pytest.approx((truth * (1 - truth)).sum() / 16, abs=1e-12)
        assert expect(truth, np.clip(truth + size * rng.normal(size=4), 0, 1)) > honest
        assert expect(truth, np.full(4, truth.mean())) == pytest.approx(honest, abs=1e-12)
