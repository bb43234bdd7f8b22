"""The exact test of the calibration of predicted distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skcal._input._clusters import number_clusters, unite_copies
from skcal._input._predicted._chosen_rows import take_rows
from skcal._input._predicted._distributions import unwrap
from skcal._input._predicted._lattice import make_lattice_source
from skcal._input._predicted._points import Ensemble, Quantiles, read_members
from skcal._input._predicted._response_rows import check_values, make_pit_source, read_pit, read_ppf
from skcal._input._validation import check_number, check_sample_weight
from skcal._numerics.distributions._regression import measure_uniformity
from skcal._numerics.inference._cluster_signs import N_CHOICES
from skcal._numerics.inference._monte_carlo import find_pvalue
from skcal._numerics.inference._signed_pit import SignedPIT, has_known_law
from skcal._sources._draws import Draws
from skcal._sources._resamples import Units
from skcal._tools._least_pvalue import carry_least
from skcal._tools._typing import ArrayLike, RandomState
from skcal._tools._words import name_statistic
from skcal.inference import TestResult


def distribution_calibration_test(
    y_true: ArrayLike,
    distribution: Any,
    *,
    statistic: str | Callable[..., Any] = "pit_calibration_error",
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    norm: float = 2,
    n_resamples: int = 999,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> TestResult:
    r"""Test of the calibration of predicted distributions, exact for independent rows.

    Under the hypothesis targets are drawn from the predictions. So they are drawn many times, and
    the statistic of the sample is compared with those of the draws. Rows must be independent, or
    belong to independent `clusters`.

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
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a date that all places are forecast for: rows of
        a cluster may depend on each other in any way, see :ref:`clusters`. None means independent
        rows.
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
        estimate is the statistic of all rows.

    Raises
    ------
    ValueError
        If an argument is invalid, or if a callable does not return a finite float, is used with
        weights, with quantiles, which are no distribution to draw from, or with clusters and
        predictions that single rows cannot be taken of.

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

    **Clusters.** Under the hypothesis the PIT of each row is uniform, however rows of a cluster
    depend on each other. With H_i the distribution function of the PIT of row i, the residuals
    :math:`H_i(p) - p` have mean 0 at all p, and "pit_calibration_error" is the norm of their mean.
    Instead of targets, a sign is drawn for each cluster that its residuals are multiplied with,
    which preserves the dependence within clusters (a wild bootstrap under the null hypothesis
    [2]_). This is an approximation for many clusters. It is taken if there are 10 at least, and
    :math:`\sqrt D\, |\sum_i \mathrm{E} c_i^3| \le 0.15\, (\sum_i \mathrm{E} c_i^2)^{3/2}` both for
    :math:`c_i = w_i \int \cos(\pi p)\, dH_i` and for :math:`\cos(2 \pi p)`, with D the design
    effect of c: a sum of the PITs of rare events, such as targets that are hardly ever above 0, is
    too skewed. Otherwise, and for a function, one row of each cluster is chosen at random, 20
    times, and the p-value is twice the mean of those of the exact test [3]_: that is valid for any
    number of clusters, but ignores much of the information in the rows. Statistic and ``null_mean``
    are then means over the choices. Where each cluster holds copies of one row, these rows are
    tested exactly.

    The PIT does not see everything: predictions that are wrong for most rows may balance. With
    :func:`distribution_kernel_calibration_error` as `statistic` this is a test of the strong sense
    of calibration. Do not test a model on the rows that it was fitted to.

    References
    ----------
    .. [1] A. C. Davison, D. V. Hinkley (1997). Bootstrap methods and their application, chapter
       4. Cambridge University Press. :doi:`10.1017/CBO9780511802843`
    .. [2] A. C. Cameron, J. B. Gelbach, D. L. Miller (2008). Bootstrap-based improvements for
       inference with clustered errors. Review of Economics and Statistics 90.
       :doi:`10.1162/rest.90.3.414`
    .. [3] V. Vovk, R. Wang (2020). Combining p-values via averaging. Biometrika 107.
       :doi:`10.1093/biomet/asaa027`

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

    Forecasts of 50 places for each of 40 dates, whose errors are correlated:

    >>> date = np.repeat(np.arange(40), 50)
    >>> shared = rng.normal(size=40)[date]
    >>> mean = rng.normal(size=2000)
    >>> y_true, right = rng.normal(mean + 0.8 * shared, 0.6), (mean, np.ones(2000))
    >>> distribution_calibration_test(y_true, right, random_state=0).pvalue < 0.01
    True
    >>> distribution_calibration_test(y_true, right, clusters=date, random_state=0).pvalue > 0.05
    True
    """
    norm = check_number("norm", norm, minimum=1, allow_infinity=True)
    if norm not in (1, 2, np.inf):
        raise ValueError(f"norm must be 1, 2 or numpy.inf; got {norm!r}.")
    draws = Draws(n_resamples, random_state, n_jobs, progress=progress)
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    problem: _Targets | _PITs
    if callable(statistic):
        if weights is not None:
            raise ValueError("sample_weight must be None if statistic is a function.")
        problem = _Targets(targets, distribution, _bind(statistic))
    elif isinstance(statistic, str) and statistic == "pit_calibration_error":
        problem = _PITs(targets, distribution, norm)
    else:
        raise ValueError(
            f'statistic must be "pit_calibration_error" or a function; got {statistic!r}.'
        )
    if clusters is None:
        found = _test_rows(problem, None, weights, draws)
    else:
        found = _test_clusters(problem, clusters, weights, draws)
    return found._replace(name=name_statistic(statistic), hypothesis="calibrated distributions")


class _PITs:
    """Distances of the PIT from uniform, of some of the rows."""

    def __init__(self, targets, distribution, norm):
        self.targets, self.norm = targets, norm
        self._ends = read_pit(targets, distribution)
        self._draw_ends = make_pit_source(targets, distribution)

    def list_contents(self):
        """What the statistic sees of each row beside its target, as columns."""
        return np.column_stack(self._ends)

    def choose(self, rows, weights):
        """The statistic of rows, None for all, and a function of random numbers to that of draws.

        The weights are those of the chosen rows.
        """
        ends, draw_ends = self._ends, self._draw_ends
        if rows is not None:
            ends, draw_ends = [side[rows] for side in ends], self.make_source(rows)

        def draw(rng):
            return measure_uniformity(*draw_ends(rng.random(len(ends[0]))), weights, self.norm)

        return measure_uniformity(*ends, weights, self.norm), draw

    def make_source(self, rows):
        """Function of uniform numbers, one for each of the rows, to the ends of their PITs."""

        def draw_ends(u):
            spread = np.full(len(self._ends[0]), 0.5)
            spread[rows] = u
            return [side[rows] for side in self._draw_ends(spread)]

        return draw_ends


class _Targets:
    """The statistic of a function of targets and predictions, of some of the rows."""

    def __init__(self, targets, distribution, measure):
        self.targets, self._distribution, self._measure = targets, distribution, measure

    def list_contents(self):
        """See `_PITs`; a function may see all of a prediction."""
        n_rows = len(self.targets)
        distribution = take_rows(self._distribution, np.arange(n_rows), n_rows)
        if isinstance(distribution, Ensemble):
            members = read_members("distribution", distribution, n_rows, missing=True)
            return np.where(np.isnan(members), np.inf, members)
        # Laws of a family that share these are hardly ever different.
        quartiles = [read_ppf(n_rows, distribution, level) for level in (0.25, 0.5, 0.75)]
        return np.column_stack([*read_pit(self.targets, distribution), *quartiles])

    def choose(self, rows, _):
        """See `_PITs`."""
        targets, distribution = self.targets, self._distribution
        if rows is not None:
            distribution = take_rows(distribution, rows, len(targets))
            targets = targets[rows]
        draw_one = _make_target_source(targets, distribution)

        def draw(rng):
            return self._measure(*draw_one(rng.random(len(targets))))

        return self._measure(targets, distribution), draw


def _bind(statistic):
    """The function of a user, whose values are checked."""

    def measure(targets, distribution):
        value = statistic(targets, distribution)
        if not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise ValueError(f"statistic must return a finite float; got {value!r}.")
        return float(value)

    return measure


def _test_rows(problem, rows, weights, draws):
    """The exact test of rows that are independent."""
    observed, draw_one = problem.choose(rows, weights)

    def draw(rng, n_draws):
        return np.array([draw_one(rng) for _ in range(n_draws)])

    return _compare(observed, draws.run(draw)[0])


def _compare(observed, drawn):
    pvalue = find_pvalue(observed, drawn)
    return TestResult(observed, pvalue, observed, null_mean=float(drawn.mean()))


def _test_clusters(problem, clusters, weights, draws):
    """The test by signs of clusters, or by single rows of them where that may not hold."""
    estimate = problem.choose(None, weights)[0]
    present = np.ones(len(problem.targets), dtype=bool) if weights is None else weights > 0
    rows, weights = np.flatnonzero(present), None if weights is None else weights[present]
    contents = problem.list_contents()[rows]
    member = number_clusters(clusters, present)
    member, kept, weights = unite_copies(member, contents, problem.targets[rows], weights)
    rows = rows[kept]
    if member is None:
        found = _test_rows(problem, rows, weights, draws)
    elif isinstance(problem, _PITs) and has_known_law(
        problem.make_source(rows), *contents[kept].T, weights, member
    ):
        signed = SignedPIT(*contents[kept].T, weights, member, problem.norm)
        found = _compare(problem.choose(rows, weights)[0], draws.run(signed.draw)[0])
    else:
        found = _test_choices(problem, rows, weights, member, draws)
    return found._replace(estimate=estimate)


def _test_choices(problem, rows, weights, member, draws):
    """The test by one row of each cluster, chosen several times."""
    units, found = Units(len(rows), member), []
    for _ in range(N_CHOICES):
        one = units.choose_rows(draws.rng)
        own = None if weights is None else weights[one]
        found.append(_test_rows(problem, rows[one], own, draws))
    value, pvalue, chance = np.mean(
        [(one.statistic, one.pvalue, one.null_mean) for one in found], 0
    )
    pvalue = carry_least(min(1.0, 2 * pvalue), *(one.pvalue for one in found))
    return TestResult(float(value), pvalue, float(value), null_mean=float(chance))


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
