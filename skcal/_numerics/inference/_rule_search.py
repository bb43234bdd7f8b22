"""Search for rules of a few conditions whose rows have residuals of one sign."""

import numpy as np

# Information of the normal prior that shrinks the error of a rule towards 0: rows of small
# variance, where a single event is a large residual, find nothing by themselves.
PRIOR = 5.0
# Pairs that are tried with a third condition, and rules that are compared for overlap.
_N_EXTENDED, _N_BEST = 16, 64
# A rule that shares more of its rows with one that is there already is the same.
_MOST_SHARED = 0.5
_CHUNK = 1 << 13


def find_rules(conditions, pulls, information, shift, n_rules, least):
    """Rules as tuples of numbers of conditions, the most evident first.

    `conditions`, of shape (n_rows, n_conditions), says which rows meet them; rules have at least
    `least` rows. `shift(rule_rows)` moves the predictions of these rows to where they are right on
    average, and returns pulls and information, so that the next rule tells something new.
    """
    rules, masks = [], []
    while len(rules) < n_rules:
        for evidence, rule in _rank_rules(conditions, pulls, information, least):
            if rules and evidence <= 0:
                return rules
            inside = conditions[:, list(rule)].all(axis=1)
            if all(_share_rows(inside, mask) <= _MOST_SHARED for mask in masks):
                break
        else:
            return rules
        rules.append(rule)
        masks.append(inside)
        pulls, information = shift(inside)
    return rules


def _share_rows(one, other):
    return (one & other).sum() / (one | other).sum()


def _rank_rules(conditions, pulls, information, least):
    """Evidence and conditions of the best rules.

    Evidence is half of the squared score statistic, less the logarithm of the number of rules of as
    many conditions: a condition more must pay for the choice.
    """
    n_conditions = conditions.shape[1]
    evidence = _weigh(*_sum_pairs(conditions, pulls, information), least)
    first, second = np.triu_indices(n_conditions)
    evidence = evidence[first, second]
    evidence[first == second] -= np.log(n_conditions)
    evidence[first != second] -= np.log(max(n_conditions * (n_conditions - 1) / 2, 1))
    best = np.argsort(-evidence, kind="stable")[:_N_BEST]
    found = {
        tuple(sorted({int(first[k]), int(second[k])})): evidence[k]
        for k in best
        if np.isfinite(evidence[k])
    }
    price = np.log(max(n_conditions * (n_conditions - 1) * (n_conditions - 2) / 6, 1))
    for rule in [rule for rule in found if len(rule) == 2][:_N_EXTENDED]:
        inside = np.flatnonzero(conditions[:, list(rule)].all(axis=1))
        sums = _sum_each(conditions[inside], pulls[inside], information[inside])
        own = _weigh(*sums, least) - price
        third = int(own.argmax())
        if np.isfinite(own[third]) and third not in rule:
            found[tuple(sorted({*rule, third}))] = own[third]
    ranked = sorted(found.items(), key=lambda item: (-item[1], len(item[0]), item[0]))
    return [(evidence, rule) for rule, evidence in ranked]


def _weigh(n_rows, pulls, information, least):
    evidence = pulls**2 / (information + PRIOR) / 2
    return np.where(n_rows >= least, evidence, -np.inf)


def _sum_pairs(conditions, pulls, information):
    """Numbers of rows, pulls and information where two conditions hold, for all pairs."""
    sums = np.zeros((3, conditions.shape[1], conditions.shape[1]))
    for start in range(0, len(pulls), _CHUNK):
        rows = slice(start, start + _CHUNK)
        inside = conditions[rows].astype(np.float32)
        for total, values in zip(sums, (None, pulls[rows], information[rows]), strict=True):
            own = inside if values is None else inside * values.astype(np.float32)[:, None]
            total += inside.T @ own
    return sums


def _sum_each(conditions, pulls, information):
    return conditions.sum(axis=0), pulls @ conditions, information @ conditions
