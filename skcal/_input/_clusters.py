"""Clusters: rows that may depend on each other, while those of other clusters do not."""

import numpy as np

from skcal._input._group_labels import check_group_labels
from skcal._tools._arrays import kind_of
from skcal._tools._order import sort_rows
from skcal._tools._warnings import warn

# How much fewer clusters differ among themselves is hardly known.
_FEW = 10


def read_clusters(clusters, present):
    """Number of the cluster of each row that counts, which the mask `present` marks.

    A warning says so where clusters are too few for what is inferred from how they differ.
    """
    member = number_clusters(clusters, present)
    if are_few(member):
        n_clusters = member.max() + 1
        warn(
            f"clusters holds {n_clusters} clusters. With fewer than {_FEW}, the variation between "
            "clusters is hardly known: intervals and p-values may be far off."
        )
    return member


def are_few(member):
    """Whether how much clusters differ is hardly known."""
    return member.max() + 1 < _FEW


def number_clusters(clusters, present):
    """The same for what holds with few clusters too; two there must be."""
    labels = check_group_labels("clusters", clusters)
    if labels.shape[0] != len(present):
        raise ValueError(
            f"clusters must hold one label for each of the {len(present)} rows; "
            f"got {labels.shape[0]}."
        )
    if kind_of(labels) == "f" and (labels != np.floor(labels)).any():
        raise ValueError(
            "clusters must hold labels, such as integers or strings; got numbers with fractions."
        )
    names, member = np.unique(labels[present], return_inverse=True)
    if len(names) < 2:
        raise ValueError("clusters must hold at least two clusters with rows; got 1.")
    return member


def unite_copies(member, proba, target, weights):
    """What is left of clusters once rows stand for clusters that are copies of them.

    Where all rows of each cluster are alike, nothing is known from all of them that is not known
    from one. Returns the clusters of the rows to keep, None where these are independent; the
    numbers of the rows to keep, sorted by what they hold where they are clustered; and their
    weights.
    """
    names, first, member = np.unique(member, return_index=True, return_inverse=True)
    if len(names) == len(member):
        return None, slice(None), weights
    own = first[member]
    if (proba == proba[own]).all() and (target == target[own]).all():
        clusters = np.argsort(first)  # in the order of their rows, which no name decides
        first, mass = first[clusters], np.bincount(member, weights)[clusters]
        return None, first, None if (mass == mass[0]).all() else mass
    member, order = sort_clusters(member, proba, target, weights)
    return member, order, None if weights is None else weights[order]


def list_independent(member, proba, target):
    """Rows that stand for independent units, clusters of copies among them; None without these."""
    if member is None:
        return slice(None)
    member, chosen, _ = unite_copies(member, proba, target, None)
    return chosen if member is None else None


def sort_clusters(member, proba, target, weights=None):
    """Clusters numbered by what their rows hold, and the order of the rows by both.

    Neither names of clusters nor the order of the rows decide what random numbers do.
    """
    columns = [] if weights is None else [weights]
    columns += [*np.atleast_2d(target.T), *np.atleast_2d(proba.T)]
    order = sort_rows(columns)
    is_new = np.zeros(len(order), dtype=bool)
    for column in columns:
        own = column[order]
        is_new[1:] |= own[1:] != own[:-1]
    # Sums of random integers, which overflow, depend on no order; equal ones are of equal clusters.
    marks = np.random.default_rng(0).integers(1 << 63, size=len(order), dtype=np.uint64)
    sums = np.zeros(member.max() + 1, dtype=np.uint64)
    np.add.at(sums, member[order], marks[np.cumsum(is_new)])
    place = np.empty(len(sums), dtype=np.intp)
    place[np.argsort(sums, kind="stable")] = np.arange(len(sums))
    member = place[member]
    order = order[np.argsort(member[order], kind="stable")]
    return member[order], order
