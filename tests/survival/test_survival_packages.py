"""Censored outcomes beside lifelines and scikit-survival, where these are installed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss

from skcal._numerics.survival._censoring import find_followed
from skcal.inference import confidence_interval
from skcal.metrics import integrated_calibration_index
from skcal.survival import (
    RecalibratedSurvivalCV,
    RiskRecalibration,
    aj_calibration,
    at_horizon,
    d_calibration,
    martingale_test,
    pseudo_values,
    survival_at,
    survival_calibration,
)

# Both warn of what newer versions of NumPy and pandas deprecate.
pytestmark = pytest.mark.filterwarnings("ignore")
PLACES = np.array([1.0, 2, 2.5, 5, 8, 9])


@pytest.fixture
def lifelines():
    return pytest.importorskip("lifelines", reason="the test needs lifelines")


@pytest.fixture
def sksurv():
    """scikit-survival with the modules that are used."""
    module = pytest.importorskip("sksurv", reason="the test needs scikit-survival")
    for name in ("nonparametric", "linear_model", "util"):
        pytest.importorskip(f"sksurv.{name}")
    return module


def draw(seed=0, n=80):
    """Kinds of events with 0 for censored rows, and times with ties of all kinds."""
    rng = np.random.default_rng(seed)
    kinds, time = rng.integers(0, 3, n), rng.integers(1, 10, n).astype(float)
    kinds[:2], time[2] = [1, 2], 11
    return kinds, time


# --------------------------------------------------------------------------- curves


def test_censoring_of_scikit_survival(sksurv):
    """Its curve is given after the place, ours before; before all times it has the first step."""
    for seed in range(10):
        kinds, time = draw(seed)
        y = sksurv.util.Surv.from_arrays(kinds > 0, time)
        curve = sksurv.nonparametric.CensoringDistributionEstimator().fit(y)
        expected = curve.predict_proba(np.nextafter(PLACES[1:], 0))
        np.testing.assert_allclose(find_followed(kinds > 0, time, PLACES[1:]), expected)


def test_censoring_of_lifelines(lifelines):
    """Its estimate of censoring lets rows that are censored leave before others have an event.

    That agrees where there are no such ties: here events come a moment earlier.
    """
    for seed in range(10):
        kinds, time = draw(seed)
        is_event = kinds > 0
        curve = lifelines.KaplanMeierFitter().fit(time - 1e-6 * is_event, ~is_event)
        expected = curve.predict(PLACES - 1e-3).to_numpy()
        np.testing.assert_allclose(find_followed(is_event, time, PLACES), expected)
        tied = lifelines.KaplanMeierFitter().fit(time, ~is_event).predict(PLACES - 1e-3)
        assert (tied.to_numpy() >= expected - 1e-12).all()


def test_risks_of_lifelines_and_scikit_survival(lifelines, sksurv):
    for seed in range(10):
        kinds, time = draw(seed)
        times = np.unique(time)
        risk = np.zeros((len(time), len(times)))
        curve = lifelines.KaplanMeierFitter().fit(time, kinds > 0)
        found = aj_calibration(kinds > 0, time, risk, times=times)
        np.testing.assert_allclose(found.observed, 1 - curve.predict(times), atol=1e-12)
        y, weights = at_horizon(kinds > 0, time, horizon=5)
        assert np.average(y, weights=weights) == pytest.approx(1 - curve.predict(5))
        at, expected = sksurv.nonparametric.cumulative_incidence_competing_risks(kinds, time)
        np.testing.assert_array_equal(at, times)
        for kind in (1, 2):
            found = aj_calibration(kinds, time, risk, times=times, cause=kind)
            np.testing.assert_allclose(found.observed, expected[kind], atol=1e-12)


@pytest.mark.parametrize("name", ["bmt", "cgvhd"])
def test_standard_errors_with_competing_risks(sksurv, name):
    """Those of pseudo-values are about Aalen's, which scikit-survival's tests hold against SAS."""
    _, y = getattr(pytest.importorskip("sksurv.datasets"), f"load_{name}")()
    kinds, time = y["status"].astype(int), y["ftime"]
    horizons = np.quantile(time, [0.2, 0.5, 0.75])
    at, risks, ends = sksurv.nonparametric.cumulative_incidence_competing_risks(
        kinds, time, conf_type="log-log", var_type="Aalen"
    )
    places = np.searchsorted(at, horizons, side="right") - 1
    for kind in (1, 2):
        values = pseudo_values(kinds, time, horizon=horizons, cause=kind)
        risk = risks[kind, places]
        np.testing.assert_allclose(values.mean(axis=0), risk, atol=1e-12)
        low, high = np.log(-np.log(ends[kind][:, places]))
        error = np.abs(low - high) / (2 * 1.959964) * risk * -np.log(risk)
        np.testing.assert_allclose(values.std(axis=0) / np.sqrt(len(time)), error, rtol=0.02)


# --------------------------------------------------------------------------- models


def test_models_of_both(lifelines, sksurv):
    """What the guide says of their objects: the same risks, and the same answers."""
    data = lifelines.datasets.load_rossi()
    X, event, week = data.drop(columns=["week", "arrest"]), data.arrest, data.week
    one = lifelines.CoxPHFitter().fit(data, "week", "arrest")
    y = sksurv.util.Surv.from_arrays(event == 1, week)
    other = sksurv.linear_model.CoxPHSurvivalAnalysis(ties="efron").fit(X, y)

    times = [10, 30, 50]
    risk = 1 - one.predict_survival_function(X, times=times).T.to_numpy()
    curves = other.predict_survival_function(X)
    np.testing.assert_allclose(risk, [1 - curve(times) for curve in curves], atol=1e-6)
    found = aj_calibration(event, week, risk, times=times)
    assert found.value < 0.005  # Cox's model is right on average where it was fitted
    outcomes = at_horizon(event, week, horizon=30)
    settings = {"sample_weight": outcomes.sample_weight}
    assert integrated_calibration_index(outcomes.y_true, risk[:, 1], **settings) < 0.03

    at_own = [curve(t) for curve, t in zip(curves, week, strict=True)]
    assert d_calibration(event, at_own).pvalue > 0.05


def test_delayed_entry_of_lifelines(lifelines):
    """Of rows that it was fitted to, a Weibull model expects as many events as there are.

    So it does with any free factor of the hazards, by the equation of their likelihood. (Not so
    Cox's model of lifelines 0.30, whose baseline takes rows to be at risk before their entry.)
    """
    rng = np.random.default_rng(0)
    x, entry = rng.normal(size=600), rng.uniform(0, 2, 600)
    time, end = 2 * rng.weibull(1.5, 600) * np.exp(-x / 2), entry + rng.exponential(3, 600)
    data = pd.DataFrame(
        {"x": x, "entry": entry, "time": np.minimum(time, end), "event": time <= end}
    )[time > entry].reset_index(drop=True)
    model = lifelines.WeibullAFTFitter().fit(data, "time", "event", entry_col="entry")

    def survive(times):
        curves = model.predict_survival_function(data, times=times).to_numpy()
        return curves[np.arange(len(data)), np.arange(len(data))]

    start, survival = survive(data.entry), survive(data.time)
    found = martingale_test(data.event, survival, survival_entry=start)
    assert found.expected == pytest.approx(found.observed, rel=1e-3)
    # Its curves from entry on, as the guide has them.
    times, since = [0.5, 1], data.time - data.entry
    after = model.predict_survival_function(data, times=times, conditional_after=data.entry)
    np.testing.assert_allclose(after.loc[0.5], survive(data.entry + 0.5) / start)
    found = survival_calibration(
        data.event, since, survival=after.T.to_numpy(), times=times, random_state=0
    )
    assert found.pvalue > 0.05


def fit_rossi(lifelines, factor):
    """A model of data of lifelines, and the data with log hazards that are multiplied."""
    data = lifelines.datasets.load_rossi()
    model = lifelines.CoxPHFitter().fit(data, "week", "arrest")
    features = data.columns.difference(["week", "arrest"])
    mean = data[features].mean()
    return model, data.assign(**(mean + factor * (data[features] - mean)))


def find_theirs(lifelines, model, data, horizon):
    """ICI and E50 of lifelines."""
    pytest.importorskip("matplotlib").use("agg")
    calibration = pytest.importorskip("lifelines.calibration")
    return calibration.survival_probability_calibration(model, data, horizon)[1:]


def find_index(lifelines, model, data, horizon):
    """ICI of lifelines, and of ours with all curves."""
    theirs, _ = find_theirs(lifelines, model, data, horizon)
    risk = 1 - model.predict_survival_function(data, times=[horizon]).iloc[0].to_numpy()
    event, time = data[model.event_col], data[model.duration_col]
    y, weights = at_horizon(event, time, horizon=horizon)
    curves = ("local", "spline", "isotonic", "smooth")
    return (
        theirs,
        risk,
        [integrated_calibration_index(y, risk, sample_weight=weights, curve=c) for c in curves],
    )


@pytest.mark.parametrize("horizon", [25, 40, 51])
@pytest.mark.parametrize("factor", [2, 3])
def test_index_of_lifelines_on_its_data(lifelines, horizon, factor):
    """Where predictions are too extreme.

    Its curve is parametric, of a spline of all times. On calibrated rows it is nearer to the
    diagonal than any of ours, which look at the horizon alone.
    """
    model, data = fit_rossi(lifelines, factor)
    theirs, _, ours = find_index(lifelines, model, data, horizon)
    np.testing.assert_allclose(ours, theirs, atol=0.01)


@pytest.mark.parametrize("horizon", [25, 40, 51])
@pytest.mark.parametrize("factor", [1, 3])
def test_index_of_lifelines_by_its_own_curve(lifelines, horizon, factor):
    """Its ICI and E50 on its data, by the hazard regression that it fits to the predictions."""
    model, data = fit_rossi(lifelines, factor)
    theirs = find_theirs(lifelines, model, data, horizon)

    def transform(risk):
        return pd.DataFrame({"hazard": np.log(-np.log1p(-np.clip(risk, 1e-10, 1 - 1e-10)))})

    risk = 1 - model.predict_survival_function(data, times=[horizon]).iloc[0].to_numpy()
    regressors = {"beta_": ["hazard"]} | {f"gamma{k}_": "1" for k in range(3)}
    regression = lifelines.CRCSplineFitter(n_baseline_knots=3, penalizer=1e-6).fit(
        transform(risk).assign(week=data.week, arrest=data.arrest),
        "week",
        "arrest",
        regressors=regressors,
    )

    def curve(prob_pred, prob_true, weight):
        return (
            1 - regression.predict_survival_function(transform(prob_pred), times=[horizon]).iloc[0]
        )

    y, weights = at_horizon(data.arrest, data.week, horizon=horizon)
    ours = [
        integrated_calibration_index(y, risk, sample_weight=weights, curve=curve, quantile=q)
        for q in (None, 0.5)
    ]
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("factor", [1.5, 0.6])
def test_index_of_lifelines_with_censoring(lifelines, factor):
    """Both are near the truth, which is known."""
    rng, n = np.random.default_rng(0), 4000
    x = rng.normal(size=n)
    time, end = rng.exponential(10 * np.exp(-x)), rng.exponential(15, n)
    data = pd.DataFrame({"x": x, "t": np.minimum(time, end), "e": (time <= end).astype(int)})
    model = lifelines.CoxPHFitter().fit(data, "t", "e")
    theirs, risk, ours = find_index(lifelines, model, data.assign(x=factor * x), 5)
    truth = np.abs(1 - np.exp(-0.5 * np.exp(x)) - risk).mean()
    np.testing.assert_allclose([theirs, *ours], truth, atol=0.01)


# --------------------------------------------------------------------------- published values


# By 02_predsurv and 03_predsurv_extended of danielegiardiello/Prediction_performance_survival, see
# McLernon et al. (2023). Annals of Internal Medicine 176. doi:10.7326/M22-0844: patients of the
# German Breast Cancer Study Group, and models that were fitted to the Rotterdam data, without and
# with progesterone receptors. The baseline survival, and coefficients of sizes, nodes and grades.
MODELS = {
    "basic": (0.804, [0.342, 0.574, 0.304, -0.811, 0.362]),
    "extended": (0.761, [0.320, 0.554, 0.305, -0.820, 0.305, -0.003, 0.013]),
}
PUBLISHED = {
    "basic": {
        "ratio": (1.02, 0.91, 1.14),
        "brier": (0.225, 0.209, 0.240),
        "scaled_brier": 0.101,
        "index": (0.03, 0.03, 0.07),
    },
    "extended": {
        "ratio": (1.00, 0.89, 1.12),
        "brier": (0.217, 0.202, 0.233),
        "scaled_brier": 0.130,
        "index": (0.02, 0.02, 0.05),
    },
}


def bend(x, first, middle, last):
    """The second column of a restricted cubic spline of three knots, as rcspline.eval of Hmisc."""
    low, mid, high = (np.maximum(x - knot, 0) ** 3 for knot in (first, middle, last))
    width = last - middle
    change = low - mid * (last - first) / width + high * (middle - first) / width
    return change / (last - first) ** 2


@pytest.fixture(params=MODELS)
def recurrence(sksurv, request):
    """Events and years, up to five, predicted risks within five years, and what is published."""
    X, y = pytest.importorskip("sksurv.datasets").load_gbsg2()
    size, nodes = X.tsize.to_numpy(), np.minimum(X.pnodes.to_numpy(), 19)
    receptors = np.minimum(X.progrec.to_numpy(), 1360)
    columns = [(size > 20) & (size <= 50), size > 50, nodes, bend(nodes, 0, 1, 9)]
    columns += [X.tgrade == "III", receptors, bend(receptors, 0, 41, 486)]
    baseline, weights = MODELS[request.param]
    risk = 1 - baseline ** np.exp(np.transpose(columns[: len(weights)]).astype(float) @ weights)
    year = np.minimum(y["time"] / 365.25, 5)
    event = y["cens"] & (y["time"] <= 5 * 365.25)
    return event, year, risk, PUBLISHED[request.param]


def test_published_ratio_of_breast_cancer(recurrence):
    """Their interval takes the events for a Poisson variable, and is longer."""
    event, year, risk, published = recurrence
    found = survival_calibration(event, year, risk[:, None], times=[5], random_state=0).horizons[0]
    ends = np.exp(np.array([0, -1, 1]) * 1.959964 / np.sqrt(event.sum()))
    np.testing.assert_allclose(found.ratio.estimate * ends, published["ratio"], atol=0.005)
    assert published["ratio"][1] < found.ratio.low < 1 < found.ratio.high < published["ratio"][2]
    assert found.pvalue > 0.05
    curves = aj_calibration(event, year, risk[:, None], times=[5], random_state=0)
    assert curves.observed[0] == pytest.approx(found.observed.estimate, abs=1e-12)


def test_published_brier_scores_of_breast_cancer(recurrence):
    """By riskRegression just before five years, as is what is gained over the observed risk."""
    event, year, risk, published = recurrence
    y, weights = at_horizon(event, year, horizon=4.99)
    found = brier_score_loss(y, risk, sample_weight=weights)
    assert found == pytest.approx(published["brier"][0], abs=0.0005)
    observed = np.average(y, weights=weights)
    scaled = 1 - found / (observed * (1 - observed))
    assert scaled == pytest.approx(published["scaled_brier"], abs=0.0005)
    ends = confidence_interval(
        y,
        risk,
        measure=brier_score_loss,
        sample_weight=weights,
        method="percentile",
        n_resamples=499,
        random_state=0,
    )
    np.testing.assert_allclose(ends[1:], published["brier"][1:], atol=0.003)


def test_published_indices_of_breast_cancer(recurrence, lifelines):
    """ICI, E50 and E90 of all rows, by a Cox model of a spline of the risk."""
    event, year, risk, published = recurrence

    def expand(risk):
        x = np.log(-np.log1p(-risk))
        return pd.DataFrame({"x": x, "bent": bend(x, *knots)})

    knots = np.quantile(np.log(-np.log1p(-risk)), [0.1, 0.5, 0.9])
    data = expand(risk).assign(year=year, event=event)
    model = lifelines.CoxPHFitter().fit(data, "year", "event")

    def curve(prob_pred, prob_true, weight):
        return 1 - model.predict_survival_function(expand(prob_pred), times=[5]).iloc[0]

    found = [
        integrated_calibration_index(event, risk, curve=curve, quantile=q) for q in (None, 0.5, 0.9)
    ]
    np.testing.assert_allclose(found, published["index"], atol=0.005)


def test_pseudo_values_of_lung_cancer(lifelines):
    """What R's survival prints of its data "lung": range(pseudo(...)), and summary(survfit(...)).

    See tests/Examples/survival-Ex.Rout.save of therneau/survival for the range.
    """
    data = lifelines.datasets.load_lung()
    event, day = data.status == 1, data.time
    survival = 1 - pseudo_values(event, day, horizon=730)
    np.testing.assert_allclose([survival.min(), survival.max()], [-0.335248, 1.693831], atol=5e-7)
    for horizon, expected, error in ((182, 0.708, 0.0303), (365.25, 0.409, 0.0358)):
        survival = 1 - pseudo_values(event, day, horizon=horizon)
        assert survival.mean() == pytest.approx(expected, abs=0.0005)
        assert survival.std() / np.sqrt(len(day)) == pytest.approx(error, abs=0.00005)


# --------------------------------------------------------------------------- repair


def split_data(sksurv, name):
    """Features and outcomes of a data set of scikit-survival: rows to train and to test."""
    for module in ("datasets", "preprocessing", "metrics", "ensemble"):
        pytest.importorskip(f"sksurv.{module}")
    X, y = getattr(sksurv.datasets, f"load_{name}")()
    text = X.columns.difference(X.select_dtypes("number").columns)
    X = sksurv.preprocessing.OneHotEncoder().fit_transform(
        X.astype(dict.fromkeys(text, "category"))
    )
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = np.sort(rows[len(y) // 3 :]), rows[: len(y) // 3]
    time = y[y.dtype.names[1]]
    test = test[time[test] < time[train].max()]  # what its Brier score needs
    X = X.astype(float)
    return X.iloc[train], y[train], X.iloc[test], y[test]


def measure_both(sksurv, model, data):
    """Integrated Brier scores and AJ-calibration before and after the repair."""
    X, y, X_new, y_new = data
    model = RecalibratedSurvivalCV(model).fit(X, y)
    event, time = (y_new[name] for name in y_new.dtype.names)
    times = model.unique_times_[model.unique_times_ < time.max()]
    found = []
    for one in (model.estimator_, model):
        survival = np.array([curve(times) for curve in one.predict_survival_function(X_new)])
        score = sksurv.metrics.integrated_brier_score(y, y_new, survival, times)
        found.append([score, aj_calibration(event, time, survival=survival, times=times).value])
    assert (np.diff(survival) <= 0).all()
    ranks = [
        sksurv.metrics.concordance_index_censored(event, time, one.predict(X_new))[0]
        for one in (model.estimator_, model)
    ]
    assert ranks[1] > ranks[0] - 0.01
    return np.array(found), model


@pytest.mark.parametrize("name", ["gbsg2", "whas500"])
def test_overfitted_models_of_scikit_survival_are_repaired(sksurv, name):
    data = split_data(sksurv, name)
    model = sksurv.ensemble.GradientBoostingSurvivalAnalysis(
        n_estimators=60, max_depth=4, learning_rate=0.5, random_state=0
    )
    (before, after), fitted = measure_both(sksurv, model, data)
    assert after[0] < 0.9 * before[0]
    assert fitted.recalibrator_.slopes_.max() < 0.6


@pytest.mark.parametrize("name", ["gbsg2", "whas500"])
@pytest.mark.parametrize("kind", ["cox", "forest"])
def test_sound_models_of_scikit_survival_stay_as_they_are(sksurv, name, kind):
    data = split_data(sksurv, name)
    model = sksurv.linear_model.CoxPHSurvivalAnalysis(alpha=0.1)
    if kind == "forest":
        model = sksurv.ensemble.RandomSurvivalForest(50, min_samples_leaf=15, random_state=0)
    (before, after), _ = measure_both(sksurv, model, data)
    assert after[0] < 1.01 * before[0]


def test_curves_of_both_packages_are_read_at_the_times_of_rows(sksurv, lifelines):
    """At times of the grid nothing is interpolated, and between them curves are below steps."""
    X, y, X_new, y_new = split_data(sksurv, "whas500")
    time = np.minimum(y_new["lenfol"], y["lenfol"].max())
    model = sksurv.linear_model.CoxPHSurvivalAnalysis(alpha=0.1).fit(X, y)
    table = model.predict_survival_function(X_new, return_array=True)
    found = survival_at(time, table, times=model.unique_times_)
    curves = model.predict_survival_function(X_new)
    steps = np.array([curve(t) for curve, t in zip(curves, time, strict=True)])
    is_known, is_between = np.isin(time, model.unique_times_), time >= model.unique_times_[0]
    np.testing.assert_allclose(found[is_known], steps[is_known])
    assert (found <= steps + 1e-12)[is_between].all()
    data = X.assign(time=y["lenfol"], event=y["fstat"])
    frame = lifelines.CoxPHFitter(penalizer=0.1).fit(data, "time", "event")
    frame = frame.predict_survival_function(X_new)
    found = survival_at(time, frame.T, times=frame.index)
    rows = np.flatnonzero(np.isin(time, frame.index))
    expected = [frame.loc[time[row]].iloc[row] for row in rows]
    np.testing.assert_allclose(found[rows], expected)


def test_scorers_of_scikit_survival_take_repaired_models(sksurv):
    X, y, X_new, y_new = split_data(sksurv, "gbsg2")
    model = sksurv.linear_model.CoxPHSurvivalAnalysis(alpha=0.1)
    times = np.array([400.0, 800.0, 1200.0, 1600.0])
    recalibrator = RiskRecalibration(times, prior_rows=1e9)
    plain, repaired = (
        sksurv.metrics.as_integrated_brier_score_scorer(one, times).fit(X, y).score(X_new, y_new)
        for one in (model, RecalibratedSurvivalCV(model, recalibrator=recalibrator))
    )
    assert repaired == pytest.approx(plain, abs=1e-6)  # with such a prior nothing changes


# scikit-survival 0.28, tests/test_metrics.py, test_brier_nottingham: values of R's package pec.
NOTTINGHAM = {
    365: 0.0762922458520448,
    730: 0.182536421174199,
    1095: 0.220017747254941,
    1460: 0.234133800146671,
    1825: 0.233822955042198,
}


def weigh_after(y, risk, horizon):
    """The Brier score with weights by the probability not to be censored at a time.

    Those of `at_horizon` are by that not to be censored before it, as events come first.
    """
    event, time = y["cens"] & (y["time"] <= horizon), y["time"]
    places = np.nextafter(np.minimum(time, horizon), np.inf)
    weights = (event | (time > horizon)) / find_followed(y["cens"], time, places)
    return brier_score_loss(event, risk, sample_weight=weights) * np.mean(weights)


@pytest.mark.parametrize("horizon", NOTTINGHAM)
def test_brier_scores_of_the_nottingham_index(sksurv, horizon):
    """Risks are Kaplan-Meier estimates of three groups, each the mean of its pseudo-values."""
    X, y = pytest.importorskip("sksurv.datasets").load_gbsg2()
    index = X["tsize"] / 50 + 1 + X["tgrade"].map({"I": 1, "II": 2, "III": 3}).astype(int)
    group = np.digitize(index, [3.4, np.nextafter(5.4, 6)])
    numbers = pseudo_values(y["cens"], y["time"], horizon=horizon, strata=group)
    risk = (np.bincount(group, numbers) / np.bincount(group))[group]
    assert weigh_after(y, risk, horizon) == pytest.approx(NOTTINGHAM[horizon], rel=1e-6)


def test_brier_score_of_the_documentation_of_scikit_survival(sksurv):
    """Of brier_score; which weights are meant matters less than .0001, though 35 days have ties."""
    X, y = pytest.importorskip("sksurv.datasets").load_gbsg2()
    X = (
        pytest.importorskip("sksurv.preprocessing")
        .OneHotEncoder()
        .fit_transform(X.assign(tgrade=X["tgrade"].map(len).astype(int)))
    )
    model = sksurv.linear_model.CoxPHSurvivalAnalysis(ties="efron").fit(X, y)
    risk = np.array([1 - curve(1825) for curve in model.predict_survival_function(X)])
    assert weigh_after(y, risk, 1825) == pytest.approx(0.20881843, abs=5e-9)
    outcomes = at_horizon(y["cens"], y["time"], horizon=1825)
    found = brier_score_loss(outcomes.y_true, risk, sample_weight=outcomes.sample_weight)
    assert found == pytest.approx(0.20881843, abs=1e-4)


def test_brier_scores_with_the_censoring_of_training_rows(sksurv):
    """Without ties of events and censored rows, so that both curves of censoring are alike."""
    module, rng = pytest.importorskip("sksurv.metrics"), np.random.default_rng(0)
    rows = []
    for n in (300, 80):
        time, end = rng.exponential(1, n), np.minimum(rng.exponential(1.5, n), 3 + rng.random(n))
        pairs = list(zip(time <= end, np.minimum(time, end), strict=True))
        rows.append(np.array(pairs, dtype=[("event", bool), ("time", float)]))
    train, test = rows
    test = test[test["time"] < train["time"].max()]
    survival = rng.uniform(0.2, 0.8, len(test))
    for horizon in (0.3, 0.7, 1.2):
        expected = module.brier_score(train, test, survival, horizon)[1][0]
        y, weights = at_horizon(test["event"], test["time"], horizon=horizon, censoring=train)
        found = brier_score_loss(y, 1 - survival, sample_weight=weights) * np.mean(weights)
        assert found == pytest.approx(expected, rel=1e-12)
