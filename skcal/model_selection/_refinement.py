"""Where to stop a training: at the stage that is best after recalibration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from reprlib import repr as shorten
from typing import Any, Literal, NamedTuple

import numpy as np

from skcal._input._validation import check_option
from skcal._refinement import (
    LOSSES,
    average_loss,
    check_n_folds,
    choose_small,
    fit_or_cross_fit,
    has_two_classes,
    read_vectors,
)
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike

LIBRARIES = ("lightgbm", "xgboost")


@as_record
class StagedRefinement(NamedTuple):
    """Losses at each stage of training, before and after recalibration.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    best_stage : int
        Number of the stage of the smallest refinement, counted from 0; of equal ones the first.
    refinements : ndarray of shape (n_stages,)
        Mean loss of each stage after recalibration.
    losses : ndarray of shape (n_stages,)
        Mean loss of each stage as it is.
    """

    best_stage: int
    refinements: np.ndarray
    losses: np.ndarray

    def __str__(self) -> str:
        least, last = self.refinements[self.best_stage], self.refinements[-1]
        return (
            f"Stage {self.best_stage} of {len(self.refinements)} has the smallest refinement, "
            f"{least:.3g} (the last stage {last:.3g})."
        )


def stop_by_refinement(
    staged_proba: Iterable[ArrayLike],
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    loss: Literal["log", "brier"] = "log",
    recalibrator: Any = None,
    cv: int | None = None,
) -> StagedRefinement:
    r"""Find the stage of training with the lowest loss after recalibration.

    A model that is trained for long becomes over-confident, and its log loss rises while it still
    learns. A recalibrator repairs over-confidence afterwards: stop where the loss *after*
    recalibration is smallest, which is later.

    Parameters
    ----------
    staged_proba : iterable of array-like
        Probabilities of the validation rows after each stage, in the form of `y_proba` of the
        measures: such as ``model.staged_predict_proba(X_val)``. They are read one by one.
    y : array-like of shape (n_samples,)
        Labels of the validation rows, two different ones at least.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, of the rows in the loss and in the fits; only their proportions
        matter: maps are fitted as to :math:`(\sum w)^2 / \sum w^2` rows.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column, in the order of the columns, ``model.classes_``; by default the
        sorted labels of `y`.
    loss : {"log", "brier"}, default="log"
        Log loss or Brier score.
    recalibrator : recalibrator or str, default=None
        Fitted at every stage. None takes `PlattScaling` for two classes and `TemperatureScaling`
        for more.
    cv : int, default=None
        Number of folds, at least 2, for recalibrators of many parameters: each row is mapped by a
        fit to the other folds. None fits to all rows and measures on the same, which costs a
        recalibrator of one or two parameters nothing, see Notes.

    Returns
    -------
    StagedRefinement
        Named tuple of ``best_stage``, ``refinements`` and ``losses``.

    Raises
    ------
    ValueError
        If an argument is invalid, if there is no stage, or if `y` holds a single label or soft
        ones.

    See Also
    --------
    refinement_metric : The same while XGBoost or LightGBM are trained.
    skcal.refinement.log_loss_refinement : The refinement of a single model, cross-fitted.
    skcal.recalibration.RecalibratedClassifierCV : The recalibration that should follow.

    Notes
    -----
    In 14 problems (:ref:`early-stopping`) boosted trees stopped after 141 rounds rather than 47 on
    average, and lost 2.6 % less log loss on new rows, both after recalibration, with 1000
    validation rows [1]_. With 100 of them nothing was gained: the recalibrator has to be learned
    from these, too. Without a recalibrator that follows, stop by the loss itself,
    ``losses.argmin()``.

    Recalibrators of one or two parameters gain about the same from fitting their own rows at every
    stage, so that the comparison stays fair: cross-fitting takes `cv` times as long, and chose the
    same stages. Those of more parameters, such as isotonic regression, gain more where there is
    more noise: give them ``cv=5``.

    The model has to be fitted again, or cut, to ``best_stage + 1`` stages; validation rows may be
    used once more to fit the final recalibrator.

    References
    ----------
    .. [1] E. Berta, D. Holzmüller, M. I. Jordan, F. Bach (2025). Rethinking early stopping: refine,
       then calibrate. arXiv. :doi:`10.48550/arXiv.2501.19195`

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from skcal.model_selection import stop_by_refinement
    >>> X, y = make_classification(3000, n_informative=8, random_state=0)
    >>> model = HistGradientBoostingClassifier(learning_rate=0.3, random_state=0)
    >>> model = model.fit(X[:1000], y[:1000])
    >>> stop = stop_by_refinement(model.staged_predict_proba(X[1000:]), y[1000:])
    >>> bool(stop.losses.argmin() < stop.best_stage)
    True
    """
    check_option("loss", loss, LOSSES)
    n_folds = None if cv is None else check_n_folds(cv)
    is_iterable = isinstance(staged_proba, Iterable) and not isinstance(staged_proba, str | Mapping)
    if not is_iterable or hasattr(staged_proba, "columns"):
        raise ValueError(
            "staged_proba must be an iterable of arrays of probabilities, one for each stage; got "
            f"{shorten(staged_proba)}."
        )
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    refinements, losses = [], []
    for stage, y_proba in enumerate(staged_proba):
        names = ("y", f"Stage {stage} of staged_proba")
        proba, codes, weights = read_vectors(y, y_proba, **data, names=names)
        _check_labels(codes)
        losses.append(average_loss(proba, codes, weights, loss))
        chosen = choose_small(recalibrator, proba.shape[1])
        mapped = fit_or_cross_fit(chosen, proba, codes, weights, n_folds)
        refinements.append(average_loss(mapped, codes, weights, loss))
    if not losses:
        raise ValueError("staged_proba must hold at least one stage; it is empty.")
    return StagedRefinement(int(np.argmin(refinements)), np.array(refinements), np.array(losses))


def _check_labels(codes):
    if not has_two_classes(codes):
        raise ValueError(
            "y must hold at least two different labels, or no recalibrator can be fitted; got "
            f"{len(codes)} rows of one."
        )


def refinement_metric(
    library: Literal["lightgbm", "xgboost"],
    *,
    loss: Literal["log", "brier"] = "log",
    recalibrator: Any = None,
    cv: int | None = None,
) -> Callable[..., Any]:
    """Make a refinement metric for early stopping in XGBoost or LightGBM.

    Neither library is imported.

    Parameters
    ----------
    library : {"lightgbm", "xgboost"}
        Whose metric it is to be, see Notes.
    loss : {"log", "brier"}, default="log"
        Log loss or Brier score.
    recalibrator : recalibrator or str, default=None
        Fitted after every round. None takes `PlattScaling` for two classes and
        `TemperatureScaling` for more.
    cv : int, default=None
        Number of folds, at least 2. None fits to all rows of the evaluation set and measures on
        the same, see :func:`stop_by_refinement`.

    Returns
    -------
    callable
        ``metric(y_true, y_proba, sample_weight=None)``, a cost: smaller is better. It returns a
        float for XGBoost and (name, value, False) for LightGBM, and may be pickled.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    stop_by_refinement : The same for stages that were predicted already.

    Notes
    -----
    - ``XGBClassifier(eval_metric=refinement_metric("xgboost"), early_stopping_rounds=50)`` stops by
      it, and so does ``xgboost.train(..., custom_metric=..., early_stopping_rounds=50)``.
    - ``LGBMClassifier(metric="None").fit(..., eval_metric=refinement_metric("lightgbm"),
      callbacks=[lightgbm.early_stopping(50)])`` stops by it, and so does
      ``lightgbm.train({"metric": "None", ...}, ..., feval=...)``. Without ``metric="None"`` the log
      loss takes part, and training stops by whichever of the two stops first.

    Tried with XGBoost 3.4 and LightGBM 4.7, for two and three classes, with weights and without.

    Both hand over class numbers and probabilities as long as the objective is one of theirs. With
    an objective of your own they hand over raw margins, which are refused unless they happen to be
    in [0, 1]. With an evaluation set of a single class there is nothing to fit: the metric is then
    the loss as it is.

    Give such a training more patience than usual: the loss after recalibration falls slowly, for
    long.

    Examples
    --------
    >>> from skcal.model_selection import refinement_metric
    >>> y, y_proba = [0, 1, 0, 1, 1, 0], [0.1, 0.9, 0.9, 0.8, 0.9, 0.2]
    >>> name, value, is_higher_better = refinement_metric("lightgbm")(y, y_proba)
    >>> name, round(value, 1), is_higher_better
    ('log_loss_refinement', 0.5, False)
    """
    check_option("library", library, LIBRARIES)
    check_option("loss", loss, LOSSES)
    if cv is not None:
        check_n_folds(cv)
    choose_small(recalibrator, 2)
    return _RefinementMetric(library, loss, recalibrator, cv)


@dataclass(frozen=True)
class _RefinementMetric:
    library: str
    loss: str
    recalibrator: Any
    cv: int | None

    @property
    def __name__(self):
        return "log_loss_refinement" if self.loss == "log" else "brier_refinement"

    # LightGBM counts the arguments; it hands over weights to the third.
    def __call__(self, y_true, y_proba, sample_weight=None):
        is_native = hasattr(y_proba, "get_label")
        if is_native:  # `train` hands over predictions first, and then a data set
            y_true, y_proba, data = y_proba.get_label(), y_true, y_proba
            sample_weight = data.get_weight()
        value = self._measure(y_true, y_proba, sample_weight)
        if self.library == "lightgbm":
            return self.__name__, value, False
        return (self.__name__, value) if is_native else value

    def _measure(self, y_true, y_proba, sample_weight):
        n_classes = np.shape(y_proba)[1] if np.ndim(y_proba) == 2 else 2
        if sample_weight is not None and len(sample_weight) == 0:  # none, in XGBoost's words
            sample_weight = None
        data = {"sample_weight": sample_weight, "labels": np.arange(n_classes)}
        proba, codes, weights = read_vectors(y_true, y_proba, **data)
        recalibrator = choose_small(self.recalibrator, n_classes)
        mapped = fit_or_cross_fit(recalibrator, proba, codes, weights, self.cv)
        return average_loss(mapped, codes, weights, self.loss)
