"""How many rows to label: for the power of a test, and for the width of an interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

from skcal._input._reduction import Predictions
from skcal._input._validation import (
    check_confidence_level,
    check_number,
    check_option,
    check_proba,
    check_sample_weight,
    refuse_unknown_options,
)
from skcal._numerics.inference._cox import CoxLikelihood
from skcal._numerics.inference._monte_carlo import find_pvalues
from skcal._numerics.inference._planning import (
    find_best_size,
    find_chi_squared_power,
    find_divergence,
    find_noncentrality,
    find_shift,
    find_variances,
    search_size,
)
from skcal._numerics.inference._score_interval import find_score_interval
from skcal._sources._bound_measure import bind_for_rows
from skcal._sources._draws import BLOCK, Draws
from skcal._sources._row_source import RowSource
from skcal._tools._arrays import read_numbers
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, RandomState
from skcal.inference._calibration import OMNIBUS, find_measure
from skcal.inference._interval_result import Interval

# The statistic that is no measure either: the test of `cox_recalibration`.
COX = "cox"
# Draws of a planned test, the default of `calibration_test`.
_N_DRAWS = 999
# Simulated studies that lead the search to where it begins.
_FEW_STUDIES = 2 * BLOCK
# Studies of more rows are not simulated, nor of more than this multiple of what the best test
# needs: a statistic that has not found the effect there does not see it.
_LARGEST = 1 << 22
_FARTHEST = 1000
# Differences of probabilities that are rounding.
_ROUNDING = 1e-12

# Rows that are not worth a plan.
_MOST_ROWS = 1e15
# Slopes beyond decide all outcomes, or none.
_STEEPEST = 1e6

_QUANTITIES = ("slope", "calibration_in_the_large", "observed_expected_ratio")


@as_record
class RequiredSamples(NamedTuple):
    """Required number of labelled rows, and the expected result.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    n_samples : int
        Number of rows.
    n_positives : float
        How many of them are expected to be positive (with more than two classes: to have the label
        that is predicted).
    expected : Interval
        Expected result with this number of rows: the power of the test, with the 95 % interval of
        its Monte Carlo error; or the planned quantity, with its confidence interval.
    """

    n_samples: int
    n_positives: float
    expected: Interval

    def __str__(self) -> str:
        estimate, low, high = self.expected
        result = str(self.expected) if low < high else f"{estimate:.3g}"
        return (
            f"{self.n_samples:,} rows, about {self.n_positives:,.0f} of them positive; "
            f"with them the expected result is {result}."
        )


def required_samples(
    y_proba: ArrayLike,
    *,
    effect: Mapping[str, float] | Callable[[np.ndarray], ArrayLike] | ArrayLike,
    power: float = 0.8,
    alpha: float = 0.05,
    statistic: str | Callable[..., Any] = "omnibus",
    sample_weight: ArrayLike | None = None,
    design_effect: float = 1.0,
    n_resamples: int = 2000,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
    **options: Any,
) -> RequiredSamples:
    r"""Number of labelled rows a calibration test needs to detect a given error.

    Only predictions are needed, not labels: what the model predicts for the population in which it
    is to be tested.

    Parameters
    ----------
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, which has the last column of two.
        With more columns the plan is for the confidence: the largest probability, and whether its
        label comes true.
    effect : dict, callable or array-like of shape (n_samples,)
        The error that is to be found: a dict of ``"slope"``, ``"intercept"`` or both, for true log
        odds of intercept + slope * log odds of the prediction, or the true probabilities in [0, 1],
        as an array or as a function of an array of predictions. A slope alone keeps the mean
        prediction right; below 1, predictions are too extreme. An intercept alone shifts all log
        odds; above 0, predictions are too low.
    power : float, default=0.8
        Probability with which the test is to find the error, above `alpha` and below 1.
    alpha : float, default=0.05
        Level of the test: the error is detected if the p-value is at most `alpha`. At least 0.001
        unless `statistic` is "cox".
    statistic : str or callable, default="omnibus"
        Statistic of :func:`calibration_test`, in its forms; or "cox" for the likelihood-ratio test
        of :func:`cox_recalibration`, which needs no simulation.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights: how often rows like this one come in the population.
    design_effect : float, default=1.0
        Number of rows that carry the information of one independent row, above 0. For clusters of m
        rows whose residuals have the correlation r it is 1 + (m - 1) r; that of a pilot is found by
        :func:`skcal.report.calibration_report` with ``clusters=``.
    n_resamples : int, default=2000
        Number of simulated studies, at most 2^24, for each number of rows that is tried.
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The result does not depend on it.
    progress : bool or callable, default=None
        A progress bar over studies, for each number of rows that is tried: True for a
        tqdm bar (tqdm must be installed), or a function that takes an iterable and returns one,
        such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the simulated studies.
    **options : dict
        Keyword arguments of the measure, such as ``n_bins=20``.

    Returns
    -------
    RequiredSamples
        Named tuple of ``n_samples``, ``n_positives``, the expected number of positive labels among
        them, and ``expected``, the power with the interval of its Monte Carlo error.

    Raises
    ------
    ValueError
        If an argument is invalid, if predictions are right in spite of `effect`, if the test takes
        more than four million rows, or a thousand times as many as the best, or if a prediction is
        0 or 1, or all are equal, for "cox".
    TypeError
        If the measure has no argument of the name of an option.

    See Also
    --------
    required_samples_for_width : Rows for an interval of a given length.
    calibration_test : The test itself.

    Notes
    -----
    A study of n rows draws predictions from those that are given, and labels from the true
    probabilities, and tests these as :func:`calibration_test` does with its 999 draws. Up to 128
    studies have their rows, and the draws that they are compared with, in common, so that each of
    them costs about as much as ten draws. The number of rows is searched for with the same random
    numbers throughout, until the power exceeds the goal by less than its standard error. With 2000
    studies that is about .01, which is 3 % of the rows.

    The likelihood-ratio statistic of Cox's model has approximately a noncentral chi-squared
    distribution with 2 degrees of freedom [1]_. Its noncentrality is :math:`2 n g`, where g is what
    the best recalibration :math:`a + b\, \mathrm{logit}\, v` takes off the expected log loss. With
    :math:`\lambda` the noncentrality at which the test has the power,

    .. math:: n = \lceil \lambda / (2 g) \rceil.

    Like the test itself it is an approximation for many rows: in simulations of twelve errors and a
    goal of .8, it gave a power of .76 to .81 where 18 or more positive labels and 180 or more rows
    were needed, and of .87 to .88 where it was fewer.

    References
    ----------
    .. [1] S. G. Self, R. H. Mauritsen, J. Ohara (1992). Power calculations for likelihood ratio
       tests in generalized linear models. Biometrics 48. :doi:`10.2307/2532736`

    Examples
    --------
    How many rows show that log odds should be half of what they are?

    >>> import numpy as np
    >>> from skcal.inference import required_samples
    >>> y_proba = np.random.default_rng(0).beta(2, 3, 1000)
    >>> required_samples(y_proba, effect={"slope": 0.5}, statistic="cox").n_samples
    224
    >>> found = required_samples(y_proba, effect={"slope": 0.5}, random_state=0)
    >>> 230 < found.n_samples < 270
    True

    And that a rare event is twice as frequent as predicted?

    >>> rare = np.random.default_rng(0).beta(1, 19, 1000)
    >>> required_samples(rare, effect=lambda v: np.minimum(2 * v, 1), statistic="cox").n_samples
    216
    """
    design_effect = _check_design_effect(design_effect)
    power, alpha = check_number("power", power, 0, below=1), check_number("alpha", alpha, 0)
    if not 0 < alpha < power:
        raise ValueError(f"power must be above alpha, and alpha above 0; got {power} and {alpha}.")
    is_cox = isinstance(statistic, str) and statistic == COX
    if is_cox:
        refuse_unknown_options(COX, options, [], required_samples)
    else:
        is_omnibus, measure, options = find_measure(statistic, options, required_samples)
        others = (OMNIBUS, COX)
        measure = bind_for_rows(
            "statistic", measure, options, "auto", None, required_samples, others
        )
        if alpha < 1 / (1 + _N_DRAWS):
            raise ValueError(
                f"alpha must be at least {1 / (1 + _N_DRAWS):g}, the smallest p-value of "
                f"{_N_DRAWS} draws, unless statistic='cox'; got {alpha:g}."
            )
    draws = Draws(n_resamples, random_state, n_jobs, progress=progress)
    population = _read_population(y_proba, sample_weight, effect)
    if is_cox:
        return _plan_cox(population, power, alpha, design_effect)
    study = _Study(population, measure, is_omnibus, alpha, draws)
    best = find_best_size(find_divergence(*population), power, alpha)
    # Where outcomes come true that were predicted to be impossible, a row may be enough; but which?
    largest = int(min(_LARGEST, _FARTHEST * (best + 1))) if best else _LARGEST
    n_rows = 1 + int(2 * best) if best <= largest else None
    for n_studies in (min(_FEW_STUDIES, draws.n_resamples), draws.n_resamples):
        n_rows = n_rows and study.search(power, n_studies, n_rows, largest)
    if n_rows is None:
        raise ValueError(
            f"effect must be large enough to be detected with a power of {power:g} in at most "
            f"{largest} rows; this one needs more. The best test needs about {best:.3g}."
        )
    return population.plan(n_rows, study.simulate(n_rows, draws.n_resamples), design_effect)


def required_samples_for_width(
    y_proba: ArrayLike,
    *,
    width: float,
    quantity: Literal["slope", "calibration_in_the_large", "observed_expected_ratio"] = "slope",
    effect: Mapping[str, float] | Callable[[np.ndarray], ArrayLike] | ArrayLike | None = None,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    design_effect: float = 1.0,
) -> RequiredSamples:
    r"""Number of labelled rows needed for a confidence interval of a given width.

    Only predictions are needed, not labels: what the model predicts for the population in which it
    is to be validated.

    Parameters
    ----------
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities, one for each row as in :func:`required_samples`: neither 0 nor 1,
        nor all equal; for the ratio of observed to expected they only must not all be 0.
    width : float
        Length of the interval, above 0, in units of the quantity.
    quantity : {"slope", "calibration_in_the_large", "observed_expected_ratio"}, default="slope"
        What the interval is of: a coefficient of :func:`cox_recalibration`, or the number of
        positive labels divided by the sum of the predictions.
    effect : dict, callable or array-like of shape (n_samples,), default=None
        The error that is expected, see :func:`required_samples`. None is a calibrated model.
    confidence_level : float, default=0.95
        Level of the interval, in (0, 1).
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights: how often rows like this one come in the population.
    design_effect : float, default=1.0
        Number of rows that carry the information of one independent row, above 0. For clusters of m
        rows whose residuals have the correlation r it is 1 + (m - 1) r, and for the slope about
        1 + (m - 1) r s, with the correlation s of their log odds: predictions that vary within
        clusters cost less. That of the mean residual of a pilot, which
        :func:`skcal.report.calibration_report` finds with ``clusters=``, is cautious for the slope.

    Returns
    -------
    RequiredSamples
        Named tuple of ``n_samples``, ``n_positives``, the expected number of positive labels among
        them, and ``expected``, the quantity with the interval that is expected.

    Raises
    ------
    ValueError
        If an argument is invalid, or if the true probabilities are all 0 or all 1.

    See Also
    --------
    required_samples : Rows for the power of a test.
    required_labels : The same where few rows are labelled and a judge sees all.
    cox_recalibration : The intervals of both coefficients.

    Notes
    -----
    The rows are those of normal theory [1]_, with the predictions themselves instead of an assumed
    distribution. With the log odds x of a prediction, the probability p of the recalibration
    :math:`a + b x` that is best for the true probabilities, and the information of a row

    .. math:: I_a = \mathbb{E}[p (1 - p)], \quad I_{ab} = \mathbb{E}[x p (1 - p)], \quad
        I_b = \mathbb{E}[x^2 p (1 - p)],

    the squared standard errors of n rows are

    - :math:`I_a / (n (I_a I_b - I_{ab}^2))` for the slope,
    - :math:`1 / (n I_a)` for calibration in the large, where b = 1,
    - :math:`(1 - \phi) / (n \phi)` for the logarithm of the ratio of observed to expected, with
      the true frequency :math:`\phi` of positive labels.

    The interval is the estimate plus and minus a quantile of the normal distribution times the
    standard error; for the ratio it is so on the scale of logarithms, so that the interval around a
    ratio R has the length :math:`2 R \sinh(z\, \mathrm{SE})`. The exact interval of Clopper and
    Pearson is longer by 2 or 3 %. About half of all studies have a longer interval than expected.

    References
    ----------
    .. [1] R. D. Riley, T. P. A. Debray, G. S. Collins, L. Archer, J. Ensor, M. van Smeden,
       K. I. E. Snell (2021). Minimum sample size for external validation of a clinical prediction
       model with a binary outcome. Statistics in Medicine 40. :doi:`10.1002/sim.9025`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import required_samples_for_width
    >>> y_proba = np.random.default_rng(0).beta(1, 19, 1000)
    >>> found = required_samples_for_width(y_proba, width=0.4)
    >>> found.n_samples, round(found.n_positives)
    (2888, 145)
    >>> ratio = "observed_expected_ratio"
    >>> required_samples_for_width(y_proba, width=0.4, quantity=ratio).n_samples
    1845
    """
    check_option("quantity", quantity, _QUANTITIES)
    width = check_number("width", width, 0)
    if width == 0:
        raise ValueError("width must be above 0; got 0.")
    design_effect = _check_design_effect(design_effect)
    reach = -ndtri((1 - check_confidence_level(confidence_level)) / 2)
    population = _read_population(y_proba, sample_weight, effect)
    v, truth, weights = population
    frequency = float(weights @ truth)
    if not 0 < frequency < 1:
        raise ValueError(
            "effect must leave both outcomes possible to plan an interval; all true "
            f"probabilities are {frequency:g}."
        )
    if quantity == "observed_expected_ratio":
        expected = weights @ v
        if expected == 0:
            raise ValueError("y_proba must not be 0 in all rows, or no event is expected.")
        ratio, variance = frequency / expected, (1 - frequency) / frequency
        n_rows = _count_rows(variance, np.arcsinh(width / (2 * ratio)) / reach)
        factor = np.exp(reach * np.sqrt(variance / n_rows))
        interval = Interval(*map(float, (ratio, ratio / factor, ratio * factor)))
        return population.plan(n_rows, interval, design_effect)
    population.check_log_odds(f"quantity={quantity!r}")
    estimate, variance = _find_coefficient(population, quantity)
    n_rows = _count_rows(variance, width / (2 * reach))
    half = reach * np.sqrt(variance / n_rows)
    interval = Interval(*map(float, (estimate, estimate - half, estimate + half)))
    return population.plan(n_rows, interval, design_effect)


def _check_design_effect(design_effect):
    """The number as a float above 0."""
    design_effect = check_number("design_effect", design_effect, 0)
    if design_effect == 0:
        raise ValueError("design_effect must be above 0; got 0.")
    return design_effect


def _find_coefficient(population, quantity):
    """A coefficient that many rows would show, and the squared standard error of one row."""
    v, truth, weights = population
    log_odds = logit(v)
    if quantity == "calibration_in_the_large":
        intercept = find_shift(log_odds, weights, 1.0, weights @ truth)
        return intercept, find_variances(log_odds, expit(intercept + log_odds), weights)[1]
    fit = CoxLikelihood(v, truth, weights).fit()
    if np.isinf(fit.slope):
        raise ValueError(
            "effect must not decide the outcomes by a threshold of the predictions for "
            "quantity='slope'; the slope is then infinite."
        )
    chances = expit(fit.intercept + fit.slope * log_odds)
    return fit.slope, find_variances(log_odds, chances, weights)[0]


def _count_rows(variance, standard_error):
    """Rows that have this standard error, when that of one row is the root of the variance."""
    with np.errstate(all="ignore"):
        n_rows = np.ceil(variance / standard_error**2)
    if not n_rows <= _MOST_ROWS:
        raise ValueError(
            f"width must be large enough for at most {_MOST_ROWS:g} rows; this one needs "
            f"{n_rows:g}."
        )
    return max(int(n_rows), 1)


class _Population(NamedTuple):
    """Rows that future ones are drawn from: predicted and true probabilities."""

    predictions: np.ndarray
    truth: np.ndarray
    weights: np.ndarray  # shares of the population, all above 0, which sum to 1

    def plan(self, n_rows, expected, design_effect):
        """The result: rows with the information of this many independent ones."""
        if n_rows * design_effect > _MOST_ROWS:
            raise ValueError(
                f"design_effect must be small enough for at most {_MOST_ROWS:g} rows; this one "
                f"needs {n_rows * design_effect:g}."
            )
        n_rows = max(int(np.ceil(n_rows * design_effect)), 1)
        return RequiredSamples(n_rows, n_rows * float(self.weights @ self.truth), expected)

    def check_log_odds(self, purpose):
        """Raise a ValueError unless log odds are finite and not all equal."""
        low, high = self.predictions.min(), self.predictions.max()
        if low <= 0 or high >= 1:
            raise ValueError(
                "y_proba must lie between 0 and 1, both excluded, because log odds of 0 and 1 are "
                f"infinite, for {purpose}; got {low if low <= 0 else high:g}."
            )
        if logit(low) == logit(high):
            raise ValueError(
                f"y_proba must hold at least two different predictions for {purpose}; all are "
                f"{low:g}."
            )


def _read_population(y_proba, sample_weight, effect):
    proba = check_proba("y_proba", read_numbers("y_proba", y_proba))
    if proba.ndim == 2:
        proba = proba[:, 1] if proba.shape[1] == 2 else proba.max(axis=1)
    predictions = proba.astype(np.float64)
    weights = check_sample_weight(sample_weight, len(predictions))
    weights = np.ones(len(predictions)) if weights is None else weights.astype(np.float64)
    weights /= weights.sum()
    truth = predictions if effect is None else _find_truth(effect, predictions, weights)
    present = weights > 0
    population = _Population(predictions[present], truth[present], weights[present])
    if effect is not None and np.abs(population.truth - population.predictions).max() <= _ROUNDING:
        raise ValueError(
            "effect must make predictions wrong; this one leaves every probability unchanged, so "
            "there is nothing to detect."
        )
    return population


def _find_truth(effect, predictions, weights):
    """True probabilities of all rows."""
    if isinstance(effect, Mapping):
        return _distort(effect, predictions, weights)
    name, values = "effect", effect
    if callable(effect):
        name, values = "The value of effect", effect(predictions.copy())
    elif isinstance(effect, str | Real):
        shift = "" if isinstance(effect, str) else f" {{'intercept': {effect}}} shifts log-odds."
        raise ValueError(
            f"effect must be a dict such as {{'slope': 0.8}}, a function or an array of true "
            f"probabilities; got {effect!r}.{shift}"
        )
    truth = read_numbers(name, values).astype(np.float64)
    if truth.shape != predictions.shape:
        raise ValueError(
            f"{name} must have shape {predictions.shape}, a true probability for each row of "
            f"y_proba; got {truth.shape}."
        )
    return check_proba(name, truth)


def _distort(effect, predictions, weights):
    """True probabilities whose log odds are a linear function of those of the predictions."""
    for name in effect:
        check_option("A key of effect", name, ("slope", "intercept"))
    if not effect:
        raise ValueError("effect must have a slope, an intercept or both; got an empty dict.")
    slope = check_number("The slope of effect", effect.get("slope", 1.0), -np.inf)
    if not 1 / _STEEPEST <= slope <= _STEEPEST:
        raise ValueError(
            f"The slope of effect must lie in [{1 / _STEEPEST:g}, {_STEEPEST:g}]; got {slope:g}."
        )
    log_odds = logit(predictions)
    if "intercept" in effect:
        intercept = check_number("The intercept of effect", effect["intercept"], -np.inf)
    else:
        intercept = find_shift(log_odds, weights, slope, weights @ predictions)
    return expit(intercept + slope * log_odds)


def _plan_cox(population, power, alpha, design_effect):
    """Rows for the likelihood-ratio test of intercept 0 and slope 1."""
    population.check_log_odds("statistic='cox'")
    v, truth, weights = population
    if not 0 < weights @ truth < 1:
        raise ValueError(
            "effect must leave both outcomes possible for statistic='cox'; all true probabilities "
            f"are {truth[0]:g}."
        )
    likelihood = CoxLikelihood(v, truth, weights)
    noncentrality = 2 * likelihood.compare(likelihood.fit())
    if noncentrality <= _ROUNDING:
        raise ValueError(
            "effect must be an error that logistic recalibration reduces for statistic='cox'; "
            "this one is not. Use statistic='omnibus'."
        )
    n_rows = max(int(np.ceil(find_noncentrality(power, alpha, 2) / noncentrality)), 1)
    power = find_chi_squared_power(n_rows * noncentrality, alpha, 2)
    return population.plan(n_rows, Interval(power, power, power), design_effect)


class _Study:
    """Simulated studies of one kind, whose labels are drawn from the true probabilities."""

    def __init__(self, population, measure, is_omnibus, alpha, draws):
        self._is_binary = measure.find_reduction() in ("auto", "confidence")
        if self._is_binary:
            measure = measure._replace(reduction="auto")
        self._population, self._measure, self._is_omnibus = population, measure, is_omnibus
        self._alpha, self._draws, self._seed = alpha, draws, draws.rng.integers(1 << 63)
        self._ends = np.cumsum(population.weights)
        self.simulate = cache(self._simulate)

    def search(self, power, n_studies, start, largest):
        """Rows for a power, found by simulated studies; None if too many are needed."""
        return search_size(
            lambda n_rows: self.simulate(n_rows, n_studies).estimate,
            power,
            self._alpha,
            start,
            largest,
            np.sqrt(power * (1 - power) / n_studies),
        )

    def _simulate(self, n_rows, n_studies):
        """Power of the test with a number of rows, with the interval of its Monte Carlo error."""

        def count_rejections(rng, size):
            pvalues = self._find_pvalues(rng, n_rows, size)
            return [[np.count_nonzero(pvalues <= self._alpha), size]]

        draws = self._draws.restart(n_studies, np.random.default_rng(self._seed))
        rejected, sizes = draws.collect(count_rejections).T
        power, count = rejected.sum() / n_studies, n_studies
        variance = power * (1 - power) / n_studies
        if len(sizes) > 1:  # studies of a block have rows and draws in common
            spread = ((rejected - power * sizes) ** 2).sum() / n_studies**2
            spread *= len(sizes) / (len(sizes) - 1)
            count *= min(variance / spread, 1.0) if spread else 1.0
        return Interval(*map(float, (power, *find_score_interval(power, count, 0.95))))

    def _find_pvalues(self, rng, n_rows, n_studies):
        """p-values of studies of the same rows."""
        chosen = np.searchsorted(self._ends, rng.random(n_rows), side="right")
        chosen = np.minimum(chosen, len(self._ends) - 1)  # shares may sum to less than 1
        truth = self._population.truth[chosen]
        labels = (rng.random(n_rows) < truth).astype(np.intp)
        rows = Predictions(self._population.predictions[chosen], labels, None)
        source = RowSource(self._measure, rows, self._is_binary)
        drawn, values = (
            source.make_null(is_omnibus=self._is_omnibus, truth=law).draw(rng, size)
            for law, size in ((None, _N_DRAWS), (truth, n_studies))
        )
        return find_pvalues(values, drawn)
