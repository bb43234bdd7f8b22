"""Hostile events, times and risks."""

import numpy as np
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from sklearn.base import BaseEstimator

from skcal.diagrams import SurvivalReliabilityDisplay
from skcal.inference import net_benefit_difference
from skcal.model_selection import internal_survival_validation
from skcal.survival import (
    RecalibratedSurvivalCV,
    RiskRecalibration,
    a_calibration,
    aj_calibration,
    at_horizon,
    d_calibration,
    martingale_test,
    pseudo_values,
    survival_at,
    survival_calibration,
)
from tests.fuzz import strategies as some
from tests.fuzz.hostile import few, hostile
from tests.fuzz.options import options


@st.composite
def followed(draw, entries, wrong):
    """Events, and a number for each row; rarely what is wrong, or too few."""
    if draw(some.rarely()):
        entries = [*entries, *wrong]
    n_rows = draw(st.integers(0, 9))
    numbers = draw(st.lists(st.sampled_from(entries), min_size=n_rows, max_size=n_rows))
    events = draw(st.lists(st.sampled_from([0, 1, 1]), min_size=n_rows, max_size=n_rows))
    return events[draw(some.rarely()) :], numbers


# Rows from which censoring is learned, and weights of nine rows.
OTHERS = some.mostly(
    [None, None, ([0, 1, 0, 1], [1, 2, 2.5, 3]), ([1, 1], [0, 1e300]), [[0, 1], [1, 3]]],
    ["x", 5, ([0],), ([0, 2], [1, 2]), ([0], [np.nan]), ([0], [1], ["a"]), ([0], ["x"])],
)
WEIGHTS = st.none() | st.lists(
    st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.3, 1e-300, 1e300]), min_size=9, max_size=9
)


def weigh(rows, weights):
    """The first of the weights, one for each row."""
    return None if weights is None else weights[: len(rows[1])]


@hostile(
    rows=followed([0, 1, 2, 2.5, 3, 1e300], [-1, np.nan, np.inf, "x", None]),
    censoring=OTHERS,
    weights=WEIGHTS,
    horizon=some.mostly([1, 2, 0.5], [0, -1, 1e301, np.nan, "x", None]),
    strata=st.sampled_from([None, None, None, ["a"], list("ababababa")]),
    cause=some.mostly([None, 1, 2], [0, 3, "x"]),
    censored=some.mostly([None, None, 0], [1, -1, "x"]),
)
def test_at_horizon(rows, censoring, weights, horizon, strata, **coding):
    cause = coding["cause"]
    event, time = rows
    kinds = event if cause is None else [2 * e - (i % 2) * e for i, e in enumerate(event)]
    given = weigh(rows, weights)
    options = {"strata": strata, "censoring": censoring, "sample_weight": given}
    y_true, weights = at_horizon(kinds, time, horizon=horizon, **options, **coding)
    assert set(y_true) <= {0, 1}
    assert (np.isfinite(weights) & (weights >= 0)).all()
    assert given is not None or ((weights == 0) | (weights >= 1)).all()
    assert not y_true[weights == 0].any()
    return y_true, weights


SURVIVAL = followed([0.0, 5e-324, 0.1, 0.25, 0.5, 1.0], [-0.1, 1.5, np.nan, "x", None])
BEFORE = st.sampled_from([None, None, 1.0, 1.0, 0.5, "x"])
ENTRY = st.sampled_from([None, None, 1.0, 1.0, 0.5, 0.0, 5e-324, "x"])


def beside(rows, **probabilities):
    """By name the probability to survive up to just before, or up to entry, one for all rows."""
    return {
        f"survival_{name}": None if one is None else [one] * len(rows[1])
        for name, one in probabilities.items()
    }


@hostile(options(d_calibration, random_state=0), rows=SURVIVAL, before=BEFORE, entry=ENTRY)
def test_d_calibration(rows, before, entry, **arguments):
    found = d_calibration(*rows, **beside(rows, before=before, entry=entry), **arguments)
    np.testing.assert_allclose(found.shares.sum(), 1)
    assert (found.shares > -1e-9).all()
    assert 0 < found.pvalue <= 1
    return found


@hostile(options(a_calibration, random_state=0), rows=SURVIVAL, before=BEFORE, entry=ENTRY)
def test_a_calibration(rows, before, entry, **arguments):
    found = a_calibration(*rows, **beside(rows, before=before, entry=entry), **arguments)
    assert found.observed.sum() == np.sum(rows[0])
    assert (np.diff(found.edges) >= 0).all()
    assert 0 < found.pvalue <= 1
    return found


@hostile(
    rows=followed([0, 0.5, 1, 2, 2.5, 5e-324], [-1, 3, np.nan, np.inf, "x", None]),
    times=some.mostly([[1, 2.5], [0, 2.5], [5e-324, 2, 3]], [[0], [2, 1], [], 1, [np.nan], ["x"]]),
    curve=st.lists(
        st.sampled_from([0.0, 5e-324, 0.1, 0.5, 1 - 1e-16, 1.0]), min_size=3, max_size=3
    ),
)
def test_survival_at(rows, times, curve):
    curve = sorted(curve, reverse=True)[: len(times) if isinstance(times, list) else 1]
    found = survival_at(rows[1], [curve] * len(rows[1]), times=times)
    assert ((found >= curve[-1]) & (found <= 1)).all()
    return found


@hostile(rows=SURVIVAL, before=BEFORE, entry=ENTRY)
def test_martingale_test(rows, before, entry):
    found = martingale_test(*rows, **beside(rows, before=before, entry=entry))
    assert found.expected >= 0
    assert 0 < found.pvalue <= 1
    return found


@hostile(
    options(aj_calibration, random_state=0),
    rows=followed([0, 1, 2, 2.5, 3, 1e300, 1.7e308], [-1, np.nan, np.inf, "x", None]),
    times=some.mostly([[1], [1, 2], [5e-324, 2]], [[0, 1], [2, 1], [], 1, [np.nan], ["x"]]),
    risk=st.lists(st.sampled_from([0.0, 5e-324, 0.5, 1.0]), min_size=2, max_size=2),
    cause=some.mostly([None, 1], [0, 2, "x"]),
)
def test_aj_calibration(rows, times, risk, **arguments):
    risk = [risk[: len(times)] if isinstance(times, list) else risk] * len(rows[1])
    found = aj_calibration(*rows, risk, times=times, **arguments)
    assert 0 <= found.value <= 1
    assert 0 < found.pvalue <= 1
    assert ((found.observed >= 0) & (found.observed <= 1 + 1e-12)).all()
    return found


# Events and times with horizons, of which some rows are left at most.
ROWS = followed([0, 1, 2, 2.5, 3, 1e300, 5e-324], [-1, np.nan, np.inf, "x", None])
HORIZONS = some.mostly([[1], [1, 2], [0.5, 2.5], 1], [[0, 1], [2, 1], [], -1, [np.nan], ["x"]])
RISKS = st.lists(st.sampled_from([0.0, 5e-324, 0.25, 0.5, 1.0]), min_size=9, max_size=9)
CODING = {
    "strata": st.sampled_from([None, None, None, ["a"], list("ababababa")]),
    "cause": some.mostly([None, None, 1], [0, 2, "x"]),
}


def spread(risk, rows, times):
    """Risks of rows that rise with time, from one number for each of nine rows."""
    n_times = len(times) if isinstance(times, list) else 1
    return [[one ** (1 / (k + 1)) for k in range(n_times)] for one in risk[: len(rows[1])]]


@hostile(
    rows=ROWS,
    horizon=HORIZONS | st.sampled_from([1, 2.5]),
    others=st.one_of(OTHERS.map(lambda rows: {"censoring": rows}), WEIGHTS),
    **CODING,
)
def test_pseudo_values(rows, others, **arguments):
    if not isinstance(others, dict):
        others = {"sample_weight": weigh(rows, others)}
    values = pseudo_values(*rows, **others, **arguments)
    assert np.isfinite(values).all()
    return values


@hostile(
    options(survival_calibration, n_resamples=3, random_state=0),
    rows=ROWS,
    times=HORIZONS,
    risk=RISKS,
    clusters=st.sampled_from([None, None, list("aabbccdde"), ["a"]]),
    weights=WEIGHTS,
    **CODING,
    amount=few,
)
def test_survival_calibration(rows, times, risk, weights, **arguments):
    arguments["sample_weight"] = weigh(rows, weights)
    found = survival_calibration(*rows, spread(risk, rows, times), times=times, **arguments)
    assert 0 <= found.pvalue <= 1  # 0 for events whose risk was 0
    for one in found.horizons:
        assert 0 <= one.observed.low <= one.observed.high <= 1
        assert 0 <= one.smooth_ece.low <= one.smooth_ece.high
    assert len(str(found).splitlines()) == len(found.to_frame()) == np.size(times)
    # Nothing is a multiple of no expected events.
    return [one[1:4] if one.expected else one[1:3] for one in found.horizons]


@hostile(
    options(SurvivalReliabilityDisplay.from_predictions),
    rows=ROWS,
    times=HORIZONS,
    risk=RISKS,
    **CODING,
    amount=few,
)
def test_survival_reliability(rows, times, risk, **arguments):
    display = SurvivalReliabilityDisplay.from_predictions(
        *rows, spread(risk, rows, times), times=times, **arguments
    )
    plt.close(display.figure_)
    return [one.observed for one in display.curves]


@hostile(
    rows=ROWS,
    horizon=some.mostly([1, 2, 0.5, 5e-324], [0, np.nan, "x", None]),
    risk=RISKS,
    baseline=st.sampled_from(["all", "none", "model"]),
    is_clustered=st.booleans(),
    **CODING,
    amount=few,
)
def test_decisions_at_a_horizon(rows, horizon, risk, baseline, is_clustered, **coding):
    y, weight = at_horizon(*rows, horizon=horizon, **coding)
    models = risk[: len(y)], risk[::-1][: len(y)]
    found = net_benefit_difference(
        y,
        models[0],
        models[1] if baseline == "model" else baseline,
        sample_weight=weight,
        labels=[0, 1],
        clusters=list("aabbccdde")[: len(y)] if is_clustered else None,
        thresholds=[0.1, 0.25, 0.5],
    )
    assert (found.low <= found.difference).all()
    assert (found.difference <= found.high).all()
    assert (np.abs(found[1:]) <= 1 + 1e-9).all()
    return found[1:]


class Curves(BaseEstimator):
    """A survival model whose curves are given by its feature."""

    def fit(self, X, y):
        """Nothing to learn."""
        return self

    def predict_survival_function(self, X):
        """A curve for each row."""
        return [lambda t, p=float(one): (1 - p) ** np.asarray(t) for one in np.ravel(X)]


def pair(rows):
    """Events and times as two columns."""
    return [list(one) for one in zip(*rows, strict=False)]


@hostile(
    rows=ROWS,
    times=HORIZONS,
    risk=RISKS,
    cv=st.sampled_from([2, 2, 3, 1, "x"]),
    prior_rows=some.mostly([5.0, 1e-6, 1e12], [0, np.nan, "x"]),
    causes=some.mostly([None, None, [1]], [[1, 1], [0], "x"]),
    amount=few,
)
def test_risk_recalibration(rows, times, risk, **settings):
    X = spread(risk, rows, times)
    repaired = RiskRecalibration(times, **settings).fit(X, pair(rows)).transform(X)
    assert ((repaired >= 0) & (repaired <= 1)).all()
    assert (np.diff(repaired, axis=1) >= -1e-12).all()
    return repaired


@hostile(
    rows=ROWS,
    times=HORIZONS | st.none(),
    risk=RISKS,
    cv=st.sampled_from([None, 2, 2, 3, 1, "x"]),
    amount=few,
)
def test_recalibrated_survival(rows, times, risk, cv):
    X, y = np.reshape(risk[: len(rows[1])], (-1, 1)), pair(rows)
    model = RecalibratedSurvivalCV(Curves(), times=times, cv=cv).fit(X, y)
    survival = model.predict_survival_function(X, return_array=True)
    assert ((survival >= 0) & (survival <= 1)).all()
    last = model.unique_times_[-1]
    curves = np.array([one(np.arange(9) / 8 * last) for one in model.predict_survival_function(X)])
    assert ((curves[:, -1] == survival[:, -1]) & (curves[:, 0] == 1)).all()
    assert (np.diff(curves) <= 1e-12).all()
    return survival, curves, model.predict(X)


@hostile(
    options(internal_survival_validation, n_resamples=4, random_state=0),
    rows=ROWS,
    times=HORIZONS,
    risk=RISKS,
    amount=few,
)
def test_internal_survival_validation(rows, times, risk, **settings):
    X, y = np.reshape(risk[: len(rows[1])], (-1, 1)), pair(rows)
    found = internal_survival_validation(Curves(), X, y, times=times, **settings)
    assert len(found.to_frame()) == 3 * np.size(times)
    return found.n_models, [one.n_missing for one in found.measures.values()]
