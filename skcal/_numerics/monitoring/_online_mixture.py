"""Scores and maps of them, mixed by how well each has foretold: a repair, and a test of the scores.

The likelihood of what came true under the mixture, over that under the scores, is the wealth of a
player who bets against the scores. A part of it stays with the scores and is paid out bit by bit,
as in a monitor, so that the mixture never loses more than the logarithm of what is kept back. The
rest is shared by a pool: the scores once more, for times in which they are right again, and maps.
"""

import numpy as np

from skcal._numerics.monitoring._betting_evidence import keep_back

# Part of its weight that a member of the pool shares evenly with the pool after each row, unless it
# forgets nothing: one change in a thousand rows.
SHARE = 1e-3


def start_pool(n_maps):
    """Weights of the pool before the first row, the scores once more first; they sum to 1/2."""
    return np.full(n_maps + 1, 0.5 / (n_maps + 1))


def list_leaving(memories, n_before, n):
    """Parts of the weights of the pool that are shared after n rows that follow others.

    A map of all rows keeps its weight as the scores do, so that little is lost if it is right for
    good.
    """
    forgets = np.array([True, *(rows is not None for rows in memories)])
    kept = keep_back(n_before + n) / keep_back(n_before)
    return np.where(forgets, -np.expm1(n * np.log1p(-SHARE)), 1 - kept)


def find_weights(pool, log_wealth, n_rows):
    """Weights of the scores and of the pool, which sum to 1."""
    return np.append(keep_back(n_rows) * np.exp(-log_wealth), pool)


def mix(pool, log_wealth, n_rows, n_more, log_ratios, memories):
    """Weigh the members by what came true, and share.

    `log_ratios`, one for each map, are logarithms of its likelihood over that of the scores, of
    `n_more` rows after `n_rows` others. Returns the logarithm of the factor by which wealth grows,
    and the pool, after it.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(find_weights(pool, 0.0, n_rows))
    logs[0] -= log_wealth
    logs[2:] += log_ratios
    log_factor = np.logaddexp.reduce(logs)
    parts = np.exp(logs - log_factor)
    leaving = list_leaving(memories, n_rows, n_more)
    given = parts[0] * (1 - keep_back(n_rows + n_more) / keep_back(n_rows)) + parts[1:] @ leaving
    return log_factor, parts[1:] * (1 - leaving) + given / len(pool)
