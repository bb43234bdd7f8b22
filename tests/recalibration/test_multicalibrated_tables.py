"""Corrections in groups read tables of any kind, and rows as hard as they come."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from skcal.recalibration import (
    MulticalibratedClassifierCV,
)
from tests.recalibration.family import make_features
from tests.recalibration.multicalibrated import (
    CLOSE,
    FEATURES,
    correct,
    every_method,
    find_proba,
    get_correction,
    make_rows,
    mostly_scaling,
)


def list_tables(X):
    yield pd.DataFrame(X).astype({"region": "category", "age": "Int64", "old": "boolean"})
    yield pl.from_pandas(X)
    yield pa.Table.from_pandas(X)
    yield X.set_axis([3, 1, 4, 0, 2], axis=1)
    yield X.to_numpy()
    yield X.to_numpy().tolist()


@pytest.mark.parametrize("kind", range(6))
def test_tables_of_any_kind(kind):
    X, _, y = make_rows("level", 400)
    gaps = np.arange(400) % 9 == 0
    X["region"], X["age"] = X["region"].where(~gaps, None), X["age"].where(~gaps)
    expected = correct().fit(X, y)
    table = list(list_tables(X))[kind]
    features = FEATURES if kind < 3 else [1, 4, 0, 2] if kind == 3 else [1, 2, 3, 4]
    model = correct(features=features).fit(table, y)
    np.testing.assert_allclose(model.predict_proba(table), expected.predict_proba(X), **CLOSE)
    if kind != 3:
        # Tables of one kind may follow those of another.
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), **CLOSE)
        np.testing.assert_allclose(expected.predict_proba(table), model.predict_proba(X), **CLOSE)
    first = table[:1] if not isinstance(table, pa.Table) else table.slice(0, 1)
    np.testing.assert_allclose(model.predict_proba(first), model.predict_proba(table)[:1], **CLOSE)


def test_columns_are_found_by_name_and_rows_as_series():
    X, _, y = make_rows("level", 400)
    model = correct().fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X[X.columns[::-1]].assign(more=1)), expected)
    np.testing.assert_array_equal(model.predict_proba(X.iloc[7].to_frame().T), expected[7:8])
    # By place, where there were no names or names stand twice.
    named = X.set_axis(["x3", "x2", "x1", "x0", "x4"], axis=1)
    numbers = correct(features=[1, 2, 3, 4])
    np.testing.assert_allclose(numbers.fit(X.to_numpy(), y).predict_proba(named), expected, **CLOSE)
    twice = X.set_axis(["z0", "a", "a", "a", "b"], axis=1)
    np.testing.assert_allclose(numbers.fit(twice, y).predict_proba(twice), expected, **CLOSE)


def test_sparse_matrices():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 3, (300, 2))])
    y = (rng.random(300) < expit(X[:, 0] + X[:, 1] - 1)).astype(int)
    expected = correct(features=[1, 2]).fit(X, y).predict_proba(X)
    for form in (sparse.csr_array, sparse.coo_matrix, sparse.csc_array):
        model = correct(features=[1, 2]).fit(form(X), y)
        np.testing.assert_allclose(model.predict_proba(form(X)), expected, **CLOSE)


@every_method
def test_values_that_were_not_seen(method):
    """No correction of that column, or that of all rows; numbers beyond the last bin are in it."""
    X, _, y = make_rows("level", 400)
    model = correct(method).fit(X, y)
    known, far = X.assign(age=26), X.assign(age=1e9)
    np.testing.assert_array_equal(model.predict_proba(far), model.predict_proba(known))
    strange = X.assign(region="east", old=None, new="x")
    found = model.predict_proba(strange)
    for others in (X.assign(region=None, old=np.nan, new=None), strange.assign(region=3.5)):
        np.testing.assert_array_equal(model.predict_proba(others), found)
    assert np.isfinite(found).all()
    if method == "scaling":
        expected = find_proba(get_correction(model).to_frame(), strange, X["z0"].mean())
        np.testing.assert_allclose(found[:, 1], expected, rtol=1e-9)
    else:
        correction = get_correction(model)
        odds = strange["z0"] + correction.factor_ * correction.maps_[0].intercept
        np.testing.assert_allclose(found[:, 1], expit(odds), rtol=1e-9)
        assert correction.factor_ > 0.5


@every_method
@pytest.mark.parametrize(
    "n", [4, pytest.param(5, marks=pytest.mark.slow), pytest.param(7, marks=pytest.mark.slow), 10]
)
def test_few_rows_and_constant_columns(method, n):
    X, _, _ = make_rows(n=n)
    X["region"], X["age"] = "north", np.nan
    y = np.arange(n) % 2
    model = correct(method, cv=2).fit(X, y)
    proba = model.predict_proba(X)
    assert ((proba > 0) & (proba < 1)).all()
    if method == "scaling":  # no level has 20 rows
        assert get_correction(model).to_frame().index.tolist() == ["all rows"]


@mostly_scaling
def test_sure_and_wrong_scores(method):
    X, y = make_features(2, 300)
    y = np.where(np.arange(300) % 11 == 0, 1 - y, y)
    forest = RandomForestClassifier(5, random_state=0).fit(X[:150], y[:150])
    scores = forest.predict_proba(X)
    assert {0.0, 1.0} < set(scores.ravel())
    model = MulticalibratedClassifierCV(FrozenEstimator(forest), method=method).fit(X, y)
    proba = model.predict_proba(X)
    assert ((proba > 0) & (proba < 1)).all()
    # A loss that was infinite.
    assert np.isfinite(np.log(proba[np.arange(300), y])).all()


def test_log_odds_that_are_all_alike_have_no_slope():
    """Their last bits were taken for scores."""
    X, _, y = make_rows("level", 300)
    X["z0"] = np.where(np.arange(300) % 3, 0.3, np.nextafter(0.3, 1))
    model = correct().fit(X, y)
    frame = get_correction(model).to_frame()
    np.testing.assert_allclose(frame["slope"].dropna(), 0, atol=1e-9)
    assert frame["intercept"].abs().max() > 0.1
    near = model.predict_proba(X.assign(z0=0.3 + 1e-9))
    np.testing.assert_allclose(near, model.predict_proba(X), atol=1e-6)


def test_missing_values_are_one_row_of_each_pair():
    """Fine bins and merged ones may both tell something, and other pairs for other classes."""
    rng, n = np.random.default_rng(0), 6000
    place, side = rng.random(n), rng.choice([-1, 1], n)
    X = pd.DataFrame({"z0": rng.normal(size=n), "z1": rng.normal(size=n)})
    X["side"] = np.where(side > 0, "left", "right")
    X["place"] = np.where(rng.random(n) < 0.2, np.nan, place)
    bins = np.where(X["place"].isna(), 1, np.cos(32 * np.pi * np.floor(16 * place) / 16))
    logits = np.column_stack([np.zeros(n), X["z0"] + side * (bins + (place < 0.25)), X["z1"]])
    y = (softmax(logits, axis=1).cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    correction = get_correction(correct(classes=(0, 1, 2), features=["side", "place"]).fit(X, y))
    assert any(len(fitted.pairs) > 1 for fitted in correction.maps_)
    frame = correction.to_frame()
    assert frame.index.is_unique
    assert frame.columns.get_level_values(0).unique().tolist() == [0, 1, 2]
    assert "side = left and place is missing" in frame.index
