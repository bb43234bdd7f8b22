"""A call of every public function of skcal, made from the names of its parameters.

What is public is found by walking the package, so that a new function has a call by itself. A
parameter without a default gets the attribute of `Rows` of its name; a name that `Rows` does not
know is an error.
"""

import importlib
import inspect
from functools import cached_property, partial

import numpy as np
from scipy.special import logit
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from timing import make_predictions

import skcal
from skcal import inference, metrics, model_selection, monitoring, recalibration, streaming

QUANTILES = np.array([0.1, 0.5, 0.9])
Z = norm.ppf(QUANTILES)


class Model(BaseEstimator):
    """A regressor and a survival model that know the truth, and are fitted at once."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X, return_std=False):
        mean = 10 + X[:, 1]
        return (mean, np.ones(len(X))) if return_std else mean

    def predict_interval(self, X):
        return self.predict(X)[:, None] + Z[[0, 2]]

    def predict_quantiles(self, X):
        return self.predict(X)[:, None] + Z

    def predict_survival_function(self, X):
        return [lambda t, rate=rate: np.exp(-rate * t) for rate in np.exp(X[:, 1])]


class Rows:
    """Arguments by name of the parameter: labels with slightly miscalibrated predictions."""

    random_state = 0
    measure = statistic = "smooth_ece"
    metric, effect, quantiles = "accuracy", {"slope": 0.5}, QUANTILES
    width, k, baseline = 0.3, 1, "all"
    # Of a random problem, and of estimates that are pooled.
    shift, slope, inverse_temperature, alpha = 0.1, 0.5, 2.0, 0.1
    intervals, score, calibration = [(0.3, 0.2, 0.4), (0.4, 0.2, 0.6)], "log_loss", "smooth_ece"
    library = "xgboost"

    def __init__(self, n_rows):
        self.n_samples, self.rng = n_rows, np.random.default_rng(1)
        self.y_true, self.y_proba = make_predictions(n_rows)
        self.y, self.y_proba_new = self.y_true, self.y_proba[::-1]
        self.budget = n_rows // 10
        self.groups = self.by = np.arange(n_rows) % 10
        self.table = {"a": self.groups, "b": np.arange(n_rows) % 3}
        noise = self.rng.standard_normal((n_rows, 2))
        self.X = np.column_stack([logit(self.y_proba), noise])
        self.X_old, self.X_new = self.X[::2], self.X[1::2] + 0.1
        self.test_proba, self.test_labels = np.array([0.2, 0.5, 0.8]), np.array([0, 1, 0])
        self.estimates, self.errors = self.rng.normal(size=20), np.full(20, 0.3)  # of 20 studies

    @property
    def scores(self):
        """What recalibrators of classifiers read."""
        return np.column_stack([1 - self.y_proba, self.y_proba])

    @property
    def staged_proba(self):
        return [self.y_proba**power for power in (0.5, 1, 2)]

    @property
    def batches(self):
        return [(self.y_true, self.y_proba)]

    @cached_property
    def estimator(self):
        return LogisticRegression().fit(self.X, self.y)

    @cached_property
    def cv_results(self):
        options = {"return_estimator": True, "return_indices": True}
        return cross_validate(LogisticRegression(), self.X, self.y, **options)

    @cached_property
    def summary(self):
        return streaming.CalibrationSummary().update(self.y_true, self.y_proba)

    @property
    def first(self):
        return self.summary

    @cached_property
    def second(self):
        return streaming.CalibrationSummary().update(self.y_true, self.y_proba**1.1)

    @cached_property
    def summaries(self):
        grouped = streaming.GroupedSummary()
        return grouped.update(self.y_true, self.y_proba, by=self.groups)

    @cached_property
    def lazy(self):
        import dask.array as da

        chunk = max(1, self.n_samples // 10)
        return [da.from_array(column, chunks=chunk) for column in (self.y_true, self.y_proba)]

    @cached_property
    def pooled(self):
        return inference.pooled_validation(self.y_true, self.y_proba, self.groups)

    @cached_property
    def monitor(self):
        return monitoring.CalibrationMonitor().update(self.y_true, self.y_proba)

    @cached_property
    def audit(self):
        return inference.audit_groups(self.y_true, self.y_proba, self.groups, random_state=0)

    @cached_property
    def decompositions(self):
        return {"model": metrics.corp_decomposition(self.y_true, self.y_proba)}

    @cached_property
    def model(self):
        return recalibration.PlattScaling().fit(self.scores, self.y)

    @cached_property
    def validation(self):
        few = {"n_resamples": 10, "stability": True, "random_state": 0}
        return model_selection.internal_validation(self.estimator, self.X, self.y, **few)


class RealRows(Rows):
    """Real outcomes, normal about their predictions."""

    estimator = Model()
    measure = "continuous_ranked_probability_score"

    def __init__(self, n_rows):
        super().__init__(n_rows)
        self.y_pred = self.estimator.predict(self.X)
        self.y_true = self.y = self.y_pred + self.rng.standard_normal(n_rows)
        self.y_std = np.ones(n_rows)
        self.distribution = self.y_pred, self.y_std
        self.test_distribution, self.test_targets = (np.zeros(3), np.ones(3)), np.zeros(3)
        self.y_interval = self.estimator.predict_interval(self.X)
        self.y_quantiles = self.estimator.predict_quantiles(self.X)

    @property
    def means(self):
        return self.y_pred[:, None]

    @property
    def scores(self):
        return np.column_stack(self.distribution)


class SurvivalRows(Rows):
    """Times with exponential distributions, half of which are censored."""

    estimator, times, horizon = Model(), np.array([0.2, 0.5]), 0.5

    def __init__(self, n_rows):
        super().__init__(n_rows)
        rates = np.exp(self.X[:, 1])
        last, seen = (self.rng.exponential(1 / rates) for _ in range(2))
        self.event, self.time = (last <= seen).astype(int), np.minimum(last, seen)
        self.y = np.column_stack([self.event, self.time])
        self.risk = 1 - np.exp(-rates[:, None] * self.times)
        self.survival = np.exp(-rates * self.time)
        until = np.array([self.times[0], self.time.max()])
        self.curves = {"times": until, "survival": np.exp(-rates[:, None] * until)}

    @property
    def scores(self):
        return self.risk


# What a call takes beside the parameters that it needs, or in place of these.
MORE = {
    "ForestDisplay.from_validation": lambda rows: {"validation": rows.pooled},
    "GroupAuditDisplay.from_estimator": lambda rows: {"groups": rows.groups},
    "OnlineRecalibratedClassifier.fit": lambda rows: {"estimator": FrozenEstimator(rows.estimator)},
    "QuantileReliabilityDisplay.from_estimator": lambda rows: {"response": "predict_quantiles"},
    "SurvivalReliabilityDisplay.from_predictions": lambda rows: {"risk": rows.risk},
    "aj_calibration": lambda rows: {"risk": rows.risk},
    "audit_groups_from_summary": lambda rows: {"summary": rows.summaries},
    "calibrated_within_one_se": lambda rows: {"calibration": "neg_smooth_ece"},
    "compare_calibration": lambda rows: {"other": rows.y_proba**1.1},
    "get_recalibrator": lambda rows: {"name": "platt"},
    "get_scorer": lambda rows: {"name": "neg_smooth_ece"},
    "make_distribution_scorer": lambda rows: {"measure": "continuous_ranked_probability_score"},
    "required_labels": lambda rows: {"agreement": 0.9, "n_rows": 1000},
    "summarize_dask": lambda rows: {"y_true": rows.lazy[0], "y_proba": rows.lazy[1]},
    "survival_at": lambda rows: rows.curves,
    "survival_calibration": lambda rows: {"risk": rows.risk},
    "to_onnx": lambda rows: {"X": rows.scores},
}
# What recalibrators read, if it is not `scores`.
READ = {
    "AutoMeans": "means",
    "IsotonicMeans": "means",
    "MeanScaling": "means",
    "ConformalInterval": "means",
    "ConformalQuantiles": "y_quantiles",
    "IsotonicDistributionalRegression": "means",
    "AutoEnsemble": "y_quantiles",
    "EnsembleScaling": "y_quantiles",
}
OF_REAL_OUTCOMES = {"y_pred", "y_std", "distribution", "y_interval", "y_quantiles"}


def list_calls():
    """Names of public functions, of ways to make displays and reports, and of fits and updates.

    Classes without any of these hold results.
    """
    for name, member in list_public():
        if inspect.isfunction(member):
            yield name
        elif not (issubclass(member, Exception | tuple) or inspect.isabstract(member)):
            ways = [way for way in dir(member) if way.startswith("from_") and way != "from_dict"]
            ways += [way for way in ("fit", "update") if hasattr(member, way)]
            yield from (f"{name}.{way}" for way in ways)


def list_public():
    """Public functions and classes, by their own name after that of their room."""
    for room in skcal.__all__:
        module = importlib.import_module(f"skcal.{room}")
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isfunction(found) or inspect.isclass(found):
                yield f"{room}.{name}", found


def find_members(name):
    """What is public, and the method of it that is called, or None."""
    room, public, *way = name.split(".")
    owner = getattr(importlib.import_module(f"skcal.{room}"), public)
    return owner, getattr(owner, way[0]) if way else None


def choose_rows(name):
    """The class of rows that a call needs."""
    owner, method = find_members(name)
    needed = {*list_needed(getattr(owner, "from_predictions", owner))}
    needed |= {*list_needed(method)} if method else set()
    if name.startswith("survival.") or needed & {"event", "times"}:
        return SurvivalRows
    return RealRows if name.startswith("regression.") or needed & OF_REAL_OUTCOMES else Rows


def make_call(name, rows):
    """A function without arguments that makes the call; arguments are computed here."""
    owner, method = find_members(name)
    if not name.endswith((".fit", ".update")):
        function = method or owner
        return partial(call_now, function, find_arguments(name, function, rows))
    made = owner(**find_arguments(name, owner, rows))
    if name.endswith(".update"):
        return partial(made.update, **find_arguments(name, made.update, rows))
    is_meta = "estimator" in inspect.signature(owner).parameters
    X = rows.X if is_meta else getattr(rows, READ.get(owner.__name__, "scores"))
    return partial(fit_and_answer, made, X, rows.y)


def list_needed(function):
    """Names of the parameters that have no default."""
    parameters = inspect.signature(function).parameters.values()
    variable = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
    return [p.name for p in parameters if p.default is p.empty and p.kind not in variable]


def find_arguments(name, function, rows):
    make_more = MORE.get(name.partition(".")[2])
    more = make_more(rows) if make_more else {}
    needed = [key for key in list_needed(function) if key not in more]
    if "random_state" in inspect.signature(function).parameters:
        needed.append("random_state")
    if unknown := [key for key in needed if key not in dir(rows)]:
        raise LookupError(f"{name} needs {', '.join(unknown)}, which calls.py does not know.")
    return {key: getattr(rows, key) for key in needed} | more


def call_now(function, arguments):
    made = function(**arguments)
    return made.compute() if hasattr(made, "compute") else made  # of Dask


def fit_and_answer(model, X, y):
    model.fit(X, y)
    ways = ("predict_proba", "predict", "transform")
    return next(getattr(model, way) for way in ways if hasattr(model, way))(X)
