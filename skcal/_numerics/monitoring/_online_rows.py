"""Rows of two classes, learned one after the other by the mixture and its maps.

What `mix` and `learn_batch` say of single rows, in numbers of Python: a hundred times as fast, and
where numba compiles it, several thousand times.
"""

from functools import cache
from math import exp, log, log1p
from types import FunctionType

from skcal._numerics.monitoring._online_mixture import SHARE
from skcal._numerics.monitoring._sequential_bets import LARGEST_LOG_FACTOR
from skcal._numerics.recalibration._online_maps import DEPTH, PRIOR

# Rows from which on compiled code is worth loading: Python needs a second for them.
MANY_ROWS = 10**5
# The log odds of a row are found up to this part.
_TOLERANCE, _MOST_STEPS = 1e-13, 100


@cache
def load_learner():
    """`learn_rows` compiled by numba for arrays, or None where it cannot be; see `load_kernel`."""
    try:
        import numba

        names = dict(globals())
        for function in (find_miss, learn, learn_rows):
            plain = FunctionType(function.__code__, names)
            names[function.__name__] = numba.njit(cache=True, nogil=True)(plain)
        return names["learn_rows"]
    except (ImportError, RuntimeError):
        return None


def learn_rows(logits, outcomes, shares, kept, memories, maps, pool, log_factors, log_wealth):
    """Learn rows in their order; all arguments but `log_wealth`, which is returned, are sequences.

    Rows have log odds, outcomes, and weights of at most 1. `kept` is what is kept back before each
    of them and after all. `memories` are in rows, 0 for all. `maps` has for each map, one after the
    other, slope, intercept and the three curvatures; these, the `pool`, and `log_factors`, the
    logarithms of the factors by which each row multiplies the wealth, are written in place.
    """
    n_maps, n_pool = len(memories), len(pool)
    for row in range(len(logits)):
        z, share, sign = logits[row], shares[row], 1.0 if outcomes[row] else -1.0
        place = min(max(z, -DEPTH), DEPTH)
        log_scores = min(sign * z, 0.0) - log1p(exp(-abs(z)))
        still = kept[row] * exp(-log_wealth)
        factor = still + pool[0]
        for k in range(n_maps):
            first = 5 * k
            u, v = maps[first], maps[first + 1]
            a, b, c = maps[first + 2], maps[first + 3], maps[first + 4]
            logit = (1.0 + u) * place + v
            log_map = min(sign * logit, 0.0) - log1p(exp(-abs(logit)))
            log_ratio = log_map - log_scores
            if sign * z < -DEPTH:  # a wrong label, maybe
                log_ratio = min(log_ratio, LARGEST_LOG_FACTOR)
            pool[k + 1] *= exp(share * log_ratio)
            factor += pool[k + 1]
            u, v, a, b, c = learn(u, v, a, b, c, place, sign, share, memories[k])
            maps[first], maps[first + 1] = u, v
            maps[first + 2], maps[first + 3], maps[first + 4] = a, b, c
        slow = 1.0 - kept[row + 1] / kept[row]
        given = slow * still
        for j in range(n_pool):
            leaving = slow if j > 0 and not memories[j - 1] else SHARE
            given += leaving * pool[j]
            pool[j] *= 1.0 - leaving
        for j in range(n_pool):
            pool[j] = (pool[j] + given / n_pool) / factor
        log_factors[row] = log(factor)
        log_wealth += log_factors[row]
    return log_wealth


def learn(u, v, a, b, c, place, sign, share, memory):
    """Slope, intercept and curvatures of a map after a row of the log odds `place`.

    With the square of the rows before, and A^-1 x, the log loss of the row is least where its log
    odds, times the sign of its label, solve m = m_0 + s (1 - expit(m)).
    """
    if memory:
        left = exp(-share / memory)
        p, q = left * (a * u + b * v), left * (b * u + c * v)
        more = (1.0 - left) * PRIOR
        a, b, c = left * a + more, left * b, left * c + more
        determinant = a * c - b * b
        u, v = (c * p - b * q) / determinant, (a * q - b * p) / determinant
    else:
        determinant = a * c - b * b
    along, across = (c * place - b) / determinant, (a - b * place) / determinant
    start = sign * ((1.0 + u) * place + v)
    miss, spread = find_miss(start, share * (along * place + across))
    u += sign * share * miss * along
    v += sign * share * miss * across
    spread *= share
    return u, v, a + spread * place * place, b + spread * place, c + spread


def find_miss(start, size):
    """1 - p and p (1 - p), with p = expit(m) and m = start + size (1 - p); size is not negative."""
    low, high, m = start, start + size, start
    for _ in range(_MOST_STEPS):
        small = exp(-abs(m))
        miss = (small if m > 0 else 1.0) / (1.0 + small)
        spread = small / (1.0 + small) ** 2
        gap = m - start - size * miss
        if gap > 0:
            high = m
        else:
            low = m
        step = gap / (1.0 + size * spread)
        if abs(step) <= _TOLERANCE * (1.0 + abs(m)):
            break
        m -= step
        if not low < m < high:
            m = (low + high) / 2
    return miss, spread
