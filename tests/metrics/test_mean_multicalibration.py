"""The largest error of predicted means over groups, by its definition and by simple cases."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import PoissonRegressor
from sklearn.model_selection import KFold, cross_val_score

from skcal.inference import audit_mean_groups, make_groups
from skcal.metrics import mean_multicalibration_error, multicalibration_error
from skcal.scorers import make_distribution_scorer

SCALES = ("target", "noise", "share")


@pytest.mark.parametrize("weighted", [False, True])
def test_definition(rng, weighted):
    v = rng.uniform(1, 3, 300).round(1)
    y, inside = rng.poisson(v), rng.random((300, 5)) < 0.4
    weights = rng.exponential(size=300) if weighted else np.ones(300)

    def describe(rows):
        pulls = (weights * (y - v))[rows]
        running = [pulls[v[rows] <= place].sum() for place in np.unique(v)]
        mass = weights[rows].sum()
        noise = np.sqrt((pulls**2).sum()) / mass
        return np.ptp([0.0, *running]) / mass, noise, mass / weights.sum()

    errors, noises, shares = np.array([describe(rows) for rows in inside.T]).T
    noise = (errors / noises).max()
    expected = noise * describe(np.ones(300, dtype=bool))[1], noise, (errors * shares).max()
    for scale, value in zip(SCALES, expected, strict=True):
        for factor in (1.0, 1e-90, 1e90):
            found = mean_multicalibration_error(
                y, v, inside, scale=scale, sample_weight=factor * weights if weighted else None
            )
            assert found == pytest.approx(value, rel=1e-9)


def test_shifts_of_single_groups():
    """A group that is off by d has the error d, and weighs in by its share."""
    y, group = np.array([1.0, 2, 3, 4, 5, 6]), np.array(["a"] * 4 + ["b"] * 2)
    v = np.where(group == "b", y - 3, y)
    assert mean_multicalibration_error(y, v, group, scale="share") == 1
    # Both rows of the group are wrong by as much: all of its residuals are one sign.
    assert mean_multicalibration_error(y, v, group, scale="noise") == pytest.approx(np.sqrt(2))
    expected = np.sqrt(2) * np.sqrt(2 * 3**2) / 6
    assert mean_multicalibration_error(y, v, group) == pytest.approx(expected)
    for scale in SCALES:
        assert mean_multicalibration_error(y, y, group, scale=scale) == 0


def test_units_of_the_targets(rng):
    v, inside = rng.normal(size=200), rng.random((200, 3)) < 0.5
    y = rng.normal(v)
    for scale, power in zip(SCALES, (1, 0, 1), strict=True):
        plain = mean_multicalibration_error(y, v, inside, scale=scale)
        for size in (1e80, 1e-200):
            found = mean_multicalibration_error(-size * y, -size * v, inside, scale=scale)
            assert found == pytest.approx(plain * size**power, rel=1e-9, abs=0)


def test_one_group_of_all_rows_is_the_error_of_probabilities():
    y, v = [0, 1, 0, 1], [0.1, 0.8, 0.3, 0.7]
    expected = multicalibration_error(y, v, ["a"] * 4)
    for scale in ("target", "share"):
        assert mean_multicalibration_error(y, v, ["a"] * 4, scale=scale) == pytest.approx(expected)


def test_groups_of_a_table_and_of_an_audit(rng):
    v, table = rng.uniform(1, 3, 900), {"x": rng.normal(size=900), "z": rng.integers(3, size=900)}
    y, options = rng.normal(v), {"min_samples": 50, "n_bins": 3}
    groups = make_groups(table, **options)
    found = mean_multicalibration_error(y, v, table, scale="noise", **options)
    assert found == mean_multicalibration_error(y, v, groups, scale="noise")
    audit = audit_mean_groups(y, v, groups, statistic="kuiper", n_resamples=1, random_state=0)
    # The audit takes skewness away, of which there is little, and merges rows in cells.
    assert found == pytest.approx(audit.statistics.max(), rel=0.15)


def test_scorer_in_a_search(rng):
    table = pd.DataFrame({"x": rng.normal(size=600), "site": rng.integers(3, size=600)})
    y = rng.poisson(np.exp(0.3 * table["x"]))
    options = {"min_samples": 20, "scale": "noise"}
    folds, model = KFold(3), PoissonRegressor()
    for columns in (None, ["site"]):
        given = {} if columns is None else {"group_columns": columns}
        scorer = make_distribution_scorer(
            "mean_multicalibration_error", response="predict", **options, **given
        )
        found = cross_val_score(model, table, y, scoring=scorer, cv=folds)
        for (train, test), score in zip(folds.split(table), found, strict=True):
            predicted = model.fit(table.iloc[train], y[train]).predict(table.iloc[test])
            groups = table.iloc[test][columns or list(table)]
            assert score == -mean_multicalibration_error(y[test], predicted, groups, **options)
    with pytest.raises(ValueError, match="groups must be given where X is no data frame"):
        scorer(model.fit(table, y), table.to_numpy(), y)
    with pytest.raises(TypeError, match="group_columns"):
        make_distribution_scorer("pinball_loss", group_columns=["site"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": "probability"}, "scale must be one of 'target', 'noise', 'share'"),
        ({"y_pred": [1.0]}, "y_true and y_pred must have the same length; got 2 and 1"),
        ({"y_true": [1.0, np.nan]}, "y_true must hold finite numbers"),
        ({"groups": ["a"]}, "groups must have one entry for each of the 2 rows; got 1"),
        ({"sample_weight": [-1.0, 1.0]}, "sample_weight"),
    ],
)
def test_what_arguments_may_not_be(changes, message):
    arguments = {"y_true": [1.0, 2.0], "y_pred": [1.0, 3.0], "groups": ["a", "b"]} | changes
    with pytest.raises(ValueError, match=message):
        mean_multicalibration_error(**arguments)
