"""Outcomes that are censored: who is still followed, and where survival probabilities lie."""

import numpy as np


def find_followed(event, time, places):
    """Kaplan-Meier estimate of the probability not to be censored before each place.

    At equal times events come first: a row that is censored at t has no event up to t, and is not
    at risk of being censored there if it has one.

    Parameters
    ----------
    event : ndarray of bool of shape (n_samples,)
    time, places : ndarray of shape (n_samples,) and (n_places,)

    Returns
    -------
    ndarray of shape (n_places,)
    """
    times, number = np.unique(time, return_inverse=True)
    events = np.bincount(number, event, len(times))
    censored = np.bincount(number, ~event, len(times))
    at_risk = len(time) - np.cumsum(events + censored) + censored
    kept = 1 - np.divide(censored, at_risk, where=censored > 0, out=np.zeros(len(times)))
    followed = np.append(1.0, np.cumprod(kept))
    return followed[np.searchsorted(times, places, side="left")]


def find_incidence(event, is_kind, time, places):
    """Aalen-Johansen estimate of the probability of one kind of event up to each place.

    At a time with d events of this kind among n rows at risk it grows by S d / n, with S the
    Kaplan-Meier estimate of the probability to have no event before. Rows that are censored then
    are at risk.

    Parameters
    ----------
    event, is_kind : ndarray of bool of shape (n_samples,)
        Whether a row has an event, and whether it is of this kind.
    time, places : ndarray of shape (n_samples,) and (n_places,)

    Returns
    -------
    ndarray of shape (n_places,)
    """
    times, number, rows = np.unique(time, return_inverse=True, return_counts=True)
    at_risk = np.cumsum(rows[::-1])[::-1]
    kept = 1 - np.bincount(number, event, len(times)) / at_risk
    free = np.append(1.0, np.cumprod(kept)[:-1])
    steps = free * np.bincount(number, is_kind, len(times)) / at_risk
    return np.append(0.0, np.cumsum(steps))[np.searchsorted(times, places, side="right")]


def find_mean_gap(times, gaps, norm):
    """(1/t integral_0^t |gap|^norm)^(1/norm) up to the last time t; the largest for infinity.

    Gaps are linear between times, as |gap|^norm is for the trapezoidal rule, and 0 at 0.
    """
    gaps = np.abs(gaps)
    largest = gaps.max()
    if np.isinf(norm) or largest == 0:
        return float(largest)
    # Scaled by the largest gap, so that a large norm cannot underflow; by the last time, so that
    # huge times cannot overflow.
    powers = np.append(0.0, (gaps / largest) ** norm)
    shares = np.append(0.0, times / times[-1])
    mean = np.sum(np.diff(shares) * (powers[1:] / 2 + powers[:-1] / 2))
    return float(largest * mean ** (1 / norm))


def share_survival(event, survival, n_bins):
    """Numbers of rows in equal bins of the survival probability at the time of the event.

    A row that is censored where its survival probability is s has its event at one that is uniform
    on [0, s], if the model is right, and is shared among the bins below.

    Parameters
    ----------
    event : ndarray of bool of shape (n_samples,)
    survival : ndarray of shape (n_samples,)
    n_bins : int

    Returns
    -------
    ndarray of shape (n_bins,)
    """
    # Compared with its ends, because s * B may be rounded to below k where s = k / B.
    cell = np.searchsorted(np.arange(1, n_bins) / n_bins, survival, side="right")
    counts = np.bincount(cell[event], minlength=n_bins).astype(np.float64)
    cell, survival = cell[~event], survival[~event]
    share = np.divide(1.0, n_bins * survival, where=cell > 0, out=np.zeros(len(survival)))
    counts += np.bincount(cell, 1 - cell * share, n_bins)
    # Each of the bins below gets a share: sums from above.
    below = np.bincount(cell, share, n_bins)
    counts[:-1] += np.cumsum(below[:0:-1])[::-1]
    return counts
