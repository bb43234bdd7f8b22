"""The entrance of tests and bands for one binary problem whose rows are independent."""

import numpy as np
from scipy.special import logit

from skcal._input._clusters import read_clusters, unite_copies
from skcal._input._groups import read_groups
from skcal._input._reduction import REDUCTIONS, reduce_to_samples
from skcal._input._sample import Sample
from skcal._input._validation import check_option
from skcal._numerics.cells._order import unite_rounded
from skcal._numerics.inference._effective_rows import find_shares

# Two weights may differ by this factor.
_LARGEST_RATIO = 1e250
# End of a message about outcomes between 0 and 1.
ADVISE_MEANS = " Outcomes such as 0, 1/2 and 1 go into mean_calibration_test."


def reduce_to_labelled_sample(y_true, y_proba, **data):
    """Check user input of a test of one binary problem; see `reduce_to_samples`.

    The sample is float64, has outcomes 0 or 1 and no row of weight zero; weights are None if none
    were given. Soft labels, several problems and dependent rows raise a ValueError.
    """
    return reduce_to_present_rows(y_true, y_proba, **data)[0]


def reduce_to_clustered_sample(y_true, y_proba, clusters, *, of_counts=None, **data):
    """The sample of `reduce_to_labelled_sample`, and the cluster of each row.

    None stands for independent rows: those of single rows, and of clusters that are copies of one
    row, which stands for them. `of_counts` is what does the same for counts, for messages.
    """
    try:
        sample, present = reduce_to_present_rows(y_true, y_proba, **data)
    except ValueError as error:
        if of_counts is None or not _are_counts(y_true):
            raise
        raise ValueError(f"{error} Counts and their means go into {of_counts}.") from None
    if clusters is None:
        return sample, None
    member = read_clusters(clusters, present)
    rows = sample.predictions, sample.outcomes
    member, chosen, weights = unite_copies(member, *rows, sample.weights)
    return Sample(*(values[chosen] for values in rows), weights), member


def reduce_to_grouped_sample(y_true, y_proba, groups, data, options):
    """The same for rows in groups: the sample, and its `Groups` by the options of `read_groups`."""
    sample, present = reduce_to_present_rows(y_true, y_proba, **data)
    return sample, read_groups("groups", groups, present, **options)


def reduce_to_clustered_groups(y_true, y_proba, groups, clusters, data, options):
    """The sample and the `Groups` of `reduce_to_grouped_sample`, and the cluster of each row.

    A row may stand for copies of it that are in the same groups, which keep their numbers of rows.
    """
    sample, present = reduce_to_present_rows(y_true, y_proba, **data)
    groups = read_groups("groups", groups, present, **options)
    if clusters is None:
        return sample, groups, None
    places = np.column_stack([sample.predictions, groups.pattern])
    member = read_clusters(clusters, present)
    member, chosen, weights = unite_copies(member, places, sample.outcomes, sample.weights)
    sample = Sample(sample.predictions[chosen], sample.outcomes[chosen], weights)
    return sample, groups._replace(pattern=groups.pattern[chosen]), member


def reduce_to_present_rows(y_true, y_proba, *, reduction="auto", **data):
    """The sample of `reduce_to_labelled_sample`, and which rows of the input it holds."""
    check_reduction(reduction)
    (sample,) = reduce_to_samples(y_true, y_proba, reduction=reduction, **data)
    return select_labelled_rows(sample)


def check_reduction(reduction):
    """Raise a ValueError unless a reduction gives one sample, whose rows can be independent."""
    check_option("reduction", reduction, REDUCTIONS)
    if reduction not in ("auto", "confidence"):
        raise ValueError(
            "reduction must give one binary problem with independent rows, as 'auto' and "
            f"'confidence' do; got {reduction!r}. Choose one class with pos_label."
        )


def select_labelled_rows(sample):
    """Rows of positive weight, a float64 `Sample`, and which those are; soft labels raise."""
    _check_outcomes(sample)
    predictions, outcomes, weights = next(sample.chunks(size=len(sample.predictions)))
    present = np.ones(len(predictions), dtype=bool) if weights is None else weights > 0
    if not present.all():
        predictions, outcomes, weights = predictions[present], outcomes[present], weights[present]
    return Sample(unite_rounded(predictions), outcomes, weights), present


def check_single_rows(sample):
    """Raise a ValueError unless all rows count once and have an outcome of 0 or 1."""
    if sample.weights is not None:
        raise ValueError(
            "sample_weight must be None for exact bounds, in which every row counts once; "
            "repeat rows that stand for several."
        )
    _check_outcomes(sample)


def list_weights(sample):
    """Weights of all rows of a sample; ones where there are none."""
    return np.ones(len(sample.predictions)) if sample.weights is None else sample.weights


def list_unequal_weights(sample):
    """Weights whose mean is 1; None where all are equal, whatever they are."""
    weights = sample.weights
    if weights is None or (weights == weights[0]).all():
        return None
    return find_shares(weights) * len(weights)


def check_log_odds(sample, largest_ratio=_LARGEST_RATIO, *, needs_slope=True):
    """Raise a ValueError unless outcomes can be regressed on the log odds of the predictions.

    Two weights may differ by `largest_ratio` at most; beyond it the information of rows of smaller
    weight may vanish in float64. Without `needs_slope` predictions may all be equal.
    """
    low, high = sample.predictions.min(), sample.predictions.max()
    if low <= 0 or high >= 1:
        found = np.count_nonzero((sample.predictions <= 0) | (sample.predictions >= 1))
        raise ValueError(
            "y_proba must lie between 0 and 1, both excluded, because log odds of 0 and 1 are "
            f"infinite; got {found} such predictions. Give probabilities that were not rounded "
            "(float64 rather than float32), leave these rows out, or use spiegelhalter_test."
        )
    if needs_slope and logit(low) == logit(high):
        raise ValueError(
            f"y_proba must hold at least two different predictions for a slope; all are {low:g}."
        )
    if (sample.outcomes == sample.outcomes[0]).all():
        raise ValueError(
            "y_true must hold both outcomes, or intercept and slope are infinite; all rows are "
            f"{'positive' if sample.outcomes[0] else 'negative'}."
        )
    check_weight_ratio(list_weights(sample), largest_ratio)


def check_weight_ratio(weights, largest_ratio=_LARGEST_RATIO):
    """Raise a ValueError if information of the rows of smaller weight may vanish."""
    if weights.max() / largest_ratio > weights.min():
        raise ValueError(
            f"sample_weight above 0 must lie within a factor of {largest_ratio:g} of each other; "
            f"got {weights.min():g} and {weights.max():g}."
        )


def _are_counts(y_true):
    """Whether outcomes may be counts: whole numbers, some of them above 1."""
    try:
        found = np.asarray(y_true, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return bool(((found >= 0) & (found == np.floor(found))).all() and (found > 1).any())


def _check_outcomes(sample):
    outcomes = next(sample.chunks(size=len(sample.predictions)))[1]
    soft = np.flatnonzero((outcomes != 0) & (outcomes != 1))
    if len(soft):
        raise ValueError(
            "y_true must hold labels; a soft label has no outcome to test; "
            f"got {outcomes[soft[0]]:g} at row {soft[0]}.{ADVISE_MEANS}"
        )
