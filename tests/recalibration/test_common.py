"""Properties of every recalibrator that is exported."""

import functools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline

from skcal import recalibration
from skcal.recalibration import (
    CrossFitProba,
    IsotonicRecalibration,
    NotClassScoresError,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from tests.recalibration.family import (
    BASE_RATE_OPTIONS,
    CLASSES,
    NEEDS_ACCURACY,
    NO_BASE_RATE,
    ONE_VS_REST,
    READS_COUNTS,
    SEPARATES,
    make,
    make_scores,
)

every_class = pytest.mark.parametrize("R", CLASSES)
both_counts = pytest.mark.parametrize("n_classes", [2, 4])
# All recalibrators share the entrance: one that stays in NumPy and one that need not.
entrance = pytest.mark.parametrize("R", [IsotonicRecalibration, TemperatureScaling])

CLOSE = {"rtol": 0, "atol": 1e-9}
TEXT = np.array(["ant", "bee", "cat", "dog"])


def check_probabilities(proba):
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, **CLOSE)


@every_class
@both_counts
@pytest.mark.parametrize("input", ["proba", "logits"])
def test_answers_are_probabilities_in_every_method(R, n_classes, input):
    X, y = make_scores(n_classes)
    X = np.log(X) if input == "logits" else X
    recalibrator = make(R, input=input).fit(X, TEXT[y])
    proba = recalibrator.predict_proba(X)
    assert proba.shape == X.shape
    check_probabilities(proba)
    np.testing.assert_array_equal(recalibrator.transform(X), proba)
    np.testing.assert_array_equal(recalibrator.predict(X), TEXT[proba.argmax(axis=1)])


ORDER = [2, 0, 3, 1]
# Other fits that give the same probabilities of X.
EQUAL_FITS = {
    "logits": lambda R, X, y, w: (
        make(R, input="logits").fit(np.log(X) + 3, y, w).predict_proba(np.log(X) - 1)
    ),
    "repetition": lambda R, X, y, w: (
        make(R).fit(np.repeat(X, w, axis=0), np.repeat(y, w)).predict_proba(X)
    ),
    "order of rows": lambda R, X, y, w: make(R).fit(X[::-1], y[::-1], w[::-1]).predict_proba(X),
    "far integers": lambda R, X, y, w: (
        make(R).fit(X, np.array([-5, 0, 3, 10**6])[y], w).predict_proba(X)
    ),
    "floats": lambda R, X, y, w: make(R).fit(X, 2.0 + y, w).predict_proba(X),
    "order of columns": lambda R, X, y, w: (
        make(R, classes=TEXT[ORDER]).fit(X[:, ORDER], TEXT[y], w).predict_proba(X[:, ORDER])
    ),
    "layout": lambda R, X, y, w: (
        make(R, classes=ORDER).fit(X[:, ORDER], y, w).transform(X[:, ORDER])[:, np.argsort(ORDER)]
    ),
}
OF_TWO_CLASSES = {
    "one column": lambda R, X, y, w: make(R).fit(X[:, 1:], y, w).predict_proba(X[:, 1:]),
    "one column out": lambda R, X, y, w: (
        make(R).fit(X[:, 1:], y, w).transform(X[:, 1:]) * [-1, 1] + [1, 0]
    ),
    "log-odds": lambda R, X, y, w: (
        make(R, input="logits")
        .fit(log_odds := np.log(X[:, 1:] / X[:, :1]), y, w)
        .predict_proba(log_odds)
    ),
}
OF_ANY_NUMBER = [name for name in EQUAL_FITS if name not in ("order of columns", "layout")]
CASES = [(4, name) for name in EQUAL_FITS]
CASES += [(2, name) for name in [*OF_ANY_NUMBER, *OF_TWO_CLASSES]]


@functools.cache
def fit_weighted(R, n_classes):
    X, y = make_scores(n_classes, 80)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    return X, y, weights, make(R).fit(X, y, sample_weight=weights).predict_proba(X)


@every_class
@pytest.mark.parametrize(("n_classes", "name"), CASES)
def test_equal_fits(R, n_classes, name):
    *rows, weights, expected = fit_weighted(R, n_classes)
    found = (EQUAL_FITS | OF_TWO_CLASSES)[name](R, *rows, weights)
    # Between fitted rows an isotonic map is straight on the scale that it reads.
    compared = weights > 0 if name.startswith("log") else ...
    np.testing.assert_allclose(found[compared], expected[compared], **CLOSE)


@every_class
@both_counts
def test_scale_of_weights_matters_only_to_what_counts_rows(R, n_classes):
    X, y = make_scores(n_classes, 80)
    options = READS_COUNTS.get(R.__name__, {})
    if options is not None:
        np.testing.assert_allclose(
            make(R, **options).fit(X, y, sample_weight=np.full(len(y), 0.3)).predict_proba(X),
            make(R, **options).fit(X, y).predict_proba(X),
            **CLOSE,
        )


@pytest.mark.parametrize("R", ONE_VS_REST)
def test_classes_are_mapped_one_against_the_rest_and_normalised(R):
    X, y = make_scores(3)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    parts = [make(R).fit(X[:, [k]], y == k, weights).transform(X[:, [k]]) for k in range(3)]
    parts = np.hstack(parts)
    np.testing.assert_allclose(
        make(R).fit(X, y, weights).predict_proba(X),
        parts / parts.sum(axis=1, keepdims=True),
        rtol=0,
        atol=1e-9,
    )


@every_class
def test_float32_in_float32_out(R):
    X, y = make_scores(4)
    X = X.astype(np.float32)
    recalibrator = make(R).fit(X, y)
    assert recalibrator.predict_proba(X).dtype == recalibrator.transform(X).dtype == np.float32
    expected = make(R).fit(X.astype(float), y).transform(X.astype(float))
    np.testing.assert_allclose(recalibrator.transform(X), expected, atol=1e-6)


# ----------------------------------------------------------------------------------- hard scores


@every_class
@both_counts
def test_separable_constant_and_worthless_scores(R, n_classes):
    _, y = make_scores(n_classes, 60)
    confident = 0.9 * np.eye(n_classes) + 0.1 / n_classes
    even = np.full((60, n_classes), 1 / n_classes)
    for X in (confident[y], confident[(y + 1) % n_classes], even):
        accuracy = (X.argmax(axis=1) == y).mean()
        if n_classes >= NEEDS_ACCURACY.get(R.__name__, np.inf) and accuracy <= 1 / n_classes:
            with pytest.raises(ValueError, match="The predicted class cannot be kept"):
                make(R).fit(X, y)
            continue
        check_probabilities(make(R).fit(X, y).predict_proba(X))


@pytest.mark.parametrize("R", [R for R in CLASSES if R.__name__ not in NO_BASE_RATE])
@both_counts
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_that_are_all_alike_give_the_share_of_each_class(R, n_classes, weighted):
    """Their differences from a mean that was off by its last bit were taken for scores."""
    rng = np.random.default_rng(7)
    y = np.arange(47) % 7 % n_classes
    weights = rng.random(47) if weighted else np.ones(47)
    share = np.bincount(y, weights) / weights.sum()
    for k, scores in enumerate(rng.dirichlet(np.ones(n_classes), 4)):
        X = np.tile(scores, (47, 1))
        if k % 2 and R.__name__ not in SEPARATES:
            X[::3] *= 1 + 4e-16
        recalibrator = make(R, **BASE_RATE_OPTIONS.get(R.__name__, {}))
        proba = recalibrator.fit(X, y, sample_weight=weights).predict_proba(X[:1])
        np.testing.assert_allclose(proba[0], share, rtol=0, atol=1e-6)


@every_class
def test_what_is_added_to_the_logits_of_a_row_tells_nothing(R):
    """The last bits of centred logits were taken for scores."""
    y = np.arange(47) % 7 % 3
    offset = 5 * np.random.default_rng(1).normal(size=(47, 1))
    if R.__name__ in NEEDS_ACCURACY:
        y = np.arange(47) % 7 // 4  # the first class, the largest of equal ones, is right mostly
    even = np.zeros((47, 1 + y.max()))
    expected = make(R, input="logits").fit(even, y).predict_proba(even)
    proba = make(R, input="logits").fit(even + offset, y).predict_proba(even + offset)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-9)


@every_class
@pytest.mark.parametrize("tiny", [1e-300, -5e-324])
def test_logits_of_next_to_nothing(R, tiny):
    """Factors that would make something of them overflowed when they were squared."""
    y = np.arange(40) % 6 == 5
    X = np.full((40, 1), tiny)
    if NEEDS_ACCURACY.get(R.__name__) == 2 and tiny > 0:
        return  # refused as worthless
    check_probabilities(make(R, input="logits").fit(X, y).predict_proba(X))


@every_class
@both_counts
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_finite_log_loss_stays_finite(R, n_classes, dtype):
    """Outputs lie strictly inside (0, 1), by default or, where 0 and 1 are meant, on request."""
    _, y = make_scores(n_classes, 60)
    inside = {"min_proba": 0.01} if "min_proba" in make(R).get_params() else {}
    hard = np.eye(n_classes)[y]
    far = np.eye(n_classes)[[0, 1]]
    for X, new in ((0.9 * hard + 0.1 / n_classes, far), (hard, far[:, ::-1])):
        recalibrator = make(R, **inside).fit(X.astype(dtype), y)
        proba = recalibrator.predict_proba(np.vstack([X, new]).astype(dtype))
        assert proba.dtype == dtype
        assert ((proba > 0) & (proba < 1)).all()
    logits = (1e4 * (hard - 0.5)).astype(dtype)
    proba = make(R, input="logits", **inside).fit(logits, y).predict_proba(logits)
    assert ((proba > 0) & (proba < 1)).all()


@every_class
@pytest.mark.parametrize("mask", [-1e9, -1e30])
def test_classes_masked_by_huge_logits(R, mask):
    """However huge the logits are that rule a class out, the other classes are mapped alike."""
    X, y = make_scores(4, 400)
    ruled_out = (np.arange(400) % 3 == 0) & (y != 3)
    near, far = np.log(X), np.log(X)
    near[ruled_out, 3], far[ruled_out, 3] = -1e4, mask
    np.testing.assert_allclose(
        make(R, input="logits").fit(far, y).predict_proba(far),
        make(R, input="logits").fit(near, y).predict_proba(near),
        **CLOSE,
    )


@pytest.mark.parametrize("name", ["PlattScaling", "ScalingBinning", "VectorScaling", "VennAbers"])
def test_an_offset_of_all_scores_does_not_matter(name):
    """Where neither a penalty nor the definition gives a place to 0."""
    R = getattr(recalibration, name)
    X, y = make_scores(2)
    log_odds = np.log(X[:, 1:] / X[:, :1])
    near = make(R, input="logits").fit(log_odds, y).predict_proba(log_odds)
    for offset, spread in ((1e6, 1), (750, 1e-3)):
        moved = offset + spread * log_odds
        far = make(R, input="logits").fit(moved, y).predict_proba(moved)
        np.testing.assert_allclose(far, near, atol=1e-6)


@pytest.mark.parametrize("name", ["BetaCalibration", "IsotonicRecalibration", "VennAbers"])
def test_large_logits_do_not_saturate(name):
    """Beyond 37 the probabilities of all logits are 1; the maps still tell them apart."""
    z = np.array([[50.0], [60.0], [70.0], [80.0]])
    fitted = make(getattr(recalibration, name), input="logits").fit(z, [0, 0, 1, 1])
    proba = fitted.transform(z).ravel()
    expected = {"IsotonicRecalibration": [0, 0, 1, 1], "VennAbers": [1 / 4, 1 / 3, 2 / 3, 3 / 4]}
    if name in expected:
        np.testing.assert_allclose(proba, expected[name])
    else:
        assert (np.diff(proba) > 0).all()


@pytest.mark.parametrize("name", ["PlattScaling", "BetaCalibration", "SplineRecalibration"])
def test_small_probabilities_of_either_class_are_exact(name):
    """1 - p has no digits left where p is next to 1."""
    s = np.linspace(-4, 4, 41)
    X = np.concatenate([s, s])[:, None]
    weights = 1 / (1 + np.exp(np.concatenate([-s, s])))
    fitted = make(getattr(recalibration, name), input="logits")
    proba = fitted.fit(X, np.repeat([1, 0], 41), weights).predict_proba([[60.0], [-60.0]])
    np.testing.assert_array_equal(proba.argmin(axis=1), [0, 1])
    smallest = np.log(proba.min(axis=1))
    np.testing.assert_allclose(smallest[0], smallest[1], rtol=1e-6)
    assert smallest.min() > -70


# --------------------------------------------------------------------------------- in pipelines


@pytest.fixture(scope="module")
def overconfident():
    """Out-of-fold scores of an over-fitted model, its scores of new rows, and labels of both."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(520, 60))
    y = np.where(rng.random(520) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")
    cross_fit = CrossFitProba(LogisticRegression(C=1e4, max_iter=2000))
    scores = cross_fit.fit_transform(X[:240], y[:240])
    return scores, y[:240], cross_fit.transform(X[240:]), y[240:]


@every_class
def test_it_lowers_the_log_loss_of_new_rows(R, overconfident):
    scores, y, new, y_new = overconfident
    hard = "min_proba" in make(R).get_params()  # its zeros make the log loss infinite
    recalibrator = make(R, min_proba=1 / 242) if hard else make(R)
    proba = recalibrator.fit(scores, y).predict_proba(new)
    assert log_loss(y_new, proba) < log_loss(y_new, new)


def test_any_recalibrator_can_be_swapped_for_any_other():
    """One grid over all recalibrators, in a pipeline, in one estimator and in a stack."""
    X, y = make_scores(2, 200)
    models = {
        "recalibrator": RecalibratedClassifierCV(GaussianNB(), cv=2),
        "final_estimator": StackingClassifier([("nb", GaussianNB())], cv=2),
        "last": Pipeline([("scores", CrossFitProba(GaussianNB(), cv=2)), ("last", None)]),
    }
    for name, model in models.items():
        search = GridSearchCV(
            model, {name: [make(R) for R in CLASSES]}, scoring="neg_brier_score", cv=2
        ).fit(X, y)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


# --------------------------------------------------------------------------------- the entrance


@entrance
def test_columns_named_after_the_classes_in_another_order(R):
    X, y = make_scores(3)
    names, order = TEXT[:3].tolist(), [2, 0, 1]
    turned = [names[k] for k in order]
    y = TEXT[y]
    for make_frame in (pd.DataFrame, pl.DataFrame):
        frame = make_frame(dict(zip(turned, X[:, order].T, strict=True)))
        with pytest.raises(ValueError, match=r"columns of X are named after.* pass classes=\['cat"):
            R().fit(frame, y)
        with pytest.raises(ValueError, match=r"columns of X are named after.* order \['ant', 'cat"):
            R(classes=["ant", "cat", "bee"]).fit(frame, y)
        recalibrator = R(classes=turned).fit(frame, y)
        expected = R().fit(X, y).predict_proba(X)
        np.testing.assert_allclose(recalibrator.predict_proba(frame), expected, **CLOSE)
        with pytest.raises(ValueError, match="feature names"):
            recalibrator.predict_proba(frame[names])


def test_numbered_columns_in_another_order():
    """scikit-learn compares names of columns only where all are text."""
    X, y = make_scores(3)
    frame = pd.DataFrame(X, columns=np.arange(3))
    turned = frame[[2, 1, 0]]
    with pytest.raises(ValueError, match=r"columns of X are named .* pass classes=\[2, 1, 0\]"):
        TemperatureScaling(classes="columns").fit(turned, y)
    for fitted, other, order in (
        (TemperatureScaling().fit(frame, y), turned, r"\[0, 1, 2\]"),
        (TemperatureScaling(classes=[2, 1, 0]).fit(turned, y), frame, r"\[2, 1, 0\]"),
    ):
        with pytest.raises(ValueError, match=rf"columns of X .* {order}. Put them into that"):
            fitted.predict(other)


@every_class
def test_y_may_miss_a_class_that_is_named(R):
    X, y = make_scores(4)
    present = y != 2
    for classes in ([0, 1, 2, 3], "columns"):
        recalibrator = make(R, classes=classes).fit(X[present], y[present])
        np.testing.assert_array_equal(recalibrator.classes_, [0, 1, 2, 3])
        check_probabilities(recalibrator.predict_proba(X))
    with pytest.raises(NotClassScoresError, match="X has 4 columns but there are 3 classes"):
        make(R).fit(X[present], y[present])


@entrance
def test_labels_in_any_form(R):
    """Numbers as objects come from a column of pandas that once held something else."""
    X, y = make_scores(2, 40)
    expected = R().fit(X, y)
    for labels in (y.astype(object), pd.Series(y, dtype=object)):
        found = R().fit(X, labels)
        assert found.classes_.dtype == expected.classes_.dtype
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    for classes in (["ant", "bee"], TEXT[:2].astype(object), pd.Index(["ant", "bee"])):
        found = R(classes=classes).fit(X, pd.Series(TEXT[y], dtype="category"))
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    mixed = ["x" if label else 0 for label in y]
    for labels in (mixed, np.array(mixed, dtype=object)):
        with pytest.raises(ValueError, match=r"y must hold numbers.*all of one type.*got int, str"):
            R().fit(X, labels)


def test_one_dimension_is_refused_with_the_way_to_two():
    X, y = make_scores(2)
    fitted = TemperatureScaling().fit(X, y)
    for column, way in (
        (X[:, 1], r"X\.reshape\(-1, 1\) or X\[:, None\]"),
        (X[:, 1].tolist(), r"numpy\.reshape\(X, \(-1, 1\)\)"),
        (pd.Series(X[:, 1]), r"X\.to_frame\(\)"),
        (pl.Series(X[:, 1]), r"X\.to_frame\(\)"),
    ):
        for call in (lambda X: TemperatureScaling().fit(X, y), fitted.predict_proba):
            with pytest.raises(NotClassScoresError, match=rf"got the shape \(300,\).*{way}"):
                call(column)


@entrance
def test_rounding_of_a_softmax_is_forgiven(R):
    X, y = make_scores(2, 40)
    X = X.astype(np.float32)
    X[0] = [-1e-17, 1 + 1.2e-7]
    check_probabilities(R().fit(X, y).predict_proba(X.astype(np.float64)))


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
