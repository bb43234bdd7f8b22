"""domain_weights: the ratio of densities, in all containers, clipped and with mean 1."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import coo_matrix, csr_array
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from skcal.diagrams import ReliabilityDisplay
from skcal.report import calibration_report
from skcal.shift import domain_weights


class Counting(GaussianNB):
    """Tells how often it is fitted."""

    n_fits = 0

    def fit(self, X, y):
        Counting.n_fits += 1
        return super().fit(X, y)


class Says(ClassifierMixin, BaseEstimator):
    """Predicts its feature."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def draw(seed=0, n_old=3000, n_new=2000, n_features=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_old, n_features)), rng.normal(0.7, size=(n_new, n_features))


def test_they_are_the_ratio_of_normal_densities():
    old, new = draw(n_old=40_000, n_new=20_000)
    true = np.prod(norm.pdf(old, 0.7) / norm.pdf(old), axis=1)
    for classifier in (None, GaussianNB()):
        weights = domain_weights(old, new, classifier, random_state=0)
        assert weights.mean() == pytest.approx(1)
        np.testing.assert_allclose(np.log(weights / true), 0, atol=0.5)
        assert np.mean(np.abs(weights - true)) < 0.05
        np.testing.assert_allclose(weights @ old / len(old), new.mean(axis=0), atol=0.06)


def test_formula():
    """p / (1 - p), clipped, over their mean."""
    chances = np.array([0.0, 0.25, 0.5, 0.75, 0.9, 1.0])
    old, new = chances[:, None], np.full((3, 1), 0.5)
    ratios = 2 * np.array([0, 1 / 3, 1, 3, 9, np.inf])
    for clip in (1, 4.5, 100):
        expected = np.minimum(ratios, clip)
        found = domain_weights(old, new, Says(), cv=2, clip=clip, random_state=0)
        np.testing.assert_allclose(found, expected / expected.mean())
    found = domain_weights(old, new, Says(), cv=2)
    expected = np.minimum(ratios, np.sqrt(6))
    np.testing.assert_allclose(found, expected / expected.mean())


def test_no_shift_has_weights_near_one():
    old, _ = draw()
    weights = domain_weights(old, old[::-1] + 1e-9, random_state=0)
    assert weights.sum() ** 2 / (weights**2).sum() > 0.98 * len(old)


def test_one_cross_fit_and_no_row_judges_itself():
    old, new = draw(n_old=200, n_new=100)
    Counting.n_fits = 0
    domain_weights(old, new, Counting(), cv=4)
    assert Counting.n_fits == 4
    # The last fold alone knows the last row: an outlier changes no weight but those of the others.
    splits = list(KFold(3, shuffle=True, random_state=0).split(np.zeros(300)))
    before = domain_weights(old, new, GaussianNB(), cv=splits, clip=np.inf)
    (fold,) = (test for _, test in splits if 0 in test)
    moved = old.copy()
    moved[0] = 5
    after = domain_weights(moved, new, GaussianNB(), cv=splits, clip=np.inf)
    same = fold[(fold < 200) & (fold > 0)]
    np.testing.assert_allclose(after[same] / after[same[0]], before[same] / before[same[0]])


@pytest.mark.parametrize("shift", [3, 6, 10])
def test_samples_with_little_in_common(shift):
    """Weights came without a word, and worth 200 of 500 rows where no two rows are alike.

    Of two normal densities there is less than half of the one where the other has all but 1/500.
    """
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    new[:, 0] += shift
    with pytest.warns(
        UserWarning, match=r"X_old has rows that resemble only \d+% of the new"
    ) as found:
        domain_weights(old, new, random_state=0)
    share = int(re.search(r"(\d+)%", str(found[0].message))[1]) / 100
    assert share < 2 * norm.sf(shift - norm.isf(1 / 500)) + 0.03


def test_random_state():
    old, new = draw(n_old=300, n_new=300)
    one, same, other = (domain_weights(old, new, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    np.testing.assert_allclose(one, other, rtol=0.5)


def test_any_rows_that_the_classifier_takes():
    old, new = draw(n_old=120, n_new=90)
    expected = domain_weights(old, new, random_state=0)
    names = ["a", "b"]
    for convert in (
        np.ndarray.tolist,
        lambda X: pd.DataFrame(X, columns=names),
        lambda X: pl.DataFrame(X, schema=names),
        lambda X: pa.table(dict(zip(names, X.T, strict=True))),
    ):
        found = domain_weights(convert(old), convert(new), random_state=0)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    by_bayes = domain_weights(old, new, GaussianNB(), random_state=0)
    for convert in (pd.DataFrame, lambda X: pl.DataFrame(X, schema=names)):
        found = domain_weights(convert(old), convert(new), GaussianNB(), random_state=0)
        np.testing.assert_allclose(found, by_bayes, rtol=1e-12)
    counts, counts_new = (np.floor(np.abs(X)) for X in (old, new))
    for classifier in (None, MultinomialNB()):
        dense = domain_weights(counts, counts_new, classifier, random_state=0)
        for convert in (csr_array, coo_matrix):
            pair = convert(counts), convert(counts_new)
            found = domain_weights(*pair, classifier, random_state=0)
            np.testing.assert_allclose(found, dense, rtol=1e-3)


def test_missing_values_categories_and_text():
    old, new = draw(n_old=200, n_new=100)
    old[0, 0] = np.nan
    forest = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    tables = [
        pd.DataFrame({"x": X[:, 0], "city": np.resize(["a", "b"], len(X))}) for X in (old, new)
    ]
    tables = [table.astype({"city": "category"}) for table in tables]
    for pair in ((old, new), tables):
        assert domain_weights(*pair, forest, random_state=0).mean() == pytest.approx(1)
    words, words_new = ["old old", "old new"] * 50, ["new new", "old new"] * 50
    reader = make_pipeline(CountVectorizer(), MultinomialNB())
    weights = domain_weights(words, words_new, reader, random_state=0)
    assert weights[0] < weights[1]


def test_the_effective_number_of_rows_is_shown():
    old, new = draw(n_old=500)
    y, proba = np.arange(500) % 2, np.random.default_rng(0).random(500)
    weights = domain_weights(old, new, random_state=0)
    effective = weights.sum() ** 2 / (weights**2).sum()
    report = calibration_report(y, proba, sample_weight=weights, n_resamples=9)
    assert report.models[None].sample.effective_sample_size == pytest.approx(effective)
    assert f"weighted like {effective:.1f} of equal weight" in str(report)
    display = ReliabilityDisplay.from_predictions(y, proba, sample_weight=weights)
    assert display.curves[0].n_samples == pytest.approx(effective)


def test_bad_input():
    old, new = draw(n_old=20, n_new=20)
    with pytest.raises(ValueError, match=r"^classifier must be None or an instance"):
        domain_weights(old, new, GaussianNB)
    with pytest.raises(ValueError, match=r"^X_new must have the columns of X_old; got .*\(1,\)"):
        domain_weights(old, new[:, :1])
    for classifier in (None, GaussianNB()):
        with pytest.raises(ValueError, match=r"^X_new must have the columns of X_old, in the same"):
            domain_weights(
                pd.DataFrame(old, columns=["a", "b"]),
                pd.DataFrame(new, columns=["b", "a"]),
                classifier,
            )
    with pytest.raises(ValueError, match=r"^X_new must be a table of the kind of X_old"):
        domain_weights(
            pd.DataFrame(old, columns=["a", "b"]),
            pl.DataFrame(new, schema=["a", "b"]),
            GaussianNB(),
        )
    with pytest.raises(TypeError, match=r"LazyFrame"):
        domain_weights(pl.DataFrame(old).lazy(), pl.DataFrame(new), GaussianNB())
    with pytest.raises(ValueError, match=r"^X_old must have shape"):
        domain_weights(old[:, 0], new)
    with pytest.raises(ValueError, match=r"^X_new must hold at least two rows"):
        domain_weights(old, new[:1])
    with pytest.raises(ValueError, match=r"^X_new must hold finite numbers.*row 3"):
        domain_weights(old, np.where(np.arange(20)[:, None] == 3, np.nan, new))
    for clip in (0.5, np.nan, "x"):
        with pytest.raises(ValueError, match=r"^clip must be"):
            domain_weights(old, new, clip=clip)
    for cv in (1, "prefit", [(0, 1)]):
        with pytest.raises(ValueError, match=r"cv"):
            domain_weights(old, new, cv=cv)
    with pytest.raises(ValueError, match="; got 5 folds for at most 4 rows of each"):
        domain_weights(old[:3], new[:4])
    with pytest.raises(ValueError, match=r"^predict_proba of classifier must lie in \[0, 1\]"):
        domain_weights(np.full((9, 1), -2.0), np.ones((9, 1)), Says(), cv=2)
    with pytest.raises(ValueError, match=r"certain that no row of X_old"):
        domain_weights(np.zeros((9, 1)), np.ones((9, 1)), Says(), cv=2)
    with pytest.raises(ValueError, match=r"certain that row 2 of X_old.*finite clip"):
        domain_weights(np.array([[0.0], [0.5], [1.0]]), np.ones((3, 1)), Says(), cv=2, clip=np.inf)
