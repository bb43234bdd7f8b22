"""Ratios and intercepts of groups with few events, as a mean over groups needs them.

Both are biased by about half their variance. Worse, an error of the events that came is small where
many came by chance, and gives weight to these groups. The error that is expected at what holds for
all groups does not know what came. It is trusted up to a factor of two, which chance seldom
exceeds.
"""

import numpy as np
from scipy.special import expit

_FACTOR = 2.0


def compare_events(predictions, outcomes, weights):
    """O:E of a group, and its standard error."""
    shares = weights / weights.sum()
    observed, expected = shares @ outcomes, shares @ predictions
    error = np.sqrt(np.sum((shares * (outcomes - observed)) ** 2))
    return float(observed / expected), float(error / expected)


@np.errstate(divide="ignore", over="ignore")  # odds of certain events are infinite
def correct_ratio(ratio, error, observed, usual):
    """O:E of a group with a share of events, where another share is usual, and its error."""
    variance = (error / ratio) ** 2
    corrected = ratio * (1 + variance / 2)
    seen, expected = observed / (1 - observed), usual / (1 - usual)
    return corrected, corrected * np.sqrt(variance) * _bound(seen, expected)


@np.errstate(divide="ignore", over="ignore")  # odds of certain events are infinite
def correct_level(level, error, log_odds, shares, usual):
    """Intercept of a group at slope 1, where another one is usual, and its error."""
    chances = expit(log_odds + level)
    variances = chances * (1 - chances)
    information = shares @ variances
    corrected = level + error**2 / 2 * (shares @ (variances * (1 - 2 * chances))) / information
    chances = expit(log_odds + usual)
    return corrected, error * _bound(information, shares @ (chances * (1 - chances)))


def _bound(seen, expected):
    """Factor of an error, from what goes into its square."""
    return np.clip(np.sqrt(seen / expected), 1 / _FACTOR, _FACTOR)
