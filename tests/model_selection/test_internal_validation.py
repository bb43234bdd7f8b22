"""Internal validation against its definition, folds and draws by hand, and bad input."""

import tracemalloc

import numpy as np
import pytest
from joblib import parallel_config
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, get_scorer, log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skcal._sources._refits import RowDraws, deal_folds
from skcal.inference import cox_recalibration, observed_expected_ratio
from skcal.metrics import integrated_calibration_index, net_benefit_curve, smooth_ece
from skcal.model_selection import internal_validation, pooled_cross_val_score
from skcal.recalibration import RecalibratedClassifierCV
from skcal.scorers import get_scorer as get_calibration_scorer
from tests.r_random import RRandom

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 4))
Y = (RNG.random(N) < expit(X[:, 0] - 0.5)).astype(int)
WEIGHTS = RNG.integers(0, 3, size=N).astype(float)
MODEL = LogisticRegression()
FEW = {"n_resamples": 10, "random_state": 0}
# With what each measure by name is compared; it is called as f(y, p, sample_weight=).
PUBLIC = {
    "slope": lambda *a, **k: cox_recalibration(*a, **k).slope.estimate,
    "intercept": lambda *a, **k: cox_recalibration(*a, **k).intercept.estimate,
    "observed_expected_ratio": lambda *a, **k: observed_expected_ratio(*a, **k).estimate,
    "smooth_ece": smooth_ece,
    "integrated_calibration_index": integrated_calibration_index,
    "E50": lambda *a, **k: integrated_calibration_index(*a, quantile=0.5, **k),
    "E90": lambda *a, **k: integrated_calibration_index(*a, quantile=0.9, **k),
    "Emax": lambda *a, **k: integrated_calibration_index(*a, quantile=1, **k),
    "brier_score": brier_score_loss,
    "log_loss": log_loss,
    "roc_auc": roc_auc_score,
}


def corrected(result):
    return {name: found.corrected.estimate for name, found in result.measures.items()}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
def test_apparent_values_are_those_of_the_public_functions(weights):
    result = internal_validation(
        MODEL, X, Y, measures=list(PUBLIC), thresholds=[0.2, 0.4], sample_weight=weights, **FEW
    )
    risk = MODEL.fit(X, Y).predict_proba(X)[:, 1]
    for name, function in PUBLIC.items():
        expected = function(Y, risk, sample_weight=weights)
        assert result.measures[name].apparent == pytest.approx(expected, rel=1e-9, abs=1e-12), name
    curve = net_benefit_curve(Y, risk, thresholds=[0.2, 0.4], sample_weight=weights)
    for threshold, expected in zip((0.2, 0.4), curve.net_benefit, strict=True):
        found = result.measures[f"net_benefit_at_{threshold}"]
        assert found.apparent == pytest.approx(expected)


def test_optimism_by_hand():
    """Two resamples, drawn as the function draws them: rows of the fit, then other ones."""
    result = internal_validation(
        MODEL, X, Y, method="optimism", measures=["brier_score"], n_resamples=2, random_state=3
    )
    rng, optimism = np.random.default_rng(np.random.RandomState(3)._bit_generator), []
    for _ in range(2):
        rows = rng.integers(N, size=N)
        rng.integers(N, size=N)
        risk = clone(MODEL).fit(X[rows], Y[rows]).predict_proba(X)[:, 1]
        optimism.append(brier_score_loss(Y[rows], risk[rows]) - brier_score_loss(Y, risk))
    found = result.measures["brier_score"]
    assert found.optimism == pytest.approx(np.mean(optimism))
    assert found.apparent - found.optimism == pytest.approx(found.corrected.estimate)


def test_clusters_of_one_row_are_rows():
    options = {"method": "optimism", "stability": True, **FEW}
    found, expected = (
        internal_validation(MODEL, X, Y, clusters=clusters, **options)
        for clusters in (np.arange(N), None)
    )
    np.testing.assert_array_equal(found.to_frame(), expected.to_frame())
    np.testing.assert_array_equal(found.stability.resampled, expected.stability.resampled)


@pytest.mark.parametrize("measure", ["smooth_ece", "integrated_calibration_index"])
def test_one_repetition_of_folds_is_the_pooled_score(measure):
    result = internal_validation(MODEL, X, Y, method="cv", measures=[measure], **FEW)
    rng = np.random.default_rng(np.random.RandomState(0)._bit_generator)
    folds = deal_folds(Y, None, None, 10, rng)
    expected = pooled_cross_val_score(MODEL, X, Y, measure=measure, cv=folds).pooled
    assert corrected(result)[measure] == pytest.approx(expected)
    assert result.n_models == 10


def test_functions_scorers_and_labels():
    """Scorers see the labels of the user, whichever is positive, and functions 0 and 1."""
    names = np.array(["yes", "no"])[Y]
    measures = {
        "sklearn": "neg_log_loss",
        "accuracy": get_scorer("accuracy"),
        "own": get_calibration_scorer("neg_smooth_ece"),
        "function": lambda y, p: float(np.mean(y - p)),
    }
    for pos_label, outcomes in (("yes", 1 - Y), ("no", Y)):
        result = internal_validation(MODEL, X, names, pos_label=pos_label, measures=measures, **FEW)
        fitted = MODEL.fit(X, names)
        risk = fitted.predict_proba(X)[:, list(fitted.classes_).index(pos_label)]
        expected = {
            "sklearn": -log_loss(outcomes, risk),
            "accuracy": fitted.score(X, names),
            "own": -smooth_ece(outcomes, risk),
            "function": np.mean(outcomes - risk),
        }
        assert result.pos_label == pos_label
        found = {name: one.apparent for name, one in result.measures.items()}
        assert found == pytest.approx(expected)


def test_scorers_are_named_by_what_they_score():
    losses = [
        make_scorer(brier_score_loss, greater_is_better=False, response_method="predict_proba")
    ]
    measures = [*losses, get_scorer("accuracy"), "roc_auc"]
    result = internal_validation(MODEL, X, Y, measures=measures, **FEW)
    assert list(result.measures) == ["neg_brier_score_loss", "accuracy_score", "roc_auc"]
    with pytest.raises(ValueError, match="different names; got 'neg_brier_score_loss' twice"):
        internal_validation(MODEL, X, Y, measures=losses * 2, **FEW)


def test_a_constant_has_no_slope_in_folds():
    """Whose base rates differ, the more so the fewer rows of the outcome they hold."""
    target = np.arange(N) < 37
    result = internal_validation(
        DummyClassifier(), X, target, measures=["slope", "intercept", "roc_auc"], **FEW
    )
    for name in ("slope", "intercept"):
        found = result.measures[name]
        assert np.isnan([found.apparent, found.optimism, *found.corrected]).all()
    assert "slope" not in str(result)
    assert np.isfinite(result.measures["roc_auc"].corrected).all()
    # Where rows of the fit are predicted with certainty, folds have a slope all the same.
    forest = ExtraTreesClassifier(10, random_state=0)
    slope = internal_validation(forest, X, Y, measures=["slope"], **FEW).measures["slope"]
    assert np.isnan(slope.apparent)
    assert np.isfinite(slope.corrected).all()


def test_scorers_by_name_take_the_event_for_positive():
    """Of any labels: those of scikit-learn take label 1, which here is no event, or none."""
    for names in (np.array(["sick", "well"]), np.array([2, 1])):
        options = {"pos_label": names.tolist()[0], "measures": ["recall", "neg_brier_score"]}
        result = internal_validation(MODEL, X, names[1 - Y], **options, **FEW)
        fitted = MODEL.fit(X, names[1 - Y])
        risk = fitted.predict_proba(X)[:, list(fitted.classes_).index(options["pos_label"])]
        assert result.measures["recall"].apparent == (risk[Y == 1] > 0.5).mean()
        expected = -brier_score_loss(Y, risk)
        assert result.measures["neg_brier_score"].apparent == pytest.approx(expected)


def test_one_class_against_the_rest():
    labels = np.where(X[:, 1] > 1, 2, Y)
    result = internal_validation(GaussianNB(), X, labels, pos_label=2, measures=["roc_auc"], **FEW)
    risk = GaussianNB().fit(X, labels).predict_proba(X)[:, 2]
    assert result.measures["roc_auc"].apparent == pytest.approx(roc_auc_score(labels == 2, risk))
    with pytest.raises(ValueError, match=r"^pos_label must be one of the 3 labels of y"):
        internal_validation(GaussianNB(), X, labels)


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (LogisticRegression(), "optimism"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "optimism"),
        (GridSearchCV(LogisticRegression(), {"C": [1]}, cv=2), "cv"),
        (make_pipeline(StandardScaler(), GridSearchCV(MODEL, {"C": [1]}, cv=2)), "cv"),
        (RecalibratedClassifierCV(LogisticRegression(), cv=2), "cv"),
        (DecisionTreeClassifier(max_depth=2), "cv"),
    ],
    ids=["linear", "pipeline", "search", "searched step", "recalibrated", "tree"],
)
def test_auto_takes_optimism_for_linear_models_without_folds_inside(model, method):
    result = internal_validation(model, X, Y, measures=["brier_score"], n_resamples=10)
    assert result.method == method


class Given(ClassifierMixin, BaseEstimator):
    """Predicts what it is given."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def test_net_benefit_unites_predictions_that_differ_by_rounding():
    y, proba = np.tile([1, 0, 1, 0, 1], 6), np.tile([0.1 + 0.2, 0.3, 0.7, 0.1, 0.3 - 1e-16], 6)
    found = internal_validation(Given(), proba[:, None], y, thresholds=[0.3], **FEW)
    expected = net_benefit_curve(y, proba, thresholds=[0.3]).net_benefit[0]
    assert found.measures["net_benefit_at_0.3"].apparent == pytest.approx(expected)


def test_auto_takes_folds_where_a_linear_model_separates_the_outcomes():
    separated = np.column_stack([X, 10.0 * Y])
    result = internal_validation(LogisticRegression(C=1e9), separated, Y, n_resamples=10)
    assert result.method == "cv"
    assert np.isnan(corrected(result)["slope"]) or result.measures["slope"].apparent == np.inf


def test_a_tree_on_noise_is_as_good_as_none():
    """The area is that of chance, .5 with a standard deviation of .04, not the apparent 1."""
    rng = np.random.default_rng(1)
    noise, y = rng.normal(size=(200, 3)), rng.integers(0, 2, size=200)
    model = DecisionTreeClassifier(random_state=0)
    found = internal_validation(model, noise, y, measures=["roc_auc"], **FEW).measures["roc_auc"]
    assert found.apparent == 1
    assert 0.25 < found.corrected.estimate < 0.75
    assert found.corrected.low < 0.5 < found.corrected.high


def test_clusters_stay_whole():
    """Copies of a row in training and test folds let a model look up the answer."""
    rng = np.random.default_rng(2)
    features, y = rng.normal(size=(80, 2)), rng.integers(0, 2, size=80)
    twice, both, patient = np.repeat(features, 3, axis=0), np.repeat(y, 3), np.repeat(range(80), 3)
    model, options = KNeighborsClassifier(1), {"measures": ["brier_score"], **FEW}
    apart = internal_validation(model, twice, both, clusters=patient, **options)
    loose = internal_validation(model, twice, both, **options)
    assert corrected(loose)["brier_score"] < 0.05
    # Half of all answers are wrong, with a standard deviation of .056.
    assert corrected(apart)["brier_score"] > 0.15
    for train, test in deal_folds(both, patient, None, 5, rng):
        assert not set(patient[train]) & set(patient[test])
    drawn = RowDraws(both, patient, None, rng)()
    counts = np.bincount(patient[drawn], minlength=80)
    np.testing.assert_array_equal(np.bincount(drawn, minlength=240), np.repeat(counts // 3, 3))


def test_strata_keep_their_numbers_of_rows():
    draw = RowDraws(Y, None, Y, np.random.default_rng(0))
    assert {Y[draw()].sum() for _ in range(20)} == {Y.sum()}
    rare = np.zeros(N, dtype=int)
    rare[:2] = 1
    result = internal_validation(
        MODEL, X, rare, method="optimism", stratify=rare, measures=["brier_score"], **FEW
    )
    assert result.n_redrawn == 0
    assert "drawn again" not in str(result)
    # A resample misses both rows in 13 of 100 draws, and 10 pairs of them are made.
    options = {"method": "optimism", "measures": ["brier_score"], "n_resamples": 100}
    result = internal_validation(MODEL, X, rare, random_state=0, **options)
    assert result.n_redrawn > 0
    assert result.n_failed == 0
    told = f"{result.n_redrawn} resamples without one of the outcomes were drawn again; pass"
    assert str(result).endswith(f" {told} stratify=y.")


def test_rows_without_weight_are_fitted_but_not_measured():
    """Of three rows that count, resamples must hold both outcomes."""
    weights = np.zeros(N)
    weights[[*np.flatnonzero(Y == 0)[:2], np.flatnonzero(Y == 1)[0]]] = 1
    result = internal_validation(MODEL, X, Y, sample_weight=weights, measures=["roc_auc"], **FEW)
    kept = weights > 0
    risk = MODEL.fit(X, Y).predict_proba(X[kept])[:, 1]
    assert result.measures["roc_auc"].apparent == roc_auc_score(Y[kept], risk)
    assert result.n_redrawn > 0
    with pytest.raises(ValueError, match=r"^sample_weight must be positive for rows of both"):
        internal_validation(MODEL, X, Y, sample_weight=Y.astype(float))


class Moody(ClassifierMixin, BaseEstimator):
    """Fails where the first training row has a feature below `limit`."""

    def __init__(self, limit):
        self.limit = limit

    def fit(self, X, y):
        if len(np.unique(X, axis=0)) < N and X[0, 0] < self.limit:
            raise RuntimeError("bad mood")
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


class Lost(GaussianNB):
    """Knows no probability of few rows, or of any."""

    def __init__(self, n_known=N):
        super().__init__()
        self.n_known = n_known

    def predict_proba(self, X):
        return super().predict_proba(X) + (0 if len(X) >= self.n_known else np.nan)


def test_predictions_that_are_no_probabilities():
    with pytest.raises(ValueError, match=r"^predict_proba of estimator must lie in .* got nan"):
        internal_validation(Lost(N + 1), X, Y)
    with pytest.raises(ValueError, match=r"could not be fitted in 1 of 1 repetitions.*got nan"):
        internal_validation(Lost(), X, Y, **FEW)


def test_models_that_cannot_be_fitted():
    options = {"method": "optimism", "measures": ["brier_score"], "n_resamples": 20}
    with pytest.warns(UserWarning, match=r"of 20 resamples are left out.*RuntimeError: bad mood"):
        result = internal_validation(Moody(-1.0), X, Y, random_state=0, **options)
    assert 0 < result.n_failed == 20 - result.n_models
    with pytest.raises(ValueError, match=r"could not be fitted in 20 of 20 resamples.*bad mood"):
        internal_validation(Moody(9.0), X, Y, **options)
    with pytest.raises(ValueError, match=r"of \d repetitions of folds.*bad mood"):
        internal_validation(Moody(9.0), X, Y, measures=["brier_score"], n_resamples=10)


def test_a_forest_with_hard_zeros_has_the_slope_of_the_other_rows():
    forest = RandomForestClassifier(5, random_state=0)
    result = internal_validation(forest, X, Y, **FEW)
    unknown = {name for name, value in corrected(result).items() if not np.isfinite(value)}
    assert unknown == {"log_loss"}
    assert result.measures["log_loss"].n_missing == 1
    rng = np.random.default_rng(np.random.RandomState(0)._bit_generator)
    risk = np.empty(N)
    for train, test in deal_folds(Y, None, None, 10, rng):
        risk[test] = clone(forest).fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
    inside = (risk > 0) & (risk < 1)
    expected = cox_recalibration(Y[inside], risk[inside]).slope.estimate
    assert corrected(result)["slope"] == pytest.approx(expected)
    assert result.n_certain == N - inside.sum() > 0
    assert f"leave out {result.n_certain} rows with predictions of exactly 0 or 1" in str(result)
    assert np.isfinite(result.curve.corrected).all()


def test_results_depend_on_the_random_state_alone():
    first, second = (internal_validation(MODEL, X, Y, **FEW) for _ in range(2))
    assert corrected(first) == corrected(second)
    with parallel_config("threading"):
        assert corrected(internal_validation(MODEL, X, Y, n_jobs=2, **FEW)) == corrected(first)
    steps = []
    internal_validation(MODEL, X, Y, progress=lambda items: steps.extend(items) or items, **FEW)
    assert len(steps) == 10


def test_memory_holds_no_rows_of_all_models():
    """The numbers of the rows of 80 models alone would take 80 * 20,000 * 8 bytes."""
    y = np.arange(20_000) % 3 == 0
    options = {"method": "cv", "measures": ["brier_score"], "n_resamples": 80}
    tracemalloc.start()
    internal_validation(DummyClassifier(), np.zeros((len(y), 1)), y, random_state=0, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80 * 20_000 * 8


def test_weights_of_the_fit_are_those_of_the_drawn_rows():
    """A row without weight is as good as absent."""
    present = np.arange(N) < 90
    result = internal_validation(
        MODEL, X, Y, params={"sample_weight": present.astype(float)}, stability=True, **FEW
    )
    expected = MODEL.fit(X[:90], Y[:90]).predict_proba(X)[:, 1]
    np.testing.assert_allclose(result.stability.predictions, expected, atol=1e-4)
    assert result.stability.resampled.shape == (N, 10)


def test_stability_of_a_base_rate():
    """Each model of a resample predicts the rate of its own rows for every row."""
    model, options = DummyClassifier(), {"measures": ["brier_score"], "stability": True}
    for method in ("optimism", "cv"):
        result = internal_validation(
            model, X, Y, method=method, n_resamples=200, random_state=0, **options
        )
        found = result.stability
        assert (found.resampled == found.resampled[:1]).all()
        # 200 binomial rates: the standard deviation of theirs is within a third of its mean.
        deviation = np.sqrt(Y.mean() * (1 - Y.mean()) / N)
        assert found.resampled[0].std() == pytest.approx(deviation, rel=0.33)
        np.testing.assert_allclose(found.errors, np.abs(found.resampled[0] - Y.mean()).mean())
        assert found.mean_absolute_error == pytest.approx(found.errors[0])
        assert found.low.max() < Y.mean() < found.high.min()
        frame = found.to_frame()
        assert list(frame.columns) == ["prediction", "low", "high", "error"]
        assert f"A row told {100 * Y.mean():.0f} %" in str(found)
    assert internal_validation(model, X, Y, measures=["brier_score"], **FEW).stability is None


def test_the_record_tells_what_was_done():
    result = internal_validation(MODEL, X, Y, n_resamples=30, random_state=0)
    frame = result.to_frame()
    assert list(frame.index) == list(result.measures)
    slope = frame.loc["slope"]
    assert slope.apparent - slope.optimism == pytest.approx(slope.corrected)
    assert slope.low < slope.corrected < slope.high
    assert frame.optimism["brier_score"] < 0 < frame.optimism["roc_auc"]
    text = str(result)
    assert text.startswith("No test set was used: 30 models of resamples of the same 120 rows")
    assert str(result.measures["slope"].corrected) in text
    page = result._repr_html_()
    assert "No test set was used" in page
    assert "brier_score" in page
    curve = result.curve
    np.testing.assert_array_equal(
        np.sort([curve.low, curve.corrected, curve.high], axis=0)[1], curve.corrected
    )


def test_what_is_frozen_is_refused():
    frozen = FrozenEstimator(LogisticRegression().fit(X, Y))
    for model in (frozen, make_pipeline(frozen), RecalibratedClassifierCV(frozen)):
        with pytest.raises(ValueError, match=r"^estimator must hold no FrozenEstimator"):
            internal_validation(model, X, Y)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"method": "bootstrap"}, "method must be one of"),
        ({"n_resamples": 1}, "n_resamples must be"),
        ({"measures": []}, "measures must hold at least one"),
        ({"measures": "slope"}, "measures must be a list"),
        ({"measures": ["slop"]}, "measures must be one of"),
        ({"thresholds": [1.5]}, "thresholds must"),
        ({"stability": "yes"}, "stability must be"),
        ({"clusters": [1, 2]}, "clusters must hold one label for each of the 120 rows"),
        ({"stratify": [1, 2]}, "stratify must hold one name for each of the 120 rows"),
        ({"stratify": Y, "clusters": np.arange(N) // 10}, "stratify must be alike in all rows"),
        ({"pos_label": 7}, "pos_label must be one of the labels of y"),
        ({"confidence_level": 95}, "confidence_level must"),
        ({"sample_weight": -WEIGHTS}, "sample_weight must"),
        ({"measures": [lambda y, p: 0.0], "sample_weight": WEIGHTS}, "sample_weight must be None"),
        ({"progress": 3}, "progress must be"),
        ({"params": [1]}, "params must be a dictionary"),
        ({"measures": [lambda y, p: 0.0] * 2}, "measures must have different names; got '<lamb"),
    ],
)
def test_bad_arguments(options, error):
    with pytest.raises(ValueError, match=rf"^{error}"):
        internal_validation(MODEL, X, Y, **options)


class Bare:
    """A classifier that cannot be cloned."""

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_thresholds_that_differ_little_have_names_of_their_own():
    close = [0.1234567, 0.1234568, 3 * 0.05]
    result = internal_validation(MODEL, X, Y, measures=[], thresholds=close, **FEW)
    names = [f"net_benefit_at_{one}" for one in ("0.1234567", "0.1234568", "0.15")]
    assert list(result.measures) == names


def test_small_numbers_are_shown_with_their_digits():
    """Where an event is rare, percentages need decimals."""
    rare = np.zeros(1000)
    rare[:8] = 1
    model, noise = DummyClassifier(), np.zeros((1000, 1))
    result = internal_validation(
        model, noise, rare, method="optimism", measures=["brier_score"], stability=True, **FEW
    )
    # Rates of resamples have a standard deviation of .28 %, and ends two digits.
    assert "A row told 0.80 % would" in str(result.stability)
    one = result.measures["brier_score"]
    low, high = one.corrected[1:]
    digits = int(1 - np.floor(np.log10(high - low)))
    assert str(one).endswith(f"where {one.apparent:.{digits}f} is apparent")


def test_bad_data():
    with pytest.raises(ValueError, match=r"^y must hold two labels at least; got"):
        internal_validation(MODEL, X, np.zeros(N))
    with pytest.raises(ValueError, match=r"^estimator must be an instance of a classifier"):
        internal_validation(None, X, Y)
    with pytest.raises(ValueError, match=r"scikit-learn can clone: with fit and get_params; got"):
        internal_validation(Bare(), X, Y)
    lone = (np.arange(N) == 0).astype(int)
    for method in ("cv", "optimism"):
        with pytest.raises(
            ValueError, match=r"^y must hold each outcome in two rows at least; got one in 1"
        ):
            internal_validation(MODEL, X, lone, method=method)
    with pytest.raises(ValueError, match=r"^y must hold each outcome in two clusters at least"):
        internal_validation(
            MODEL, X, np.arange(N) < 5, method="optimism", clusters=np.arange(N) // 5
        )


def test_published_values_of_pminternal():
    """The example of the page of pminternal 0.1.0, https://stephenrho.github.io/pminternal.

    Apparent values have its four digits. The mean of its 100 resamples and of 40 differ with a
    standard error of .003, .0015, .02 and .0155; twice that is allowed.
    """
    r = RRandom(2345)
    features = r.rnorm(8000).reshape(10, 800).T
    y = r.rbinom_1(expit(-1 + features[:, :5].sum(axis=1)))
    model = LogisticRegression(C=1e12, tol=1e-8)
    published = {
        "roc_auc": (0.8567, 0.8474, 0.006),
        "brier_score": (0.1423, 0.1477, 0.003),
        "intercept": (0.0, -0.0175, 0.04),
        "slope": (1.0, 0.9471, 0.031),
    }
    result = internal_validation(
        model, features, y, measures=list(published), n_resamples=40, random_state=0
    )
    assert result.method == "optimism"
    for name, (apparent, expected, tolerance) in published.items():
        found = result.measures[name]
        assert found.apparent == pytest.approx(apparent, abs=6e-5)
        assert found.corrected.estimate == pytest.approx(expected, abs=tolerance)
