"""What papers prove holds on every sample: the measures against each other.

Each inequality of Blasiok, Gopalan, Hu and Nakkiran (2023), and of Blasiok and Nakkiran (2024) for
smECE, is a row of `THEOREMS`: two functions of a sample's measures, the first of which is never
the larger one. Measures that are known within bounds enter by the bound that makes the theorem
hardest to satisfy without making it false.
"""

from itertools import product

import numpy as np
import pytest

from skcal import metrics
from tests import reference_distance as reference

SAMPLES = [(kind, n) for kind in reference.KINDS for n in (1, 4, 30, 300)]
# Nearly calibrated, nearly tied and nearly empty samples, beside the random ones.
SAMPLES += [("grid of means", n) for n in (2, 3, 5, 9)]
SAMPLES += [("two points", n) for n in (10, 11, 12, 1000)]

ROUNDING = 1e-9
ROOT = np.sqrt(2 / np.pi)


class Measures:
    """The measures of one sample, computed once and on demand."""

    def __init__(self, y, v, weights):
        self._data, self._weights, self._known = (y, v), weights, {}
        self.distinct = len(np.unique(v if weights is None else v[weights > 0]))

    def __call__(self, name, **options):
        key = (name, *options.items())
        if key not in self._known:
            function = getattr(metrics, name)
            self._known[key] = function(*self._data, sample_weight=self._weights, **options)
        return self._known[key]

    @property
    def lower(self):
        return self("lower_calibration_bounds").low

    @property
    def upper(self):
        return self("lower_calibration_bounds").high

    @property
    def smooth(self):
        return self("smooth_calibration_error", method="exact")

    @property
    def intervals(self):
        return self("interval_calibration_error")

    @property
    def surrogate(self):
        return self("surrogate_interval_calibration_error")

    def random(self, width):
        return self("random_interval_calibration_error", width=width)

    def ece(self, n_bins):
        return self("expected_calibration_error", n_bins=n_bins, bin_width_penalty=True)


def draw_sample(kind, n):
    rng = np.random.default_rng(n)
    if kind == "grid of means":  # soft labels around neighbouring predictions
        v = np.arange(1, n + 1) / (n + 1)
        return np.clip(v + rng.normal(size=n) / n, 0, 1), v, rng.random(n)
    if kind == "two points":
        v = 0.5 + 10.0 ** -(n % 7) * rng.choice([-0.1, 0.1], n)
        return (rng.random(n) < 1 - v).astype(int), v, None
    return reference.draw_sample(rng, kind, n)


THEOREMS = {
    "dCE_low / 2 <= smCE": lambda m: (m.lower / 2, m.smooth),
    "smCE <= 2 dCE_low": lambda m: (m.smooth, 2 * m.upper),
    "smCE / (1 + sqrt(2 / pi)) <= smECE": lambda m: (
        m.smooth / (1 + ROOT),
        m("smooth_ece") + 1e-6,
    ),
    "smECE <= max(smCE, sqrt(sqrt(2 / pi) smCE))": lambda m: (
        m("smooth_ece") - 1e-6,
        max(m.smooth, np.sqrt(ROOT * m.smooth)),
    ),
    "dCE_low <= ECE + mean bin width": lambda m: (m.lower, min(m.ece(15), m.ece(100))),
    "dCE <= intCE": lambda m: (m("calibration_distance_bounds").high, m.intervals),
    "intCE <= 4 sqrt(dCE_low)": lambda m: (m.intervals, 4 * np.sqrt(m.upper)),
    "intCE <= SintCE": lambda m: (m.intervals, m.surrogate),
    "SintCE <= 6 sqrt(dCE_low)": lambda m: (m.surrogate, 6 * np.sqrt(m.upper)),
    "smCE / 3 <= kCE_Laplace": lambda m: (m.smooth / 3, m("kernel_calibration_error")),
    "kCE_Laplace^2 <= smCE": lambda m: (m("kernel_calibration_error") ** 2, m.smooth),
    "smCE_grid <= smCE": lambda m: (m("smooth_calibration_bounds", method="grid").low, m.smooth),
    "smCE <= smCE_grid + h / 2": lambda m: (
        m.smooth,
        m("smooth_calibration_bounds", method="grid").high,
    ),
    "dCE_low <= dCE": lambda m: (m.lower, m("calibration_distance_bounds").high),
}
for w in (1e-3, 0.1, 0.5):
    THEOREMS[f"RintCE({2 * w}) <= RintCE({w})"] = lambda m, w=w: (m.random(2 * w), m.random(w))
    THEOREMS[f"RintCE({w}) <= (1 + 2 / {w}) dCE_low"] = lambda m, w=w: (
        m.random(w),
        (1 + 2 / w) * m.upper,
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: "-".join(map(str, p)))
def test_theorems(sample):
    measures = Measures(*draw_sample(*sample))
    for name, compute in THEOREMS.items():
        smaller, larger = compute(measures)
        assert smaller <= larger + ROUNDING, name
    if measures.distinct <= 10:
        distance = measures("upper_calibration_distance")
        assert measures.lower <= distance + ROUNDING
        assert distance <= measures("calibration_distance_bounds").high + ROUNDING


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
