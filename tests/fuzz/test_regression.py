"""Hostile targets and predictions beyond classification: an answer, or a clear error."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skcal import metrics
from skcal.metrics import BregmanDivergence, Mixture, MultivariateNormal
from tests.fuzz.hostile import check_call
from tests.fuzz.options import OPTIONS, options
from tests.fuzz.strategies import (
    NO_PROBABILITIES,
    NO_REALS,
    NO_SCALES,
    PROBABILITIES,
    REALS,
    SCALES,
    mostly,
    problems,
    rarely,
    reals,
    weights,
)

UNIVARIATE = {"norm": stats.norm, "laplace": stats.laplace, "cauchy": stats.cauchy}
# What is no distribution that is known, or none at all.
STRANGE = {
    "poisson": stats.poisson(2.0),
    "gamma": stats.gamma(2.0),
    "one of many dimensions": stats.multivariate_normal([0.0, 0.0]),
    "not frozen": stats.norm,
    "number": 1.0,
    "nothing": None,
}


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
    if family == "new normal":
        return stats.Normal(mu=loc, sigma=scale)
    if family.startswith("list of "):
        component = family.removeprefix("list of ")
        return Mixture(weights, [make_distribution(component, loc, scale, None)] * 2)
    if family.startswith("matrix of "):
        return Mixture(weights, make_distribution(family.removeprefix("matrix of "), loc, scale, 0))
    return UNIVARIATE[family](loc, scale)


FAMILIES = ["norm", "norm", "laplace", "cauchy", "multivariate", "given"]
FAMILIES += ["list of norm", "list of laplace", "list of multivariate", "list of list of norm"]
FAMILIES += ["matrix of norm", "matrix of laplace", "matrix of multivariate"]
FAMILIES += ["new normal"] if hasattr(stats, "Normal") else []


@st.composite
def distributions(draw, n_rows, n_dimensions, families=None):
    """Arguments of `make_distribution`."""
    family = draw(mostly(FAMILIES, [*STRANGE]) if families is None else families)
    rows = draw(st.sampled_from([(n_rows,), (n_rows,), ()]))
    if family.startswith("matrix of "):
        rows = (n_rows, 2)
    if family.endswith("multivariate"):
        loc = draw(reals((*rows, n_dimensions)))
        scale = draw(covariances(draw(st.sampled_from([(), rows])), n_dimensions))
    else:
        loc = draw(reals(rows))
        scale = draw(reals(draw(st.sampled_from([(), rows])), SCALES, NO_SCALES))
    share = draw(mostly([[0.5, 0.5], [0.25, 0.75], [1, 0], [1e-300, 1]], [[0.5, 1]]))
    return {
        "family": family,
        "loc": loc,
        "scale": scale,
        "weights": draw(st.sampled_from([share, [share] * n_rows])),
    }


@st.composite
def covariances(draw, rows, n_dimensions):
    """Covariances of some size, or matrices that are none."""
    if draw(rarely()):
        return draw(reals((*rows, n_dimensions, n_dimensions)))
    root = np.tril(np.asarray(draw(st.lists(st.floats(-2, 2), min_size=9, max_size=9))))[:9]
    root = np.resize(root, (3, 3))[:n_dimensions, :n_dimensions]
    cov = root @ root.T + np.eye(n_dimensions) * draw(st.sampled_from([1.0, 1e-9, 0.0]))
    with np.errstate(over="ignore"):
        return np.broadcast_to(draw(SCALES) * cov, (*rows, n_dimensions, n_dimensions))


@st.composite
def calls(draw, name):
    n_rows = draw(st.integers(0, 5) | st.just(12))
    n_dimensions = draw(st.sampled_from([1, 1, 2, 3]))
    parameters = inspect.signature(getattr(metrics, name)).parameters
    shapes = [(n_rows,), (n_rows,), (n_rows, 1)]
    if name.startswith("distribution_") and n_dimensions > 1:
        shapes = [(n_rows, n_dimensions)] * 2 + shapes[:1]
    shape = draw(st.sampled_from(shapes))
    arguments = {"y_true": draw(reals(shape))}
    levels = draw(OPTIONS["levels"])
    columns = (n_rows, np.size(levels)) if np.ndim(levels) else (n_rows,)
    drawn = {
        "distribution": distributions(n_rows, n_dimensions),
        "sample_weight": weights(n_rows),
        "y_quantiles": reals(columns, REALS | st.sampled_from([-np.inf, np.inf])),
        "y_pred": reals((n_rows,)),
        "y_std": reals((n_rows,), SCALES, NO_SCALES),
        "test_targets": reals((2,) if n_dimensions == 1 else (2, n_dimensions)),
    }
    arguments |= {key: draw(values) for key, values in drawn.items() if key in parameters}
    if "test_distribution" in parameters:
        family = arguments["distribution"]["family"]
        others = mostly([family], FAMILIES)
        arguments["test_distribution"] = draw(distributions(2, n_dimensions, others))
    return arguments | draw(options(getattr(metrics, name), quantiles=levels))


MEASURES_OF_REALS = [
    name
    for name in metrics.__all__
    if inspect.isroutine(getattr(metrics, name))
    and "y_proba" not in inspect.signature(getattr(metrics, name)).parameters
]


@pytest.mark.parametrize("name", MEASURES_OF_REALS)
def test_hostile_predictions(name):
    def run(**arguments):
        for key in {"distribution", "test_distribution"} & arguments.keys():
            arguments[key] = make_distribution(**arguments[key])
        return getattr(metrics, name)(**arguments)

    @given(calls(name))
    def check(arguments):
        check_call(run, arguments)

    check()


@given(st.data())
def test_hostile_arguments_of_a_cdf(data):
    n_rows = data.draw(st.integers(0, 4))
    arguments = data.draw(distributions(n_rows, 2)) | {"x": data.draw(reals((n_rows,)))}

    def evaluate(family, x, **parameters):
        mixture = make_distribution(f"list of {family}", **parameters)
        return mixture.cdf(x)

    check_call(evaluate, arguments)


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


@given(
    problems(),
    mostly([("square", "double"), ("exp", "exp"), ("careless entropy", "logit")], [None]),
    st.sampled_from([*FUNCTIONS]),
    st.sampled_from([*FUNCTIONS]),
    options(metrics.calibration_decomposition, skip=["divergence"]),
)
def test_hostile_divergences(problem, functions, phi, gradient, settings):
    phi, gradient = functions or (phi, gradient)
    del problem["reduction"]

    def decompose(phi, gradient, **arguments):
        divergence = BregmanDivergence(FUNCTIONS[phi], FUNCTIONS[gradient])
        return metrics.calibration_decomposition(**arguments, divergence=divergence)

    check_call(decompose, problem | settings | {"phi": phi, "gradient": gradient})


@given(st.data())
def test_hostile_arguments_of_a_divergence(data):
    entries = PROBABILITIES | NO_PROBABILITIES
    arguments = {name: data.draw(reals((2,), PROBABILITIES, entries | NO_REALS)) for name in "yv"}
    check_call(BregmanDivergence(np.square, lambda v: 2 * v), arguments)
