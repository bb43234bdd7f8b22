"""Classes that the model knows and the rows lack, by chance or because none could be there."""

import json
import pickle

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skcal.recalibration import (
    AutoRecalibration,
    BaseRecalibrator,
    MulticalibratedClassifierCV,
    RecalibratedClassifierCV,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VennAbers,
    get_recalibrator_names,
)
from tests.recalibration import family
from tests.recalibration.family import NAMES, every_class, make, make_scores

pytestmark = family.may_harm

APART = [R for R in family.CLASSES if R.__name__ not in family.FEW_CLASSES]
unseen = r"No row is of a class that X has a column for, \['{}'\]: "
CLOSE = {"rtol": 0, "atol": 1e-9}


def drop(k, n_classes=4, kind="proba"):
    """Scores of rows of all classes but one, their labels, and scores of all rows."""
    X, y = make_scores(n_classes)
    scores = X if kind == "proba" else np.log(X) + 2
    return scores[y != k], NAMES[y[y != k]], scores, X


@pytest.mark.parametrize("kind", [pytest.param("proba", marks=pytest.mark.slow), "logits"])
@pytest.mark.parametrize("R", APART)
def test_the_score_is_kept_and_the_others_share_the_rest(R, kind):
    """In the proportions of a fit to the other columns alone."""
    rows, labels, scores, proba = drop(2, kind=kind)
    fitted = make(R, input=kind, classes=NAMES)
    with pytest.warns(UserWarning, match=unseen.format("cat") + "its probability stays unchanged"):
        fitted.fit(rows, labels)
    found = fitted.predict_proba(scores)
    assert fitted.classes_.tolist() == NAMES.tolist()
    np.testing.assert_allclose(found[:, 2], proba[:, 2], **CLOSE)
    np.testing.assert_allclose(found.sum(axis=1), 1, **CLOSE)
    others = [0, 1, 3]

    def restrict(values):
        values = values[:, others]
        return values / values.sum(axis=1, keepdims=True) if kind == "proba" else values

    alone = make(R, input=kind).fit(restrict(rows), labels).predict_proba(restrict(scores))
    expected = alone * proba[:, others].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found[:, others], expected, rtol=0, atol=1e-8)
    for copy in (
        pickle.loads(pickle.dumps(fitted)),
        BaseRecalibrator.from_dict(json.loads(json.dumps(fitted.to_dict()))),
    ):
        np.testing.assert_array_equal(copy.predict_proba(scores), found)


@pytest.mark.parametrize("kind", ["proba", "logits"])
def test_a_temperature_is_that_of_the_others_and_holds_for_all(kind):
    """P(y | x, y is not c) is the softmax of the other logits, whatever the rate of c."""
    rows, labels, scores, proba = drop(2, kind=kind)
    fitted = TemperatureScaling(input=kind, classes=NAMES)
    with pytest.warns(
        UserWarning, match=unseen.format("cat") + "what is learned from other classes"
    ):
        fitted.fit(rows, labels)
    logits = np.log(proba)[make_scores(4)[1] != 2][:, [0, 1, 3]]
    alone = TemperatureScaling(input="logits").fit(logits, labels)
    assert fitted.temperature_ == pytest.approx(alone.temperature_, rel=1e-6)
    expected = proba ** (1 / fitted.temperature_)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(scores), expected, **CLOSE)


@every_class
@pytest.mark.parametrize("kind", ["proba", pytest.param("logits", marks=pytest.mark.slow)])
def test_a_single_class_teaches_nothing(R, kind):
    """And nothing is left of an earlier fit."""
    X, y = make_scores(2)
    scores = X if kind == "proba" else np.log(X)
    fitted = make(R, input=kind, classes=NAMES[:2]).fit(scores, NAMES[y])
    with pytest.warns(
        UserWarning, match=r"\['bee'\]: its prob|one class: the scores are left unchanged"
    ):
        fitted.fit(scores[y == 0], NAMES[y[y == 0]])
    np.testing.assert_allclose(fitted.predict_proba(scores), X, **CLOSE)
    if R is not AutoRecalibration:
        assert {n for n in vars(fitted) if n.endswith("_")} == {"classes_", "n_features_in_"}
    again = BaseRecalibrator.from_dict(fitted.to_dict())
    np.testing.assert_array_equal(again.predict_proba(scores), fitted.predict_proba(scores))
    fitted.fit(scores, NAMES[y])
    expected = make(R, input=kind).fit(scores, NAMES[y]).predict_proba(scores)
    np.testing.assert_array_equal(fitted.predict_proba(scores), expected)


def test_rows_that_give_the_others_no_probability():
    """They share nothing; where there is something it is shared evenly."""
    rows, labels, _, _ = drop(2)
    for R in APART:
        fitted = make(R, classes=NAMES)
        with pytest.warns(UserWarning, match=unseen.format("cat")):
            fitted.fit(np.vstack([rows, [[0, 0, 1, 0]]]), np.append(labels, "ant"))
        found = fitted.predict_proba([[0, 0, 1, 0.0]])
        np.testing.assert_allclose(found, [[0, 0, 1, 0]], rtol=0, atol=1e-12)


def make_frozen(n_classes):
    """A calibrated model of several classes, and rows that lack the last of them."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 3000)
    X = rng.normal(size=(3000, 2)) + 1.5 * np.eye(3, 2)[y]
    model = FrozenEstimator(LogisticRegression().fit(X[:1000], NAMES[y[:1000]]))
    few = np.flatnonzero(y[:2000] < n_classes - 1)[-400:]
    return model, X[few], NAMES[y[few]], X[2000:]


@pytest.mark.parametrize("ensemble", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", get_recalibrator_names())
def test_frozen_classifiers(name, ensemble):
    """The share of the class was .347, and became .013 with Platt's sigmoid."""
    model, X, y, X_new = make_frozen(3)
    before = model.predict_proba(X_new)[:, 2].mean()
    fitted = RecalibratedClassifierCV(model, name, ensemble=ensemble)
    with pytest.warns(UserWarning, match=unseen.format("cat")):
        fitted.fit(X, y)
    after = fitted.predict_proba(X_new)[:, 2].mean()
    # Of these two the first is not meant to keep anything, and the second adds noise.
    if name not in ("confidence_replacement", "randomized_smoothing"):
        assert after == pytest.approx(before, abs=0.03)
    assert after > before / 3


@pytest.mark.parametrize("name", get_recalibrator_names())
def test_frozen_classifiers_of_two_classes(name):
    model, X, y, X_new = make_frozen(2)
    fitted = RecalibratedClassifierCV(model, name)
    with pytest.warns(
        UserWarning, match=r"\['bee'\]: its|one class: the scores are left unchanged"
    ):
        fitted.fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba(X_new), model.predict_proba(X_new), **CLOSE)


@pytest.mark.parametrize("method", ["scaling", pytest.param("boosting", marks=pytest.mark.slow)])
def test_groups(method):
    for n_classes, column in ((3, "cat"), (2, "bee")):
        model, X, y, X_new = make_frozen(n_classes)
        fitted = MulticalibratedClassifierCV(model, features=[0], method=method)
        with pytest.warns(UserWarning, match=rf"\['{column}'\], which the classifier knows: its"):
            fitted.fit(X, y)
        before, after = model.predict_proba(X_new), fitted.predict_proba(X_new)
        np.testing.assert_allclose(after[:, -1], before[:, -1], **CLOSE)
        np.testing.assert_allclose(after.sum(axis=1), 1, **CLOSE)
        if method == "scaling":
            frame = fitted.calibrated_classifiers_[0].recalibrator.to_frame()
            assert len(frame) == 0 if n_classes == 2 else "all rows" in frame.index


@pytest.mark.parametrize("monotone", [False, True])
def test_mixtures_compare_what_is_known(monotone):
    """Likelihoods are those given that the class does not come true."""
    model, X, y, _ = make_frozen(3)
    scores = model.predict_proba(X)
    fitted = AutoRecalibration(classes=NAMES[:3], monotone=monotone)
    with pytest.warns(UserWarning, match=unseen.format("cat")):
        fitted.fit(scores, y)
    if monotone:
        np.testing.assert_array_equal(fitted.predict(scores), NAMES[scores.argmax(axis=1)])
        return
    known = scores[:, :2] / scores[:, :2].sum(axis=1, keepdims=True)
    own = known[np.arange(len(y)), (y == "bee").astype(int)]
    assert fitted.log_losses_[0] == pytest.approx(-np.log(own).mean(), rel=1e-9)


@pytest.mark.parametrize("seen", [[0, 2], [1]])
def test_intervals_of_classes_without_rows(seen):
    """An unseen class keeps its probability; the others share theirs, as `predict_proba` says."""
    rng = np.random.default_rng(0)
    X = rng.dirichlet([1, 1, 1], 80)
    y = rng.choice(seen, 80)
    with pytest.warns(UserWarning, match="No row is of a class"):
        model = VennAbers(classes=[0, 1, 2]).fit(X, y)
    interval, proba = model.predict_interval(X), model.predict_proba(X)
    kept = [k for k in range(3) if k not in seen] if len(seen) > 1 else [0, 1, 2]
    for end in (0, 1):
        np.testing.assert_allclose(interval[:, kept, end], X[:, kept], atol=1e-12)
    assert (interval[..., 0] <= proba + 1e-12).all()
    assert (proba <= interval[..., 1] + 1e-12).all()


def make_vocabulary(n_rows, n_classes, seed=0):
    """Logits whose classes are as frequent as words, those of a right model, and labels."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.standard_normal((n_rows, n_classes)) - np.log(np.arange(n_classes) + 3.0)
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def take_loss(logits, y):
    return -np.mean(log_softmax(logits, axis=1)[np.arange(len(y)), y])


@pytest.mark.parametrize("kind", ["logits", "float16", "proba"])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 1.5, 400)])
def test_words_that_do_not_occur_still_compete(kind, weights):
    """At the best temperature the mean logit of what came true is the one that is expected."""
    logits, y = make_vocabulary(400, 600)
    assert len(np.unique(y)) < 250
    X = softmax(2 * logits, axis=1) if kind == "proba" else 2 * logits
    if kind == "float16":
        X = X.astype(np.float16)
    fitted = TemperatureScaling(
        input="proba" if kind == "proba" else "logits", classes="columns"
    ).fit(X, y, weights)
    z = 2 * logits if kind == "proba" else X.astype(np.float64)
    expected = (softmax(z / fitted.temperature_, axis=1) * z).sum(axis=1)
    found = z[np.arange(400), y]
    assert np.average(found, weights=weights) == pytest.approx(
        np.average(expected, weights=weights), abs=1e-8
    )
    assert fitted.temperature_ == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize(
    "R", [AutoRecalibration, TemperatureScaling, StructuredVectorScaling, StructuredMatrixScaling]
)
def test_a_right_model_of_more_classes_than_rows_stays_right(R):
    """And one that is twice too sure is repaired, as likelihoods are those of all classes."""
    logits, y = make_vocabulary(2100, 120)
    train, test = slice(0, 100), slice(100, None)
    right = take_loss(logits[test], y[test])
    for factor, bound in ((1, 0.01), (2, 0.02)):
        fitted = R(input="logits", classes="columns").fit(factor * logits[train], y[train])
        found = np.log(fitted.predict_proba(factor * logits[test]))
        assert take_loss(found, y[test]) < right * (1 + bound)


@pytest.mark.parametrize("weight", [0.9, 1.1])
def test_ten_expected_rows_are_the_limit(weight):
    """Of a class with .2 in each of 50 rows; its share falls, or it stays as it is."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=50)
    X = np.full((50, 3), 0.2)
    X[np.arange(50), y] = 0.6
    fitted = StructuredVectorScaling(classes=[0, 1, 2])
    if weight > 1:
        with pytest.warns(UserWarning, match="No row is of a class"):
            fitted.fit(X, y, np.full(50, weight))
        np.testing.assert_allclose(fitted.predict_proba(X)[:, 2], 0.2, **CLOSE)
    else:
        fitted.fit(X, y, np.tile([1, 2 * weight - 1], 25))
        assert (fitted.predict_proba(X)[:, 2] < 0.2).all()


def test_ten_rows_by_round_numbers_are_ten():
    """Their sum may be next to ten; copies of rows are still like weights."""
    for n_classes, n_rows in ((3, 30), (6, 60), (10, 100), (20, 200), (70, 700)):
        X, y = np.full((n_rows, n_classes), 1 / n_classes), 1 + np.arange(n_rows) % 2
        for scores, labels, weights in ((X, y, None), (X[:2], y[:2], np.full(2, n_rows / 2))):
            TemperatureScaling(classes="columns").fit(scores, labels, weights)
            logits = np.zeros_like(scores)
            TemperatureScaling(classes="columns", input="logits").fit(logits, labels, weights)


@pytest.mark.parametrize("R", [StructuredVectorScaling, StructuredMatrixScaling])
def test_without_penalty_nothing_is_learned_from_absence(R):
    """It would be that the class never comes true."""
    logits, y = make_vocabulary(60, 6)
    y = np.where(y == 5, 0, y)
    for fitted in (R(intercept_penalty=0, input="logits", classes="columns"), R(classes="columns")):
        X = logits if fitted.input == "logits" else softmax(logits, axis=1)
        if fitted.input == "proba":  # the scores rule the class out in all rows
            X[:, 5] = 0
            X /= X.sum(axis=1, keepdims=True)
        with pytest.warns(UserWarning, match="its probability stays unchanged"):
            fitted.fit(X, y)
        proba = softmax(logits, axis=1) if fitted.input == "logits" else X
        np.testing.assert_allclose(fitted.predict_proba(X)[:, 5], proba[:, 5], **CLOSE)


def test_a_mixture_of_maps_that_ignore_absence_says_so():
    logits, y = make_vocabulary(60, 6)
    X, y = softmax(logits, axis=1), np.where(y == 5, 0, y)
    assert X[:, 5].sum() < 10
    fitted = AutoRecalibration(["isotonic", "spline"], classes="columns")
    with pytest.warns(UserWarning, match=r"\[5\]: its probability stays unchanged"):
        fitted.fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 5], X[:, 5], **CLOSE)
    fitted.set_params(recalibrators=["isotonic", "temperature"]).fit(X, y)  # without a word


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 1.5, 60)])
def test_intercepts_leave_classes_without_rows_what_is_expected_of_them(weights):
    rng = np.random.default_rng(0)
    X = np.array([0.02] * 5 + [0.89, 0.01]) * rng.uniform(0.5, 1.5, (60, 7))
    X /= X.sum(axis=1, keepdims=True)
    y = np.arange(60) % 5
    y[::20] = 5
    fitted = AutoRecalibration(["temperature"], classes="columns", prior_rows=1)
    fitted.fit(X, y, weights)
    assert fitted.weights_[0] == 0
    assert np.ptp(fitted.intercepts_) > 0.5
    assert fitted.intercepts_.mean() == pytest.approx(0, abs=1e-12)
    before = np.average(fitted.recalibrators_[0].predict_proba(X), axis=0, weights=weights)
    after = np.average(fitted.predict_proba(X), axis=0, weights=weights)
    assert after[6] == pytest.approx(before[6], rel=1e-6)
    assert after[5] < 0.9 * before[5]


def test_vocabularies_with_fewer_rows_than_tokens_have_no_square_matrix():
    for n_classes, is_kept in ((2000, True), (2001, False)):
        logits, y = make_vocabulary(30, n_classes)
        fitted = AutoRecalibration(input="logits", classes="columns", cv=2).fit(logits, y)
        assert ("structured_vector" in fitted.names_) is is_kept
