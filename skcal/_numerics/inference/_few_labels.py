r"""Rows of which few are labelled, and all judged: prediction-powered targets.

With the residual r = y - p of a label, and a guess g of it from the verdicts, the target

    t = p + g + (s / pi) (r - g)

has the mean of y, whatever g is, if the label was seen (s = 1) with the known probability pi and g
does not depend on it. Its variance exceeds that of y by the mean of (1 / pi - 1) (r - g)^2. So g is
a regression of r on the opinions f - p with the weights (1 / pi - 1) / pi, of all other labels
(A. N. Angelopoulos, J. C. Duchi, T. Zrnic, 2023, for one proxy and equal pi).

Where no label differs from its guess, no variance is seen. As the interval of A. Agresti and B. A.
Coull (1998) counts two successes and two failures more, variances count a pair of labels more that
differ from the verdict by 1, one each way.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from skcal._numerics.inference._effective_rows import count_in_clusters, find_degrees
from skcal._numerics.inference._score_interval import find_exact_interval
from skcal._numerics.inference._signed_residuals import unite_neighbours
from skcal._numerics.inference._skewness import undo_skewness

# What a coordinate without spread is divided by, as a part of the others.
_RIDGE = 1e-9
# Weight of these rows beside others, where it may be anything.
TINY = 1e-6
# Beyond this number of rows, neighbours share random signs.
_MANY, _N_BLOCKS = 1 << 12, 1 << 11


class PartlyLabelled(NamedTuple):
    """Rows with weights above 0, at most 1; `member` are numbers of clusters, or None.

    `residuals` are y - p, 0 without a label; `opinions` f - p, a row for each judge, 0 without a
    verdict. `probability` is that of being labelled.
    """

    residuals: np.ndarray
    is_labelled: np.ndarray
    predictions: np.ndarray
    opinions: np.ndarray
    has_verdict: np.ndarray
    probability: np.ndarray
    weights: np.ndarray
    member: np.ndarray | None

    def take(self, rows):
        """Some of the rows, by a mask or by numbers."""
        member = None if self.member is None else self.member[rows]
        columns = self.opinions[:, rows], self.has_verdict[:, rows]
        return PartlyLabelled(
            self.residuals[rows],
            self.is_labelled[rows],
            self.predictions[rows],
            *columns,
            self.probability[rows],
            self.weights[rows],
            member,
        )

    def unite_copies(self):
        """A row for each cluster, without clusters, if all rows of each are alike; else these."""
        if self.member is None:
            return self
        names, first, member = np.unique(self.member, return_index=True, return_inverse=True)
        own = first[member]
        columns = (*self[:3], *self.opinions, *self.has_verdict, self.probability)
        if not all((column == column[own]).all() for column in columns):
            return self
        # In the order of their rows, which no name decides.
        mass = np.bincount(member, self.weights)[np.argsort(first)]
        united = self if len(names) == len(member) else self.take(np.sort(first))
        return united._replace(weights=mass / mass.max(), member=None)

    def forget_verdicts(self):
        """The same rows without a judge."""
        return self._replace(opinions=self.opinions[:0], has_verdict=self.has_verdict[:0])

    def sum_units(self, values):
        """Weighted values of rows, or their sums in clusters."""
        values = self.weights * values
        return values if self.member is None else np.bincount(self.member, values)

    def list_unseen(self):
        """What one label of each labelled row, or of all those of a cluster, adds to a sum."""
        parts = np.where(self.is_labelled, np.sqrt(1 - self.probability) / self.probability, 0.0)
        sums = self.sum_units(parts)
        return sums[self.sum_units(1.0 * self.is_labelled) > 0]

    def size_pair(self):
        """What each of two labels more would add to a weighted sum of targets."""
        return float(np.sqrt(np.mean(self.list_unseen() ** 2)))

    def find_quantile(self, confidence_level):
        """That of Student's law, by the number of labels, or of clusters with some."""
        tail, unseen = (1 - confidence_level) / 2, self.list_unseen()
        if not unseen.any():
            return float(-ndtri(tail))
        shares = unseen / unseen.sum()
        return float(-stdtrit(find_degrees(shares @ shares), tail))

    def make_targets(self, guesses):
        """Prediction-powered targets."""
        seen = np.where(self.is_labelled, (self.residuals - guesses) / self.probability, 0.0)
        return self.predictions + guesses + seen

    def pad(self, targets, weight=TINY, *, in_blocks=False, n_pairs=1.0, n_places=16, places=None):
        """`Padded` rows in ascending order of predictions, with the pair unless all are labelled.

        Parts of it, or of several pairs, stand at predictions that have the same number of rows
        between them, or at given ones.

        Rows of the pair have equal predictions, and cancel, but for what random signs and the
        squares of residuals show. If `in_blocks`, neighbours of many rows share a cluster, as a
        test by random signs may have it, but rows of the pair do not.
        """
        order = np.argsort(self.predictions, kind="stable")
        member = None if self.member is None else self.member[order]
        found = Padded(targets[order], self.predictions[order], self.weights[order], member)
        if self.is_labelled.all():
            return found
        if in_blocks and member is None and len(order) > _MANY:
            _, member = unite_neighbours(found.predictions, _N_BLOCKS)
        if places is None:
            mass = np.cumsum(found.weights**2 * (1 / self.probability[order] - 1))
            shares = (np.arange(n_places) + 0.5) / n_places
            places = found.predictions[np.searchsorted(mass, shares * mass[-1])]
        step = self.size_pair() * np.sqrt(n_pairs / len(places)) / weight
        places, moves = np.repeat(places, 2), np.tile([step, -step], len(places))
        if member is not None:
            member = np.append(member, member.max() + 1 + np.arange(len(moves)))
        return Padded(
            np.append(found.targets, places + moves),
            np.append(found.predictions, places),
            np.append(found.weights, np.full(len(moves), weight)),
            member,
        )


class Padded(NamedTuple):
    """Rows with a pair of disagreements, as functions of means take them."""

    targets: np.ndarray
    predictions: np.ndarray
    weights: np.ndarray
    member: np.ndarray | None


def fit_guesses(rows):
    """Coefficients of level and opinions, and the guess of each residual without its own label."""
    columns = np.vstack([np.ones(len(rows.residuals)), rows.opinions])
    labelled = np.flatnonzero(rows.is_labelled)
    probability, x = rows.probability[labelled], columns[:, labelled]
    weights = rows.weights[labelled] ** 2 * (1 - probability) / probability**2
    if not weights.any():
        return np.zeros(len(columns)), np.zeros(columns.shape[1])
    unit = labelled if rows.member is None else rows.member[labelled]
    names, unit = np.unique(unit, return_inverse=True)
    scale = np.sqrt(x**2 @ weights / weights.sum())
    scale[scale == 0] = 1.0
    x, columns = x / scale[:, None], columns / scale[:, None]
    matrices = np.stack([np.bincount(unit, weights * a * b) for a in x for b in x], axis=1)
    matrices = matrices.reshape(len(names), len(x), len(x))
    sides = np.stack([np.bincount(unit, weights * a * rows.residuals[labelled]) for a in x], axis=1)
    ridge = _RIDGE * weights.sum() * np.eye(len(x))
    whole, side = matrices.sum(axis=0) + ridge, sides.sum(axis=0)
    coefficients = np.linalg.solve(whole, side)
    without = np.linalg.solve(whole - matrices, (side - sides)[:, :, None])[:, :, 0]
    guesses = coefficients @ columns
    own = np.arange(len(guesses)) if rows.member is None else rows.member
    place = np.minimum(np.searchsorted(names, own), len(names) - 1)
    has_own = names[place] == own
    guesses[has_own] = np.sum(columns[:, has_own] * without[place[has_own]].T, axis=0)
    return coefficients / scale, guesses


def make_targets(rows, weight=None):
    """Prediction-powered targets, and how much each opinion counts in them.

    Weights are fitted if they are not given.
    """
    if weight is None:
        coefficients, guesses = fit_guesses(rows)
        return rows.make_targets(guesses), coefficients[1:]
    return rows.make_targets(weight @ rows.opinions), weight


def bound_ratio_of_sums(actual, expected, pair, quantile):
    """The sum of `actual`, which may be negative, over that of `expected`, and its ends.

    Both are sums of units; `pair` is that of `size_pair`. Each end is the further one of two: of
    the symmetric interval, and of the one that allows for skewness.
    """
    ratio, total = actual.sum() / expected.sum(), expected.sum()
    moves = (actual - ratio * expected) / np.maximum(total - expected, _RIDGE * total)
    moves = np.append(moves, [pair / total, -pair / total])
    error = np.sqrt(moves @ moves)
    if error == 0:
        return (float(ratio),) * 3
    scaled = moves / error
    low, high = undo_skewness(np.array([quantile, -quantile]), scaled**2 @ scaled)
    return (
        float(ratio),
        float(ratio - error * max(low, quantile)),
        float(ratio - error * min(high, -quantile)),
    )


def measure_variance(rows, targets, pair):
    """Variance of the weighted mean of the residuals of targets."""
    mass = rows.weights.sum()
    residuals = targets - rows.predictions
    residuals = residuals - rows.weights @ residuals / mass
    sums = rows.sum_units(residuals)
    return float((sums @ sums + 2 * pair**2) / mass**2)


def measure_label_variance(rows):
    """Variance of the residual of a label."""
    shares = np.where(rows.is_labelled, rows.weights / rows.probability, 0.0)
    shares /= shares.sum()
    apart = rows.residuals - shares @ rows.residuals
    return float(shares @ apart**2 / max(1 - shares @ shares, _RIDGE))


def count_effective_labels(rows, targets):
    """How many independent labels would tell as much of the mean; the pair counts in both."""
    pair, n_labels = rows.size_pair(), int(rows.is_labelled.sum())
    single = measure_label_variance(rows) + 2 * n_labels * (pair / rows.weights.sum()) ** 2
    variance = measure_variance(rows, targets, pair)
    if single == 0 or variance == 0:
        return float(n_labels)
    return float(min(single / variance, len(targets)))


def bound_share(values, weights, member, confidence_level):
    """Weighted mean of values in [0, 1], and the ends of its interval (E. L. Korn, B. I. Graubard).

    Weights may be 0; where all are, nothing is known.
    """
    if not weights.any():
        return np.nan, 0.0, 1.0
    shares = weights / weights.sum()
    share = min(float(shares @ values), 1.0)
    n_rows = 1 / (shares @ shares)
    if member is not None:
        apart = values - share
        parts = shares @ apart**2, shares * apart, shares, shares
        n_rows = min(n_rows, count_in_clusters(*parts, member).discount(confidence_level))
    low, high = find_exact_interval(share, n_rows, 1 - confidence_level)
    return share, float(low), float(high)


def measure_unexplained_variance(rows, guesses):
    """Mean square of what guesses leave of the residual of a label."""
    shares = np.where(rows.is_labelled, rows.weights / rows.probability, 0.0)
    return float(shares @ (rows.residuals - guesses) ** 2 / shares.sum())
