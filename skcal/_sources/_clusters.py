"""Rows with what of them is independent: rows or clusters."""

import numpy as np

from skcal._input._clusters import read_clusters, unite_copies
from skcal._sources._resamples import Units


def split_clusters(rows, clusters, parts):
    """For each of several masks of rows, the rows and their `Units`.

    No cluster may have rows in several of the parts, which together hold the rows that count.
    """
    present = np.any(parts, axis=0)
    member = np.full(rows.n_rows, -1)
    member[present] = read_clusters(clusters, present)
    n_clusters = sum(len(np.unique(member[part])) for part in parts)
    if n_clusters > member.max() + 1:
        raise ValueError(
            "groups must hold whole clusters, or they are not independent; some of clusters have "
            "rows in several groups. Test each group by itself, or use audit_groups."
        )
    return [_unite(rows.take(part), member[part]) for part in parts]


def _unite(rows, member):
    member, chosen, weights = unite_copies(member, rows.proba, rows.target, rows.weights)
    rows = rows.take(chosen)._replace(weights=weights)
    return rows, Units(rows.n_rows, member)
