"""Formulas of fitted recalibrators as nodes of a graph, by family; see the guide for the formulas.

Scores are class scores as ``_recalibrate`` of the recalibrator gets them.
"""

from copy import copy

import numpy as np

from skcal._numerics.monitoring._online import list_rates, list_weights
from skcal._numerics.recalibration._histogram import EDGE_TOLERANCE, raise_edges
from skcal._numerics.recalibration._online_maps import DEPTH, find_basis
from skcal._numerics.recalibration._scores import SMALLEST_PROBABILITY
from skcal._numerics.recalibration._venn_abers import VennAbersMap
from skcal._numerics.shift._prior_shift import find_factors
from skcal.export._graph import (
    absolute,
    apply,
    clip,
    concat,
    count,
    exp,
    expit,
    interpolate,
    log,
    look_up,
    maximum,
    minimum,
    softmax,
    where,
)
from skcal.recalibration import (
    AutoRecalibration,
    BetaCalibration,
    ClosedTestRecalibration,
    ConfidenceReplacement,
    DirichletCalibration,
    HistogramBinning,
    IsotonicRecalibration,
    KernelRecalibration,
    MatrixScaling,
    OnlineRecalibration,
    PlattScaling,
    QuadraticScaling,
    RandomizedSmoothing,
    ScalingBinning,
    SplineRecalibration,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VectorScaling,
    VennAbers,
)
from skcal.shift import PriorShift


def recalibrate(fitted, columns):
    """Probabilities, a column for each class, of columns in the layout of `fit`."""
    formula = _FORMULAS.get(type(fitted))
    if formula is None:
        raise ValueError(_explain(fitted))
    scores = _read_columns(fitted, columns)
    proba = _answer(formula, fitted, scores)
    if fitted._gives_hard_probabilities:
        return proba
    inside = clip(proba, columns.graph.smallest, columns.graph.largest)
    if fitted.input == "proba" or not isinstance(fitted, TemperatureScaling):
        return inside
    possible = where(scores > -np.inf, 1.0, 0.0)  # impossible classes keep the probability 0
    return where(possible > 0.5, where(possible.sum() > 1.5, inside, 1.0), 0.0)


def _answer(formula, fitted, scores):
    """Probabilities; those of classes without rows stay as they are where maps know no more."""
    seen = vars(fitted).get("_seen")
    if seen is None:
        return formula(fitted, scores)
    proba = _find_probabilities(fitted, scores)
    if len(seen) == 1:
        return proba
    view, some = copy(fitted), scores.take(seen)
    view.classes_ = fitted.classes_[seen]
    if fitted.input == "proba":
        some = _normalize(some, len(seen))
    unseen = np.setdiff1d(np.arange(len(fitted.classes_)), seen)
    parts = concat([formula(view, some) * proba.take(seen).sum(), proba.take(unseen)])
    return parts.take(np.argsort(np.concatenate([seen, unseen])))


def restore_layout(fitted, proba):
    """Probabilities in the layout of the columns that a recalibrator reads."""
    return proba.take(np.argsort(fitted._order)[-fitted.n_features_in_ :])


def _explain(fitted):
    name = type(fitted).__name__
    if isinstance(fitted, RandomizedSmoothing):
        return (
            f"{name} draws a random number for each row, which a graph cannot repeat. Use "
            "KernelRecalibration, which reads the same curve without noise."
        )
    return f"The recalibrator must be one of skcal.recalibration to be exported; got {name}."


# ------------------------------------------------------------------------------------ scales


def _read_columns(fitted, columns):
    """Scores in the order of the classes; a single column is that of the second class."""
    x, by_proba = columns.cast(np.float64), fitted.input == "proba"
    if by_proba:
        x = clip(x, 0.0, 1.0)
    if fitted.n_features_in_ == 1:
        x = concat([1.0 - x if by_proba else 0.0 * x, x])
    x = x.take(fitted._order)
    depth = float(fitted._depth)
    if by_proba or not np.isfinite(depth):
        return x
    top = x.max()
    low = top - depth
    # The depth is lost beside scores that are far larger: there the largest becomes 0.
    raised = where(low < top, maximum(x, low), maximum(x - top, -depth))
    return where(x > -np.inf, raised, x) if isinstance(fitted, TemperatureScaling) else raised


def _find_probabilities(fitted, scores):
    return scores if fitted.input == "proba" else softmax(scores)


def _find_logits(fitted, scores):
    if fitted.input == "logits":
        return scores
    return log(maximum(scores, max(getattr(fitted, "min_proba_", 0.0), SMALLEST_PROBABILITY)))


def _find_log_odds(fitted, scores):
    """log(p / (1 - p)) of each class, of the second alone where there are two."""
    logits = _find_logits(fitted, scores)
    n_classes = len(fitted.classes_)
    if n_classes == 2:
        first, second = logits.split(2)
        return second - first
    rest, is_top = logits - logits.max(), _mark_top(logits, n_classes)
    largest = where(is_top, -np.inf, rest).max()
    log_others = largest + log(where(is_top, 0.0, exp(rest - largest)).sum())
    odds = where(is_top, 0.0, exp(rest))
    return where(is_top, -log_others, rest - log(1.0 + (odds.sum() - odds)))


def _find_positive(fitted, scores):
    """Probability of each class, of the second alone where there are two."""
    proba = _find_probabilities(fitted, scores)
    return proba.take(1) if len(fitted.classes_) == 2 else proba


def _find_ordered(fitted, scores):
    """What maps read that only look at the order: log-odds do not saturate."""
    return (_find_positive if fitted.input == "proba" else _find_log_odds)(fitted, scores)


def _find_platt_scale(fitted, scores):
    return (_find_positive if fitted.scale == "probability" else _find_log_odds)(fitted, scores)


def _centre(logits):
    gaps = logits - logits.max()
    return gaps - gaps.mean()


def _mark_top(scores, n_classes):
    """Whether it is the first of the largest scores of the row."""
    return apply("Equal", scores.argmax(), np.arange(n_classes)[None, :])


def _normalize(parts, n_classes):
    """Rows divided by their sums; a row of zeros becomes even."""
    total = parts.sum()
    return where(total > 0.0, parts / where(total > 0.0, total, 1.0), 1 / n_classes)


def _add_intercepts(proba, intercepts):
    if not intercepts.any():
        return proba
    moved = proba * np.exp(intercepts - intercepts.max())
    return moved / moved.sum()


# ------------------------------------------------------------- maps of all logits of a row


def _temperature(fitted, scores):
    return softmax(_find_logits(fitted, scores) / fitted.temperature_)


def _affine(fitted, scores):
    values = _centre(_find_logits(fitted, scores))
    return softmax(values @ fitted.coef_.T + fitted.intercept_)


def _closed_test(fitted, scores):
    return softmax(_find_logits(fitted, scores) * fitted.slope_ + fitted.intercept_)


def _structured(fitted, scores):
    values = _centre(_find_logits(fitted, scores)) / fitted.temperature_
    return softmax(values @ fitted.coef_.T + fitted.intercept_)


def _dirichlet(fitted, scores):
    logits = _find_logits(fitted, scores)
    gaps = logits - logits.max()
    return softmax((gaps - log(exp(gaps).sum())) @ fitted.coef_.T + fitted.intercept_)


# -------------------------------------------------------------------------- maps of one class


def _by_class(read, find):
    """A formula of the maps of each class; `find` gives log-odds where the maps read these."""

    def formula(fitted, scores):
        values = read(fitted, scores).split(len(fitted.maps_))
        parts = [find(fitted, *pair) for pair in zip(fitted.maps_, values, strict=True)]
        if getattr(fitted, "_gives_log_odds", False):
            if len(parts) == 1:
                return expit(concat([-parts[0], parts[0]]))
            parts = [expit(part) for part in parts]
        if len(parts) == 1:
            return concat([1.0 - parts[0], parts[0]])
        return _add_intercepts(_normalize(concat(parts), len(parts)), fitted.intercepts_)

    return formula


def _platt(fitted, one, odds):
    return one.slope * odds + one.intercept


def _quadratic(fitted, one, odds):
    return one.intercept + odds * (one.slope + odds * one.curvature)


def _beta(fitted, one, odds):
    tail = log(1.0 + exp(-absolute(odds)))
    log_proba, log_complement = minimum(odds, 0.0) - tail, minimum(-odds, 0.0) - tail
    return one.a * log_proba - one.b * log_complement + one.c


def _spline(fitted, one, odds):
    piece = count(one.breakpoints[1:-1], odds, equal=True)
    distance = odds - look_up(one.breakpoints[:-1], piece)
    total, *others = [look_up(row, piece) for row in one.coefficients]
    for coefficient in others:
        total = total * distance + coefficient
    return total


def _isotonic(fitted, one, values):
    return interpolate(values, one.X_thresholds_, one.y_thresholds_)


def _kernel(fitted, one, proba):
    return interpolate(proba, one.knots, one.values)


def _bins(fitted, one, proba):
    is_exact = fitted.input == "proba" and fitted.strategy == "uniform"
    return _read_bins(one, proba, 0.0 if is_exact else EDGE_TOLERANCE)


def _binned_sigmoid(fitted, one, odds):
    return _read_bins(one, expit(_platt(fitted, one, odds)), EDGE_TOLERANCE)


def _read_bins(one, values, tolerance):
    ends = raise_edges(one.edges[1:-1], max(tolerance, values.graph.rounding))
    return look_up(one.values, count(ends, values, equal=False))


def _venn_abers(fitted, one, values):
    # Knots lie next to scores: the upper probability changes above one, the lower one at it.
    reach = np.maximum(np.abs(one.knots), 0.0 if fitted.input == "proba" else 1.0)
    knots = one.knots + np.where(one.is_upper, reach, -reach) * values.graph.rounding
    order = np.argsort(knots, kind="stable")
    steps = VennAbersMap(knots[order], one.is_upper[order], one.lower, one.upper)
    lower, upper = steps.tabulate()
    return look_up(upper / (1 - lower + upper), count(steps.knots, values, equal=True))


# ------------------------------------------------------------------------------------ others


def _histogram(fitted, scores):
    if fitted.multiclass == "one-vs-rest":
        return _by_class(_find_positive, _bins)(fitted, scores)
    n_classes = len(fitted.classes_)
    proba = _find_probabilities(fitted, scores)
    is_top, given = _mark_top(proba, n_classes), proba.max()
    confidence = given
    for k, one in enumerate(fitted.maps_):
        if one is not None:
            predicted = apply("Equal", proba.argmax(), k)
            confidence = where(predicted, _bins(fitted, one, given), confidence)
    others = where(is_top, 0.0, proba)
    total = others.sum()
    shares = where(total > 0.0, others / where(total > 0.0, total, 1.0), 1 / (n_classes - 1))
    return where(is_top, confidence, shares * (1.0 - confidence))


def _confidence_replacement(fitted, scores):
    n_classes = len(fitted.classes_)
    rest = (1 - fitted.accuracy_) / (n_classes - 1)
    return where(_mark_top(scores, n_classes), fitted.accuracy_, rest)


def _mixture(fitted, scores):
    members = [_find_probabilities(fitted, scores)]
    members += [recalibrate(one, scores) for one in fitted.recalibrators_ if one is not None]
    weights = [
        float(weight)
        for weight, one in zip(fitted.weights_, [fitted, *fitted.recalibrators_], strict=True)
        if one is not None
    ]
    mixed, low, high = weights[0] / sum(weights) * members[0], members[0], members[0]
    for weight, one in zip(weights[1:], members[1:], strict=True):
        mixed = mixed + weight / sum(weights) * one
        low, high = minimum(low, one), maximum(high, one)
    return _add_intercepts(clip(mixed, low, high), fitted.intercepts_)  # of rounding


def _online(fitted, scores):
    state, basis = fitted._state, find_basis(len(fitted.classes_)).T
    weights = list_weights(state) / list_weights(state).sum()
    if fitted.input == "logits":
        gaps = scores - scores.max()
        return _mix_online(state.maps, basis, weights, gaps, softmax(scores))
    is_zero = where(scores > 0.0, 0.0, 1.0)
    raised = where(is_zero > 0.5, 0.0, maximum(scores, SMALLEST_PROBABILITY))
    gaps = where(is_zero > 0.5, -np.inf, log(raised) - log(raised.max()))
    mixed = _mix_online(state.maps, basis, weights, gaps, raised / raised.sum())
    n_zero = is_zero.sum()
    rate = where(n_zero > 0.5, look_up(list_rates(state), scores.argmax()), 0.0)
    return (1.0 - rate) * mixed + is_zero * (rate / maximum(n_zero, 1.0))


def _mix_online(maps, basis, weights, gaps, proba):
    """Probabilities of the members by their weights; gaps of impossible classes are -inf."""
    tilt, mixed = maximum(gaps, -DEPTH), float(weights[:2].sum()) * proba
    for weight, (slope, *intercepts) in zip(weights[2:], maps, strict=True):
        logits = where(gaps > -np.inf, (1 + slope) * tilt + (intercepts @ basis)[None, :], -np.inf)
        mixed = mixed + float(weight) * softmax(logits)
    return mixed


def _prior_shift(fitted, scores):
    old, new = fitted.prior_train_, fitted.prior_
    if np.array_equal(old, new):
        return _find_probabilities(fitted, scores)
    factor = find_factors(old, new)
    if fitted.input == "logits":
        with np.errstate(divide="ignore"):
            return softmax(scores + np.log(factor))
    shifted = scores * (factor / factor.max())
    total = shifted.sum()
    return where(total > 0.0, shifted / where(total > 0.0, total, 1.0), scores)


_FORMULAS = {
    TemperatureScaling: _temperature,
    VectorScaling: _affine,
    MatrixScaling: _affine,
    StructuredVectorScaling: _structured,
    StructuredMatrixScaling: _structured,
    DirichletCalibration: _dirichlet,
    ClosedTestRecalibration: _closed_test,
    PlattScaling: _by_class(_find_platt_scale, _platt),
    QuadraticScaling: _by_class(_find_log_odds, _quadratic),
    BetaCalibration: _by_class(_find_log_odds, _beta),
    SplineRecalibration: _by_class(_find_log_odds, _spline),
    IsotonicRecalibration: _by_class(_find_ordered, _isotonic),
    KernelRecalibration: _by_class(_find_positive, _kernel),
    ScalingBinning: _by_class(_find_log_odds, _binned_sigmoid),
    VennAbers: _by_class(_find_ordered, _venn_abers),
    HistogramBinning: _histogram,
    ConfidenceReplacement: _confidence_replacement,
    AutoRecalibration: _mixture,
    OnlineRecalibration: _online,
    PriorShift: _prior_shift,
}
