"""Risks at several times that are repaired: by definitions, and where the truth is known."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.model_selection import KFold

from skcal._numerics.survival._pseudo_values import find_pseudo_values
from skcal._numerics.survival._risk_curves import cap_total, raise_curves
from skcal._numerics.survival._risk_scaling import fit_lines
from skcal.survival import RiskRecalibration, aj_calibration, pseudo_values

TIMES = np.array([0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2])


def draw(seed, n, shape=1.3):
    """Features, and a column of events and one of times, of Weibull laws; half are censored."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    time = (rng.exponential(size=n) * np.exp(-x)) ** (1 / shape)
    end = rng.exponential(1.1, size=n)
    return x, np.column_stack([time <= end, np.minimum(time, end)])


def find_risks(x, *, shape=1.3, factor=1.0, slope=1.0):
    return -np.expm1(-factor * np.exp(slope * x)[:, None] * TIMES**shape)


WRONG = {
    "hazard": {"factor": 1.5},
    "shape": {"shape": 0.7},
    "spread": {"slope": 2.0},
    "all": {"factor": 0.6, "shape": 2.0, "slope": 1.5},
}


def score(risks, truth):
    """Brier score, integrated over the times, that is expected where the truth is known."""
    return np.mean(truth * (1 - risks) ** 2 + (1 - truth) * risks**2)


def repair(seed, n, options, **settings):
    """Scores of predictions before and after repair and of the truth, on rows without end."""
    x, y = draw(seed, n)
    model = RiskRecalibration(TIMES, **settings).fit(find_risks(x, **options), y)
    x = np.random.default_rng(99).normal(size=4000)
    risks, truth = find_risks(x, **options), find_risks(x)
    repaired = model.transform(risks)
    assert (np.diff(repaired) >= 0).all()
    assert repaired.min() >= 0
    assert repaired.max() <= 1
    return score(risks, truth), score(repaired, truth), score(truth, truth), repaired, truth


# --------------------------------------------------------------------------- where the truth is


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_models_come_near_the_truth(wrong):
    before, after, least, repaired, truth = repair(0, 2000, WRONG[wrong])
    assert after - least < 0.2 * (before - least)
    np.testing.assert_allclose(truth.mean(axis=0) / repaired.mean(axis=0), 1, atol=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_models_gain_with_few_rows(wrong):
    scores = np.array([repair(seed, 300, WRONG[wrong])[:3] for seed in range(20)])
    before, after, least = scores.mean(axis=0)
    assert after - least < 0.6 * (before - least)


@pytest.mark.slow
def test_right_models_lose_next_to_nothing():
    """Below one per cent on average, with 300 rows; half of them are censored."""
    scores = np.array([repair(seed, 300, {})[:2] for seed in range(50)])
    assert np.mean(scores[:, 1] / scores[:, 0] - 1) < 0.002


def test_a_right_model_keeps_its_risks():
    before, after = repair(1, 1000, {})[:2]
    assert after < 1.003 * before


def draw_kinds(seed, n):
    """Risks of two kinds with constant hazards, and a column of kinds and one of times."""
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.normal([-0.5, 0.0], 0.7, size=(n, 2)))
    time, end = rng.exponential(1 / rates.sum(axis=1)), rng.exponential(2, size=n)
    kind = 1 + (rng.random(n) > rates[:, 0] / rates.sum(axis=1))
    total = -np.expm1(-rates.sum(axis=1)[:, None] * TIMES)
    risks = [total * rate[:, None] / rates.sum(axis=1, keepdims=True) for rate in rates.T]
    return np.hstack(risks), np.column_stack([kind * (time <= end), np.minimum(time, end)])


def test_competing_kinds():
    """One is predicted too often, and its sum with the other passes 1."""
    risks, y = draw_kinds(0, 4000)
    wrong = risks.copy()
    wrong[:, :7] = np.minimum(1.4 * wrong[:, :7], 1 - wrong[:, 7:])
    model = RiskRecalibration(TIMES, causes=[1, 2]).fit(wrong[:2000], y[:2000])
    repaired = model.transform(wrong[2000:])
    assert (repaired[:, :7] + repaired[:, 7:] <= 1 + 1e-12).all()
    for cause, part in ((1, slice(0, 7)), (2, slice(7, 14))):
        assert (np.diff(repaired[:, part]) >= 0).all()
        settings = {"times": TIMES, "cause": cause}
        before, after = (
            aj_calibration(*y[2000:].T, some[:, part], **settings).value
            for some in (wrong[2000:], repaired)
        )
        assert after < 0.02
        assert cause == 2 or before > 0.05


# --------------------------------------------------------------------------- definitions


def measure(line, values, targets, masses, groups):
    """The penalised loss of levels of centred log odds, and of slopes, by its definition."""
    levels, slopes = line[: values.shape[1]], np.append(line[values.shape[1] :], 1.0)[groups]
    loss = 0.0
    for j in range(values.shape[1]):
        v, mass = values[:, j], masses[:, j]
        centre = np.average(v, weights=mass)
        q = expit(levels[j] + centre + slopes[j] * (v - centre))
        loss -= mass @ (targets[:, j] * np.log(q) + (1 - targets[:, j]) * np.log(1 - q))
        loss += (levels[j] ** 2 + (slopes[j] - 1) ** 2) / 20
    return loss


@pytest.mark.parametrize("kind", ["levels", "slope", "slopes"])
def test_lines_by_their_definition(kind):
    rng = np.random.default_rng(0)
    values, targets = rng.normal(-1, 1.5, (40, 3)), rng.normal(0.3, 0.6, (40, 3))
    masses = rng.uniform(0, 2, (40, 3))
    groups = {"levels": np.full(3, -1), "slope": np.zeros(3, int), "slopes": np.arange(3)}[kind]
    n_slopes = groups.max() + 1
    intercepts, slopes = fit_lines(values, targets, masses, None if n_slopes == 0 else groups)
    arguments = values, targets, masses, groups
    found = minimize(
        measure,
        np.append(np.zeros(3), np.ones(n_slopes)),
        arguments,
        bounds=[(None, None)] * 3 + [(0, None)] * n_slopes,
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    centres = np.average(values, axis=0, weights=masses)
    levels = intercepts + (slopes - 1) * centres
    own = np.append(levels, [slopes[groups == k][0] for k in range(n_slopes)])
    assert measure(own, *arguments) <= found.fun + 1e-9
    np.testing.assert_allclose(own, found.x, atol=1e-4)


@pytest.mark.parametrize("groups", [None, np.zeros(3, int), np.arange(3)])
def test_lines_of_rows_that_come_many_times(groups):
    rng = np.random.default_rng(0)
    values, targets = rng.normal(-1, 1.5, (40, 3)), rng.normal(0.3, 0.6, (40, 3))
    masses = rng.uniform(0, 2, (40, 3)) * (rng.random((40, 3)) < 0.8)
    repeated = (np.tile(part, (100, 1)) for part in (values, targets, masses))
    expected = fit_lines(values, targets, 100 * masses, groups)
    np.testing.assert_allclose(fit_lines(*repeated, groups), expected, rtol=1e-9)


def test_a_slope_is_not_negative():
    values = np.linspace(-2, 2, 20)[:, None]
    intercepts, slopes = fit_lines(values, (values < 0) / 1.0, np.ones((20, 1)), np.zeros(1, int))
    assert slopes == [0]
    np.testing.assert_allclose(intercepts, 0, atol=1e-12)


def test_risks_of_one_value_get_the_observed_level():
    """With n rows the penalty moves the mean by a / 10 n."""
    event, time = [1, 1, 0, 1, 0, 1], [1.0, 2, 2, 3, 4, 5]
    target = pseudo_values(event, time, horizon=3)
    intercept, slope = fit_lines(
        np.full((6, 1), logit(0.2)), target[:, None], np.ones((6, 1)), np.zeros(1, int)
    )
    assert slope == [1]
    gap = target.mean() - expit(intercept + logit(0.2))
    np.testing.assert_allclose(gap, intercept / 60, atol=1e-12)


def find_pool(members, targets, weights, prior):
    """What the weights of a pool minimise."""
    mixed = np.einsum("k,knj->nj", weights, members)
    losses = [np.mean(np.logaddexp(0, v) - targets * v) for v in (*members, mixed)]
    risks = expit(members[np.argmin(losses[:-1])])
    errors = (targets - risks).sum(axis=1)
    dispersion = np.mean(errors**2) / np.mean(np.sum(risks * (1 - risks), axis=1))
    loss = losses[-1] * targets.size / dispersion
    return loss - prior @ np.log(weights), losses[:-1]


def test_weights_and_losses_by_their_definition():
    x, y = draw(3, 150)
    risks = find_risks(np.clip(x, -2, 2), factor=1.2)
    rows = np.arange(150)
    splits = [(rows[rows % 2 != k], rows[rows % 2 == k]) for k in range(2)]
    model = RiskRecalibration(TIMES, cv=splits).fit(risks, y)
    event, values = y[:, 0] == 1, logit(risks)
    targets = find_pseudo_values(event, event, y[:, 1], TIMES)
    groups = (None, np.zeros(7, int), np.arange(7))

    def list_members(train, test):
        masses = np.ones((len(train), 7))
        lines = [fit_lines(values[train], targets[train], masses, one) for one in groups]
        return np.array([values[test], *(a + b * values[test] for a, b in lines)])

    members = np.concatenate([list_members(*split) for split in splits], axis=1)
    ordered = targets[np.concatenate([test for _, test in splits])]
    prior = np.array([5, 1 / 3, 1 / 3, 1 / 3])
    least, losses = find_pool(members, ordered, model.weights_, prior)
    np.testing.assert_allclose(model.log_losses_, losses)
    assert model.weights_.sum() == pytest.approx(1)
    for change in np.random.default_rng(0).normal(0, 0.01, (50, 4)):
        other = model.weights_ + change - change.mean()
        if (other > 0).all():
            assert find_pool(members, ordered, other, prior)[0] > least
    lines = [(np.zeros(7), np.ones(7))]
    lines += [fit_lines(values, targets, np.ones((150, 7)), one) for one in groups]
    pooled = np.einsum("k,ktj->tj", model.weights_, np.array(lines))
    np.testing.assert_allclose([model.intercepts_, model.slopes_], pooled)
    expected = expit(pooled[0] + pooled[1] * values)
    np.testing.assert_allclose(model.transform(risks), raise_curves(expected))


def test_weights_of_pseudo_values_are_repetitions():
    rng = np.random.default_rng(0)
    kind, time = rng.integers(0, 3, 30), rng.integers(1, 9, 30).astype(float)
    weights = rng.integers(1, 4, 30)
    once = find_pseudo_values(kind > 0, kind == 1, time, [2.0, 5.0, 8.0], weights / 1.0)
    kind, time = kind.repeat(weights), time.repeat(weights)
    often = find_pseudo_values(kind > 0, kind == 1, time, [2.0, 5.0, 8.0])
    np.testing.assert_allclose(once.repeat(weights, axis=0), often, atol=1e-12)


def test_curves_are_projected():
    """By hand, and nearer to the indicator of every time of an event."""
    raised = raise_curves(np.array([[[0.1, 0.4, 0.2, 0.5], [0.1, 0.2, 0.3, 0.4]]]))
    np.testing.assert_allclose(raised, [[[0.1, 0.3, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4]]])
    curves = np.random.default_rng(0).random((200, 6))
    for first in range(7):
        outcome = np.arange(6) >= first
        near, far = (((some - outcome) ** 2).sum(axis=1) for some in (raise_curves(curves), curves))
        assert (near <= far + 1e-12).all()


def test_sums_of_kinds_stop_at_one():
    risks = np.array([[[0.4, 0.8, 0.9], [0.4, 0.6, 0.7]], [[0.1, 0.2, 0.3], [0.1, 0.2, 0.7]]])
    capped = cap_total(risks)
    step = 0.2 / 0.6  # the part of the second step that is left
    np.testing.assert_allclose(capped[0, 0], [0.4, 0.4 + 0.4 * step, 0.4 + 0.4 * step])
    np.testing.assert_allclose(capped[0, 1], [0.4, 0.4 + 0.2 * step, 0.4 + 0.2 * step])
    np.testing.assert_array_equal(capped[1], risks[1])


# --------------------------------------------------------------------------- rows


def test_certain_risks_stay():
    x, y = draw(0, 400)
    risks = find_risks(x, factor=1.5)
    risks[:5], risks[5:10, -3:], risks[10:15, :2] = 0, 1, 0
    model = RiskRecalibration(TIMES).fit(risks, y)
    assert model.weights_[0] < 0.9
    repaired = model.transform(risks)
    for certain in (0, 1):
        np.testing.assert_array_equal(repaired == certain, risks == certain)
    certain = RiskRecalibration(TIMES).fit(np.round(risks), y)
    np.testing.assert_array_equal(certain.transform(np.round(risks)), np.round(risks))


def test_risks_that_fall_are_raised_where_nothing_else_is_repaired():
    x, y = draw(0, 200)
    model = RiskRecalibration(TIMES, prior_rows=1e9).fit(find_risks(x), y)
    row = np.array([[0.1, 0.3, 0.2, 0.4, 0.5, 0.6, 0.7]])
    np.testing.assert_allclose(
        model.transform(row), [[0.1, 0.25, 0.25, 0.4, 0.5, 0.6, 0.7]], atol=1e-6
    )


@pytest.mark.parametrize("ties", [False, True])
def test_weights_are_repetitions_and_order_does_not_matter(ties):
    rng = np.random.default_rng(0)
    x, y = draw(4, 200)
    risks, weights = find_risks(x.round(1) if ties else x, factor=1.5), rng.integers(0, 3, 200)
    model = RiskRecalibration(TIMES).fit(risks, y, sample_weight=weights)
    repeated = RiskRecalibration(TIMES).fit(
        risks.repeat(weights, axis=0), y.repeat(weights, axis=0)
    )
    order = rng.permutation(200)
    shuffled = clone(model).fit(risks[order], y[order], weights[order])
    for other in (repeated, shuffled):
        for name in ("intercepts_", "slopes_", "weights_", "log_losses_"):
            np.testing.assert_allclose(getattr(other, name), getattr(model, name), rtol=1e-7)


def test_outcomes_in_other_containers():
    x, y = draw(0, 60)
    risks = find_risks(x, factor=2)
    expected = RiskRecalibration(TIMES).fit(risks, y).transform(risks)
    frame = pd.DataFrame({"event": y[:, 0] == 1, "time": y[:, 1]})
    structured = np.array(
        list(frame.itertuples(index=False, name=None)), dtype=[("cens", "?"), ("time", "<f8")]
    )
    for other in (frame, structured, y.tolist()):
        np.testing.assert_array_equal(
            RiskRecalibration(TIMES).fit(risks, other).transform(risks), expected
        )
    names = [f"t{k}" for k in range(7)]
    model = RiskRecalibration(TIMES).set_output(transform="pandas")
    named = pd.DataFrame(risks, columns=names)
    table = model.fit(named, y).transform(named)
    assert list(table) == names == list(model.get_feature_names_out())
    np.testing.assert_array_equal(table, expected)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.set_output(transform="default").transform(named), expected)


def test_folds_of_a_splitter():
    x, y = draw(0, 100)
    risks = find_risks(x, factor=2)
    splitter = KFold(4)
    one = RiskRecalibration(TIMES, cv=splitter).fit(risks, y)
    other = RiskRecalibration(TIMES, cv=list(splitter.split(risks))).fit(risks, y)
    np.testing.assert_array_equal(one.weights_, other.weights_)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_too_few_rows(n):
    risks, y = np.full((n, 2), [0.2, 0.6]), np.ones((n, 2))
    with pytest.warns(UserWarning, match=f"too little to learn from, {n} rows"):
        model = RiskRecalibration([0.5, 1.0]).fit(risks, y)
    np.testing.assert_array_equal(model.transform(risks), risks)
    assert np.isnan(model.log_losses_).all()


def test_no_events_and_events_alone():
    """Estimates are bounded where the best level is infinitely far."""
    risks = np.random.default_rng(0).uniform(0.2, 0.4, (50, 1))
    for event in (0.0, 1.0):
        y = np.column_stack([np.full(50, event), np.full(50, 2 - event)])
        model = RiskRecalibration([1.0 + event / 2]).fit(risks, y)
        repaired = model.transform(risks)
        assert (np.abs(repaired - event) < 0.02).all()
        assert np.abs(model.intercepts_).max() < 10


# --------------------------------------------------------------------------- bad input

GOOD = np.array([[0.1, 0.2], [0.2, 0.3], [0.3, 0.5]])
SEEN = np.array([[1, 1.0], [0, 2.0], [1, 3.0]])


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (GOOD, SEEN, {"times": [2, 1]}, r"^times must be positive and increasing; got \[2\.0, 1"),
        (GOOD, SEEN, {"times": [1, 2, 3]}, "^X must have a column for each of the 3 times; got 2"),
        (GOOD, SEEN, {"causes": [1, 2]}, "for each of 2 kinds of events; got 2 feature"),
        (GOOD, SEEN, {"causes": [1, 1]}, "^causes must be different kinds of events; got"),
        (GOOD, SEEN, {"causes": [0]}, "^causes must be at least 1; got 0"),
        (GOOD, SEEN, {"cv": 1}, "^cv must be at least 2; got 1"),
        (GOOD, SEEN, {"prior_rows": 0}, "^prior_rows must be"),
        (GOOD, SEEN[:, 0], {}, r"^y must have two columns, event and time.*got shape \(3,\)"),
        (GOOD, SEEN[:2], {}, "^y must have a row for each of the 3 rows of X; got 2"),
        (GOOD, SEEN[:, ::-1], {}, "^event must hold 0 and 1, or booleans; got 2"),
        (
            GOOD,
            SEEN[:, ::-1] + [0.5, 0],
            {},
            "^y must hold events first, and then times; got times",
        ),
        (GOOD, None, {}, "requires y to be passed"),
        (GOOD, SEEN * [1, -1], {}, "^time must be finite and not negative"),
        (GOOD[:, ::-1], SEEN, {}, "For survival probabilities S pass 1 - S"),
        (GOOD * 3, SEEN, {}, r"^X must lie in \[0, 1\]; got 1.5 at row 2"),
        (GOOD * np.nan, SEEN, {}, r"^X must lie in \[0, 1\]; got nan"),
        (
            np.hstack([GOOD, GOOD * 1.5]),
            SEEN,
            {"causes": [1, 2]},
            "^X must hold risks whose sum over kinds of events is at most 1; got 1.25 at row 2",
        ),
        (GOOD, SEEN * [0, 1], {"times": [1, 4]}, "^times must not be later than the last time, 3"),
    ],
)
def test_bad_input(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        RiskRecalibration(**{"times": [1, 2]} | options).fit(X, y)


def test_structured_outcomes_have_two_fields():
    y = np.zeros(3, dtype=[("event", "?"), ("time", "f8"), ("age", "f8")])
    with pytest.raises(ValueError, match=r"^y must have two fields, event and time"):
        RiskRecalibration([1, 2]).fit(GOOD, y)


def test_a_failed_fit_changes_nothing():
    x, y = draw(0, 100)
    model = RiskRecalibration(TIMES).fit(find_risks(x), y)
    before = vars(model).copy()
    with pytest.raises(ValueError, match=r"^event must hold"):
        model.fit(find_risks(x), y + 2)
    assert vars(model) == before
