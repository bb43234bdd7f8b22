"""Which rows to label, and how many."""

from datetime import date

import numpy as np
import pytest

from skcal._input._few_labels import read_few_labels
from skcal._numerics.inference._few_labels import make_targets
from skcal._numerics.inference._label_plan import (
    expect_variances,
    find_width,
    sample_systematically,
    spread_labels,
)
from skcal.inference import choose_rows_to_label, required_labels
from skcal.inference._prediction_powered_calibration import compare_sums


def draw(seed=0, n=2000, right=0.9):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 2, n)
    y = 1.0 * (rng.random(n) < p)
    return p, y, np.where(rng.random(n) < right, y, 1 - y)


# --------------------------------------------------------------------------- which rows


def test_probabilities_are_those_of_the_formula():
    p, f = np.array([0.1, 0.2, 0.9, 0.4, 0.3, 0.9]), np.array([1, 0, 0, 0.5, 0, 1])
    size = np.sqrt(p * (1 - p) + (p - f) ** 2)
    chosen = choose_rows_to_label(p, 2, proxy=f, random_state=0)
    expected = 2 * (0.5 / 6 + 0.5 * size / size.sum())
    np.testing.assert_allclose(chosen.sampling_probability, expected)
    # For a verdict m is the probability that the prediction gives to the other one.
    np.testing.assert_allclose((size**2)[[0, 1, 2]], [0.9, 0.2, 0.9])
    # Both columns of two classes, several judges, and none.
    two = choose_rows_to_label(np.stack([1 - p, p], axis=1), 2, proxy=f, random_state=0)
    np.testing.assert_allclose(two.sampling_probability, expected)
    both = choose_rows_to_label(p, 2, proxy=np.stack([f, f], axis=1), random_state=0)
    np.testing.assert_allclose(both.sampling_probability, expected)
    own = np.sqrt(p * (1 - p))
    none = choose_rows_to_label(p, 2, random_state=0).sampling_probability
    np.testing.assert_allclose(none, 2 * (0.5 / 6 + 0.5 * own / own.sum()))


@pytest.mark.parametrize("budget", [1, 7, 100, 1999, 2000])
@pytest.mark.parametrize("kind", ["plain", "certain", "skewed", "groups"])
def test_exactly_so_many_rows_and_no_weight_is_large(budget, kind):
    p, _, f = draw()
    groups = None
    if kind == "certain":
        p = np.repeat([0.0, 1.0], 1000)
        f = 1.0 * p
    elif kind == "skewed":
        p = np.where(np.arange(2000) < 20, 0.5, 1e-9)
        f = 1.0 * (np.arange(2000) < 10)
    elif kind == "groups":
        groups = np.repeat(["small", "large"], [50, 1950])
    chosen = choose_rows_to_label(p, budget, proxy=f, groups=groups, random_state=0)
    probability = chosen.sampling_probability
    assert len(np.unique(chosen.rows)) == len(chosen.rows) == budget
    assert probability.sum() == pytest.approx(budget)
    assert probability.max() <= 1
    even = np.full(2000, budget / 2000)
    if kind == "groups":
        even = np.minimum(np.where(groups == "small", budget / 100, budget / 3900), 1)
    assert (probability >= 0.5 * even * (1 - 1e-9)).all()


def test_rows_have_the_stated_probabilities():
    """Over all starts of the steps, whatever the order."""
    rng = np.random.default_rng(0)
    probability, order = spread_labels(rng.random(40), np.ones(40), 7), rng.permutation(40)
    counts = np.zeros(40)
    for start in (np.arange(4000) + 0.5) / 4000:
        counts[sample_systematically(probability, order, 7, start)] += 1
    np.testing.assert_allclose(counts / 4000, probability, atol=1e-3)


def test_ranges_of_predictions_have_their_share():
    p, _, f = draw()
    chosen = choose_rows_to_label(p, 100, proxy=f, random_state=1)
    for low in (0.0, 0.2, 0.5, 0.7):
        inside = (p > low) & (p <= low + 0.3)
        expected = chosen.sampling_probability[inside].sum()
        assert abs(np.isin(chosen.rows, np.flatnonzero(inside)).sum() - expected) < 2


def test_chosen_rows_tell_more_than_an_even_choice():
    """The variance that labels add, sum (1 / pi - 1) (y - f)^2, of a judge who errs in doubt."""
    rng = np.random.default_rng(0)
    p = np.where(np.arange(2000) % 5 == 0, 0.5, 0.02)
    y = 1.0 * (rng.random(2000) < p)
    f = np.where(p > 0.1, y * (rng.random(2000) < 0.6), y)
    chance = choose_rows_to_label(p, 100, proxy=f, random_state=0).sampling_probability
    variances = [(1 / one - 1) @ (y - f) ** 2 for one in (chance, np.full(2000, 0.05))]
    assert variances[0] < 0.6 * variances[1]
    assert (1 / chance).max() <= 2 / 0.05 + 1e-9


def test_groups_may_be_dates():
    proba = np.linspace(0.1, 0.9, 12)
    numbers = np.arange(12) % 3
    days = [date(2024, 1, 1 + number) for number in numbers]
    by_day, by_number = (
        choose_rows_to_label(proba, 6, groups=groups, random_state=0) for groups in (days, numbers)
    )
    np.testing.assert_array_equal(by_day.rows, by_number.rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": 0}, "budget must be at least 1; got 0"),
        ({"budget": 4}, "budget must be at most 3; got 4"),
        ({"proxy": [1, 0]}, r"proxy must have a row for each of 3 predictions; got shape \(2, 1\)"),
        ({"proxy": [2, 0, 1]}, r"proxy must lie in \[0, 1\]"),
        ({"groups": ["a"]}, "groups must hold one name for each of the 3 rows; got 1"),
        ({"y_proba": np.full((3, 3), 1 / 3)}, "y_proba must be of one event; got 3 columns"),
        ({"y_proba": [0.1, 2, 0.3]}, r"y_proba must lie in \[0, 1\]"),
    ],
)
def test_bad_choices(arguments, message):
    with pytest.raises(ValueError, match=message):
        choose_rows_to_label(**{"y_proba": [0.1, 0.2, 0.3], "budget": 2} | arguments)


# --------------------------------------------------------------------------- how many


def test_variances_of_a_judge_by_enumeration():
    """All outcomes and verdicts of three predictions, by their probabilities."""
    p, right = np.array([0.1, 0.4, 0.8]), 0.85
    rows = []
    for proba in p:
        for y in (0, 1):
            for f in (0, 1):
                chance = (proba if y else 1 - proba) * (right if f == y else 1 - right) / 3
                rows.append([chance, y - proba, f - proba])
    chance, residual, opinion = np.array(rows).T
    covariance = np.cov(residual, opinion, aweights=chance, ddof=0)
    whole, left = expect_variances(p, right)
    assert whole == pytest.approx(covariance[0, 0])
    left_over = covariance[0, 0] - covariance[0, 1] ** 2 / covariance[1, 1]
    assert left == pytest.approx(left_over)


def test_plans_are_the_smallest():
    p, _, _ = draw()
    whole, left = expect_variances(p, 0.9)
    found = required_labels(p, width=0.15, agreement=0.9, n_rows=5000)

    def length(n_labels, n_rows, rest=left):
        return find_width(whole, rest, n_labels, n_rows, p.mean(), 0.95)

    assert found.width == pytest.approx(length(found.n_labels, 5000))
    assert found.width <= 0.15 < length(found.n_labels - 1, 5000)
    alone = found.n_labels_alone
    assert length(alone, alone, whole) <= 0.15 < length(alone - 1, alone - 1, whole)
    assert found.n_labels < alone


def test_the_cheapest_plan_is_no_dearer_than_its_neighbours():
    p, _, _ = draw()
    costs = {"label_cost": 4.0, "verdict_cost": 0.05}
    best = required_labels(p, width=0.15, agreement=0.9, **costs)
    assert best.cost == pytest.approx(4 * best.n_labels + 0.05 * best.n_rows)
    assert best.width <= 0.15 * (1 + 1e-6)
    for n_rows in (best.n_rows // 2, int(0.9 * best.n_rows), 2 * best.n_rows):
        other = required_labels(p, width=0.15, agreement=0.9, n_rows=n_rows)
        assert 4 * other.n_labels + 0.05 * n_rows > 0.999 * best.cost
    few = required_labels(p, width=0.15, agreement=0.9, n_rows=best.n_rows // 2, **costs)
    assert few.n_rows <= best.n_rows // 2
    assert few.cost > best.cost


def test_plans_hold():
    """The median length of 20 studies is the planned one."""
    p, _, _ = draw(n=4000)
    plan = required_labels(p, width=0.15, agreement=0.9, n_rows=4000)
    lengths = []
    for seed in range(20):
        p, y, f = draw(seed, n=4000)
        label, rng = np.full(4000, np.nan), np.random.default_rng(seed)
        rows = rng.choice(4000, plan.n_labels, replace=False)
        label[rows] = y[rows]
        found, _ = read_few_labels(label, p, f)
        ratio = compare_sums(found, make_targets(found)[0], 0.95)[1]
        lengths.append(ratio.high - ratio.low)
    assert np.median(lengths) == pytest.approx(0.15, rel=0.07)


def test_a_pilot_says_what_a_judge_of_known_quality_does():
    p, y, f = draw(n=20_000)
    pilot = required_labels(p, width=0.15, y_true=y, proxy=f, n_rows=5000)
    known = required_labels(p, width=0.15, agreement=0.9, n_rows=5000)
    assert pilot.n_labels == pytest.approx(known.n_labels, rel=0.05)
    few = np.where(np.arange(20_000) % 4 == 0, y, np.nan)
    partly = required_labels(p, width=0.15, y_true=few, proxy=f, n_rows=5000)
    assert partly.n_labels == pytest.approx(known.n_labels, rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "width must be above 0; got 0"),
        ({"agreement": None}, "Either agreement, or y_true and proxy"),
        ({"agreement": 1.5}, "agreement must be above 0 and below 1"),
        ({"y_true": [0, 1, 1]}, "Either agreement, or y_true and proxy"),
        ({"agreement": None, "y_true": [0, 1, 1]}, "proxy must hold the verdicts of the pilot"),
        ({"n_rows": None}, "n_rows, or label_cost and verdict_cost, must be given"),
        ({"label_cost": 1.0}, "verdict_cost must be above 0 beside the other cost; got None"),
        ({"width": 1e-5}, "width must be larger, or more than 10000000 labels are needed"),
        ({"n_rows": 10}, "width must be at least .* with 10 rows, all of them labelled"),
        ({"y_proba": [0.0, 1.0]}, "y_proba must not be certain in all rows"),
        ({"y_proba": [[0.5, 0.5]]}, "y_proba must have one column; got 2"),
    ],
)
def test_bad_plans(arguments, message):
    given = {"y_proba": [0.1, 0.5, 0.9], "width": 0.1, "agreement": 0.9, "n_rows": 2000}
    with pytest.raises(ValueError, match=message):
        required_labels(**given | arguments)


def test_a_judge_that_does_not_pay():
    proba = np.random.default_rng(0).beta(2, 2, 1000)
    found = required_labels(proba, width=0.2, agreement=0.5, n_rows=2000)
    assert found.n_labels >= found.n_labels_alone
    assert str(found) == f"A judge does not pay: {found.n_labels_alone:,} labels alone do."
    with pytest.raises(ValueError, match=r"^proxy must be None beside agreement"):
        required_labels(proba, width=0.2, agreement=0.5, proxy=proba)
