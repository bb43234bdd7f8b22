"""AutoRecalibration: the mixture, its members, its folds; recalibrators by name."""

from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2
from sklearn import config_context
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import get_tags

from skcal._fitting._held_out import predict_held_out
from skcal._numerics.recalibration._deal import deal_rows, deal_splits
from skcal._numerics.recalibration._mixture import (
    expect_an_error,
    find_refuted,
    fit_mixture_weights,
)
from skcal._refinement import cross_fit
from skcal.recalibration import (
    AutoRecalibration,
    BetaCalibration,
    PlattScaling,
    RandomizedSmoothing,
    RecalibratedClassifierCV,
    SplineRecalibration,
    TemperatureScaling,
    get_recalibrator,
    get_recalibrator_names,
)
from tests.recalibration.family import CLASSES, both_counts, make_features, make_scores

# --------------------------------------------------------------------------- weights
from tests.recalibration.fixed import Fixed


def make_likelihoods(n_members, n_samples):
    rng = np.random.default_rng(n_members)
    likelihoods = rng.random((n_members, n_samples)) ** 3
    likelihoods[1] = likelihoods[0] * (1 + 1e-3 * rng.normal(size=n_samples))  # next to alike
    return likelihoods, np.r_[5.0, np.ones(n_members - 1)], rng.random(n_samples) * 3


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # older versions of SciPy
@pytest.mark.parametrize(("n_members", "n_samples"), [(2, 1), (3, 50), (6, 1000)])
def test_weights_are_the_maximum(n_members, n_samples):
    likelihoods, prior, mass = make_likelihoods(n_members, n_samples)

    def loss(weights):
        return -(mass @ np.log(weights @ likelihoods) + prior @ np.log(weights))

    def slope(weights):
        return -(likelihoods @ (mass / (weights @ likelihoods)) + prior / weights)

    best = minimize(
        loss,
        prior / prior.sum(),
        jac=slope,
        method="SLSQP",
        bounds=[(1e-9, 1)] * n_members,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    weights = fit_mixture_weights(likelihoods, prior, mass)
    np.testing.assert_allclose(weights, best.x, rtol=0, atol=1e-8)
    # The slope along the simplex vanishes: shares of the members, as of an expectation, stay.
    for scale in (1e-6, 1, 1e6):
        weights = fit_mixture_weights(likelihoods, prior, scale * mass)
        shares = prior + weights * (likelihoods @ (scale * mass / (weights @ likelihoods)))
        np.testing.assert_allclose(shares / shares.sum(), weights, rtol=1e-12)


def test_weights_of_rows_count_them():
    likelihoods, prior, _ = make_likelihoods(4, 60)
    counts = np.random.default_rng(0).integers(0, 4, 60)
    weights = fit_mixture_weights(likelihoods, prior, counts.astype(float))
    again = fit_mixture_weights(
        np.repeat(likelihoods, counts, axis=1), prior, np.ones(counts.sum())
    )
    np.testing.assert_allclose(weights, again, rtol=1e-12)
    order = [2, 0, 3, 1]
    moved = fit_mixture_weights(likelihoods[order, ::-1], prior[order], counts[::-1].astype(float))
    np.testing.assert_allclose(moved, weights[order], rtol=1e-12)


def test_weights_in_closed_form():
    """Two members of which one is always right: w = (n + a) / (n + a + b); none: the prior."""
    right = np.vstack([np.zeros(100), np.full(100, 1e-300)])
    weights = fit_mixture_weights(right, np.array([5.0, 1.0]), np.ones(100))
    np.testing.assert_allclose(weights, [5 / 106, 101 / 106], rtol=1e-12)
    for likelihoods in (np.zeros((2, 9)), np.ones((2, 9)), np.empty((2, 0))):
        weights = fit_mixture_weights(
            likelihoods, np.array([5.0, 1.0]), np.ones(likelihoods.shape[1])
        )
        np.testing.assert_allclose(weights, [5 / 6, 1 / 6], rtol=1e-12)


# --------------------------------------------------------------------------- the mixture


@both_counts
def test_what_all_say_is_said_by_the_mixture(n_classes):
    X, y = make_scores(n_classes)
    found = AutoRecalibration([Fixed(), Fixed(), Fixed()], prior_rows=100.7).fit(X, y)
    np.testing.assert_array_equal(found.predict_proba(X), X)
    assert found.names_ == ["identity", "Fixed", "Fixed-2", "Fixed-3"]
    assert found.gain_ == pytest.approx(0, abs=1e-12)


def test_classes_of_any_name():
    X, y = make_scores(2)
    given = [Fixed(0.5), Fixed(2.0)]
    kinds = [type(name, (Fixed,), {}) for name in ("identity", "mixture")]
    named = [kind(power) for kind, power in zip(kinds, (0.5, 2.0), strict=True)]
    found, expected = (AutoRecalibration(members).fit(X, y) for members in (named, given))
    assert found.names_ == ["identity", "identity-2", "mixture"]
    np.testing.assert_array_equal(found.weights_, expected.weights_)
    np.testing.assert_array_equal(found.log_losses_, expected.log_losses_)
    assert found.gain_ == expected.gain_


@both_counts
def test_the_truth_wins(n_classes):
    X, y = make_scores(n_classes, 20_000)  # squares of the truth
    fitted = AutoRecalibration([Fixed(0.5), Fixed(2.0)]).fit(X, y)
    assert fitted.weights_[1] > 0.9
    assert fitted.gain_ > 0


FITS = Counter()


class Counted(Fixed):
    """Counts its fits, by power."""

    def _fit(self, scores, codes, sample_weight):
        FITS[self.power] += 1


@both_counts
@pytest.mark.parametrize(("n_rows", "few"), [(1000, 5), (4000, 3), (20_000, 1)])
def test_what_the_first_folds_refute_is_not_fitted_again(n_classes, n_rows, few):
    X, y = make_scores(n_classes, n_rows)  # squares of the truth
    members = [Counted(0.5), Counted(3.0), Counted(0.51)]
    FITS.clear()
    found = AutoRecalibration(members).fit(X, y)
    # Less than 1000 rows refute none.
    assert dict(FITS) == {0.5: 6, 3.0: few, 0.51: 6}
    rows, _, splits = deal_rows(X, y, None, 5)
    expected = AutoRecalibration(members, cv=splits).fit(X[rows], y[rows])
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-9)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_allclose(found.gain_, expected.gain_, rtol=1e-9)
    tested = np.concatenate([test for _, test in splits[:few]])
    loss = log_loss(y[rows][tested], Fixed(3.0).fit(X, y).predict_proba(X[rows][tested]))
    assert found.log_losses_[2] == pytest.approx(loss, rel=1e-9)
    np.testing.assert_allclose(
        found.log_losses_[[0, 1, 3]], expected.log_losses_[[0, 1, 3]], rtol=1e-9
    )


@both_counts
def test_cross_fitting_leaves_out_what_the_first_folds_refute(n_classes):
    """The mixture is the same; rows of clusters tell less than they seem to, and refute none."""
    X, y = make_scores(n_classes, 4000)
    mixture, splits = AutoRecalibration([Counted(0.5), Counted(3.0)]), deal_splits(X, y, None, 5)
    FITS.clear()
    found = cross_fit(mixture, X, y, None, 5)
    assert dict(FITS) == {0.5: 5, 3.0: 3}
    parts = predict_held_out(mixture, X, y, None, splits)
    for (_, test), part in zip(splits, parts, strict=True):
        np.testing.assert_allclose(found[test], part, rtol=1e-9)
    FITS.clear()
    cross_fit(mixture, X, y, None, 5, np.arange(4000))
    assert dict(FITS) == {0.5: 5, 3.0: 5}


def test_members_are_refuted_by_ten_and_six_standard_errors():
    """Gaps that are their mean plus and minus 1 have the standard error sqrt(n) in sum."""
    for n_rows, is_many in ((998, False), (1000, True)):
        for rest, is_out in ((-1, False), (1, True)):
            error = np.sqrt(n_rows)  # gaps are the mean +- 1
            gap = (10 + 6 * error + rest) / n_rows
            gaps = gap + np.resize([1.0, -1.0], n_rows)
            likelihoods = np.exp(-5 - np.array([0 * gaps, gaps]))
            found = find_refuted(likelihoods, np.ones(n_rows), np.full(2, 10.0), n_rows)
            assert found.tolist() == [False, is_many and is_out]


def test_a_part_of_the_rows_is_judged_with_the_share_of_all():
    """The first member holds 200 rows for impossible, each at the cost of about log(n_rows)."""
    likelihoods = np.array([np.where(np.arange(2000) < 200, 0.0, 0.9), np.full(2000, 0.5)])
    for n_rows, is_refuted in ((2000, False), (10**9, True)):
        share = 1 / (1 + n_rows)
        logs = np.log((1 - share) * likelihoods + share * likelihoods.mean(axis=0))
        gaps = logs[1] - logs[0]
        error = np.sqrt(2000) * np.std(gaps)
        assert gaps.sum() > 10
        assert (gaps.sum() > 10 + 6 * error) == is_refuted
        found = find_refuted(likelihoods, np.ones(2000), np.full(2, 10.0), n_rows)
        assert found.tolist() == [is_refuted, False]


@pytest.mark.parametrize("n_copies", [1, 3000])
def test_the_first_fold_does_not_refute_what_a_heavy_row_of_another_one_may_favour(n_copies):
    X, y = make_scores(2, 20_000)
    truth = np.sqrt(X) / np.sqrt(X).sum(axis=1, keepdims=True)
    heavy = np.full((n_copies, 2), [1 - 1e-12, 1e-12])  # an event that the scores do not expect
    X, y = np.concatenate([truth, heavy]), np.append(y, np.ones(n_copies, dtype=int))
    weights = np.append(np.ones(20_000), np.full(n_copies, 3000 / n_copies))
    found = AutoRecalibration([Fixed(0.3)]).fit(X, y, weights)
    rows, mass, splits = deal_rows(X, y, weights, 5)
    assert mass.max() == 3000
    assert mass.argmax() in splits[0][0]  # that it is not tested in the first fold
    expected = AutoRecalibration([Fixed(0.3)], cv=splits).fit(X[rows], y[rows], mass)
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-9)
    np.testing.assert_allclose(found.log_losses_, expected.log_losses_, rtol=1e-9)
    assert found.weights_[1] > 0.5


def weigh_by_hand(likelihoods, weights):
    """Of the scores and three maps, as the notes of AutoRecalibration say."""
    prior, share = np.array([5.0, 1 / 3, 1 / 3, 1 / 3]), 1 / (1 + weights.sum())
    judged = np.log((1 - share) * likelihoods + share * likelihoods.mean(axis=0)) @ weights
    kept = judged >= judged.max() - 10
    found = np.zeros(4)
    found[kept] = fit_mixture_weights(likelihoods[kept], prior[kept], weights.astype(float))
    return found


def find_intercepts_by_hand(proba, y, weights):
    """By another minimizer, and shrunk."""

    def loss(free):
        intercepts = np.append(free, -np.sum(free))
        total = np.log(proba @ np.exp(intercepts))
        return weights @ (total - intercepts[y])

    best = minimize(loss, np.zeros(proba.shape[1] - 1), tol=1e-12)
    deviance = 2 * (loss(np.zeros_like(best.x)) - best.fun)
    evidence = chi2.ppf(0.9, len(best.x))
    return max(0.0, 1 - evidence / deviance) * np.append(best.x, -np.sum(best.x))


@both_counts
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_loop_by_hand(n_classes, weighted):
    X, y = make_scores(n_classes, 200)
    weights = np.random.default_rng(0).integers(1, 4, 200) if weighted else np.ones(200)
    splits = list(StratifiedKFold(4).split(X, y))
    names = ["temperature", "platt", "spline"]
    kinds = [TemperatureScaling, PlattScaling, SplineRecalibration]
    found = AutoRecalibration(names, cv=splits).fit(X, y, weights if weighted else None)
    fits = {"identity": lambda train: lambda new: new}
    for name in names:
        fits[name] = lambda train, name=name: (
            get_recalibrator(name).fit(X[train], y[train], weights[train]).predict_proba
        )
    likelihoods, folds = np.empty((4, 200)), np.empty(200, dtype=int)
    for k, (train, test) in enumerate(splits):
        folds[test] = k
        for row, fit in zip(likelihoods, fits.values(), strict=True):
            row[test] = fit(train)(X[test])[np.arange(len(test)), y[test]]
    expected = weigh_by_hand(likelihoods, weights)
    share = weights / weights.sum()
    np.testing.assert_allclose(found.weights_, expected, rtol=1e-9)
    np.testing.assert_allclose(found.log_losses_, -np.log(likelihoods) @ share, rtol=1e-9)
    mixed = np.empty(200)
    for k in range(4):
        others = folds != k
        other = weigh_by_hand(likelihoods[:, others], weights[others])
        mixed[~others] = other @ likelihoods[:, ~others]
    gain = share @ (np.log(mixed) - np.log(likelihoods[0]))
    assert found.gain_ == pytest.approx(gain, rel=1e-9)
    proba = sum(w * fit(slice(None))(X) for w, fit in zip(expected, fits.values(), strict=True))
    intercepts = find_intercepts_by_hand(proba, y, weights)
    np.testing.assert_allclose(found.intercepts_, intercepts, rtol=0, atol=1e-6)
    proba = proba * np.exp(found.intercepts_)
    proba /= proba.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.predict_proba(X), proba, rtol=0, atol=1e-12)
    assert found.names_ == list(fits)
    for one, kind, weight in zip(found.recalibrators_, kinds, expected[1:], strict=True):
        assert isinstance(one, kind) if weight else one is None


def test_weights_are_repetitions_where_copies_share_a_fold():
    X, y = make_scores(3, 120)
    weights = np.random.default_rng(0).integers(0, 4, 120)
    folds = np.random.default_rng(1).integers(0, 3, 120)

    def split(folds):
        return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]

    weighted = AutoRecalibration(cv=split(folds)).fit(X, y, weights)
    copies = [np.repeat(values, weights, axis=0) for values in (X, y, folds)]
    repeated = AutoRecalibration(cv=split(copies[2])).fit(*copies[:2])
    np.testing.assert_allclose(repeated.predict_proba(X), weighted.predict_proba(X), atol=1e-9)


def test_rows_count_once_however_often_they_are_tested():
    X, y = make_scores(3, 120)
    splits = list(StratifiedKFold(3).split(X, y))
    once, twice = (AutoRecalibration(cv=cv).fit(X, y) for cv in (splits, 2 * splits))
    np.testing.assert_allclose(twice.weights_, once.weights_, rtol=1e-6)


def test_folds_do_not_depend_on_the_order_of_rows_nor_on_ties():
    X, y = make_scores(3, 300)
    order = np.random.default_rng(0).permutation(300)
    for scores in (X, np.round(X, 1) / np.round(X, 1).sum(axis=1, keepdims=True)):
        fitted = AutoRecalibration().fit(scores, y)
        again = AutoRecalibration().fit(scores[order], y[order])
        np.testing.assert_allclose(
            again.predict_proba(X), fitted.predict_proba(X), rtol=0, atol=1e-9
        )


def test_folds_do_not_depend_on_the_names_of_classes_nor_on_ties():
    X, y = make_scores(3, 400)
    X = np.round(X, 1) + 1e-3
    X /= X.sum(axis=1, keepdims=True)
    expected = AutoRecalibration().fit(X, y).predict_proba(X)
    order = np.array([2, 0, 1])
    renamed = AutoRecalibration().fit(X[:, order], np.argsort(order)[y])
    found = renamed.predict_proba(X[:, order])[:, np.argsort(order)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_noise_is_not_found_again_in_other_folds():
    """Dealt in the order of the scores, folds would share out outcomes evenly."""
    rng = np.random.default_rng(0)
    weights = []
    for _ in range(20):
        v = rng.random(400)
        y = (rng.random(400) < v).astype(int)
        weights.append(AutoRecalibration(["isotonic"]).fit(v[:, None], y).weights_[0])
    assert np.mean(weights) > 0.8  # without any evidence 5/6


@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_monotone(n_classes):
    X, y = make_scores(n_classes, 400)
    y = y[::-1] if n_classes == 2 else y  # scores that say nothing
    names = {2: ["temperature", "beta", "spline"], 3: ["temperature"]}[n_classes]
    inner = AutoRecalibration(monotone=True)
    for members, expected in ((None, names), ([inner], ["auto"])):
        fitted = AutoRecalibration(members, monotone=True).fit(X, y)
        assert fitted.names_[1:] == expected
        if n_classes == 2:
            grid = np.column_stack([np.linspace(1, 0, 1001), np.linspace(0, 1, 1001)])
            assert (np.diff(fitted.predict_proba(grid)[:, 1]) >= 0).all()
        else:
            np.testing.assert_array_equal(fitted.predict(X), X.argmax(axis=1))
    for member in (PlattScaling(), SplineRecalibration(monotone=False), GaussianNB(), "auto"):
        with pytest.raises(ValueError, match=rf"monotone for {n_classes} classes.*brators\[1\]"):
            AutoRecalibration(["temperature", member], monotone=True).fit(X, y)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (None, False),
        (["beta", "platt"], False),
        (["beta", "randomized_smoothing"], True),
        ([RandomizedSmoothing(random_state=0)], True),
        (["unknown", 3, RandomizedSmoothing], False),
        ("beta", False),
    ],
)
def test_random_members_make_a_random_mixture(members, expected):
    mixture = AutoRecalibration(members)
    assert get_tags(mixture).non_deterministic == expected
    assert get_tags(RecalibratedClassifierCV(GaussianNB(), mixture)).non_deterministic == expected


def test_groups_reach_the_splitter():
    X, y = make_scores(2, 200)
    groups = np.arange(200) // 20
    with config_context(enable_metadata_routing=True):
        fitted = AutoRecalibration(cv=GroupKFold(5)).fit(X, y, groups=groups)
    splits = list(GroupKFold(5).split(X, y, groups))
    expected = AutoRecalibration(cv=splits).fit(X, y)
    np.testing.assert_array_equal(fitted.weights_, expected.weights_)
    for cv in (GroupKFold(5), 5):
        with pytest.raises(ValueError, match="groups need metadata routing"):
            AutoRecalibration(cv=cv).fit(X, y, groups=groups)
    with pytest.raises(TypeError, match="unexpected keyword argument 'group'"):
        AutoRecalibration().fit(X, y, group=groups)


@pytest.mark.parametrize("ensemble", [True, False])
def test_groups_reach_the_splitter_inside_a_classifier(ensemble):
    X, y = make_scores(2, 400)
    groups = (np.arange(400) // 10).tolist()
    outer, inner = GroupKFold(2), GroupKFold(3)
    with config_context(enable_metadata_routing=True):
        model = RecalibratedClassifierCV(
            GaussianNB(), AutoRecalibration(cv=inner), cv=outer, ensemble=ensemble
        ).fit(X, y, groups=groups)
    splits = list(outer.split(X, y, groups))
    scores = cross_val_predict(GaussianNB(), X, y, cv=splits, method="predict_proba")
    own = list(inner.split(scores, y, groups))
    expected = AutoRecalibration(cv=own).fit(scores, y)
    for pair in model.calibrated_classifiers_:
        np.testing.assert_array_equal(pair.recalibrator.weights_, expected.weights_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recalibrators": []}, "recalibrators must be None or a list"),
        ({"recalibrators": "beta"}, "recalibrators must be None or a list"),
        ({"recalibrators": ["isotonc"]}, r"recalibrators\[0\] must.*Did you mean 'isotonic'"),
        ({"recalibrators": [TemperatureScaling]}, r"recalibrators\[0\] must be an instance"),
        ({"recalibrators": [SplineRecalibration(n_knots=1)]}, "n_knots must be at least 2"),
        ({"cv": 1}, "cv must be at least 2; got 1"),
        ({"cv": True}, "cv must be an integer"),
        ({"cv": "prefit"}, "cv must be None, an integer"),
        ({"prior_rows": 0}, "prior_rows must be"),
        ({"monotone": 1}, "monotone must be True or False"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        AutoRecalibration(**options).fit(*make_scores(2))


# --------------------------------------------------------------------------- by name


def test_names():
    classes = {type(get_recalibrator(name)) for name in get_recalibrator_names()}
    assert classes == set(CLASSES)
    assert get_recalibrator("beta", parameters="ab").parameters == "ab"
    with pytest.raises(ValueError, match=r"name must be one of.*Did you mean 'isotonic'"):
        get_recalibrator("isotonc")


def test_a_search_over_names():
    X, y = make_features()
    search = GridSearchCV(
        RecalibratedClassifierCV(GaussianNB(), cv=3),
        {"recalibrator": ["auto", "temperature", None, BetaCalibration()]},
        scoring="neg_log_loss",
        cv=2,
    ).fit(X, y)
    results = search.cv_results_["mean_test_score"]
    assert results[0] == results[2] != results[1]


# --------------------------------------------------------------------------- harm


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([5.0, 0, 0], [0.2, 0.4, 0.4]),
        ([5.0, 0.5, 0.5], [1 / 9, 4 / 9, 4 / 9]),
        ([0.3, 0.1, 0], [1, 0, 0]),
        *((errors, [0, 0.5, 0.5]) for errors in ([5.0, 2, 0], [0.0, 0, 0], [0.3, 0.4, 0.2])),
    ],
)
def test_weights_that_expect_an_error(errors, expected):
    """In closed form: one error among the rows, or as many as the scores expect, or more."""
    found = expect_an_error(np.array([0.0, 0.5, 0.5]), np.array(errors))
    np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize(
    "n_rows",
    [pytest.param(50, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.slow), 300],
)
def test_rows_that_are_all_right_promise_no_others(n_rows):
    """Where none of few rows is wrong, a temperature near 0 is best for them, and ruin for others.

    One row in thirty of the new ones is wrong: the loss must fall all the same, because the scores
    are far too cautious.
    """
    rng = np.random.default_rng(n_rows)
    top = rng.integers(10, size=n_rows + 4000)
    scores = np.full((len(top), 10), 0.045)
    scores[np.arange(len(top)), top] = rng.uniform(0.5, 0.7, len(top))
    scores /= scores.sum(axis=1, keepdims=True)
    y = np.where(rng.random(len(top)) < 1 / 30, (top + 1) % 10, top)
    y[:n_rows] = top[:n_rows]
    auto = AutoRecalibration().fit(scores[:n_rows], y[:n_rows])
    new, proba = scores[n_rows:], auto.predict_proba(scores[n_rows:])
    assert log_loss(y[n_rows:], proba) < 0.8 * log_loss(y[n_rows:], new)
    # One error is expected among so many rows, or a little less after the fit to all of them.
    assert (1 - proba.max(axis=1)).mean() > 0.8 / n_rows


def test_rows_that_are_all_right_make_confident_scores_no_more_confident():
    """Of 100 rows at .9999 all were to be right: nothing is learnt."""
    scores = np.full((100, 3), 0.00005)
    y = np.arange(100) % 3
    scores[np.arange(100), y] = 0.9999
    proba = AutoRecalibration().fit(scores, y).predict_proba(scores)
    assert proba.max() < 0.99995


def test_jobs_change_nothing():
    X, y = make_scores(2)
    found, expected = (AutoRecalibration(n_jobs=n).fit(X, y).predict_proba(X) for n in (2, None))
    np.testing.assert_array_equal(found, expected)


def test_ragged_rows_are_refused():
    with pytest.raises(ValueError, match=r"inhomogeneous|sequence"):
        TemperatureScaling().fit([[0.5, 0.5], [1.0]], [0, 1])


def test_rates_of_few_values_that_lie_close_together():
    """Those of a tree that boosting stopped at: no smooth map has a jump between them."""
    rng = np.random.default_rng(0)
    values, rates = np.array([0.0068, 0.0069, 0.0085]), np.array([0.003, 0.02, 0.1])
    place = rng.choice(3, 20_000, p=[0.6, 0.3, 0.1])
    y = (rng.random(20_000) < rates[place]).astype(int)
    auto = AutoRecalibration().fit(values[place, None], y)
    assert auto.names_[-1] == "venn_abers"
    # Five standard errors.
    error = 5 * np.sqrt(rates * (1 - rates) / np.bincount(place))
    assert (np.abs(auto.predict_proba(values[:, None])[:, 1] - rates) < error).all()
    assert "venn_abers" not in AutoRecalibration(monotone=True).fit(values[place, None], y).names_
    few = np.append(values[place[:60]], rng.random(3))
    assert "venn_abers" not in AutoRecalibration().fit(few[:, None], np.arange(63) % 2).names_


def test_few_values_of_logits_and_of_weighted_rows():
    """Only differences of logits tell, and weights count rows."""
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=400), rng.integers(2, size=400)
    shift = rng.integers(50, size=400)
    values, labels = np.repeat(np.linspace(0.1, 0.9, 12), 19)[:, None], np.arange(228) % 2
    for few, rows, target, options in (
        (False, np.column_stack([-z, 0 * z]), y, {"input": "logits"}),
        (False, np.column_stack([0 * z, z]), y, {"input": "logits"}),
        (True, shift[:, None] + np.column_stack([0 * z, z.round()]), y, {"input": "logits"}),
        (False, values, labels, {}),
        (True, np.tile(values, (2, 1)), np.tile(labels, 2), {}),
    ):
        assert ("venn_abers" in AutoRecalibration(**options).fit(rows, target).names_) == few
    weighted = AutoRecalibration().fit(values, labels, sample_weight=np.full(228, 2.0))
    assert "venn_abers" in weighted.names_
