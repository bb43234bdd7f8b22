"""VennAbers: the definition, agreement with the authors' package, the interval."""

import numpy as np
import pandas as pd
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from skcal.recalibration import IsotonicRecalibration, VennAbers
from tests.recalibration.family import make_scores

# venn-abers 1.5.4, functions calc_p0p1 and calc_probs, run once on these cases: training scores,
# outcomes, new scores; p0, p1 and the merged probability of the new scores.
CASES = {
    "ties": (
        [0.1, 0.2, 0.2, 0.3, 0.4, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.8, 0.9],
        [0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1],
        [0.05, 0.2, 0.25, 0.4, 0.55, 0.8, 0.9, 0.95],
        [0.0, 0.25, 0.25, 0.28571429, 0.33333333, 0.5, 0.6, 0.6],
        [0.375, 0.42857143, 0.42857143, 0.5, 0.66666667, 0.75, 1.0, 1.0],
        [0.27272727, 0.36363636, 0.36363636, 0.41176471, 0.5, 0.6, 0.71428571, 0.71428571],
    ),
    "distinct": (
        [0.12, 0.19, 0.33, 0.41, 0.48, 0.57, 0.63, 0.77, 0.85, 0.91],
        [1, 0, 0, 0, 1, 0, 1, 1, 1, 1],
        [0.0, 0.15, 0.33, 0.45, 0.48, 0.6, 0.9, 1.0],
        [0.0, 0.2, 0.2, 0.2, 0.33333333, 0.33333333, 0.75, 0.8],
        [0.4, 0.4, 0.4, 0.66666667, 0.66666667, 1.0, 1.0, 1.0],
        [0.28571429, 0.33333333, 0.33333333, 0.45454545, 0.5, 0.6, 0.8, 0.83333333],
    ),
    "separated": (
        [0.2, 0.3, 0.4, 0.6, 0.7, 0.8],
        [0, 0, 0, 1, 1, 1],
        [0.1, 0.2, 0.35, 0.5, 0.6, 0.75, 0.9],
        [0.0, 0.0, 0.0, 0.0, 0.5, 0.66666667, 0.75],
        [0.25, 0.25, 0.5, 1.0, 1.0, 1.0, 1.0],
        [0.2, 0.2, 0.33333333, 0.5, 0.66666667, 0.75, 0.8],
    ),
    "constant": (
        [0.5, 0.5, 0.5, 0.5],
        [0, 1, 1, 1],
        [0.4, 0.5, 0.6],
        [0.0, 0.6, 0.6],
        [0.8, 0.8, 1.0],
        [0.44444444, 0.66666667, 0.71428571],
    ),
}


def in_two_columns(proba):
    proba = np.asarray(proba, dtype=float)
    return np.column_stack([1 - proba, proba])


def predict_with_added_row(scores, outcomes, score):
    """The definition, one new row at a time."""
    return [
        IsotonicRegression()
        .fit(np.append(scores, score), np.append(outcomes, outcome))
        .predict([score])[0]
        for outcome in (0, 1)
    ]


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_the_package_of_the_authors(case):
    scores, y, new, lower, upper, merged = CASES[case]
    fitted = VennAbers().fit(in_two_columns(scores), y)
    new = in_two_columns(new)
    np.testing.assert_allclose(fitted.predict_interval(new)[:, 1, 0], lower, rtol=0, atol=1e-6)
    np.testing.assert_allclose(fitted.predict_interval(new)[:, 1, 1], upper, rtol=0, atol=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(new)[:, 1], merged, rtol=0, atol=1e-6)


def test_two_classes_follow_the_definition():
    X, y = make_scores(2, 60)
    new, _ = make_scores(2, 40, seed=1)
    new = np.vstack([X[:20], new])
    expected = np.array([predict_with_added_row(X[:, 1], y, score) for score in new[:, 1]])
    fitted = VennAbers().fit(X, y)
    interval = fitted.predict_interval(new)
    np.testing.assert_allclose(interval[:, 1], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(interval[:, 0], 1 - expected[:, ::-1], rtol=0, atol=1e-12)
    low, high = expected.T
    np.testing.assert_allclose(
        fitted.predict_proba(new)[:, 1], high / (1 - low + high), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("input", ["proba", "logits"])
def test_several_classes_are_treated_one_against_the_rest_and_normalised(input):
    X, y = make_scores(3, 60)
    bounds = np.array(
        [[predict_with_added_row(X[:, k], y == k, score) for score in X[:, k]] for k in range(3)]
    ).transpose(1, 0, 2)
    scores = X if input == "proba" else np.log(X) + np.arange(60)[:, None]
    fitted = VennAbers(input=input).fit(scores, y)
    np.testing.assert_allclose(fitted.predict_interval(scores), bounds, rtol=0, atol=1e-12)
    parts = bounds[..., 1] / (1 - bounds[..., 0] + bounds[..., 1])
    np.testing.assert_allclose(
        fitted.predict_proba(scores), parts / parts.sum(axis=1, keepdims=True), rtol=0, atol=1e-12
    )


def test_probability_lies_in_the_interval_and_rises_with_the_score():
    X, y = make_scores(2, 500)
    fitted = VennAbers().fit(X, y)
    new = in_two_columns(np.linspace(0, 1, 1001))
    interval, proba = fitted.predict_interval(new), fitted.predict_proba(new)
    assert (interval[..., 0] <= proba + 1e-15).all()
    assert (proba <= interval[..., 1] + 1e-15).all()
    assert (np.diff(proba[:, 1]) >= 0).all()
    assert (np.diff(interval[:, 1], axis=0) >= 0).all()
    assert proba.min() > 0
    assert proba.max() < 1


def test_reversed_labels_reverse_the_answer():
    X, y = make_scores(2, 200)
    fitted, swapped = VennAbers().fit(X, y), VennAbers().fit(X[:, ::-1], 1 - y)
    np.testing.assert_allclose(
        swapped.predict_proba(X[:, ::-1]), fitted.predict_proba(X)[:, ::-1], rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        swapped.predict_interval(X[:, ::-1]),
        fitted.predict_interval(X)[:, ::-1],
        rtol=0,
        atol=1e-12,
    )


def test_weights_are_counts():
    """Isotonic regression is what remains of the predictor when the data are repeated often."""
    X, y = make_scores(2, 100)
    isotonic = IsotonicRecalibration().fit(X, y).predict_proba(X)
    distances = []
    for weight in (1, 1e2, 1e4, 1e6):
        fitted = VennAbers().fit(X, y, sample_weight=np.full(100, weight))
        proba, interval = fitted.predict_proba(X), fitted.predict_interval(X)
        distances.append([np.abs(proba - isotonic).max(), np.ptp(interval, axis=2).max()])
    distances = np.array(distances)
    assert (distances[1:] < distances[:-1] / 5).all()
    assert distances[-1].max() < 1e-5


def test_a_missing_class_gets_a_small_probability():
    X, y = make_scores(3, 200)
    fitted = VennAbers(classes=[0, 1, 2, 3]).fit(np.column_stack([0.9 * X, np.full(200, 0.1)]), y)
    new = np.array([[0.3, 0.3, 0.3, 0.1]])
    # All 200 rows and the new one are tied: p0 = 0 and p1 = 1 / 201.
    np.testing.assert_allclose(fitted.predict_interval(new)[0, 3], [0, 1 / 201], atol=1e-15)
    assert 0 < fitted.predict_proba(new)[0, 3] < 0.01


def test_large_logits_do_not_saturate():
    z = np.array([[50.0], [60.0], [70.0], [80.0]])
    fitted = VennAbers(input="logits").fit(z, [0, 0, 1, 1])
    # Each outcome is pooled with those of the other kind: p1 = 1/3, 1/2 and p0 = 1/2, 2/3.
    np.testing.assert_allclose(fitted.transform(z).ravel(), [1 / 4, 1 / 3, 2 / 3, 3 / 4])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounding_of_logits_does_not_matter(n_classes):
    """What is added to a row leaves its ties with training rows, also near log-odds of 0."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, n_classes, 60)
    z = 1e-6 * (rng.normal(size=(60, n_classes)) + np.eye(n_classes)[y])
    fitted = VennAbers(input="logits").fit(z, y)
    shifted = z + 10 * rng.normal(size=(60, 1))
    assert (np.abs(np.diff(shifted) - np.diff(z)) > 1e-13 * np.abs(np.diff(z))).any()
    np.testing.assert_allclose(
        fitted.predict_interval(shifted), fitted.predict_interval(z), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("weight", [1, 1e18, 1e99])
def test_output_is_inside(weight):
    X = in_two_columns([0, 0, 1, 1])
    fitted = VennAbers().fit(X, [0, 0, 1, 1], sample_weight=np.full(4, weight))
    proba = fitted.predict_proba(X)
    assert proba.min() > 0
    assert proba.max() < 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_interval_reads_what_predict_proba_reads(n_classes):
    X, y = make_scores(n_classes, 80)
    names = [f"p{k}" for k in range(n_classes)]
    frame = pd.DataFrame(X, columns=names)
    fitted = VennAbers().fit(frame, y)
    expected = fitted.predict_interval(frame)
    assert expected.shape == (80, n_classes, 2)
    assert expected.dtype == np.float64
    as_list = VennAbers().fit(X, y).predict_interval(X.tolist())
    np.testing.assert_array_equal(as_list, expected)
    assert fitted.predict_interval(frame.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="features"):
        VennAbers().fit(X, y).predict_interval(np.full((2, 7), 1 / 7))
    with pytest.raises(ValueError, match="not fitted"):
        VennAbers().predict_interval(X)


def test_interval_of_one_column():
    X, y = make_scores(2, 80)
    np.testing.assert_array_equal(
        VennAbers().fit(X[:, 1:], y).predict_interval(X[:, 1:]),
        VennAbers().fit(X, y).predict_interval(X),
    )


def test_order_of_columns_in_the_interval():
    X, y = make_scores(3, 80)
    order = [2, 0, 1]
    np.testing.assert_array_equal(
        VennAbers(classes=order).fit(X[:, order], y).predict_interval(X[:, order]),
        VennAbers().fit(X, y).predict_interval(X),
    )


@pytest.mark.filterwarnings(r"ignore:The y_pr\w+ values do not sum to one")  # rounded in the file
def test_real_network(shared_data):
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    X, y = table.filter(regex=r"^p\d$").to_numpy(), table.y_true.to_numpy()
    fitted = VennAbers().fit(X[:5000], y[:5000])
    assert log_loss(y[5000:], fitted.transform(X[5000:])) < 0.85 * log_loss(y[5000:], X[5000:])


def test_weights_beside_which_one_more_row_is_nothing():
    # 1e100 + 1 - 1e100 is 0: the slope to the row that is added was divided by it.
    X, y = [[0.0], [1e-300], [0.0]], [3, 3, 1]
    fitted = VennAbers().fit(X, y, sample_weight=[0, 1e-5, 1e300])
    proba = fitted.predict_proba(X)
    assert proba[0, 0] == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
