"""By how much recalibration lowers a proper score, and by how much at least."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from skcal._fitting._held_out import predict_split
from skcal._input._clusters import read_clusters, sort_clusters, unite_copies
from skcal._input._reduction import check_class_vectors
from skcal._input._validation import check_confidence_level, check_option, check_rng
from skcal._numerics.inference._effective_rows import count_in_clusters
from skcal._numerics.monitoring._betting import find_lower_bound
from skcal._numerics.recalibration._losses import find_largest_rise, find_losses
from skcal._refinement import (
    LOSSES,
    check_n_folds,
    cross_fit,
    has_two_classes,
    list_vectors,
    read_recalibrator,
)
from skcal._tools._progress import read_progress
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, RandomState
from skcal.recalibration import AutoRecalibration

# Rows before the first bet, and growth of their number from one map to the next.
_FIRST = 30
_GROWTH = 1.4
# Parts of the way from the predictions to the recalibrated ones: a small part loses little where
# the map is wrong, and tells small errors from none; the whole way is best for large ones.
_PARTS = (0.25, 0.5, 1.0)
# No loss may grow by more than this on the whole way; twice that where squares are summed over
# the classes.
_LARGEST_RISE = {"brier": 0.5, "log": np.log(4.0)}
# A share of the predictions that stays, so that no log loss becomes infinite.
_SHARE_KEPT = 0.05


@as_record
class RecalibrationGain(NamedTuple):
    """Estimated gain from recalibration, with lower bounds; see `recalibration_gain`.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    gain : float
        Cross-fitted estimate of the mean loss before minus that after recalibration; below 0 where
        recalibration does harm.
    approximate_low : float
        Approximate lower bound of the calibration error of the score, from a normal distribution;
        not negative.
    certified_low : float
        Lower bound of the same that holds at every sample size; not negative.
    refinement : float
        Cross-fitted mean loss after recalibration.
    loss : str
        Which loss was measured.
    confidence_level : float
        Probability of each of the two bounds.
    n_samples : int
        Number of rows.
    """

    gain: float
    approximate_low: float
    certified_low: float
    refinement: float
    loss: str
    confidence_level: float
    n_samples: int

    def __str__(self) -> str:
        score = {"brier": "Brier score", "log": "log loss"}[self.loss]
        verb = "raises" if self.gain < 0 else "lowers"
        low = np.floor(1e4 * self.certified_low) / 1e4
        return (
            f"Recalibration {verb} the {score} by {abs(self.gain):.3g}, to {self.refinement:.3g}; "
            f"a calibration error of at least {low:g} is certified "
            f"({100 * self.confidence_level:g} % confidence)."
        )


def recalibration_gain(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    loss: Literal["brier", "log"] = "brier",
    recalibrator: Any = None,
    cv: int = 5,
    confidence_level: float = 0.95,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> RecalibrationGain:
    r"""Estimate how much recalibration lowers a proper score, and bound it from below.

    It answers whether recalibration is worth the trouble, in the units of the score. The bounds are
    bounds of the calibration error of the score, which is at least the gain of any recalibrator.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels. Two of them need two rows each at least, or rows in two clusters.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1. The model must not have been fitted on these rows.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    loss : {"brier", "log"}, default="brier"
        The score: squared error, summed over the classes (for two labels that of the positive one
        alone), or log loss.
    recalibrator : recalibrator or str, default=None
        Fitted to some of the rows, for others. None takes `AutoRecalibration`; `PlattScaling` is
        ten times as fast.
    cv : int, default=5
        Number of folds of the estimate, at least 2.
    confidence_level : float, default=0.95
        Confidence of each lower bound, in (0, 1).
    progress : bool or callable, default=None
        A progress bar over the blocks of rows of `certified_low`: True for a tqdm bar (tqdm must be
        installed), or a function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the order of the rows in which `certified_low` reads them; nothing else is drawn.

    Returns
    -------
    RecalibrationGain
        Named tuple of ``gain``, ``approximate_low``, ``certified_low``, ``refinement``, ``loss``,
        ``confidence_level`` and ``n_samples``.

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, or if fewer than two labels have two rows, or
        rows in two clusters.

    See Also
    --------
    skcal.inference.calibration_test : Whether there is any calibration error.
    skcal.refinement.log_loss_refinement : The loss after recalibration, with weights.
    skcal.metrics.calibration_decomposition : The calibration error, by a curve through all rows.

    Notes
    -----
    For a proper loss l, predictions f and a map g that was fitted on other rows

    .. math:: \mathbb{E}\, l(f, y) - \mathbb{E}\, l(g(f), y) \le
              C = \mathbb{E}\, l(f, y) - \min_g \mathbb{E}\, l(g(f), y),

    and C is the calibration error of the score [1]_: the mean squared distance of the predictions
    from the conditional probabilities given the prediction, or the mean divergence of Kullback and
    Leibler. ``gain`` is the mean of :math:`l(f_i, y_i) - l(g_{-k(i)}(f_i), y_i)` with g fitted on
    all folds but that of row i. Folds are the same at every call. The maps of a mixture are fitted
    so; its weights come from the held-out rows of the other folds, by maps that have seen this one,
    which has no visible effect in the simulations below.

    **The approximate bound** is the gain minus a normal quantile times its standard error. Rows of
    different folds are not independent, so that nothing guarantees its confidence. In simulations
    of a calibrated and three miscalibrated models bounds of 95 % held in 95 to 99 % of 400 samples
    of 300 rows and of 120 samples of 3000, with Platt scaling in 95 to 100 %.

    **The certified bound** needs independent rows, or clusters, of one population, and nothing
    else; it is valid with any number of rows, any model and any recalibrator. Rows are put into
    random order and divided into blocks, each ending 1.4 times as far as the last. Each block is
    mapped by recalibrators fitted on the rows before it. Given these, the gains :math:`d_t` of the
    block have a mean of at most C. Bets that C is above m multiply a capital by :math:`1 + x_t (d_t
    - m)`, with :math:`x_t` chosen by the earlier rows; where :math:`m \ge C` the capital exceeds
    :math:`1 / \alpha` at any time with a probability of at most :math:`\alpha`. The bound is the
    largest m at which it does [2]_. Three players share the capital. They move 1/4, 1/2 and all of
    the way from f to g(f), which are maps of f too: errors that hardly stand out from none show on
    the first steps, large ones on the whole way. Maps are drawn back so that no loss grows by more
    than 1/2 (1 for more than two classes, log 4 for the log loss, where g also keeps 1/20 of f).
    The first 30 rows see no bets. The bound is cautious: with few rows it is mostly 0.

    The log loss of a label of predicted probability 0 is infinite, and so is C if it can occur: one
    such row makes both bounds infinite, and the gain too, unless the loss after recalibration is
    infinite as well. Then the gain is 0.

    **Clusters** are whole in folds and blocks. The standard error of the approximate bound is then
    that of sums of :math:`d_i - \bar d` over clusters, each divided by :math:`1 - n_c / n`, with
    :math:`n_c` of the n rows, and the quantile that of Student's distribution with
    :math:`1 / \sum_c (n_c / n)^2 - 1` degrees of freedom [3]_. The certified bound reads clusters
    in random order, and a bet multiplies the capital by
    :math:`1 + x_t \sum_{i \in c} (d_i - m) / \max_c n_c`. It bounds the same C, in which each row
    of the population counts once, also where sizes and errors go together. Where sizes differ it
    needs one thing more: no cluster of the population is larger than the largest one at hand.
    Without such a limit a rare and huge cluster that nobody has seen may hold most rows, and
    nothing is certain. One cluster that is far larger than all others makes the bound small.
    Clusters of equal numbers of copies give what single rows give.

    In simulations of 1000 samples of 300 rows of the same models, with Platt scaling, the
    certified bounds of 95 % held in at least 99.4 %. For a calibration error of the Brier score of
    0.0208 they were 0.0053 on average, and 0.0130 with 3000 rows; the approximate ones 0.005 and
    0.015.

    There are no weights: the certified bound needs a bound of the weights of rows that are not
    seen yet, which nobody knows. See :func:`brier_refinement` for weighted losses.

    References
    ----------
    .. [1] E. Berta, D. Holzmüller, M. I. Jordan, F. Bach (2025). Rethinking early stopping: refine,
       then calibrate. arXiv. :doi:`10.48550/arXiv.2501.19195`
    .. [2] I. Waudby-Smith, A. Ramdas (2024). Estimating means of bounded random variables by
       betting. Journal of the Royal Statistical Society Series B 86.
       :doi:`10.1093/jrsssb/qkad009`
    .. [3] R. M. Bell, D. F. McCaffrey (2002). Bias reduction in standard errors for linear
       regression with multi-stage samples. Survey Methodology 28.

    Examples
    --------
    Outcomes are half as far from 1/2 as predicted. The calibration error is 1/48 = 0.0208.

    >>> from skcal.datasets import make_shrunk
    >>> from skcal.refinement import recalibration_gain
    >>> problem = make_shrunk(3000, slope=0.5, random_state=0)
    >>> result = recalibration_gain(problem.y_true, problem.y_proba, random_state=0)
    >>> round(result.gain, 3), round(result.approximate_low, 3)
    (0.019, 0.015)
    >>> 0.005 < result.certified_low < 1 / 48
    True
    """
    check_option("loss", loss, LOSSES)
    n_folds = check_n_folds(cv)
    level = check_confidence_level(confidence_level)
    rng, show = check_rng(random_state), read_progress(progress)
    vectors = check_class_vectors(y_true, y_proba, pos_label=pos_label, labels=labels)
    rows, member = vectors, None
    if clusters is not None:
        rows, member = _unite_clusters(vectors, clusters)
    proba, codes, _ = list_vectors(rows)
    recalibrator = read_recalibrator(recalibrator, AutoRecalibration())
    _check_classes(codes, member)
    before = find_losses(proba, codes, loss)
    after = find_losses(cross_fit(recalibrator, proba, codes, None, n_folds, member), codes, loss)
    certified = np.inf
    if np.isfinite(before).all():
        order, sizes = _shuffle(rng, len(codes), member)
        gains, floors, own = _play(recalibrator, proba[order], codes[order], loss, show, sizes)
        certified = find_lower_bound(gains, floors, level, own)
    gain, low = _estimate(before, after, level, member)
    n_samples = len(vectors.target)
    return RecalibrationGain(
        gain, low, float(certified), float(after.mean()), loss, level, n_samples
    )


def _unite_clusters(vectors, clusters):
    """The rows to keep, as in `unite_copies`, but copies of unequal numbers stay as they are."""
    member = read_clusters(clusters, np.ones(len(vectors.target), dtype=bool))
    united, order, weights = unite_copies(member, vectors.proba, vectors.target, None)
    if weights is not None:  # which nothing here has
        united, order = sort_clusters(member, vectors.proba, vectors.target)
    return vectors.take(order), united


def _check_classes(codes, member):
    units = "rows"
    if member is not None:
        units = "clusters"
        codes = np.unique(np.stack([member, codes]), axis=1)[1]
    counts = np.bincount(codes)
    if (counts >= 2).sum() < 2:
        raise ValueError(
            f"y_true must hold at least two labels of two {units} each, so that a recalibrator can "
            f"be fitted on other {units}; got {len(codes)} {units} of {(counts > 0).sum()} labels."
        )


def _shuffle(rng, n_rows, member):
    """Rows in random order, those of a cluster next to each other, and the sizes of clusters."""
    if member is None:
        return rng.permutation(n_rows), None
    sizes = np.bincount(member)
    clusters = rng.permutation(len(sizes))
    place = np.argsort(clusters)
    return np.argsort(place[member], kind="stable"), sizes[clusters]


def _estimate(before, after, level, member):
    """Mean gain, and its lower bound by the distribution of the normal, or of Student."""
    total, rest = before.mean(), after.mean()
    if np.isinf(total):
        return (0.0 if np.isinf(rest) else np.inf), np.inf
    if np.isinf(rest):
        return -np.inf, 0.0
    gains = before - after
    if member is None:
        width = ndtri(level) * gains.std(ddof=1) / np.sqrt(len(gains))
    else:
        width = _find_width(gains, member, level)
    return float(gains.mean()), float(max(gains.mean() - width, 0.0))


def _find_width(gains, member, level):
    """From the mean to its lower bound, by how sums of clusters vary."""
    apart, shares = gains - gains.mean(), np.full(len(gains), 1 / len(gains))
    mean_square = shares @ apart**2
    telling = count_in_clusters(mean_square, shares * apart, shares, shares, member)
    return stdtrit(telling.degrees, level) * np.sqrt(mean_square / telling.n_rows)


def _play(recalibrator, proba, codes, loss, show=iter, sizes=None):
    """Gains of blocks of rows by maps that were fitted on the rows before them, floors and sizes.

    Gains have shape (n_parts, n_rounds); blocks before which a single class was seen are left out.
    No gain of a part is below minus its floor times the size of the round, 1 for rows. Where rows
    come in clusters of given sizes, one after the other, a round is a cluster: gains are summed,
    and they and the sizes divided by the largest size.
    """
    largest_rise = _LARGEST_RISE[loss]
    if loss == "brier" and proba.shape[1] > 2:
        largest_rise *= 2
    edges = _list_edges(len(codes))
    if sizes is not None:
        # Whether a cluster is in a block depends on those before it alone, and not on its size.
        starts = np.append(np.cumsum(sizes) - sizes, len(codes))
        edges = np.unique(starts[np.minimum(np.searchsorted(starts, edges), len(sizes))])
    rounds, first = [np.empty((len(_PARTS), 0))], len(codes)
    for start, stop in show(list(pairwise(edges))):
        if has_two_classes(codes[:start]):
            first = min(first, start)
            block = slice(start, stop)
            mapped = predict_split(recalibrator, proba, codes, None, slice(start), block)
            changes = _limit_changes(proba[block], mapped, loss, largest_rise)
            before = find_losses(proba[block], codes[block], loss)
            rounds.append(
                [
                    before - find_losses(proba[block] + part * changes, codes[block], loss)
                    for part in _PARTS
                ]
            )
    gains, floors = np.concatenate(rounds, axis=1), np.array(_PARTS) * largest_rise
    if sizes is None:
        return gains, floors, 1.0
    is_played = starts[:-1] >= first
    own = sizes[is_played]
    if len(own):
        gains = np.add.reduceat(gains, starts[:-1][is_played] - first, axis=1)
    return gains / sizes.max(), floors, own / sizes.max()


def _list_edges(n_rows):
    """Numbers of rows before each block, and of all rows."""
    edges = [_FIRST]
    while edges[-1] < n_rows:
        edges.append(min(n_rows, int(np.ceil(_GROWTH * edges[-1]))))
    return edges


def _limit_changes(proba, mapped, loss, largest_rise):
    """Changes of the probabilities, drawn back where the loss could grow by too much.

    Losses are convex: a part of the change costs at most that part of the rise.
    """
    changes = mapped - proba
    if loss == "log":
        changes *= 1 - _SHARE_KEPT
    rise = find_largest_rise(proba, proba + changes, loss)
    return (largest_rise / np.maximum(rise, largest_rise))[:, None] * changes
