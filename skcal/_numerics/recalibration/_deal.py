"""Rows dealt to folds by what they hold, so that k copies of a row are one row of weight k."""

from heapq import heapreplace
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

# Scores that agree to this many bits belong to copies: a matrix product may round them apart.
_N_BITS = 40
# Rows of equal scores are copies if so few of them have several labels, of those that would have.
_FEW = 0.1
# Units of more mass are split by a multinomial draw rather than piece by piece.
_MANY = 10_000
# Draws of more than this overflow; shares of so much mass are equal to many digits.
_MOST = 1e15


class Dealt(NamedTuple):
    """Distinct rows, in an order of their own, and folds of them.

    `rows` has one row of each kind, several times where its mass is split among folds, and `mass`
    the number of rows, or sum of their weights, that each of these stands for. `splits` are pairs
    of train and test places among `rows`, none with fewer rows than folds.
    """

    rows: np.ndarray
    mass: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]]


class _Units(NamedTuple):
    """Kinds of rows: equal scores and equal labels."""

    order: np.ndarray  # rows, those of a unit next to each other
    first: np.ndarray  # a row of each unit
    number: np.ndarray  # of the unit of each row
    mass: np.ndarray
    codes: np.ndarray  # by rank
    is_split: np.ndarray  # whether its rows are independent, and may be dealt one by one


def deal_rows(scores, codes, sample_weight, n_folds, kind="proba"):
    """Merge equal rows, and deal them to folds at random, but always alike for the same rows.

    Folds depend on what the rows hold, and neither on where they stand, nor on the names of
    classes, nor on whether a row is repeated or has a weight. The outcomes have no say: with equal
    shares of every class in each fold, or of neighbouring scores, what a map learned by chance
    from other folds would hold in the test rows.

    Rows of equal scores are copies, or different rows that a classifier cannot tell apart, such as
    those of a leaf. Copies stay together: in another fold they would be known already. Leaves are
    dealt row by row: a map has seen nothing like a leaf whose rows are all in another fold.
    Outcomes decide: those of copies agree more often than the scores let expect.
    """
    units = _find_units(scores, codes, sample_weight, n_folds, kind)
    n_pieces = np.where(units.is_split & (units.mass <= _MANY), np.ceil(units.mass), 1).astype(int)
    rng = _make_rng(units)
    unit = np.repeat(np.arange(len(n_pieces)), n_pieces)
    fold = _deal(len(unit), n_folds, rng)
    masses = (units.mass / n_pieces)[unit]
    parts = np.bincount(unit * n_folds + fold, masses, len(n_pieces) * n_folds)
    parts = parts.reshape(-1, n_folds)
    is_many = units.is_split & (units.mass > _MANY)
    for k in np.flatnonzero(is_many):
        n_rows = min(units.mass[k], _MOST)
        parts[k] = rng.multinomial(int(n_rows), np.full(n_folds, 1 / n_folds)) * (
            units.mass[k] / int(n_rows)
        )
    place, fold = np.nonzero(parts)
    is_enough = is_many.any() or len(unit) >= n_folds
    return Dealt(units.first[place], parts[place, fold], _pair(fold, n_folds) if is_enough else [])


def deal_splits(scores, codes, sample_weight, n_folds, kind="proba"):
    """Pairs of train and test rows: folds as in `deal_rows`, where rows must stay single.

    A row of a weight is in one fold, even where as many rows would be in several.
    """
    units = _find_units(scores, codes, sample_weight, n_folds, kind)
    counts = np.bincount(units.number)
    n_items = np.where(units.is_split, counts, 1)
    order = units.order
    if sample_weight is not None:
        order = np.lexsort((sample_weight, units.number))
    is_new = np.append(True, _differ(units.number[order]) | (n_items > 1)[units.number[order]][1:])
    folds = np.empty(len(order), dtype=np.intp)
    folds[order] = _deal(n_items.sum(), n_folds, _make_rng(units))[np.cumsum(is_new) - 1]
    return _pair(folds, n_folds)


def deal_clusters(scores, codes, sample_weight, n_folds, member):
    """Pairs of train and test rows of about equal size; no cluster is split.

    Clusters are dealt at random from the largest to the smallest, each to the smallest fold. A
    cluster is known by what its rows hold, so that folds are those of `deal_splits`: always alike,
    whatever the order of the rows and the names of clusters and classes.
    """
    units = _find_units(scores, codes, sample_weight, n_folds, "proba")
    kinds = [units.number]
    if sample_weight is not None and np.ptp(sample_weight) > 0:
        kinds.append(np.unique(sample_weight, return_inverse=True)[1])
    # Products and sums of random integers, which overflow, depend on no order.
    rng, marks = _make_rng(units), np.ones(len(member), dtype=np.uint64)
    for kind in kinds:
        marks *= rng.integers(1 << 63, size=kind.max() + 1, dtype=np.uint64)[kind]
    sums = np.zeros(member.max() + 1, dtype=np.uint64)
    np.add.at(sums, member, marks)
    counts = np.bincount(member)
    fold = np.empty(len(counts), dtype=np.intp)
    sizes = [(0, k) for k in range(n_folds)]
    for cluster in np.lexsort((sums, -counts)):
        size, k = sizes[0]
        fold[cluster] = k
        heapreplace(sizes, (size + int(counts[cluster]), k))
    return _pair(fold[member], n_folds)


def _make_rng(units):
    """Another seed for other rows: one permutation of all would favour certain places."""
    n_rows = np.minimum(np.bincount(units.codes, units.mass), _MOST)
    return np.random.default_rng(np.rint(n_rows).astype(np.int64))


def _deal(n_items, n_folds, rng):
    folds = np.empty(n_items, dtype=np.intp)
    folds[rng.permutation(n_items)] = np.arange(n_items) % n_folds
    return folds


def _pair(folds, n_folds):
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(n_folds)]


def _find_units(scores, codes, sample_weight, n_folds, kind):
    proba = scores if kind == "proba" else softmax(scores, axis=1)
    # A constant in a row of logits says nothing.
    keys = _round(scores if kind == "proba" else scores - scores.max(axis=1, keepdims=True))
    own = _round(proba[np.arange(len(codes)), codes])
    places = _rank_classes(own, codes, sample_weight, scores.shape[1])
    keys, ranks = keys[:, np.argsort(places)], places[codes]
    order = np.lexsort((own, ranks))
    is_new = np.append(True, _differ(own[order]) | _differ(ranks[order]))
    if not is_new.all():
        tied = ~(is_new & np.append(is_new[1:], True))
        rows = order[tied]
        own_keys = keys[rows]
        sorting = (*own_keys.T, *np.sort(own_keys, axis=1).T, own[rows], ranks[rows])
        order[tied] = rows[np.lexsort(sorting)]
        is_new = np.append(True, _differ(keys[order]).any(axis=1) | _differ(ranks[order]))
    number = np.empty(len(order), dtype=np.intp)
    number[order] = np.cumsum(is_new) - 1
    first = order[is_new]
    mass = np.bincount(number, sample_weight).astype(np.float64)
    is_split = np.zeros(len(first), dtype=bool)
    if (mass > 1).any():
        is_split = _find_leaves(keys[first], proba[first], mass)
        # Fewer rows than folds, however often each is repeated, could not be dealt.
        is_split |= np.sum(np.where(is_split, np.ceil(mass), 1.0)) < n_folds
    return _Units(order, first, number, mass, ranks[first], is_split)


def _find_leaves(keys, proba, mass):
    """Whether the rows of a unit are different rows of equal scores, rather than copies."""
    order = np.lexsort(keys.T)
    value = np.empty(len(order), dtype=np.intp)
    value[order] = np.cumsum(np.append(True, _differ(keys[order]).any(axis=1))) - 1
    first = np.unique(value, return_index=True)[1]
    is_mixed = np.bincount(value) > 1  # units of equal scores have other labels
    total = np.maximum(np.bincount(value, mass), 1.0)
    expected = 1 - np.sum(proba[first] ** total[:, None], axis=1)
    if is_mixed.sum() >= _FEW * expected.sum():
        return np.ones(len(order), dtype=bool)
    return is_mixed[value]


def _differ(values):
    return values[1:] != values[:-1]


def _round(values):
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**_N_BITS), exponent - _N_BITS)


def _rank_classes(own, codes, sample_weight, n_classes):
    """Places of the classes in an order that does not depend on their names."""
    largest = np.full(n_classes, -np.inf)
    np.maximum.at(largest, codes, own)
    order = np.lexsort((largest, np.bincount(codes, sample_weight, n_classes)))
    return np.argsort(order)


def deal_targets(predictions, targets, weights, n_folds):
    """Pairs of train and test rows of a regression; none if there are fewer rows than folds.

    Folds depend on what the rows hold, not on where they stand. Rows of one prediction are
    different rows and are dealt one by one, unless all have one target, too: then they are copies,
    like a row of a weight, and stay together.
    """
    order = np.lexsort((weights, targets, predictions))
    is_new = np.append(True, _differ(predictions[order]))
    starts = np.flatnonzero(is_new)
    low, high = (end.reduceat(targets[order], starts) for end in (np.minimum, np.maximum))
    item = np.cumsum(is_new | (low < high)[np.cumsum(is_new) - 1]) - 1
    n_items = item[-1] + 1
    if n_items < n_folds:
        return []
    folds = np.empty(len(order), dtype=np.intp)
    folds[order] = _deal(n_items, n_folds, np.random.default_rng(n_items))[item]
    return _pair(folds, n_folds)


def repeat_ties(predictions, targets, counts):
    """Numbers of rows, and parts of them: a row that counts k times is k rows where it ties.

    It ties where rows of its prediction have several targets: `deal_targets` deals these one by
    one. Elsewhere a row is one of part 1.
    """
    value = np.unique(predictions, return_inverse=True)[1]
    low, high = np.full(len(value), np.inf), np.full(len(value), -np.inf)
    np.minimum.at(low, value, targets)
    np.maximum.at(high, value, targets)
    n_pieces = np.where((low < high)[value], np.ceil(np.minimum(counts, _MANY)), 1).astype(np.intp)
    rows = np.repeat(np.arange(len(value)), n_pieces)
    return rows, 1 / n_pieces[rows]
