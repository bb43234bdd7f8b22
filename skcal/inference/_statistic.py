"""A measure with its options, and the rows it is called for, with other labels or other rows."""

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from numbers import Real
from typing import NamedTuple

import numpy as np

from skcal._reduction import REDUCTIONS, check_predictions
from skcal._scoring import list_keywords, name_measure
from skcal._validation import check_option
from skcal.metrics import MEASURES, Measure

_OF_THE_CALL = ("sample_weight", "pos_label", "labels", "reduction")


class Statistic(NamedTuple):
    """A function of labels and probabilities, with its options.

    Attributes
    ----------
    function : callable
    options : dict
        Its own keyword arguments.
    keywords : list of str or None
        Arguments that it takes; None where every name may do.
    measure : Measure or None
        Row of the table of measures, None for a function of the user.
    reduction : str or None
        How the function is told to reduce class probabilities; None leaves it to the function.
    argument : str
        What the user calls it, for messages.
    """

    function: Callable[..., float]
    options: dict
    keywords: list[str] | None
    measure: Measure | None
    reduction: str | None
    argument: str

    def takes(self, keyword):
        """Whether the function has an argument of this name."""
        return self.keywords is None or keyword in self.keywords

    def find_default(self, keyword):
        """Value of an option as it is set, or None where there is no such option."""
        if keyword in self.options:
            return self.options[keyword]
        parameters = inspect.signature(self.function).parameters
        return parameters[keyword].default if keyword in parameters else None

    def __call__(self, y_true, y_proba, sample_weight=None, **labels):
        """The value, checked: a finite float."""
        keywords = {name: value for name, value in labels.items() if self.takes(name)}
        if sample_weight is not None:
            keywords["sample_weight"] = sample_weight
        if self.reduction is not None:
            keywords["reduction"] = self.reduction
        value = self.function(y_true, y_proba, **keywords, **self.options)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if not isinstance(value, Real) or not np.isfinite(value):
            name = name_measure(self.function)
            raise ValueError(
                f"{self.argument} must return a finite float; {name} returned {value!r}."
            )
        return float(value)


def check_statistic(argument, function, options, reduction, sample_weight):
    """Check a measure or its name, and the names of its options.

    Parameters
    ----------
    argument : str
        What the user calls the measure.
    function : str or callable
    options : dict
    reduction : str
    sample_weight : array-like or None

    Returns
    -------
    Statistic
    """
    if isinstance(function, str):
        check_option(argument, function, tuple(MEASURES))
        function = MEASURES[function].function
    if not callable(function):
        raise TypeError(
            f"{argument} must be a function or the name of a measure; got {function!r}."
        )
    check_option("reduction", reduction, REDUCTIONS)
    keywords, name = list_keywords(function), name_measure(function)
    asked = {"reduction": reduction != "auto", "sample_weight": sample_weight is not None}
    for keyword, given in asked.items():
        if given and keywords is not None and keyword not in keywords:
            raise TypeError(f"{name} has no argument {keyword}, but {keyword} was given.")
    _check_options(name, keywords, options)
    measure = next((row for row in MEASURES.values() if row.function is function), None)
    # "auto" leaves the reduction to the measure, of which some have another default.
    reduction = None if reduction == "auto" else reduction
    return Statistic(function, options, keywords, measure, reduction, argument)


def _check_options(name, keywords, options):
    if keywords is None:
        return
    valid = [keyword for keyword in keywords if keyword not in _OF_THE_CALL]
    for option in options:
        if option not in valid:
            near = get_close_matches(option, valid, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            known = f"its options are {', '.join(valid)}" if valid else "it has no options"
            raise TypeError(f"{name} has no option {option!r}; {known}.{hint}")


class Rows(NamedTuple):
    """Checked rows, with labels as numbers of columns.

    Attributes
    ----------
    proba : ndarray of shape (n_rows,) or (n_rows, n_classes)
        One column stands for the class `positive`.
    codes : ndarray of shape (n_rows,)
        Number of the label of each row; soft labels where `is_soft`.
    weights : ndarray of shape (n_rows,) or None
        All positive.
    labels : ndarray of shape (n_classes,)
        What a statistic is shown for each number.
    positive : int or None
        Number of the positive label; None for more than two classes.
    is_soft : bool
        Whether there are soft labels, of the positive label 1.
    """

    proba: np.ndarray
    codes: np.ndarray
    weights: np.ndarray | None
    labels: np.ndarray
    positive: int | None
    is_soft: bool = False

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.proba)

    def measure(self, statistic, codes=None):
        """Value of a statistic for these rows, with other labels where they are given."""
        codes = self.codes if codes is None else codes
        y_true = codes if self.is_soft else self.labels[codes]
        keywords = {"labels": self.labels}
        if self.positive is not None:
            keywords["pos_label"] = self.labels[self.positive]
        return statistic(y_true, self.proba, self.weights, **keywords)

    def take(self, chosen):
        """Some of the rows, by number or by mask."""
        weights = None if self.weights is None else self.weights[chosen]
        return self._replace(proba=self.proba[chosen], codes=self.codes[chosen], weights=weights)

    def drop_absent(self):
        """The rows without those of weight zero."""
        if self.weights is None or self.weights.all():
            return self
        return self.take(self.weights > 0)


def check_rows(statistic, y_true, y_proba, *, sample_weight, pos_label, labels):
    """Check user input and reduce it to one binary problem where the statistic does so.

    A statistic of the table that reads one probability for each row is given that probability
    and whether it came true: its rows are then binary, and so independent.

    Parameters
    ----------
    statistic : Statistic
    y_true, y_proba, sample_weight, pos_label, labels
        As in the measures.

    Returns
    -------
    statistic : Statistic
        To be called for the rows.
    rows : Rows
        Rows of weight zero are left in.
    is_binary : bool
        Whether the statistic is one of a single binary problem.
    """
    predictions = check_predictions(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels
    )
    if statistic.measure is not None and statistic.measure.reduces:
        reduction = statistic.reduction or statistic.find_default("reduction")
        if reduction in ("auto", "confidence"):
            (sample,) = REDUCTIONS[reduction](predictions)
            rows = _encode(sample.predictions, sample.outcomes, sample.weights, sample.positive)
            return statistic._replace(reduction="auto"), rows, True
    return statistic, _encode_predictions(statistic, predictions), False


def _encode_predictions(statistic, predictions):
    proba, target, weights = predictions.proba, predictions.target, predictions.weights
    names = predictions.labels
    if proba.ndim == 2 and proba.shape[1] > 2:
        # Measures of the table decide about small integers fastest.
        labels = np.arange(proba.shape[1]) if statistic.measure is not None else names
        return Rows(proba, target, weights, labels, None)
    column = predictions.positive_column
    rows = _encode(proba, target, weights, predictions.positive)
    if rows.is_soft:
        return rows
    if column == 0:
        rows = rows._replace(codes=1 - rows.codes, positive=0)
    if names is not None and statistic.measure is None:
        rows = rows._replace(labels=names)
    return rows


def _encode(proba, target, weights, positive):
    """Rows of a binary problem, whose labels are 0 and 1."""
    if positive is not None:
        target = target == positive
    outcomes = np.asarray(target)
    is_soft = outcomes.dtype.kind == "f" and not ((outcomes == 0) | (outcomes == 1)).all()
    codes = outcomes.astype(np.float64 if is_soft else np.intp)
    proba = proba.astype(np.float64, copy=False)
    return Rows(proba, codes, weights, np.array([0, 1]), 1, is_soft)
