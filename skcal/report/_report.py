"""The report as an object: sentence, text, tables, page and dictionary."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from skcal._input._validation import check_option
from skcal._tools._typing import ArrayLike, RandomState
from skcal.inference import CalibrationComparison
from skcal.report._compute import compute_report
from skcal.report._dict import make_dict
from skcal.report._frame import make_frame, make_paper_frame
from skcal.report._html import TITLE, write_html, write_page
from skcal.report._models import predict_labels, predict_models
from skcal.report._records import ModelReport
from skcal.report._sentence import write_labels
from skcal.report._text import write_report
from skcal.report._validated import compute_held_out

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationReport:
    """Result of :func:`~skcal.report.calibration_report`, or of a class method of this class.

    ``print(report)`` shows it as text, a notebook as HTML; by itself it shows its sentence.

    Parameters
    ----------
    models : dict
        A :class:`ModelReport` for each model, by name; the name is None if there is one model
        without a name. With ``reduction="multilabel"`` one for each label.
    confidence_level : float
        Level of intervals, bounds and tests; of several labels, for all at once.
    tolerance : float
        Average error that counts as calibrated, or nearly so.
    comparison : CalibrationComparison or None, default=None
        Differences of the smooth ECE of several models, see
        :func:`skcal.inference.compare_calibration`; None of one model, and of several labels.
    created : datetime or None, default=None
        When the numbers were computed, for the page of :meth:`to_html`. Nothing else depends on it.
    version : str or None, default=None
        Version of skcal that computed them, for the same page.

    Examples
    --------
    >>> from skcal.report import calibration_report
    >>> report = calibration_report([0, 1, 1, 0] * 5, [0.2, 0.7, 0.9, 0.4] * 5, random_state=0)
    >>> report
    Cannot tell: 20 rows are too few; ...
    >>> round(report.models[None].measures["smooth_ece"].estimate, 3)
    0.178
    """

    models: dict[str | None, ModelReport]
    confidence_level: float
    tolerance: float
    comparison: CalibrationComparison | None = None
    created: datetime | None = None
    version: str | None = None

    @property
    def verdict(self) -> str:
        """The verdict on the model; of several each of `models` has its own."""
        return self._get_model("verdict").verdict

    @property
    def sentence(self) -> str:
        """The verdict with its reasons, in a sentence; of several each of `models` has its own."""
        return self._get_model("sentence").sentence

    def _get_model(self, name):
        """The only model, or an AttributeError, so that `hasattr` tells."""
        if len(self.models) > 1:
            first = next(iter(self.models))
            what = "labels" if self.comparison is None else "models"
            raise AttributeError(
                f"A report of {len(self.models)} {what} has no {name} of its own; take that of "
                f"each, such as report.models[{first!r}].{name}."
            )
        return next(iter(self.models.values()))

    def to_frame(self, *, kind: Literal["numbers", "paper"] = "numbers") -> pd.DataFrame:
        """The numbers as a pandas DataFrame.

        Parameters
        ----------
        kind : {"numbers", "paper"}, default="numbers"
            "numbers" has one row for each model and quantity, "paper" texts to be pasted, with one
            column for each model.

        Returns
        -------
        DataFrame
            Of "numbers" the columns "model" (name), "quantity", "estimate", "low" and "high" (ends
            of the interval) and "null_mean" (mean value of a calibrated model). NaN stands for what
            a quantity does not have.

            Of "paper" a column for each model, "Estimate" if there is one without a name. The index
            has readable names of quantities; estimates stand with their intervals, as in
            "0.155 (0.148 to 0.171)". ``to_latex`` and ``to_markdown`` write it as it is, since no
            text holds signs of TeX; names of models may: ``to_latex(escape=True)``.

        Raises
        ------
        ValueError
            If `kind` is neither.

        Examples
        --------
        >>> from skcal.report import calibration_report
        >>> report = calibration_report([0, 1, 1, 0] * 5, [0.2, 0.7, 0.9, 0.4] * 5, random_state=0)
        >>> report.to_frame(kind="paper").loc[["Rows", "Brier score"]]
                                Estimate
        95 per cent intervals
        Rows                          20
        Brier score                0.075
        """
        check_option("kind", kind, ("numbers", "paper"))
        if kind == "paper":
            return make_paper_frame(self.models, self.confidence_level)
        return make_frame(self.models)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator | Mapping[str, BaseEstimator],
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        groups: Any = None,
        features: Any = None,
        clusters: ArrayLike | None = None,
        reduction: Literal["auto", "confidence", "multilabel"] = "auto",
        scale: Literal["probability", "logit"] = "probability",
        confidence_level: float = 0.95,
        tolerance: float = 0.05,
        clinical: bool = False,
        n_resamples: int = 499,
        n_jobs: int | None = None,
        progress: bool | Callable[..., Any] | None = None,
        random_state: RandomState = None,
    ) -> CalibrationReport:
        """Report on a fitted classifier, or on several.

        Parameters
        ----------
        estimator : estimator instance or dict
            Fitted classifier with `predict_proba`, or a dictionary of several, by name. Labels
            that one of them does not know have probability 0 there.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, of rows that the classifier was not fitted on.
        y : array-like of shape (n_samples,), or (n_samples, n_labels)
            True labels, or an indicator for ``reduction="multilabel"``.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights that do not depend on outcomes, see :ref:`weights-in-inference`.
        pos_label : int, float, bool or str, default=None
            The positive label; by default the last class of two. With more than two classes it
            selects that class against the rest.
        groups : data frame, dict, Groups or array-like, default=None
            Groups for each of which the model should be right: a table, of whose columns groups are
            made, a label for each row, or a matrix of memberships, see
            :func:`skcal.inference.audit_groups`. None looks at all rows together alone.
        features : data frame, dict of array-like, or array-like, default=None
            Features to look for rows in which the model is wrong, see
            :func:`skcal.inference.audit_features`. None looks for none.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a patient or a question: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None means independent rows.
        reduction : {"auto", "confidence", "multilabel"}, default="auto"
            What measures and tests read, see :func:`calibration_report`.
        scale : {"probability", "logit"}, default="probability"
            Scale of SmoothECE and of the diagram, see :func:`calibration_report`.
        confidence_level : float, default=0.95
            Level of intervals and bounds; tests reject at 1 - confidence_level, in (0, 1).
        tolerance : float, default=0.05
            Average error, in units of probability, that still counts as calibrated, or nearly
            so where it is detectable. In (0, 1).
        clinical : bool, default=False
            Whether to add a section for a clinical paper, see :func:`calibration_report`.
        n_resamples : int, default=499
            Number of draws of labels, from 2 to 2^24.
        n_jobs : int, default=None
            Number of parallel jobs of joblib, by default threads.
        progress : bool or callable, default=None
            A progress bar over parts of each model, four and one each for `clinical`, `groups` and
            `features`: True for a tqdm bar (tqdm must be installed), or a function that takes an
            iterable and returns one, such as ``tqdm.tqdm``.
        random_state : int, RandomState, Generator or None, default=None
            Source of draws, halves and folds.

        Returns
        -------
        CalibrationReport
            The report, see :func:`calibration_report`.

        Raises
        ------
        ValueError
            If an argument is invalid or an estimator has no `predict_proba`.
        sklearn.exceptions.NotFittedError
            If an estimator is not fitted.

        See Also
        --------
        calibration_report : The same for given probabilities.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.report import CalibrationReport
        >>> X, y = make_classification(n_samples=2000, random_state=0)
        >>> classifier = GaussianNB().fit(X[:1000], y[:1000])
        >>> CalibrationReport.from_estimator(classifier, X[1000:], y[1000:], random_state=0)
        Nearly calibrated: ...
        """
        if reduction == "multilabel":
            y_proba, labels = predict_labels(estimator, X, y), None
        else:
            y_proba, labels = predict_models(estimator, X, y)
        computed = compute_report(
            y,
            y_proba,
            sample_weight=sample_weight,
            pos_label=pos_label,
            labels=labels,
            groups=groups,
            features=features,
            clusters=clusters,
            reduction=reduction,
            scale=scale,
            confidence_level=confidence_level,
            tolerance=tolerance,
            clinical=clinical,
            n_resamples=n_resamples,
            n_jobs=n_jobs,
            progress=progress,
            random_state=random_state,
        )
        return cls(*computed)

    @classmethod
    def from_internal_validation(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        groups: Any = None,
        clusters: ArrayLike | None = None,
        params: dict[str, Any] | None = None,
        scale: Literal["probability", "logit"] = "probability",
        confidence_level: float = 0.95,
        tolerance: float = 0.05,
        clinical: bool = False,
        n_resamples: int = 200,
        n_jobs: int | None = None,
        progress: bool | Callable[..., Any] | None = None,
        random_state: RandomState = None,
    ) -> CalibrationReport:
        """Report on a classifier from the rows that it is fitted on, without a test set.

        Parameters
        ----------
        estimator : estimator instance
            Classifier with `predict_proba`, which is fitted again and again: all that the data
            decide belongs inside.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features of all rows.
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows in the report, and nowhere else, see
            :ref:`weights-in-inference`.
        pos_label : int, float, bool or str, default=None
            The positive label; by default the last of two. With more it must be given, and is
            reported against the rest.
        groups : data frame, dict, Groups or array-like, default=None
            Groups for each of which the model should be right, see :func:`calibration_report`. None
            looks at all rows together alone.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a patient or a question: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None means independent rows.
        params : dict, default=None
            What goes to ``estimator.fit``.
        scale : {"probability", "logit"}, default="probability"
            Scale of SmoothECE and of the diagram, see :func:`calibration_report`.
        confidence_level : float, default=0.95
            Level of intervals and bounds; tests reject at 1 - confidence_level, in (0, 1).
        tolerance : float, default=0.05
            Average error, in units of probability, that still counts as calibrated, or nearly
            so where it is detectable. In (0, 1).
        clinical : bool, default=False
            Whether to add a section for a clinical paper, see :func:`calibration_report`.
        n_resamples : int, default=200
            Number of models that are fitted to ten folds, again and again; from 2 to 2^24.
        n_jobs : int, default=None
            Number of parallel jobs of joblib.
        progress : bool or callable, default=None
            A progress bar over models: True for a tqdm bar (tqdm must be installed), or a function
            that takes an iterable and returns one, such as ``tqdm.tqdm``.
        random_state : int, RandomState, Generator or None, default=None
            Source of folds, resamples, draws and halves.

        Returns
        -------
        CalibrationReport
            The report. Its tests, measures and diagram are those of the predictions of the first
            ten folds, each by a model that has not seen the row; ``validation`` of its
            :class:`ModelReport` has the measures of all of them.

        Raises
        ------
        ValueError
            If an argument is invalid, or if too many models cannot be fitted.

        See Also
        --------
        skcal.model_selection.internal_validation : The validation alone, with other methods.

        Notes
        -----
        Predictions of several models are tested as if they were of one. These models share most of
        their rows, so that tests and intervals are a little too sure.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.report import CalibrationReport
        >>> X, y = make_classification(n_samples=300, random_state=0)
        >>> report = CalibrationReport.from_internal_validation(
        ...     GaussianNB(), X, y, n_resamples=20, random_state=0
        ... )
        >>> report.sentence.partition(":")[0]
        'No test set was used'
        """
        computed = compute_held_out(
            estimator,
            X,
            y,
            sample_weight=sample_weight,
            pos_label=pos_label,
            groups=groups,
            clusters=clusters,
            params=params,
            scale=scale,
            confidence_level=confidence_level,
            tolerance=tolerance,
            clinical=clinical,
            n_resamples=n_resamples,
            n_jobs=n_jobs,
            progress=progress,
            random_state=random_state,
        )
        return cls(*computed)

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, title: str = TITLE
    ) -> str | None:
        """The report as a page that needs no other file, diagrams included.

        Below the title it has the day on which the report was made, and the version of skcal.

        Parameters
        ----------
        path : str or path, default=None
            File to write, in UTF-8; its folder must exist, and an older file is replaced. None
            returns the page.
        title : str, default="Calibration report"
            Title of the page, such as the name of the data.

        Returns
        -------
        str or None
            The page; None if it was written to a file.

        Raises
        ------
        ValueError
            If `path` is no path of a file in a folder that exists, or `title` is empty.

        Examples
        --------
        >>> from skcal.report import calibration_report
        >>> report = calibration_report([0, 1, 1, 0] * 5, [0.2, 0.7, 0.9, 0.4] * 5, random_state=0)
        >>> report.to_html().startswith("<!DOCTYPE html>")
        True
        """
        return write_page(self, path, title)

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists, strings, numbers, True, False and None.

        Returns
        -------
        dict
            Items "confidence_level", "tolerance", "comparison" (None of one model) and "models", a
            list with a dictionary for each model: its "name", and the attributes of its
            :class:`ModelReport`. Records have become
            dictionaries with the names of their attributes, arrays lists, and the diagram the
            parameters of :class:`~skcal.diagrams.ReliabilityDisplay` and of its curves.
            ``json.dumps`` writes it, and strict JSON holds it: numbers that do not exist are None,
            and infinite ones the strings "Infinity" and "-Infinity", which `float` reads.
        """
        return make_dict(self)

    def __str__(self):
        return write_report(self)

    def __repr__(self):
        if len(self.models) == 1:
            return self.sentence
        lines = [f"{name}: {model.sentence}" for name, model in self.models.items()]
        if self.comparison is None:
            lines.insert(0, write_labels(self.models))
        return "\n".join(lines)

    def _repr_html_(self):
        return write_html(self)
