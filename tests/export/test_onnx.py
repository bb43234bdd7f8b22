"""Graphs of ONNX answer as Python does."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skcal.export import to_onnx
from skcal.recalibration import (
    AutoRecalibration,
    BaseRecalibrator,
    CrossFitProba,
    HistogramBinning,
    IsotonicRecalibration,
    OnlineRecalibration,
    PlattScaling,
    RandomizedSmoothing,
    RecalibratedClassifierCV,
    ScalingBinning,
    SplineRecalibration,
    TemperatureScaling,
    VennAbers,
)
from skcal.shift import PriorShift
from tests.recalibration.family import (
    CLASSES,
    NAMES,
    ONE_VS_REST,
    both_counts,
    make,
    make_features,
    make_scores,
    may_harm,
)

reason = "the test needs onnx, onnxruntime and skl2onnx"
onnx = pytest.importorskip("onnx", reason=reason)
onnxruntime = pytest.importorskip("onnxruntime", reason=reason)
pytest.importorskip("skl2onnx", reason=reason)


def run(graph, X):
    """Labels and probabilities, of a graph that is valid by itself."""
    onnx.checker.check_model(graph, full_check=True)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    assert [one.name for one in session.get_outputs()] == ["label", "probabilities"]
    if isinstance(X, pd.DataFrame):
        return session.run(None, {name: X[[name]].to_numpy() for name in X})
    return session.run(None, {"X": X})


def assert_alike(model, X, *, rows=None, atol=1e-6):
    """A graph that was made with some rows answers all as the model does."""
    label, proba = run(to_onnx(model, X if rows is None else X[rows], atol=atol), X)
    expected = model.predict_proba(X)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=atol)
    largest = np.sort(expected, axis=1)[:, -2:]
    told = largest[:, 1] - largest[:, 0] > 2 * atol
    np.testing.assert_array_equal(label[told], model.predict(X)[told])
    return proba


def make_columns(n_classes, kind, dtype=np.float64):
    """Scores with many ties and their labels; and new ones between, beyond, and hard ones."""
    proba, y = make_scores(n_classes)
    new, _ = make_scores(n_classes, seed=1)
    certain = np.eye(n_classes)
    if kind == "proba":
        proba = np.round(64 * proba) / 64
        proba[:, -1] = 1 - proba[:, :-1].sum(axis=1)
        proba = np.clip(proba, 0, 1)
        proba /= proba.sum(axis=1, keepdims=True)
    else:
        proba, new, certain = np.log(proba).round(1), np.log(new), 1e3 * certain - 500
    X = proba.astype(dtype)
    return X, NAMES[y], np.concatenate([X, new, certain]).astype(dtype)


@pytest.mark.parametrize("R", [R for R in CLASSES if R is not RandomizedSmoothing])
def test_classes_without_rows(R):
    """Their probabilities stay, with one of four classes missing and with all but one."""
    for kind in ("proba", "logits"):
        X, y, X_new = make_columns(4, kind)
        for few in (y != NAMES[2], y == NAMES[1]):
            fitted = make(R, input=kind, classes=NAMES)
            with pytest.warns(UserWarning, match="No row is of|one class"):
                fitted.fit(X[few], y[few])
            assert_alike(fitted, X_new, rows=slice(0, 9), atol=1e-12)


def list_options(R):
    if R is PlattScaling:
        return [{}, {"scale": "probability"}]
    if R is not HistogramBinning:
        return [{}]
    return [{"strategy": "quantile"}, {"multiclass": "top-label"}, {"n_bins": 1}]


@both_counts
@pytest.mark.parametrize("R", [R for R in CLASSES if R is not RandomizedSmoothing])
def test_every_recalibrator(R, n_classes):
    for kind in ("proba", "logits"):
        for options in list_options(R):
            X, y, X_new = make_columns(n_classes, kind)
            fitted = make(R, input=kind, **options).fit(X, y)
            proba = assert_alike(fitted, X_new, rows=slice(0, 9), atol=1e-12)
            np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-12)
            assert proba.dtype == np.float64
            single = X_new.astype(np.float32)
            expected = fitted.predict_proba(single)
            found = run(to_onnx(fitted, single), single)[1]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6, strict=True)
            if not fitted._gives_hard_probabilities:
                assert ((found > 0) & (found < 1)).all()


@both_counts
@pytest.mark.parametrize("kind", ["proba", "logits"])
def test_the_map_of_now(n_classes, kind):
    """Of what learns online, also of hard zeros."""
    X, y, X_new = make_columns(n_classes, kind)
    classes = np.unique(y)
    fitted = OnlineRecalibration(input=kind, classes=classes).partial_fit(X, y)
    if kind == "proba":
        certain = np.eye(n_classes)[[0, 0, 1]]
        fitted.partial_fit(certain, classes[[1, 1, 1]])
        X_new = np.concatenate([X_new, [[0.5, 0.5, *[0] * (n_classes - 2)]]])
    for one in (fitted, fitted.freeze()):
        assert_alike(one, X_new, rows=slice(0, 9), atol=1e-12)
    if n_classes == 2:
        column = X[:, 1:] if kind == "proba" else X[:, 1:] - X[:, :1]
        one = OnlineRecalibration(input=kind).fit(column, y)
        assert_alike(one, column, rows=slice(0, 9), atol=1e-12)


@pytest.mark.parametrize("R", [PlattScaling, IsotonicRecalibration, VennAbers])
def test_one_column_and_classes_in_another_order(R):
    for kind in ("proba", "logits"):
        X, y, X_new = make_columns(2, kind)
        if kind == "logits":
            X, X_new = X[:, 1:] - X[:, :1], X_new[:, 1:] - X_new[:, :1]
        else:
            X, X_new = X[:, 1:], X_new[:, 1:]
        fitted = R(input=kind, classes=["bee", "ant"]).fit(X, y)
        assert_alike(fitted, X_new, atol=1e-12)
    X, y, X_new = make_columns(4, "proba")
    assert_alike(R(classes=NAMES[[2, 0, 3, 1]]).fit(X, y), X_new, atol=1e-12)


@pytest.mark.parametrize("classes", [[3, 8], [False, True], [0.0, 1.0], ["no", "é"]])
def test_labels_keep_their_kind(classes):
    X, y, _ = make_columns(2, "proba")
    labels = np.array(classes)[(y == "bee").astype(int)]
    label, _ = run(to_onnx(TemperatureScaling().fit(X, labels), X), X)
    expected = {"f": np.float64, "U": object}.get(labels.dtype.kind, np.int64)
    assert label.dtype == expected
    assert set(label) == set(classes)


@pytest.mark.parametrize("kind", ["proba", "logits"])
def test_prior_shift(kind):
    X, y, X_new = make_columns(4, kind)
    for prior in (None, {"ant": 0.1, "bee": 0.6, "cat": 0.2, "dog": 0.1}):
        assert_alike(PriorShift(prior, input=kind).fit(X, y), X_new, atol=1e-12)
    rare = {"ant": 0.5, "bee": 0.5, "cat": 0.0, "dog": 0.0}  # where only "cat" is possible it stays
    classes = {"classes": NAMES, "prior_train": dict.fromkeys(NAMES.tolist(), 0.25)}
    kept = np.isin(y, ["ant", "bee"])
    fitted = PriorShift(rare, input=kind, **classes).fit(X[kept], y[kept])
    assert_alike(fitted, X_new, atol=1e-12)


def test_maps_that_say_little():
    """A single knot, and a class that was never predicted."""
    X, y = np.full((20, 1), 0.5), np.arange(20) % 2
    assert_alike(IsotonicRecalibration().fit(X, y), np.linspace(0, 1, 9)[:, None], atol=1e-12)
    binned = HistogramBinning(multiclass="top-label").fit([[0.9], [0.6]] * 10, y)
    assert binned.maps_[0] is None
    assert_alike(binned, np.linspace(0, 1, 9)[:, None], atol=1e-12)


def test_logits_beyond_the_depth():
    """Masked classes, and logits beside which the depth is lost."""
    X, y, _ = make_columns(4, "logits")
    X_new = np.array([[0, 1, -1e9, 2], [1e90, 0, 0, 1], [1e90, 1e90, 0, 0]])
    for R in (TemperatureScaling, PlattScaling, VennAbers):
        assert_alike(R(input="logits").fit(X, y), X_new, atol=1e-12)


def test_small_numbers_before_rows_are_divided_by_their_sums():
    X, y, X_new = make_columns(4, "proba")
    fitted = PlattScaling().fit(X, y)
    fitted.maps_ = [one._replace(intercept=-300.0) for one in fitted.maps_]
    assert_alike(fitted, X_new, atol=1e-12)


@pytest.mark.parametrize("R", ONE_VS_REST)
def test_intercepts_of_rows_that_are_divided_by_their_sums(R):
    X, y, X_new = make_columns(4, "proba")
    fitted = R().fit(X, y)
    fitted.intercepts_ = np.array([1.0, -2.0, 0.5, 0.5])
    assert_alike(fitted, X_new, atol=1e-12)


def test_mixture_of_steps():
    X, y, X_new = make_columns(2, "proba")
    members = ["scaling_binning", "venn_abers", "kernel", IsotonicRecalibration(min_proba=0.05)]
    mixture = AutoRecalibration(members, prior_rows=1e-6).fit(X, y)
    assert all(one is not None for one in mixture.recalibrators_)
    assert_alike(mixture, X_new, atol=1e-12)


@may_harm
@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(),
        GaussianNB(),
        RandomForestClassifier(5, random_state=0),
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)),
    ],
)
def test_recalibrated_classifier(classifier, ensemble):
    for n_classes in (2, 3):
        X, y = make_features(n_classes, 300)
        model = RecalibratedClassifierCV(classifier, SplineRecalibration(), cv=3, ensemble=ensemble)
        assert assert_alike(model.fit(X, NAMES[y]), X).dtype == np.float64


@may_harm
@pytest.mark.parametrize("average", ["auto", "probabilities", "log_odds"])
def test_averages_of_classifiers(average):
    """Also where all of them hold a class for impossible."""
    X, y = make_features(3, 300)
    X[y == 0, 0] += 100
    tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
    recalibrator = IsotonicRecalibration(min_proba=0)
    model = RecalibratedClassifierCV(tree, recalibrator, cv=3, average=average).fit(X, y)
    assert (0 < model.average_.share < 1) == (average == "auto")
    assert (model.predict_proba(X) == 0).any()
    assert_alike(model, X)


@may_harm
def test_single_precision():
    X, y = make_features(3, 300)
    X = X.astype(np.float32)
    for classifier in (LogisticRegression(), RandomForestClassifier(5, random_state=0)):
        model = RecalibratedClassifierCV(classifier, "temperature", cv=3).fit(X, y)
        assert assert_alike(model, X).dtype == np.float32


@may_harm
@pytest.mark.parametrize(
    "recalibrator", [HistogramBinning(n_bins=10), VennAbers(), ScalingBinning()]
)
def test_votes_on_the_edges_of_bins(recalibrator):
    """Single precision knows no tenths, which are the scores of ten trees and ends of bins."""
    X, y = make_features(2, 300)
    forest = RandomForestClassifier(10, random_state=0)
    model = RecalibratedClassifierCV(forest, recalibrator, cv=3).fit(X, y)
    assert_alike(model, X)


@may_harm
def test_models_around():
    X, y = make_features(3, 300)
    scaler, bayes = StandardScaler(), GaussianNB()
    repaired = RecalibratedClassifierCV(bayes, "platt", cv=3)
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    models = [
        make_pipeline(scaler, repaired),
        make_pipeline(scaler, CrossFitProba(bayes), TemperatureScaling(), PriorShift()),
        RecalibratedClassifierCV(frozen, "beta", cv=3, ensemble=True),
        RecalibratedClassifierCV(repaired, "temperature", cv=3),
        RecalibratedClassifierCV(bayes, make_pipeline(PlattScaling(), VennAbers()), cv=3),
        GridSearchCV(repaired, {"recalibrator": ["platt", "isotonic"]}, cv=2),
    ]
    for model in models:
        assert_alike(model.fit(X, y), X)


@may_harm
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_functions(n_classes):
    X, y = make_features(n_classes, 300)
    svc = RecalibratedClassifierCV(LinearSVC(), PlattScaling(input="logits"), cv=3)
    cross_fit = CrossFitProba(LogisticRegression(), method="decision_function")
    for model in (svc, make_pipeline(cross_fit, TemperatureScaling(input="logits"))):
        assert_alike(model.fit(X, y), X)


@pytest.mark.filterwarnings("ignore:.*raining fold")
@may_harm
def test_class_that_a_fold_has_not_seen():
    X, y = make_features(3, 300)
    rows = np.arange(300)
    first, second = rows[:150], rows[150:]
    splits = [(first[y[first] > 0], second), (second, first)]
    model = RecalibratedClassifierCV(GaussianNB(), "temperature", cv=splits).fit(X, y)
    assert len(model.calibrated_classifiers_[0].estimator.classes_) == 2
    assert_alike(model, X)


@may_harm
def test_tables():
    X, y = make_features(2, 300)
    table = pd.DataFrame(X, columns=list("abcd"))
    numbers = RecalibratedClassifierCV(GaussianNB(), "platt", cv=3).fit(table, y)
    _, proba = run(to_onnx(numbers, table), X)
    np.testing.assert_allclose(proba, numbers.predict_proba(table), rtol=0, atol=1e-12)
    table["town"] = np.array(["x", "y", "z"])[np.arange(300) % 3]
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["town"]), (StandardScaler(), list("abcd"))
    )
    tree = DecisionTreeClassifier(max_depth=3)
    inside = RecalibratedClassifierCV(make_pipeline(columns, tree), "platt", cv=2)
    before = make_pipeline(columns, RecalibratedClassifierCV(LogisticRegression(), "platt", cv=2))
    after = make_pipeline(CrossFitProba(make_pipeline(columns, GaussianNB())), PlattScaling())
    for model in (inside, before, after):
        assert_alike(model.fit(table, y), table)


def test_columns_of_text():
    X = np.column_stack([np.tile(list("abcab"), 60), np.tile(["d", "", "e"], 100)]).astype(object)
    y = np.arange(300) % 2
    fill = SimpleImputer(missing_values="", strategy="most_frequent")
    classifier = CrossFitProba(LogisticRegression())
    model = make_pipeline(fill, OneHotEncoder(), classifier, PlattScaling())
    assert_alike(model.fit(X, y), X)


class Shrink(BaseRecalibrator):
    """A recalibrator of someone's own."""

    def _fit(self, scores, codes, sample_weight):
        pass

    def _recalibrate(self, scores):
        return (scores + 0.5) / 2


def test_what_cannot_be_exported():
    X, y = make_features(2, 300)
    bayes = GaussianNB().fit(X, y)
    scores = bayes.predict_proba(X)
    platt = PlattScaling().fit(scores, y)
    for model, message in [
        (RandomizedSmoothing().fit(scores, y), "RandomizedSmoothing draws .* KernelRecalibration"),
        (Shrink().fit(scores, y), "must be one of skcal.recalibration .* got Shrink"),
        (make_pipeline(FunctionTransformer(), platt), "CrossFitProba or another"),
    ]:
        with pytest.raises(ValueError, match=message):
            to_onnx(model, scores)
    with pytest.raises(ValueError, match=r"must be a recalibrator .* GaussianNB at its end"):
        to_onnx(bayes, X)
    with pytest.raises(ValueError, match="X must be dense"):
        to_onnx(platt, csr_array(scores))
    with pytest.raises(NotFittedError):
        to_onnx(PlattScaling(), scores)
    with pytest.raises(ValueError, match="target_opset must be at least 18; got 17"):
        to_onnx(platt, scores, target_opset=17)
    table = pd.DataFrame({"label": X[:, 0], "town": np.array(["x", "y"])[y]})
    columns = make_column_transformer((OneHotEncoder(sparse_output=False), ["town"]))
    model = make_pipeline(columns, CrossFitProba(GaussianNB()), PlattScaling()).fit(table, y)
    with pytest.raises(ValueError, match=r"X must not have columns .* got 'label'"):
        to_onnx(model, table)


@may_harm
def test_graphs_that_answer_otherwise(monkeypatch):
    """Those of classifiers are checked, too, and what single precision costs is told."""
    X, y = make_features(2, 300)
    forest = RandomForestClassifier(10, random_state=0)
    model = RecalibratedClassifierCV(forest, "platt", cv=3).fit(X, y)
    with pytest.raises(ValueError, match=r"RandomForestClassifier by skl2onnx is .* away"):
        to_onnx(model, X, atol=0)
    assert len(run(to_onnx(model, X, atol=np.inf), X)[1]) == 300
    steep = RecalibratedClassifierCV(forest, PlattScaling(), cv=3).fit(X, y)
    centre = 1e4 * np.log(0.6 / 0.4)  # single precision does not know 0.6
    for pair in steep.calibrated_classifiers_:
        (one,) = pair.recalibrator.maps_
        pair.recalibrator.maps_ = [one._replace(slope=1e4, intercept=-centre)]
    with pytest.raises(ValueError, match=r"RecalibratedClassifierCV is .* single precision"):
        to_onnx(steep, X)
    single = RecalibratedClassifierCV(GaussianNB(), "platt", cv=3).fit(X.astype(np.float32), y)
    with pytest.raises(ValueError, match=r"GaussianNB .* single precision; a larger atol"):
        to_onnx(single, X.astype(np.float32), atol=1e-9)
    monkeypatch.setattr("skl2onnx.to_onnx", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(ValueError, match="by skl2onnx failed: division by zero"):
        to_onnx(model, X)


def test_missing_packages(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match="pip install skl2onnx onnxruntime"):
        to_onnx(PlattScaling(), [[0.5, 0.5]])
