"""Outcomes that are censored: who is still followed, and where survival probabilities lie."""

import numpy as np

# A row stands for too many if it stands for more rows than this, and for a larger share of all.
_LARGEST_STAND, _LARGEST_SHARE = 2.0, 0.1
# Draws that are held at once.
_BLOCK = 4096


def find_followed(event, time, places, weights=None):
    """Kaplan-Meier estimate of the probability not to be censored before each place.

    At equal times events come first: a row that is censored at t has no event up to t, and is not
    at risk of being censored there if it has one. A row of weight w counts as w rows.
    """
    times, number = np.unique(time, return_inverse=True)
    rows = np.bincount(number, weights, len(times))
    censored = np.bincount(number, ~event if weights is None else ~event * weights, len(times))
    later = np.append(np.cumsum(rows[:0:-1])[::-1], 0.0)
    at_risk = later + censored
    kept = 1 - np.divide(censored, at_risk, where=censored > 0, out=np.zeros(len(times)))
    followed = np.append(1.0, np.cumprod(kept))
    return followed[np.searchsorted(times, places, side="left")]


def average_share(event, time, places, survival, weights=None):
    """Mean of 1 / G, which an event counts for up to the last place if times are censored.

    G is `find_followed`, and `survival` the expected probabilities to have no event, at ascending
    places from 0 on, between which the hazard is constant. Weights are those by which Greenwood's
    variance of the Kaplan-Meier estimate exceeds that of rows without censoring.
    """
    ends = np.unique(np.append(places, time[time < places[-1]]))
    logs = np.log(np.maximum(survival, np.finfo(np.float64).eps))
    steps = np.diff(np.exp(-np.interp(ends, places, logs)))
    if not steps.any():
        steps = np.diff(ends)
    followed = np.maximum(find_followed(event, time, ends[1:], weights), 1 / len(time))
    return float(steps @ (1 / followed) / steps.sum())


def find_stand(event, time, places, weights=None, n_rows=np.inf):
    """For how many rows one that is left at each place stands, and for which share of all.

    All are the rows from which this is learned, or other `n_rows` if they are fewer. Last, whether
    these are too many. Weighted rows are as many of equal weight as tell as much of a mean.
    """
    if weights is None:
        n_rows = min(len(time), n_rows)
    else:
        weights = weights / weights.max()
        n_rows = min(weights.sum() ** 2 / (weights @ weights), n_rows)
    followed = find_followed(event, time, np.minimum(places, time.max()), weights)
    # A weight that is lost beside the others stands for all rows.
    stands = 1 / np.maximum(followed, 1 / len(time))
    shares = np.minimum(stands / n_rows, 1.0)
    return shares, (stands > _LARGEST_STAND) & (shares > _LARGEST_SHARE)


def find_incidence(event, is_kind, time, places):
    """Aalen-Johansen estimate of the probability of one kind of event up to each place.

    `event` tells whether a row has an event, and `is_kind` whether it is of this kind. At a time
    with d events of this kind among n rows at risk the probability grows by S d / n, with S the
    Kaplan-Meier estimate of the probability to have no event before. Rows that are censored then
    are at risk.
    """
    times, number, rows = np.unique(time, return_inverse=True, return_counts=True)
    at_risk = np.cumsum(rows[::-1])[::-1]
    kept = 1 - np.bincount(number, event, len(times)) / at_risk
    free = np.append(1.0, np.cumprod(kept)[:-1])
    steps = free * np.bincount(number, is_kind, len(times)) / at_risk
    return np.append(0.0, np.cumsum(steps))[np.searchsorted(times, places, side="right")]


def find_mean_gap(times, gaps, norm):
    """(1/t integral_0^t |gap|^norm)^(1/norm) up to the last time t; the largest for infinity.

    Gaps are linear between times, as |gap|^norm is for the trapezoidal rule, and 0 at 0; times are
    along the last axis.
    """
    gaps = np.abs(gaps)
    largest = gaps.max(axis=-1)
    if np.isinf(norm):
        return largest
    # Scaled by the largest gap, so that a large norm cannot underflow; by the last time, so that
    # huge times cannot overflow.
    scale = np.where(largest > 0, largest, 1.0)[..., None]
    powers = np.insert((gaps / scale) ** norm, 0, 0.0, axis=-1)
    shares = np.append(0.0, times / times[-1])
    mean = np.sum(np.diff(shares) * (powers[..., 1:] / 2 + powers[..., :-1] / 2), axis=-1)
    return largest * mean ** (1 / norm)


def share_survival(low, high, n_bins):
    """Numbers of rows in equal bins of [0, 1], with each row spread evenly over its interval.

    A row whose interval is one point is in the bin of this point, and 1 in the last bin.
    """
    # Compared with its ends, because s * B may be rounded to below k where s = k / B.
    ends = np.arange(n_bins + 1) / n_bins
    first, last = (np.searchsorted(ends[1:-1], place, side="right") for place in (low, high))
    is_split = first < last
    counts = np.bincount(first[~is_split], minlength=n_bins).astype(np.float64)
    first, last, low, high = first[is_split], last[is_split], low[is_split], high[is_split]
    length = high - low
    counts += np.bincount(first, (ends[first + 1] - low) / length, n_bins)
    counts += np.bincount(last, (high - ends[last]) / length, n_bins)
    # All bins between get 1 / (B length): sums of those that have begun and not ended. Where only
    # two bins share a short interval this is large, and not used.
    between = np.where(last > first + 1, 1 / (n_bins * np.maximum(length, 1 / n_bins)), 0.0)
    begun = np.bincount(first + 1, between, n_bins) - np.bincount(last, between, n_bins)
    return counts + np.maximum(np.cumsum(begun), 0.0)


def expect_events(event, survival, before):
    """Expected number of events of each row up to its time, and the variance around it.

    `survival` and `before` are the probabilities to survive the time, and to survive up to just
    before.

    Under the prediction -log U is the time of the event in units of the cumulative hazard, with U
    uniform on [0, 1]. A row is followed up to -log U if it has an event, with U in
    [survival, before], and else to -log(survival). Their means, given which of the two is the case
    and the interval, are what is expected. The number of events, 0 or 1, minus this has mean 0, and
    its variance is the mean of what is expected minus the variance of -log U within the interval.
    """
    top = np.where(event, before, survival)
    with np.errstate(divide="ignore"):
        expected = -np.log(top)  # infinite where survival is impossible
    # Of U uniform on [r, 1], with q = r / (1 - r), -log U has the mean 1 + q log r and the variance
    # 1 - r (log r / (1 - r))^2.
    wide = survival < top
    ratio = np.divide(survival, top, where=wide, out=np.ones(len(top)))
    wide &= ratio < 1
    ratio = ratio[wide]
    ratio = np.maximum(ratio, np.finfo(np.float64).tiny)  # 0 log 0 is 0
    slope = np.log(ratio) / (1 - ratio)
    within = np.zeros(len(top))
    expected[wide] += 1 + ratio * slope
    within[wide] = np.clip(1 - ratio * slope**2, 0.0, 1.0)
    return expected, np.maximum(expected - within, 0.0)


def split_hazard(event, entry, survival, n_bins):
    """Events in bins of the survival probability, and what is expected in each, and their ends.

    Rows are followed from `entry` down to `survival`, through a cumulative hazard from -log(entry)
    to -log(survival). Bins are such that all rows together go through the same hazard in each; they
    are listed from 0 on.
    """
    with np.errstate(divide="ignore"):
        start, end = -np.log(entry) + 0.0, -np.log(survival) + 0.0  # -log 1 is -0
    total = (end - start).sum()
    parts = np.arange(1, n_bins) / n_bins
    if np.isfinite(total):
        late = start[start > 0]
        numbers = 1, len(late), len(end)
        levels = np.concatenate([[0.0], late, end])
        order = np.argsort(levels)
        levels = levels[order]
        # All rows are followed from 0 on, but those that enter late.
        followed = np.cumsum(np.repeat([len(end) - len(late), 1, -1], numbers)[order])
        # What all have gone through once the hazard reaches a level.
        passed = np.append(0.0, np.cumsum(followed[:-1] * np.diff(levels)))
        ends = np.interp(parts * total, passed, levels)
    else:
        ends = parts * total
    place = np.searchsorted(ends, end[event], side="right")
    counts = np.bincount(n_bins - 1 - place, minlength=n_bins)
    edges = np.concatenate([[0.0], np.exp(-ends[::-1]), [1.0]])
    return counts, float(total / n_bins), edges


def spread_times(event, time, n_times):
    """Times of events, at most `n_times`, evenly spread while 5 % of rows are followed.

    They end where a row that is left stands for too many that were censored.
    """
    latest = np.quantile(time, 0.95, method="lower")
    candidates = time[event & (time > 0) & (time <= latest)]
    candidates = candidates[~find_stand(event, time, candidates)[1]]
    if len(candidates) == 0:
        return candidates
    return np.unique(np.quantile(candidates, np.arange(1, n_times + 1) / n_times, method="lower"))


def draw_mean_gaps(times, residuals, member, norm, rng, n_draws):
    """Mean gaps of normal draws with the covariance of the means of the residuals.

    Residuals have a row for each sample and a column for each time; rows of a cluster, which
    `member` numbers unless it is None, may depend on each other. With s_g the sums of rows or
    clusters, of mean m, the covariance is g / (g - 1) sum (s_g - m) (s_g - m)^T / n^2.
    """
    n_rows = len(residuals)
    if member is not None:
        residuals = np.stack([np.bincount(member, column) for column in residuals.T], axis=1)
    n_parts = len(residuals)
    centred = (residuals - residuals.mean(axis=0)) / n_rows
    covariance = centred.T @ centred * (n_parts / (n_parts - 1))
    variances, axes = np.linalg.eigh(covariance)
    # The symmetric root, which rounding cannot change as it can signs of axes.
    root = axes * np.sqrt(np.maximum(variances, 0.0)) @ axes.T
    sizes = [min(_BLOCK, n_draws - start) for start in range(0, n_draws, _BLOCK)]
    return np.concatenate(
        [
            find_mean_gap(times, rng.standard_normal((size, len(times))) @ root, norm)
            for size in sizes
        ]
    )
