"""What internal validation measures of risks up to several horizons, where rows are censored."""

from functools import cached_property

import numpy as np

from skcal._input._sample import Sample
from skcal._numerics.survival._pseudo_values import find_pseudo_values
from skcal._sources._bound_measure import bind_measure
from skcal.inference import mean_recalibration
from skcal.model_selection._performance import ANY, ERROR, POSITIVE

_KINDS = {"slope": ANY, "observed_expected_ratio": POSITIVE, "smooth_ece": ERROR}


class PredictedRisks:
    """Events and times with the risks up to each horizon, shape (n_rows, n_horizons)."""

    def __init__(self, is_event, time, horizons, predictions=None):
        self.is_event, self.time, self.horizons = is_event, time, horizons
        self.predictions = predictions

    @property
    def outcomes(self):
        """1 for rows that are seen to have the event up to the last horizon."""
        return (self.is_event & (self.time <= self.horizons[-1])).astype(np.intp)

    def take(self, rows):
        """Some of the rows, by number."""
        return PredictedRisks(
            self.is_event[rows], self.time[rows], self.horizons, self.predictions[rows]
        )

    def replace(self, predictions):
        """The same rows with other predictions."""
        return PredictedRisks(self.is_event, self.time, self.horizons, predictions)

    @cached_property
    def targets(self):
        """Pseudo-values at the horizons; NaN where all rows are censored before."""
        values = find_pseudo_values(self.is_event, self.is_event, self.time, self.horizons)
        latest = self.time.max()
        if not self.is_event[self.time == latest].all():
            values[:, self.horizons > latest] = np.nan
        return values

    @property
    def is_certain(self):
        """Rows with a risk of 0 or 1, whose log odds are infinite."""
        return ((self.predictions <= 0) | (self.predictions >= 1)).any(axis=1)

    @property
    def has_slope(self):
        """Whether the slopes of all horizons are finite."""
        pairs = zip(self.targets.T, self.predictions.T, strict=True)
        return bool(np.isfinite([_find_slope(*pair) for pair in pairs]).all())

    @staticmethod
    def place_points(predictions):
        """Nowhere: there is no curve."""
        return np.empty(0)

    def draw_curve(self, places):
        """No points of a curve."""
        return places


class SurvivalPerformance:
    """Slope, observed over expected and SmoothECE at each horizon, as one array."""

    def __init__(self, horizons):
        self.names = [f"{name}_at_{horizon:.12g}" for horizon in horizons for name in _KINDS]
        self.kinds = list(_KINDS.values()) * len(horizons)

    def __call__(self, rows):
        pairs = zip(rows.targets.T, rows.predictions.T, strict=True)
        return np.array([value for pair in pairs for value in _measure(*pair)])


def _measure(target, risk):
    """The three of one horizon."""
    if np.isnan(target).any():
        return np.nan, np.nan, np.nan
    expected = risk.sum()
    ratio = target.sum() / expected if expected > 0 else np.inf
    bound = bind_measure("measure", "smooth_ece", {}, reduction="auto")
    return _find_slope(target, risk), ratio, bound.measure_sample(Sample(risk, target))


def _find_slope(target, risk):
    """Slope of the rows whose risks have log odds, NaN where there is none."""
    is_open = (risk > 0) & (risk < 1)
    try:
        return mean_recalibration(target[is_open], risk[is_open], link="logit").slope.estimate
    except ValueError:  # as where risks are equal, or separate the events
        return np.nan
