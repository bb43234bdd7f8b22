"""The closed test of updates: closed forms, independent fits, and its level."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import chi2

from skcal.inference import UpdateChoice, choose_update, cox_recalibration
from tests.chance import most_of


def draw_rows(rng, n, intercept=0.0, slope=1.0, extra=0.0):
    """Outcomes, predictions of a logistic model, and its features."""
    features = rng.normal(size=(n, 3))
    scores = features @ [0.8, 0.5, -0.5] - 1
    truth = intercept + slope * scores + extra * features[:, 0]
    return (rng.random(n) < expit(truth)).astype(int), expit(scores), features


def find_least_loss(columns, offset, y):
    """Sum of the log losses of the best coefficients."""

    def loss(point):
        scores = offset + columns @ point
        return np.sum(np.logaddexp(0, scores) - y * scores)

    return minimize(loss, np.zeros(columns.shape[1]), tol=1e-10).fun


def test_statistics_of_independent_fits(rng):
    """The log odds lie in the span of the features and cost no degree of freedom beside them."""
    y, v, features = draw_rows(rng, 400, 0.3, 0.8, 0.4)
    found = choose_update(y, v, features)
    assert isinstance(found, UpdateChoice)
    ones, x = np.ones((400, 1)), logit(v)
    losses = [
        np.sum(np.logaddexp(0, x) - y * x),
        find_least_loss(ones, x, y),
        find_least_loss(np.column_stack([ones, x]), 0 * x, y),
        find_least_loss(np.column_stack([ones, features]), 0 * x, y),
    ]
    statistics = 2 * (np.array(losses[:3]) - losses[3])
    table = found.table
    assert table["update"].tolist() == ["none", "intercept", "slope", "revision"]
    assert table["n_parameters"].tolist() == [0, 1, 2, 4]
    assert table["degrees"].tolist()[:3] == [4, 3, 2]
    np.testing.assert_allclose(table["log_loss"], np.array(losses) / 400, rtol=1e-8)
    np.testing.assert_allclose(table["statistic"][:3], statistics, rtol=1e-6)
    np.testing.assert_allclose(table["pvalue"][:3], chi2.sf(statistics, [4, 3, 2]), rtol=1e-6)
    assert table.iloc[3][["intercept", "slope", "statistic", "degrees", "pvalue"]].isna().all()
    cox = cox_recalibration(y, v)
    np.testing.assert_allclose(
        table["intercept"][1:3], [cox.calibration_in_the_large[0], cox.intercept[0]], rtol=1e-6
    )
    np.testing.assert_allclose(table["slope"][:3], [1, 1, cox.slope[0]], rtol=1e-6)


def test_without_features_it_is_cox(rng):
    y, v, _ = draw_rows(rng, 300, 0.2, 0.8)
    w = rng.uniform(0.2, 3, 300)
    for rows in ({}, {"sample_weight": w}):
        table, cox = choose_update(y, v, **rows).table, cox_recalibration(y, v, **rows)
        assert table["update"].tolist() == ["none", "intercept", "slope"]
        expected = cox.test.statistic, cox.slope_test.statistic
        np.testing.assert_allclose(table["statistic"][:2], expected, rtol=1e-6)
        np.testing.assert_allclose(
            table["pvalue"][:2], (cox.test.pvalue, cox.slope_test.pvalue), rtol=1e-6
        )


@pytest.mark.parametrize(
    ("truth", "update"),
    [
        ({}, "none"),
        ({"intercept": 0.6}, "intercept"),
        ({"slope": 0.5}, "slope"),
        ({"extra": 1.0}, "revision"),
    ],
)
def test_the_update_that_is_needed(truth, update):
    rows = draw_rows(np.random.default_rng(3), 2000, **truth)
    assert choose_update(*rows).update == update
    if update != "revision":
        assert choose_update(*rows[:2]).update == update


@pytest.mark.parametrize(
    ("truth", "right"), [({}, ["none"]), ({"intercept": 0.8}, ["none", "intercept"])]
)
def test_level(truth, right):
    """No more than 6 % of samples get too large an update, but for chance (`most_of`)."""
    rng = np.random.default_rng(0)
    found = [choose_update(*draw_rows(rng, 400, **truth)).update for _ in range(200)]
    assert np.count_nonzero(~np.isin(found, right)) <= most_of(200, 0.06)


def test_level_with_clusters():
    """Of rows in 40 clusters, which without their names are rejected in most samples."""
    rng, member = np.random.default_rng(0), np.repeat(np.arange(40), 25)
    found = {"named": [], "unnamed": []}
    for _ in range(40):
        _, v, features = draw_rows(rng, 1000)
        # Each row has its own risk, and shares the number that decides with 7 of 10 of its cluster.
        uniform = np.tile(rng.random(40)[:, None], 25).ravel()
        y = np.where(rng.random(1000) < 0.7, uniform, rng.random(1000)) < v
        for name, clusters in (("named", member), ("unnamed", None)):
            choice = choose_update(y, v, features[:, :1], clusters=clusters, labels=[False, True])
            found[name].append(choice.update != "none")
    assert sum(found["named"]) <= most_of(40, 0.05)
    assert np.mean(found["unnamed"]) > 0.3


def test_what_features_add(rng):
    y, v, features = draw_rows(rng, 300, extra=0.3)
    one = choose_update(y, v, features).table
    for other in (
        1e8 + 1e5 * features,  # another unit
        np.column_stack([features, features @ [1, 2, 3], np.ones(300)]),  # what is known
        features @ rng.normal(size=(3, 3)),
    ):
        table = choose_update(y, v, other).table
        assert table["degrees"].tolist()[:3] == [4, 3, 2]
        np.testing.assert_allclose(table["statistic"][:3], one["statistic"][:3], rtol=1e-5)
    new = choose_update(y, v, rng.normal(size=300)).table
    assert new["degrees"].tolist()[:3] == [3, 2, 1]
    nothing = choose_update(y, v, np.ones(300)).table
    assert nothing["update"].tolist() == ["none", "intercept", "slope"]


def test_equal_predictions_have_no_slope():
    """Then the intercept is the log odds of the share."""
    y, v = np.arange(100) < 40, np.full(100, 0.2)
    choice = choose_update(y, v, labels=[False, True])
    assert choice.update == "intercept"
    assert choice.table["update"].tolist() == ["none", "intercept"]
    assert choice.table["intercept"][1] == pytest.approx(logit(0.4) - logit(0.2), rel=1e-9)
    statistic = 200 * (0.4 * np.log(0.4 / 0.2) + 0.6 * np.log(0.6 / 0.8))
    assert choice.table["statistic"][0] == pytest.approx(statistic, rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
def test_limits_of_separated_outcomes(seed, threshold):
    """They are those of `cox_recalibration`, as long as no two rows overlap."""
    rng = np.random.default_rng(seed)
    v, w = rng.uniform(0.05, 0.95, 200), rng.uniform(0.2, 3, 200)
    for y, sign in ((v > threshold, 1), (v < threshold, -1)):
        for rows in ({}, {"sample_weight": w}):
            row, cox = choose_update(y, v, **rows).table.iloc[2], cox_recalibration(y, v, **rows)
            assert row["slope"] == sign * np.inf == cox.slope.estimate
            assert row["intercept"] == cox.intercept.estimate
        order = np.argsort(v)
        middle = np.searchsorted(v[order], threshold)
        y[order[middle - 1 : middle + 1]] = y[order[[middle, middle - 1]]]
        assert np.isfinite(choose_update(y, v).table["slope"]).all()


def test_separated_outcomes():
    v = np.linspace(0.1, 0.9, 40)
    choice = choose_update(v > 0.45, v, labels=[False, True])
    assert choice.update == "slope"
    assert choice.table["slope"][2] == np.inf
    assert np.isfinite(choice.table["pvalue"][:2]).all()
    statistic = 2 * -np.log(np.where(v > 0.45, v, 1 - v)).sum()
    assert choice.table["statistic"][0] == pytest.approx(statistic, rel=1e-6)


def test_sentences(rng):
    rows = draw_rows(np.random.default_rng(3), 2000, intercept=0.6)
    found = choose_update(*rows)
    assert str(found).startswith(
        "A new intercept is enough (tests against revision: none p < 0.001, intercept p = "
    )
    assert found.to_frame().equals(found.table)
    assert found.to_frame() is not found.table
    revised = draw_rows(np.random.default_rng(3), 2000, extra=1.0)
    assert str(choose_update(*revised)).startswith("The model needs to be revised (tests")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0}, "alpha must be above 0 and below 1; got 0"),
        ({"X": [[1, 2]]}, r"X must have the shape \(n_samples, n_features\)"),
        ({"X": [1, np.nan, 2, 3]}, "X must be finite"),
        ({"X": ["a", "b", "c", "d"]}, "X must hold"),
        ({"y_proba": [0, 0.2, 0.3, 0.4]}, "y_proba must lie between 0 and 1"),
        ({"y_true": [1, 1, 1, 1], "labels": [0, 1]}, "y_true must hold both outcomes"),
    ],
)
def test_bad_arguments(arguments, message):
    rows = {"y_true": [0, 1, 0, 1], "y_proba": [0.1, 0.2, 0.3, 0.4]}
    with pytest.raises(ValueError, match=message):
        choose_update(**(rows | arguments))
