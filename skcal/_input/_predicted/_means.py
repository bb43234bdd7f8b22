"""Predictions of means: targets, predictions, weights and clusters of the rows that count."""

from typing import NamedTuple

import numpy as np
from scipy.special import logit

from skcal._input._clusters import read_clusters, unite_copies
from skcal._input._groups import read_groups
from skcal._input._predicted._response_rows import check_values, refuse_rows
from skcal._input._validation import check_number, check_sample_weight
from skcal._numerics.inference._mean_recalibration import has_least_loss
from skcal._numerics.inference._rare_events import find_event_law
from skcal._tools._order import sort_rows

# Squares of larger numbers might overflow.
_LARGEST = 1e100


class MeanRows(NamedTuple):
    """Rows whose weight is above 0, as float64; `weights` and `member` are None without them."""

    targets: np.ndarray
    predictions: np.ndarray
    weights: np.ndarray | None
    member: np.ndarray | None

    def list_weights(self):
        """The weights, ones if there are none."""
        return np.ones(len(self.targets)) if self.weights is None else self.weights

    def take(self, rows):
        """Some of the rows, in another order."""
        return MeanRows(*(None if values is None else values[rows] for values in self))

    def sum_units(self, values):
        """Weighted values of the rows, summed within clusters if there are any."""
        values = self.list_weights() * values
        return values if self.member is None else np.bincount(self.member, values)

    def may_be_rare(self):
        """Whether targets are sums of events, and 0 where there is none: nothing is negative."""
        return min(self.targets.min(), self.predictions.min()) >= 0

    def find_law(self):
        """The `EventLaw` of the targets, None where there is none."""
        if not self.may_be_rare():
            return None
        return find_event_law(self.targets, self.predictions, self.list_weights(), self.member)


def read_means(y_true, y_pred, sample_weight=None, clusters=None, *, positive=False):
    """`MeanRows`; where predictions must be `positive`, targets must not be negative.

    The largest weight is 1. A row may stand for a cluster of its copies; clusters and their rows
    are sorted by what these hold.
    """
    rows, _ = _read_rows(y_true, y_pred, sample_weight, clusters, positive)
    return _unite_copies(rows, rows.predictions)[0]


def read_grouped_means(y_true, y_pred, groups, sample_weight=None, clusters=None, **options):
    """`MeanRows`, and their `Groups` by the options of `read_groups`.

    Rows are sorted by what they hold. One may stand for the copies of it that a cluster is; groups
    keep their numbers of rows.
    """
    rows, present = _read_rows(y_true, y_pred, sample_weight, clusters)
    groups = read_groups("groups", groups, present, **options)
    rows, kept = _unite_copies(rows, np.column_stack([rows.predictions, groups.pattern]))
    pattern = groups.pattern[kept]
    if rows.member is None:
        order = sort_rows((rows.list_weights(), rows.targets, rows.predictions))
        rows, pattern = rows.take(order), pattern[order]
    return rows, groups._replace(pattern=pattern)


def _unite_copies(rows, places):
    """`MeanRows` without copies that are alike in their places too, and which rows they are."""
    if rows.member is None:
        return rows, slice(None)
    member, kept, weights = unite_copies(rows.member, places, rows.targets, rows.weights)
    weights = None if weights is None else weights / weights.max()
    return MeanRows(rows.targets[kept], rows.predictions[kept], weights, member), kept


def read_present_means(y_true, y_pred, sample_weight=None, clusters=None):
    """`MeanRows` in the order of the input, and a mask of the rows that they are."""
    return _read_rows(y_true, y_pred, sample_weight, clusters)


def _read_rows(y_true, y_pred, sample_weight, clusters, positive=False):
    """`MeanRows`, and which rows of the input they are."""
    targets = check_values("y_true", y_true)
    predictions = check_values("y_pred", y_pred, len(targets))
    for name, values in (("y_true", targets), ("y_pred", predictions)):
        is_large = np.abs(values) > _LARGEST
        refuse_rows(f"{name} must be at most 1e100 in absolute value", values, is_large)
    weights = check_sample_weight(sample_weight, len(targets))
    present = np.ones(len(targets), dtype=bool) if weights is None else weights > 0
    member = None if clusters is None else read_clusters(clusters, present)
    if weights is not None:
        weights = weights[present].astype(np.float64)
        weights = None if (weights == weights[0]).all() else weights / weights.max()
    targets, predictions = targets[present], predictions[present]
    if positive:
        refuse_rows("y_true must not be negative", targets, targets < 0)
        refuse_rows("y_pred must be above 0", predictions, predictions <= 0)
    return MeanRows(targets, predictions, weights, member), present


def read_sorted_means(y_true, y_pred, sample_weight, clusters):
    """`MeanRows` in ascending order of predictions, which their order otherwise does not change."""
    rows = read_means(y_true, y_pred, sample_weight, clusters)
    if rows.member is None:
        return rows.take(sort_rows((rows.targets, rows.list_weights(), rows.predictions)))
    return rows.take(np.argsort(rows.predictions, kind="stable"))


def read_sums(y_true, y_pred, sample_weight, clusters):
    """Weighted targets and predictions of rows, or their sums in clusters, for a ratio of sums."""
    rows = read_means(y_true, y_pred, sample_weight, clusters)
    _refuse_negative(rows.predictions)
    actual, expected = rows.sum_units(rows.targets), rows.sum_units(rows.predictions)
    if actual.sum() < 0:
        raise ValueError(f"The sum of y_true must not be negative; got {actual.sum():g}.")
    return actual, expected


def read_shares(y_true, y_pred, sample_weight, clusters=None):
    """`MeanRows` whose sums of targets and of predictions are positive; predictions are ascending.

    Both are in parts of the largest, as shares do not depend on the unit.
    """
    rows = read_sorted_means(y_true, y_pred, sample_weight, clusters)
    _refuse_negative(rows.predictions)
    largest = np.abs(rows.targets).max() or 1.0
    targets, predictions = rows.targets / largest, rows.predictions / rows.predictions[-1]
    total = rows.list_weights() @ targets
    if total <= 0:
        raise ValueError(f"The sum of y_true must be above 0; got {largest * total:g}.")
    return rows._replace(targets=targets, predictions=predictions)


def _refuse_negative(predictions):
    refuse_rows("y_pred must not be negative", predictions, predictions < 0)
    if not predictions.any():
        raise ValueError("y_pred must not be 0 in all rows.")


def refuse_small_weights(weights):
    """Refuse weights whose squares and cubes vanish beside those of the largest, which is 1."""
    if weights is not None and weights.min() < 1 / _LARGEST:
        raise ValueError(
            "The weights above 0 must lie within a factor of 1e100 of each other; "
            f"sample_weight holds one that is {weights.min():.3g} times another."
        )


def check_power(power):
    """The power of a Tweedie deviance that is convex at the log link, or 0, as a float."""
    power = check_number("power", power, 0)
    if power and not 1 <= power <= 2:
        raise ValueError(f"power must be 0 or from 1 to 2; got {power:g}.")
    return power


def read_recalibrated_risks(y_true, y_pred, sample_weight, clusters):
    """`MeanRows` of probabilities for which intercept and slope of log odds exist."""
    rows = read_means(y_true, y_pred, sample_weight, clusters)
    targets, predictions, weights, _ = rows
    refuse_small_weights(weights)
    is_wrong = (predictions <= 0) | (predictions >= 1)
    needed = "y_pred must lie between 0 and 1, both excluded, for link='logit'"
    refuse_rows(needed, predictions, is_wrong)
    links = logit(predictions)
    _refuse_equal_targets(targets)
    if links.min() == links.max():
        _refuse_mean_beyond(targets, rows.list_weights())
    elif not has_least_loss(links, targets, rows.list_weights()):
        raise ValueError(
            "y_true must be small and large at low and at high predictions, or no slope and "
            "intercept fit best: they are infinite, as where all rows above some prediction have "
            "an event, and none below."
        )
    return rows


def read_recalibrated_means(y_true, y_pred, power, sample_weight, clusters):
    """`MeanRows` for which intercept and slope exist."""
    rows = read_means(y_true, y_pred, sample_weight, clusters, positive=power > 0)
    targets, predictions, weights, _ = rows
    refuse_small_weights(weights)
    low, high = predictions.min(), predictions.max()
    largest = max(np.abs(values).max() for values in (targets, predictions))
    if not power and 0 < high - low < largest / _LARGEST:
        raise ValueError(
            "y_pred must differ by more than 1e-100 of the largest number in y_true and y_pred, "
            f"{largest:g}; got {low:g} to {high:g}."
        )
    if power:
        refuse_rows("y_pred must be at least 1e-100", predictions, predictions < 1 / _LARGEST)
    if power == 2:
        refuse_rows("y_true must be above 0 with a power of 2", targets, targets == 0)
    elif power:
        above = predictions[targets > 0]
        if len(above) == 0:
            raise ValueError("y_true must not be 0 in all rows, or no mean is as low.")
        if low < high and ((above == low).all() or (above == high).all()):
            raise ValueError(
                "y_true must not be 0 wherever y_pred is not the smallest, or wherever it is not "
                "the largest, or the slope is infinite."
            )
    _refuse_equal_targets(targets)
    return rows


def _refuse_mean_beyond(targets, weights):
    """Of targets with such a mean the log odds are infinite."""
    mean = float(np.average(targets, weights=weights))
    if not 0 < mean < 1:
        raise ValueError(
            "y_true must have a mean between 0 and 1, both excluded, if all predictions are equal; "
            f"got {mean:g}."
        )


def _refuse_equal_targets(targets):
    """Targets that are all alike have no slope: nothing says by how much it may be off."""
    if (targets == targets[0]).all():
        raise ValueError(f"y_true must not be the same in all rows; got {targets[0]:g}.")
