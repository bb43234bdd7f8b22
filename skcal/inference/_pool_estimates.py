"""Random-effects meta-analysis: what holds on average, and what to expect of another group."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._input._validation import check_confidence_level, check_option
from skcal._numerics.inference._random_effects import SCALES, pool_effects
from skcal._tools._arrays import read_numbers
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_interval

# How far sizes may be apart, as floats tell numbers apart that differ by less, and how large they
# may be: squares of them are finite.
_MOST, _HUGE = 1e8, 1e100


@as_record
class PooledEstimate(NamedTuple):
    """Pooled estimate of a number that varies between groups.

    ``print`` shows it as a phrase.

    Attributes
    ----------
    estimate : float
        Mean over groups.
    low, high : float
        Confidence interval of the mean.
    low_of_next, high_of_next : float
        Prediction interval: where the number of another group is expected. Everything that is
        possible for two groups.
    heterogeneity : float
        Standard deviation of the true numbers among groups, on the `scale`.
    scale : str
        "identity", "log" or "logit": where estimates are pooled.
    confidence_level : float
        Level of each interval.
    """

    estimate: float
    low: float
    high: float
    low_of_next: float
    high_of_next: float
    heterogeneity: float
    scale: str = "identity"
    confidence_level: float = 0.95

    def __str__(self) -> str:
        shown = (f"{end:#.3g}".rstrip(".") for end in (self.low_of_next, self.high_of_next))
        return (
            f"{show_interval(self.estimate, self.low, self.high)} on average, and "
            f"{' to '.join(shown)} expected in another group"
        )


def pool_estimates(
    estimates: ArrayLike,
    errors: ArrayLike,
    *,
    scale: Literal["identity", "log", "logit"] = "identity",
    confidence_level: float = 0.95,
) -> PooledEstimate:
    r"""Random-effects meta-analysis of published estimates, with a prediction interval.

    Parameters
    ----------
    estimates : array-like of shape (n_groups,)
        Estimates of at least two centres or studies, such as slopes, O:E ratios or C statistics.
    errors : array-like of shape (n_groups,)
        Their standard errors, above 0, as they are published: of the estimates themselves, whatever
        the `scale`.
    scale : {"identity", "log", "logit"}, default="identity"
        Where estimates are nearly normal: "log" for ratios such as O:E, "logit" for shares such as
        the C statistic. Errors follow by the delta method, and results are on the scale of the
        estimates.
    confidence_level : float, default=0.95
        Level of each interval, in (0, 1).

    Returns
    -------
    PooledEstimate
        Named tuple of ``estimate``, ``low``, ``high``, ``low_of_next``, ``high_of_next``,
        ``heterogeneity``, ``scale`` and ``confidence_level``, which prints as a phrase.

    Raises
    ------
    ValueError
        If an argument is invalid, if an estimate is out of the range of its scale, or if errors
        differ from one another or from the estimates by a factor of more than 1e8.

    See Also
    --------
    pooled_validation : The same from single rows.

    Notes
    -----
    The estimates are normal with their standard errors around true values that are normal, with a
    variance that is the most likely one by the restricted likelihood [1]_. The interval of the mean
    is that of Hartung and Knapp [2]_, no narrower than with the usual standard error. The
    prediction interval averages over the variance among groups, weighed by its restricted
    likelihood, and is wider than the usual one [3]_, which takes it for known.

    Of an O:E ratio from O events of n the standard error is :math:`(O/E) \sqrt{(1 - O/n) / O}`. Of
    an interval from l to u on the log scale it is about :math:`(O/E) \log(u / l) / 3.92`, on the
    logit scale C (1 - C) times the difference of logits over 3.92.

    References
    ----------
    .. [1] W. Viechtbauer (2005). Bias and efficiency of meta-analytic variance estimators in the
       random-effects model. Journal of Educational and Behavioral Statistics 30.
       :doi:`10.3102/10769986030003261`
    .. [2] J. Hartung, G. Knapp (2001). A refined method for the meta-analysis of controlled
       clinical trials with binary outcome. Statistics in Medicine 20. :doi:`10.1002/sim.1009`
    .. [3] J. P. T. Higgins, S. G. Thompson, D. J. Spiegelhalter (2009). A re-evaluation of
       random-effects meta-analysis. Journal of the Royal Statistical Society A 172.
       :doi:`10.1111/j.1467-985X.2008.00552.x`

    Examples
    --------
    Deaths that were seen and expected in five validations:

    >>> import numpy as np
    >>> from skcal.inference import pool_estimates
    >>> seen, expected = np.array([28, 41, 191, 34, 90]), np.array([46, 34, 261, 7, 105])
    >>> n = np.array([1027, 1090, 5576, 428, 933])
    >>> ratio = seen / expected
    >>> print(pool_estimates(ratio, ratio * np.sqrt(1 / seen - 1 / n), scale="log"))
    1.2 (0.4 to 3.3) on average, and 0.0430 to 32.1 expected in another group
    """
    level = check_confidence_level(confidence_level)
    check_option("scale", scale, SCALES)
    values = _read("estimates", estimates)
    given = _read("errors", errors)
    if len(values) < 2:
        raise ValueError(f"estimates must be those of at least two groups; got {len(values)}.")
    if len(given) != len(values):
        raise ValueError(
            f"errors must have one for each of the {len(values)} estimates; got {len(given)}."
        )
    low, high = SCALES[scale].limits
    for name, numbers, is_wrong, range_ in (
        ("estimates", values, (values <= low) | (values >= high), f"between {low:g} and {high:g}"),
        ("errors", given, given <= 0, "above 0"),
    ):
        if is_wrong.any():
            place = int(np.flatnonzero(is_wrong)[0])
            where = f" on the {scale} scale" if name == "estimates" else ""
            raise ValueError(f"{name} must lie {range_}{where}; got {numbers[place]:g} at {place}.")
    with np.errstate(over="ignore"):
        moved = SCALES[scale].move(values), given * SCALES[scale].differentiate(values)
    _refuse_sizes(*moved)
    return pool(values, given, scale, level)


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _refuse_sizes(values, errors):
    """Refuse what leaves no digits for differences."""
    unit = np.median(errors)
    sizes = np.concatenate([errors / unit, [np.ptp(values) / unit, np.abs(values).max() / unit]])
    if (
        sizes.max() > _MOST
        or sizes[: len(errors)].min() < 1 / _MOST
        or not 1 / _HUGE < unit < _HUGE
    ):
        raise ValueError(
            "errors must be of the size of their median and of the estimates, within a factor of "
            f"{_MOST:g}; got errors from {errors.min():g} to {errors.max():g} and estimates from "
            f"{values.min():g} to {values.max():g}, on the scale on which they are pooled."
        )


def pool(values, errors, scale, level):
    """The `PooledEstimate` of checked arrays of two or more groups."""
    place = SCALES[scale]
    found = pool_effects(place.move(values), errors * place.differentiate(values), level)
    with np.errstate(over="ignore"):
        moved = place.turn_back(np.array(found[:-1]))
    return PooledEstimate(*moved.tolist(), found.heterogeneity, scale, level)


def _read(name, values):
    numbers = read_numbers(name, values).astype(np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be a sequence of finite numbers; got {values!r}.")
    return numbers
