"""to_dict and from_dict: what comes back is the same, and its formula is all that there is."""

import bisect
import functools
import inspect
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from skcal import recalibration, regression
from skcal.recalibration import (
    BaseRecalibrator,
    HistogramBinning,
    PlattScaling,
    RandomizedSmoothing,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.streaming import CalibrationSummary
from skcal.survival import RiskRecalibration
from tests.damage import MISSING, change
from tests.public_objects import list_functions_and_classes
from tests.recalibration.family import (
    CLASSES,
    LOGIT_CLASSES,
    NAMES,
    both_counts,
    every_class,
    every_class_and_count,
    make,
    make_features,
    make_scores,
    may_harm,
)

TINY = np.finfo(float).eps


def through_json(recalibrator):
    return json.loads(json.dumps(recalibrator.to_dict(), allow_nan=False))


def check_same(fitted, X):
    """What comes back from JSON is the same, to the last digit."""
    data = through_json(fitted)
    again = BaseRecalibrator.from_dict(data)
    assert type(again) is type(fitted)
    assert through_json(again) == data
    assert vars(again).keys() == vars(fitted).keys()
    for name in ("predict_proba", "transform", "predict", "predict_interval"):
        if hasattr(fitted, name):
            answers = (getattr(one, name)(X) for one in (again, fitted))
            np.testing.assert_array_equal(*answers, strict=True)


def test_recalibrators_of_classes_have_it_and_no_others():
    """As the guide says."""
    kinds = [k for k in list_functions_and_classes().values() if inspect.isclass(k)]
    kinds = {k for k in kinds if issubclass(k, BaseEstimator)}
    found = {kind for kind in kinds if hasattr(kind, "to_dict")}
    assert found == {kind for kind in kinds if issubclass(kind, BaseRecalibrator)}
    assert not found & {regression.AutoMeans, regression.ConformalInterval, RiskRecalibration}


# --------------------------------------------------------------------------- there and back


@every_class_and_count
def test_everything_comes_back_the_same(R, n_classes):
    X, y = make_scores(n_classes, 150)
    X[:9] = np.eye(n_classes)[y[:9]]  # hard zeros are raised
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    table = pd.DataFrame(X, columns=NAMES[:n_classes])
    logits = 50 * np.log(X.clip(1e-300))
    check_same(make(R).fit(table, NAMES[y], sample_weight=weights), table)
    check_same(make(R).fit(X.astype(np.float32), y), X.astype(np.float32))
    check_same(make(R, input="logits").fit(logits, y, weights), logits)
    backwards = NAMES[:n_classes][::-1]
    check_same(make(R, classes=backwards).fit(X[:, ::-1], NAMES[y]), X[:, ::-1])
    if n_classes == 2:
        check_same(make(R).fit(X[:, 1:], y), X[:, 1:])


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "bee"]),
        np.array(["a", "nan"], dtype="U9"),
        np.array(["a", "bee"], dtype=object),
        pd.Series(["a", "bee"]),
        ["a", "bee"],
        ("a", "bee"),
        [np.str_("a"), np.str_("bee")],
        np.array([False, True]),
        np.array([-1, 2**62]),
        np.array([0, 255], dtype=np.uint8),
        np.array([-1.0, 2.0]),
        np.array([0, 3], dtype=np.float32),
        range(2),
    ],
)
def test_labels_of_every_type(labels):
    X, y = make_scores(2)
    check_same(TemperatureScaling().fit(X, np.asarray(labels)[y]), X)
    fitted = TemperatureScaling(classes=labels).fit(X, np.asarray(labels)[y])
    check_same(fitted, X)
    if isinstance(labels, tuple | list):
        assert BaseRecalibrator.from_dict(through_json(fitted)).classes == labels


def test_options_that_change_what_is_fitted():
    X, y = make_scores(3)
    check_same(HistogramBinning(multiclass="top-label", strategy="quantile").fit(X, y), X)
    seen = X.argmax(axis=1) < 2
    fitted = HistogramBinning(multiclass="top-label").fit(X[seen], y[seen])
    assert fitted.maps_[2] is None
    check_same(fitted, X)
    X, y = make_scores(2)
    summary = CalibrationSummary().update(y, X[:, 1])
    for R in CLASSES:
        if hasattr(R, "fit_summary"):
            check_same(R().fit_summary(summary), X)


def test_settings_that_are_no_part_of_the_map_are_left_out():
    X, y = make_scores(2)
    fitted = TemperatureScaling().fit(X, y)
    expected = fitted.to_dict()
    with config_context(enable_metadata_routing=True):
        fitted.set_fit_request(sample_weight=True)
    assert fitted.set_output(transform="pandas").to_dict() == expected


def test_arrays_of_another_library(dispatch):
    X, y = make_scores(2)
    xp = pytest.importorskip("array_api_strict")
    there = {"device": xp.Device("device1")}  # which NumPy cannot read
    fitted = TemperatureScaling().fit(xp.asarray(X, **there), xp.asarray(y, **there))
    fitted.classes = xp.asarray([0, 1], **there)
    again = BaseRecalibrator.from_dict(through_json(fitted))
    expected = TemperatureScaling().fit(X, y)
    np.testing.assert_array_equal(again.classes, [0, 1], strict=True)
    np.testing.assert_allclose(again.predict_proba(X), expected.predict_proba(X), rtol=1e-12)


def test_dicts_and_recalibrators_do_not_share_anything():
    X, y = make_scores(2)
    fitted = PlattScaling(classes=np.array([0, 1])).fit(X, y)
    data = fitted.to_dict()
    before, answer = json.dumps(data), fitted.predict_proba(X)
    again = BaseRecalibrator.from_dict(data)
    fitted.fit(X**2 / (X**2).sum(axis=1, keepdims=True), y)
    fitted.classes[0] = 7
    assert json.dumps(data) == before
    data["fitted"]["maps_"][0]["slope"] = 7.0
    data["fitted"]["classes_"]["array"][0] = 7
    np.testing.assert_array_equal(again.predict_proba(X), answer)


class Nested(BaseRecalibrator):
    """Averages fitted recalibrators, as a user might write it; it also holds other types."""

    def __init__(self, *, input="proba", classes=None, candidates=(), options=None):
        super().__init__(input=input, classes=classes)
        self.candidates, self.options = candidates, options

    def _fit(self, scores, codes, sample_weight):
        names = "TemperatureScaling", "HistogramBinning"
        self.members_ = [getattr(recalibration, name)().fit(scores, codes) for name in names]
        self._table = {"losses": (math.inf, math.nan, 1.5), "best": self.members_[0]}
        self.limits_ = np.array([[-np.inf, np.nan], [0.5, -0.0]])
        self.nothing_ = np.empty((0, 3))

    def _recalibrate(self, scores):
        assert self._table["losses"][2] == 1.5
        return np.mean([member.predict_proba(scores) for member in self.members_], axis=0)


def test_nested_recalibrators_and_subclasses_of_ones_own():
    X, y = make_scores(3)
    candidates = ("auto", [PlattScaling(min_proba=0.1), TemperatureScaling().fit(X, y)])
    fitted = Nested(candidates=candidates, options={"float": np.float64(math.inf)}).fit(X, y)
    data = through_json(fitted)
    again = Nested.from_dict(data)
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.options == {"float": math.inf}
    assert again._table["losses"][0] == math.inf
    assert math.isnan(again._table["losses"][1])
    np.testing.assert_array_equal(again.limits_, fitted.limits_, strict=True)
    assert np.signbit(again.limits_[1, 1])
    assert again.nothing_.shape == (0, 3)
    name, (unfitted, member) = again.candidates
    assert (name, unfitted.min_proba, hasattr(unfitted, "maps_")) == ("auto", 0.1, False)
    assert member.temperature_ == candidates[1][1].temperature_
    with pytest.raises(ValueError, match=r"data\['class'\] must name .* call from_dict of it"):
        BaseRecalibrator.from_dict(data)
    with pytest.raises(TypeError, match=r"Nested.candidates\[0\] must be .* got a Nested2"):
        Nested(candidates=[type("Nested2", (Nested,), {})()]).fit(X, y).to_dict()


@may_harm
def test_recalibrators_inside_of_classifiers():
    X, y = make_features()
    model = RecalibratedClassifierCV(recalibrator=TemperatureScaling()).fit(X, y)
    for pair in model.calibrated_classifiers_:
        check_same(pair.recalibrator, make_scores(3)[0])


# --------------------------------------------------------------------------- what is refused


@every_class
def test_unfitted(R):
    with pytest.raises(NotFittedError):
        make(R).to_dict()


@pytest.mark.parametrize(
    "value", [np.random.RandomState(0), np.random.default_rng(0)], ids=["old", "new"]
)
def test_parameters_that_cannot_be_written(value):
    X, y = make_scores(2)
    message = f"RandomizedSmoothing.random_state must be .* got a {type(value).__name__}"
    with pytest.raises(TypeError, match=message):
        RandomizedSmoothing(random_state=value).fit(X, y).to_dict()


@pytest.mark.parametrize("value", [len, {1, 2}, {(1,): 2}, 1j, np.longdouble(1), np.array([1j])])
def test_attributes_that_cannot_be_written(value):
    X, y = make_scores(2)
    fitted = TemperatureScaling().fit(X, y)
    fitted.extra_ = [0, value]
    with pytest.raises(TypeError, match=r"TemperatureScaling.extra_\[1\] must be"):
        fitted.to_dict()


DEEP = functools.reduce(lambda inner, _: [inner], range(2000), [])
COEF = ("fitted", "coef_")
MAP = ("fitted", "maps_", 0)
# A class, where its dict is changed, to what, and what the error says.
CHANGES = [
    ("TemperatureScaling", ("format",), "other", "format 'skcal.BaseRecalibrator'"),
    ("TemperatureScaling", ("version",), 2, "'version'.* is 2; .* Update skcal"),
    ("TemperatureScaling", ("version",), MISSING, "'version'.* is None"),
    ("TemperatureScaling", ("skcal",), MISSING, r"data\['skcal'\] must be"),
    ("TemperatureScaling", ("class",), MISSING, r"data\['class'\] must name"),
    ("TemperatureScaling", ("class",), "os.system", r"data\['class'\] must name"),
    ("TemperatureScaling", ("class",), "BaseRecalibrator", r"data\['class'\] must name"),
    ("TemperatureScaling", ("class",), "BetaMap", r"data\['class'\] must be BaseRecalibrator"),
    ("TemperatureScaling", ("class",), "PlattScaling", "no .*'target_smoothing'"),
    ("TemperatureScaling", ("extra",), 1, "data must hold .* alone; got .*also 'extra'"),
    ("TemperatureScaling", ("params",), [], r"data\['params'\] must be a dict"),
    ("TemperatureScaling", ("params", "loss"), MISSING, r"\['params'\] must be complete.* 'loss'"),
    ("TemperatureScaling", ("params", "lose"), 1, r"data\['params'\] must hold .*also 'lose'"),
    ("TemperatureScaling", ("params", "loss"), "lag", "loss must be one of"),
    ("TemperatureScaling", ("params", "input"), "x", "input must be one of"),
    ("TemperatureScaling", ("params", "loss"), {"x": 1}, r"data\['params'\]\['loss'\] must be"),
    ("TemperatureScaling", ("params", "loss"), {"float": 1}, "must be one of 'nan', 'inf', '-inf'"),
    ("TemperatureScaling", ("params", "loss"), DEEP, "nested deeper"),
    ("TemperatureScaling", ("params", "loss"), 1j, "be of a JSON type"),
    ("TemperatureScaling", ("fitted",), {}, r"fitted\['classes_'\] must be there"),
    ("TemperatureScaling", ("fitted", "temperature_"), MISSING, "temperature_"),
    ("TemperatureScaling", ("fitted", "temperature_"), 0.0, "rows of probabilities"),
    ("TemperatureScaling", ("fitted", "temperature_"), {"float": "nan"}, "rows of probabilities"),
    ("TemperatureScaling", ("fitted", "temperature_"), "2.0", "TypeError"),
    ("TemperatureScaling", ("fitted", "fit"), 1, r"\['fitted'\] must hold .* got 'fit'"),
    ("TemperatureScaling", ("fitted", "__class__"), 1, "got '__class__'"),
    ("TemperatureScaling", ("fitted", "loss"), "log", "got 'loss'"),
    ("TemperatureScaling", ("fitted", "_depth"), -1.0, r"fitted\['_depth'\] must be a positive"),
    ("TemperatureScaling", ("fitted", "_order", "array"), [0, 0, 1], r"fitted\['_order'\] must"),
    ("TemperatureScaling", ("fitted", "_order", "array"), [0, 1], r"hold int64 of shape \[3\]"),
    ("TemperatureScaling", ("fitted", "_order", "array"), [0, 1, 1.5], "hold int64 of shape"),
    ("TemperatureScaling", ("fitted", "_order", "shape"), [-1], "hold int64 of shape"),
    ("TemperatureScaling", ("fitted", "_order", "dtype"), "V8", r"\['_order'\]\['dtype'\] must"),
    ("TemperatureScaling", ("fitted", "classes_", "array"), [2, 1, 0], "sorted labels"),
    ("TemperatureScaling", ("fitted", "n_features_in_"), 1, "suit 3 classes"),
    ("TemperatureScaling", ("fitted", "feature_names_in_", "shape"), [2], "object of shape"),
    ("MatrixScaling", ("params", "ridge"), -1, "data is no valid MatrixScaling: ridge must be"),
    ("MatrixScaling", (*COEF, "array", 0), [1.0, 2.0], r"\['coef_'\] must hold float64"),
    ("MatrixScaling", (*COEF, "array", 0, 0), "1", r"\['coef_'\] must hold float64"),
    ("MatrixScaling", (*COEF, "array", 0, 0), "inf", "rows of probabilities"),
    ("MatrixScaling", (*COEF, "size"), 1, r"\['coef_'\] must hold .*also 'size'"),
    ("MatrixScaling", COEF, [[1.0]], "data is no valid MatrixScaling"),
    ("PlattScaling", ("fitted", "maps_"), [], "data is no valid PlattScaling"),
    ("PlattScaling", (*MAP, "slope"), MISSING, r"\['maps_'\]\[0\] must be complete; .*'slope'"),
    ("PlattScaling", (*MAP, "class"), "Sigmoid", r"\['maps_'\]\[0\]\['class'\] must name a class"),
    ("PlattScaling", MAP, {"class": "BetaMap", "a": 1, "b": 1, "c": 1}, "AttributeError.*slope"),
    ("HistogramBinning", (*MAP, "values", "array", -1), "nan", r"\['maps_'\]\[0\] must .* NaN"),
    ("IsotonicRecalibration", (*MAP, "fitted", "y_thresholds_"), MISSING, "IsotonicRegression"),
    (
        "IsotonicRecalibration",
        (*MAP, "fitted", "y_thresholds_", "array", 0),
        "nan",
        r"\['maps_'\]\[0\]\['fitted'\] must hold numbers.* NaN",
    ),
    ("IsotonicRecalibration", (*MAP, "params", "warm"), 1, "also 'warm'"),
]


def test_changed_dicts_are_refused():
    for name, path, value, message in CHANGES:
        X, y = make_scores(3)
        table = pd.DataFrame(X, columns=["a", "b", "c"])
        data = through_json(getattr(recalibration, name)().fit(table, y))
        assert type(BaseRecalibrator.from_dict(data)).__name__ == name
        with pytest.raises(ValueError, match=message):
            BaseRecalibrator.from_dict(change(data, path, value))


def test_what_is_no_dict_of_a_recalibrator():
    X, y = make_scores(2)
    data = TemperatureScaling().fit(X, y).to_dict()
    with pytest.raises(ValueError, match=r"format .*Use json\.loads first"):
        BaseRecalibrator.from_dict(json.dumps(data))
    for other in ([data], None, CalibrationSummary().to_dict()):
        with pytest.raises(ValueError, match="data must be the output of to_dict"):
            BaseRecalibrator.from_dict(other)
    with pytest.raises(ValueError, match=r"must be PlattScaling .* got 'TemperatureScaling'"):
        PlattScaling.from_dict(data)
    data |= {"skcal": "7.0", "class": "LaterScaling"}
    with pytest.raises(ValueError, match=r"written by skcal '7\.0'"):
        BaseRecalibrator.from_dict(data)


def test_whole_numbers_may_have_lost_their_points():
    """JavaScript writes 1.0 as 1."""
    X, y = make_scores(3)
    for R in CLASSES:
        fitted = make(R).fit(X, y)
        text = re.sub(r"(?<=\d)\.0\b(?!e)", "", json.dumps(fitted.to_dict()))
        again = R.from_dict(json.loads(text))
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X), strict=True)


# --------------------------------------------------------------------------- the formulas
#
# Written again in plain Python, from the docstrings and what JSON holds.


def softmax(z):
    parts = [math.exp(one - max(z)) for one in z]
    return [part / sum(parts) for part in parts]


def affine(fitted, z):
    return [
        sum(w * one for w, one in zip(row, z, strict=True)) + b
        for row, b in zip(fitted["coef_"]["array"], fitted["intercept_"]["array"], strict=True)
    ]


def centre(z):
    return [one - sum(z) / len(z) for one in z]


def expit(t):
    return 1 / (1 + math.exp(-t))


def interpolate(x, knots, values):
    x = min(max(x, knots[0]), knots[-1])
    i = min(bisect.bisect_right(knots, x), len(knots) - 1)
    share = (x - knots[i - 1]) / (knots[i] - knots[i - 1])
    return values[i - 1] + share * (values[i] - values[i - 1])


def find_step(x, edges, values):
    return values[min(max(bisect.bisect_left(edges, x) - 1, 0), len(values) - 1)]


def map_beta(fitted, p, s):
    # log(1 - p) of a p next to 1 is lost
    log_p, log_rest = -math.log1p(math.exp(-s)), -math.log1p(math.exp(s))
    return expit(fitted["a"] * log_p - fitted["b"] * log_rest + fitted["c"])


def map_isotonic(fitted, p, s):
    attributes = fitted["fitted"]
    return interpolate(
        p, attributes["X_thresholds_"]["array"], attributes["y_thresholds_"]["array"]
    )


def map_spline(fitted, p, s):
    ends, rows = fitted["breakpoints"]["array"], fitted["coefficients"]["array"]
    i = min(max(bisect.bisect_right(ends, s) - 1, 0), len(ends) - 2)
    return expit(sum(row[i] * (s - ends[i]) ** k for k, row in enumerate(reversed(rows))))


def map_venn_abers(fitted, p, s):
    m = bisect.bisect_right(fitted["knots"]["array"], p)
    r = sum(fitted["is_upper"]["array"][:m])
    upper = fitted["upper"]["array"][r]
    lower = min(fitted["lower"]["array"][m - r], upper)
    return upper / (1 - lower + upper)


def map_scaled_bins(fitted, p, s):
    g = expit(fitted["slope"] * s + fitted["intercept"])
    edges = [edge * (1 + 1e-12) for edge in fitted["edges"]["array"]]
    return find_step(g, edges, fitted["values"]["array"])


def share_the_rest(fitted, p):
    top, share = p.index(max(p)), fitted["accuracy_"]
    rest = (1 - share) / (len(p) - 1)
    return [share if k == top else rest for k in range(len(p))]


# Maps of all logits of a row, or of the probability p and the log-odds s of one class.
ROWS = {
    "TemperatureScaling": lambda f, p, z: softmax([one / f["temperature_"] for one in z]),
    "VectorScaling": lambda f, p, z: softmax(affine(f, centre(z))),
    "MatrixScaling": lambda f, p, z: softmax(affine(f, centre(z))),
    "DirichletCalibration": lambda f, p, z: softmax(affine(f, [math.log(q) for q in softmax(z)])),
    "StructuredMatrixScaling": lambda f, p, z: softmax(
        affine(f, [one / f["temperature_"] for one in centre(z)])
    ),
    "StructuredVectorScaling": lambda f, p, z: softmax(
        affine(f, [one / f["temperature_"] for one in centre(z)])
    ),
    "ClosedTestRecalibration": lambda f, p, z: softmax(
        [f["slope_"] * one + b for one, b in zip(centre(z), f["intercept_"]["array"], strict=True)]
    ),
    "ConfidenceReplacement": lambda f, p, z: share_the_rest(f, p),
}
MAPS = {
    "PlattScaling": lambda f, p, s: expit(f["slope"] * s + f["intercept"]),
    "QuadraticScaling": lambda f, p, s: expit(
        f["intercept"] + f["slope"] * s + f["curvature"] * s * s
    ),
    "BetaCalibration": map_beta,
    "IsotonicRecalibration": map_isotonic,
    "HistogramBinning": lambda f, p, s: find_step(p, f["edges"]["array"], f["values"]["array"]),
    "KernelRecalibration": lambda f, p, s: interpolate(
        p, f["knots"]["array"], f["values"]["array"]
    ),
    "ScalingBinning": map_scaled_bins,
    "SplineRecalibration": map_spline,
    "VennAbers": map_venn_abers,
}
FORMULAS = [R for R in CLASSES if R.__name__ in ROWS | MAPS]


def evaluate(data, p):
    """Probabilities of one row of probabilities, by the documented formula."""
    fitted, name = data["fitted"], data["class"]
    p = [p[column] for column in fitted["_order"]["array"]]
    z = [math.log(max(one, fitted.get("min_proba_", 1e-300))) for one in p]
    if name in ROWS:
        return ROWS[name](fitted, p, z)
    odds = [
        one - math.log(sum(math.exp(other) for j, other in enumerate(z) if j != k))
        for k, one in enumerate(z)
    ]
    rows = list(zip(p, odds, strict=True))[-len(fitted["maps_"]) :]
    mapped = [MAPS[name](f, *row) for f, row in zip(fitted["maps_"], rows, strict=True)]
    if len(mapped) == 1:
        return [1 - mapped[0], mapped[0]]
    return [one / sum(mapped) if sum(mapped) else 1 / len(mapped) for one in mapped]


@pytest.mark.parametrize("R", FORMULAS)
@both_counts
def test_documented_formulas(R, n_classes):
    X, y = make_scores(n_classes)
    X[:9] = 0.9 * np.eye(n_classes)[y[:9]]
    X[:9] += (X[:9] == 0) * [0.0, *[0.1 / (n_classes - 1)] * (n_classes - 1)]
    X /= X.sum(axis=1, keepdims=True)
    fitted = R(classes=NAMES[:n_classes][::-1]).fit(X, NAMES[::-1][4 - n_classes :][y])
    data = through_json(fitted)
    if R in LOGIT_CLASSES:
        assert fitted.min_proba_ > TINY
    found = [evaluate(data, row) for row in X.tolist()]
    np.testing.assert_allclose(found, fitted.predict_proba(X), rtol=1e-9, atol=1e-15)
