"""Corrections by groups of rows, with ridge penalties, for any loss; how much of any to apply."""

from itertools import pairwise

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize_scalar
from scipy.stats import false_discovery_control, norm

from skcal._numerics.recalibration._newton import minimize_convex, solve_newton_step

# Penalties of effects of groups, inverse variances: the first, the weakest, and the strongest, by
# which nothing is left; of rows that tell more than an outcome of rate 1/2 it is more.
_FIRST, _WEAKEST, _STRONGEST = 100.0, 1.0, 3e4
# The penalty of what all rows have in common, for events of rate 1/2; less for rarer ones, of whose
# log odds a row tells less. Else the rate of a rare event behind a balanced model is not reached.
_COMMON_PENALTY = 10.0
# Penalties are estimated with this many Hessians in turn, by at most this many steps with each,
# which end once no penalty changes by a larger share.
_N_HESSIANS, _MOST_STEPS, _LEAST_CHANGE = 2, 10, 0.1
# All fits but the last to all rows end where a step promises less, as a share of the loss.
_COARSE = 1e-8
# The share of pairs that may be chosen though they tell nothing, and the cells of all that are.
_FALSE_SHARE = 0.5
MOST_CELLS = 1000
# Sums over rows and columns of a table are made independent by this share of their curvature.
_DAMPING = 1e-9
# The loss of rows held out that a whole correction must gain for half of it to be applied. At 5
# the gain of true effects is hardly smaller, and the harm to calibrated models half of that at 2.
_DOUBT = 5.0


class GroupDesign:
    """Rows in overlapping groups, sorted by partitions: each row is in one group of each, or none.

    `codes` has an array for each partition: the number of the group of each row, or that of all
    groups, as in `sizes`, for rows in none. Groups of the first `n_sloped` partitions have slopes,
    the factors of `scores`, beside intercepts.
    """

    def __init__(self, codes, sizes, scores, n_sloped):
        self.codes, self.sizes, self.scores, self.n_sloped = codes, sizes, scores, n_sloped
        ends = np.cumsum([0, *sizes, *sizes[:n_sloped]])
        self.n_coefficients = int(ends[-1])
        places = [slice(*pair) for pair in pairwise(ends)]
        self.intercepts, self.slopes = places[: len(sizes)], places[len(sizes) :]

    def add(self, numbers, pairs):
        """The design with an intercept for each cell of some pairs of columns."""
        codes = [cells[numbers[:, j], numbers[:, k]] for j, k, cells in pairs]
        sizes = [int(cells[-1, -1]) for _, _, cells in pairs]
        return GroupDesign([*self.codes, *codes], [*self.sizes, *sizes], self.scores, self.n_sloped)

    def take(self, rows):
        """The design of some of the rows."""
        codes = [own[rows] for own in self.codes]
        return GroupDesign(codes, self.sizes, self.scores[rows], self.n_sloped)

    def correct(self, coefficients):
        """Sum of the intercepts and slopes times scores of the groups that each row is in."""
        return self._add(self.intercepts, coefficients) + self.scores * self._add(
            self.slopes, coefficients
        )

    def _add(self, places, coefficients):
        total = np.zeros(len(self.scores))
        for own, place in zip(self.codes, places, strict=False):
            total += np.append(coefficients[place], 0.0)[own]
        return total

    def sum_rows(self, values):
        """Sums of values, and of values times scores, over the rows of each group."""
        sums = [self._count(k, values) for k in range(len(self.sizes))]
        scaled = values * self.scores
        return np.concatenate([*sums, *(self._count(k, scaled) for k in range(self.n_sloped))])

    def _count(self, k, values):
        return np.bincount(self.codes[k], values, self.sizes[k] + 1)[:-1]

    def sum_pairs(self, values):
        """Sums over the rows of each pair of coefficients' columns of the design."""
        sums = np.empty((self.n_coefficients, self.n_coefficients))
        scaled = values * self.scores
        squared = scaled * self.scores
        for j in range(len(self.sizes)):
            for k in range(j + 1):
                pair = self.codes[j] * (self.sizes[k] + 1) + self.codes[k]
                blocks = [(self.intercepts[j], self.intercepts[k], values)]
                if k < self.n_sloped:
                    blocks += [(self.intercepts[j], self.slopes[k], scaled)]
                if j < self.n_sloped:
                    blocks += [(self.slopes[j], self.intercepts[k], scaled)]
                    blocks += [(self.slopes[j], self.slopes[k], squared)]
                for rows, columns, weights in blocks:
                    part = self._count_pairs(pair, weights, j, k)
                    sums[rows, columns], sums[columns, rows] = part, part.T
        return sums

    def _count_pairs(self, pair, values, j, k):
        shape = self.sizes[j] + 1, self.sizes[k] + 1
        return np.bincount(pair, values, shape[0] * shape[1]).reshape(shape)[:-1, :-1]

    def list_families(self):
        """Places of coefficients that share a penalty: all but those of the first partition.

        Intercepts of each partition, then slopes of each.
        """
        places = [*self.intercepts[1:], *self.slopes[1:]]
        return [place for place in places if place.start < place.stop]

    def penalise(self, penalties, common):
        """A penalty for each coefficient, by those of families and of what all rows share."""
        spread = np.full(self.n_coefficients, common)
        for place, penalty in zip(self.list_families(), penalties, strict=True):
            spread[place] = penalty
        return spread


def fit_group_scaling(design, loss, mass, splits, numbers=None, pairs=()):
    """Coefficients, their penalties, the correction of held-out rows, and the pairs that count.

    The coefficients minimise the penalised loss, one of `_group_losses`,

        sum_i m_i loss_i(correction_i) + sum_f penalty_f |c_f|^2 / 2

    with a penalty for each family f of coefficients. This is the inverse variance of a normal
    prior, of the largest marginal likelihood, by Laplace's approximation, times 1/s, the density of
    the standard deviation s. Without 1/s, half of many families that are 0 would seem not to be.
    There is a mode at s = 0, too; what is found is the one near the start, if there is any.

    Pairs of columns are chosen by what a fit without any leaves of the targets. Held-out
    corrections are learned from other rows. So are their pairs and penalties, by a loss that is
    quadratic near the coefficients of all rows without pairs.

    The first partition of the design has a single group, of all rows. Weights count rows.
    `numbers`, (n_samples, n_columns), has the level of each row in each column, the largest number
    for rows in none. `pairs` are (column, column, cells): `cells` has the number of the cell of
    each pair of levels, and the number of cells for those in none.
    """
    whole = _Problem(design, loss, mass)
    first, penalties = whole.fit(np.zeros(design.n_coefficients))
    end = design.intercepts[-1].stop

    def extend(places):
        joint = design.add(numbers, [pairs[place] for place in places])
        return joint, np.insert(first, end, np.zeros(joint.n_coefficients - len(first)))

    fold = np.zeros(len(mass), dtype=np.intp)
    for number, (_, test) in enumerate(splits):
        fold[test] = number
    likely, *others = choose_pairs(numbers, pairs, *whole.find_residuals(first), fold)
    # Held-out corrections can only answer for pairs that they have, too.
    chosen = [place for place in likely if sum(place in own for own in others) > len(splits) / 2]
    coefficients, held_out = first, np.zeros(len(mass))
    if chosen:
        joint, start = extend(chosen)
        coefficients, penalties = _Problem(joint, whole.loss, mass).fit(start)
    for (train, test), own in zip(splits, others, strict=False):
        joint, start = extend(own)
        part = _Problem(joint.take(train), whole.loss.take(train), mass[train])
        found = part.minimise(part.estimate_penalties(start), start, last_decrement=_COARSE)
        held_out[test] = joint.take(test).correct(found)
    return coefficients, penalties, held_out, [pairs[place] for place in chosen]


def choose_pairs(numbers, pairs, residuals, weights, fold):
    """Yield the pairs of columns that tell something: by all rows, then by those out of each fold.

    They are places in `pairs`, of the strongest first. Some arguments are those of
    `fit_group_scaling`; `residuals` are what is left of the targets, and `weights` its variance.

    The strongest ones that hold 1000 cells at most are taken, among those that the procedure of
    Benjamini and Hochberg finds where half of them may be false: the more pairs tell something, the
    weaker a pair may be that is worth a try. Pairs that tell nothing will be shrunk.
    """
    n_folds = fold.max() + 1
    scores = np.empty((1 + n_folds, len(pairs)))
    for place, (j, k, cells) in enumerate(pairs):
        shape = n_folds, *cells.shape
        found = (fold * shape[1] + numbers[:, j]) * shape[2] + numbers[:, k]
        inside = cells < cells[-1, -1]
        filled = np.ix_(range(n_folds), inside.any(axis=1), inside.any(axis=0))
        parts = [
            (inside * np.bincount(found, values, np.prod(shape)).reshape(shape))[filled]
            for values in (residuals, weights)
        ]
        sums = [np.concatenate([[own.sum(axis=0)], own.sum(axis=0) - own]) for own in parts]
        scores[:, place] = score_interactions(*sums)
    for own in scores:
        chosen, left = [], MOST_CELLS
        is_likely = false_discovery_control(norm.sf(own)) <= _FALSE_SHARE if pairs else []
        for place in np.argsort(-own, kind="stable"):
            size = pairs[place][2][-1, -1]
            if is_likely[place] and size <= left:
                chosen.append(int(place))
                left -= size
        yield chosen


def score_interactions(residuals, weights):
    """How far residuals of cells vary beyond chance, and beyond sums of effects, as normal scores.

    Residuals and their variances are summed over cells, (n_tables, n_rows, n_columns); each table
    has a score, -inf where rows and columns explain all.

    The sum of the squares of residuals, less what effects of rows and columns explain, is compared
    with its mean and variance; it is the slope of the log likelihood in the variance of random
    effects, and does not divide by cells that hardly any outcome is expected in.
    """
    n_rows = weights.shape[1]
    first, second, third = (_border(weights**power) for power in (1, 2, 3))
    total = weights.sum(axis=(1, 2))
    least = _DAMPING * np.maximum(total, 1.0)
    inverse = np.linalg.inv(first + least[:, None, None] * np.eye(first.shape[1]))
    margins = np.concatenate([residuals.sum(axis=2), residuals.sum(axis=1)], axis=1)[:, :, None]
    effects = inverse @ margins
    explained = weights * (effects[:, :n_rows] + effects[:, n_rows:].transpose(0, 2, 1))
    statistic = ((residuals - explained) ** 2).sum(axis=(1, 2))
    # With the variances D of cells, the indicators X of rows and columns and P = (X'DX)^-1 the
    # covariance is V = D - DXPX'D. The squares of n sums have the mean tr V and the variance
    # 2 tr V^2, apart from the kurtosis of outcomes, which adds tr D at most.
    share = inverse @ second
    mean = total - np.trace(share, axis1=1, axis2=2)
    square = (weights**2).sum(axis=(1, 2)) - 2 * (inverse * third).sum(axis=(1, 2))
    square += np.trace(share @ share, axis1=1, axis2=2)
    # Rounding may hide it where few rows have nearly all weight: tr V^2 >= (tr V)^2 / n.
    square = np.maximum(square, mean**2 / weights[0].size) + total / 2
    told = mean > 1e3 * least
    mean, square = np.where(told, mean, 1.0), np.where(told, square, 1.0)
    # A chi-squared variable of these moments, by the approximation of Wilson and Hilferty.
    spread = 2 * square / (9 * mean**2)
    scores = ((statistic / mean) ** (1 / 3) - 1 + spread) / np.sqrt(spread)
    return np.where(told, scores, -np.inf)


def _border(tables):
    """Products of the indicators of rows and columns, weighted by tables."""
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    n, middle = rows.shape[1], rows.shape[1] + columns.shape[1]
    products = np.zeros((len(tables), middle, middle))
    products[:, range(middle), range(middle)] = np.concatenate([rows, columns], axis=1)
    products[:, :n, n:], products[:, n:, :n] = tables, tables.transpose(0, 2, 1)
    return products


def find_factor(lose):
    """What corrections of rows held out are to be multiplied by, in [0, 1], with some doubt.

    `lose(factor)` is their loss.
    """

    def doubt(factor):
        return lose(factor) + _DOUBT * factor**2

    found = minimize_scalar(doubt, bounds=(0.0, 1.0), method="bounded")
    return float(found.x) if found.fun < doubt(0.0) else 0.0


class _Problem:
    """The penalised mean loss of some rows."""

    def __init__(self, design, loss, mass):
        self.design, self.loss = design, loss
        # What is minimised is divided by the number of rows, but not by next to nothing.
        self.mass, self.total = mass, max(mass.sum(), 1.0)

    def fit(self, coefficients):
        """The optimum, from a start, and penalties, which are estimated in between.

        So is the dispersion, if the loss has one.
        """
        penalties = np.full(len(self.design.list_families()), _FIRST)
        for _ in range(_N_HESSIANS):
            coefficients = self.minimise(penalties, coefficients, last_decrement=_COARSE)
            penalties, n_determined = self._estimate(coefficients, penalties)
            corrections = self.design.correct(coefficients)
            self.loss = self.loss.measure_dispersion(corrections, self.mass, n_determined)
        return self.minimise(penalties, coefficients), penalties

    def find_residuals(self, coefficients):
        """What is left of the targets, and its variance."""
        parts = self.loss.find_residuals(self.design.correct(coefficients))
        return tuple(self.mass * part for part in parts)

    def minimise(self, penalties, start, **options):
        """The optimum for penalties of families, by Newton's method."""
        spread = self._penalise(penalties)

        def evaluate(coefficients):
            losses, slopes, curvatures = self.loss.evaluate(self.design.correct(coefficients))
            value = self.mass @ losses + (spread * coefficients) @ coefficients / 2
            gradient = self.design.sum_rows(self.mass * slopes) + spread * coefficients

            def step(free):  # all are
                hessian = self.design.sum_pairs(self.mass * curvatures) + np.diag(spread)
                return solve_newton_step(hessian / self.total, gradient / self.total)

            return value / self.total, gradient / self.total, step

        return minimize_convex(evaluate, start, **options)[0]

    def estimate_penalties(self, coefficients, penalties=None):
        """By MacKay's steps on a loss that is quadratic near the coefficients.

        penalty |c|^2 of a family is the number of its coefficients that rows determine, plus 1.
        """
        return self._estimate(coefficients, penalties)[0]

    def _estimate(self, coefficients, penalties):
        """Penalties, and how many coefficients the rows determined with the last ones."""
        _, slopes, curvatures = self.loss.evaluate(self.design.correct(coefficients))
        curvature = self.design.sum_pairs(self.mass * curvatures)
        pull = curvature @ coefficients - self.design.sum_rows(self.mass * slopes)
        families = self.design.list_families()
        strongest = _STRONGEST * max(4 * self.loss.find_information(self.mass), 1.0)
        determined = np.zeros(1)
        if penalties is None:
            penalties = np.full(len(families), _FIRST)
        for _ in range(_MOST_STEPS):
            spread = self._penalise(penalties)
            factor, is_lower = _factorise(curvature + np.diag(spread))
            coefficients = cho_solve((factor, is_lower), pull)
            variance = np.diag(dpotri(factor, is_lower)[0])
            determined = 1 - spread * variance
            sums = [(determined[own].sum() + 1, np.sum(coefficients[own] ** 2)) for own in families]
            new = np.array([top / max(square, top / strongest) for top, square in sums])
            new = np.maximum(new, _WEAKEST)
            change = np.abs(np.log(new / penalties)).max(initial=0.0)
            penalties = new
            if change < _LEAST_CHANGE:
                break
        return penalties, determined.sum()

    def _penalise(self, penalties):
        common = 4 * self.loss.find_information(self.mass) * _COMMON_PENALTY
        return self.design.penalise(penalties, common)


def _factorise(matrix):
    """`cho_factor` of a positive definite matrix, which rounding may have made indefinite."""
    damping = 1e-15
    while True:
        try:
            return cho_factor(matrix)
        except np.linalg.LinAlgError:
            matrix = matrix + np.diag(damping * matrix.diagonal())
            damping *= 10
