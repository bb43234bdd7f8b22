"""Properties of every recalibrator that is exported."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline

from skcal.recalibration import (
    CrossFitProba,
    NotClassScoresError,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.scorers import get_scorer
from tests.recalibration.family import (
    BASE_RATE_OPTIONS,
    CLASSES,
    NEEDS_ACCURACY,
    NO_BASE_RATE,
    READS_COUNTS,
    SEPARATES,
    make,
    make_scores,
)

every_class = pytest.mark.parametrize("R", CLASSES)
both_counts = pytest.mark.parametrize("n_classes", [2, 4])

CLOSE = {"rtol": 0, "atol": 1e-9}


@every_class
@both_counts
@pytest.mark.parametrize("input", ["proba", "logits"])
def test_output_is_a_probability_vector(R, n_classes, input):
    X, y = make_scores(n_classes)
    if input == "logits":
        X = np.log(X)
    recalibrator = make(R, input=input).fit(X, y)
    proba = recalibrator.predict_proba(X)
    assert proba.shape == X.shape
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, **CLOSE)
    np.testing.assert_array_equal(recalibrator.transform(X), proba)
    np.testing.assert_array_equal(
        recalibrator.predict(X), recalibrator.classes_[proba.argmax(axis=1)]
    )


@every_class
@both_counts
def test_logits_are_logarithms_of_probabilities(R, n_classes):
    X, y = make_scores(n_classes)
    np.testing.assert_allclose(
        make(R, input="logits").fit(np.log(X) + 3, y).predict_proba(np.log(X) - 1),
        make(R).fit(X, y).predict_proba(X),
        **CLOSE,
    )


@every_class
def test_one_column_is_the_score_of_the_second_class(R):
    X, y = make_scores(2)
    both, one = make(R).fit(X, y), make(R).fit(X[:, 1:], y)
    np.testing.assert_allclose(one.predict_proba(X[:, 1:]), both.predict_proba(X), **CLOSE)
    np.testing.assert_allclose(one.transform(X[:, 1:]), both.transform(X)[:, 1:], **CLOSE)
    logits = np.log(X[:, 1:] / X[:, :1])
    np.testing.assert_allclose(
        make(R, input="logits").fit(logits, y).transform(logits), one.transform(X[:, 1:]), **CLOSE
    )


@every_class
@both_counts
def test_names_of_labels_do_not_matter(R, n_classes):
    X, y = make_scores(n_classes)
    expected = make(R).fit(X, y).predict_proba(X)
    for names in (list("abcd"), [-5, 0, 3, 10**6], [2.0, 3.0, 4.0, 5.0]):
        names = np.array(names[:n_classes])
        recalibrator = make(R).fit(X, names[y])
        np.testing.assert_array_equal(recalibrator.classes_, names)
        np.testing.assert_array_equal(recalibrator.predict_proba(X), expected)


@every_class
def test_order_of_columns(R):
    X, y = make_scores(4)
    names = np.array(["ant", "bee", "cat", "dog"])
    expected = make(R).fit(X, names[y]).predict_proba(X)
    order = [2, 0, 3, 1]
    recalibrator = make(R, classes=names[order]).fit(X[:, order], names[y])
    np.testing.assert_array_equal(recalibrator.classes_, names)
    np.testing.assert_allclose(recalibrator.predict_proba(X[:, order]), expected, **CLOSE)
    np.testing.assert_allclose(recalibrator.transform(X[:, order]), expected[:, order], **CLOSE)


@every_class
@pytest.mark.parametrize("make_frame", [pd.DataFrame, pl.DataFrame])
def test_columns_named_after_the_classes_in_another_order(R, make_frame):
    X, y = make_scores(3)
    names, order = ["ant", "bee", "cat"], [2, 0, 1]
    turned = [names[k] for k in order]
    y = np.array(names)[y]
    frame = make_frame(dict(zip(turned, X[:, order].T, strict=True)))
    with pytest.raises(ValueError, match=r"columns of X are named after.* pass classes=\['cat'"):
        make(R).fit(frame, y)
    with pytest.raises(ValueError, match=r"columns of X are named after.* order \['ant', 'cat'"):
        make(R, classes=["ant", "cat", "bee"]).fit(frame, y)
    recalibrator = make(R, classes=turned).fit(frame, y)
    expected = make(R, classes=turned).fit(X[:, order], y).predict_proba(X[:, order])
    np.testing.assert_array_equal(recalibrator.predict_proba(frame), expected)
    with pytest.raises(ValueError, match="feature names"):
        recalibrator.predict_proba(frame[names])


def test_numbered_columns_in_another_order():
    """scikit-learn compares names of columns only where all are text."""
    X, y = make_scores(3)
    frame = pd.DataFrame(X, columns=np.arange(3))
    with pytest.raises(
        ValueError, match=r"columns of X are named after.* pass classes=\[2, 1, 0\]"
    ):
        TemperatureScaling(classes="columns").fit(frame[[2, 1, 0]], y)
    recalibrator = TemperatureScaling().fit(frame, y)
    for method in (recalibrator.predict_proba, recalibrator.transform, recalibrator.predict):
        with pytest.raises(ValueError, match=r"columns of X .* \[0, 1, 2\]. Put them into that"):
            method(frame[[2, 1, 0]])
    other = TemperatureScaling(classes=[2, 1, 0]).fit(frame[[2, 1, 0]], y)
    np.testing.assert_allclose(
        other.predict_proba(frame[[2, 1, 0]]), recalibrator.predict_proba(X), **CLOSE
    )
    with pytest.raises(ValueError, match=r"columns of X are named after the labels"):
        other.predict_proba(frame)


@every_class
@pytest.mark.parametrize("classes", [[0, 1, 2, 3], "columns"])
def test_y_may_miss_a_class_that_is_named(R, classes):
    X, y = make_scores(4)
    present = y != 2
    recalibrator = make(R, classes=classes).fit(X[present], y[present])
    np.testing.assert_array_equal(recalibrator.classes_, [0, 1, 2, 3])
    assert recalibrator.predict_proba(X).shape == (len(X), 4)
    with pytest.raises(NotClassScoresError, match="X has 4 columns but there are 3 classes"):
        make(R).fit(X[present], y[present])


@every_class
@both_counts
def test_weight_is_repetition_and_zero_is_absence(R, n_classes):
    X, y = make_scores(n_classes, 80)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = make(R).fit(X, y, sample_weight=weights)
    repeated = make(R).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), **CLOSE)


@every_class
@both_counts
def test_scale_of_weights_matters_only_to_what_counts_rows(R, n_classes):
    X, y = make_scores(n_classes, 80)
    if R.__name__ in READS_COUNTS:
        np.testing.assert_allclose(
            make(R).fit(X, y, sample_weight=np.full(len(y), 3)).predict_proba(X),
            make(R).fit(np.tile(X, (3, 1)), np.tile(y, 3)).predict_proba(X),
            **CLOSE,
        )
    options = READS_COUNTS.get(R.__name__, {})
    if options is None:
        return
    np.testing.assert_allclose(
        make(R, **options).fit(X, y, sample_weight=np.full(len(y), 0.3)).predict_proba(X),
        make(R, **options).fit(X, y).predict_proba(X),
        **CLOSE,
    )


@every_class
def test_order_of_rows_does_not_matter(R):
    X, y = make_scores(4)
    order = np.random.default_rng(2).permutation(len(y))
    np.testing.assert_allclose(
        make(R).fit(X[order], y[order]).predict_proba(X),
        make(R).fit(X, y).predict_proba(X),
        **CLOSE,
    )


@every_class
def test_containers(R):
    X, y = make_scores(4)
    expected = make(R).fit(X, y).predict_proba(X)
    names = ["p0", "p1", "p2", "p3"]
    frame = pd.DataFrame(X, columns=names)
    recalibrator = make(R).fit(frame, pd.Series(y))
    np.testing.assert_array_equal(recalibrator.predict_proba(frame), expected)
    np.testing.assert_array_equal(recalibrator.get_feature_names_out(), names)
    np.testing.assert_array_equal(
        make(R).fit(X.tolist(), y.tolist()).predict_proba(X.tolist()), expected
    )
    polars = pl.DataFrame(X, schema=names)
    np.testing.assert_array_equal(make(R).fit(polars, y).predict_proba(polars), expected)
    for container in ("pandas", "polars"):
        out = make(R).set_output(transform=container).fit(frame, y).transform(frame)
        assert list(out.columns) == names
        np.testing.assert_array_equal(out.to_numpy(), expected)


@every_class
def test_float32_in_float32_out(R):
    X, y = make_scores(4)
    X = X.astype(np.float32)
    recalibrator = make(R).fit(X, y)
    assert recalibrator.predict_proba(X).dtype == recalibrator.transform(X).dtype == np.float32
    np.testing.assert_allclose(
        recalibrator.transform(X),
        make(R).fit(X.astype(float), y).transform(X.astype(float)),
        atol=1e-6,
    )


@every_class
def test_pickle_clone_and_no_training_rows_inside(R):
    X, y = make_scores(4, 5000)
    recalibrator = make(R, classes=[0, 1, 2, 3]).fit(X, y)
    copy = pickle.loads(pickle.dumps(recalibrator))
    np.testing.assert_array_equal(copy.predict_proba(X), recalibrator.predict_proba(X))
    assert len(pickle.dumps(recalibrator)) < X.nbytes / 2
    assert clone(recalibrator).get_params() == recalibrator.get_params()


@every_class
@both_counts
def test_hard_zeros_and_ones(R, n_classes):
    X, y = make_scores(n_classes, 60)
    X[::2] = np.eye(n_classes)[X[::2].argmax(axis=1)]
    proba = make(R).fit(X, y).predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, **CLOSE)


@every_class
@both_counts
def test_separable_constant_and_worthless_scores(R, n_classes):
    _, y = make_scores(n_classes, 60)
    confident = 0.9 * np.eye(n_classes) + 0.1 / n_classes
    for X in (
        confident[y],
        confident[(y + 1) % n_classes],
        np.full((60, n_classes), 1 / n_classes),
    ):
        accuracy = (X.argmax(axis=1) == y).mean()
        if n_classes >= NEEDS_ACCURACY.get(R.__name__, np.inf) and accuracy <= 1 / n_classes:
            with pytest.raises(ValueError, match="The predicted class cannot be kept"):
                make(R).fit(X, y)
            continue
        proba = make(R).fit(X, y).predict_proba(X)
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, **CLOSE)


@pytest.mark.parametrize("R", [R for R in CLASSES if R.__name__ not in NO_BASE_RATE])
@both_counts
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_that_are_all_alike_give_the_share_of_each_class(R, n_classes, weighted):
    """Their differences from a mean that was off by its last bit were taken for scores."""
    rng = np.random.default_rng(7)
    y = np.arange(47) % 7 % n_classes
    weights = rng.random(47) if weighted else np.ones(47)
    share = np.bincount(y, weights) / weights.sum()
    for k, scores in enumerate(rng.dirichlet(np.ones(n_classes), 12)):
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
        with pytest.raises(ValueError, match="The predicted class cannot be kept"):
            make(R, input="logits").fit(X, y)
        return
    proba = make(R, input="logits").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1, **CLOSE)


@every_class
@both_counts
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_finite_log_loss_stays_finite(R, n_classes, dtype):
    """Outputs lie strictly inside (0, 1), by default or, where 0 and 1 are meant, on request."""
    _, y = make_scores(n_classes, 60)
    inside = {"min_proba": 0.01} if "min_proba" in make(R).get_params() else {}
    hard = np.eye(n_classes)[y]
    far = np.eye(n_classes)[[0, 1]]
    for X, new in (
        (0.9 * hard + 0.1 / n_classes, far),
        (hard, far),
        (hard, far[:, ::-1]),
    ):
        recalibrator = make(R, **inside).fit(X.astype(dtype), y)
        proba = recalibrator.predict_proba(np.vstack([X, new]).astype(dtype))
        assert proba.dtype == dtype
        assert ((proba > 0) & (proba < 1)).all()
    logits = (1e4 * (hard - 0.5)).astype(dtype)
    proba = make(R, input="logits", **inside).fit(logits, y).predict_proba(np.vstack([logits] * 2))
    assert ((proba > 0) & (proba < 1)).all()


@every_class
def test_logits_that_would_overflow_are_refused(R):
    X, y = make_scores(2, 20)
    logits = np.log(X)
    logits[3, 1] = 1e200
    with pytest.raises(
        NotClassScoresError, match=r"logits between -1e\+100 and 1e\+100; got .*1e\+200"
    ):
        make(R, input="logits").fit(logits, y)


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
    (R,) = [R for R in CLASSES if R.__name__ == name]
    X, y = make_scores(2)
    log_odds = np.log(X[:, 1:] / X[:, :1])
    near = make(R, input="logits").fit(log_odds, y).predict_proba(log_odds)
    for offset, spread in ((1e6, 1), (750, 1e-3)):
        moved = offset + spread * log_odds
        far = make(R, input="logits").fit(moved, y).predict_proba(moved)
        np.testing.assert_allclose(far, near, atol=1e-6)


@every_class
def test_a_failed_fit_leaves_a_fitted_recalibrator_as_it_was(R):
    X, y = make_scores(3)
    recalibrator = make(R).fit(X, y)
    before = recalibrator.predict_proba(X)
    for X_bad, y_bad in ((3 * X, y), (X[:, :2] / X[:, :2].sum(axis=1, keepdims=True), y)):
        with pytest.raises(NotClassScoresError):
            recalibrator.fit(X_bad, y_bad)
        np.testing.assert_array_equal(recalibrator.predict_proba(X), before)


@every_class
def test_in_a_pipeline_it_lowers_the_log_loss_without_a_leak(R):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(520, 60))
    y = np.where(rng.random(520) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")
    flexible = LogisticRegression(C=1e4, max_iter=2000)  # over-fits, so it is over-confident
    hard = "min_proba" in make(R).get_params()  # its zeros make the log loss infinite
    recalibrator = make(R, min_proba=1 / 242) if hard else make(R)
    model = make_pipeline(CrossFitProba(flexible), recalibrator)
    model.fit(X[:240], y[:240])
    assert list(model.classes_) == ["no", "yes"]
    assert model.predict_proba(X).shape == (520, 2)
    alone = flexible.fit(X[:240], y[:240])
    assert log_loss(y[240:], model.predict_proba(X[240:])) < log_loss(
        y[240:], alone.predict_proba(X[240:])
    )


@every_class
def test_a_pipeline_in_cross_validation_and_grid_search(R):
    X, y = np.random.default_rng(3).normal(size=(200, 4)), np.tile(["no", "yes"], 100)
    X[:, 0] += y == "yes"
    model = make_pipeline(CrossFitProba(GaussianNB()), make(R))
    scores = cross_val_score(model, X, y, scoring=get_scorer("neg_smooth_ece"), cv=3)
    assert (scores < 0).all()
    options = {"crossfitproba__cv": [2, 3], "crossfitproba__estimator__var_smoothing": [1e-9, 0.1]}
    search = GridSearchCV(model, options, cv=2).fit(X, y)
    assert set(search.best_params_) == set(options)


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
        assert search.predict_proba(X).shape == (200, 2)


BAD = {
    "features": ([[5.1, 3.5], [4.9, 3.0]], [0, 1], "X must hold class probabilities"),
    "row sums": ([[0.5, 0.4], [0.5, 0.5]], [0, 1], "rows in .0, 1. that sum to 1"),
    "negative": (
        [[-0.1, 1.1], [0.5, 0.5]],
        [0, 1],
        "row 0 of 2 columns has values from -0.1 to 1.1",
    ),
    "above one": ([[1.5], [0.5]], [0, 1], "X must hold class probabilities"),
    "too many columns": (np.full((3, 4), 0.25), [0, 1, 0], "4 columns but there are 2 classes"),
    "too few columns": (np.full((3, 2), 0.5), [0, 1, 2], "2 columns but there are 3 classes"),
}


@every_class
@pytest.mark.parametrize("case", BAD)
def test_what_is_no_class_scores_is_refused(R, case):
    X, y, message = BAD[case]
    with pytest.raises(NotClassScoresError, match=message):
        make(R).fit(X, y)


def test_one_dimension_is_refused_with_the_way_to_two():
    X, y = make_scores(2)
    fitted = TemperatureScaling().fit(X, y)
    calls = (lambda X: TemperatureScaling().fit(X, y), fitted.predict_proba, fitted.transform)
    for column, way in (
        (X[:, 1], r"X\.reshape\(-1, 1\) or X\[:, None\]"),
        (X[:, 1].tolist(), r"numpy\.reshape\(X, \(-1, 1\)\)"),
        (pd.Series(X[:, 1]), r"X\.to_frame\(\)"),
        (pl.Series(X[:, 1]), r"X\.to_frame\(\)"),
    ):
        for call in calls:
            with pytest.raises(NotClassScoresError, match=rf"got the shape \(300,\).*{way}"):
                call(column)


@every_class
@pytest.mark.parametrize("as_labels", [list, pd.Series, lambda y: pd.Series(y, dtype="category")])
def test_named_classes_with_string_labels_of_any_container(R, as_labels):
    X, y = make_scores(2, 40)
    text = np.array(["no", "yes"])[y]
    expected = make(R).fit(X, y).predict_proba(X)
    for classes in (["no", "yes"], np.array(["no", "yes"], dtype=object), pd.Index(["no", "yes"])):
        recalibrator = make(R, classes=classes).fit(X, as_labels(text))
        np.testing.assert_array_equal(recalibrator.predict_proba(X), expected)


@every_class
def test_rounding_of_a_softmax_is_forgiven(R):
    X, y = make_scores(2, 40)
    X = X.astype(np.float32)
    X[0] = [-1e-17, 1 + 1.2e-7]
    assert np.isfinite(make(R).fit(X, y).predict_proba(X)).all()


@every_class
def test_other_bad_input(R):
    X, y = make_scores(2, 10)
    for X_bad in (np.where(np.eye(10, 2) == 1, np.nan, X), np.where(np.eye(10, 2) == 1, np.inf, X)):
        with pytest.raises(NotClassScoresError, match=r"X must be finite.* row 0 has (nan|inf)"):
            make(R).fit(X_bad, y)
        with pytest.raises(NotClassScoresError, match=r"X must be finite.* row 0 has (nan|inf)"):
            make(R).fit(X, y).transform(X_bad)
    with pytest.raises(ValueError, match=r"only one class.*classes="):
        make(R).fit(X, np.zeros(10))
    with pytest.raises(ValueError, match="input must be one of 'proba', 'logits'; got 'logit'"):
        make(R, input="logit").fit(X, y)
    with pytest.raises(ValueError, match="classes must be one of 'columns'; got 'column'"):
        make(R, classes="column").fit(X, y)
    with pytest.raises(ValueError, match="distinct labels"):
        make(R, classes=[1, 1]).fit(X, y)
    with pytest.raises(ValueError, match="labels that are not among the 2 classes"):
        make(R, classes=["a", "b"]).fit(X, y)
    with pytest.raises(ValueError, match="labels that are not among the 2 classes"):
        make(R, classes="columns").fit(X, y + 1)
    with pytest.raises(ValueError, match="sample_weight must hold at least one positive"):
        make(R).fit(X, y, sample_weight=np.zeros(10))
    with pytest.raises(ValueError, match="sample_weight must be finite and not negative"):
        make(R).fit(X, y, sample_weight=-np.ones(10))
    with pytest.raises(ValueError, match="features"):
        make(R).fit(X, y).transform(np.full((3, 3), 1 / 3))
    with pytest.raises(NotClassScoresError):
        make(R).fit(X, y).transform(3 * X)


@every_class
def test_labels_of_several_types_are_refused(R):
    """A list became text, and an array of objects ended in a comparison of text and numbers."""
    X, y = make_scores(2, 40)
    mixed = ["x" if label else 0 for label in y]
    for labels in (mixed, np.array(mixed, dtype=object), pd.Series(mixed)):
        with pytest.raises(ValueError, match=r"y must hold numbers.*all of one type.*got int, str"):
            make(R).fit(X, labels)


@every_class
def test_numbers_as_objects_are_numbers(R):
    """As they come from a column of pandas that once held something else."""
    X, y = make_scores(2, 40)
    expected = make(R).fit(X, y)
    for labels in (y.astype(object), pd.Series(y, dtype=object), y.tolist()):
        found = make(R).fit(X, labels)
        assert found.classes_.dtype == expected.classes_.dtype
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
