"""BetaCalibration: closed forms, the constrained optimum, agreement with betacal."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.metrics import log_loss

from skcal.recalibration import BetaCalibration, PlattScaling
from tests.recalibration.family import make_scores

GRID = np.linspace(0.05, 0.95, 7)


def map_of(a, b, c, v):
    return expit(a * np.log(v) - b * np.log(1 - v) + c)


@pytest.mark.parametrize(
    ("parameters", "true"),
    [
        ("abm", (1.5, 0.4, -0.3)),
        ("am", (0.7, 0.7, 0.2)),
        ("ab", (1.5, 0.4, 1.1 * np.log(2))),
    ],
)
def test_known_map_is_found(parameters, true):
    """Labels in the exact proportions of a beta map."""
    v = np.linspace(0.05, 0.95, 19)
    proba = map_of(*true, v)
    X, y, weights = np.repeat(v, 2)[:, None], np.tile([0, 1], 19), np.c_[1 - proba, proba].ravel()
    fitted = BetaCalibration(parameters=parameters).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(fitted.maps_[0], true, rtol=1e-8)
    np.testing.assert_allclose(fitted.transform(v[:, None]).ravel(), proba, atol=1e-10)


def test_ab_leaves_one_half_in_place():
    X, y = make_scores(2)
    fitted = BetaCalibration(parameters="ab").fit(X, y)
    assert fitted.transform([[0.5, 0.5]])[0, 1] == pytest.approx(0.5, abs=1e-14)


def test_am_is_platt_scaling():
    X, y = make_scores(2)
    np.testing.assert_allclose(
        BetaCalibration(parameters="am").fit(X, y).transform(X),
        PlattScaling(target_smoothing=False).fit(X, y).transform(X),
        atol=1e-10,
    )


@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_minimises_the_log_loss_under_its_bounds(parameters, flip, seed):
    """With the labels flipped the best map would fall; the bounds then hold."""
    X, y = make_scores(2, 60, seed)
    y = 1 - y if flip else y
    v = X[:, 1]
    fitted = BetaCalibration(parameters=parameters).fit(X, y)

    def expand(free):
        if parameters == "am":
            return free[0], free[0], free[1]
        return free if parameters == "abm" else (*free, (free[0] - free[1]) * np.log(2))

    def loss(free):
        return log_loss(y, map_of(*expand(free), v))

    bounds = {"abm": [(0, None)] * 2 + [(None, None)], "am": [(0, None), (None, None)]}
    bounds = bounds.get(parameters, [(0, None)] * 2)
    best = minimize(loss, [1.0] * len(bounds), bounds=bounds, options={"ftol": 1e-14})
    a, b, _ = fitted.maps_[0]
    assert min(a, b) >= 0
    assert log_loss(y, map_of(*fitted.maps_[0], v)) <= best.fun + 1e-13


# betacal 1.1.0 on the shared files: its log loss, and its map at GRID. It fits by scikit-learn's
# LogisticRegression with the default tolerance.
BETACAL = {
    ("solar_flares_c1", "abm"): (
        0.4434270914509641,
        [0.095475, 0.159742, 0.229001, 0.324459, 0.466845, 0.681571, 0.947543],
    ),
    ("solar_flares_c1", "am"): (
        0.4518690824184648,
        [0.07116, 0.185181, 0.279651, 0.374212, 0.479466, 0.611414, 0.823557],
    ),
    ("solar_flares_c1", "ab"): (
        0.4686025588951719,
        [0.084674, 0.238374, 0.37017, 0.5, 0.635166, 0.780786, 0.941845],
    ),
    ("rain_finland_2003", "abm"): (
        0.46764813166180047,
        [0.178038, 0.218851, 0.239448, 0.255533, 0.270789, 0.288499, 0.322023],
    ),
    ("rain_finland_2003", "am"): (
        0.4686557213629737,
        [0.194221, 0.221479, 0.23587, 0.247944, 0.260425, 0.276448, 0.310795],
    ),
    ("rain_finland_2003", "ab"): (
        0.5423718342807576,
        [0.132922, 0.319701, 0.426235, 0.5, 0.556112, 0.602343, 0.648051],
    ),
}


@pytest.mark.parametrize(("name", "parameters"), BETACAL)
def test_agrees_with_betacal_and_is_at_least_as_good(shared_data, name, parameters):
    table = pd.read_csv(shared_data / f"{name}.csv")
    X, y = table.y_prob.to_numpy()[:, None], table.y_true.to_numpy()
    fitted = BetaCalibration(parameters=parameters).fit(X, y)
    their_loss, their_map = BETACAL[name, parameters]
    assert log_loss(y, fitted.transform(X).ravel()) <= their_loss + 1e-9
    np.testing.assert_allclose(fitted.transform(GRID[:, None]).ravel(), their_map, atol=1e-3)


def test_maps_do_not_fall():
    X, y = make_scores(2, 60)
    grid = np.linspace(0, 1, 101)[:, None]
    for labels in (y, 1 - y):
        assert (np.diff(BetaCalibration().fit(X[:, 1:], labels).transform(grid).ravel()) >= 0).all()


def test_logits_do_not_saturate():
    """Beyond 37 the probabilities of all logits are 1; the map still tells them apart."""
    X, y = make_scores(2, 60)
    scores = 30 * logit(X[:, 1:])
    proba = BetaCalibration(input="logits").fit(scores, y).transform(scores).ravel()
    order = np.argsort(scores.ravel())
    assert (np.diff(proba[order]) > 0).all()


def test_bad_option():
    with pytest.raises(ValueError, match="parameters must be one of 'abm', 'am', 'ab'; got 'a'"):
        BetaCalibration(parameters="a").fit([[0.2], [0.8]], [0, 1])
