"""The calibration belt of a sample."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from skcal._input._independent_rows import list_weights
from skcal._numerics.curves._belt import (
    PolynomialLikelihood,
    exceed_selected,
    find_critical,
    merge_places,
)
from skcal._numerics.inference._clustered_rows import ClusteredRows
from skcal._numerics.inference._cox import sum_by_log_odds
from skcal._numerics.inference._effective_rows import find_shares

# The first degree, by the data that predictions are assessed on. That of training data is fitted
# already: intercept and slope are 0 and 1.
FIRST_DEGREES = {"external": 1, "training": 2}
# Steps between the places of a belt, of equal length in probability and in log odds.
_N_STEPS = 50
# Weights within this factor of each other have an information that float64 resolves.
LARGEST_RATIO = 1e12
# Where a curve is allowed a larger mean deviance its ends are 0 and 1, below 1e-40.
_FARTHEST = 200.0
# More distinct predictions than these are merged for the ends of the belt.
_MOST_PLACES = 1 << 12


class Belt(NamedTuple):
    """Places of a belt, the fitted curve and the ends there, and the degree of the polynomial."""

    prob_pred: Any
    prob_true: Any
    low: Any
    high: Any
    degree: int


def measure_deviance(sample, data, member=None):
    """Statistic, p-value before it is clipped, and mean log loss that the fitted curve gains.

    `member` has the number of the cluster of each row; None stands for independent rows.
    """
    likelihood, fit = _fit(sample, data, member=member)
    statistic = float(fit.statistic)
    pvalue = exceed_selected(statistic, *_count_degrees(fit, data))
    return statistic, pvalue, likelihood.find_gain(fit)


def find_belt(sample, confidence_level, data="external", member=None):
    """The `Belt` of a sample whose log odds are finite.

    A ValueError if a polynomial of the chosen degree separates the outcomes.
    """
    prob_pred, places = _choose_places(sample.predictions)
    likelihood, fit = _fit(sample, data, places, member)
    if fit.coefficients is None:
        raise ValueError(
            "y_true must hold outcomes that overlap: the selected polynomial of the log odds, of "
            f"degree {fit.degree}, separates them, so its coefficients are infinite. Use more "
            "rows, or isotonic_band."
        )
    prob_true = expit(likelihood.evaluate(fit))
    degrees = _count_degrees(fit, data)
    critical = find_critical(confidence_level, *degrees)
    telling = likelihood.count_rows(fit)
    n_rows = [own.discount_region(critical, sum(degrees)) for own in telling]
    n_rows = np.maximum(n_rows, critical / _FARTHEST)
    if len(likelihood.log_odds) > _MOST_PLACES:
        likelihood = PolynomialLikelihood(*merge_places(*_sum_rows(sample)[:3]), places)
        fit = likelihood.fit(fit.degree)
    low, high = expit(likelihood.bound(fit, critical, n_rows))
    return Belt(prob_pred, prob_true, low, high, fit.degree)


def _sum_rows(sample):
    """Distinct log odds, shares of outcomes 1 and 0 there, and sums of their squares."""
    shares = find_shares(list_weights(sample))
    log_odds, sums, squares = sum_by_log_odds(
        sample.predictions, sample.outcomes, shares, shares**2
    )
    return log_odds, *sums, squares


def _fit(sample, data, places=(), member=None):
    log_odds, positive, negative, squares = _sum_rows(sample)
    n_positive, rows = int(np.count_nonzero(sample.outcomes)), None
    n_rarer = min(n_positive, len(sample.outcomes) - n_positive)
    if member is not None:
        n_rarer = min(len(np.unique(member[sample.outcomes == k])) for k in (0, 1))
        place = np.searchsorted(log_odds, logit(sample.predictions))
        rows = ClusteredRows(place, sample.outcomes, find_shares(list_weights(sample)), member)
    likelihood = PolynomialLikelihood(log_odds, positive, negative, places, squares, n_rarer, rows)
    if likelihood.max_degree < FIRST_DEGREES[data]:
        raise ValueError(
            f"y_proba must hold at least {FIRST_DEGREES[data] + 1} different predictions for "
            f"data={data!r}; got {len(log_odds)}."
        )
    fit = likelihood.choose(FIRST_DEGREES[data])
    if fit.degree > likelihood.most_telling:
        raise ValueError(
            f"y_true must hold at least two rows of each outcome for data={data!r}: any single one "
            f"is separated from the others by a polynomial of degree {fit.degree}, the first one."
        )
    return likelihood, fit


def _count_degrees(fit, data):
    """Degrees of freedom that were selected, and those that were not."""
    first = FIRST_DEGREES[data]
    return fit.degree - first, {1: 2, 2: 1}[first]


def _choose_places(predictions):
    """Predictions at even steps of probability and of log odds, and their log odds."""
    low, high = predictions.min(), predictions.max()
    even = np.linspace(low, high, _N_STEPS + 1)[1:-1]
    even_odds = expit(np.linspace(logit(low), logit(high), _N_STEPS + 1)[1:-1])
    inside = np.clip(np.append(even, even_odds), low, high)
    prob_pred = np.unique(np.append(inside, [low, high]))
    return prob_pred, logit(prob_pred)
