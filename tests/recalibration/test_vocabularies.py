"""Logits of many classes, some of which may be impossible: memory, exact zeros, what is refused."""

import tracemalloc

import numpy as np
import pytest
from scipy.special import softmax

from skcal.recalibration import (
    BaseRecalibrator,
    NotClassScoresError,
    PlattScaling,
    TemperatureScaling,
)

CLOSE = {"rtol": 0, "atol": 1e-12}


def make_tokens(n_samples=300, n_classes=5, seed=0):
    """Logits, twice as large as they should be, and the tokens that came true."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n_samples, n_classes))
    return 2 * logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def fit(X, y, weights=None, **options):
    return TemperatureScaling(input="logits", classes="columns", **options).fit(X, y, weights)


@pytest.mark.parametrize("loss", ["log", "brier"])
@pytest.mark.filterwarnings("ignore:No row is of a class")
def test_an_impossible_class_has_probability_0_and_the_others_what_they_have_without(loss):
    X, y = make_tokens()
    alone, more = fit(X, y, loss=loss), np.insert(X, 2, -np.inf, axis=1)
    labels = [0, 1, 9, 2, 3, 4]
    named = TemperatureScaling(input="logits", classes=labels, loss=loss).fit(more, y)
    assert named.temperature_ == pytest.approx(alone.temperature_, rel=1e-10)
    found = named.transform(more)
    assert (found[:, 2] == 0).all()
    np.testing.assert_allclose(np.delete(found, 2, axis=1), alone.transform(X), **CLOSE)
    np.testing.assert_allclose(found.sum(axis=1), 1, **CLOSE)
    copy = BaseRecalibrator.from_dict(named.to_dict())
    np.testing.assert_array_equal(copy.transform(more), found)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_masks_of_every_row(kind):
    X, y = make_tokens(n_classes=300)
    is_out = np.random.default_rng(1).random(X.shape) < 0.5
    is_out[np.arange(300), y] = False
    X = np.where(is_out, -np.inf, X).astype(kind)
    y[:1] = y[1]
    X[0, y[1]] = 0  # so that a class has no row
    fitted = fit(X, y)
    found = fitted.predict_proba(X)
    assert found.dtype == (np.float32 if kind == np.float32 else np.float64)
    expected = softmax(X.astype(np.float64) / fitted.temperature_, axis=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found == 0, np.isneginf(X))
    deep = np.array([[0, -1e4, -np.inf] + [-np.inf] * 297], dtype=kind)
    first, second, third = fitted.predict_proba(deep)[0, :3]
    assert (0 < second < 1e-30, 0 < first < 1, third) == (True, True, 0)


def test_a_class_that_is_alone_is_certain():
    X, y = make_tokens(n_classes=2)
    fitted = fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba([[-np.inf, 3.0]]), [[0, 1]])
    one = TemperatureScaling(input="logits").fit(X[:, 1:] - X[:, :1], y)
    np.testing.assert_array_equal(one.predict_proba([[-np.inf]]), [[1, 0]])
    np.testing.assert_array_equal(one.transform([[-np.inf]]), [[0]])


def test_what_rules_out_the_truth_or_everything_is_refused():
    X, y = make_tokens()
    labels = np.array(["a", "b", "c", "d", "e"])
    order = [4, 2, 0, 1, 3]
    X[17, y[17]] = -np.inf
    model = TemperatureScaling(input="logits", classes=labels[order])
    message = "X must have a logit above -inf for the true class.* row 17 of X has -inf for '{}'"
    with pytest.raises(NotClassScoresError, match=message.format(labels[y[17]])):
        model.fit(X[:, order], labels[y])
    soft = 0.8 * np.eye(5)[y] + 0.04  # with a copy of each row for each label
    with pytest.raises(NotClassScoresError, match=message.format(labels[y[17]])):
        model.fit(X[:, order], soft[:, order])
    weights = np.ones(len(y))
    weights[17] = 0  # absent
    kept = np.arange(len(y)) != 17
    expected = fit(X[kept], y[kept]).temperature_
    assert fit(X, y, weights).temperature_ == pytest.approx(expected, rel=1e-12)
    one = X[:, :1].copy()
    one[3] = -np.inf
    with pytest.raises(NotClassScoresError, match="row 3 of X has -inf for 1"):
        TemperatureScaling(input="logits").fit(one, np.r_[0, 0, 0, 1, y[4:] % 2])
    fitted = fit(*make_tokens())
    X[5] = -np.inf
    with pytest.raises(
        NotClassScoresError, match=r"X must have a logit above -inf in every.*row 5"
    ):
        fitted.predict_proba(X)
    for value in (np.nan, np.inf):
        X[5] = -np.inf, 0, value, 1, 2
        with pytest.raises(NotClassScoresError, match=f"X must be finite.* row 5 has {value}"):
            fitted.predict_proba(X)
    X[5] = -1e200, 0, -np.inf, 1, 2
    with pytest.raises(NotClassScoresError, match=r"between -1e\+100 and .* from -1e\+200"):
        fitted.predict_proba(X)
    X[5] = 0
    with pytest.raises(NotClassScoresError, match=r"row 17 has -inf.*or take TemperatureScaling"):
        PlattScaling(input="logits").fit(X, y)


@pytest.mark.filterwarnings("ignore:No row is of a class")
@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_memory_beside_the_logits_and_the_answer_is_a_tenth_of_the_logits(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 40_000, 400)
    X = rng.integers(-6, 6, (400, 40_000), dtype=np.int8).astype(kind)
    X[np.arange(400), y] = 8
    tracemalloc.start()
    fitted = fit(X, y)
    extra = tracemalloc.get_traced_memory()[1]
    assert extra < 0.1 * X.nbytes + 40_000 * 40  # labels and places of the columns
    tracemalloc.reset_peak()
    proba = fitted.predict_proba(X)
    extra = tracemalloc.get_traced_memory()[1] - proba.nbytes
    tracemalloc.stop()
    assert extra < 0.1 * X.nbytes + 40_000 * 40
