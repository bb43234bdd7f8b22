"""What the verdict of a report is read from: directions, bounds, and skill.

`shares` are weights that sum to 1; `reach` is a quantile of the standard normal distribution.
Ranges are triples of estimate, lower and upper end. `member` are numbers of clusters, None where
rows are independent.
"""

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri, stdtr, stdtrit

from skcal._numerics.inference._cox import CoxLikelihood
from skcal._numerics.inference._effective_rows import LEAST_REST, find_degrees

# Rows that weigh less, beside the heaviest one, say nothing about log odds.
_LIGHTEST = 1e-250
# How often a calibrated model of the number of rows that is said to do has a bound so small.
_POWER = 0.9


def find_excess(bounds, null):
    """How far an estimate is from its null value, in units of its interval on that side.

    Above 1 in size if the interval excludes the null value, 0 if it is the estimate or if nothing
    can be said. Infinite estimates come with their finite end.
    """
    if bounds is None or bounds[0] == null:
        return 0.0
    estimate, low, high = bounds
    side, end = (1.0, low) if estimate > null else (-1.0, high)
    if np.isinf(estimate):
        return side * np.inf if side * (end - null) > 0 else 0.0
    reach = abs(estimate - end)
    return float((estimate - null) / reach) if reach > 0 else side * np.inf


def find_variance(pulls, information, member):
    """Variance of a sum over rows, and its degrees of freedom.

    Of clusters by the jackknife, see `_effective_rows`; `information` is what each row tells.
    """
    if member is None:
        return float(np.sum(pulls**2)), np.inf
    sums, parts = (np.bincount(member, values) for values in (pulls, information))
    parts /= parts.sum()
    sums /= np.maximum(1 - parts, LEAST_REST)
    return float(sums @ sums), float(find_degrees(parts @ parts))


def find_margin(pulls, information, member, reach):
    """Half the length of the interval of a sum over rows."""
    variance, degrees = find_variance(pulls, information, member)
    return widen_reach(reach, degrees) * float(np.sqrt(variance))


def widen_reach(reach, degrees):
    """The quantile of Student's distribution in place of the normal one."""
    return reach if np.isinf(degrees) else float(stdtrit(degrees, ndtr(reach)))


def bound_mean_gap(shares, predictions, outcomes, reach, member=None):
    """Range of the mean of predictions minus outcomes."""
    residual = predictions - outcomes
    gap = float(shares @ residual)
    # A sample of few rows may vary less than a calibrated model would.
    expected = predictions * (1 - predictions)
    if member is None:
        margin = reach * float(np.sqrt(shares**2 @ np.maximum((residual - gap) ** 2, expected)))
    else:
        margin = find_margin(shares * (residual - gap), shares, member, reach)
        margin = max(margin, reach * float(np.sqrt(shares**2 @ expected)))
    return gap, max(gap - margin, -1.0), min(gap + margin, 1.0)


def find_effect(shares, predictions, outcomes, member):
    """Design effect of the mean residual, 1 at least, and its degrees of freedom."""
    pulls = shares * (predictions - outcomes)
    alone, degrees = find_variance(pulls, shares, None)[0], np.inf
    if member is None or alone == 0:
        return 1.0, degrees
    variance, degrees = find_variance(pulls, shares, member)
    return max(variance / alone, 1.0), degrees


def bound_slope(shares, predictions, outcomes, reach, member=None):
    """Range of the slope of outcomes on predictions; None where either are all alike."""
    centred = predictions - shares @ predictions
    variance = float(shares @ centred**2)
    if variance < 1e-12 or (outcomes == outcomes[0]).all():
        return None
    slope = float(shares @ (centred * outcomes)) / variance
    residual = outcomes - shares @ outcomes - slope * centred
    margin = find_margin(shares * centred * residual, shares * centred**2, member, reach) / variance
    return slope, slope - margin, slope + margin


def make_likelihood(shares, predictions, outcomes, member=None):
    """`CoxLikelihood` of weighted rows.

    None where log odds are infinite or all alike, or outcomes are.
    """
    heavy = shares > _LIGHTEST * shares.max()
    shares, predictions, outcomes = shares[heavy], predictions[heavy], outcomes[heavy]
    member = None if member is None else np.unique(member[heavy], return_inverse=True)[1]
    low, high = predictions.min(), predictions.max()
    if low <= 0 or high >= 1 or logit(low) == logit(high) or (outcomes == outcomes[0]).all():
        return None
    return CoxLikelihood(predictions, outcomes, shares, member)


def bound_log_odds_slope(shares, predictions, outcomes, confidence_level, member=None):
    """Range of the slope of the log odds of outcomes on those of predictions, by their likelihood.

    None where there is no likelihood, see `make_likelihood`.
    """
    likelihood = make_likelihood(shares, predictions, outcomes, member)
    if likelihood is None:
        return None
    return tuple(likelihood.bound_slope(likelihood.fit(), confidence_level))


def split_gain(shares, predictions, outcomes):
    """What a shift of all predictions takes off a proper score, and a stretch after that.

    The log loss, and shift and stretch of log odds, of the rows whose log odds are finite. Where
    these have no likelihood the Brier score, and shift and stretch of probabilities: m^2 with the
    mean residual m, and (1 - b)^2 V with the slope b and the variance V of the predictions.
    """
    inside = (predictions > 0) & (predictions < 1)
    likelihood = None
    if inside.any():
        likelihood = make_likelihood(shares[inside], predictions[inside], outcomes[inside])
    if likelihood is not None:
        return likelihood.split_gain(likelihood.fit())
    centred = predictions - shares @ predictions
    variance = float(shares @ centred**2)
    excess = float(shares @ (centred * (outcomes - predictions)))
    # Predictions that are all alike miss their mean by a last bit.
    stretch = excess**2 / variance if variance > 1e-24 else 0.0
    return float(shares @ (predictions - outcomes)) ** 2, stretch


def split_change(shares, predictions, outcomes):
    """Root mean squares of what a shift of all predictions changes, and a stretch after that.

    On the scale, of probabilities or of log odds, on which it is more. Rows whose log odds are
    infinite have none.
    """
    residual, centred = predictions - outcomes, predictions - shares @ predictions
    spread = float(np.sqrt(shares @ centred**2))
    excess = float(shares @ (centred * residual))
    changes = [(abs(float(shares @ residual)), abs(excess) / spread if spread > 1e-12 else 0.0)]
    inside = (predictions > 0) & (predictions < 1)
    likelihood = None
    if inside.any():
        likelihood = make_likelihood(shares[inside], predictions[inside], outcomes[inside])
    if likelihood is not None:
        log_odds, fit = logit(predictions[inside]), likelihood.fit()
        shifted = expit(log_odds + likelihood.estimate_level()[0])
        steps = [predictions[inside] - shifted]
        if np.isfinite(fit.slope):
            steps.append(shifted - expit(fit.intercept + fit.slope * log_odds))
        sizes = [float(np.sqrt(shares[inside] @ step**2)) for step in steps]
        changes.append((sizes[0], sizes[1] if len(sizes) > 1 else 0.0))
    return tuple(map(max, zip(*changes, strict=True)))


def subtract_in_squares(value, chance):
    """sqrt(value^2 - chance^2), 0 where chance is larger: independent errors add up in squares."""
    return float(np.sqrt(max(value**2 - chance**2, 0.0)))


def bound_mean_error(shares, predictions, size, reach, effect=1.0):
    """Upper bound U of an average error that is estimated as `size`.

    An error of U raises the variance of an outcome by U at most, so that U is the larger root of
    U = size + reach * sqrt(effect * sum_i shares_i^2 (v_i (1 - v_i) + U)).
    """
    squares = effect * shares**2
    variance = float(np.sum(squares * predictions * (1 - predictions)))
    half = reach**2 * float(squares.sum()) / 2
    return min(size + half + np.sqrt(half**2 + 2 * half * size + reach**2 * variance), 1.0)


def count_enough(variance, n_effective, bound, tolerated, confidence_level):
    """By what factor rows must be more for a bound of `tolerated`, if the model is calibrated.

    A bound shrinks as the root of their number. Chance decides how far that of a calibrated model
    is above its margin: by as much as a normal variable, if smoothing is all there is.
    """
    reach = ndtri(confidence_level) + ndtri(_POWER)
    needed = (reach / tolerated) ** 2 * (variance + tolerated)
    return max((bound / tolerated) ** 2, needed / n_effective)


def find_discrimination_pvalue(shares, proba, codes, member=None):
    """p-value of the hypothesis that probabilities and labels are independent.

    Labels, whose `codes` are the numbers of their columns, are permuted: of the sum of the
    probabilities that the true labels get, less their means, the mean and the variance over all
    permutations are known. Its law is taken to be normal. Labels of clusters cannot be permuted:
    the variance is that of how the sum moves with each cluster.
    """
    n_rows, n_classes = proba.shape
    if n_rows < 2:
        return 1.0
    centred = proba - shares @ proba
    given = centred[np.arange(n_rows), codes]
    statistic, degrees = float(shares @ given), np.inf
    if member is None:
        frequency = np.bincount(codes, minlength=n_classes) / n_rows
        scatter = n_rows * (np.diag(frequency) - np.outer(frequency, frequency))
        weighted = shares[:, None] * centred
        variance = np.sum((weighted.T @ weighted) * scatter) / (n_rows - 1)
    else:
        frequency = np.bincount(codes, shares, minlength=n_classes)
        pulls = shares * (given - centred @ frequency - statistic)
        variance, degrees = find_variance(pulls, shares, member)
    if variance <= 1e-24:
        return 1.0
    place = statistic / np.sqrt(variance)
    pvalue = ndtr(-place) if np.isinf(degrees) else stdtr(degrees, -place)
    return float(np.maximum(pvalue, np.finfo(float).tiny))
