"""What internal validation measures: performance of one set of predictions of a binary outcome."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import (
    get_scorer,
    get_scorer_names,
    log_loss,
    make_scorer,
)

from skcal._estimates._curves import find_gaps, read_curve
from skcal._estimates._decision_curves import trace_net_benefit
from skcal._estimates._decisions import ACTS
from skcal._input._sample import Sample
from skcal._input._validation import check_inside
from skcal._numerics.curves._spline import weighted_quantiles
from skcal._numerics.inference._concordance import find_auc
from skcal._numerics.inference._cox import CoxLikelihood
from skcal._sources._bound_measure import bind_measure, name_function

# A curve is drawn where all but this share of the predictions lie on either side of its ends.
_TAIL, _N_POINTS = 0.02, 101
# The class of scikit-learn's scorers has no public name.
_SCORER = type(make_scorer(log_loss))


class Predicted:
    """Outcomes 0 and 1 with their predictions, and what several measures make of them."""

    def __init__(self, outcomes, predictions, weights=None, names=(0, 1)):
        self.outcomes, self.predictions, self.weights = outcomes, predictions, weights
        self.names = names  # of outcomes 0 and 1, for scorers

    def take(self, rows):
        """Some of the rows, by number."""
        weights = None if self.weights is None else self.weights[rows]
        return Predicted(self.outcomes[rows], self.predictions[rows], weights, self.names)

    def replace(self, predictions):
        """The same rows with other predictions."""
        return Predicted(self.outcomes, predictions, self.weights, self.names)

    @cached_property
    def mass(self):
        """Weights that sum to 1."""
        weights = np.ones(len(self.outcomes)) if self.weights is None else self.weights
        return weights / weights.sum()

    @cached_property
    def sample(self):
        """For measures of calibration."""
        return Sample(self.predictions, self.outcomes.astype(np.float64), self.weights)

    @cached_property
    def gaps(self):
        """The calibration curve minus the prediction, at each distinct prediction."""
        return find_gaps(self.sample, "local")

    @cached_property
    def is_certain(self):
        """Rows with predictions of 0 or 1, whose log odds are infinite."""
        return (self.predictions <= 0) | (self.predictions >= 1)

    @cached_property
    def cox(self):
        """Intercept and slope of the log odds of rows that are not certain, NaN if too few."""
        ties = self.sample.sorted
        inside = (ties.predictions > 0) & (ties.predictions < 1)
        predictions, weight, positive = (
            part[inside] for part in (ties.predictions, ties.weight, ties.positive)
        )
        if len(predictions) < 2 or not (positive > 0).any() or not (positive < weight).any():
            return np.nan, np.nan
        fit = CoxLikelihood(predictions, positive / weight, weight).fit()
        return float(fit.intercept), float(fit.slope)

    @property
    def has_slope(self):
        """Whether the slope of the log odds is finite."""
        return bool(np.isfinite(self.cox[1]))

    @staticmethod
    def place_points(predictions):
        """Where the curve of some arrays of predictions is drawn."""
        low, high = np.quantile(np.concatenate(predictions), [_TAIL, 1 - _TAIL])
        return np.linspace(low, high, _N_POINTS)

    def draw_curve(self, places):
        """Mean outcome at these predictions; NaN beyond the last ones."""
        return read_curve(self.sample, self.gaps, places)


def _find_intercept(rows):
    return rows.cox[0]


def _find_slope(rows):
    return rows.cox[1]


def _compare_events(rows):
    expected = rows.mass @ rows.predictions
    return float(rows.mass @ rows.outcomes / expected) if expected > 0 else np.inf


def _average_gap(rows):
    return float(np.abs(rows.gaps) @ rows.sample.sorted.weight / rows.sample.total_weight)


def _find_gap(quantile, rows):
    gaps = np.abs(rows.gaps)
    if quantile == 1:
        return float(gaps.max())
    return float(weighted_quantiles(gaps, np.array([quantile]), rows.sample.sorted.weight)[0])


def _find_log_loss(rows):
    with np.errstate(divide="ignore"):
        chance = np.where(rows.outcomes == 1, rows.predictions, 1 - rows.predictions)
        losses = -np.log(chance)
    return float(rows.mass[rows.mass > 0] @ losses[rows.mass > 0])


def _find_brier_score(rows):
    return float(rows.mass @ (rows.outcomes - rows.predictions) ** 2)


def _find_auc(rows):
    ties = rows.sample.sorted
    return find_auc(ties.positive, ties.weight - ties.positive)


def _find_net_benefit(threshold, rows):
    return float(trace_net_benefit(rows.sample, [threshold], ACTS[True])[1][0])


class Kind(NamedTuple):
    """Values between which a measure lies, and whether it is an error that noise makes larger."""

    low: float
    high: float
    is_error: bool = False


ANY, POSITIVE, SHARE = Kind(-np.inf, np.inf), Kind(0.0, np.inf), Kind(0.0, 1.0)
ERROR = Kind(0.0, np.inf, is_error=True)
# Functions of `Predicted` by name.
_NAMED = {
    "slope": (_find_slope, ANY),
    "intercept": (_find_intercept, ANY),
    "observed_expected_ratio": (_compare_events, POSITIVE),
    "integrated_calibration_index": (_average_gap, ERROR),
    "E50": (partial(_find_gap, 0.5), ERROR),
    "E90": (partial(_find_gap, 0.9), ERROR),
    "Emax": (partial(_find_gap, 1), ERROR),
    "brier_score": (_find_brier_score, SHARE),
    "log_loss": (_find_log_loss, POSITIVE),
    "roc_auc": (_find_auc, SHARE),
}


class Performance:
    """Measures by name, as one function from `Predicted` to an array; `kinds` has that of each."""

    def __init__(self, measures, thresholds, *, has_weights):
        found = {}
        for name, measure in _name_measures(measures):
            if name in found:
                raise ValueError(
                    f"measures must have different names; got {name!r} twice. A dictionary names "
                    "them."
                )
            found[name] = _read_measure(measure, has_weights)
        for threshold in np.atleast_1d([] if thresholds is None else thresholds).tolist():
            threshold = check_inside("thresholds", threshold)
            found[f"net_benefit_at_{threshold:.12g}"] = partial(_find_net_benefit, threshold), ANY
        if not found:
            raise ValueError("measures must hold at least one measure; got none.")
        self.names = list(found)
        self._functions = [function for function, _ in found.values()]
        self.kinds = [kind for _, kind in found.values()]

    def __call__(self, rows):
        return np.array([float(function(rows)) for function in self._functions])


def _name_measures(measures):
    """Yield the name of each measure, and what was given for it."""
    if isinstance(measures, str) or not isinstance(measures, Mapping | Sequence):
        raise ValueError(
            "measures must be a list of names, functions and scorers, or a dictionary of them; "
            f"got {measures!r}."
        )
    pairs = measures.items() if isinstance(measures, Mapping) else ((None, m) for m in measures)
    for name, measure in pairs:
        given = name_function(measure) if callable(measure) else measure
        yield given if name is None else str(name), measure


def _read_measure(measure, has_weights):
    if isinstance(measure, str) and measure in _NAMED:
        return _NAMED[measure]
    if isinstance(measure, str) and measure in get_scorer_names():
        return partial(_score, get_scorer(measure), (0, 1)), ANY
    if isinstance(measure, _SCORER):
        return partial(_score, measure, None), ANY
    bound = bind_measure("measures", measure, {}, others=tuple(_NAMED))
    if has_weights and not bound.takes("sample_weight"):
        raise ValueError(f"sample_weight must be None: {bound.name} takes no weights.")
    is_error = bound.row is not None and not bound.row.is_signed
    return partial(_call, bound), ERROR if is_error else ANY


def _call(bound, rows):
    return bound(rows.outcomes, rows.predictions, rows.weights)


def _score(scorer, names, rows):
    """Score of a classifier of these names of the outcomes; None takes the labels of the user."""
    names = np.asarray(rows.names if names is None else names)
    proba = np.column_stack([1 - rows.predictions, rows.predictions])
    order = np.argsort(names)
    weight = {} if rows.weights is None else {"sample_weight": rows.weights}
    return scorer(_Told(names[order]), proba[:, order], names[rows.outcomes], **weight)


class _Told(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its probabilities, for scorers."""

    def __init__(self, classes):
        self.classes = classes

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.classes

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return self.classes[np.argmax(X, axis=1)]
