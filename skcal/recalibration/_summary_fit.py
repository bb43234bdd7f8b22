"""Recalibrators that learn from a streaming summary instead of rows.

A summary is known here only by what it offers: its settings `labels`, `pos_label` and `reduction`,
and the Samples that `to_samples` returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from skcal._fitting._folds import restored_on_error
from skcal._input._sample import Sample
from skcal._input._validation import check_labels, check_option, show_labels
from skcal._numerics.recalibration._scores import SMALLEST_PROBABILITY
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator

if TYPE_CHECKING:
    from skcal.streaming import CalibrationSummary

_NEEDED = ("to_samples", "labels", "pos_label", "reduction")


class SummaryFitMixin:
    """Adds `fit_summary` to a recalibrator.

    Two classes are handed to ``_fit``. More classes are fitted one against the rest. A subclass
    that reads another reduction overrides ``_list_reductions`` and ``_fit_samples``.
    """

    classes_: np.ndarray
    n_features_in_: int

    def fit_summary(self, summary: CalibrationSummary) -> Self:
        r"""Fit the recalibrator to the rows in a streaming summary.

        Parameters
        ----------
        summary : CalibrationSummary
            A :class:`skcal.streaming.CalibrationSummary` of the probabilities of rows that the
            classifier was not fitted on, with ``reduction="classwise"`` for more than two classes.

        Returns
        -------
        self : object
            The recalibrator, fitted as if by `fit`. The columns of X are those of the `y_proba`
            that the summary took in, with both columns for two classes, and the classes are the
            `labels` of the summary; one without labels has the classes 0 and 1, or those that
            `classes` names.

        Raises
        ------
        TypeError
            If `summary` is not a summary.
        ValueError
            If the summary is empty, if its reduction does not keep what the recalibrator reads,
            or if its labels and `classes` do not agree.

        Notes
        -----
        The fit is that of `fit` for the same rows, with every prediction moved to the mean of its
        cell, by at most the width 1 / `n_cells` of a cell. Predictions that are alone in their
        cells, such as all that are rounded to four decimals at the default size, stay where they
        are, and the fit differs only by rounding. A summary keeps each of more than two classes by
        itself, so that `intercepts_` are 0. Logits change without limit inside the first and the
        last cell: methods that read logits, such as a temperature, need most predictions to be many
        cells away from 0 and 1. Weights are used unscaled, whatever their sum: a summary does not
        keep their squares.

        Examples
        --------
        >>> from skcal.recalibration import IsotonicRecalibration
        >>> from skcal.streaming import CalibrationSummary
        >>> summary = CalibrationSummary().update([0, 1, 0, 1], [0.125, 0.25, 0.375, 0.75])
        >>> recalibrator = IsotonicRecalibration().fit_summary(summary)
        >>> recalibrator.predict_proba([[0.75, 0.25], [0.25, 0.75]])
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        with restored_on_error(self):
            self._fit_summary_checked(summary)
        return self

    def _fit_summary_checked(self, summary):
        check_option("input", self.input, ("proba", "logits"))
        self._check_options()
        _check_summary(summary)
        labels, sample_labels = _name_classes(summary, self.classes)
        self._check_reduction(summary.reduction, len(labels))
        samples = summary.to_samples()
        if not any(len(sample.predictions) for sample in samples):
            raise ValueError("summary must hold rows; got an empty one.")
        self._order = np.argsort(labels, kind="stable")
        self.classes_, self._depth = labels[self._order], np.inf
        self.n_features_in_ = len(labels)
        for name in ("feature_names_in_", "_seen"):
            vars(self).pop(name, None)
        if len(samples) > 1:
            samples = [samples[k] for k in np.argsort(sample_labels, kind="stable")]
        elif _find_positive(summary) != self.classes_[1]:
            samples = [_complement(samples[0])]
        self._fit_samples(samples)

    def _list_reductions(self, n_classes):
        """Reductions that keep what the recalibrator reads."""
        if n_classes == 2:
            return ("auto", "classwise")
        return ("classwise",) if isinstance(self, OneVsRestRecalibrator) else ()

    def _check_reduction(self, reduction, n_classes):
        possible = self._list_reductions(n_classes)
        name = type(self).__name__
        if not possible:
            raise ValueError(
                f"summary must be of two classes for {name}, which needs all probabilities of a "
                f"row together; a summary of {n_classes} classes does not keep them. Use fit."
            )
        if reduction not in possible:
            wanted = " or ".join(repr(one) for one in possible)
            raise ValueError(
                f"summary must have the reduction {wanted} for this {name} of {n_classes} "
                f"classes; got {reduction!r}."
            )

    def _fit_samples(self, samples):
        """Set the fitted attributes from Samples in the order of `classes_`.

        There is one for each class, or that of the second of two classes alone.
        """
        if len(self.classes_) == 2:
            sample = samples[-1]
            codes = sample.outcomes.astype(np.intp)
            scores = self._make_scores(sample.predictions)
            seen = np.unique(codes)
            self._fit_known(scores, codes, sample.weights, SMALLEST_PROBABILITY, seen)
            return
        for label, sample in zip(self.classes_, samples, strict=True):
            if not sample.outcomes.any():
                missing = show_labels(np.array([label]))
                raise ValueError(
                    f"summary must hold rows of every class; got none of {missing}. Use fit, which "
                    "keeps the probabilities of such a class."
                )
        self.intercepts_ = np.zeros(len(self.classes_))
        self.maps_ = [
            self._fit_map(
                self._read_scale(self._make_scores(sample.predictions))[:, 0],
                sample.outcomes,
                sample.weights,
            )
            for sample in samples
        ]

    def _make_scores(self, predictions):
        """Scores of two classes, what `input` says, from probabilities of the second."""
        proba = np.column_stack([1 - predictions, predictions])
        if self.input == "proba":
            return proba
        return np.log(np.maximum(proba, SMALLEST_PROBABILITY))


def _check_summary(summary):
    if not all(hasattr(summary, name) for name in _NEEDED):
        hint = ""
        if hasattr(summary, "total"):
            hint = " Take the summary of one group, or that of all, total()."
        raise TypeError(
            f"summary must be a CalibrationSummary; got {type(summary).__name__}.{hint}"
        )


def _find_positive(summary):
    """Label whose probability a summary of one binary problem holds."""
    if summary.pos_label is not None:
        return summary.pos_label
    return 1 if summary.labels is None else summary.labels[-1]


def _complement(sample):
    """The sample of the other of two classes."""
    return Sample(1 - sample.predictions, 1 - sample.outcomes, sample.weights)


def _name_classes(summary, classes):
    """Labels of the columns of `y_proba`, and those of the Samples where there are several."""
    if summary.labels is None:
        return _name_pair(_find_positive(summary), classes)
    labels = np.asarray(summary.labels)
    if len(labels) > 2 and summary.pos_label is not None:
        raise ValueError(
            "summary must have no pos_label if it has more than two labels: one class against "
            f"the rest is not a classifier; got {summary.pos_label!r}."
        )
    if classes is not None and _list_classes(classes, len(labels)) != labels.tolist():
        raise ValueError(
            "classes must be None or the labels of the summary in the same order, "
            f"{show_labels(labels)}; got {classes!r}."
        )
    return labels, labels


def _name_pair(positive, classes):
    """Labels as in `_name_classes` where the summary knows the positive one at most."""
    if classes is None:
        if isinstance(positive, str) or positive != 1:
            raise ValueError(
                f"classes must name both labels, because the summary knows only pos_label="
                f"{positive!r}; got None."
            )
        classes = [0, 1]
    labels = _list_classes(classes, 2)
    if len(labels) != 2 or labels[0] == labels[1] or positive not in labels:
        raise ValueError(
            f"classes must be two labels, one of them the positive label {positive!r} of the "
            f"summary; got {classes!r}."
        )
    other = labels[1 - labels.index(positive)]
    return np.asarray(labels), np.asarray([other, positive])


def _list_classes(classes, n_classes):
    """Labels that the parameter `classes` names."""
    if isinstance(classes, str):
        check_option("classes", classes, ("columns",))
        return list(range(n_classes))
    return check_labels("classes", classes).tolist()
