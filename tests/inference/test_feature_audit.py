"""Where a model is wrong, by features: tests, bounds, rules of other rows, and importances."""

import json
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom, norm, t
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skcal._numerics.inference._learned_scores import (
    bound_mean,
    combine_parts,
    draw_sums,
    draw_z,
    find_upper_tail,
    find_z,
    rank_at_random,
)
from skcal._numerics.inference._rule_search import find_rules
from skcal.diagrams import GroupAuditDisplay
from skcal.inference import (
    FeatureRule,
    audit_features,
    audit_mean_features,
    prediction_powered_targets,
)
from skcal.inference import _feature_parts as parts
from skcal.inference._feature_rows import ProbabilityRows, TargetRows
from skcal.monitoring import GroupedMonitor
from skcal.recalibration import MulticalibratedClassifierCV
from skcal.regression import MulticalibratedRegressorCV
from skcal.report import calibration_report
from skcal.survival import pseudo_values

FEW = {"n_resamples": 99, "random_state": 0}
FAST = FEW | {"learner": DecisionTreeRegressor(max_depth=3)}


def draw_patients(rng, n=2000, size=1.5):
    """Wrong by so many log odds for those above 60 on drug B."""
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "drug": rng.choice(["A", "B"], n),
            "dose": rng.normal(size=n),
        }
    )
    v = expit(X["dose"].to_numpy() - 0.5)
    truth = expit(X["dose"] - 0.5 + size * ((X["age"] > 60) & (X["drug"] == "B"))).to_numpy()
    return X, (rng.random(n) < truth).astype(int), v, truth


@pytest.fixture(scope="module")
def patients():
    return draw_patients(np.random.default_rng(0))


@pytest.fixture(scope="module")
def audit(patients):
    X, y, v, _ = patients
    return audit_features(y, v, X, **FEW)


def test_what_is_wrong_is_found(patients, audit):
    X, _, v, truth = patients
    assert audit.pvalue < 0.001
    assert 0 < audit.error_low < audit.error
    assert audit.error_low < np.abs(truth - v).mean()
    gain = (-truth * np.log(v / truth) - (1 - truth) * np.log((1 - v) / (1 - truth))).mean()
    assert 0 < audit.gain_low < min(audit.gain, gain)
    (rule,) = audit.find()
    assert {one.column for one in rule.conditions} == {"age", "drug"}
    inside = rule(X)
    assert ((X["age"] > 55) & (X["drug"] == "B"))[inside].all()
    assert audit.rank_features()["feature"][2] == "dose"
    assert sum(audit.importances) > 0
    table = audit.to_frame()
    assert table["rule"].tolist() == list(map(str, audit.rules))
    assert table.loc[0, "share"] == audit.slices.n_samples[0] / audit.n_judged


def test_sentence_names_the_rule_and_both_rates(audit):
    text, slices = str(audit), audit.slices
    told, came = (100 * value[0] for value in (slices.mean_prediction, slices.mean_outcome))
    ends = (100 * (slices.mean_prediction[0] + end[0]) for end in (slices.low, slices.high))
    low, high = ends
    assert f"{audit.rules[0]}, are told {told:.0f} %, {came:.0f} % come true" in text
    assert f"({low:.0f} to {high:.0f})" in text
    assert str(audit.rules[0]).replace(">", "&gt;") in audit._repr_html_()
    display = GroupAuditDisplay.from_audit(slices)
    (label,) = (one.get_text() for one in display.ax_.get_yticklabels()[:1])
    assert str(slices.n_samples[0]) in label


def test_sentences_of_what_is_not_found(audit):
    unsure = str(audit._replace(pvalue=0.2))
    assert unsure.startswith("No error is found that features tell (p = 0.20), but a rule stands")
    none = audit.slices._replace(adjusted_pvalues=audit.slices.adjusted_pvalues * 0 + 1)
    assert str(audit._replace(slices=none)).endswith("but no short rule stands out.")
    noise = audit._replace(importances=2 * audit.importance_errors, slices=none)
    assert str(noise).startswith("Predictions are wrong (p < 0.001), by at least 0.")
    assert str(noise).endswith("on average, but no feature is seen to tell where.")
    empty = audit._replace(slices=None, rules=[])
    assert empty.find() == []
    assert len(empty.to_frame()) == 0


def test_a_calibrated_model_is_not_accused():
    X, y, v, _ = draw_patients(np.random.default_rng(1), size=0.0)
    found = audit_features(y, v, X, **FEW)
    assert found.pvalue > 0.05
    assert (found.error_low, found.gain_low) == (0, 0)
    assert str(found).startswith("No error is found that features tell (p = ")


def test_rules_are_judged_by_rows_that_did_not_find_them(patients, monkeypatch):
    X, y, v, _ = patients
    seen = []

    def watch(inside, pulls, *rest):
        seen.append(pulls)
        return find_rules(inside, pulls, *rest)

    monkeypatch.setattr(parts, "find_rules", watch)
    for n_parts, n_finding in ((5, 1200), (2, 1000), (4, 1000)):
        found = audit_features(y, v, X, cv=n_parts, n_slices=1, **FEW)
        assert (len(seen.pop()), found.n_judged) == (n_finding, 2000 - n_finding)
        assert len(found.rules) == 1
        assert found.slices.n_samples[0] <= found.n_judged


class Memory(DecisionTreeRegressor):
    """Overfits on purpose: each row has a leaf."""


def test_size_with_a_learner_that_overfits():
    """At most so many rejections that a test of 5 % has more once in a million such tests."""
    rng, n_samples, rejected = np.random.default_rng(3), 60, 0
    for _ in range(n_samples):
        v = rng.uniform(0.01, 0.2, 60)
        rows = {"a": rng.normal(size=60), "b": rng.normal(size=60)}
        y = rng.random(60) < v
        found = audit_features(
            y, v, rows, learner=Memory(), cv=2, n_slices=1, n_resamples=19, random_state=rng
        )
        rejected += found.pvalue <= 0.05
    assert rejected <= binom.isf(1e-6, n_samples, 0.05)


def test_ranks_are_uniform_with_ties():
    """Of an observed draw and n others the rank is uniform; ties share their places."""
    rng = np.random.default_rng(0)
    assert 0 < rank_at_random(rng, 5.0, np.zeros(9)) < 0.1
    assert 0.9 < rank_at_random(rng, -5.0, np.zeros(9)) < 1
    found = np.array([rank_at_random(rng, 0.0, np.zeros(9)) for _ in range(400)])
    # The mean of 400 uniform numbers lies within 5 of its standard deviations.
    assert abs(found.mean() - 0.5) < 5 / np.sqrt(12 * 400)
    assert found.min() < 0.1
    assert found.max() > 0.9


def test_sums_are_those_of_outcomes_that_follow_the_predictions():
    predictions, direction = np.array([0.0, 0.3, 1.0]), np.array([2.0, 1.0, -3.0])
    sums = draw_sums(np.random.default_rng(0), 500, predictions, direction, budget=7)
    np.testing.assert_allclose(np.unique(sums), [-0.3, 0.7])
    # 500 draws of a probability of 0.3, within 5 standard deviations.
    assert abs((sums > 0).mean() - 0.3) < 5 * np.sqrt(0.21 / 500)


def test_parts_are_combined_by_stouffer():
    assert combine_parts(np.array([0.03]), np.array([7.0])) == pytest.approx(0.03)
    both = combine_parts(np.array([0.03, 0.03]), np.array([2.0, 2.0]))
    assert both == pytest.approx(norm.sf(np.sqrt(2) * norm.isf(0.03)))


def test_tails_and_bounds_of_student():
    sums = np.array([1.0, 2.0, -0.5, 3.0])
    squares = np.sqrt((sums**2).sum())
    assert find_upper_tail(sums) == pytest.approx(t.sf(sums.sum() / squares, 3))
    assert find_upper_tail(np.zeros(3)) == 1
    expected = sums.mean() - t.ppf(0.9, 3) * sums.std(ddof=1) / 2
    assert bound_mean(sums / 4, np.full(4, 0.25), 0.1) == pytest.approx(expected)
    assert bound_mean(sums[:1], np.ones(1), 0.1) == -np.inf


def test_random_signs_by_enumeration():
    """Of Hall's z, with twice the skewness of the sum."""
    sums = np.array([1.0, 2.0, -4.0])
    signs = np.array(list(product([-1.0, 1.0], repeat=3)))
    totals, size = signs @ sums, np.sqrt(21.0)
    skewness = 2 * (signs @ sums**3) / size**3
    ratios = totals / size
    expected = ratios + skewness * (2 * ratios**2 + 1) / 6 + skewness**2 * ratios**3 / 27
    np.testing.assert_allclose(find_z(sums, signs), expected)
    drawn = draw_z(np.random.default_rng(0), 300, sums, budget=100)
    # Each of eight combinations is missed with a probability of (7/8)^300 = 4e-18.
    np.testing.assert_allclose(np.unique(drawn.round(9)), np.unique(expected.round(9)))


@pytest.mark.parametrize(("told", "true"), [(0.001, 0.5), (0.5, 0.9), (0.3, 0.31), (0.02, 0.002)])
def test_what_a_rule_tells_is_taken_away(told, true):
    """However large the error is; what is predicted for sure stays."""
    outcomes = np.repeat([1.0, 0.0], [int(1000 * true), 1000 - int(1000 * true)])
    weights = np.tile([1.0, 3.0], 500)
    for kind, sure in ((ProbabilityRows, 1.0), (TargetRows, told)):
        predictions = np.append(np.full(1000, told), sure)
        rows = kind(np.append(outcomes, 0.0), predictions, np.append(weights, 1.0))
        pulls, _, correct = rows.make_search()
        inside = np.append(np.ones(1000, dtype=bool), False)
        after, _ = correct(inside)
        assert abs(after[inside].sum()) < 0.02 * abs(pulls[inside].sum()) + 1e-9
        assert after[~inside] == pulls[~inside]


def test_a_class_among_several_is_one_problem(patients):
    X, y, v, _ = patients
    other = np.random.default_rng(0).random(len(y)) < 0.5
    labels = np.where(y, "ill", np.where(other, "well", "unknown"))
    proba = np.column_stack([v, (1 - v) / 2, (1 - v) / 2])
    found = audit_features(labels, proba, X, pos_label="ill", **FAST)
    alone = audit_features(labels == "ill", v, X, **FAST)
    assert found.pvalue == alone.pvalue
    assert found.rules == alone.rules
    top = audit_features(labels, proba, X, reduction="confidence", **FAST)
    assert top.slices.mean_prediction.min() > v.max() / 3


def test_targets_of_few_labels_and_of_censored_times():
    rng, n = np.random.default_rng(0), 3000
    X = {"age": rng.integers(20, 90, n), "dose": rng.random(n)}
    is_old, v = X["age"] > 60, rng.uniform(0.1, 0.4, n)
    y = (rng.random(n) < v + 0.4 * is_old).astype(float)
    seen = np.where(rng.random(n) < 0.4, y, np.nan)
    proxy = np.where(rng.random(n) < 0.9, y, 1 - y)
    few = prediction_powered_targets(seen, v, proxy, sampling_probability=0.4)
    time, end = rng.exponential(np.where(is_old, 1.5, 5.0)), rng.uniform(2, 10, n)
    late = pseudo_values(time <= end, np.minimum(time, end), horizon=3)
    for targets, risk in ((few, v), (late, np.full(n, 1 - np.exp(-3 / 5)))):
        assert min(targets) < 0
        found = audit_mean_features(targets, risk, X, **FAST)
        assert found.pvalue == 1 / 100
        assert {one.column for one in found.find()[0].conditions} == {"age"}


def test_rules_are_the_best_of_all_by_enumeration():
    rng = np.random.default_rng(5)
    inside = rng.random((80, 6)) < 0.5
    pulls, information = rng.normal(size=80), rng.uniform(0.1, 0.3, 80)

    def weigh(rule):
        rows = inside[:, rule].all(axis=1)
        price = {1: 6, 2: 15}[len(rule)]
        score = pulls[rows].sum() ** 2 / (information[rows].sum() + 5) / 2 - np.log(price)
        return score if rows.sum() >= 10 else -np.inf

    every = [list(rule) for size in (1, 2) for rule in combinations(range(6), size)]

    def still(*_):
        return pulls, information

    (found,) = find_rules(inside, pulls, information, still, 1, 10)
    best = max(every, key=weigh)
    if len(found) == 3:  # a third condition was worth its price
        rows = inside[:, list(found)].all(axis=1)
        score = pulls[rows].sum() ** 2 / (information[rows].sum() + 5) / 2 - np.log(20)
        assert score > weigh(best)
    else:
        assert list(found) == best


def test_an_interaction_without_main_effects_is_found():
    rng = np.random.default_rng(2)
    n = 1500
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    v = np.full(n, 0.5)
    y = rng.random(n) < expit(1.5 * np.sign(X["a"] * X["b"]))
    found = audit_features(y, v, X, **FEW)
    assert found.pvalue < 0.01
    for rule in found.find():
        assert {"a", "b"} <= {one.column for one in rule.conditions}


def test_clusters_of_single_rows_are_rows(patients, audit):
    X, y, v, _ = patients
    alone = audit_features(y, v, X, clusters=np.arange(len(y)), **FEW)
    assert alone.pvalue == audit.pvalue
    assert alone.rules == audit.rules


def test_clusters_are_whole_and_copies_are_no_news():
    """Each row six times is six times as much only without clusters."""
    rng = np.random.default_rng(8)
    X, y, v, _ = draw_patients(rng, 120, size=0.0)
    many = np.repeat(np.arange(120), 6)
    seen = [
        audit_features(y[many], v[many], X.iloc[many], clusters=clusters, **FEW).pvalue
        for clusters in (many, None)
    ]
    assert seen[0] > 0.01
    assert seen[1] < 1e-4
    with pytest.raises(ValueError, match="cv must be at most the number of clusters, 12; got 13"):
        audit_features(y, v, X, clusters=np.arange(120) % 12, cv=13)


def test_dependent_rows_in_clusters():
    """Rows of a cluster share their outcome: single rows of clusters would see too much."""
    rng, n_samples, rejected = np.random.default_rng(4), 25, 0
    for _ in range(n_samples):
        member = np.repeat(np.arange(30), 10)
        v, place = rng.uniform(0.3, 0.7, 30), rng.normal(size=30)
        y = (rng.random(30) < v)[member]
        found = audit_features(
            y,
            v[member],
            {"x": place[member]},
            clusters=member,
            n_slices=1,
            **FEW | {"n_resamples": 19},
            learner=Ridge(),
        )
        rejected += found.pvalue <= 0.05
    assert rejected <= binom.isf(1e-6, n_samples, 0.05)


def test_impossible_outcomes_and_certain_predictions():
    X = {"x": np.arange(200.0)}
    y = np.arange(200) % 2
    right = audit_features(y, 1.0 * y, X, **FEW)
    assert right.pvalue == 1
    wrong = audit_features(y, np.where(np.arange(200) == 7, 0.0, y), X, **FEW)
    assert wrong.pvalue == 0.01
    assert str(wrong).startswith("Predictions are wrong (p <= 0.01)")
    assert np.isfinite([wrong.gain, *wrong.importances]).all()


@pytest.mark.parametrize(
    "learner",
    [
        KNeighborsRegressor(),
        make_pipeline(StandardScaler(), Ridge()),
        HistGradientBoostingRegressor(max_iter=5, max_bins=16, random_state=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_learners(patients, learner):
    X, y, v, _ = patients
    rows = slice(0, 600)
    found = audit_features(y[rows], v[rows], X[rows].assign(age=None), learner=learner, **FEW)
    assert 0 < found.pvalue <= 1
    assert found.features == ["drug", "dose"]


BAD = [
    ({"X": {"a": np.zeros(60)}}, ValueError, "X must have a column that tells rows apart"),
    ({"X": {"a": [None] * 60}}, ValueError, "X must have a column that tells rows apart"),
    ({"X": {"a": np.arange(59.0)}}, ValueError, "X must have one row for each of the 60 labels"),
    ({"X": np.zeros((60, 2))}, ValueError, "X must have a column that tells rows apart"),
    (
        {"X": np.zeros(60)},
        TypeError,
        r"a dict of columns, or an array with two dimensions; got ndarray of shape \(60,\)",
    ),
    ({"cv": 61}, ValueError, "cv must be at most the number of rows, 60; got 61"),
    ({"cv": 1}, ValueError, "cv must be at least 2; got 1"),
    ({"n_slices": 0}, ValueError, "n_slices must be at least 1; got 0"),
    ({"alpha": 1.0}, ValueError, "alpha must be above 0 and below 1; got 1"),
    ({"learner": LogisticRegression()}, ValueError, "learner must be a regressor"),
    ({"learner": "forest"}, ValueError, "learner must be a regressor"),
]


@pytest.mark.parametrize(("changed", "error", "message"), BAD, ids=[message for *_, message in BAD])
def test_arguments_that_are_refused(changed, error, message):
    given = {"X": {"a": np.arange(60.0)}} | changed
    with pytest.raises(error, match=message):
        audit_features(np.arange(60) % 2, np.full(60, 0.5), **given)


def test_too_few_rows_for_the_parts_are_named_first():
    with pytest.raises(ValueError, match="cv must be at most the number of rows, 1; got 5"):
        audit_features([1], [0.4], {"a": [3.0]}, labels=[0, 1])


@pytest.mark.parametrize(("changed", "error", "message"), [BAD[0], BAD[-1]])
def test_audits_of_means_have_the_same_entrance(changed, error, message):
    given = {"X": {"a": np.arange(60.0)}} | changed
    with pytest.raises(error, match=message):
        audit_mean_features(np.arange(60) % 2, np.full(60, 0.5), **given)


def test_identifiers_and_leaks_are_told(patients):
    X, y, v, _ = patients
    names = X.assign(name=[f"patient {k}" for k in range(len(y))])
    with pytest.warns(UserWarning, match=r"X has columns that are left out, \['name'\]"):
        found = audit_features(y, v, names, **FEW)
    assert "name" not in found.features
    with pytest.warns(UserWarning, match=r"X tells nearly all outcomes: .* log loss falls to"):
        audit_features(y, v, X.assign(outcome=y), **FEW)
    with pytest.warns(UserWarning, match=r"X tells nearly all outcomes: .* squared error falls to"):
        audit_mean_features(y, v, X.assign(outcome=y), **FEW)


@pytest.mark.parametrize("n", [300, 600])
def test_leaks_are_told_of_few_rows(patients, n):
    """The first regressors have too few rows to learn of them."""
    X, y, v, _ = patients
    with pytest.warns(UserWarning, match="X tells nearly all outcomes: .* log loss falls to"):
        audit_features(y[:n], v[:n], X[:n].assign(outcome=y[:n])[["dose", "outcome"]], **FEW)


def test_a_model_that_is_wrong_for_everybody_alike_accuses_no_feature():
    rng = np.random.default_rng(0)
    v = rng.uniform(0.1, 0.8, 1000)
    y = (rng.random(1000) < v + 0.2).astype(int)
    found = audit_features(y, v, {"noise": np.arange(1000) % 2}, **FEW)
    assert found.pvalue < 0.001
    assert "but no feature is seen to tell where" in str(found)


def test_outcomes_that_are_all_alike_are_no_leak():
    found = audit_features(np.ones(300, dtype=int), np.full(300, 0.4), {"x": np.arange(300)}, **FEW)
    assert found.pvalue < 0.001


@pytest.fixture(scope="module")
def claims():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 80, 3000), "town": rng.choice(["no", "yes"], 3000)})
    rate = rng.uniform(0.5, 1.5, 3000)
    young = (X["age"] < 30) & (X["town"] == "yes")
    return X, rng.poisson(rate * np.where(young, 2.0, 1.0)), rate


def test_means_in_any_unit(claims):
    X, y, rate = claims
    found, scaled = (audit_mean_features(unit * y, unit * rate, X, **FEW) for unit in (1, 1024))
    assert found.pvalue == scaled.pvalue == 1 / 100  # the smallest of 99 draws
    assert scaled.error == 1024 * found.error
    assert scaled.gain_low == pytest.approx(1024**2 * found.gain_low)
    assert found.rules == scaled.rules
    assert {one.column for one in found.find()[0].conditions} == {"age", "town"}
    assert "are predicted" in str(found)
    low, high = found.slices.low[0], found.slices.high[0]
    assert low > 0
    assert 0 < found.error_low < found.error < high


def test_too_few_events_tell_nothing():
    rng = np.random.default_rng(0)
    y = np.zeros(500)
    y[rng.choice(500, 6, replace=False)] = 1
    found = audit_mean_features(y, np.full(500, 0.05), {"x": rng.normal(size=500)}, **FEW)
    assert found.pvalue == 1
    assert found.error_low == 0


def test_rules_repair_a_classifier(patients, audit):
    X, y, v, _ = patients
    X = X.assign(drug=X["drug"] == "B")
    rules = audit_features(y, v, X, **FEW).find()
    model = MulticalibratedClassifierCV(DoseAlone(), groups=rules).fit(X, y)
    inside = rules[0](X)
    before, after = (
        one.predict_proba(X)[inside, 1].mean() for one in (DoseAlone().fit(X, y), model)
    )
    truth = y[inside].mean()
    assert abs(after - truth) < 0.03 < abs(before - truth)
    shown = model.calibrated_classifiers_[0].recalibrator.to_frame()
    assert [name for name in shown.index if "dose" in name] == []
    both = MulticalibratedClassifierCV(DoseAlone(), groups=rules, features=["dose"]).fit(X, y)
    shown = both.calibrated_classifiers_[0].recalibrator.to_frame().index
    assert any("dose" in name for name in shown)
    assert any(str(rules[0]) in name for name in shown)


class DoseAlone(LogisticRegression):
    """Reads the dose and nothing else."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X[["dose"]], y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(X[["dose"]])


def test_rules_repair_a_regressor(claims):
    X, y, _ = claims
    rule = FeatureRule([{"column": "age", "operator": "<", "value": 30, "kind": "numbers"}])
    reads = make_pipeline(SelectAge(), DecisionTreeRegressor(max_depth=1))
    model = MulticalibratedRegressorCV(reads, groups=[rule]).fit(X, y)
    inside = rule(X)
    assert model.predict(X)[inside].mean() == pytest.approx(y[inside].mean(), rel=0.1)


class SelectAge(StandardScaler):
    """Numbers alone."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X[["age"]] * 0.0)

    def transform(self, X):
        return super().transform(X[["age"]] * 0.0)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "groups must be None or a list of rules, at least one; got"),
        (len, "groups must be None or a list of rules, at least one; got"),
        (["age"], "groups must hold rules, functions of X that return a boolean"),
        ([lambda X: X["dose"]], "groups must hold functions that return a boolean for each row"),
        ([lambda X: np.array([True])], "that return a boolean for each row of X; .*shape \\(1,\\)"),
    ],
)
def test_groups_that_are_refused(patients, groups, message):
    X, y, *_ = patients
    with pytest.raises(ValueError, match=message):
        MulticalibratedClassifierCV(DoseAlone(), groups=groups).fit(X, y)


def test_a_report_has_a_section_of_it(patients, audit):
    X, y, v, _ = patients
    report = calibration_report(y, v, features=X, **FEW)
    found = report.models[None].features
    assert found.pvalue == audit.pvalue
    assert found.rules == audit.rules
    assert str(audit) in report.sentence
    for text in ("Features", "Rules found in features", str(audit.rules[0])[:20]):
        assert text in str(report)
    table = report.to_frame().set_index("quantity")
    assert table.loc["features_error", "low"] == audit.error_low
    (shown,) = json.loads(json.dumps(report.to_dict()))["models"]
    rule = FeatureRule(shown["features"]["rules"][0]["conditions"])
    assert rule == audit.rules[0]


def test_rules_are_keys_of_a_monitor(patients, audit):
    X, y, v, _ = patients
    by = np.where(audit.rules[0](X), str(audit.rules[0]), "others")
    assert GroupedMonitor().update(y, v, by=by).rejected() == [str(audit.rules[0])]
