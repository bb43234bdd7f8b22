"""Hostile rows for recalibrators, for what works with a classifier, and for scores of searches."""

import json
import pickle

import numpy as np
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skcal.diagrams import StabilityDisplay
from skcal.metrics import MEASURES, smooth_ece
from skcal.model_selection import (
    AbstainingClassifierCV,
    calibrated_within_one_se,
    internal_validation,
    pooled_cross_val_score,
    refinement_metric,
    stop_by_refinement,
)
from skcal.recalibration import (
    BaseRecalibrator,
    CrossFitProba,
    HistogramBinning,
    IsotonicRecalibration,
    MulticalibratedClassifierCV,
    OnlineRecalibratedClassifier,
    OnlineRecalibration,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.scorers import get_scorer, make_calibration_scorer
from tests.fuzz import strategies as some
from tests.fuzz.classifiers import Counts, Echo, Scores
from tests.fuzz.hostile import few, hostile, hostile_calls
from tests.fuzz.options import find_values, options
from tests.fuzz.strategies import (
    LABEL_SETS,
    NO_PROBABILITIES,
    PROBABILITIES,
    mostly,
    rarely,
    walk,
)
from tests.recalibration.family import CLASSES, make, make_scores

REALS = [0.0, 1e-300, -5e-324, 1.0, -30.0, 800.0, -1e6, 1e300, -1e308]
LOGITS = st.sampled_from(REALS) | st.floats(-20, 20)


@st.composite
def scored(draw, R):
    """A matrix of scores, labels, weights and what they are, and options of a recalibrator."""
    problem = draw(some.problems())
    X, kind = problem["y_proba"], draw(st.sampled_from(["proba", "proba", "logits"]))
    if kind == "logits":
        entries = LOGITS | NO_PROBABILITIES if draw(rarely()) else LOGITS
        X = np.resize(draw(some.arrays(entries, 8)), np.shape(X))
    classes = draw(st.sampled_from([None, None, "columns", problem["labels"]]))
    rows = {"X": X, "y": problem["y_true"], "sample_weight": problem["sample_weight"]}
    settings = draw(options(R, skip=["random_state"]))
    return rows | {"R": R, "input": kind, "classes": classes} | settings


def fit_recalibrator(R, X, y, sample_weight, **settings):
    model = make(R, **settings).fit(X, y, sample_weight=sample_weight)
    state = pickle.dumps(model)
    proba = predict(model, X)
    assert pickle.dumps(model) == state, "predicting changed the estimator"
    again = BaseRecalibrator.from_dict(json.loads(json.dumps(model.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(predict(again, X), proba, strict=True)
    interval = model.predict_interval(X) if hasattr(model, "predict_interval") else ()
    return proba, model.transform(X).astype(float), interval


def predict(model, X):
    """Probabilities, checked."""
    proba = model.predict_proba(X)
    assert ((proba >= 0) & (proba <= 1)).all()
    np.testing.assert_allclose(proba.sum(axis=1, dtype=float), 1, atol=2e-3)
    assert set(model.predict(X)) <= set(model.classes_)
    return proba.astype(float)


EVERY = [*CLASSES, OnlineRecalibration]
test_hostile_rows = hostile_calls({R.__name__: (fit_recalibrator, scored(R)) for R in EVERY})

VALUES = [None, -1, 0, 1, 0.5, 1e300, 10**400, "x", "nan", [], {}, [0], [[1]], {"x": 1}, True]
DELETED, UNDAMAGED = "deleted", "as it was"


@st.composite
def damaged(draw):
    """What `to_dict` gave, of which a value is replaced or taken out."""
    R = draw(st.sampled_from(EVERY))
    X, y = make_scores(draw(st.sampled_from([2, 3])))
    data = json.loads(json.dumps(make(R).fit(X, y).to_dict()))
    places = list(walk(data))
    part, key = places[draw(st.integers(0, 60)) % len(places)]
    value = draw(mostly([*VALUES, DELETED], [UNDAMAGED]))
    if value == DELETED:
        del part[key]
    elif value != UNDAMAGED:
        part[key] = value
    return {"data": data}


@hostile(damaged())
def test_damaged_dicts(data):
    """They are refused, or what they give is as good as what a fit gives."""
    model = BaseRecalibrator.from_dict(data)
    data = json.loads(json.dumps(model.to_dict(), allow_nan=False))
    assert BaseRecalibrator.from_dict(data).to_dict() == data
    certain = np.eye(len(model.classes_))[:, -model.n_features_in_ :]
    return predict(model, certain if model.input == "proba" else 9 * certain)


# --------------------------------------------------------------------------- around a classifier

CLASSIFIERS = {"scores": Scores, "echo": Echo, "counts": Counts, "text": lambda: "x"}
RECALIBRATORS = {
    "default": lambda: None,
    "isotonic": lambda: IsotonicRecalibration(min_proba=0.01),
    "bins": lambda: HistogramBinning(n_bins=2),
    "logits": lambda: TemperatureScaling(input="logits"),
    "columns": lambda: TemperatureScaling(classes="columns"),
    "other": lambda: TemperatureScaling(classes=["yes", "no"]),
    "class": lambda: TemperatureScaling,
    "text": lambda: "x",
}


@st.composite
def classified(draw, lengths, label_sets=LABEL_SETS):
    """A classifier's labels, and rows that it might score."""
    labels, n_rows = draw(st.sampled_from(label_sets)), draw(lengths)
    others = draw(st.sampled_from(LABEL_SETS)) if draw(rarely()) else labels
    return {
        "labels": draw(st.permutations(labels)) if draw(rarely()) else labels,
        "X": draw(some.probabilities(len(labels), n_rows)),
        "y": draw(some.outcomes(others, n_rows)),
        "sample_weight": draw(some.weights(n_rows)),
    }


def choose_weights(classifier, sample_weight):
    """The other one takes none, and is warned of."""
    is_weighted = classifier == "scores" and sample_weight is not None
    return {"sample_weight": sample_weight} if is_weighted else {}


FITS = {"classifier": mostly(["scores", "scores", "echo"], ["text"]), "cv": some.CV}
SIZES = st.sampled_from([12, 20, 6, 5, 2, 1, 0])
USUAL = ["default", "isotonic", "bins", "columns"]


@hostile(
    classified(SIZES),
    options(RecalibratedClassifierCV, skip=["estimator"]),
    recalibrator=mostly(USUAL, [name for name in RECALIBRATORS if name not in USUAL]),
    frozen=st.booleans(),
    **FITS,
)
def test_recalibrated_classifiers(
    labels, X, y, sample_weight, classifier, recalibrator, frozen, **settings
):
    estimator, recalibrator = CLASSIFIERS[classifier](), RECALIBRATORS[recalibrator]()
    if frozen and classifier != "text":
        estimator = FrozenEstimator(estimator.fit(X, y))
    model = RecalibratedClassifierCV(estimator, recalibrator=recalibrator, **settings)
    model.fit(X, y, **choose_weights(classifier, sample_weight))
    return predict(model, X)


@hostile(
    classified(SIZES),
    options(MulticalibratedClassifierCV, skip=["estimator"]),
    frozen=st.booleans(),
    **FITS,
)
def test_multicalibrated_classifiers(labels, X, y, sample_weight, classifier, frozen, **settings):
    estimator = CLASSIFIERS[classifier]()
    if frozen and classifier != "text":
        estimator = FrozenEstimator(estimator.fit(X, y))
    model = MulticalibratedClassifierCV(estimator, **settings)
    model.fit(X, y, **choose_weights(classifier, sample_weight))
    return predict(model, X)


@hostile(
    classified(SIZES),
    options(AbstainingClassifierCV, skip=["estimator", "random_state"]),
    frozen=st.booleans(),
    in_clusters=st.booleans(),
    classifier=FITS["classifier"],
    random_state=mostly([0], [-1, "x"]),
    cv=mostly([0.3, 0.5, some.HALVES[:1]], [0.0, 1.5, 2, "x", some.HALVES]),
)
def test_classifiers_that_abstain(
    labels, X, y, sample_weight, classifier, frozen, in_clusters, **settings
):
    estimator = CLASSIFIERS[classifier]()
    if frozen and classifier != "text":
        estimator = FrozenEstimator(estimator.fit(X, y))
    model = AbstainingClassifierCV(estimator, **settings)
    member = np.arange(len(y)) // 2 if in_clusters else None
    model.fit(X, y, clusters=member, **choose_weights(classifier, sample_weight))
    model.predict(X)
    return model.predict_proba(X), model.accepts(X).astype(float)


@hostile(
    classified(SIZES),
    options(OnlineRecalibratedClassifier, skip=["estimator", "recalibrator"]),
    options(OnlineRecalibration, skip=["classes"]),
    classifier=mostly(["scores", "echo", "counts"], ["text"]),
)
def test_repair_while_it_runs(labels, X, y, sample_weight, classifier, chunk_size, **settings):
    estimator = CLASSIFIERS[classifier]()
    if classifier in ("scores", "echo"):
        estimator = FrozenEstimator(estimator.fit(X, y))
    given = {"recalibrator": OnlineRecalibration(**settings), "chunk_size": chunk_size}
    model = OnlineRecalibratedClassifier(estimator, **given)
    model.fit(X, y, sample_weight=sample_weight)
    half = slice(0, len(y) // 2 + 1)
    model.partial_fit(X[half], y[half])
    return predict(model, X)


@hostile(classified(SIZES), options(CrossFitProba, skip=["estimator"]), **FITS)
def test_out_of_fold_scores(labels, X, y, sample_weight, classifier, **settings):
    model = CrossFitProba(CLASSIFIERS[classifier](), **settings)
    weighted = choose_weights(classifier, sample_weight)
    scores = model.fit_transform(X, y, **weighted)
    fitted = clone(model).fit(X, y, **weighted)
    assert len(model.get_feature_names_out()) == scores.shape[1]
    transformed = model.transform(X)
    np.testing.assert_array_equal(fitted.transform(X), transformed)
    return scores.astype(float), transformed.astype(float)


# ------------------------------------------------------------------------- scorers and searches

ROWS = classified(st.integers(0, 6) | st.just(20), [*LABEL_SETS, [0], ["a"]])
SETTINGS = mostly(
    [{}, {"reduction": "confidence"}, {"reduction": "classwise"}],
    [{"pos_label": 1}, {"pos_label": "yes"}, {"n_bins": 3}, {"n_bins": 0}, {"no_option": 1}],
)
SCORES = PROBABILITIES | NO_PROBABILITIES | st.sampled_from(some.SPECIAL_REALS)


@hostile(ROWS, name=find_values(get_scorer, "name") | st.none(), settings=SETTINGS)
def test_scorers(labels, X, y, sample_weight, name, settings):
    """By name or, without one, of a function."""
    if name is None:
        scorer = make_calibration_scorer(smooth_ece, greater_is_better=True, **settings)
    else:
        scorer = get_scorer(name, **settings)
    return scorer(Echo(labels).fit(None, None), X, y, sample_weight=sample_weight)


@hostile(
    ROWS,
    measure=st.sampled_from([*MEASURES, smooth_ece, "ece"]),
    cv=some.CV,
    named=st.booleans(),
    weighted=st.booleans(),
    settings=SETTINGS,
)
def test_cross_validation(labels, sample_weight, measure, named, weighted, settings, **arguments):
    if isinstance(measure, str) and weighted:
        arguments["sample_weight"] = sample_weight
    model = Echo(labels if named else None)
    return pooled_cross_val_score(model, measure=measure, **arguments, **settings)


@hostile(
    classified(st.integers(0, 6) | st.just(20)),
    settings=options(internal_validation, skip=["thresholds"], n_resamples=4, random_state=0),
    weighted=st.booleans(),
    amount=few,
)
def test_internal_validation(labels, sample_weight, weighted, settings, X, y):
    weights = {"sample_weight": sample_weight} if weighted else {}
    found = internal_validation(Scores(labels), X, y, **weights, **settings)
    if found.stability is not None:
        display = StabilityDisplay.from_internal_validation(found)
        np.testing.assert_array_equal(display.places, found.stability.predictions)
    assert len(str(found)) > 20
    one = found.measures["brier_score"]
    return one.apparent, one.corrected, found.curve.prob_pred


@st.composite
def results(draw):
    """What a search hands to a rule, some of it incomplete."""
    n_candidates, n_splits = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    entries = draw(mostly([PROBABILITIES], [SCORES]))
    columns = [f"split{k}_test_{name}" for k in range(n_splits) for name in ("loss", "error")]
    columns += [f"mean_test_{name}" for name in ("loss", "error") if not draw(rarely())]
    return {column: draw(some.arrays(entries, n_candidates)) for column in columns}


@hostile(
    score=mostly(["loss"], ["los", 1]),
    calibration=st.sampled_from(["error", "loss"]),
    cv_results=results(),
)
def test_results_of_a_search(score, calibration, cv_results):
    return calibrated_within_one_se(score, calibration)(cv_results)


# ------------------------------------------------------------------------- where a training stops

FOLDS = mostly([None, 2, 5], [1, "x", 2.5])


@hostile(some.problems(), options(stop_by_refinement), cv=FOLDS, n_stages=mostly([1, 2], [0, 3]))
def test_stages(y_true, y_proba, reduction, n_stages, **arguments):
    return stop_by_refinement([y_proba] * n_stages, y_true, **arguments)


@hostile(some.problems(), options(refinement_metric), cv=FOLDS)
def test_metrics_of_boosting(
    y_true, y_proba, sample_weight, pos_label, labels, reduction, library, **settings
):
    metric = refinement_metric(library, **settings)
    return metric(y_true, y_proba, sample_weight)
