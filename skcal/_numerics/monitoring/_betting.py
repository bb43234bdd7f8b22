"""Lower bounds of a mean, by bets that it is larger: valid at every number of rounds.

A player bets a part of its capital on each round, and what is won or lost is in proportion to how
far the gain of the round exceeds m. Where gains have means of at most C, capital does not grow on
average as long as m >= C. So it is seldom multiplied by 20, and each m at which it was is below C
with a confidence of 95 % (Waudby-Smith and Ramdas 2024).
"""

import numpy as np
from scipy.special import logsumexp

from skcal._numerics._roots import find_root

# No round can cost more than this part of the capital.
_MOST = 0.75
# Before the first round the mean square of gains is taken for this part of the square of the floor.
_PRIOR = 0.05


def find_lower_bound(gains, floors, confidence_level, sizes=1.0):
    """Largest m that bets exclude as a bound of mean gains; 0 where they exclude none.

    Gains, (n_players, n_rounds), have a mean, given all earlier rounds, of at most the number that
    is to be bounded; none is below minus the (positive) floor of its player. Where rounds have
    `sizes` in (0, 1], this holds of the mean gain over the mean size, and no gain is below minus
    the floor times the size; what a round wins is its gain beyond m times its size.
    """
    if gains.shape[1] == 0:
        return 0.0
    log_goal = -np.log1p(-confidence_level)
    bets = choose_bets(gains, floors, log_goal)

    def find_excess(m):
        return log_capital(gains, floors, bets, m, sizes).max() - log_goal

    if find_excess(0.0) < 0:
        return 0.0
    # With m above all gains, every bet is lost.
    return find_root(find_excess, 0.0, (gains / sizes).max(), xtol=1e-12, rtol=1e-10)


def choose_bets(gains, floors, log_goal):
    """Bets that may depend on earlier rounds only, per unit of gain.

    A bet x on n gains of mean M and mean square q multiplies capital by about
    exp(n (x (M - m) - x^2 q / 2)). The x that makes it reach the goal at the largest m is
    sqrt(2 log_goal / (n q)). One player of several has to reach as many times the goal.
    """
    n_players, n_rounds = gains.shape
    squares = gains**2
    before = np.cumsum(squares, axis=1) - squares + _PRIOR * floors[:, None] ** 2
    mean_square = before / np.arange(1, n_rounds + 1)
    return np.sqrt(2 * (log_goal + np.log(n_players)) / (n_rounds * mean_square))


def log_capital(gains, floors, bets, m, sizes=1.0):
    """Logarithm of the mean capital of the players after each round; it falls as m grows.

    A bet x is cut to .75 / (floor + m): then x (gain - m) >= -.75, and since the gain is not below
    minus the floor, x (gain - m) still falls as m grows. Both hold of x (gain - size m), too.
    """
    part = np.minimum(bets, _MOST / (floors[:, None] + m))
    logs = np.cumsum(np.log1p(part * (gains - sizes * m)), axis=1)
    return logsumexp(logs, axis=0) - np.log(len(gains))
