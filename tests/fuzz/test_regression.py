"""Hostile targets and predictions beyond classification: an answer, or a clear error."""

import inspect
import pickle
from functools import partial
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator

from skcal import metrics, regression
from skcal.diagrams import (
    ConcentrationDisplay,
    CoverageWidthDisplay,
    IntervalCoverageDisplay,
    MeanReliabilityDisplay,
    PITDisplay,
    QuantileReliabilityDisplay,
    RegressionMurphyDisplay,
)
from skcal.inference import (
    actual_expected_ratio,
    audit_mean_features,
    audit_mean_groups,
    concentration_test,
    mean_calibration_test,
    mean_recalibration,
)
from skcal.metrics import BregmanDivergence, mean_multicalibration_error
from skcal.regression import (
    ConformalInterval,
    Ensemble,
    Mixture,
    MulticalibratedRegressorCV,
    MultivariateNormal,
    Quantiles,
    RecalibratedRegressorCV,
    distribution_calibration_test,
)
from skcal.regression._base_means import MeanRecalibrator
from skcal.scorers import make_distribution_scorer
from tests.fuzz import strategies as some
from tests.fuzz.hostile import hostile, hostile_calls
from tests.fuzz.options import OPTIONS, options
from tests.fuzz.strategies import NO_SCALES, PROBABILITIES, REALS, SCALES, mostly, rarely, reals
from tests.recalibration.family import REGRESSION_CLASSES, lay_out, list_answers

UNIVARIATE = {"norm": stats.norm, "laplace": stats.laplace, "cauchy": stats.cauchy}
LEVEL_LISTS = [0.5, [0.5, 0.5], [0.1, 1.0], "x"]
# What is no distribution that is known, or none at all.
STRANGE = {
    "poisson": stats.poisson(2.0),
    "gamma": stats.gamma(2.0),
    "one of many dimensions": stats.multivariate_normal([0.0, 0.0]),
    "not frozen": stats.norm,
    "number": 1.0,
    "nothing": None,
}
FAMILIES = ["norm", "norm", "laplace", "cauchy", "multivariate", "given"]
FAMILIES += ["list of norm", "list of laplace", "list of multivariate", "list of list of norm"]
FAMILIES += ["matrix of norm", "matrix of laplace", "matrix of multivariate"]
POINTS = ["pair", "ensemble", "quantiles"]
FAMILIES += POINTS
FAMILIES += ["new normal"] if hasattr(stats, "Normal") else []


class Echo(RegressorMixin, BaseEstimator):
    """Predicts its first feature, and the second as standard deviation."""

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X, return_std=False):
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != 2:
            raise ValueError(f"X must have two columns; got shape {X.shape}.")
        mean, std = X.T
        return (mean, std) if return_std else mean

    def __sklearn_is_fitted__(self):
        return True


class GivenQuantiles:
    """What a user might write: quantiles that are looked up, whatever they are."""

    def __init__(self, values):
        self.icdf = self.cdf = lambda argument: values


def make_distribution(family, loc, scale, weights):
    if family in STRANGE:
        return STRANGE[family]
    if family == "given":
        return GivenQuantiles(loc)
    if family == "multivariate":
        return MultivariateNormal(loc, scale)
    if family == "pair":
        return loc, scale
    if family == "ensemble":
        return Ensemble(loc)
    if family == "quantiles":
        return Quantiles(loc, weights)
    if family == "new normal":
        return stats.Normal(mu=loc, sigma=scale)
    kind, _, component = family.partition(" of ")
    if component:
        part = make_distribution(component, loc, scale, None)
        return Mixture(weights, part if kind == "matrix" else [part] * 2)
    return UNIVARIATE[family](loc, scale)


@st.composite
def distributions(draw, n_rows, n_dimensions, families=None):
    """Arguments of `make_distribution`."""
    family = draw(mostly(FAMILIES, [*STRANGE]) if families is None else families)
    rows = draw(st.sampled_from([(n_rows,), (n_rows,), ()]))
    rows = (n_rows, 2) if family.startswith(("matrix of ", "ensemble", "quantiles")) else rows
    rows_of_scale = draw(st.sampled_from([(), rows]))
    if family.endswith("multivariate"):
        loc, scale = reals((*rows, n_dimensions)), covariances(rows_of_scale, n_dimensions)
    else:
        loc, scale = reals(rows), reals(rows_of_scale, SCALES, NO_SCALES)
    share = draw(mostly([[0.5, 0.5], [0.25, 0.75], [1, 0], [1e-300, 1]], [[0.5, 1]]))
    weights = draw(st.sampled_from([share, [share] * n_rows]))
    return {"family": family, "loc": draw(loc), "scale": draw(scale), "weights": weights}


@st.composite
def covariances(draw, rows, n_dimensions):
    """Covariances of some size, or matrices that are none."""
    shape = (*rows, n_dimensions, n_dimensions)
    if draw(rarely()):
        return draw(reals(shape))
    root = draw(some.arrays(st.floats(-2, 2), 9)).reshape(3, 3)[:n_dimensions, :n_dimensions]
    cov = root @ root.T + np.eye(n_dimensions) * draw(st.sampled_from([1.0, 1e-9, 0.0]))
    with np.errstate(over="ignore"):
        return np.broadcast_to(draw(SCALES) * cov, shape)


HUB_LEVELS = mostly([[0.25, 0.75], [0.1, 0.5, 0.9], [0.5]], [[0.1, 0.5], 0.5, [], "x"])


def ascend(values):
    """Rows of a matrix in ascending order."""
    return np.sort(values, axis=1) if np.ndim(values) == 2 else values


@st.composite
def calls(draw, name):
    n_rows = draw(st.integers(0, 5) | st.just(12))
    n_dimensions = draw(st.sampled_from([1, 1, 2, 3]))
    function = getattr(regression, name)
    shapes = [(n_rows,), (n_rows,), (n_rows, 1)]
    if name.startswith("distribution_") and n_dimensions > 1:
        shapes = [(n_rows, n_dimensions)] * 2 + shapes[:1]
    is_hub = name.startswith("weighted_interval_score")
    levels = draw(HUB_LEVELS if is_hub else OPTIONS["levels"])
    columns = (n_rows, np.size(levels)) if np.ndim(levels) else (n_rows,)
    distribution = draw(distributions(n_rows, n_dimensions))
    others = mostly([distribution["family"]], FAMILIES)
    values = {
        "y_true": reals(draw(st.sampled_from(shapes))),
        "distribution": st.just(distribution),
        "test_distribution": distributions(2, n_dimensions, others),
        "sample_weight": some.weights(n_rows),
        "y_quantiles": reals(columns, REALS | st.sampled_from([-np.inf, np.inf])).map(
            ascend if is_hub else lambda values: values
        ),
        "y_pred": reals((n_rows,)),
        "y_interval": reals((n_rows, 2)).map(ascend),
        "y_std": reals((n_rows,), SCALES, NO_SCALES),
        "test_targets": reals((2,) if n_dimensions == 1 else (2, n_dimensions)),
    }
    found = {
        key: draw(values[key]) for key in values if key in inspect.signature(function).parameters
    }
    return {"name": name} | found | draw(options(function, quantiles=levels))


def call(name, **arguments):
    for key in {"distribution", "test_distribution"} & arguments.keys():
        arguments[key] = make_distribution(**arguments[key])
    function = getattr(regression, name)
    if "random_state" in inspect.signature(function).parameters:
        arguments = {"random_state": 0} | arguments
    return function(**arguments)


MEASURES_OF_REALS = [
    name
    for name in regression.__all__
    if inspect.isroutine(getattr(regression, name)) and name != "distribution_calibration_test"
]
test_hostile_predictions = hostile_calls({name: (call, calls(name)) for name in MEASURES_OF_REALS})


@hostile(distributions(4, 2), x=reals((4,)) | reals((1,)) | reals((0,)))
def test_hostile_arguments_of_a_cdf(family, x, **parameters):
    return make_distribution(f"list of {family}", **parameters).cdf(x)


@hostile(
    distributions(3, 1).map(lambda law: {"law": law}),
    options(distribution_calibration_test, skip=["statistic"]),
    y=reals((3,)),
    statistic=mostly(["pit_calibration_error"], ["miscalibration_area", "x", None]),
    sample_weight=some.weights(3),
)
def test_hostile_tests(y, law, statistic, **arguments):
    if statistic == "miscalibration_area":
        statistic = regression.miscalibration_area
    distribution = make_distribution(**law)
    arguments = {"random_state": 0, "n_resamples": 9} | arguments
    return distribution_calibration_test(y, distribution, statistic=statistic, **arguments)


# Means are at most 1e100, and squares and cubes of those that differ that much vanish.
EDGES = [0.0, -0.0, 5e-324, 1e-300, 1e-100, 1e-75, 1e-5, 1e5, 1e75, 1e100]
POSITIVE = st.sampled_from([1.0, 1.0, 2.0]) | st.sampled_from(EDGES[2:]) | st.floats(0.1, 10)
MEANS = REALS.filter(lambda v: abs(v) <= 1e100) | st.sampled_from([*EDGES, -1e100, -1e-100])
NO_MEANS = some.NO_REALS | st.sampled_from([1e101, -1.7e308])


def means(n_rows):
    return reals((n_rows,), MEANS, NO_MEANS)


OF_MEANS = [
    actual_expected_ratio,
    concentration_test,
    mean_calibration_test,
    mean_recalibration,
]


@st.composite
def predicted_means(draw, function):
    """Targets and predictions, often positive, and the options of a function of them."""
    n_rows = draw(st.integers(0, 5) | st.just(12))
    y, predicted = draw(means(n_rows)), draw(means(n_rows))
    if draw(st.booleans()):
        y = np.abs(y) if np.size(y) else y
        predicted = draw(reals((n_rows,), POSITIVE, NO_SCALES))
    rows = {"y_true": y, "y_pred": predicted, "sample_weight": draw(some.weights(n_rows))}
    rows["clusters"] = draw(some.clusters(n_rows))
    return rows | draw(options(function, n_resamples=9, random_state=0))


def call_of_means(function):
    """The function, but for the slope of equal predictions, which is not known."""
    if function is not mean_recalibration:
        return function
    return lambda **arguments: function(**arguments)[2:]


test_hostile_means = hostile_calls(
    {f.__name__: (call_of_means(f), predicted_means(f)) for f in OF_MEANS}
)


@hostile(
    options(audit_mean_groups),
    y=means(5),
    y_pred=means(5),
    groups=some.groups(5),
    sample_weight=some.weights(5),
    clusters=some.clusters(5),
)
def test_hostile_audits(y, y_pred, groups, **arguments):
    arguments |= {"random_state": 0, "n_resamples": 9, "min_samples": 1}
    return audit_mean_groups(y, y_pred, groups, **arguments)


@hostile(
    options(audit_mean_features),
    learner=OPTIONS["learner"],
    cv=mostly([2, 3], [1, 99, "x"]),
    y=means(8),
    y_pred=means(8),
    X=some.features(8),
    sample_weight=some.weights(8),
    clusters=some.clusters(8),
)
def test_hostile_audits_by_features(y, y_pred, X, **arguments):
    arguments |= {"random_state": 0, "n_resamples": 9}
    return audit_mean_features(y, y_pred, X, **arguments)


@hostile(
    options(mean_multicalibration_error),
    y=means(5),
    y_pred=means(5),
    groups=some.groups(5),
    sample_weight=some.weights(5),
)
def test_hostile_groups_of_means(y, y_pred, groups, **arguments):
    arguments["min_samples"] = 1
    return mean_multicalibration_error(y, y_pred, groups, **arguments)


@hostile(
    distributions(3, 1).map(lambda law: {"law": law}),
    y=reals((3,)),
    sample_weight=some.weights(3),
    n_bins=mostly([1, 7], [0, 2.0]),
    confidence_level=mostly([0.95, 0.5], [0, 1, np.nan]),
)
def test_hostile_displays_of_the_pit(y, law, **arguments):
    law, options = make_distribution(**law), {"n_resamples": 9, "random_state": 0}
    display = PITDisplay.from_predictions(y, law, **arguments, **options)
    plt.close(display.figure_)
    return display.levels, display.share, display.density


@hostile(
    y=reals((3,)),
    sample_weight=some.weights(3),
    y_quantiles=reals((3, 2)),
    quantiles=mostly([[0.5, 0.9]], LEVEL_LISTS),
)
def test_hostile_displays_of_quantiles(y, **arguments):
    display = QuantileReliabilityDisplay.from_predictions(y, **arguments)
    plt.close(display.figure_)
    return display.curves


@hostile(
    y=means(3) | reals((3,), POSITIVE, NO_SCALES),
    y_pred=means(3) | reals((3,), POSITIVE, NO_SCALES),
    sample_weight=some.weights(3),
    clusters=st.none() | st.sampled_from([[0, 1, 1], "x", [0, 0, 0]]),
    kind=mostly(["auto", "smooth", "isotonic", "values"], ["x", None]),
    bandwidth=mostly(["auto", 0.1, 1], [0, 2, np.nan]),
    confidence_level=OPTIONS["confidence_level"],
    scale=mostly(["auto", "linear", "log"], ["x"]),
)
def test_hostile_displays_of_means(y, **arguments):
    display = MeanReliabilityDisplay.from_predictions(y, **arguments)
    plt.close(display.figure_)
    return display.curves[0].y_pred, display.curves[0].y_mean


@hostile(
    y=means(3) | reals((3,)),
    y_pred=means(3) | reals((3,)),
    functional=mostly(["mean", "quantile", "expectile"], ["interval", None]),
    level=mostly([0.5, 0.1, 1e-300], [0, 1, np.nan, "x"]),
    thresholds=OPTIONS["murphy_curve.thresholds"],
    band=mostly(["auto", "curve"], ["difference", "x"]),
    sample_weight=some.weights(3),
    clusters=st.none() | st.sampled_from([[0, 1, 1], "x", [0, 0, 0]]),
    confidence_level=OPTIONS["confidence_level"],
)
def test_hostile_murphy_diagrams(y, y_pred, **arguments):
    display = RegressionMurphyDisplay.from_predictions(y, y_pred, **arguments)
    plt.close(display.figure_)
    return display.curves, display.bands


@hostile(
    y=means(3) | reals((3,), POSITIVE, NO_SCALES),
    y_pred=means(3) | reals((3,), POSITIVE, NO_SCALES),
    sample_weight=some.weights(3),
    clusters=st.none() | st.sampled_from([[0, 1, 1], "x", [0, 0, 0]]),
)
def test_hostile_concentration_curves(y, y_pred, **arguments):
    display = ConcentrationDisplay.from_predictions(y, y_pred, **arguments)
    plt.close(display.figure_)
    return display.curves, display.tests[0].pvalue


@hostile(
    y=reals((3,)),
    y_interval=reals((3, 2)),
    sample_weight=some.weights(3),
    by=st.none() | reals((3,)) | st.sampled_from([["a", "b", "a"], "x", [None] * 3]),
    level=mostly([0.9, 0.5], [0, 1, np.nan]),
    n_bins=mostly([1, 7], [0, 2.0]),
    confidence_level=mostly([0.95, 0.5], [0, 1, np.nan]),
)
def test_hostile_displays_of_coverage(y, y_interval, **arguments):
    ends = np.sort(y_interval, axis=1) if np.ndim(y_interval) == 2 else y_interval
    options = {"n_resamples": 9, "random_state": 0}
    display = IntervalCoverageDisplay.from_predictions(y, ends, **arguments, **options)
    plt.close(display.figure_)
    return display.coverage, display.n_rows, display.low


@hostile(
    y=reals((3,)),
    y_interval=reals((3, 2)),
    sample_weight=some.weights(3),
    level=mostly([0.9, 0.5], [0, 1, np.nan]),
    confidence_level=mostly([0.95, 0.5], [0, 1, np.nan]),
)
def test_hostile_displays_of_widths(y, y_interval, **arguments):
    ends = np.sort(y_interval, axis=1) if np.ndim(y_interval) == 2 else y_interval
    options = {"n_resamples": 9, "random_state": 0}
    display = CoverageWidthDisplay.from_predictions(y, ends, **arguments, **options)
    plt.close(display.figure_)
    return display.coverage, display.width, display.low


class Given:
    """A regressor that returns what it was given."""

    def __init__(self, answer):
        self.predict = lambda X, return_std=False: answer


@hostile(
    y=reals((3,)),
    law=distributions(3, 1),
    measure=mostly(["continuous_ranked_probability_score", "miscalibration_area"], ["crps", None]),
    response=mostly(["std", "predict"], ["score", 1]),
    response_params=mostly([None, {}], [{"x": 1}, [1]]),
)
def test_hostile_scorers(y, law, **settings):
    scorer = make_distribution_scorer(**settings)
    return scorer(Given(make_distribution(**law)), np.zeros((3, 1)), y)


# --------------------------------------------------------------------------------- recalibrators


@st.composite
def predicted(draw, R):
    """Predictions in the columns that a recalibrator reads, and its options."""
    n_rows = draw(st.integers(0, 5) | st.just(12))
    mean, std = draw(reals((n_rows,))), draw(reals((n_rows,), SCALES, NO_SCALES))
    rows = {"y": draw(reals((n_rows,))), "sample_weight": draw(some.weights(n_rows))}
    if issubclass(R, MeanRecalibrator) and draw(st.booleans()):  # for the log link
        mean, rows["y"] = std, np.abs(rows["y"]) if np.size(rows["y"]) else rows["y"]
    if R is ConformalInterval:
        R = partial(R, input=draw(st.sampled_from(["mean", "mean_std", "interval"])))
    return {"R": R, "mean": mean, "std": std} | rows | draw(options(getattr(R, "func", R)))


def recalibrate(R, mean, std, y, sample_weight, **settings):
    if np.shape(mean) != np.shape(std):
        raise ValueError("Columns of other lengths make no predictions.")
    with np.errstate(over="ignore", invalid="ignore"):
        X = lay_out(R, np.asarray(mean, dtype=float), np.asarray(std, dtype=float))
    model = R(**settings).fit(X, y, sample_weight=sample_weight)
    state = pickle.dumps(model)
    found = [getattr(model, name)(X) for name in list_answers(type(model))]
    if hasattr(model, "predict_interval"):
        assert (found[-1][:, 0] <= found[-1][:, 1]).all()
    assert pickle.dumps(model) == state, "predicting changed the estimator"
    return found


test_hostile_rows_of_recalibrators = hostile_calls(
    {R.__name__: (recalibrate, predicted(R)) for R in REGRESSION_CLASSES}
)


NAMED = {R.__name__: R() for R in REGRESSION_CLASSES} | {"none": None, "text": "x"}
SIZES = st.sampled_from([12, 20, 6, 5, 2, 1, 0])


@hostile(
    SIZES.flatmap(
        lambda n_rows: st.fixed_dictionaries(
            {"X": reals((n_rows, 2)), "y": reals((n_rows,)), "sample_weight": some.weights(n_rows)}
        )
    ),
    estimator=mostly(["frozen", "fitted"], ["text"]),
    recalibrator=mostly([*NAMED][:-1], ["text"]),
    cv=some.CV,
)
def test_recalibrated_regressors(X, y, sample_weight, estimator, recalibrator, cv):
    regressor = {"frozen": FrozenEstimator(Echo()), "fitted": Echo(), "text": "x"}[estimator]
    model = RecalibratedRegressorCV(regressor, NAMED[recalibrator], cv=cv)
    model.fit(X, y, sample_weight=sample_weight)
    return [getattr(model, name)(X) for name in list_answers(model) if name != "transform"]


@hostile(
    SIZES.flatmap(
        lambda n_rows: st.fixed_dictionaries(
            {"X": reals((n_rows, 2)), "y": reals((n_rows,)), "sample_weight": some.weights(n_rows)}
        )
    ),
    options(MulticalibratedRegressorCV, skip=["estimator"]),
    frozen=st.booleans(),
    positive=st.booleans(),
)
def test_multicalibrated_regressors(X, y, sample_weight, frozen, positive, **settings):
    if positive and np.size(X) and np.size(y):  # for the log link
        X, y = np.abs(X), np.abs(y)
    model = MulticalibratedRegressorCV(FrozenEstimator(Echo()) if frozen else Echo(), **settings)
    return model.fit(X, y, sample_weight=sample_weight).predict(X)


# ----------------------------------------------------------------------------------- divergences

FUNCTIONS = {
    "square": np.square,
    "double": lambda v: 2 * v,
    "careless entropy": lambda v: v * np.log(v) + (1 - v) * np.log1p(-v),
    "logit": lambda v: np.log(v) - np.log1p(-v),
    "exp": np.exp,
    "huge": lambda v: 1e308 * v**2,
    "its slope": lambda v: 2e308 * v,
    "tiny": lambda v: 1e-300 * v**2,
    "one number": np.sum,
    "text": str,
    "none": None,
    "concave": lambda v: -(v**2),
}
PAIRS = [("square", "double"), ("exp", "exp"), ("careless entropy", "logit")]


@hostile(
    some.problems(),
    options(metrics.calibration_decomposition, skip=["loss"]),
    functions=mostly(PAIRS, [*product(FUNCTIONS, repeat=2)]),
)
def test_hostile_divergences(functions, reduction, **arguments):
    phi, gradient = (FUNCTIONS[name] for name in functions)
    loss = BregmanDivergence(phi, gradient)
    return metrics.calibration_decomposition(**arguments, loss=loss)


NUMBERS = reals((2,), PROBABILITIES, some.NO_PROBABILITIES)


@hostile(y=NUMBERS, v=NUMBERS)
def test_hostile_arguments_of_a_divergence(y, v):
    return BregmanDivergence(np.square, lambda v: 2 * v)(y, v)
