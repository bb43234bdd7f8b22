"""Reliability diagrams on the scale of logits."""

import numpy as np
import pytest
from scipy.special import logit
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from skcal.diagrams import ReliabilityDisplay
from skcal.diagrams._curve import find_dense
from skcal.metrics import smooth_ece_curve
from tests.diagrams.artists import (
    find_shown,
    read_vertices,
)

draw = ReliabilityDisplay.from_predictions


def test_everything_is_on_the_scale_of_logits(rare):
    display = draw(*rare, scale="logit", bandwidth=0.4)
    n_points = len(display.prob_pred)
    smooth = smooth_ece_curve(*rare, scale="logit", bandwidth=0.4, n_points=n_points)
    np.testing.assert_array_equal(display.prob_pred, smooth.prob_pred)
    np.testing.assert_array_equal(display.prob_true, smooth.prob_true)
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == display.scale == "logit"
    ratio = rare[0].sum() / rare[1].sum()
    words = f"Classifier (logit smECE = {display.smooth_ece:.3f}, O/E = {ratio:.2f}, n = 800)"
    assert display.line_.get_label() == words
    # A long scale has two points in a bandwidth, a short one 201.
    narrow = draw(*rare, scale="logit", bandwidth=0.02)
    assert 0.01 <= np.diff(logit(narrow.curves[0].density_grid)).max() <= 0.0101
    assert len(draw(*rare, scale="logit", bandwidth=50).prob_pred) == 201


def test_curve_of_logits_ends_where_an_outcome_is_missing(rare):
    """There it would fall or rise without end. The kernel gathers n E[exp(-d^2 / 2 s^2)] rows."""
    y, proba = rare
    for outcome in (y, 1 - y):
        display = draw(outcome, proba, scale="logit", bandwidth=0.3)
        (curve,), line = display.curves, display.line_
        distances = logit(curve.density_grid)[:, None] - logit(proba)
        kernel = np.exp(-0.5 * (distances / 0.3) ** 2)
        fewer = np.minimum(kernel @ outcome, kernel @ (1 - outcome))
        shown = find_shown(line)
        assert shown.sum() > 20
        assert (fewer[shown] > 0.49).all()
        dense = find_dense(curve, curve.density)
        assert (shown | ~dense)[fewer > 0.51].all()
        assert (dense & ~shown).any()
        # The band ends there too, unless it leaves the diagonal: more outcomes were predicted.
        band, drawn = curve.layers["band"], read_vertices(display.band_)[:, 0]
        off = (band.low > band.prob_pred) | (band.high < band.prob_pred)
        assert set(drawn) == set(curve.prob_pred[shown | (dense & off)])


def test_overconfident_digits_lie_below_the_diagonal():
    """92 % of the confidences are above .99; at .6 to .7 a quarter of the answers are right.

    The curve of the paper is above the diagonal there, because its kernel gathers those rows.
    """
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    proba = GaussianNB().fit(X_train, y_train).predict_proba(X_test)
    display = draw(y_test, proba)
    shown = find_shown(display.line_)
    assert (display.prob_true < display.prob_pred)[shown].all()
    assert display.prob_pred[shown].min() < 0.7
    paper = draw(y_test, proba, kind="nadaraya-watson")
    assert np.interp(0.65, paper.prob_pred, paper.prob_true) > 0.7


def test_missing_events_are_seen_on_the_scale_of_logits():
    """Half of the rows have a prediction of 2 to 6 %, and none of them an event: 80 are missing."""
    rng = np.random.default_rng(0)
    proba = np.concatenate([rng.uniform(0.02, 0.06, 2000), rng.uniform(0.1, 0.6, 2000)])
    y = (rng.random(4000) < proba).astype(int)
    y[:2000] = 0
    for rows in (slice(None), slice(2000)):
        display = draw(y[rows], proba[rows], scale="logit", pos_label=1)
        places, values = read_vertices(display.band_).T
        assert values.min() > 0  # matplotlib cannot place 0
        few = (places > 0.03) & (places < 0.05)
        assert few.sum() > 10
        assert (values[few] < places[few]).all()  # the diagonal is outside
        low, high = display.ax_.get_ylim()
        assert np.any((values[few] > low) & (values[few] < high))
    # One prediction that all rows share is a bar.
    display = draw(np.zeros(600, dtype=int), np.full(600, 0.05), scale="logit", pos_label=1)
    ((_, (place, high)),) = display.band_.get_segments()
    assert high < place == pytest.approx(0.05)


def test_words_tell_of_rows_beyond_the_scale_of_logits():
    """Of neighbors, of which none or all have votes; alone, the places between look calibrated."""
    proba = np.repeat([0, 0.2, 0.4, 0.6, 0.8, 1], [200, 90, 90, 90, 90, 1])
    y = (np.random.default_rng(0).random(len(proba)) < proba).astype(int)
    words = [
        [text.get_text() for text in draw(y[rows], p, scale="logit", pos_label=1).ax_.texts]
        for rows, p in (
            (slice(None), proba),
            (slice(None), 1 - proba),
            (slice(200, -1), proba[200:-1]),
        )
    ]
    assert [sum("more rows" in text for text in texts) for texts in words] == [1, 1, 0]
    assert "\N{LEFTWARDS ARROW} more rows" in words[0]
    assert "more rows \N{RIGHTWARDS ARROW}" in words[1]
    # Other curves on the same axes repeat no word.
    display = draw(y, proba, scale="logit")
    draw(y, proba, scale="logit", ax=display.ax_)
    assert sum("more rows" in text.get_text() for text in display.ax_.texts) == 1


def test_votes_of_0_and_1_do_not_widen_the_square_of_logits():
    """That of a forest with votes of exactly 1 ended at 0.99999992, five sixths of it empty."""
    rng = np.random.default_rng(0)
    proba = np.concatenate([rng.integers(1, 20, 900) / 20, np.repeat([0, 1], 50)])
    y = (rng.random(1000) < np.clip(proba, 0.03, 0.97)).astype(int)
    low, high = draw(y, proba, scale="logit", pos_label=1).ax_.get_xlim()
    assert 0.01 < low < 0.05 < 0.95 < high < 0.99  # votes of 1 and of 19 of 20 are inside
    mirrored = draw(1 - y, 1 - proba, scale="logit", pos_label=1).ax_.get_xlim()
    assert mirrored == pytest.approx((1 - high, 1 - low), rel=1e-3)
