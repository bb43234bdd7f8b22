"""The default curve where SmoothECE's would draw chance: it gathers events enough at each point."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from skcal.diagrams import ReliabilityDisplay
from skcal.streaming import CalibrationSummary

LAWS = {
    "rare": lambda rng, n: expit(rng.normal(-5.8, 1, n)),
    "wide": lambda rng, n: expit(rng.normal(0, 1.5, n)),
    "U-shaped": lambda rng, n: rng.beta(0.3, 0.3, n),
    "one side": lambda rng, n: rng.beta(2, 8, n),
    "near 1": lambda rng, n: 1 - 0.05 * rng.random(n) ** 2,
    "hard zeros": lambda rng, n: np.where(rng.random(n) < 0.4, 0.0, rng.beta(2, 8, n)),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def estimate(y, v, **options):
    return ReliabilityDisplay.estimate(y, v, pos_label=1, **options).curves[0]


def draw_rows(law, n, seed=0):
    rng = np.random.default_rng(seed)
    v = law(rng, n)
    return (rng.random(n) < v).astype(int), v


@every_law
@pytest.mark.parametrize("n", [300, 5000])
def test_calibrated_models_look_calibrated(law, n):
    """The median of nine samples: within 1.1 times ten bins' distance, and few crossings."""
    sizes, crossings = [], []
    for seed in range(9):
        y, v = draw_rows(law, n, seed)
        curve = estimate(y, v, layers=[])
        gap = curve.prob_true - curve.prob_pred
        of_bins = [(y - v)[rows].mean() for rows in np.array_split(np.argsort(v), 10)]
        at_rows = np.interp(v, curve.prob_pred, gap)
        sizes.append(np.sqrt(np.mean(at_rows**2) / np.mean(np.square(of_bins))))
        crossings.append((np.diff(np.sign(gap)) != 0).sum())
    assert np.median(sizes) <= 1.1
    assert np.median(crossings) <= 8


@every_law
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_outcomes_as_predicted_lie_on_the_diagonal(law, scale):
    v = law(np.random.default_rng(0), 500)
    curve = estimate(v, v, kind="adaptive", scale=scale)
    np.testing.assert_allclose(curve.prob_true, curve.prob_pred, rtol=1e-9)
    assert (np.diff(curve.prob_pred) >= 0).all()


@pytest.mark.parametrize(
    ("v", "truth"),
    [
        (np.linspace(0.12, 0.88, 20_000), lambda v: v + 0.12 * np.sin(12 * v)),
        (expit(np.linspace(-7, 3, 20_000)), lambda v: v**0.7),
        (np.r_[np.full(600, 0.001), np.linspace(0.05, 0.7, 1400)], lambda v: np.maximum(v, 0.05)),
        (expit(np.linspace(-9, -3, 20_000)), lambda v: 2 * v),
    ],
    ids=["wave", "slope", "group", "rate"],
)
def test_errors_keep_their_size(v, truth):
    """Without noise: 85 % of the largest distance at least."""
    gap = truth(v) - v
    curve = estimate(truth(v), v, kind="adaptive")
    at_rows = np.interp(v, curve.prob_pred, curve.prob_true - curve.prob_pred)
    assert 0.85 <= np.quantile(np.abs(at_rows), 0.99) / np.quantile(np.abs(gap), 0.99) <= 1.2


def test_hard_labels_show_how_wrong_they_are():
    """Information expected of .001 and .999 is next to nothing; outcomes tell of 25 %."""
    rng = np.random.default_rng(0)
    v = np.where(rng.random(4000) < 0.5, 0.001, 0.999)
    y = np.where(rng.random(4000) < 0.25, v < 0.5, v > 0.5).astype(int)
    curve = estimate(y, v, kind="adaptive")
    gap = curve.prob_true - curve.prob_pred
    assert gap.max() > 0.2
    assert gap.min() < -0.2


def test_what_is_chosen():
    rng = np.random.default_rng(0)
    y, v = draw_rows(LAWS["wide"], 3000)
    assert estimate(y, v).kind == "adaptive"  # no more than chance
    wrong = (rng.random(3000) < v / 2).astype(int)
    curve = estimate(wrong, v)
    assert curve.kind == "smooth"
    at_rows = np.average(np.abs(curve.prob_true - curve.prob_pred)[1:], weights=curve.density[1:])
    assert at_rows == pytest.approx(curve.smooth_ece, rel=1e-2)  # the number of the legend
    assert estimate(wrong, v, clusters=np.arange(3000) // 3).kind == "adaptive"  # chance unknown
    # An error that is clear, by windows with a handful of events.
    logits = rng.normal(-6, 1.5, 20_000)
    y, few = (rng.random(20_000) < expit(logits)).astype(int), expit(1.5 * logits + 3)
    curve = estimate(y, few)
    assert curve.kind == "adaptive"
    assert curve.excess > 2
    summary = CalibrationSummary(pos_label=1).update(y, few)
    of_summary = ReliabilityDisplay.from_summary(summary).curves[0]
    assert of_summary.kind == "adaptive"
    np.testing.assert_allclose(of_summary.prob_true, curve.prob_true, atol=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_clear_errors_at_both_ends_are_not_averaged_into_one(seed):
    """Rows near 0 and near 1 are wrong alike: their mean lies on the diagonal."""
    rng = np.random.default_rng(seed)
    v = rng.beta(0.03, 0.03, 300)
    y = (rng.random(300) < np.clip(v, 0.06, 0.94)).astype(int)
    curve = estimate(y, v)
    assert curve.kind == "adaptive"
    assert curve.prob_pred[0] < 0.01 < curve.prob_true[0]
    assert curve.prob_true[-1] < 0.99 < curve.prob_pred[-1]


def test_rows_have_no_order_and_weights_no_unit():
    y, v = draw_rows(LAWS["hard zeros"], 700)
    v = np.round(v, 2)
    order, weights = np.random.default_rng(1).permutation(700), np.full(700, 1e-200)
    curve = estimate(y, v, kind="adaptive")
    for other in (
        estimate(y[order], v[order], kind="adaptive"),
        estimate(y, v, kind="adaptive", sample_weight=weights),
        estimate(1 - y, 1 - v, kind="adaptive"),
    ):
        if other.mean_pred > 0.5:
            other_true, n_gathered = 1 - other.prob_true[::-1], other.n_gathered
        else:
            other_true, n_gathered = other.prob_true, other.n_gathered
        np.testing.assert_allclose(other_true, curve.prob_true, rtol=1e-7)
        assert n_gathered == pytest.approx(curve.n_gathered)


def test_copies_in_clusters_are_no_more_evidence():
    y, v = draw_rows(LAWS["one side"], 300)
    rows = [np.repeat(values, 8) for values in (y, v, np.arange(300))]
    copied = estimate(rows[0], rows[1], kind="adaptive", clusters=rows[2])
    curve = estimate(y, v, kind="adaptive")
    np.testing.assert_allclose(copied.prob_true, curve.prob_true, atol=0.02)
    assert estimate(rows[0], rows[1], kind="adaptive").n_gathered > 1.2 * curve.n_gathered


@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize(
    ("y", "v"),
    [
        ([1], [0.3]),
        ([0, 1], [0.0, 1.0]),
        ([1, 0, 1], [0.0, 1.0, 1.0]),
        ([0, 0, 0], [0.2, 0.2, 0.2]),
        ([0, 1, 0, 0], [1e-300, 1e-9, 0.5, 1 - 1e-16]),
    ],
)
def test_few_and_hard_predictions(y, v, scale):
    display = ReliabilityDisplay.from_predictions(
        y, v, pos_label=1, labels=[0, 1], kind="adaptive", scale=scale
    )
    display.figure_.canvas.draw()
    assert not np.isnan(display.prob_true).any()


def test_legend_tells_of_few_events():
    y, v = draw_rows(LAWS["rare"], 5000)
    display = ReliabilityDisplay.from_predictions(y, v)
    # All of them, if so many are expected or happened; the bandwidth is a half at most.
    n_events = min(sum(v * (1 - v)), sum(y))
    assert n_events == sum(y) < 25
    assert display.line_.get_label().endswith(f", events per point = {n_events})")
    y, v = draw_rows(LAWS["wide"], 5000)
    assert "events" not in ReliabilityDisplay.from_predictions(y, v).line_.get_label()


def test_square_ends_where_the_curve_and_nearly_all_rows_do():
    y, v = draw_rows(LAWS["rare"], 20_000)
    display = ReliabilityDisplay.from_predictions(y, v)
    low, high = display.ax_.get_xlim()
    assert high < v.max() / 2
    assert np.mean(v < high) > 0.99
    assert low <= display.prob_pred.min() < display.prob_pred.max() < high
    assert display.prob_true.max() < high


def test_solar_flares(shared_data):
    """731 days, too few flares for SmoothECE's kernel at the largest predictions."""
    rows = pd.read_csv(shared_data / "solar_flares_c1.csv")
    curve = estimate(rows["y_true"], rows["y_prob"])
    gap = curve.prob_true - curve.prob_pred
    assert (np.diff(np.sign(gap)) != 0).sum() <= 3
