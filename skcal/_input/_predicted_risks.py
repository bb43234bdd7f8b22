"""Predicted risks of censored rows up to several horizons, with the outcomes that they have."""

from typing import NamedTuple

import numpy as np

from skcal._input._censored_times import read_causes, read_horizons, read_risks
from skcal._input._clusters import list_independent, number_clusters
from skcal._input._strata import read_strata
from skcal._input._validation import check_sample_weight

# Pseudo-values that differ by less are alike.
_ALIKE = 1e-9


class PredictedRisks(NamedTuple):
    """Rows of positive weight, or all: pseudo-values and risks have a column for each horizon.

    `telling` are, for each horizon, where outcomes are not seen to vary, the risks of the rows that
    tell of it, see `list_telling`; else None. `shares` are by how much censoring raises variances,
    if mean risks are right. Weights and labels of clusters are None without them.
    """

    horizons: np.ndarray
    values: np.ndarray
    risks: np.ndarray
    telling: list[np.ndarray | None]
    shares: np.ndarray
    weights: np.ndarray | None
    clusters: np.ndarray | None


def read_predicted_risks(
    event, time, risk, times, *, survival, cause, censored, strata, clusters, sample_weight=None
):
    """`PredictedRisks` of what users give."""
    is_event, is_kind, seen = read_causes(event, time, cause, censored)
    horizons = read_horizons("times", times)
    weights = check_sample_weight(sample_weight, len(seen))
    present = np.ones(len(seen), dtype=bool) if weights is None else weights > 0
    strata = read_strata(strata, is_event, seen, weights).take(present)
    strata.check_followed("times", horizons[-1])
    risks = read_risks(risk, survival, cause, (len(seen), len(horizons)))[present]
    member = None if clusters is None else number_clusters(clusters, present)
    is_event, is_kind, seen, weights = (
        strata.is_event,
        is_kind[present],
        strata.time,
        strata.weights,
    )
    values = strata.find_pseudo_values(is_kind, horizons)
    units = None  # of which nothing is known where weights differ
    if weights is None or (weights == weights[0]).all():
        units = list_independent(member, risks, np.stack([is_event, is_kind, seen], axis=1))
    kinds = {"one_kind": cause is None, "units": units}
    telling = [
        list_telling(is_event, seen, *one, **kinds)
        for one in zip(horizons, values.T, risks.T, strict=True)
    ]
    shares = strata.average_shares(horizons, np.average(risks, axis=0, weights=weights))
    return PredictedRisks(horizons, values, risks, telling, shares, weights, member)


def list_telling(is_event, seen, horizon, outcomes, risks, *, one_kind, units):
    """Risks of the rows that tell of a horizon where outcomes are not seen to vary; else None.

    Of independent `units` these are those that were followed up to it, if no row has had the
    event and there is one kind of it, and all, if all have had it. None tell where the observed
    risk is 1 although rows were censored before, or if rows are not independent (`units` is None).
    """
    known = units is not None
    if one_kind and known and horizon < seen[is_event].min(initial=np.inf):
        return risks[units][seen[units] >= horizon]
    if np.abs(outcomes - 1).max() < _ALIKE:
        known = known and not (~is_event & (seen < horizon)).any()
        return risks[units] if known else np.empty(0)
    return None
