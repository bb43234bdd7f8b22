"""Means of evidence, detectors of changes by their recursion, and many hypotheses at once."""

import numpy as np
import pytest

from skcal._numerics.monitoring._betting_evidence import (
    advance_detector,
    advance_stakes,
    list_payments,
    log_mean_exp,
    merge_delayed,
    reject_by_evidence,
)


@pytest.mark.parametrize("n", [1, 4])
def test_means_of_evidence(rng, n):
    logs = rng.normal(size=(n, 6))
    logs[:, 4], logs[:, 5] = -np.inf, [-np.inf] * (n - 1) + [0.0]
    expected = np.exp(logs).mean(axis=0)
    np.testing.assert_allclose(np.exp(log_mean_exp(logs)), expected, rtol=1e-14)
    # A factor of all, even one that no float holds, is one of their mean.
    np.testing.assert_allclose(log_mean_exp(logs + 1e6), log_mean_exp(logs) + 1e6, rtol=1e-14)


STEPS = pytest.mark.parametrize(
    ("scale", "drift"), [(s, d) for s in (0.3, 3.0, 900.0) for d in (-1, 0, 1)]
)
CUTS = ([], [1, 30], range(1, 60))


def add(log_stakes, paid):
    with np.errstate(divide="ignore"):
        return np.logaddexp(log_stakes, np.log(paid))


def average(logs):
    return np.logaddexp.reduce(logs) - np.log(len(logs))


@STEPS
@pytest.mark.parametrize("pays", [True, False])
def test_stakes_follow_their_recursion(rng, scale, drift, pays):
    """R_t = (R_{t-1} + a_t) w_t, also where one block holds more than floats can; in parts too."""
    steps = scale * (rng.normal(size=(3, 60)) + drift)
    paid, kept = rng.random((2, 60)) * pays
    start, expected = np.array([-2.0, -1e5, 700.0]), []
    log_r = start
    for step, more, rest in zip(steps.T, paid, kept, strict=True):
        log_r = add(log_r, more) + step
        expected.append(add(average(log_r), rest))
    for cuts in CUTS:
        after, found = start, []
        parts = (np.split(values, cuts, axis=-1) for values in (steps, paid, kept))
        for part, *payments in zip(*parts, strict=True):
            path, after = advance_stakes(after, np.cumsum(part, axis=1), *payments)
            found.append(path)
        np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(after, log_r, rtol=1e-9, atol=1e-12)


@STEPS
@pytest.mark.parametrize("level", [3.0, 40.0])
def test_detectors_start_anew_after_each_alarm(rng, scale, drift, level):
    """R_t = (R_{t-1} + 1) w_t, and 0 after it reached the level; in parts too."""
    steps = scale * (rng.normal(size=(3, 60)) + drift)
    log_r, expected, alarms = np.full(3, -np.inf), [], []
    for place, step in enumerate(steps.T):
        log_r = add(log_r, 1.0) + step
        expected.append(average(log_r))
        if expected[-1] >= level:
            alarms.append(place)
            log_r = np.full(3, -np.inf)
    for cuts in CUTS:
        after, found, places, start = np.full(3, -np.inf), [], [], 0
        for part in np.split(steps, cuts, axis=1):
            path, after, of_part = advance_detector(after, np.cumsum(part, axis=1), level)
            found.append(path)
            places += [start + place for place in of_part]
            start += len(path)
        assert places == alarms
        np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_before", [0, 7, 10**8])
def test_payments_and_what_is_kept_are_all_of_the_money(n_before):
    paid, kept = list_payments(n_before, 1000)
    assert min(paid.min(), kept.min()) > 0
    before = 1 / (2 + np.log(1 + n_before))  # half of it at the start
    np.testing.assert_allclose(paid.cumsum() + kept, before, rtol=1e-12)


@pytest.mark.parametrize(("n", "price"), [(1, 1), (2, 2), (3, np.e * np.log(3)), (7, 5.2895)])
def test_price_of_merged_pvalues(n, price):
    """Vovk and Wang (2020), "Combining p-values via averaging": for K of 3 and more, e log K.

    Equal p-values have themselves as harmonic mean.
    """
    assert merge_delayed(np.full(n, 9.0)) == pytest.approx(9 - np.log(price), abs=1e-4)
    maxima = np.log(np.arange(1.0, n + 1))
    expected = 1 / (price / np.mean(np.arange(1, n + 1)))
    assert np.exp(merge_delayed(maxima)) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("dependence", ["the same", "none", "one is small at a time"])
def test_merged_pvalues_are_valid(rng, n, dependence):
    u = rng.random((n, 200_000))
    if dependence == "the same":
        u[:] = u[0]
    elif dependence == "one is small at a time":
        u = (u[0] + np.arange(n)[:, None] / n) % 1
    pvalues = np.exp(-merge_delayed(-np.log(u)))
    for level in (0.01, 0.1, 0.3):
        slack = 3 * np.sqrt(level * (1 - level) / u.shape[1])
        assert (pvalues <= level).mean() <= level + slack


def reject_by_definition(evidence, fdr, n_hypotheses):
    """For the largest k such that k values are at least K / (k fdr), these k."""
    for k in range(len(evidence), 0, -1):
        if np.sum(evidence >= n_hypotheses / (k * fdr)) >= k:
            return np.argsort(-evidence, kind="stable")[:k].tolist()
    return []


def test_rejected_hypotheses(rng):
    sizes = set()
    for _ in range(300):
        evidence = np.exp(rng.normal(1, 2, rng.integers(1, 12)))
        fdr = rng.uniform(0.02, 0.9)
        n_hypotheses = len(evidence) + rng.integers(3)
        found = reject_by_evidence(np.log(evidence), fdr, n_hypotheses).tolist()
        assert found == reject_by_definition(evidence, fdr, n_hypotheses)
        sizes.add(len(found))
    assert len(sizes) > 5
    # Two of four at K / 2 fdr; less of the second leaves none.
    just = np.log([1.0, 20.0 * (1 + 1e-9), 1e-9, 20.0 * (1 + 1e-9)])
    assert reject_by_evidence(just, 0.1, 4).tolist() == [1, 3]
    just[3] = np.log(20.0 * (1 - 1e-9))
    assert reject_by_evidence(just, 0.1, 4).tolist() == []
