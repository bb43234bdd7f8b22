"""Reliability diagrams of predicted means."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from skcal._input._predicted._means import read_means
from skcal._numerics.curves._mean_curve import choose_bandwidth, smooth_means
from skcal.diagrams import MeanReliabilityDisplay
from skcal.regression import corp_regression_curve

draw = MeanReliabilityDisplay.from_predictions


def make_counts(seed=0, n_rows=500, factor=1.0):
    """Rates of claims, predictions of them, and exposures."""
    rng = np.random.default_rng(seed)
    rate, years = rng.gamma(2, 0.5, n_rows), rng.uniform(0.1, 1, n_rows)
    return rng.poisson(factor * rate * years) / years, rate, years


def find_kernel_means(rows, bandwidth, points):
    """The definition, row by row."""
    mass = np.ones(len(rows.targets)) if rows.weights is None else rows.weights
    lower = rows.predictions < rows.predictions[:, None]
    equal = rows.predictions == rows.predictions[:, None]
    ranks = (lower @ mass + equal @ mass / 2) / mass.sum()
    images = [s * ranks + 2 * k for k in range(-3, 4) for s in (-1, 1)]
    kernel = sum(stats.norm.pdf(points[:, None], image, bandwidth) for image in images) * mass
    kernel /= kernel.sum(axis=1, keepdims=True)
    return kernel @ rows.predictions, kernel @ rows.targets


@pytest.mark.parametrize("weighted", [False, True])
def test_curve_has_the_means_of_its_definition(weighted):
    """Up to the distance that ranks are moved to their nodes, a 2048th."""
    y, rate, years = make_counts()
    rows = read_means(y, rate, years if weighted else None)
    curve = smooth_means(rows, 0.1, 0.95)
    predicted, observed = find_kernel_means(rows, 0.1, np.linspace(0, 1, 129))
    assert_allclose(curve.predicted, predicted, rtol=0.01)
    assert_allclose(curve.observed, observed, rtol=0.01)


def test_curve_of_right_predictions_is_the_diagonal_for_every_bandwidth():
    _, rate, years = make_counts()
    for bandwidth in (0.02, 0.3, 1):
        curve = draw(rate, rate, bandwidth=bandwidth, sample_weight=years).curves[0]
        assert_allclose(curve.y_mean, curve.y_pred, rtol=1e-12)
        plt.close("all")


def test_linear_errors_have_linear_curves():
    _, rate, _ = make_counts()
    curve = draw(3 * rate - 1, rate).curves[0]
    assert_allclose(curve.y_mean, 3 * curve.y_pred - 1, rtol=1e-12, atol=1e-12)


def test_few_distinct_predictions_are_points_with_students_intervals():
    rng = np.random.default_rng(0)
    rate = rng.choice([1.0, 2.0, 4.0], 60)
    y = rate + np.resize([-0.5, 0.5], 60) * rng.permuted(np.resize([1.0, 2.0], 60))
    display = draw(y, rate, confidence_level=0.9)
    (curve,) = display.curves
    assert curve.kind == "values"
    assert display.lines_[0].get_linestyle() == "None"
    for value, mean, low, high in zip(curve.y_pred, curve.y_mean, *curve.band[1:], strict=True):
        own = y[rate == value]
        assert mean == pytest.approx(own.mean())
        # Bonferroni, and the skewness of the mean undone (Hall, 1992).
        error = own.std(ddof=1) / np.sqrt(len(own))
        g = stats.skew(own) / np.sqrt(len(own))
        t = stats.t.isf(0.1 / 2 / 3, len(own) - 1) * np.array([1, -1])
        ends = mean - 3 / g * (np.cbrt(1 + g * (t - g / 6)) - 1) * error
        assert_allclose([low, high], np.maximum(ends, 0), rtol=1e-9)


def test_isotonic_curve_is_that_of_the_metric():
    y, rate, years = make_counts()
    (curve,) = draw(y, rate, kind="isotonic", sample_weight=years).curves
    expected = corp_regression_curve(y, rate, sample_weight=years)
    assert_allclose(curve.y_pred, expected.y_pred)
    assert_allclose(curve.y_mean, expected.y_recalibrated)


def test_weights_of_any_scale_and_copies_in_clusters():
    y, rate, years = make_counts()
    (curve,) = draw(y, rate, sample_weight=years).curves
    for scale in (1e-200, 1e200):
        (scaled,) = draw(y, rate, sample_weight=scale * years).curves
        assert_allclose(scaled.band, curve.band, rtol=1e-9)
    # Of rows that have none beside them of the same prediction, whatever weight others have.
    values, options = (rate > 1.0) + 1.0, {"kind": "values", "confidence_level": 0.9}
    (apart,) = draw(y, values, **options).curves
    (light,) = draw(y, values, sample_weight=np.where(rate > 1.0, 1e-200, 1.0), **options).curves
    assert_allclose(light.band, apart.band, rtol=1e-9)
    (plain,) = draw(y, rate).curves
    twice, number = [np.tile(part, 2) for part in (y, rate)], np.tile(np.arange(len(y)), 2)
    (united,) = draw(*twice, bandwidth=choose_bandwidth(len(y)), clusters=number).curves
    assert_allclose(united.y_mean, plain.y_mean, rtol=1e-9)
    assert_allclose(united.band[1], plain.band[1], rtol=1e-9)
    half = draw(*twice, bandwidth=choose_bandwidth(len(y))).curves[0]
    assert np.all(half.band[1][5:-5] > plain.band[1][5:-5])  # copies are not told from rows
    plt.close("all")


def test_ratio_deciles_and_legend():
    y, rate, years = make_counts()
    display = draw(y, rate, sample_weight=years, name="Tariff")
    (curve,) = display.curves
    assert curve.ratio == pytest.approx((y @ years) / (rate @ years))
    assert curve.residual == pytest.approx(((y - rate) @ years) / years.sum())
    n_effective = years.sum() ** 2 / (years**2).sum()
    label = f"Tariff (A/E = {curve.ratio:.3f}, effective rows = {n_effective:,.0f})"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        label,
        "95 % band, all points at once",
        "Ticks: deciles of the predictions",
    ]
    for share, decile in zip(np.arange(1, 10) / 10, curve.deciles, strict=True):
        below, up_to = (years @ mask / years.sum() for mask in (rate < decile, rate <= decile))
        assert below <= share <= up_to + 1e-12
    negative = draw(y - 2, rate - 2)
    assert np.isnan(negative.curves[0].ratio)
    assert "mean residual = " in negative.lines_[0].get_label()


def test_scale():
    y, rate, _ = make_counts()
    assert draw(y, rate**2).ax_.get_xscale() == "log"  # a factor of more than ten
    assert draw(y, 1 + rate / 10).ax_.get_xscale() == "linear"
    assert draw(y, rate**2).plot(scale="linear").ax_.get_xscale() == "linear"
    wide = draw([1e-200, 2e-200, 1e90, 1e90], [1e-200, 1e-200, 1e90, 1e90])
    assert wide.ax_.get_xscale() == "log"
    assert draw(y, rate**2).plot(plt.figure().add_subplot()).ax_.get_xscale() == "linear"
    for means in ((-y - 1, -rate - 1), (np.zeros(3), np.ones(3))):
        with pytest.raises(ValueError, match='scale must be "linear" for curves'):
            draw(*means, scale="log")
    plt.close("all")


def test_several_models_share_one_picture():
    y, rate, years = make_counts()
    models = {"old": 2 * rate, "new": rate}
    display = draw(y, models, sample_weight=years)
    assert len(display.lines_) == len(display.bands_) == len(display.marks_) == 2
    for line, predictions in zip(display.lines_, models.values(), strict=True):
        alone = draw(y, predictions, sample_weight=years).lines_[0]
        assert_allclose(line.get_data(), alone.get_data())
    plt.close("all")
    with pytest.raises(ValueError, match="name must be None"):
        draw(y, models, name="both")
    with pytest.raises(ValueError, match="y_pred must hold one model at least"):
        draw(y, {})


def test_where_targets_are_equal_nothing_is_known_of_their_variance():
    (curve,) = draw([0, 0, 0, 1, 2, 3], [1, 1, 1, 2, 2, 2]).curves
    assert np.isnan(curve.band[1:]).tolist() == [[True, False]] * 2
    (curve,) = draw([1.0], [2.0], kind="smooth").curves
    assert np.isnan(curve.band[1:]).all()
    assert (curve.y_pred, curve.y_mean) == (2.0, 1.0)
    for p in (np.full(100, 0.01), np.linspace(0.008, 0.012, 100)):  # also up to rounding
        for y in (np.zeros(100), np.full(100, 0.3)):
            assert np.isnan(draw(y, p).curves[0].band[1:]).all()
    plt.close("all")


class Doubler:
    def predict(self, X):
        return 2 * np.ravel(X)


def test_estimators_are_named():
    y, rate, _ = make_counts()
    display = MeanReliabilityDisplay.from_estimator(Doubler(), rate[:, None], y)
    assert display.name == "Doubler"
    assert_allclose(display.curves[0].y_mean, draw(y, 2 * rate).curves[0].y_mean)
    plt.close("all")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "loess"}, "kind must be one of"),
        ({"bandwidth": 0.01}, "bandwidth must"),
        ({"sample_weight": [1, 2]}, "sample_weight must have shape"),
        ({"clusters": np.zeros(500)}, "clusters must hold at least two"),
        ({"confidence_level": 1}, "confidence_level must"),
        ({"scale": "logit"}, "scale must be one of"),
        ({"name": ["a", "b"]}, "name must have one entry"),
    ],
)
def test_bad_arguments(options, message):
    y, rate, _ = make_counts()
    with pytest.raises(ValueError, match=message):
        draw(y, rate, **options)
    assert not plt.get_fignums()


def make_amounts(rng, n_rows, is_rare):
    expected = np.exp(rng.normal(0, 0.7, n_rows))
    amounts = expected * np.exp(rng.normal(-0.5, 1, n_rows))
    return (
        (amounts * (rng.random(n_rows) < 0.3) / 0.3 if is_rare else amounts),
        expected,
        None,
        None,
    )


def make_rates(rng, n_rows):
    rate, years = np.exp(rng.normal(0, 0.7, n_rows)) / 2, rng.uniform(0.1, 1, n_rows)
    return rng.poisson(rate * years) / years, rate, years, None


def make_clusters(rng, n_rows):
    member, mean = np.arange(n_rows) // 10, rng.normal(0, 1, n_rows)
    y = mean + rng.normal(0, 0.5, n_rows)[member] + rng.normal(0, 1, n_rows)
    return y, mean, None, member


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "most"),
    [
        (make_rates, 0.08),
        (lambda rng, n: make_amounts(rng, n, is_rare=False), 0.1),
        (lambda rng, n: make_amounts(rng, n, is_rare=True), 0.1),
        (make_clusters, 0.08),
    ],
    ids=["counts", "amounts", "rare amounts", "clusters"],
)
def test_bands_hold_everywhere_at_once(make, most):
    """Of 400 samples of 1000 rows; the limits allow for three standard errors of 1.1 %."""
    n_missed = 0
    for seed in range(400):
        rows = read_means(*make(np.random.default_rng(seed), 1000))
        curve = smooth_means(rows, choose_bandwidth(1000), 0.95)
        n_missed += np.any((curve.low > curve.predicted) | (curve.high < curve.predicted))
    assert n_missed / 400 <= most + 0.03


@pytest.mark.parametrize("curves", [[], None, ["x"]])
def test_curves_that_are_none(curves):
    with pytest.raises(ValueError, match="curves must be a list of"):
        MeanReliabilityDisplay(curves=curves).plot()
