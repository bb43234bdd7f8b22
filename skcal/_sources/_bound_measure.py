"""A measure with its options: what scorers, pooled scores, tests and intervals call."""

import functools
import inspect
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from skcal._estimates._measure import Measure
from skcal._input._reduction import (
    ALL_REDUCTIONS,
    REDUCTIONS,
    Predictions,
    average_over_samples,
    check_predictions,
    list_shares,
)
from skcal._input._sample import Sample
from skcal._input._validation import check_option, refuse_unknown_options
from skcal._numerics.errors._binned import count_bins, make_edges
from skcal.metrics import MEASURES

# Arguments of measures that say what is measured, not how.
DATA = ("sample_weight", "pos_label", "labels")


class BoundMeasure(NamedTuple):
    """A function of labels and probabilities, with its options."""

    function: Callable[..., float]
    options: dict[str, Any]
    # Names of its arguments after y_true and y_proba; None if every name may do.
    keywords: list[str] | None
    row: type[Measure] | None  # of the table of measures, None for a function of the user
    argument: str = "measure"  # what the user calls it, for messages
    reduction: str | None = None  # None leaves the reduction of class probabilities to the function

    @property
    def name(self):
        """Name of the function."""
        return name_function(self.function)

    def takes(self, keyword):
        """Whether the function has an argument of this name."""
        return self.keywords is None or keyword in self.keywords

    def find_option(self, name):
        """Value of an option as it is set, or None where there is no such option."""
        return (find_defaults(self.function) | self.options).get(name)

    @property
    def known(self):
        """All options of a measure of the table, as they are set.

        Random numbers of a measure are the same for all samples, so that it is one function.
        """
        defaults = find_defaults(self.function)
        found = {name: self.options.get(name, defaults[name]) for name in defaults}
        found.pop("reduction", None)
        if "random_state" in found and found["random_state"] is None:
            found["random_state"] = 0
        return found

    @property
    def traits(self):
        """What may be assumed; of a function of the user, that it is a norm of the residuals."""
        return Measure() if self.row is None else self.row(**self.known)

    @property
    def inner_edges(self):
        """Edges between the equal bins of measures that have bins, else none."""
        n_bins = self.find_option("n_bins")
        return () if n_bins is None else make_edges(n_bins)[1:-1]

    def fix_bins(self, n_rows):
        """The same measure, with the number of bins that it has for this many rows."""
        if self.row is None or not isinstance(self.find_option("n_bins"), str):
            return self
        return self._replace(options=self.options | {"n_bins": count_bins("cube_root", n_rows)})

    def find_reduction(self):
        """How a measure of the table reduces class probabilities, None for whole vectors."""
        if self.row is None or not self.row.reduces:
            return None
        return self.reduction or (find_defaults(self.function) | self.options)["reduction"]

    def __call__(self, y_true, y_proba, sample_weight=None, **keywords):
        """The value as a float that is no NaN; it is given the keywords that it takes."""
        keywords = {name: value for name, value in keywords.items() if self.takes(name)}
        if sample_weight is not None:
            keywords["sample_weight"] = sample_weight
        if self.reduction is not None:
            keywords["reduction"] = self.reduction
        value = self.function(y_true, y_proba, **self.options, **keywords)
        value = getattr(value, "estimate", value)  # of an interval
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if not isinstance(value, Real) or np.isnan(value):
            raise ValueError(f"{self.argument} must return a number; {self.name} gave {value!r}.")
        return float(value)

    def measure_rows(self, rows, target=None):
        """The value for checked rows, a finite float, with another target where it is given."""
        rows = rows if target is None else rows._replace(target=target)
        if self.row is None:
            return self._check_finite(self._call_for_rows(rows))
        measure = self.row(**self.known).measure
        if not self.row.reduces:
            return self._check_finite(measure(rows.to_vectors()))
        samples = ALL_REDUCTIONS[self.find_reduction()](rows)
        return self._check_finite(average_over_samples(measure, samples))

    def measure_targets(self, rows, targets):
        """Values for checked rows with each of several targets."""
        if self.row is None or not self.row.reduces:
            return [self.measure_rows(rows, target) for target in targets]
        reduce, measure = ALL_REDUCTIONS[self.find_reduction()], self.row(**self.known)
        samples = [reduce(rows._replace(target=target)) for target in targets]
        values = [measure.measure_each(problem) for problem in zip(*samples, strict=True)]
        return [self._check_finite(float(value)) for value in list_shares(samples[0]) @ values]

    def measure_outcomes(self, outcomes, places, mass):
        """The value of a measure of the table for outcomes of one binary problem, and weights."""
        return self.measure_sample(Sample(places, outcomes, mass))

    def measure_sample(self, sample):
        """The value of a measure of the table for a Sample."""
        return self._check_finite(float(self.row(**self.known).measure(sample)))

    def _call_for_rows(self, rows):
        """What a function of the user gives, which sees the labels of the user where known."""
        target = rows.target
        if target.ndim == 2:  # soft labels of all columns need no names
            return self(target, rows.proba, rows.weights)
        labels = rows.labels
        if labels is None:
            labels = np.arange(rows.proba.shape[1]) if rows.is_multiclass else np.array([0, 1])
        keywords = {"labels": labels}
        if not rows.is_multiclass:
            keywords["pos_label"] = labels[rows.positive_column]
            if rows.positive_column == 0:
                target = 1 - target
        y_true = labels[target] if target.dtype.kind in "iu" else target
        return self(y_true, rows.proba, rows.weights, **keywords)

    def _check_finite(self, value):
        if not np.isfinite(value):
            raise ValueError(
                f"{self.argument} must return a finite float; {self.name} gave {value!r}."
            )
        return value


def bind_measure(
    argument, measure, options, *, reduction=None, set_elsewhere=(), caller=None, others=()
):
    """Check a measure or its name, and the names of its options.

    `argument` is what the user calls the measure. The reduction is a key of `ALL_REDUCTIONS`:
    "auto" leaves it to the measure, as some have another default, and None leaves it to the
    options. `set_elsewhere` are arguments of the function that are no options.

    For messages: `caller` is the public function, `others` what it takes besides names of measures.
    """
    if isinstance(measure, str):
        check_option(argument, measure, (*others, *MEASURES))
        measure = MEASURES[measure].function
    if not callable(measure):
        raise TypeError(f"{argument} must be a function or the name of a measure; got {measure!r}.")
    if reduction is not None:
        check_option("reduction", reduction, ALL_REDUCTIONS)
    keywords, name = _list_keywords(measure), name_function(measure)
    if keywords is not None:
        valid = [keyword for keyword in keywords if keyword not in set_elsewhere]
        refuse_unknown_options(name, options, valid, caller)
        if reduction not in (None, "auto") and "reduction" not in keywords:
            raise TypeError(f"{name} has no argument reduction, but reduction was given.")
    row = next((row for row in MEASURES.values() if row.function is measure), None)
    reduction = None if reduction == "auto" else reduction
    return BoundMeasure(measure, options, keywords, row, argument, reduction)


def bind_for_labels(measure, options, caller=None):
    """`bind_measure` for a measure that is told the label of every column."""
    own = ("sample_weight", "labels")
    bound = bind_measure("measure", measure, options, set_elsewhere=own, caller=caller)
    if not bound.takes("labels"):
        raise TypeError(
            "measure must have an argument labels, the label of every column of y_proba; "
            f"{bound.name} has none."
        )
    return bound


def bind_for_rows(argument, measure, options, reduction, sample_weight, caller=None, others=()):
    """`bind_measure` for a measure that is called for other labels or other rows of a sample."""
    bound = bind_measure(
        argument,
        measure,
        options,
        reduction=reduction,
        set_elsewhere=(*DATA, "reduction"),
        caller=caller,
        others=others,
    )
    if sample_weight is not None and not bound.takes("sample_weight"):
        raise TypeError(f"{bound.name} has no argument sample_weight, but sample_weight was given.")
    return bound


@functools.cache
def find_defaults(function):
    """Options of a measure of the table, and `reduction`, with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in DATA
    }


def _list_keywords(function):
    """Names of the arguments after y_true and y_proba, or None where every name may do."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # compiled functions need not have a signature
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    return list(parameters)[2:]


def name_function(function):
    """Name of a function, a partial one, a scorer or an object that is called."""
    while isinstance(function, functools.partial):
        function = function.func
    if hasattr(function, "_score_func") and not hasattr(function, "__name__"):  # scikit-learn's
        sign = "neg_" if function._sign < 0 else ""
        return sign + name_function(function._score_func)
    return getattr(function, "__name__", type(function).__name__)


def bind_rows(bound, y_true, y_proba, *, sample_weight, pos_label, labels):
    """Check user input and reduce it to one binary problem if the measure does so.

    A measure of the table that reads one probability for each row is given that probability and
    whether it came true: its rows are then binary, and so independent.

    Returns the measure to call for the rows; the rows, with those of weight zero; and whether the
    measure is one of a single binary problem.
    """
    rows = check_predictions(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=bound.reduction,
    )
    reduction = bound.find_reduction()
    if reduction in ("auto", "confidence"):
        (sample,) = REDUCTIONS[reduction](rows)
        rows = Predictions(
            sample.predictions.astype(np.float64, copy=False), sample.outcomes, sample.weights
        )
        return bound._replace(reduction="auto"), count_outcomes(rows), True
    # Rows of float32 sum to 1 as float32, but not as float64.
    if rows.proba.ndim == 1 or rows.proba.dtype.kind != "f":
        rows = rows._replace(proba=rows.proba.astype(np.float64, copy=False))
    return bound, count_outcomes(rows), False


def count_outcomes(rows):
    """Rows whose outcomes are integers, except soft labels."""
    return rows._replace(target=rows.target.astype(np.float64 if rows.is_soft else np.intp))
