"""What the distance paper proves holds on every sample: the measures against each other.

Each theorem is a row of `THEOREMS`: two functions of a sample's measures, the first of which is
never the larger one. Measures that are known within bounds enter by the bound that makes the
theorem hardest to satisfy without making it false.
"""

import numpy as np
import pytest

from skcal import metrics
from tests import reference_distance as reference

SAMPLES = [
    (kind, n, seed) for seed, kind in enumerate(reference.KINDS) for n in (1, 2, 4, 9, 30, 100, 400)
]
# Nearly calibrated, nearly tied and nearly empty samples, beside the random ones.
SAMPLES += [("grid of means", n, seed) for seed in range(5) for n in (2, 3, 5, 9)]
SAMPLES += [("two points", n, seed) for seed in range(5) for n in (10, 1000)]

ROUNDING = 1e-9


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


def draw_sample(kind, n, seed):
    rng = np.random.default_rng([seed, n])
    if kind == "grid of means":  # soft labels around neighbouring predictions
        v = np.arange(1, n + 1) / (n + 1)
        return np.clip(v + rng.normal(size=n) / n, 0, 1), v, rng.random(n)
    if kind == "two points":
        gap = 10.0 ** -(1 + seed)
        v = 0.5 + gap * rng.choice([-1, 1], n)
        return (rng.random(n) < 1 - v).astype(int), v, None
    return reference.draw_sample(rng, kind, n)


@pytest.fixture(scope="module", params=SAMPLES, ids=lambda p: "-".join(map(str, p)))
def measure(request):
    return Measures(*draw_sample(*request.param))


def lower_bound(m):
    return m("lower_calibration_bounds").low


def upper_bound(m):
    return m("lower_calibration_bounds").high


def smooth(m):
    return m("smooth_calibration_error")


def smooth_ece(m):
    return m("smooth_ece")


def interval(m):
    return m("interval_calibration_error")


def surrogate_interval(m):
    return m("surrogate_interval_calibration_error")


def random_interval(m, width):
    return m("random_interval_calibration_error", width=width)


def laplace(m):
    return m("kernel_calibration_error", kernel="laplace", bandwidth=1.0)


THEOREMS = {
    "dCE_low / 2 <= smCE": (lambda m: lower_bound(m) / 2, smooth),
    "smCE <= 2 dCE_low": (smooth, lambda m: 2 * upper_bound(m)),
    "smCE / (1 + sqrt(2 / pi)) <= smECE": (
        lambda m: smooth(m) / (1 + np.sqrt(2 / np.pi)),
        lambda m: smooth_ece(m) + 1e-6,
    ),
    "smECE <= max(smCE, sqrt(sqrt(2 / pi) smCE))": (
        lambda m: smooth_ece(m) - 1e-6,
        lambda m: max(smooth(m), np.sqrt(np.sqrt(2 / np.pi) * smooth(m))),
    ),
    "dCE_low <= ECE + mean bin width": (
        lower_bound,
        lambda m: min(
            m("expected_calibration_error", n_bins=n_bins, bin_width_penalty=True)
            for n_bins in (15, 100)
        ),
    ),
    "dCE <= best intervals <= intCE": (
        lambda m: m("calibration_distance_bounds").high,
        interval,
    ),
    "intCE <= 4 sqrt(dCE_low)": (interval, lambda m: 4 * np.sqrt(upper_bound(m))),
    "intCE <= SintCE": (interval, surrogate_interval),
    "SintCE <= 6 sqrt(dCE_low)": (surrogate_interval, lambda m: 6 * np.sqrt(upper_bound(m))),
    "smCE / 3 <= kCE_Laplace": (lambda m: smooth(m) / 3, laplace),
    "kCE_Laplace^2 <= smCE": (lambda m: laplace(m) ** 2, smooth),
    "smCE_grid <= smCE": (
        lambda m: m("smooth_calibration_bounds", method="grid").low,
        lambda m: m("smooth_calibration_error", method="exact"),
    ),
    "smCE <= smCE_grid + h / 2": (
        lambda m: m("smooth_calibration_error", method="exact"),
        lambda m: m("smooth_calibration_bounds", method="grid").high,
    ),
}


@pytest.mark.parametrize("theorem", THEOREMS)
def test_theorem(measure, theorem):
    smaller, larger = THEOREMS[theorem]
    assert smaller(measure) <= larger(measure) + ROUNDING


@pytest.mark.parametrize("width", [1e-3, 0.03, 0.1, 0.25, 0.5])
def test_random_intervals(measure, width):
    """RintCE(2 e) <= RintCE(e) <= (1 + 2 / e) dCE_low."""
    error = random_interval(measure, width)
    assert random_interval(measure, 2 * width) <= error + ROUNDING
    assert error <= (1 + 2 / width) * upper_bound(measure) + ROUNDING


def test_chain_of_distances(measure):
    """Lower distance, upper distance, best post-processing of intervals."""
    bounds = measure("calibration_distance_bounds")
    assert lower_bound(measure) <= bounds.high + ROUNDING
    if measure.distinct > 10:
        with pytest.raises(ValueError, match="at most 10 distinct"):
            measure("upper_calibration_distance")
        return
    assert lower_bound(measure) <= measure("upper_calibration_distance") + ROUNDING
    assert measure("upper_calibration_distance") <= bounds.high + ROUNDING
