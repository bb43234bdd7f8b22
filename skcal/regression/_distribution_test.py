"""The exact test of the calibration of predicted distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skcal._input._predicted._distributions import unwrap
from skcal._input._predicted._lattice import make_lattice_source
from skcal._input._predicted._points import Ensemble, Quantiles, read_members
from skcal._input._predicted._response_rows import check_values, make_pit_source, read_pit, read_ppf
from skcal._input._validation import check_number, check_sample_weight
from skcal._numerics.distributions._regression import measure_uniformity
from skcal._numerics.inference._monte_carlo import find_pvalue
from skcal._sources._draws import Draws
from skcal._tools._typing import ArrayLike, RandomState
from skcal._tools._words import name_statistic
from skcal.inference import TestResult


def distribution_calibration_test(
    y_true: ArrayLike,
    distribution: Any,
    *,
    statistic: str | Callable[..., Any] = "pit_calibration_error",
    sample_weight: ArrayLike | None = None,
    norm: float = 2,
    n_resamples: int = 999,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> TestResult:
    r"""Exact finite-sample test of the calibration of predicted distributions.

    Under the hypothesis targets are drawn from the predictions. So they are drawn many times, and
    the statistic of the sample is compared with those of the draws. Rows must be independent, see
    :ref:`without-clusters`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    distribution : object
        The predictions: a frozen distribution of :mod:`scipy.stats`, a tuple of means and standard
        deviations, an :class:`Ensemble`, :class:`Quantiles`, or what else
        :func:`probability_integral_transform` takes.
    statistic : str or callable, default="pit_calibration_error"
        "pit_calibration_error", or a function ``f(y_true, distribution)`` that returns a float, the
        larger the less calibrated, such as another measure of :mod:`skcal.regression`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of "pit_calibration_error". They are fixed: a target is drawn once for
        each row, whatever its weight.
    norm : {1, 2, numpy.inf}, default=2
        Of "pit_calibration_error".
    n_resamples : int, default=999
        Number of draws, at most 2^24; the smallest possible p-value is 1 / (1 + n_resamples).
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The result does not depend on it.
    progress : bool or callable, default=None
        A progress bar over draws: True for a tqdm bar (tqdm must be installed), or a
        function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.

    Returns
    -------
    TestResult
        The statistic, the p-value, and the mean of the statistic over the draws, ``null_mean``; the
        estimate is the statistic.

    Raises
    ------
    ValueError
        If an argument is invalid, or if a callable does not return a finite float, is used with
        weights, or with quantiles, which are no distribution to draw from.

    See Also
    --------
    skcal.regression.pit_calibration_error : The statistic.
    skcal.inference.calibration_test : The same for classes.

    Notes
    -----
    With T the statistic of the sample and T* those of the draws,

    .. math:: p = \frac{1 + \#\{T^* \ge T\}}{1 + \mathrm{n\_resamples}},

    so that p is at most u with probability at most u, at every sample size [1]_. The PIT of a
    continuous distribution is uniform under the hypothesis, whatever the prediction is, and uniform
    numbers are all that is drawn. For discrete distributions a target is drawn for each row, for
    quantiles the interval between two of them, with the probability that the levels give it; so
    targets must not tie with quantiles, as counts do, whose right quantiles are rejected. For an
    ensemble the hypothesis is that the target is exchangeable with the members: a draw takes one of
    the m + 1 numbers of each row for the target.

    The PIT does not see everything: predictions that are wrong for most rows may balance. With
    :func:`distribution_kernel_calibration_error` as `statistic` this is a test of the strong sense
    of calibration. Do not test a model on the rows that it was fitted to.

    References
    ----------
    .. [1] A. C. Davison, D. V. Hinkley (1997). Bootstrap methods and their application, chapter
       4. Cambridge University Press. :doi:`10.1017/CBO9780511802843`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.regression import distribution_calibration_test
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.normal(size=500)
    >>> y_true = rng.normal(mean, 1.0)
    >>> right, narrow = (mean, np.full(500, 1.0)), (mean, np.full(500, 0.7))
    >>> distribution_calibration_test(y_true, right, random_state=0).pvalue > 0.05
    True
    >>> distribution_calibration_test(y_true, narrow, random_state=0).pvalue
    0.001
    """
    norm = check_number("norm", norm, minimum=1, allow_infinity=True)
    if norm not in (1, 2, np.inf):
        raise ValueError(f"norm must be 1, 2 or numpy.inf; got {norm!r}.")
    draws = Draws(n_resamples, random_state, n_jobs, progress=progress)
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    if callable(statistic):
        if weights is not None:
            raise ValueError("sample_weight must be None if statistic is a function.")
        measure = _bind(statistic)
        observed = measure(targets, distribution)
        draw_one = _make_target_source(targets, distribution)
    elif isinstance(statistic, str) and statistic == "pit_calibration_error":

        def measure(low, high):
            return measure_uniformity(low, high, weights, norm)

        observed = measure(*read_pit(targets, distribution))
        draw_one = make_pit_source(targets, distribution)
    else:
        raise ValueError(
            f'statistic must be "pit_calibration_error" or a function; got {statistic!r}.'
        )

    def draw(rng, n_draws):
        return np.array([measure(*draw_one(rng.random(len(targets)))) for _ in range(n_draws)])

    (drawn,) = draws.run(draw)
    return TestResult(
        observed,
        find_pvalue(observed, drawn),
        observed,
        null_mean=float(drawn.mean()),
        name=name_statistic(statistic),
        hypothesis="calibrated distributions",
    )


def _bind(statistic):
    """The function of a user, whose values are checked."""

    def measure(targets, distribution):
        value = statistic(targets, distribution)
        if not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise ValueError(f"statistic must return a finite float; got {value!r}.")
        return float(value)

    return measure


def _make_target_source(targets, distribution):
    """Function of uniform numbers to drawn targets and their predictions."""
    n_rows = len(targets)
    if isinstance(distribution, Quantiles):
        raise ValueError("distribution must not be Quantiles if statistic is a function.")
    if not isinstance(distribution, Ensemble):
        draw_from_lattice = make_lattice_source(unwrap(distribution), n_rows)
        if draw_from_lattice is not None:
            return lambda u: (draw_from_lattice(u)[0], distribution)
        return lambda u: (read_ppf(n_rows, distribution, u), distribution)
    members = read_members("distribution", distribution, n_rows, missing=True)
    pooled, rows = np.column_stack([members, targets]), np.arange(n_rows)
    present = np.argsort(np.isnan(pooled), axis=1, kind="stable")
    count = np.count_nonzero(~np.isnan(pooled), axis=1)

    def draw(u):
        place = present[rows, np.minimum((u * count).astype(np.intp), count - 1)]
        members = pooled[:, :-1].copy()
        is_member = place < members.shape[1]
        members[rows[is_member], place[is_member]] = targets[is_member]
        return pooled[rows, place], Ensemble(members)

    return draw
