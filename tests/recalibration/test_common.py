"""Properties of every recalibrator that is exported."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import StackingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skcal import recalibration
from skcal.recalibration import (
    IsotonicRecalibration,
    NotClassScoresError,
    TemperatureScaling,
)
from tests.recalibration import family
from tests.recalibration.family import (
    NAMES,
    both_counts,
    every_class,
    every_class_and_count,
    make,
    make_scores,
)

# All recalibrators share the entrance: one that stays in NumPy and one that need not.
entrance = pytest.mark.parametrize("R", [IsotonicRecalibration, TemperatureScaling])

CLOSE = {"rtol": 0, "atol": 1e-9}


def refit(R, X, y, weights=None, **options):
    """Probabilities of the fitted rows."""
    return make(R, **options).fit(X, y, sample_weight=weights).predict_proba(X)


def check_probabilities(proba):
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, **CLOSE)


@every_class_and_count
@pytest.mark.parametrize("input", ["proba", pytest.param("logits", marks=pytest.mark.slow)])
def test_answers_are_probabilities_of_the_float_type_of_the_scores(R, n_classes, input):
    X, y = make_scores(n_classes)
    X = np.log(X) if input == "logits" else X
    check_probabilities(make(R, input=input).fit(X, NAMES[y]).predict_proba(X))
    X = X.astype(np.float32)  # whose rows sum to 1 by rounding
    recalibrator = make(R, input=input).fit(X.astype(float), NAMES[y])
    proba = recalibrator.predict_proba(X.astype(float))
    assert proba.shape == X.shape
    np.testing.assert_array_equal(recalibrator.predict(X), NAMES[proba.argmax(axis=1)])
    short = make(R, input=input).fit(X, NAMES[y])
    for found in (short.predict_proba(X), short.transform(X)):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, proba, atol=1e-6)


def list_equal_fits(R, X, y, weights):
    """Scores, labels and weights, options, and scores of rows that get the same probabilities."""
    order = np.array([2, 0, 3, 1]) % X.shape[1]
    yield np.log(X) + 3, y, weights, {"input": "logits"}, np.log(X) - 1
    yield np.repeat(X, weights, axis=0), np.repeat(y, weights), None, {}, X
    yield X[::-1], y[::-1], weights[::-1], {}, X
    yield X, np.array([-5, 0, 3, 10**6])[y], weights, {}, X
    yield X, 2.0 + y, weights, {}, X
    if X.shape[1] == 4:
        yield X[:, order], NAMES[y], weights, {"classes": NAMES[order]}, X[:, order]
    else:
        yield X[:, 1:], y, weights, {}, X[:, 1:]
        log_odds = np.log(X[:, 1:] / X[:, :1])
        yield log_odds, y, weights, {"input": "logits"}, log_odds


@every_class_and_count
def test_equal_fits(R, n_classes):
    X, y = make_scores(n_classes, 80)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    own = family.COPIES_ROWS.get(R.__name__, {})
    expected = refit(R, X, y, weights, **own)
    for *rows, options, new in list_equal_fits(R, X, y, weights):
        fitted = make(R, **own, **options).fit(*rows)
        proba = fitted.predict_proba(new)
        # Between fitted rows an isotonic map is straight on the scale that it reads.
        compared = weights > 0 if "input" in options else ...
        np.testing.assert_allclose(proba[compared], expected[compared], **CLOSE)
        # `transform` has the columns of X.
        columns = [1] if new.shape[1] == 1 else ...
        columns = [2, 0, 3, 1] if "classes" in options else columns
        np.testing.assert_array_equal(fitted.transform(new), proba[:, columns])
    if R.__name__ not in family.READS_COUNTS:
        options = family.fit_labels(R)
        expected = refit(R, X, y, **options)
        np.testing.assert_allclose(refit(R, X, y, np.full(80, 0.3), **options), expected, **CLOSE)


@pytest.mark.parametrize("R", family.ONE_VS_REST)
def test_classes_are_mapped_one_against_the_rest_and_normalised(R):
    X, y = make_scores(3)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    parts = [refit(R, X[:, [k]], y == k, weights)[:, 1:] for k in range(3)]
    expected = np.hstack(parts) / sum(parts)
    np.testing.assert_allclose(refit(R, X, y, weights), expected, **CLOSE)


@pytest.mark.parametrize("R", [R for R in family.CLASSES if R.__name__ not in family.NO_BASE_RATE])
@both_counts
def test_scores_that_are_all_alike_give_the_share_of_each_class(R, n_classes):
    """Their differences from a mean that was off by its last bit were taken for scores."""
    rng = np.random.default_rng(7)
    y = np.arange(47) % 7 % n_classes
    options = family.BASE_RATE_OPTIONS.get(R.__name__, {}) | family.fit_labels(R)
    for weights in (np.ones(47), rng.random(47)):
        share = np.bincount(y, weights) / weights.sum()
        for k, scores in enumerate(rng.dirichlet(np.ones(n_classes), 4)):
            X = np.tile(scores, (47, 1))
            if k % 2 and R.__name__ not in family.SEPARATES:
                X[::3] *= 1 + 4e-16
            proba = refit(R, X, y, weights, **options)
            np.testing.assert_allclose(proba[1], share, rtol=0, atol=1e-6)


@every_class
def test_logits_that_are_all_alike_or_next_to_it_tell_nothing(R):
    """The last bits of centred logits were taken for scores; factors of tiny ones overflowed."""
    y = np.arange(47) % 7 % 3
    offset = 5 * np.random.default_rng(1).normal(size=(47, 1))
    if R.__name__ in family.NEEDS_ACCURACY:
        y = np.arange(47) % 7 // 4  # the first class, the largest of equal ones, is right mostly
    even = np.zeros((47, 1 + y.max()))
    expected = refit(R, even, y, input="logits")
    np.testing.assert_allclose(refit(R, even + offset, y, input="logits"), expected, **CLOSE)
    for tiny in (-1e-300, -5e-324):
        check_probabilities(refit(R, np.full((47, 1), tiny), y == y.max(), input="logits"))


@every_class_and_count
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_a_finite_log_loss_stays_finite(R, n_classes, dtype):
    """Outputs lie strictly inside (0, 1), by default or, where 0 and 1 are meant, on request."""
    _, y = make_scores(n_classes, 60)
    inside = {"min_proba": 0.01} if R._gives_hard_probabilities else {}
    hard, far = np.eye(n_classes)[y], np.eye(n_classes)[[0, 1]]
    soft = 0.9 * hard + 0.1 / n_classes
    cases = [("proba", soft, far), ("proba", hard, far[:, ::-1]), ("logits", 1e4 * hard - 5e3, far)]
    if R.__name__ not in family.NEEDS_ACCURACY:
        cases.append(("proba", np.roll(soft, 1, axis=1), far))  # always wrong
    for kind, X, new in cases:
        fitted = make(R, input=kind, **inside).fit(X.astype(dtype), y)
        proba = fitted.predict_proba(np.vstack([X, new]).astype(dtype))
        assert proba.dtype == dtype
        assert ((proba > 0) & (proba < 1)).all()
        if inside and n_classes == 2:  # rows of more classes are divided by their sums
            assert proba.min() >= dtype(0.01) - np.finfo(dtype).eps
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)


@every_class
@pytest.mark.parametrize("mask", [pytest.param(-1e9, marks=pytest.mark.slow), -1e30])
def test_classes_masked_by_huge_logits(R, mask):
    """However huge the logits are that rule a class out, the other classes are mapped alike."""
    X, y = make_scores(4, 400)
    ruled_out = (np.arange(400) % 3 == 0) & (y != 3)
    near, far = np.log(X), np.log(X)
    near[ruled_out, 3], far[ruled_out, 3] = -1e4, mask
    expected = refit(R, near, y, input="logits")
    np.testing.assert_allclose(refit(R, far, y, input="logits"), expected, **CLOSE)


@pytest.mark.parametrize("name", ["PlattScaling", "ScalingBinning", "VectorScaling", "VennAbers"])
def test_an_offset_of_all_scores_does_not_matter(name):
    """Where neither a penalty nor the definition gives a place to 0."""
    R = getattr(recalibration, name)
    X, y = make_scores(2)
    log_odds = np.log(X[:, 1:] / X[:, :1])
    expected = refit(R, log_odds, y, input="logits")
    for moved in (1e6 + log_odds, 750 + 1e-3 * log_odds):
        np.testing.assert_allclose(refit(R, moved, y, input="logits"), expected, atol=1e-6)


def test_large_logits_do_not_saturate():
    """Beyond 37 the probabilities of all logits are 1; the maps still tell them apart."""
    z, y = np.array([[50.0], [60.0], [70.0], [80.0]]), [0, 0, 1, 1]
    isotonic, venn_abers, beta = (
        refit(getattr(recalibration, name), z, y, input="logits")[:, 1]
        for name in ("IsotonicRecalibration", "VennAbers", "BetaCalibration")
    )
    np.testing.assert_allclose(isotonic, [0, 0, 1, 1])
    np.testing.assert_allclose(venn_abers, [1 / 4, 1 / 3, 2 / 3, 3 / 4])
    assert (np.diff(beta) > 0).all()


@pytest.mark.parametrize("name", ["PlattScaling", "BetaCalibration", "SplineRecalibration"])
def test_small_probabilities_of_either_class_are_exact(name):
    """1 - p has no digits left where p is next to 1."""
    s = np.linspace(-4, 4, 41)
    weights = 1 / (1 + np.exp(np.concatenate([-s, s])))
    fitted = make(getattr(recalibration, name), input="logits")
    fitted.fit(np.tile(s, 2)[:, None], np.repeat([1, 0], 41), weights)
    proba = fitted.predict_proba([[60.0], [-60.0]])
    np.testing.assert_array_equal(proba.argmin(axis=1), [0, 1])
    smallest = np.log(proba.min(axis=1))
    np.testing.assert_allclose(smallest[0], smallest[1], rtol=1e-6)
    assert smallest.min() > -70


@every_class
def test_it_lowers_the_log_loss_of_new_rows(R):
    (X, y), (new, y_new) = make_scores(2, 240), make_scores(2, 280, seed=1)
    hard = R._gives_hard_probabilities  # its zeros make the log loss infinite
    recalibrator = make(R, min_proba=1 / 242) if hard else make(R)
    assert log_loss(y_new, recalibrator.fit(X, y).predict_proba(new)) < log_loss(y_new, new)


@pytest.mark.slow
@family.may_harm
def test_any_recalibrator_can_be_swapped_for_any_other():
    """One grid over all recalibrators, in a pipeline, in one estimator and in a stack."""
    cross_fit = recalibration.CrossFitProba(GaussianNB(), cv=2)
    for name, model in {
        "recalibrator": recalibration.RecalibratedClassifierCV(GaussianNB(), cv=2),
        "final_estimator": StackingClassifier([("nb", GaussianNB())], cv=2),
        "temperaturescaling": make_pipeline(cross_fit, TemperatureScaling()),
    }.items():
        grid = {name: [make(R) for R in family.CLASSES]}
        search = GridSearchCV(model, grid, scoring="neg_brier_score", cv=2)
        results = search.fit(*make_scores(2, 200)).cv_results_
        assert np.isfinite(results["mean_test_score"]).all()


@entrance
@pytest.mark.parametrize(
    ("make_frame", "labels", "message"),
    [
        (pd.DataFrame, ["ant", "bee", "cat"], "feature names"),
        (pl.DataFrame, ["ant", "bee", "cat"], "feature names"),
        # scikit-learn compares names of columns only where all are text.
        (pd.DataFrame, [0, 1, 2], r"columns of X .* \[2, 0, 1\]. Put them into that"),
    ],
)
def test_columns_named_after_the_classes_in_another_order(R, make_frame, labels, message):
    X, y = make_scores(3)
    y, (first, second, third) = np.array(labels)[y], labels
    frame = make_frame({labels[k]: X[:, k] for k in (2, 0, 1)})
    with pytest.raises(ValueError, match=rf"columns of X are named.* pass classes=\[{third!r}"):
        R().fit(frame, y)
    other = rf"columns of X are named after.* order \[{first!r}, {third!r}"
    with pytest.raises(ValueError, match=other):
        R(classes=[first, third, second]).fit(frame, y)
    recalibrator = R(classes=[third, first, second]).fit(frame, y)
    np.testing.assert_allclose(recalibrator.predict_proba(frame), refit(R, X, y), **CLOSE)
    with pytest.raises(ValueError, match=message):
        recalibrator.predict_proba(frame[labels])


@every_class
def test_y_may_miss_a_class_that_is_named(R):
    X, y = make_scores(4)
    present = y != 2
    for classes in ([0, 1, 2, 3], "columns"):
        recalibrator = make(R, classes=classes)
        with pytest.warns(UserWarning, match=r"No row is of .*\[2\]"):
            recalibrator.fit(X[present], y[present])
        np.testing.assert_array_equal(recalibrator.classes_, [0, 1, 2, 3])
        check_probabilities(recalibrator.predict_proba(X))
    with pytest.raises(NotClassScoresError, match="X has 4 columns but there are 3 classes"):
        make(R).fit(X[present], y[present])


@entrance
def test_labels_in_any_form(R):
    """Numbers as objects come from a column of pandas that once held something else."""
    X, y = make_scores(2, 40)
    expected, kind = refit(R, X, y), y.dtype
    for labels in (y.astype(object), pd.Series(y, dtype=object)):
        assert R().fit(X, labels).classes_.dtype == kind
        np.testing.assert_array_equal(refit(R, X, labels), expected)
    text = pd.Series(NAMES[y], dtype="category")
    for classes in (["ant", "bee"], NAMES[:2].astype(object), pd.Index(["ant", "bee"])):
        np.testing.assert_array_equal(refit(R, X, text, classes=classes), expected)
    mixed = ["x" if label else 0 for label in y]
    for labels in (mixed, np.array(mixed, dtype=object)):
        with pytest.raises(ValueError, match=r"y must hold numbers.*all of one type.*got int, str"):
            R().fit(X, labels)


def test_one_dimension_is_refused_with_the_way_to_two():
    X, y = make_scores(2)
    for column, way in (
        (X[:, 1], r"X\.reshape\(-1, 1\) or X\[:, None\]"),
        (X[:, 1].tolist(), r"numpy\.reshape\(X, \(-1, 1\)\)"),
        (pd.Series(X[:, 1]), r"X\.to_frame\(\)"),
        (pl.Series(X[:, 1]), r"X\.to_frame\(\)"),
    ):
        message = rf"got the shape \(300,\).*{way}"
        with pytest.raises(NotClassScoresError, match=message):
            TemperatureScaling().fit(column, y)
        with pytest.raises(NotClassScoresError, match=message):
            TemperatureScaling().fit(X, y).predict_proba(column)


FOUR = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
BAD_SCORES = [
    ([[5.1, 3.5], [4.9, 3.0]], "X must hold class probabilities"),
    ([[0.5, 0.4], [0.5, 0.5]], r"rows in \[0, 1\] that sum to 1"),
    ([[-0.1, 1.1], [0.5, 0.5]], "row 0 of 2 columns has values from -0.1 to 1.1"),
    ([[1.5], [0.5]], "X must hold class probabilities"),
    (np.full((2, 4), 0.25), "4 columns but there are 2 classes"),
    ([[0.5, 0.5], [np.nan, 0.5]], "X must be finite.* row 1 has nan"),
    ([[np.inf, 0], [0.5, 0.5]], "X must be finite.* row 0 has inf"),
]
BAD_LABELS = [
    ([0] * 4, {}, "only one class.*classes="),
    ([0, 1, 2, 0], {}, "2 columns but there are 3 classes"),
    ([0, 1, 1, 0], {"input": "logit"}, "input must be one of 'proba', 'logits'; got 'logit'"),
    ([0, 1, 1, 0], {"classes": "column"}, "classes must be one of 'columns'; got 'column'"),
    ([0, 1, 1, 0], {"classes": [1, 1]}, "distinct labels"),
    ([0, 1, 1, 0], {"classes": ["a", "b"]}, "labels that are not among the 2 classes"),
    ([1, 2, 2, 1], {"classes": "columns"}, "labels that are not among the 2 classes"),
]


@entrance
def test_what_is_no_class_scores_is_refused_and_a_fit_stays_as_it_was(R):
    recalibrator = R().fit(FOUR, [0, 1, 1, 0])
    expected = recalibrator.predict_proba(FOUR)
    for X, message in BAD_SCORES:
        with pytest.raises(NotClassScoresError, match=message):
            recalibrator.fit(X, [0, 1])
        with pytest.raises(ValueError, match=message if np.shape(X)[1] == 2 else "features"):
            recalibrator.transform(X)
    # A softmax in float32 misses [0, 1] by its rounding.
    rounded = np.array([[-1e-17, 1 + 1.2e-7]], dtype=np.float32).astype(np.float64)
    check_probabilities(recalibrator.predict_proba(rounded))
    for huge in (1e200, -1e200):
        with pytest.raises(NotClassScoresError, match=r"logits between -1e\+100 .* got .*1e\+200"):
            R(input="logits").fit([[0, huge], [0, 1]], [0, 1])
    for y, options, message in BAD_LABELS:
        with pytest.raises(ValueError, match=message):
            R(**options).fit(FOUR, y)
    for weights, message in (([0] * 4, "at least one positive"), ([-1] * 4, "not negative")):
        with pytest.raises(ValueError, match=f"sample_weight must .*{message}"):
            recalibrator.fit(FOUR, [0, 1, 1, 0], sample_weight=weights)
    np.testing.assert_array_equal(recalibrator.predict_proba(FOUR), expected)


# A value just outside of those that each option may have; others may be tested elsewhere.
LIMITS = {
    "bandwidth": (9e-4, "at least 0.001 and finite; got 0.0009"),
    "curvature_penalty": (-1, "at least 0 and finite; got -1"),
    "diagonal_penalty": (None, "a number; got None"),
    "intercept_penalty": (np.inf, "at least 0 and finite; got inf"),
    "loss": ("mse", "one of 'log', 'brier'; got 'mse'"),
    "min_proba": (0.5, "at least 0 and below 0.5; got 0.5"),
    "monotone": ("yes", "True or False; got 'yes'"),
    "multiclass": ("top", "one of 'one-vs-rest', 'top-label'; got 'top'"),
    "n_bins": (0, "at least 1; got 0"),
    "n_knots": (1, "at least 2; got 1"),
    "off_diagonal_penalty": (-1e-9, "at least 0 and finite; got -1e-09"),
    "parameters": ("a", "one of 'abm', 'am', 'ab'; got 'a'"),
    "penalty": (-1e-3, "at least 0 and finite; got -0.001"),
    "random_state": ("noise", "None, an integer"),
    "ridge": (-1, "at least 0 and finite; got -1"),
    "strategy": ("quantiles", "one of 'uniform', 'quantile'; got 'quantiles'"),
    "target_smoothing": (1, "True or False; got 1"),
}


@every_class
def test_options_are_checked(R):
    for name in make(R).get_params().keys() & LIMITS.keys():
        value, message = LIMITS[name]
        with pytest.raises(ValueError, match=f"{name} must be {message}"):
            make(R, **{name: value}).fit(FOUR, [0, 1, 1, 0])


class Careless(recalibration.BaseRecalibrator):
    """Returns what its function makes of the scores."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def _fit(self, scores, codes, sample_weight):
        pass

    def _recalibrate(self, scores):
        return self.function(scores)


@pytest.mark.parametrize(
    ("function", "shape"), [(lambda s: s[:, 1], r"\(2,\)"), (lambda s: s[:, 1:], r"\(2, 1\)")]
)
def test_answers_of_a_wrong_shape_are_refused(function, shape):
    X = [[0.4, 0.6], [0.2, 0.8]]
    message = rf"Careless\._recalibrate must return an array of shape \(2, 2\); got {shape}"
    with pytest.raises(ValueError, match=message):
        Careless(function).fit(X, [0, 1]).predict_proba(X)


def test_what_a_subclass_returns_is_left_alone():
    X, kept = [[0.4, 0.6], [0.2, 0.8]], np.array([[0.0, 1.0]])
    fitted = Careless(lambda scores: np.broadcast_to(kept, scores.shape)).fit(X, [0, 1])
    assert (fitted.predict_proba(X)[:, 0] > 0).all()
    np.testing.assert_array_equal(kept, [[0, 1]])
