"""Evidence that may be looked at at any time: means of wealth, detectors, and many groups."""

import numpy as np

# Products of the factors of some rows stay between exp(-300) and exp(300), or parts are taken.
_MOST_SPREAD = 300.0
# Rows after an alarm of a detector that are looked at first; then twice as many, and so on.
_FIRST_LOOK = 32
_LARGEST = np.finfo(np.float64).max


def log_mean_exp(logs):
    """Logarithm of the mean over the first axis; -inf stands for 0."""
    if len(logs) == 1:
        return logs[0]
    top = np.max(logs, axis=0)
    parts = np.exp(logs - np.maximum(top, -_LARGEST))
    with np.errstate(divide="ignore"):
        return top + np.log(parts.mean(axis=0))


def list_payments(n_before, n):
    """What is paid in before each of some rows, and what is kept back after it.

    These are `n` rows after `n_before` others. Half of the wealth is bet from the start. The other
    half is paid in bit by bit, so that after many calm rows there is money for bets that have not
    lost yet: 1 / (2 + log(1 + t)) is kept back after row t.
    """
    kept = keep_back(np.arange(n_before, n_before + n + 1))
    return kept[:-1] - kept[1:], kept[1:]


def keep_back(n_rows):
    """Part of the wealth that is not bet yet after some rows."""
    return 1 / (2 + np.log1p(n_rows))


def advance_stakes(log_stakes, log_sums, paid, kept):
    """Logarithms of the mean of several stakes after each row, and of the stakes after all.

    Before each row a payment is added, then the stake is multiplied by the factor of the row:
    R_t = (R_{t-1} + a_t) w_t. From rows 1 to t that is W_t (R_0 + sum_{i<=t} a_i / W_{i-1}) with W
    the product of factors. `log_stakes` has log R_0, -inf before the first payment; `log_sums`,
    (n_experts, n), has log W; `paid` has a: with payments of 1 the stakes are the detectors of
    Shiryaev and Roberts. `kept` is added to the mean of the stakes after each row.
    """
    n = log_sums.shape[1]
    if max(log_sums.max(), -log_sums.min()) > _MOST_SPREAD:
        if n == 1:  # a batch, whose factor may be of any size
            with np.errstate(divide="ignore"):
                after = np.logaddexp(log_stakes, np.log(paid)) + log_sums[:, 0]
                return np.logaddexp(log_mean_exp(after), np.log(kept)), after
        half = n // 2
        first, log_stakes = advance_stakes(log_stakes, log_sums[:, :half], paid[:half], kept[:half])
        rest = log_sums[:, half:] - log_sums[:, half - 1, None]
        second, log_stakes = advance_stakes(log_stakes, rest, paid[half:], kept[half:])
        return np.concatenate([first, second]), log_stakes
    shrink = np.exp(-log_sums)
    added = np.empty_like(shrink)
    added[:, 0], added[:, 1:] = 1.0, shrink[:, :-1]
    added *= paid
    np.cumsum(added, axis=1, out=added)
    with np.errstate(divide="ignore"):
        after = np.logaddexp(log_stakes, np.log(added[:, -1])) + log_sums[:, -1]
    top = max(log_stakes.max(), 0.0)
    added *= np.exp(-top)
    added += np.exp(log_stakes - top)[:, None]
    added /= shrink
    return top + np.log(added.mean(axis=0) + kept * np.exp(-top)), after


def advance_detector(log_detectors, log_sums, log_level):
    """The detector of Shiryaev and Roberts, which starts anew after each row that reaches a level.

    Returns the logarithms of the mean of the detectors after each row, those of the detectors after
    all, and the numbers of the rows that reached the level. Arguments are those of
    `advance_stakes`.
    """
    n = log_sums.shape[1]
    path, places, start, size = np.empty(n), [], 0, n
    while start < n:
        part = slice(start, min(start + size, n))
        sums = log_sums[:, part] - log_sums[:, start - 1, None] if start else log_sums[:, part]
        paid, kept = np.ones(sums.shape[1]), np.zeros(sums.shape[1])
        found, after = advance_stakes(log_detectors, sums, paid, kept)
        first = int(np.argmax(found >= log_level))
        if found[first] >= log_level:
            places.append(start + first)
            found, after = found[: first + 1], np.full_like(after, -np.inf)
            size = _FIRST_LOOK // 2
        path[start : start + len(found)] = found
        start, log_detectors, size = start + len(found), after, 2 * size
    return path, log_detectors, places


def merge_delayed(log_maxima):
    """Logarithm of one over the p-value of several streams that depend on each other in any way.

    `log_maxima` has a row for each stream. One over the largest wealth of a stream is a p-value.
    The harmonic mean of these K p-values times e log K (2 for two of them) is a p-value too
    (Vovk and Wang 2020).
    """
    return log_mean_exp(log_maxima) - np.log(find_price(len(log_maxima)))


def find_price(n_streams):
    """How many times as much evidence several streams need as one, in `merge_delayed`."""
    return {1: 1.0, 2: 2.0}.get(n_streams) or np.e * np.log(n_streams)


def reject_by_evidence(log_e_values, fdr, n_hypotheses):
    """Numbers of the hypotheses that are rejected, the clearest first.

    The procedure of Benjamini and Hochberg for e-values: the share of false ones is at most `fdr`
    on average, however they depend on each other (Wang and Ramdas 2022). Of `n_hypotheses` those
    without an e-value yet are not rejected.
    """
    order = np.argsort(-log_e_values, kind="stable")
    ranks = np.arange(1, len(order) + 1)
    passed = np.flatnonzero(log_e_values[order] + np.log(ranks) >= np.log(n_hypotheses / fdr))
    return order[: passed[-1] + 1] if len(passed) else order[:0]
