"""The band: by points, of non-decreasing curves, and of calibrated bins."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import binomtest, norm

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
from skcal.inference import (
    calibration_belt,
    confidence_interval,
    consistency_band,
    isotonic_band,
)
from skcal.metrics import smooth_ece_curve
from tests.chance import most_of
from tests.diagrams.artists import (
    assert_vertices,
    find_shown,
    list_legend,
    read_heights,
    read_vertices,
)

draw = ReliabilityDisplay.from_predictions


def read_band(display):
    return display.curves[0].layers["band"]


def assert_bars(display, low, high):
    ends = [np.c_[display.prob_pred, values] for values in (low, high)]
    np.testing.assert_array_equal(display.band_.get_segments(), np.stack(ends, axis=1))


def test_band_surrounds_the_curve_where_that_is_drawn(rows):
    display = draw(*rows)
    (curve,), band = display.curves, read_band(display)
    np.testing.assert_array_equal(band.prob_pred, curve.prob_pred)
    assert (band.low < curve.prob_true).all()
    assert (curve.prob_true < band.high).all()
    shown = find_shown(display.line_)
    for ends in (band.low, band.high):
        assert_vertices(display.band_, band.prob_pred[shown], ends[shown])
    assert set(read_vertices(display.band_)[:, 0]) == set(band.prob_pred[shown])
    narrow = read_band(draw(*rows, confidence_level=0.5))
    assert (narrow.high < band.high).all()
    assert (narrow.low > band.low).all()


@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize("kind", ["smooth", "nadaraya-watson"])
def test_band_is_wilsons_interval_of_the_rows_under_the_kernel(kind, scale, rows):
    y, proba = rows
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    options = {"sample_weight": weights, "bandwidth": 0.2, "confidence_level": 0.9}
    (curve,) = draw(y, proba, kind=kind, scale=scale, **options).curves
    distances = curve.density_grid[:, None] - proba
    if scale == "logit":
        distances = logit(curve.density_grid)[:, None] - logit(proba)
    else:  # reflected at 0 and at 1
        ends = (curve.density_grid[:, None] + proba) - np.array([0, 2])[:, None, None]
        distances = np.stack([distances, *ends])
    kernel = np.exp(-0.5 * (distances / 0.2) ** 2)
    kernel = weights * (kernel if scale == "logit" else kernel.sum(axis=0))
    count = kernel.sum(axis=1) ** 2 / np.maximum((kernel**2).sum(axis=1), 1e-300)
    band, shown = curve.layers["band"], curve.density > 1e-3 * curve.density.max()
    for ends in (band.low, band.high):
        inside = shown & (ends > 1e-9) & (ends < 1 - 1e-9)
        distance = np.abs(ends - curve.prob_true)[inside]
        error = np.sqrt(ends * (1 - ends) / count)[inside]
        np.testing.assert_allclose(distance / error, norm.ppf(0.95), rtol=1e-3)


def test_bars_of_bins_are_wilsons_intervals(rows):
    y, proba = rows
    display = draw(y, proba, kind="binned", n_bins=4)
    band, bins = read_band(display), np.ceil(4 * proba)
    counts = [(int(y[bins == k].sum()), int((bins == k).sum())) for k in np.unique(bins)]
    ends = [binomtest(*pair).proportion_ci(method="wilson") for pair in counts]
    np.testing.assert_allclose([band.low, band.high], np.transpose(ends), atol=1e-12)
    assert_bars(display, band.low, band.high)
    # Three rows of equal weight out of four are three rows.
    weights = 2.0 * (np.arange(len(y)) % 4 > 0)
    weighted = read_band(draw(y, proba, sample_weight=weights, kind="binned", n_bins=4))
    kept = read_band(draw(y[weights > 0], proba[weights > 0], kind="binned", n_bins=4))
    np.testing.assert_allclose(weighted.low, kept.low, atol=1e-12)
    # Weights whose squares vanish.
    tiny = read_band(draw(y, proba, sample_weight=1e-170 ** (bins > 1), kind="binned", n_bins=4))
    np.testing.assert_allclose(tiny.low, band.low, atol=1e-12)


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_interval_is_the_confidence_interval(rows, scale):
    y, proba = rows
    options = {"interval": True, "random_state": 0, "scale": scale}
    display = draw(y, proba, name="model", kind="smooth", **options)
    low, high = interval = display.curves[0].smooth_ece_interval
    assert interval == confidence_interval(y, proba, scale=scale, random_state=0)[1:]
    measure = "smECE" if scale == "probability" else "logit smECE"
    expected = f"model ({measure} = {display.smooth_ece:.3f} [{low:.3f}, {high:.3f}], n = 500)"
    assert display.line_.get_label() == list_legend(display.ax_)[1] == expected
    assert draw(y, proba).curves[0].smooth_ece_interval is None
    # The same halves, whatever is drawn beside.
    for beside in ({"layers": ["density"]}, {"kind": "isotonic"}, {"band": "isotonic"}):
        display = draw(y, proba, **options, **beside)
        assert display.curves[0].smooth_ece_interval == interval
        assert (display.band_ is None) == ("band" not in beside)


CROWDED = np.r_[np.linspace(0.4, 0.9, 10), np.full(90, 0.995)]
POPULATIONS = {
    "calibrated": (np.linspace(0.005, 0.995, 100), lambda v: v),
    "crowded": (CROWDED, lambda v: v),
    "crowded, too high": (CROWDED, lambda v: np.where(v > 0.95, 0.8, v - 0.15)),
    "U-shaped": (np.sin(np.linspace(0.01, 1.56, 100)) ** 6, lambda v: v),
    "rare": (np.geomspace(1e-3, 0.1, 100), lambda v: 0.3 * v),
    "shifted": (np.linspace(0.005, 0.995, 100), lambda v: np.minimum(v + 0.1, 1)),
    "wavy": (np.linspace(0.005, 0.995, 100), lambda v: np.clip(v + 0.2 * np.sin(6 * v), 0, 1)),
}


@pytest.mark.parametrize("name", POPULATIONS)
def test_band_covers_the_population_smoothed_alike(name):
    """At a point in the middle of the rows; `bench_bands.py` has all points, and more samples."""
    places, find_truth = POPULATIONS[name]
    rng, missed, n_samples = np.random.default_rng(0), 0, 12
    for _ in range(n_samples):
        v = rng.choice(places, 300)
        y = rng.random(300) < find_truth(v)
        (curve,) = ReliabilityDisplay.estimate(y, v, kind="smooth").curves
        band = curve.layers["band"]
        truth = smooth_ece_curve(find_truth(places), places, bandwidth=curve.bandwidth)
        k = np.argmin(np.abs(curve.prob_pred - np.median(places)))
        gap = np.interp(curve.prob_pred[k], truth.prob_pred, truth.prob_true - truth.prob_pred)
        missed += not band.low[k] <= curve.prob_pred[k] + gap <= band.high[k]
    assert missed <= most_of(n_samples, 0.08)


@pytest.mark.parametrize(("kind", "scale"), [("smooth", "logit"), ("binned", "probability")])
def test_isotonic_band_is_that_of_inference(kind, scale, rows):
    """It has a gap where its ends cross."""
    for y in (rows[0], 1 - rows[0]):
        display = draw(y, rows[1], kind=kind, scale=scale, band="isotonic", confidence_level=0.9)
        band = read_band(display)
        expected = isotonic_band(y, rows[1], confidence_level=0.9)
        for name in ("prob_pred", "low", "high"):
            np.testing.assert_array_equal(getattr(band, name), getattr(expected, name))
        whole = band.low <= band.high
        for ends in (band.low, band.high):
            assert_vertices(display.band_, band.prob_pred[whole], ends[whole])
    assert (~whole).sum() > 100
    drawn = read_vertices(display.band_)[:, 0]
    assert not np.isin(band.prob_pred[~whole][1:-1], drawn).any()


def test_isotonic_band_is_drawn_in_steps():
    """Between knots the lower end of the left one, the upper end of the right one."""
    band = {"prob_pred": [0.2, 0.5, 0.8], "low": [0.1, 0.2, 0.4], "high": [0.5, 0.7, 0.9]}
    layers = {"band": {**band, "kind": "isotonic"}}
    curve = ReliabilityCurve(prob_pred=[0.2, 0.8], prob_true=[0.3, 0.6], layers=layers)
    (path,) = ReliabilityDisplay(curves=[curve]).plot().band_.get_paths()
    places = np.array([0.25, 0.45, 0.55, 0.75])
    for below, above, inside in ((0.11, 0.69, [1, 1, 0, 0]), (0.21, 0.89, [0, 0, 1, 1])):
        corners = [path.contains_points(np.c_[places, np.full(4, y)]) for y in (below, above)]
        np.testing.assert_array_equal(corners[0] & corners[1], inside)


def test_isotonic_band_of_one_prediction_is_seen():
    band = draw([1] * 8 + [0] * 2, [0.7] * 10, band="isotonic").band_
    # The Clopper-Pearson interval of 8 in 10, as tables have it.
    ends = read_heights(band, [0.7]).ravel()
    np.testing.assert_allclose(ends, [0.443905, 0.974789], atol=5e-7)
    assert band.get_edgecolor()[0, 3] > 0


@pytest.mark.parametrize(
    ("kind", "scale"), [("smooth", "probability"), ("isotonic", "logit"), ("binned", "logit")]
)
def test_belt_is_that_of_inference(kind, scale, rows):
    """With weights as counts, and an area for every kind of curve."""
    options = {"sample_weight": np.arange(500) % 3, "confidence_level": 0.8}
    display = draw(*rows, kind=kind, scale=scale, band="belt", **options)
    expected = calibration_belt(*rows, **options)
    for name in ("prob_pred", "low", "high"):
        np.testing.assert_array_equal(getattr(read_band(display), name), getattr(expected, name))
    for ends in (expected.low, expected.high):
        assert_vertices(display.band_, expected.prob_pred, ends)
    again = draw(*rows, kind=kind, scale=scale, band="belt", ax=display.ax_, **options)
    assert [text.get_text() for text in again.ax_.get_legend().get_texts()].count(
        "80 % GiViTI belt, all points at once"
    ) == 1


def test_consistency_bars_are_those_of_inference(rows):
    options = {"n_bins": 6, "strategy": "quantile", "confidence_level": 0.8}
    display = draw(*rows, kind="binned", band="consistency", **options)
    expected = consistency_band(*rows, **options)
    np.testing.assert_array_equal(display.prob_pred, expected.prob_pred)
    np.testing.assert_array_equal(display.prob_true, expected.prob_true)
    assert_bars(display, expected.low, expected.high)
    assert display.band_.get_linewidth()[0] > display.line_.get_linewidth()
    assert display.band_.get_zorder() < display.ref_line_.get_zorder()
    band = display.plot(layer_kwargs={"band": {"color": "red", "lw": 3}}).band_
    np.testing.assert_allclose(band.get_color()[0], (1, 0, 0, 1))
    assert band.get_linewidth()[0] == 3


def test_bands_that_cannot_be(rows):
    for options, message in (
        ({"band": "isotonik"}, "band must be one of .*Did you mean 'isotonic'"),
        ({"band": "consistency"}, "band='consistency' needs kind='binned'.*got kind='auto'"),
        (
            {"band": "consistency", "kind": "binned", "strategy": "sweep"},
            "bins that do not depend on the outcomes.*got strategy='sweep'",
        ),
        ({"band": "isotonic", "reduction": "full"}, "band='isotonic' needs independent rows"),
        ({"band": "isotonic", "sample_weight": np.ones(500)}, "sample_weight must be None"),
        ({"band": "isotonic", "confidence_level": 0}, "confidence_level must be above 0"),
        ({"band": "belt", "reduction": "full"}, "band='belt' needs independent rows"),
        ({"confidence_level": 95}, "confidence_level must be above 0 and below 1; got 95"),
        ({"interval": True, "reduction": "full"}, "interval=True needs independent rows"),
        ({"interval": True, "random_state": "a"}, "random_state must be None, an integer"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(*rows, **options)
    with pytest.raises(ValueError, match="y_true must hold labels"):
        draw(rows[1] ** 2, rows[1], band="isotonic")
    with pytest.raises(ValueError, match="y_proba must lie between 0 and 1, both excluded"):
        draw([0, 1, 0], [0.1, 0.5, 1.0], band="belt")


def read_ends(display, k=0):
    band = display.curves[k].layers["band"]
    return np.stack([band.low, band.high])


def test_clusters_of_panels():
    """Each panel has the clusters of its own rows, and pooled classes those of their rows."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 120)
    clusters = rng.integers(30, size=120)
    latent = np.where(rng.random(120) < 0.7, rng.random(30)[clusters], rng.random(120))
    y = (latent[:, None] > proba.cumsum(axis=1)[:, :2]).sum(axis=1)
    weights = np.where(np.arange(120) < 110, rng.exponential(size=120), 0.0)
    rows = {"sample_weight": weights, "clusters": clusters, "bandwidth": 0.1}
    classwise = ReliabilityDisplay.estimate(y, proba, reduction="classwise", **rows)
    top_label = ReliabilityDisplay.estimate(y, proba, reduction="top-label", **rows)
    for k in range(3):
        alone = ReliabilityDisplay.estimate(y, proba, pos_label=k, **rows)
        np.testing.assert_allclose(read_ends(classwise, k), read_ends(alone), rtol=1e-9)
        inside = (proba.argmax(axis=1) == k) & (weights > 0)
        own = {"sample_weight": weights[inside], "clusters": clusters[inside], "bandwidth": 0.1}
        alone = ReliabilityDisplay.estimate(y[inside] == k, proba[inside, k], **own)
        np.testing.assert_allclose(read_ends(top_label, k), read_ends(alone), rtol=1e-9)
    found = ReliabilityDisplay.estimate(y, proba, reduction="full", **rows, interval=True)
    rows = {name: np.tile(values, 3) for name, values in rows.items() if name != "bandwidth"}
    pooled = (y == np.arange(3)[:, None]).ravel(), proba.ravel("F")
    alone = ReliabilityDisplay.estimate(*pooled, bandwidth=0.1, **rows)
    np.testing.assert_allclose(read_ends(found), read_ends(alone), rtol=1e-9)
    assert found.curves[0].smooth_ece_interval[0] <= found.curves[0].smooth_ece


def test_belt_of_clusters_is_that_of_inference():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(40), 5)
    v = rng.random(200)
    y = (rng.random(40)[clusters] < v).astype(int)
    band = read_band(ReliabilityDisplay.estimate(y, v, band="belt", clusters=clusters))
    expected = calibration_belt(y, v, clusters=clusters)
    np.testing.assert_array_equal([band.low, band.high], [expected.low, expected.high])


def test_exact_bands_refuse_clusters(rows):
    for options in ({"band": "isotonic"}, {"band": "consistency", "kind": "binned"}):
        with pytest.raises(ValueError, match="is exact for independent rows; got clusters"):
            ReliabilityDisplay.estimate(*rows, clusters=np.arange(len(rows[0])) // 2, **options)


def test_clusters_of_an_estimator():
    class Classifier:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.column_stack([1 - X[:, 0], X[:, 0]])

    rng = np.random.default_rng(0)
    clusters, v = np.repeat(np.arange(40), 5), rng.random(200)
    y = (rng.random(40)[clusters] < v).astype(int)
    one = draw(y, v, clusters=clusters, interval=True, random_state=0)
    other = ReliabilityDisplay.from_estimator(
        Classifier(), v[:, None], y, clusters=clusters, interval=True, random_state=0
    )
    np.testing.assert_allclose(read_ends(other), read_ends(one))
    assert one.curves[0].n_rows == 200
    assert other.line_.get_label() == one.line_.get_label()
