"""Predictions of one real target for each row, read and checked."""

import numpy as np
from scipy import stats

from skcal._input._predicted._distributions import advise, evaluate, unwrap
from skcal._input._predicted._lattice import make_lattice_source
from skcal._input._predicted._points import (
    Ensemble,
    Quantiles,
    list_blocks,
    read_members,
    sort_quantiles,
)
from skcal._input._validation import check_number, clip_rounding
from skcal._numerics.distributions._isotonic_distributions import StepDistributions
from skcal._tools._arrays import read_numbers

# SciPy >= 1.16 has a second kind of discrete distributions.
_NEW_DISCRETE = stats.Binomial.__base__ if hasattr(stats, "Binomial") else ()


def check_values(name, values, n_samples=None):
    """One finite number for each row, as float64."""
    values = read_numbers(name, values).astype(np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(
            f"{name} must be one-dimensional, with at least one row; got shape {values.shape}."
        )
    if n_samples is not None and len(values) != n_samples:
        raise ValueError(
            f"y_true and {name} must have the same length; got {n_samples} and {len(values)}."
        )
    refuse_rows(f"{name} must hold finite numbers", values, ~np.isfinite(values))
    return values


def refuse_rows(needed, values, is_bad, error=ValueError):
    """Raise an error that says what is needed, shows the first bad row and counts them."""
    if is_bad.any():
        row = np.flatnonzero(is_bad)[0]
        (found,) = values[row : row + 1].tolist()
        raise error(
            f"{needed}; got {found!r} at row {row}, "
            f"and in {np.count_nonzero(is_bad)} of {len(values)} rows."
        )


def read_intervals(targets, y_interval, level):
    """Level, and lower and upper ends, of prediction intervals for each target; checked."""
    level = check_number("level", level, 0, below=1)
    if level == 0:
        raise ValueError("level must lie strictly between 0 and 1; got 0.")
    ends = read_numbers("y_interval", y_interval).astype(np.float64)
    if ends.shape != (len(targets), 2):
        raise ValueError(
            f"y_interval must have shape {(len(targets), 2)}, a lower and an upper end for each "
            f"target; got {ends.shape}."
        )
    refuse_rows("y_interval must not hold NaN", ends, np.isnan(ends).any(axis=1))
    low, high = ends.T
    n_crossing = np.count_nonzero(low > high)
    if n_crossing:
        raise ValueError(
            "The upper ends of y_interval must not lie below the lower ones; they do in "
            f"{n_crossing} of {len(targets)} rows."
        )
    return level, (low, high)


# --------------------------------------------------------------------------- distributions


def is_discrete(distribution):
    """Whether a distribution, as `unwrap` returns it, is discrete."""
    get_tag = getattr(distribution, "get_tag", None)
    if callable(get_tag):  # of skpro
        return get_tag("distr:measuretype") == "discrete"
    inner = getattr(distribution, "dist", distribution)
    return isinstance(inner, (stats.rv_discrete, StepDistributions, _NEW_DISCRETE))


def read_cdf(targets, distribution):
    """F_i(y_i) of every row for a distribution, as `unwrap` returns it; checked."""
    values = clip_rounding(evaluate_rows(distribution, ("cdf",), targets, len(targets)))
    refuse_rows("distribution.cdf must lie in [0, 1]", values, ~((values >= 0) & (values <= 1)))
    return values


def read_ppf(n_rows, distribution, probability):
    """Quantile of every row at one probability, or one for each row; checked."""
    values = evaluate_rows(unwrap(distribution), ("ppf", "icdf"), probability, n_rows)
    refuse_rows("distribution.ppf must not give NaN", values, np.isnan(values))
    return values


def evaluate_rows(distribution, names, argument, n_rows):
    """What the first of the methods `names` that there is returns, one number for each row."""
    method = next((name for name in names if hasattr(distribution, name)), None)
    if method is None or not callable(getattr(distribution, method)):
        raise ValueError(
            f"distribution must have a method {names[0]}, as the frozen distributions of "
            f"scipy.stats have; got {type(distribution).__name__}.{advise(distribution)}"
        )
    needed = f"distribution must predict one number for each of the {n_rows} rows of y_true"
    try:
        with np.errstate(all="ignore"):  # what comes of it is looked at
            values = evaluate(distribution, method, argument)
    # Shapes, long double parameters, or numbers of Python in an array of objects.
    except (ValueError, IndexError, TypeError, ArithmeticError) as error:
        raise ValueError(f"{needed}; {names[0]} raised: {error}") from error
    if values.shape not in ((), (n_rows,)):
        raise ValueError(f"{needed}; {names[0]} gave an array of shape {values.shape}.")
    return np.broadcast_to(values, (n_rows,))


# --------------------------------------------------------------------------- the PIT


def read_pit(targets, distribution):
    """Ends of the interval of each row in which its PIT lies; one array twice if continuous.

    Predictions that are right make a uniform draw from the interval uniform.
    """
    distribution = unwrap(distribution)
    if isinstance(distribution, Ensemble):
        members = read_members("distribution", distribution, len(targets), missing=True)
        below, up_to = (_count(members, targets, compare) for compare in (np.less, np.less_equal))
        n_pooled = 1 + np.count_nonzero(~np.isnan(members), axis=1)
        return below / n_pooled, (up_to + 1) / n_pooled
    if isinstance(distribution, Quantiles):
        values, levels = sort_quantiles("distribution", distribution, len(targets))
        below, up_to = (_count(values, targets, compare) for compare in (np.less, np.less_equal))
        levels = np.concatenate([[0.0], levels, [1.0]])
        # A target that equals quantiles has their levels, the first and the last of them.
        is_tied = up_to > below
        return levels[below + is_tied], levels[np.where(is_tied, up_to, below + 1)]
    high = read_cdf(targets, distribution)
    if not is_discrete(distribution):
        return high, high
    mass = evaluate_rows(distribution, ("pmf",), targets, len(targets))
    return np.clip(high - mass, 0.0, high), high


def _count(values, targets, compare):
    """Number of values of each row that are below its target, or up to it."""
    counts = [
        np.count_nonzero(compare(values[rows], targets[rows, None]), axis=1)
        for rows in list_blocks(values)
    ]
    return np.concatenate(counts)


def is_grouped(distribution):
    """Whether the PIT is known as an interval only: discrete targets, ensembles, quantiles."""
    distribution = unwrap(distribution)
    return isinstance(distribution, Ensemble | Quantiles) or is_discrete(distribution)


def make_pit_source(targets, distribution):
    """Function of uniform numbers, one for each row, to the intervals of PITs of drawn targets.

    The targets are drawn from the predictions. That of an ensemble is one of its members and the
    true target, each with the same probability: right predictions make them exchangeable.
    """
    distribution = unwrap(distribution)
    if not is_grouped(distribution):
        return lambda u: (u, u)
    n_rows = len(targets)
    if isinstance(distribution, Ensemble):
        members = read_members("distribution", distribution, n_rows, missing=True)
        pooled = np.sort(np.column_stack([members, targets]), axis=1)  # NaN at the end
        low, high = _find_blocks(pooled)
        n_pooled = np.count_nonzero(~np.isnan(pooled), axis=1)

        def draw(u):
            place = np.minimum((u * n_pooled).astype(np.intp), n_pooled - 1)
            rows = np.arange(n_rows)
            return low[rows, place] / n_pooled, high[rows, place] / n_pooled

        return draw
    if isinstance(distribution, Quantiles):
        values, levels = sort_quantiles("distribution", distribution, n_rows)
        edges = np.concatenate([[0.0], levels, [1.0]])
        inner = np.column_stack([np.full(n_rows, -np.inf), values, np.full(n_rows, np.inf)])
        low, high = _find_blocks(inner)

        def draw(u):
            place = np.searchsorted(levels, u)  # between the quantiles at place and place + 1
            rows = np.arange(n_rows)
            is_tied = inner[rows, place] == inner[rows, place + 1]
            first = np.where(is_tied, low[rows, place], place)
            last = np.where(is_tied, high[rows, place] - 1, place + 1)
            return edges[first], edges[last]

        return draw
    draw_from_lattice = make_lattice_source(distribution, n_rows)
    if draw_from_lattice is not None:
        return lambda u: draw_from_lattice(u)[1:]
    return lambda u: read_pit(read_ppf(n_rows, distribution, u), distribution)


def _find_blocks(values):
    """First place and end of the run of equal values around each place of sorted rows."""
    n_columns = values.shape[1]
    starts = np.ones(values.shape, dtype=bool)
    starts[:, 1:] = values[:, 1:] != values[:, :-1]
    place = np.arange(n_columns, dtype=np.int32)
    low = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    ends = np.ones(values.shape, dtype=bool)
    ends[:, :-1] = starts[:, 1:]
    high = np.minimum.accumulate(np.where(ends, place + 1, n_columns)[:, ::-1], axis=1)[:, ::-1]
    return low, high
