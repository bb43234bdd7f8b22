"""The closed test as a recalibrator: closed forms, the updates it makes, and its level."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax
from scipy.stats import chi2

from skcal.inference import choose_update
from skcal.recalibration import ClosedTestRecalibration, PlattScaling, get_recalibrator
from tests.chance import most_of


def draw_classes(rng, n, slope=1.0, shift=0.0, n_classes=3):
    """Probabilities, and labels of which softmax(slope * logits + shift) is the law."""
    logits = rng.normal(0, 1.2, size=(n, n_classes))
    scores = slope * logits + shift + rng.gumbel(size=logits.shape)
    return softmax(logits, axis=1), scores.argmax(axis=1)


@pytest.mark.parametrize(
    ("intercept", "slope", "update"), [(0, 1, "none"), (0.8, 1, "intercept"), (0, 0.5, "slope")]
)
def test_two_classes(intercept, slope, update):
    """The test is that of `choose_update`, and the updates are those of Platt scaling."""
    rng = np.random.default_rng(1)
    x = rng.normal(0.3, 1.2, 1500)
    X, y = expit(x)[:, None], (rng.random(1500) < expit(intercept + slope * x)).astype(int)
    fitted = ClosedTestRecalibration().fit(X, y)
    choice = choose_update(y, X[:, 0])
    assert fitted.update_ == choice.update == update
    np.testing.assert_allclose(fitted.pvalues_, choice.table["pvalue"][:2], rtol=1e-6)
    proba = fitted.predict_proba(X)[:, 1]
    if update == "none":
        np.testing.assert_allclose(proba, X[:, 0], rtol=1e-12)
    else:
        platt = PlattScaling(fit_slope=update == "slope").fit(X, y)
        np.testing.assert_allclose(proba, platt.predict_proba(X)[:, 1], rtol=1e-6)
    if update == "slope":
        plain = ClosedTestRecalibration(target_smoothing=False).fit(X, y)
        odds = np.log(plain.predict_proba(X)[:, 1] / plain.predict_proba(X)[:, 0])
        row = choice.table.iloc[2]
        np.testing.assert_allclose(odds, row["intercept"] + row["slope"] * x, atol=1e-6)


@pytest.mark.parametrize(
    ("shift", "slope", "update"),
    [((0, 0, 0), 1, "none"), ((0, 0.5, -0.5), 1, "intercept"), ((0, 0.3, 0), 0.5, "slope")],
)
def test_three_classes(shift, slope, update):
    """Conditions of the first order, and likelihood ratios with K and 1 degrees of freedom."""
    X, y = draw_classes(np.random.default_rng(0), 1500, slope, shift)
    fitted = ClosedTestRecalibration(target_smoothing=False).fit(X, y)
    assert fitted.update_ == update
    proba = fitted.predict_proba(X)
    if update != "none":
        np.testing.assert_allclose(proba.mean(axis=0), np.bincount(y) / 1500, rtol=1e-7)
    if update == "slope":
        residuals = proba - np.eye(3)[y]
        assert abs(np.mean(residuals * np.log(X))) < 1e-7
        assert fitted.slope_ == pytest.approx(0.5, abs=0.1)
    if update == "none":
        assert fitted.slope_ == 1
        np.testing.assert_allclose(proba, X, rtol=1e-12)
    assert fitted.intercept_.sum() == pytest.approx(0, abs=1e-12)
    largest = ClosedTestRecalibration(alpha=1 - 1e-9, target_smoothing=False).fit(X, y)
    assert largest.update_ == "slope"
    rows = np.arange(1500), y
    gain = np.log(largest.predict_proba(X)[rows]).sum() - np.log(X[rows]).sum()
    assert fitted.pvalues_[0] == pytest.approx(chi2.sf(2 * gain, 3), rel=1e-6)
    scores = largest.slope_ * np.log(X) + largest.intercept_
    np.testing.assert_allclose(
        np.log(largest.predict_proba(X)), log_softmax(scores, axis=1), atol=1e-12
    )


def test_level():
    """A right model stays as it is in 95 % of samples, but for chance (`most_of`)."""
    rng = np.random.default_rng(0)
    found = [ClosedTestRecalibration().fit(*draw_classes(rng, 300)).update_ for _ in range(200)]
    assert np.count_nonzero(np.array(found) != "none") <= most_of(200, 0.05)


def test_few_rows_do_no_harm():
    """Of 40 samples of 40 rows a right model is kept in 31 at least, at a level of 1 %.

    If 3 % were rejected, fewer would be kept with a probability of 5e-7.
    """
    rng, kept = np.random.default_rng(0), 0
    for _ in range(40):
        X, y = draw_classes(rng, 40, n_classes=2)
        kept += ClosedTestRecalibration(alpha=0.01).fit(X, y).update_ == "none"
    assert kept >= 31


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_of_any_scale(n_classes):
    rng = np.random.default_rng(0)
    X, y = draw_classes(rng, 150, 0.7, n_classes=n_classes)
    weights = rng.uniform(0.2, 3, 150)
    options = {"alpha": 1 - 1e-9, "target_smoothing": False}  # Platt's targets count rows
    one, *others = (
        ClosedTestRecalibration(**options).fit(X, y, scale * weights) for scale in (1, 1e-3, 1e5)
    )
    for other in others:
        np.testing.assert_allclose(other.pvalues_, one.pvalues_, rtol=1e-9)
        np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=1e-9)
    if n_classes == 2:
        choice = choose_update(y, X, sample_weight=weights)
        np.testing.assert_allclose(one.pvalues_, choice.table["pvalue"][:2], rtol=1e-6)
    else:  # whatever the order of the classes
        other = ClosedTestRecalibration(**options).fit(X[:, ::-1], 2 - y, weights)
        np.testing.assert_allclose(other.pvalues_, one.pvalues_, rtol=1e-6)
    plain, equal = (ClosedTestRecalibration().fit(X, y, w) for w in (None, np.full(150, 7.0)))
    np.testing.assert_allclose(equal.pvalues_, plain.pvalues_, rtol=1e-9)


def test_weights_of_scores_that_are_all_alike():
    """The statistic of the intercept, with the rows that tell as much of a share."""
    y, weights = np.arange(100) < 40, np.random.default_rng(0).uniform(0.2, 3, 100)
    fitted = ClosedTestRecalibration().fit(np.full((100, 1), 0.35), y, weights)
    mass = weights / weights.sum()
    share, squares = mass @ y, mass @ (y - 0.35) ** 2
    gain = share * np.log(share / 0.35) + (1 - share) * np.log((1 - share) / 0.65)
    n_rows = squares / (mass**2 @ (y - 0.35) ** 2)
    np.testing.assert_allclose(fitted.pvalues_, [chi2.sf(2 * n_rows * gain, 1)], rtol=1e-9)


@pytest.mark.parametrize("scale", [1, 5])
def test_level_with_unequal_weights(scale):
    """At most 7 % of right models are changed, but for chance: as counts of rows, most were."""
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        weights = scale * (1 + 3 * rng.exponential(size=300))
        found.append(ClosedTestRecalibration().fit(*draw_classes(rng, 300), weights).update_)
    assert np.count_nonzero(np.array(found) != "none") <= most_of(200, 0.07)


def test_scores_that_are_all_alike():
    fitted = ClosedTestRecalibration().fit(np.full((100, 1), 0.2), np.arange(100) < 40)
    assert fitted.update_ == "intercept"
    assert len(fitted.pvalues_) == 1
    np.testing.assert_allclose(fitted.predict_proba([[0.2]])[0], [0.6, 0.4], rtol=1e-9)


def test_by_name():
    found = get_recalibrator("closed_test", alpha=0.2)
    assert isinstance(found, ClosedTestRecalibration)
    assert found.alpha == 0.2


def test_bad_level():
    with pytest.raises(ValueError, match="alpha must be above 0 and below 1; got 1"):
        ClosedTestRecalibration(alpha=1).fit([[0.1], [0.9]], [0, 1])


def test_many_classes():
    """A hundred classes take a slope and 99 intercepts, not a matrix of coefficients."""
    X, y = draw_classes(np.random.default_rng(0), 3000, 0.5, n_classes=100)
    y[:100] = np.arange(100)
    fitted = ClosedTestRecalibration(target_smoothing=False).fit(X, y)
    assert fitted.update_ == "slope"
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(proba.mean(axis=0), np.bincount(y) / 3000, rtol=1e-6)
    assert abs(np.mean((proba - np.eye(100)[y]) * np.log(X))) < 1e-7
