"""How much of a model is to be updated: the closed test."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from skcal._input._clusters import read_clusters, unite_copies
from skcal._input._design import read_design
from skcal._input._independent_rows import (
    check_log_odds,
    list_weights,
    reduce_to_present_rows,
)
from skcal._input._validation import check_inside
from skcal._numerics.inference import _closed_test as closed_test
from skcal._numerics.inference._cox import CoxLikelihood
from skcal._numerics.inference._softmax_models import SoftmaxModels
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_pvalue

_ADVICE = {
    "none": "The model may stay as it is",
    "intercept": "A new intercept is enough",
    "slope": "A new intercept and slope are enough",
    "revision": "The model needs to be revised",
}
_NEEDED = {
    "intercept": "A new intercept is needed",
    "slope": "A new intercept and slope are needed",
    "revision": _ADVICE["revision"],
}


@as_record
class UpdateChoice(NamedTuple):
    """How much of a model is to be updated, by a closed test.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    update : str
        "none", "intercept", "slope" or "revision": the smallest update that the test does not
        reject.
    table : DataFrame
        A row for each update: ``update``, ``n_parameters``, ``intercept`` and ``slope`` of the log
        odds (NaN for the revision, which has other coefficients too), the mean ``log_loss``, and
        the test against the last one: ``statistic``, ``degrees`` of freedom and ``pvalue``, NaN for
        the last one itself.
    alpha : float
        Level of the test.
    """

    update: str
    table: pd.DataFrame
    alpha: float

    def __str__(self) -> str:
        tests = ", ".join(
            f"{name} {show_pvalue(pvalue)}"
            for name, pvalue in zip(self.table["update"], self.table["pvalue"], strict=True)
            if not np.isnan(pvalue)
        )
        largest = self.table["update"].tolist()[-1]
        advice = (_NEEDED if self.update == largest else _ADVICE)[self.update]
        return f"{advice} (tests against {largest}: {tests})."

    def to_frame(self) -> pd.DataFrame:
        """Table of the updates.

        Returns
        -------
        DataFrame
            A copy of ``table``.
        """
        return self.table.copy()


def choose_update(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    X: ArrayLike | None = None,
    *,
    alpha: float = 0.05,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    clusters: ArrayLike | None = None,
) -> UpdateChoice:
    r"""Choose between no update, a new intercept, a new slope and a revision by a closed test.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, of rows on which the model was not developed.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities, neither 0 nor 1: of the positive label, or one column per label
        with rows that sum to 1.
    X : array-like of shape (n_samples, n_features), default=None
        Predictors of the model as numbers, finite, categories as indicators. Their coefficients are
        what a revision fits anew. None compares the first three updates alone.
    alpha : float, default=0.05
        Level of the closed test, in (0, 1): of all samples in which an update is right, at most
        this share get a larger one.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`. A weight of 2 is not the
        same as two rows. Those above 0 must lie within a factor of 1e250 of each other.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence"}, default="auto"
        How class probabilities become one binary problem: "confidence" takes the largest
        probability and whether its label came true, "auto" the positive label of a binary problem
        (or `pos_label`) and the confidence otherwise.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.

    Returns
    -------
    UpdateChoice
        Named tuple of the ``update``, a ``table`` of all updates, and `alpha`.

    Raises
    ------
    ValueError
        If an argument is invalid, if a prediction is 0 or 1, if labels are soft, if weights
        differ by more than a factor of 1e250, or if all outcomes are equal.

    See Also
    --------
    cox_recalibration : Intercept and slope with their intervals.
    skcal.recalibration.ClosedTestRecalibration : Makes the update that the test chooses.

    Notes
    -----
    With log odds l of the predictions and features x, the updates are

    - "none": l itself;
    - "intercept": :math:`a + l`, calibration in the large;
    - "slope": :math:`a + b\, l`, logistic recalibration;
    - "revision": :math:`a + b\, l + c^\top x`, which for a logistic model of these features is a
      new fit, and for any other model an extension by them.

    Each is tested against the largest one by twice the difference of the log-likelihoods, which
    has a chi-squared distribution with as many degrees of freedom as there are further parameters,
    and the first one with a p-value above `alpha` is chosen [1]_. Since each hypothesis holds in
    all later ones, `alpha` needs no correction. Columns that others determine have no parameter:
    the log odds of a logistic model of all of x do not count beside x.

    The distribution is that for many rows. At 5 %, of right models with 3 features in 400 rows with
    100 events 4.6 % got an update, with 10 features 6.7 %, and 5.7 % of those in 1000 rows
    (``benchmarks/bench_model_updates.py``). With unequal weights, or clusters, statistics count as
    many rows as make the score statistic chi-squared, see :func:`cox_recalibration`; with clusters
    they are read by Hotelling's distribution: of samples of 40 clusters of 25 rows 1.2 % got an
    update, and 3.0 % of those of 100 clusters of 10.

    If all predictions are equal, no slope is identified, and "slope" is left out. Where a threshold
    of the predictions separates the outcomes, its slope is infinite, and the intercept what
    :func:`cox_recalibration` says.

    References
    ----------
    .. [1] Y. Vergouwe, D. Nieboer, R. Oostenbrink, T. P. A. Debray, G. D. Murray, M. W. Kattan,
       H. Koffijberg, K. G. M. Moons, E. W. Steyerberg (2017). A closed testing procedure to select
       an appropriate method for updating prediction models. Statistics in Medicine 36.
       :doi:`10.1002/sim.7179`

    Examples
    --------
    A hospital whose patients are more ill than the model knows:

    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from skcal.inference import choose_update
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> log_odds = X @ [0.8, 0.5, -0.5] - 1
    >>> y_true = (rng.random(1000) < expit(log_odds + 0.6)).astype(int)
    >>> choice = choose_update(y_true, expit(log_odds), X)
    >>> choice.update
    'intercept'
    >>> choice.table[["update", "n_parameters", "degrees"]]
          update  n_parameters  degrees
    0       none             0      4.0
    1  intercept             1      3.0
    2      slope             2      2.0
    3   revision             4      NaN
    """
    alpha = check_inside("alpha", alpha)
    data: dict[str, Any] = {"sample_weight": sample_weight, "pos_label": pos_label}
    data |= {"labels": labels, "reduction": reduction}
    sample, present = reduce_to_present_rows(y_true, y_proba, **data)
    check_log_odds(sample, needs_slope=False)
    columns = None if X is None else read_design("X", X, present)
    models = _make_models(sample, columns, clusters, present)
    updates = closed_test.list_updates(models, has_revision=columns is not None)
    place = closed_test.choose_update([one.test.pvalue for one in updates[:-1]], alpha)
    return UpdateChoice(updates[place].name, _describe(models, updates), alpha)


def _make_models(sample, columns, clusters, present):
    """`SoftmaxModels` of the rows."""
    predictions, outcomes, weights, member = sample.predictions, sample.outcomes, None, None
    if clusters is not None:
        rows = predictions if columns is None else np.column_stack([predictions, columns.T])
        member = read_clusters(clusters, present)
        member, chosen, weights = unite_copies(member, rows, outcomes, sample.weights)
        predictions, outcomes = predictions[chosen], outcomes[chosen]
        columns = None if columns is None else columns[:, chosen]
        weights = np.ones(len(outcomes)) if weights is None else weights
    else:
        weights = list_weights(sample)
    return SoftmaxModels(logit(predictions)[None], outcomes[None], weights, columns, member=member)


def _find_limits(models):
    """Intercept and slope where a threshold of the predictions separates the outcomes."""
    inside = np.clip(expit(models.log_odds[0]), 0.0, np.nextafter(1.0, 0.0))
    fit = CoxLikelihood(inside, models.targets[0], models.shares).fit()
    return fit.intercept, fit.slope


def _describe(models, updates):
    """The table of updates."""
    mean, spread = float(models.shares @ models.log_odds[0]), np.linalg.norm(models.places)
    table = []
    for name, fit, test in updates:
        slope = 1.0 + (fit.values[1] if name == "slope" else 0.0)
        intercept = fit.values[0] + (1.0 - slope) * mean if len(fit.values) else 0.0
        if name == "slope" and not models.determines(fit, np.array([0.0, 1.0]), spread):
            intercept, slope = _find_limits(models)
        if name == "revision":
            intercept = slope = np.nan
        tested = (np.nan,) * 3 if test is None else (test.statistic, test.n_terms, test.pvalue)
        table.append((name, len(fit.values), intercept, slope, fit.loss, *tested))
    columns = ["update", "n_parameters", "intercept", "slope", "log_loss"]
    frame = pd.DataFrame(table, columns=[*columns, "statistic", "degrees", "pvalue"])
    return frame.astype({"degrees": float})
