"""ReliabilityDisplay: isotonic and binned curves."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import expected_calibration_error, smooth_ece, smooth_ece_curve

KINDS = ("smooth", "isotonic", "binned")
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    proba = rng.random(600).round(2)
    return (rng.random(600) < proba**1.5).astype(int), proba


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_curve_is_the_isotonic_regression(data, weighted):
    y, proba = data
    weight = np.random.default_rng(1).random(600) if weighted else None
    display = ReliabilityDisplay.from_predictions(y, proba, kind="isotonic", sample_weight=weight)
    expected = IsotonicRegression().fit(proba, y, sample_weight=weight)
    # Both ends of every step are there, so that the line passes through all fitted values.
    read = np.interp(np.unique(proba), display.prob_pred, display.prob_true)
    np.testing.assert_allclose(read, expected.predict(np.unique(proba)), atol=1e-12)
    assert (np.diff(display.prob_pred) > 0).all()
    assert np.isin(display.prob_pred, proba).all()
    # No knot could be left out: each one is an end of a step.
    level, count = np.unique(display.prob_true, return_counts=True)
    assert count.max() <= 2
    np.testing.assert_array_equal(level, np.unique(display.prob_true))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 7, 40])
def test_bins_are_those_of_scikit_learn(strategy, n_bins):
    rng = np.random.default_rng(0)
    proba = rng.beta(0.5, 2, 500)
    y = rng.random(500) < proba
    display = ReliabilityDisplay.from_predictions(
        y, proba, kind="binned", n_bins=n_bins, strategy=strategy
    )
    prob_true, prob_pred = calibration_curve(y, proba, n_bins=n_bins, strategy=strategy)
    np.testing.assert_allclose(display.prob_true, prob_true, atol=1e-12)
    np.testing.assert_allclose(display.prob_pred, prob_pred, atol=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "quantile", "sweep"])
def test_bins_are_those_of_the_measure(data, strategy):
    y, proba = data
    display = ReliabilityDisplay.from_predictions(y, proba, kind="binned", strategy=strategy)
    gaps = display.prob_true - display.prob_pred
    error = expected_calibration_error(y, proba, strategy=strategy, norm=np.inf)
    assert np.abs(gaps).max() == pytest.approx(error, abs=1e-12)


def test_weights_of_bins(data):
    y, proba = data
    repeats = np.random.default_rng(1).integers(0, 4, 600)
    weighted = ReliabilityDisplay.from_predictions(y, proba, kind="binned", sample_weight=repeats)
    repeated = ReliabilityDisplay.from_predictions(
        np.repeat(y, repeats), np.repeat(proba, repeats), kind="binned"
    )
    np.testing.assert_allclose(weighted.prob_true, repeated.prob_true, atol=1e-12)
    np.testing.assert_allclose(weighted.prob_pred, repeated.prob_pred, atol=1e-12)


@every_kind
def test_density_and_measure_do_not_depend_on_the_kind(data, kind):
    display = ReliabilityDisplay.from_predictions(*data, kind=kind)
    curve = smooth_ece_curve(*data)
    assert display.kind == kind
    assert display.smooth_ece == smooth_ece(*data)
    assert display.line_.get_label() == f"Classifier (smECE = {curve.value:.3f})"
    np.testing.assert_array_equal(display.density_grid, curve.grid)
    np.testing.assert_array_equal(display.density, curve.density)
    np.testing.assert_array_equal(display.line_.get_xdata(), display.prob_pred)
    np.testing.assert_array_equal(np.ma.getdata(display.line_.get_ydata()), display.prob_true)


@every_kind
def test_constructors_agree(data, kind):
    y, proba = data
    X = proba[:, None]
    model = LogisticRegression().fit(X, y)
    options = {"kind": kind, "n_bins": 5, "n_resamples": 20, "random_state": 0}
    by_estimator = ReliabilityDisplay.from_estimator(model, X, y, **options)
    direct = ReliabilityDisplay.from_predictions(y, model.predict_proba(X), **options)
    names = [name for name in vars(direct) if not name.endswith("_") and name != "name"]
    parts = {name: getattr(direct, name) for name in names}
    for name, value in parts.items():
        np.testing.assert_array_equal(getattr(by_estimator, name), value)
    by_hand = ReliabilityDisplay(**parts, name="Classifier").plot()
    for one, other in ((by_hand, direct), (by_estimator, direct)):
        np.testing.assert_array_equal(one.line_.get_xydata(), other.line_.get_xydata())
        assert one.line_.get_marker() == other.line_.get_marker()
    assert by_hand.line_.get_label() == direct.line_.get_label()


@pytest.mark.parametrize("kind", ["isotonic", "binned"])
@pytest.mark.parametrize(
    ("y", "proba"),
    [([1], [0.3]), ([0, 0], [0.3, 0.3]), ([1, 1, 1], [0.0, 1.0, 0.5]), ([0, 1], [0, 1])],
    ids=["one row", "constant", "one class", "perfect"],
)
def test_few_rows(y, proba, kind):
    options = {"n_resamples": 5, "random_state": 0, "rug": True, "witness": True}
    display = ReliabilityDisplay.from_predictions(y, proba, kind=kind, **options)
    display.figure_.canvas.draw()
    # Of steps only the ends are kept.
    expected = np.unique(proba)[[0, -1]] if kind == "isotonic" else proba
    np.testing.assert_array_equal(display.prob_pred, np.unique(expected))
    # A curve may be a single point, which a marker shows.
    assert display.line_.get_marker() == "o"


def test_folds(data):
    y, proba = data
    results = cross_validate(
        LogisticRegression(), proba[:, None], y, cv=3, return_estimator=True, return_indices=True
    )
    display = ReliabilityDisplay.from_cv_results(
        results, proba[:, None], y, kind="binned", n_bins=4, strategy="quantile"
    )
    for fold, rows in enumerate(results["indices"]["test"]):
        model = results["estimator"][fold]
        expected = ReliabilityDisplay.from_estimator(
            model, proba[rows, None], y[rows], kind="binned", n_bins=4, strategy="quantile"
        )
        np.testing.assert_array_equal(display.prob_true[fold], expected.prob_true)
    assert display.kind == "binned"


# ------------------------------------------------------------------------- bands


def test_bars_of_bins_hold_resampled_means(data):
    """Against means of redrawn rows: equal laws, so equal percentiles up to chance."""
    y, proba = data
    display = ReliabilityDisplay.from_predictions(
        y, proba, kind="binned", n_bins=4, n_resamples=1000, random_state=0
    )
    rows = np.random.default_rng(1).integers(0, 600, (1000, 600))
    bins = np.minimum((proba * 4 - 1e-9).astype(int), 3)
    for k in range(4):
        means = [y[i][bins[i] == k].mean() for i in rows]
        low, high = np.quantile(means, [0.025, 0.975])
        spread = np.std(means)
        assert display.prob_true_low[k] == pytest.approx(low, abs=0.4 * spread)
        assert display.prob_true_high[k] == pytest.approx(high, abs=0.4 * spread)
    segments = np.array(display.band_.get_segments())
    np.testing.assert_array_equal(segments[:, 0, 1], display.prob_true_low)
    np.testing.assert_array_equal(segments[:, 1, 1], display.prob_true_high)
    np.testing.assert_array_equal(segments[:, 0, 0], display.prob_pred)


def test_isotonic_curve_has_an_interval_and_no_band(data):
    options = {"n_resamples": 30, "random_state": 0}
    display = ReliabilityDisplay.from_predictions(*data, kind="isotonic", **options)
    smooth = ReliabilityDisplay.from_predictions(*data, **options)
    assert display.band_ is display.prob_true_low is display.prob_true_high is None
    assert display.smooth_ece_interval == smooth.smooth_ece_interval


# ------------------------------------------------------------------------- bad input


def test_hand_made_display_of_an_unknown_kind():
    display = ReliabilityDisplay(prob_pred=[0, 1], prob_true=[0, 1], kind="step")
    with pytest.raises(ValueError, match="kind must be one of 'smooth', 'isotonic', 'binned'"):
        display.plot()
    assert not plt.get_fignums()
