"""Online recalibration: harmless on every sequence, fair to right scores, and quick to learn."""

import json
import pickle
import sys
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skcal._numerics.monitoring import _online
from skcal._numerics.monitoring._online import learn_at_once, learn_in_order, make_state
from skcal._numerics.monitoring._online_mixture import mix
from skcal._numerics.monitoring._online_rows import find_miss, learn_rows, load_learner
from skcal._numerics.recalibration._online_maps import (
    apply_maps,
    learn_batch,
    list_prior,
    make_maps,
)
from skcal.recalibration import BaseRecalibrator, NotClassScoresError, OnlineRecalibration

MEMORIES = (None, 20, 5)


def make_rows(n=300, n_classes=2, seed=0):
    """Probabilities that are too extreme, and labels; the first class becomes more frequent."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, n_classes))
    truth = logits.copy()
    truth[n // 2 :, 0] += 2
    y = (softmax(truth, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return softmax(2 * logits, axis=1), y


def find_loss(proba, y):
    return -np.log(proba[np.arange(len(y)), y])


def run(X, y, **options):
    """Probabilities of rows before they are learned, and what has learned them all."""
    classes = np.arange(X.shape[1])
    fitted, proba = OnlineRecalibration(classes=classes, **options), np.empty(X.shape)
    proba[0] = X[0]
    for row in range(len(y)):
        if row:
            proba[row] = fitted.predict_proba(X[[row]])[0]
        fitted.partial_fit(X[[row]], y[[row]])
    return proba, fitted


# ------------------------------------------------------------------------ the promises

LAWS = {
    "rare": lambda past: 0.01,
    "changing": lambda past: 0.1 + 0.08 * len(past),
    "looks_back": lambda past: 0.9 if sum(past) > len(past) / 2 else 0.2,
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_mean_wealth_is_one(law):
    """Over all outcomes of scores that are right, given the past, which may decide on them."""
    total, spread = 0.0, 0.0
    for outcomes in product([0, 1], repeat=8):
        p = np.array([law(outcomes[:t]) for t in range(8)])
        y, logs = np.array(outcomes), np.log(np.column_stack([1 - p, p]))
        _, factors = learn_in_order(make_state(3, 2), logs, y, np.ones(8), MEMORIES)
        chance = np.exp(logs[np.arange(8), y].sum())
        total += chance * np.exp(sum(factors))
        spread += chance * abs(sum(factors))
    assert total == pytest.approx(1, abs=1e-12)
    assert spread > 1e-3


@pytest.mark.parametrize("is_dependent", [False, True])
def test_mean_wealth_of_batches_is_one(is_dependent):
    """Of two batches of three rows; where rows may depend, the same label for all of a batch."""
    p = np.array([0.3, 0.6, 0.1])
    logs, total = np.log(np.column_stack([1 - p, p])), 0.0
    shared = [(0, 0, 0), (1, 1, 1)]
    batches = shared if is_dependent else list(product([0, 1], repeat=3))
    for labels in product(batches, repeat=2):
        state, log_wealth, chance = make_state(3, 2), 0.0, 1.0
        for y in map(np.array, labels):
            # Each row comes true with its probability, also where one number decides on all.
            given = np.tile(logs[:1], (3, 1)) if is_dependent else logs
            rows = given, y, np.ones(3), MEMORIES
            state, factor = learn_at_once(state, *rows, is_dependent=is_dependent)
            log_wealth += factor
            chances = np.exp(given[np.arange(3), y])
            chance *= chances[0] if is_dependent else chances.prod()
        total += chance * np.exp(log_wealth)
    assert total == pytest.approx(1, abs=1e-12)


def test_mean_wealth_is_at_most_one_with_weights_and_zeros():
    p = np.array([0.0, 0.4, 0.3, 1.0, 0.2, 0.7])
    with np.errstate(divide="ignore"):
        logs = np.log(np.column_stack([1 - p, p]))
    total, weights = 0.0, np.array([1, 3, 0.5, 2, 1, 2.5])
    for y in map(np.array, product(*([int(v)] if v in (0, 1) else [0, 1] for v in p))):
        _, factors = learn_in_order(make_state(3, 2), logs, y, weights, MEMORIES)
        total += np.exp(logs[np.arange(6), y].sum() + factors.sum())
    assert total <= 1


SEQUENCES = ["least_likely", "alternating", "one_class", "regimes", "calibrated"]


@pytest.mark.parametrize("name", SEQUENCES)
def test_no_sequence_costs_more_than_what_is_kept_back(name):
    """Row by row; log(2 + log(1 + n)) in all."""
    rng, n = np.random.default_rng(0), 150
    p = rng.choice([0.02, 0.2, 0.5, 0.9], n)
    fitted = OnlineRecalibration(classes=[0, 1])
    excess = 0.0
    for t in range(n):
        X = p[[t], None]
        q = fitted.predict_proba(X)[0, 1] if t else p[0]
        y = {
            "least_likely": int(q < 0.5),
            "alternating": t % 2,
            "one_class": 0,
            "regimes": int(rng.random() < (p[t] if t // 30 % 2 else 1 - p[t])),
            "calibrated": int(rng.random() < p[t]),
        }[name]
        excess += np.log(p[t] if y else 1 - p[t]) - np.log(q if y else 1 - q)
        fitted.partial_fit(X, [y])
        assert excess <= np.log(2 + np.log1p(t + 1)) + 1e-9
    # What was lost and won is the evidence.
    assert fitted.log_e_value_ == pytest.approx(-excess, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_wrong_is_repaired(n_classes):
    """Rows come true as the logits say that were doubled; then one class gains 2."""
    X, y = make_rows(2000, n_classes)
    fitted = OnlineRecalibration(classes=np.arange(n_classes)).partial_fit(X[:1000], y[:1000])
    assert fitted.alarm_ < 500
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(200, n_classes))
    for shift, rows in ((0, None), (2, slice(1000, None))):
        if rows is not None:
            fitted.partial_fit(X[rows], y[rows])
        truth = logits + shift * np.eye(n_classes)[0]
        found = fitted.predict_proba(softmax(2 * logits, axis=1))
        # Some rows of the first class decide on its intercept: its standard error is below .1.
        assert abs(found - softmax(truth, axis=1)).mean() < 0.05
        before = abs(softmax(2 * logits, axis=1) - softmax(truth, axis=1)).mean()
        assert abs(found - softmax(truth, axis=1)).mean() < before / 2


# ------------------------------------------------------------------------ the formulas


@pytest.mark.parametrize("n_classes", [2, 3])
def test_reference_row_by_row(n_classes):
    """Formulas of the notes, of one row at a time, for any number of classes."""
    X, y = make_rows(150, n_classes)
    maps, (pool, log_wealth) = make_maps(3, n_classes), (np.full(4, 1 / 8), 0.0)
    fitted = OnlineRecalibration(classes=np.arange(n_classes), memories=MEMORIES)
    for t, (logs, code) in enumerate(zip(np.log(X), y, strict=True)):
        likelihood = apply_maps(maps[0], logs[None])[:, 0, code]
        factor, pool = mix(pool, log_wealth, t, 1, likelihood - logs[code], MEMORIES)
        log_wealth += factor
        maps = learn_batch(*maps, logs[None], np.array([code]), np.ones(1), MEMORIES)
        fitted.partial_fit(X[[t]], y[[t]])
        assert fitted.log_e_value_ == pytest.approx(log_wealth, rel=1e-10, abs=1e-10)
    weights = np.append(np.exp(-log_wealth) / (2 + np.log1p(150)), pool)
    assert weights.sum() == pytest.approx(1)
    mapped = np.exp(apply_maps(maps[0], np.log(X)))
    expected = weights[:2].sum() * X + np.tensordot(weights[2:], mapped, 1)
    np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=1e-10, atol=1e-12)


@pytest.fixture(params=["interpreted", "linked", "compiled"])
def learner(request, monkeypatch):
    """What learns arrays of rows: as Python runs it, as it is handed to numba, and compiled."""
    if request.param == "interpreted":
        return learn_rows
    if request.param == "linked":
        given = []

        def njit(**options):
            return lambda function: given.append(function.__name__) or function

        monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(njit=njit))
        linked = load_learner.__wrapped__()
        assert given == ["find_miss", "learn", "learn_rows"]
        assert linked.__globals__["learn"].__globals__["find_miss"] is not find_miss
        return linked
    pytest.importorskip("numba", reason="numba is not installed", exc_type=ImportError)
    return load_learner()


def test_many_rows_are_learned_by_compiled_code(learner, monkeypatch):
    """From some number of rows on, however they are cut; nothing else tells."""
    X, y = make_rows(300)
    X[::50], weights = [1 - 1e-320, 1e-320], np.random.default_rng(0).exponential(size=300)
    X[::30] = [0.0, 1.0]
    expected = OnlineRecalibration().fit(X, y, weights)
    used = []

    def load():
        return lambda *given: (used.append(len(given[0])), learner(*given))[1]

    monkeypatch.setattr(_online, "load_learner", load)
    monkeypatch.setattr(_online, "MANY_ROWS", 200)
    found = OnlineRecalibration()
    for rows in (slice(0, 90), slice(90, 300)):
        found.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
    assert sum(used) > 100
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-10)
    np.testing.assert_allclose(found.history_, expected.history_, rtol=1e-10, atol=1e-12)


def test_numba_is_not_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)  # what is not installed
    assert load_learner.__wrapped__() is None

    def refuse(**options):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(njit=refuse))
    assert load_learner.__wrapped__() is None
    monkeypatch.setattr(_online, "load_learner", pytest.fail)
    OnlineRecalibration().fit(*make_rows(20))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_batch_is_learned_by_the_best_map(n_classes):
    """No other map has less penalised loss, and the curvature is that of the loss there."""
    X, y = make_rows(60, n_classes)
    maps = learn_batch(*make_maps(2, n_classes), np.log(X), y, np.ones(60), (None, 10))
    prior = np.diag(list_prior(n_classes))

    def find_penalised(map_):
        proba = np.exp(apply_maps(map_[None], np.log(X))[0])
        return find_loss(proba, y).sum() + map_ @ prior @ map_ / 2

    for map_, curvature in zip(*maps, strict=True):
        n, step = len(map_), 1e-3
        for direction in np.eye(n):
            low, high = (find_penalised(map_ + sign * step * direction) for sign in (-1, 1))
            middle = find_penalised(map_)
            assert high - low == pytest.approx(0, abs=1e-6)
            bent = (low + high - 2 * middle) / step**2
            assert bent == pytest.approx(direction @ curvature @ direction, rel=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_batch_of_surprises_is_learned_by_the_best_map(n_classes):
    """Of labels that the scores had excluded, of which full steps would leap too far."""
    rng = np.random.default_rng(0)
    logs = log_softmax(300 * rng.normal(size=(60, n_classes)), axis=1)
    y = logs.argmin(axis=1)
    maps, _ = learn_batch(*make_maps(1, n_classes), logs, y, np.ones(60), (None,))
    prior = np.diag(list_prior(n_classes))

    def find_penalised(map_):
        found = apply_maps(map_[None], logs)[0][np.arange(60), y]
        return map_ @ prior @ map_ / 2 - found.sum()

    best = find_penalised(maps[0])
    for size in (1e-3, 0.1, 1):
        for step in size * rng.normal(size=(10, maps.shape[1])):
            assert find_penalised(maps[0] + step) > best
    assert best < find_penalised(0 * maps[0]) / 10


@pytest.mark.parametrize("batch", ["whole", "dependent"])
def test_order_in_a_batch_does_not_count(batch):
    X, y = make_rows(90)
    X[::7] = [1.0, 0.0]
    order = np.random.default_rng(1).permutation(90)
    one = OnlineRecalibration(batch=batch).fit(X, y).partial_fit(X, y)
    two = OnlineRecalibration(batch=batch).fit(X[order], y[order]).partial_fit(X, y)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-9)
    assert one.log_e_value_ == pytest.approx(two.log_e_value_, abs=1e-9)


def test_a_batch_is_evidence_by_the_mixture_of_products():
    """Of the second one, which all members say more of than the mean of their ratios."""
    X, y = make_rows(200)
    fitted = OnlineRecalibration(batch="whole", memories=(None,)).fit(X[:100], y[:100])
    before, state = fitted.log_e_value_, fitted._state
    logs = np.log(X[100:])
    rows = np.arange(100), y[100:]
    ratio = (apply_maps(state.maps, logs)[0] - logs)[rows].sum()
    kept = np.exp(-before) / (2 + np.log1p(100))
    expected = kept + state.pools[0, 0] + state.pools[0, 1] * np.exp(ratio)
    fitted.partial_fit(X[100:], y[100:])
    assert fitted.log_e_value_ - before == pytest.approx(np.log(expected))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_cut_into_calls(n_classes):
    X, y = make_rows(300, n_classes)
    X[5::9] = np.eye(n_classes)[0]
    whole = OnlineRecalibration(classes=np.arange(n_classes)).fit(X, y)
    parts = OnlineRecalibration(classes=np.arange(n_classes))
    for start, stop in zip([0, 1, 2, 100, 290], [1, 2, 100, 290, 300], strict=True):
        parts.partial_fit(X[start:stop], y[start:stop])
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    assert (parts.alarm_, parts.n_samples_seen_) == (whole.alarm_, 300)
    assert parts.log_e_value_ == pytest.approx(whole.log_e_value_, rel=1e-12)
    np.testing.assert_allclose(parts.history_, whole.history_, rtol=1e-12)


def test_weights_are_rows_in_turn():
    X, y = make_rows(100)
    X[3::7] = [0.0, 1.0]
    weights = np.random.default_rng(0).integers(0, 4, 100)
    weighted = OnlineRecalibration().fit(X, y, weights)
    repeated = OnlineRecalibration().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=0, atol=1e-12
    )
    assert weighted.n_samples_seen_ == (weights > 0).sum()
    # Half a row is less than one, and no row is none.
    gaps = [
        abs(OnlineRecalibration(classes=[0, 1]).fit(X[:9], y[:9], np.full(9, w)).transform(X) - X)
        for w in (0.01, 0.5, 1)
    ]
    assert gaps[0].max() < 0.02
    with pytest.raises(ValueError, match=r"sample_weight must be at most 1000.*got 1001"):
        OnlineRecalibration().fit(X, y, np.full(100, 1001))


@pytest.mark.parametrize(
    ("weight", "what"), [(100, "All are above 1;"), (1.5, "above 1"), (1 / 500, "below 0.01")]
)
def test_scales_that_are_hardly_those_of_rows_are_told(weight, what):
    X, y = make_rows(20)
    weights = np.append(np.full(19, weight), 0.0)
    for learn in (OnlineRecalibration().fit, OnlineRecalibration().partial_fit):
        with pytest.warns(UserWarning, match=rf"sample_weight has a scale .* {what}"):
            learn(X, y, sample_weight=weights)
    fitted = OnlineRecalibration().fit(X, y, weights / weights.mean() / 2)  # one row is below 1
    fitted.partial_fit(X[:1], y[:1], sample_weight=[3])  # of one row nobody knows the scale
    fitted.partial_fit(X[:3], y[:3], sample_weight=[1, 4, 2])  # counts


def test_weighted_losses_do_no_harm():
    X, y = make_rows(80)
    weights = np.random.default_rng(0).random(80)
    for labels in (y, np.arange(80) % 2):
        fitted, lost = OnlineRecalibration(classes=[0, 1]), 0.0
        for row, weight in enumerate(weights):
            proba = X[row] if row == 0 else fitted.predict_proba(X[[row]])[0]
            lost += weight * np.log(X[row, labels[row]] / proba[labels[row]])
            fitted.partial_fit(X[[row]], labels[[row]], sample_weight=[weight])
            assert lost <= np.log(2 + np.log1p(row + 1)) + 1e-9


@pytest.mark.parametrize("batch", ["rows", "whole", "dependent"])
def test_rows_without_weight_are_absent_in_calls_of_their_own(batch):
    X, y = make_rows(40)
    weights = np.arange(40) // 5 % 2
    fitted = OnlineRecalibration(classes=[0, 1], batch=batch)
    expected = OnlineRecalibration(classes=[0, 1], batch=batch)
    for start in range(0, 40, 5):
        rows = slice(start, start + 5)
        fitted.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
        if weights[start]:
            expected.partial_fit(X[rows], y[rows])
        elif start == 0:
            np.testing.assert_allclose(fitted.predict_proba(X), X, rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))
    assert fitted.history_.equals(expected.history_)
    with pytest.raises(ValueError, match="at least one positive weight"):
        fitted.fit(X, y, np.zeros(40))
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(40,\)"):
        fitted.partial_fit(X, y, sample_weight=np.zeros(39))
    assert fitted.n_samples_seen_ == 20


def test_order_of_classes():
    X, y = make_rows(120, 3)
    names = np.array(["b", "c", "a"])
    expected = OnlineRecalibration(classes=[0, 1, 2]).fit(X, y).predict_proba(X)
    found = OnlineRecalibration(classes=names).fit(X, names[y])
    np.testing.assert_allclose(found.transform(X), expected, rtol=1e-9)
    np.testing.assert_allclose(found.predict_proba(X), expected[:, [2, 0, 1]], rtol=1e-9)


def test_one_column_and_logits():
    X, y = make_rows(120)
    expected = OnlineRecalibration().fit(X, y).predict_proba(X)
    column = OnlineRecalibration().fit(X[:, 1:], y)
    np.testing.assert_allclose(column.transform(X[:, 1:])[:, 0], expected[:, 1], rtol=1e-12)
    logits = OnlineRecalibration(input="logits").fit(np.log(X) + 3, y)
    np.testing.assert_allclose(logits.predict_proba(np.log(X)), expected, rtol=1e-9)
    huge = OnlineRecalibration(input="logits", classes=[0, 1]).fit([[1e90], [-1e90]], [0, 0])
    assert np.isfinite(huge.predict_proba([[1e90], [0.1]])).all()
    assert np.isfinite(huge.log_e_value_)


# ------------------------------------------------------------------------ scores of 0 and 1


def test_zeros_become_frequencies():
    """One in ten of the zeros is wrong; other rows are right, and nothing happens to them."""
    rng = np.random.default_rng(0)
    p = np.where(rng.random(4000) < 0.5, 0.0, rng.beta(2, 2, 4000))
    y = (rng.random(4000) < np.where(p == 0, 0.1, p)).astype(int)
    fitted = OnlineRecalibration().fit(p[:, None], y)
    rate = y[p == 0].mean()
    found = fitted.transform([[0.0]])[0, 0]
    assert abs(found - rate) < 0.06  # the memory of a hundred rows has its say
    grid = np.linspace(0.02, 0.98, 49)[:, None]
    others = OnlineRecalibration().fit(p[p > 0, None], y[p > 0])
    np.testing.assert_array_equal(fitted.transform(grid), others.transform(grid))
    assert np.exp(fitted.log_e_value_) > 20


def test_zeros_that_are_right_stay_near_zero():
    fitted = OnlineRecalibration(classes=[0, 1])
    fitted.partial_fit([[0.0]], [0])
    assert fitted.transform([[0.0]])[0, 0] < 0.01
    fitted.partial_fit(np.zeros((1000, 1)), np.zeros(1000, int))
    assert fitted.transform([[0.0]])[0, 0] < 1e-3
    assert fitted.log_e_value_ > -np.log(2 + np.log1p(1001))
    # A single wrong label is no alarm.
    assert fitted.partial_fit([[0.0]], [1]).alarm_ is None
    assert 0 < fitted.transform([[0.0]])[0, 0] < 0.1


def test_impossible_classes_share_what_comes_true_of_them():
    X = np.tile([0.7, 0.3, 0.0, 0.0], (500, 1))
    y = np.random.default_rng(0).choice(4, 500, p=[0.63, 0.27, 0.05, 0.05])
    fitted = OnlineRecalibration(classes="columns").fit(X, y)
    found = fitted.predict_proba(X[:1])[0]
    assert found[2] == found[3]
    assert 0.05 < found[2:].sum() < 0.2
    assert found[0] / found[1] == pytest.approx(0.7 / 0.3, rel=0.3)


# ------------------------------------------------------------------------ an estimator


def test_bad_rows_change_nothing():
    X, y = make_rows(60)
    fitted = OnlineRecalibration().fit(X, y)
    before = pickle.dumps(fitted)
    hostile = X.copy()
    hostile[3, 0] = np.nan
    for bad, error in (
        ((hostile, y), NotClassScoresError),
        ((X[:, :1] + 3, y), ValueError),
        ((np.column_stack([X, X]) / 2, y), ValueError),
        ((X, y + 1), ValueError),
        ((X, y, [0, 1, 2]), ValueError),
        ((X, y, None, -np.ones(60)), ValueError),
    ):
        with pytest.raises(error):
            fitted.partial_fit(*bad)
        assert pickle.dumps(fitted) == before
    with pytest.raises(ValueError, match=r"that are known, \[0, 1\]; got \[0, 1, 2\]"):
        fitted.partial_fit(X, y, classes=[0, 1, 2])
    soft = np.column_stack([1 - X[:, 0], X[:, 0]])
    for use in (fitted.fit, fitted.partial_fit):
        with pytest.raises(ValueError, match="y must be one-dimensional"):
            use(X, soft)
    with pytest.raises(ValueError, match=r"memories must stay as they were.*got \(5,\)"):
        fitted.set_params(memories=(5,)).partial_fit(X, y)
    assert list(fitted.history_.columns[-3:]) == ["all", "last_1000", "last_100"]


def test_before_the_first_label():
    for use in (lambda one: one.history_, OnlineRecalibration.freeze):
        with pytest.raises(NotFittedError):
            use(OnlineRecalibration())
    assert not hasattr(OnlineRecalibration(), "history_")


def test_classes_of_the_first_call():
    X, y = make_rows(60)
    with pytest.raises(ValueError, match="classes="):
        OnlineRecalibration().partial_fit(X[:5], np.zeros(5))
    expected = OnlineRecalibration(classes=[0, 1]).fit(X, y).predict_proba(X)
    fitted = OnlineRecalibration()
    for row in range(60):
        fitted.partial_fit(X[[row]], y[[row]], classes=[1, 0])
    np.testing.assert_array_equal(fitted.predict_proba(X), expected)
    unfitted = OnlineRecalibration(classes=["a", "b"])
    with pytest.raises(ValueError, match="classes must be those that are known"):
        unfitted.partial_fit(X, np.array(["a", "b"])[y], classes=["a", "c"])
    assert not hasattr(unfitted, "classes_")


@pytest.mark.parametrize("batch", ["rows", "whole"])
def test_persistence(batch):
    X, y = make_rows(100)
    fitted = OnlineRecalibration(batch=batch).fit(X, y)
    data = json.loads(json.dumps(fitted.to_dict()))
    for again in (pickle.loads(pickle.dumps(fitted)), BaseRecalibrator.from_dict(data)):
        again.partial_fit(X, y)
        expected = clone(fitted).fit(X, y).partial_fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), expected.predict_proba(X))
        assert again.alarm_ == expected.alarm_
        assert again.history_.equals(expected.history_)


def test_frozen():
    X, y = make_rows(1000)
    fitted = OnlineRecalibration().fit(X, y)
    frozen = fitted.freeze()
    fitted.partial_fit(X, y)
    expected = OnlineRecalibration().fit(X, y).predict_proba(X)
    text = json.dumps(frozen.to_dict())
    assert len(text) < 5000
    again = BaseRecalibrator.from_dict(json.loads(text))
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    with pytest.raises(ValueError, match="frozen"):
        again.partial_fit(X, y)
    again.fit(X, y).partial_fit(X, y)


def test_history():
    X, y = make_rows(3000)
    fitted = OnlineRecalibration().fit(X, y)
    history = fitted.history_
    assert len(history) <= 257
    assert history["row"].iloc[-1] == 3000
    assert set(np.diff(history["row"][:-1])) == {16}
    weights = history[["scores", "all", "last_1000", "last_100"]]
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert history["log_e_value"].iloc[-1] == fitted.log_e_value_
    middle = history[history["row"] == 1488].iloc[0]
    assert middle["slope"] == pytest.approx(0.5, abs=0.15)
    assert history["intercept"].iloc[-1] == pytest.approx(-2, abs=0.4)
    early = OnlineRecalibration().fit(X[:1488], y[:1488])
    assert early.log_e_value_ == pytest.approx(middle["log_e_value"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memories": ()}, "memories must be a tuple"),
        ({"memories": (5, 5)}, "memories must be distinct"),
        ({"memories": (0,)}, "memories must be"),
        ({"alpha": 0}, "alpha must"),
        ({"batch": "days"}, "batch must be"),
    ],
)
def test_bad_options(options, message):
    X, y = make_rows(20)
    with pytest.raises(ValueError, match=message):
        OnlineRecalibration(**options).fit(X, y)


def test_alpha_and_the_row_of_the_alarm():
    X, y = make_rows(1000)
    y = (np.random.default_rng(0).random(1000) < expit(logit(X[:, 1]) + 1)).astype(int)
    alarms = [OnlineRecalibration(alpha=alpha).fit(X, y).alarm_ for alpha in (0.5, 0.05, 1e-4)]
    assert alarms == sorted(alarms)
    assert len(set(alarms)) == 3
    before = OnlineRecalibration().fit(X[: alarms[1] - 1], y[: alarms[1] - 1])
    assert before.alarm_ is None
    at = before.partial_fit(X[[alarms[1] - 1]], y[[alarms[1] - 1]])
    assert at.alarm_ == alarms[1]
    assert at.e_value_ >= 20
