"""The parts of an audit by features: whether, how much, where, and which features tell."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skcal._input._conditions import choose_rows, number_values, read_features
from skcal._input._validation import check_inside, check_integer
from skcal._numerics.inference._learned_scores import bound_mean, find_square_error, find_step
from skcal._numerics.inference._rule_search import find_rules
from skcal._sources._draws import Draws
from skcal._tools._progress import read_progress
from skcal._tools._warnings import warn
from skcal.inference._feature_learning import choose_learner, learn_directions
from skcal.inference._feature_record import FeatureAudit
from skcal.inference._feature_rule import FeatureRule

# Fewest rows of a condition and of a rule, and their least share of all rows.
_LEAST_ROWS, _LEAST_SHARE = 20, 0.01
# The step before any part has been judged.
_FIRST_STEP = 0.5
# Steps after which a loss of this part of the old one is no loss.
_LEAKS, _LEAK = (1, 2, 4, 8, 16), 0.01


class Options(NamedTuple):
    """What users choose, checked."""

    n_parts: int
    n_slices: int
    alpha: float
    draws: Draws
    n_jobs: int | None
    show: Any

    def judge(self):
        """Options of the audit of the rules."""
        return {
            "statistic": "mean",
            "confidence_level": 1 - self.alpha,
            "n_resamples": self.draws.n_resamples,
            "n_jobs": self.n_jobs,
            "random_state": self.draws.rng,
        }


def read_options(cv, n_slices, alpha, n_resamples, n_jobs, progress, random_state):
    """`Options`, or a ValueError."""
    n_parts = check_integer("cv", cv, minimum=2)
    n_slices = check_integer("n_slices", n_slices, minimum=1)
    alpha = check_inside("alpha", alpha)
    show, draws = read_progress(progress), Draws(n_resamples, random_state, n_jobs)
    return Options(n_parts, n_slices, alpha, draws, n_jobs, show)


def audit(rows, X, present, learner, options, find_pvalue, judge):
    """The `FeatureAudit`; `find_pvalue` tests directions, and `judge` audits the rules."""
    rng, columns = options.draws.rng, choose_rows("X", X, present)
    rows, kept = rows.unite_copies(number_values(columns))
    columns = [(name, column.iloc[kept].reset_index(drop=True)) for name, column in columns]
    _refuse_few(rows, options.n_parts)
    n_rows = len(rows)
    features = read_features("X", columns, _count_least(n_rows))
    part = _deal_parts(rows, options.n_parts, rng)
    learner = choose_learner(learner, int(rng.integers(1 << 31)))
    learned = learn_directions(learner, features, rows, part, rng, options.n_jobs, options.show)
    pvalue = find_pvalue(rows, learned.direction, part, options.draws)
    tested = np.flatnonzero(part > 0)
    error, error_low = _bound_error(rows, learned.direction, part, options.alpha)
    steps = _choose_steps(rows, learned.direction, part)[tested]
    own = rows.take(tested)
    gain, gain_low = _bound_gain(own, steps * learned.direction[tested], options.alpha)
    if pvalue > options.alpha:
        error_low = gain_low = 0.0
    last = np.flatnonzero(part == part.max())  # whose regressor has seen the most rows
    _warn_of_leaks(rows.take(last), learned.direction[last])
    is_judge = part >= (options.n_parts + 1) // 2
    rules, slices = _find_slices(rows, features, is_judge, options, judge)
    return FeatureAudit(
        pvalue=pvalue,
        error=error,
        error_low=error_low,
        gain=gain,
        gain_low=gain_low,
        loss=rows.loss,
        rules=rules,
        slices=slices,
        features=features.names,
        **_weigh_features(own, steps, learned, tested),
        n_samples=n_rows,
        n_judged=int(np.count_nonzero(is_judge)),
        alpha=options.alpha,
    )


def _count_least(n_rows):
    """Fewest rows of a condition or a rule, of so many rows."""
    return max(min(_LEAST_ROWS, n_rows // 5), int(_LEAST_SHARE * n_rows), 1)


def _refuse_few(rows, n_parts):
    if rows.n_units < n_parts:
        kind = "rows" if rows.member is None else "clusters"
        raise ValueError(f"cv must be at most the number of {kind}, {rows.n_units}; got {n_parts}.")


def _deal_parts(rows, n_parts, rng):
    """The part of each row: units are dealt out at random, so that clusters stay whole."""
    n_units = rows.n_units
    return rows.spread_units(rng.permutation(np.arange(n_units) * n_parts // n_units))


def _bound_error(rows, direction, part, alpha):
    """Mean absolute error that directions find, and its lower bound.

    Directions are cut at their size in the part, so that small ones, which are mostly noise, count
    little.
    """
    weights, signs = rows.list_weights(), np.zeros(len(rows))
    for number in range(1, part.max() + 1):
        own = part == number
        size = np.sqrt(np.average(direction[own] ** 2, weights=weights[own]))
        if size > 0:
            signs[own] = np.clip(direction[own] / size, -1, 1)
    tested = np.flatnonzero(part > 0)
    own, pulls = rows.take(tested), signs[tested]
    return _bound(own, pulls * own.residuals, pulls**2 * own.least_variances, alpha)


def _bound(rows, values, variances, alpha):
    """Mean of values of rows, not negative, and its lower bound."""
    shares = rows.list_weights() / rows.list_weights().sum()
    sums, parts = rows.sum_units(shares * values), rows.sum_units(shares)
    low = bound_mean(sums, parts, alpha, float(shares**2 @ variances))
    return max(float(sums.sum()), 0.0), max(low, 0.0)


def _choose_steps(rows, direction, part):
    """How far each row goes along its direction, by what parts in between have shown."""
    pulls = rows.list_weights() * direction * rows.residuals
    information = rows.list_weights() * direction**2 * rows.information
    steps = np.where(part == 1, _FIRST_STEP, 0.0)
    for number in range(2, part.max() + 1):
        known = (part > 0) & (part < number)
        steps[part == number] = find_step(pulls[known].sum(), information[known].sum())
    return steps


def _bound_gain(rows, shift, alpha):
    """Mean gain in loss, which may be negative, and its lower bound."""
    gains = rows.find_gains(shift)
    variances = (rows.slope * shift) ** 2 * rows.least_variances
    return float(np.average(gains, weights=rows.weights)), _bound(rows, gains, variances, alpha)[1]


def _warn_of_leaks(rows, direction):
    """Warn where a feature tells the outcome itself."""
    losses = rows.find_losses()
    before = np.average(losses, weights=rows.weights)
    if before == 0 or np.ptp(rows.outcomes) == 0:
        return
    for step in _LEAKS:
        after = before - np.average(rows.find_gains(step * direction), weights=rows.weights)
        if after <= _LEAK * before:
            name = {"log": "log loss", "squared": "squared error"}[rows.loss]
            warn(
                f"X tells nearly all outcomes: with it the {name} falls to {after / before:.2%} of "
                "what it was. A column may hold the outcome, or follow from it; leave it out."
            )
            return


def _find_slices(rows, features, is_judge, options, judge):
    """Rules that some rows find, and the audit of them by the others."""
    found, judges = rows.take(~is_judge), rows.take(is_judge)
    if not features.conditions:
        return [], None
    pulls, information, shift = found.make_search()
    least = _count_least(len(found))
    inside, kept = features.inside[is_judge], []
    for rule in find_rules(
        features.inside[~is_judge], pulls, information, shift, options.n_slices, least
    ):
        mask = inside[:, list(rule)].all(axis=1)
        if mask.any():
            kept.append((FeatureRule(tuple(features.conditions[k] for k in rule)), mask))
    if not kept:
        return [], None
    slices = judge(judges, np.column_stack([mask for _, mask in kept]), **options.judge())
    rules = [kept[number][0] for number in slices.names]
    return rules, slices._replace(names=[str(rule) for rule in rules])


def _weigh_features(rows, steps, learned, tested):
    """What is lost of the gain where a column is shuffled, and its standard error."""
    whole = rows.find_gains(steps * learned.direction[tested])
    shares = rows.list_weights() / rows.list_weights().sum()
    parts = rows.sum_units(shares)
    means, errors = [], []
    for shuffled in learned.shuffled[:, tested]:
        lost = rows.sum_units(shares * (whole - rows.find_gains(steps * shuffled)))
        means.append(lost.sum())
        errors.append(np.sqrt(find_square_error(lost, parts)))
    return {"importances": np.array(means), "importance_errors": np.array(errors)}
