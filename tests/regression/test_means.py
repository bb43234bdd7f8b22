"""Recalibrators of predicted means: closed forms, definitions, guarantees, and bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression, PoissonRegressor, TweedieRegressor
from sklearn.metrics import mean_tweedie_deviance
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict

from skcal.regression import (
    AutoMeans,
    IsotonicMeans,
    MeanScaling,
    NotPredictionsError,
    RecalibratedRegressorCV,
    corp_regression_decomposition,
)

POWERS = [1, 1.3, 2]
every_power = pytest.mark.parametrize("power", POWERS)
every_class = pytest.mark.parametrize("R", [MeanScaling, IsotonicMeans, AutoMeans])


def draw_counts(n_rows=400, seed=0):
    """Predictions that are too far from each other, counts, and what the counts should be."""
    rng = np.random.default_rng(seed)
    truth = rng.gamma(2.0, size=n_rows)
    return truth**1.4, rng.poisson(truth).astype(float), truth


def draw_numbers(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n_rows)
    return 2 * truth + 1, rng.normal(truth), truth


# -------------------------------------------------------------------------------------- all of them


@every_class
def test_means_keep_their_shape(R):
    m, y, _ = draw_counts(60)
    model = R().fit(m, y)
    expected = model.predict(m)
    assert expected.shape == (60,)
    column = model.transform(m[:, None])
    assert column.shape == (60, 1)
    for found in (
        column[:, 0],
        model.transform(m),
        model.transform(pd.Series(m)),
        model.predict([*m]),
    ):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(R().fit(m[:, None], y).predict(m), expected)
    np.testing.assert_array_equal(R().fit([*m], pd.Series(y)).predict(m), expected)


@every_class
@pytest.mark.parametrize("draw", [draw_counts, draw_numbers])
def test_larger_predictions_keep_larger_means(R, draw):
    m, y, _ = draw()
    order = np.sort(m)
    assert (np.diff(R().fit(m, y).predict(order)) >= 0).all()
    assert (
        np.diff(R().fit(m, -y if draw is draw_numbers else y.max() - y).predict(order)) >= 0
    ).all()


@every_class
def test_wrong_shapes_and_numbers(R):
    m, y, _ = draw_counts(60)
    model = R().fit(m, y)
    with pytest.raises(NotPredictionsError, match=r"columns mean .* got 2 feature\(s\)"):
        R().fit(np.column_stack([m, m]), y)
    with pytest.raises(ValueError, match=r"X has 2 features.*expecting 1"):
        model.transform(np.column_stack([m, m]))
    for method in (model.transform, model.predict):
        with pytest.raises(NotPredictionsError, match=r"finite .*; got \[nan\] at row 1"):
            method([1.0, np.nan])
    message = r"y must hold finite numbers; got nan at row 1, and in 1 of 3 rows"
    for missing in (
        [1, np.nan, 2],
        [1, None, 2],
        np.array([1, np.nan, 2]),
        pd.Series([1, None, 2]),
    ):
        with pytest.raises(ValueError, match=message):
            R().fit(m[:3], missing)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        R().fit(m, y[1:])


with_link = pytest.mark.parametrize("R", [MeanScaling, AutoMeans])


@with_link
def test_link_depends_on_signs(R):
    m, y, _ = draw_counts(60)
    for means, targets, expected in (
        (m, y, "log"),
        (m - 0.1, y, "identity"),
        (np.append(0.0, m[1:]), y, "identity"),
        (m, y - 0.1, "identity"),
    ):
        assert R().fit(means, targets).link_ == expected
    assert R("identity").fit(m, y).link_ == "identity"


@with_link
def test_what_the_log_link_cannot_take(R):
    m, y, _ = draw_counts(60)
    with pytest.raises(
        ValueError, match=r"y must not be negative for the log link; got -1\.0 at row 3"
    ):
        R("log").fit(m, np.where(np.arange(60) == 3, -1.0, y))
    with pytest.raises(
        NotPredictionsError, match=r'above 0 for the log link; link="identity" .* row 2'
    ):
        R("log").fit(np.where(np.arange(60) == 2, 0.0, m), y)
    model = R("log").fit(m, y)
    with pytest.raises(
        NotPredictionsError, match=r"above 0 for the log link.* got -1\.0 at row 1, and"
    ):
        model.predict([1.0, -1.0])
    with pytest.raises(ValueError, match=r"y must be above 0 with a power of 2; got 0\.0 at row"):
        R(power=2).fit(m, y)
    with pytest.raises(
        ValueError, match="y must hold a number above 0 for the log link; all are 0"
    ):
        MeanScaling().fit(m, np.zeros(60))
    with pytest.raises(
        ValueError, match="link must be one of 'auto', 'log', 'identity'; got 'logit'"
    ):
        R("logit").fit(m, y)
    for power in (0, 3, np.nan, "1"):
        with pytest.raises(ValueError, match="power must be"):
            R(power=power).fit(m, y)


@with_link
def test_link_that_auto_chose_takes_all_predictions(R):
    m, y, _ = draw_counts(60)
    few = m[:2], np.array([1.0, 2.0])  # which AutoMeans leaves unchanged
    for rows in ((m, y), few):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = R().fit(*rows)
        lowest = rows[0].min()
        np.testing.assert_array_equal(model.predict([-1.0, 0.0]), model.predict([lowest, lowest]))
    line = RecalibratedRegressorCV(LinearRegression(), R(), cv=KFold(4))
    X = np.linspace(1, 5, 40)[:, None]
    line.fit(X, X[:, 0] + np.tile([0.5, 0.0, -0.5, 0.0], 10))
    assert line.recalibrator_.link_ == "log"
    assert line.predict([[-1.0]]) > 0


@every_class
def test_in_a_regressor(R):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = rng.poisson(np.exp(X[:, 0]))
    model = RecalibratedRegressorCV(PoissonRegressor(alpha=1.0), R(), cv=KFold(4)).fit(X, y)
    held_out = cross_val_predict(PoissonRegressor(alpha=1.0), X, y, cv=KFold(4))
    by_hand, final = R().fit(held_out, y), PoissonRegressor(alpha=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), by_hand.predict(final.predict(X)), rtol=1e-12)
    for name in ("predict_interval", "predict_quantiles", "predict_distribution"):
        assert not hasattr(model, name)
    with pytest.raises(ValueError, match="return_std must be False"):
        model.predict(X, return_std=True)


# -------------------------------------------------------------------------------------- MeanScaling


@every_power
@pytest.mark.parametrize(("slope", "intercept"), [(0.4, 1.0), (1.0, 0.0), (3.0, -5.0)])
def test_targets_on_a_line_give_the_line(power, slope, intercept):
    m = np.linspace(0.5, 4, 9)
    model = MeanScaling(power=power).fit(m, np.exp(intercept) * m**slope)
    assert (model.slope_, model.intercept_) == pytest.approx((slope, intercept), abs=1e-7)
    model = MeanScaling().fit(m - 2, intercept + slope * (m - 2) - 9)
    assert model.link_ == "identity"
    assert (model.slope_, model.intercept_) == pytest.approx((slope, intercept - 9))


@every_power
def test_laws_with_a_known_tilt_are_repaired_to_it(power):
    """Weights are the probabilities of counts, or integrate over a gamma law: not one row is drawn.

    The means are right for every variance, so that the power of the law does not matter.
    """
    m, tilt = np.array([0.5, 1.0, 2.0, 3.0]), (1.5, -0.3)
    truth = np.exp(tilt[1]) * m ** tilt[0]
    if power == 2:
        nodes, mass = np.polynomial.laguerre.laggauss(20)
        y, weights = np.outer(truth, nodes), np.tile(mass, (4, 1))
    else:
        y = np.tile(np.arange(80.0), (4, 1))
        weights = stats.poisson.pmf(y, truth[:, None])
    X = np.repeat(m, y.shape[1])
    model = MeanScaling(power=power).fit(X, y.ravel(), sample_weight=weights.ravel())
    assert (model.slope_, model.intercept_) == pytest.approx(tilt, abs=1e-6)
    np.testing.assert_allclose(model.predict(m), truth, rtol=1e-6)


@every_power
def test_line_is_that_of_a_generalized_linear_model(power):
    """scikit-learn's TweedieRegressor without a penalty, with exposures as weights."""
    m, y, _ = draw_counts()
    y, exposure = y + 0.1 * (power == 2), np.random.default_rng(1).uniform(0.1, 1, len(m))
    model = MeanScaling(power=power).fit(m, y, sample_weight=exposure)
    peer = TweedieRegressor(power=power, alpha=0, link="log", solver="newton-cholesky", tol=1e-10)
    peer.fit(np.log(m)[:, None], y, sample_weight=exposure)
    assert model.slope_ == pytest.approx(peer.coef_[0], rel=1e-6)
    assert model.intercept_ == pytest.approx(peer.intercept_, rel=1e-6)


def test_means_are_right_on_average():
    for m, y, _ in (draw_counts(), draw_numbers()):
        weights = np.random.default_rng(2).uniform(size=len(m))
        found = MeanScaling().fit(m, y, sample_weight=weights).predict(m)
        assert weights @ found == pytest.approx(weights @ y, rel=1e-7)


def test_deviance_is_least():
    m, y, _ = draw_counts()
    for power in (1, 1.7):
        model = MeanScaling(power=power).fit(m, y)
        least = mean_tweedie_deviance(y, model.predict(m), power=power)
        for a, b in ((0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01)):
            other = np.exp(model.intercept_ + a + (model.slope_ + b) * np.log(m))
            assert mean_tweedie_deviance(y, other, power=power) > least


def test_predictions_in_reverse_give_one_mean():
    m, y, _ = draw_counts()
    for targets, power in ((100 - y, 1), (100 - y, 2), (-y, 1)):
        model = MeanScaling(power=power).fit(m, targets)
        assert model.slope_ == 0
        np.testing.assert_allclose(model.predict(m), targets.mean())


@pytest.mark.filterwarnings("ignore:y is above 0 at the largest")
@pytest.mark.parametrize("y", [[5e-324] * 4, [0.0, 0.0, 5e-324, 5e-324], [0.0, 0.0, 0.0, 5e-324]])
@pytest.mark.parametrize("m", [[1.0, 1.0, 2.0, 4.0], [1.0, 1.0, 1.0, 1.0]])
def test_the_smallest_targets_are_those_of_another_unit(m, y):
    """A mean of the smallest floating-point numbers underflows."""
    small, large = (MeanScaling().fit(m, np.array(y) * unit) for unit in (1, 2.0**1000))
    assert small.slope_ == large.slope_
    assert small.intercept_ == pytest.approx(large.intercept_ - 1000 * np.log(2))


def test_equal_predictions_keep_the_slope_of_1():
    for m, y in (([2.0] * 4, [1.0, 2.0, 4.0, 9.0]), ([2.0], [4.0])):
        model = MeanScaling().fit(m, y)
        assert model.slope_ == 1
        np.testing.assert_allclose(model.predict([2.0, 6.0]), [4.0, 12.0])
        model = MeanScaling("identity").fit(m, y)
        np.testing.assert_allclose(model.predict([2.0, 6.0]), [4.0, 8.0])


@pytest.mark.parametrize("power", [1, 1.5])
def test_targets_at_the_largest_prediction_alone_keep_the_slope_of_1(power):
    """The deviance falls for ever with the slope; the intercept solves its equation."""
    m, y = np.linspace(0.01, 0.05, 100), np.eye(100)[-1]
    weights = np.random.default_rng(0).uniform(size=100)
    with pytest.warns(UserWarning, match=r"largest of the predictions alone.* slope is set to 1"):
        model = MeanScaling(power=power).fit(m, y, sample_weight=weights)
    assert model.slope_ == 1
    found = model.predict(m)
    np.testing.assert_allclose(found / m, found[0] / m[0])
    assert weights @ (y * found ** (1 - power)) == pytest.approx(weights @ found ** (2 - power))
    AutoMeans(power=power, cv=[(np.arange(100), np.arange(100))]).fit(m, y)  # without a warning


@with_link
def test_positive_means_stay_positive_and_finite(R):
    """Also where only the largest predictions have a target above 0, so that the slope is large."""
    m, y = np.linspace(1, 2, 40), np.repeat([0.0, 5.0], [30, 10])
    found = R().fit(m, y).predict([1e-100, 1e-3, 1.0, 2.0, 1e3, 1e100])
    assert (found > 0).all()
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()


# ------------------------------------------------------------------------------------ IsotonicMeans


@pytest.mark.parametrize("draw", [draw_counts, draw_numbers])
def test_isotonic_means_are_those_of_scikit_learn(draw):
    m, y, _ = draw()
    m, weights = m.round(1), np.random.default_rng(3).integers(0, 4, len(m))
    peer = IsotonicRegression(out_of_bounds="clip").fit(m, y, sample_weight=weights)
    at = np.linspace(m.min() - 1, m.max() + 1, 999)
    model = IsotonicMeans().fit(m, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(at), peer.predict(at), rtol=1e-12, atol=1e-12)
    repaired = model.predict(m)
    for value in np.unique(repaired):
        rows = (repaired == value) & (weights > 0)
        if rows.any():
            assert np.average(y[rows], weights=weights[rows]) == pytest.approx(value, abs=1e-12)
    # What the measure calls miscalibration is gone.
    parts = corp_regression_decomposition(y, repaired, sample_weight=weights)
    assert parts.miscalibration == pytest.approx(0, abs=1e-12)


def test_prior_rows_are_rows_with_the_mean_at_both_ends():
    m, y, _ = draw_counts(50)
    weights = np.random.default_rng(0).uniform(size=50)
    mean = np.average(y, weights=weights)
    model = IsotonicMeans(prior_rows=3).fit(m, y, sample_weight=weights)
    rows = np.append(m, [m.min(), m.max()]), np.append(y, [mean, mean])
    by_hand = IsotonicMeans().fit(*rows, sample_weight=np.append(weights, [1.5, 1.5]))
    np.testing.assert_allclose(model.predict(m), by_hand.predict(m), rtol=1e-12)
    steps = np.repeat([0.0, 1.0], 25)
    assert (IsotonicMeans(prior_rows=1e-3).fit(np.sort(m), steps).predict(m) > 0).all()
    assert (IsotonicMeans().fit(np.sort(m), steps).predict(np.sort(m)) == steps).all()
    for wrong in (-1, np.nan, "1"):
        with pytest.raises(ValueError, match="prior_rows must be"):
            IsotonicMeans(prior_rows=wrong).fit(m, y)


def test_knots_are_few():
    model = IsotonicMeans().fit(np.arange(1000.0), np.repeat([1.0, 2.0], 500))
    np.testing.assert_array_equal(model.predictions_, [0, 499, 500, 999])
    np.testing.assert_array_equal(model.means_, [1, 1, 2, 2])


# ---------------------------------------------------------------------------------------- AutoMeans


def hold_out(m, y, splits, power):
    """What the members say of rows held out, on the scale of the link, by hand."""
    parts = []
    for train, test in splits:
        link = "log" if power else "identity"
        scaling = MeanScaling(link, power=power or 1).fit(m[train], y[train])
        isotonic = IsotonicMeans(prior_rows=1).fit(m[train], y[train])
        parts.append(np.array([m[test], scaling.predict(m[test]), isotonic.predict(m[test])]))
    means = np.concatenate(parts, axis=1)
    return means, np.concatenate([y[test] for _, test in splits])


@pytest.mark.parametrize("power", [0, 1, 1.5, 2])
@pytest.mark.parametrize("strength", [0.0, 0.3])
def test_weights_minimise_the_penalised_deviance(power, strength):
    """Against all weights on a grid of the simplex."""
    rng = np.random.default_rng(4)
    truth = rng.gamma(3.0, size=150)
    y = rng.poisson(truth) + (power == 2) if power else rng.normal(truth)
    m = truth * np.exp(strength * (truth > 3)) - 99 * (power == 0)
    y = y - 99.0 * (power == 0)
    splits = [*KFold(3, shuffle=True, random_state=0).split(m)]
    model = AutoMeans(power=power or 1, cv=splits, prior_rows=2.0).fit(m, y)
    assert model.link_ == ("log" if power else "identity")
    means, targets = hold_out(m, y, splits, power)
    deviances = [mean_tweedie_deviance(targets, one, power=power) for one in means]
    np.testing.assert_allclose(model.deviances_, deviances)
    best = means[np.argmin(deviances)]
    dispersion = np.mean((targets - best) ** 2 / best**power)
    totals = np.array(deviances) * 150 / 2 / dispersion
    kept = totals <= totals.min() + np.array([4.0, 10.0, 10.0])
    assert ((model.weights_ > 0) == kept).all()

    def measure(weights):
        link, back = (np.log, np.exp) if power else (lambda v: v, lambda v: v)
        pool = back(weights @ link(means[kept]))
        loss = mean_tweedie_deviance(targets, pool, power=power) * 150 / 2 / dispersion
        return loss - np.array([2.0, 0.5, 0.5])[kept] @ np.log(weights)

    own = model.weights_[kept]
    assert own.sum() == pytest.approx(1)
    if len(own) > 1:
        grid = rng.dirichlet(np.ones(len(own)), 300)
        nearby = 0.99 * own + 0.01 * grid
        assert all(measure(own) <= measure(weights) for weights in [*grid, *nearby])
    pool = model.weights_ @ np.array(
        [
            np.log(one) if power else one
            for one in (m, *(part.predict(m) for part in model.recalibrators_))
        ]
    )
    np.testing.assert_allclose(model.predict(m), np.exp(pool) if power else pool, rtol=1e-12)


def test_gain_is_that_of_weights_from_the_other_folds():
    m, y, _ = draw_counts(200)
    splits = [*KFold(2, shuffle=True, random_state=0).split(m)]
    model, pooled, targets = AutoMeans(cv=splits).fit(m, y), [], []
    for train, test in splits:
        members, held_out = hold_out(m, y, [(train, test)], 1)
        # Weights from the other fold: those of a fit that tests it alone.
        weights = AutoMeans(cv=[(test, train)]).fit(m, y).weights_
        pooled.append(np.exp(weights @ np.log(members)))
        targets.append(held_out)
    loss = mean_tweedie_deviance(np.concatenate(targets), np.concatenate(pooled), power=1)
    assert model.gain_ == pytest.approx(model.deviances_[0] - loss)


def test_rows_that_refute_a_member_and_rows_that_do_not():
    m, y, truth = draw_counts(3000)
    wrong, right = AutoMeans().fit(100 * m, y), AutoMeans().fit(truth, y)
    assert wrong.weights_[0] == 0
    assert wrong.gain_ > 10
    assert right.weights_[0] > 0.8
    assert abs(right.gain_) < 1e-3
    assert AutoMeans(prior_rows=1e6).fit(m, y).weights_[0] > 0.99


@pytest.mark.parametrize("link", ["log", "identity"])
@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("error", [0.0, 1e-9])
def test_maps_that_are_exact_keep_the_weights_of_the_prior(link, power, error):
    """Isotonic means, constant beyond the last row, are refuted; the others had 5 rows and 1/2."""
    y = np.arange(1.0, 16)
    model = AutoMeans(link, power=power).fit(y * (1 + error * (-1.0) ** np.arange(15)), y)
    np.testing.assert_allclose(model.weights_, [10 / 11, 1 / 11, 0], rtol=1e-3)


def test_predictions_that_are_exact_in_a_regressor():
    X = np.linspace(1, 10, 200)[:, None]
    model = RecalibratedRegressorCV(LinearRegression(), AutoMeans()).fit(X, 2 * X[:, 0])
    np.testing.assert_allclose(model.predict(X), 2 * X[:, 0], rtol=1e-6)


def test_order_of_rows_is_irrelevant_and_copies_stay_together():
    m, y, _ = draw_counts(80)
    order, expected = np.random.default_rng(0).permutation(80), AutoMeans().fit(m, y)
    found = AutoMeans().fit(m[order], y[order])
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-9)
    # Where copies were in several folds, an isotonic curve would know the rows that it predicts.
    noise = np.random.default_rng(1).poisson(1.0, 80)
    copies = AutoMeans().fit(np.repeat(m, 20), np.repeat(noise, 20))
    weighted = AutoMeans().fit(m, noise, sample_weight=np.full(80, 20))
    np.testing.assert_allclose(copies.weights_, weighted.weights_, rtol=1e-9)


def test_folds_of_a_splitter_and_rows_of_no_weight():
    m, y, _ = draw_counts(90)
    weights = np.arange(90) % 3
    splits = [*GroupKFold(3).split(m, y, np.arange(90) // 10)]
    found = AutoMeans(cv=splits).fit(m, y, sample_weight=weights)
    kept = np.flatnonzero(weights)
    place = np.cumsum(weights > 0) - 1
    fewer = [(place[a[weights[a] > 0]], place[b[weights[b] > 0]]) for a, b in splits]
    expected = AutoMeans(cv=fewer).fit(m[kept], y[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-12)
    assert AutoMeans(cv=KFold(3)).fit(m, y).weights_.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match=r"pass cv=list\(GroupKFold\(.*2.*\.split\(X, y, groups"):
        AutoMeans(cv=GroupKFold(2)).fit(m, y)
    for wrong in (1, "kfold", [([0], [1, 2, 3])] * 0):
        with pytest.raises(ValueError, match="cv must"):
            AutoMeans(cv=wrong).fit(m, y)
    for wrong in (0, np.nan):
        with pytest.raises(ValueError, match="prior_rows must be"):
            AutoMeans(prior_rows=wrong).fit(m, y)


@pytest.mark.parametrize(
    ("m", "y", "message"),
    [
        ([1.0, 2.0], [5.0, 7.0], "too little to learn from, 2 rows"),
        (
            np.arange(1.0, 51),
            np.eye(50)[7],
            r"target above 0 in the train rows .* got 1 in 50 rows",
        ),
        (np.arange(1.0, 51), np.zeros(50), r"target above 0 in the train rows .* got 0 in 50 rows"),
    ],
)
def test_too_little_to_learn_from_changes_nothing(m, y, message):
    with pytest.warns(UserWarning, match=f"{message}: predictions are left unchanged"):
        model = AutoMeans().fit(m, y)
    np.testing.assert_array_equal(model.weights_, [1, 0, 0])
    np.testing.assert_array_equal(model.transform(m), m)
    assert np.isnan(model.deviances_).all()
    assert model.gain_ == 0


ERRORS = {
    "none": lambda t: t,
    "bias": lambda t: 1.1 * t,
    "tilt": lambda t: np.sign(t) * np.abs(t) ** 1.3,
    "step": lambda t: t + (t > 1.5),
}


def measure_harm(power, n_rows, error, seed):
    """How much likelier new targets were under the predictions, for as many rows as were fitted."""
    rng = np.random.default_rng(seed)
    truth = rng.gamma(2.0, size=n_rows + 5000) if power else rng.normal(size=n_rows + 5000)
    y = {
        0: lambda: rng.normal(truth),
        1: lambda: rng.poisson(truth),
        2: lambda: truth * rng.gamma(1.0, size=len(truth)),
    }[power]()
    m, new = ERRORS[error](truth), slice(n_rows, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows
        model = AutoMeans(power=power or 1).fit(m[:n_rows], y[:n_rows])
    # The expected deviance of targets exceeds that of the true means by a constant.
    before, after = (
        mean_tweedie_deviance(truth[new], one, power=power)
        for one in (m[new], model.predict(m[new]))
    )
    return (after - before) * n_rows / 2


@pytest.mark.slow
@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("n_rows", [10, 50, 400])
@pytest.mark.parametrize("error", ERRORS)
def test_repair_never_harms_beyond_noise(power, n_rows, error):
    """In units in which fitting one parameter costs half a unit, on average over 50 problems."""
    harm = np.array([measure_harm(power, n_rows, error, seed) for seed in range(50)])
    assert harm.mean() < 0.5
    assert harm.max() < 10
    if n_rows == 400 and error in ("tilt", "step"):
        assert harm.mean() < -1
