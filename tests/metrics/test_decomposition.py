"""Decompositions of proper scores: definitions, closed forms, laws, infinities, own divergences."""

import numpy as np
import pytest
from scipy.special import rel_entr, xlogy
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

from skcal.metrics import (
    BregmanDivergence,
    calibration_decomposition,
    corp_decomposition,
    smooth_ece,
)


def negative_entropy(v):
    return xlogy(v, v) + xlogy(1 - v, 1 - v)


SQUARE = BregmanDivergence(np.square, lambda v: 2 * v)
ENTROPY = BregmanDivergence(negative_entropy, lambda v: np.log(v) - np.log1p(-v))
QUARTIC = BregmanDivergence(lambda v: v**4, lambda v: 4 * v**3)

ESTIMATORS = {
    "gaussian": {"estimator": "kernel"},
    "epanechnikov": {"estimator": "kernel", "kernel": "epanechnikov"},
    "isotonic": {"estimator": "isotonic"},
    "binned": {"estimator": "binned"},
    "quantile": {"estimator": "binned", "strategy": "quantile", "n_bins": 7},
}
every_estimator = pytest.mark.parametrize("options", ESTIMATORS.values(), ids=ESTIMATORS)
every_divergence = pytest.mark.parametrize("divergence", ["brier", "log"])


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def binary(rng):
    """Miscalibrated predictions with ties, none of them hard."""
    v = np.concatenate([rng.random(150), np.round(rng.uniform(0.1, 0.9, 100), 1)])
    return (rng.random(len(v)) < v**1.5).astype(int), v


@pytest.fixture
def multiclass(rng):
    proba = rng.dirichlet([0.5, 1, 1, 2], size=300)
    return np.array([rng.choice(4, p=p) for p in 0.6 * proba + 0.1]), proba


def divergence_of(name, y, v):
    """d(y, v) as in the definition."""
    return (y - v) ** 2 if name == "brier" else rel_entr(y, v) + rel_entr(1 - y, 1 - v)


def assert_near(parts, expected, tolerance=1e-12):
    np.testing.assert_allclose(parts, expected, rtol=0, atol=tolerance)


class TestDefinition:
    @every_divergence
    @pytest.mark.parametrize("bandwidth", [0.001, 0.05, 2.0])
    def test_terms(self, binary, rng, divergence, bandwidth):
        """Totals are scores, and calibration the divergence from a mean outcome of the rows."""
        y, v = binary
        w = rng.exponential(1, len(y))
        score = {"brier": brier_score_loss, "log": log_loss}[divergence](y, v, sample_weight=w)
        z = (v[:, None] - v) / bandwidth
        same = np.searchsorted(np.arange(1, 8) / 8, v)
        same = same[:, None] == same
        eta = {
            name: np.clip(near @ (w * y) / (near @ w), 0, 1)
            for name, near in (
                ("gaussian", np.exp(-0.5 * z**2)),
                ("epanechnikov", np.maximum(1 - z**2, 0)),
                ("binned", same),
            )
        }
        eta["isotonic"] = IsotonicRegression().fit_transform(v, y, sample_weight=w)
        for name, mean in eta.items():
            options = ESTIMATORS[name] | {"bandwidth": bandwidth, "n_bins": 8}
            result = calibration_decomposition(
                y, v, sample_weight=w, divergence=divergence, **options
            )
            place = same @ (w * v) / (same @ w) if name == "binned" else v
            expected = np.average(divergence_of(divergence, mean, place), weights=w)
            assert result.calibration == pytest.approx(expected, abs=1e-10)
            assert result.total == pytest.approx(score, rel=1e-12)
            assert result.sharpness_gap == result.total - result.calibration
            assert all(type(part) is float for part in result)

    @every_divergence
    @pytest.mark.parametrize("bandwidth", [0.001, 0.05, 0.5])
    def test_many_distinct_predictions_are_off_by_less_than_promised(
        self, rng, divergence, bandwidth
    ):
        """The promise is 2e-8 (1 + 1/s) for the squared error and 1e-4 for log loss."""
        n = 2000
        v = np.concatenate([rng.beta(0.3, 0.3, n - 2), [1e-300, np.nextafter(1, 0)]])
        y, w = (rng.random(n) < v).astype(int), rng.exponential(1, n)
        kernel = np.exp(-0.5 * ((v[:, None] - v) / bandwidth) ** 2)
        positive, negative = kernel @ (w * y), kernel @ (w * (1 - y))
        eta, complement = positive / (positive + negative), negative / (positive + negative)
        values = (eta - v) ** 2
        if divergence == "log":
            values = rel_entr(eta, v) + rel_entr(complement, 1 - v)
        result = calibration_decomposition(
            y, v, sample_weight=w, divergence=divergence, bandwidth=bandwidth
        )
        tolerance = {"brier": 2e-8 * (1 + 1 / bandwidth), "log": 1e-4}[divergence]
        assert result.calibration == pytest.approx(np.average(values, weights=w), abs=tolerance)

    @pytest.mark.parametrize(("law", "accuracy"), [("even", 2e-5), ("two crowds", 1e-12)])
    def test_many_rows_under_the_epanechnikov_kernel(self, rng, law, accuracy):
        """Grid or rows, the promise of 2e-5 holds; two crowds a bandwidth apart need the rows."""
        n, bandwidth = 3500, 0.25
        v = rng.random(n)
        if law == "two crowds":
            v = np.where(v < 0.5, 0.3, 0.3 + bandwidth * (1 - 4e-4)) + 1e-9 * v
        y = (rng.random(n) < v**2).astype(int)
        kernel = np.maximum(1 - ((v[:, None] - v) / bandwidth) ** 2, 0)
        expected = np.mean((kernel @ y / kernel.sum(axis=1) - v) ** 2)
        result = calibration_decomposition(y, v, kernel="epanechnikov", bandwidth=bandwidth)
        assert result.calibration == pytest.approx(expected, abs=accuracy)

    @pytest.mark.parametrize("n_distinct", [20, 3000])
    def test_bandwidth_none_takes_smooth_ece(self, rng, n_distinct):
        v = rng.random(n_distinct)
        y = (rng.random(n_distinct) < v**3).astype(int)
        chosen, given = (
            calibration_decomposition(y, v, bandwidth=bandwidth).calibration
            for bandwidth in (None, smooth_ece(y, v))
        )
        assert chosen == pytest.approx(given, abs=1e-5)


@every_divergence
@every_estimator
class TestLaws:
    @pytest.mark.parametrize("n", [60, 3000])
    def test_weights_are_repetitions_and_order_is_nothing(self, rng, divergence, options, n):
        v = rng.random(n)
        v[:2] = 0, 1  # absent below; an infinite divergence must be absent too
        y, w = (rng.random(n) < v).astype(int), rng.integers(0, 3, n)
        y[:2], w[:2] = [1, 0], 0
        rows = rng.permutation(np.repeat(np.arange(n), w))
        expected = calibration_decomposition(y[rows], v[rows], divergence=divergence, **options)
        assert np.isfinite(expected).all()
        result = calibration_decomposition(y, v, sample_weight=w, divergence=divergence, **options)
        assert_near(result, expected)
        if options["estimator"] != "kernel":
            assert min(result) >= -1e-12

    def test_soft_labels_are_outcomes_in_proportion(self, rng, divergence, options):
        v, soft = np.round(rng.uniform(0.05, 0.95, (2, 50)), 2)
        rows, shares = np.tile(v, 2), 100 * np.concatenate([soft, 1 - soft])
        options = options | {"divergence": divergence}
        one = calibration_decomposition(soft, v, sample_weight=np.full(50, 100), **options)
        hard = np.repeat([1, 0], 50)
        assert_near(calibration_decomposition(hard, rows, sample_weight=shares, **options), one)

    def test_one_class_and_a_constant_base_rate(self, divergence, options):
        options = options | {"divergence": divergence}
        wrong = {"brier": 0.09, "log": -np.log(0.7)}[divergence]
        for n in (1, 5):
            rows = np.ones(n), np.full(n, 0.7)
            assert_near(calibration_decomposition(*rows, **options), [wrong, wrong, 0])
            assert_near(corp_decomposition(*rows, score=divergence), [wrong, wrong, 0, 0])
        result = calibration_decomposition([0, 0, 1, 0], np.full(4, 0.25), **options)
        blunt = {"brier": 0.1875, "log": -negative_entropy(0.25)}[divergence]
        assert_near(result, [blunt, 0, blunt])


class TestInfinities:
    @every_estimator
    def test_certain_and_right(self, options):
        result = calibration_decomposition(
            [0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0], divergence="log", bandwidth=0.01, **options
        )
        assert_near(result, 0)
        parts = corp_decomposition([0, 1], [0, 1], score="log")
        assert_near(parts, (0, 0, np.log(2), np.log(2)))

    @pytest.mark.parametrize("end", [0, 1])
    @pytest.mark.parametrize("n", [20, 3000])
    def test_certain_and_wrong(self, rng, end, n):
        v = np.append(rng.uniform(0.3, 0.7, n), end)
        y = np.append(rng.integers(0, 2, n), 1 - end)
        for options in ESTIMATORS.values():
            result = calibration_decomposition(y, v, divergence="log", **options)
            assert result.total == np.inf
        parts = corp_decomposition(y, v, score="log")
        assert parts.score == parts.miscalibration == np.inf
        assert np.isfinite([parts.discrimination, parts.uncertainty]).all()
        assert np.isfinite(calibration_decomposition(y, v)).all()

    @pytest.mark.parametrize("end", [0, 1])
    @pytest.mark.parametrize("n", [20, 3000])
    def test_a_kernel_that_reaches_other_outcomes_denies_certainty(self, rng, end, n):
        """The prediction itself is right; its calibration depends on its neighbours'."""
        v = np.append(rng.uniform(0.3, 0.7, n), end)
        y = np.append(rng.integers(0, 2, n), end)
        result = calibration_decomposition(y, v, divergence="log")
        assert np.isfinite(result.total)
        assert result[1:] == (np.inf, -np.inf)
        for options in (
            {"kernel": "epanechnikov"},
            {"estimator": "isotonic"},
            {"estimator": "binned"},
            {"bandwidth": 0.005},  # exp(-60^2 / 2) is no number
        ):
            assert np.isfinite(calibration_decomposition(y, v, divergence="log", **options)).all()

    def test_gap_of_two_infinities(self):
        result = calibration_decomposition([1, 0], [0, 0.5], divergence="log")
        assert result[:2] == (np.inf, np.inf)
        assert np.isnan(result.sharpness_gap)

    def test_weights_do_not_round_certainty_away(self, rng):
        """Sums of weights like 0.1 must cancel exactly where all outcomes agree."""
        v, y = np.repeat([0.0, 0.4, 1.0], 50), np.repeat([0, 1, 0, 1], [50, 25, 25, 50])
        w = rng.choice([0.1, 0.3, 0.7], 150)
        for options in ({"estimator": "isotonic"}, {"estimator": "binned"}, {"bandwidth": 0.001}):
            result = calibration_decomposition(y, v, sample_weight=w, divergence="log", **options)
            assert np.isfinite(result).all()


class TestMulticlass:
    @every_divergence
    @every_estimator
    def test_total_is_of_all_classes_and_calibration_of_the_confidence(
        self, multiclass, rng, divergence, options
    ):
        y, proba = multiclass
        options = options | {"divergence": divergence, "sample_weight": rng.integers(0, 3, len(y))}
        result = calibration_decomposition(y, proba, **options)
        hit = proba.argmax(axis=1) == y
        binary = calibration_decomposition(hit, proba.max(axis=1), **options)
        assert result.calibration == pytest.approx(binary.calibration, abs=1e-12)
        values = ((np.eye(4)[y] - proba) ** 2).sum(axis=1)
        if divergence == "log":
            values = -np.log(proba[np.arange(len(y)), y])
        total = np.average(values, weights=options["sample_weight"])
        assert result.total == pytest.approx(total, rel=1e-12)
        assert result.sharpness_gap == result.total - result.calibration

    def test_always_wrong_predictor(self):
        """Harmless as to its confidence, as bad as can be as to its classes."""
        n_classes, c = 1000, 1 / 1000 + 1e-4
        rest = (1 - c) / (n_classes - 1)
        proba = np.full((4, n_classes), rest)
        proba[:, 1] = c
        result = calibration_decomposition(
            [0, 0, 0, 2], proba, labels=np.arange(n_classes), estimator="isotonic"
        )
        assert result.calibration == pytest.approx(c**2, rel=1e-12)
        full = c**2 + (1 - rest) ** 2 + (n_classes - 2) * rest**2
        assert result.total == pytest.approx(full, rel=1e-12)

    def test_one_class_against_the_rest(self, multiclass):
        y, proba = multiclass
        names = np.array(list("dbca"))
        for function in (calibration_decomposition, corp_decomposition):
            parts = function(names[y], proba, pos_label="c", labels=names)
            assert_near(parts, function(y == 2, proba[:, 2]))

    def test_certain_zero_that_comes_true(self):
        proba = [[0.0, 0.4, 0.6], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]
        for weights, total in ((None, np.inf), ([0, 1, 1], -np.log(0.5 * 0.8) / 2)):
            result = calibration_decomposition(
                [0, 1, 2], proba, divergence="log", sample_weight=weights
            )
            assert result.total == pytest.approx(total)


@every_divergence
class TestCORP:
    @pytest.mark.parametrize("reduction", ["confidence", "classwise", "top-label", "full"])
    def test_terms_add_up_and_none_is_negative(self, multiclass, rng, divergence, reduction):
        weights = rng.random(300)
        parts = corp_decomposition(
            *multiclass, sample_weight=weights, score=divergence, reduction=reduction
        )
        terms = parts.miscalibration - parts.discrimination + parts.uncertainty
        assert parts.score == pytest.approx(terms, abs=1e-14)
        assert min(parts) >= -1e-12

    def test_is_the_definition(self, binary, rng, divergence):
        y, v = binary
        w = rng.integers(0, 4, len(y))
        eta = IsotonicRegression().fit(v, y, sample_weight=w).predict(v)
        own, best, constant = (
            np.average(divergence_of(divergence, y, forecast)[w > 0], weights=w[w > 0])
            for forecast in (v, np.clip(eta, 0, 1), np.full(len(y), np.average(y, weights=w)))
        )
        rows = rng.permutation(np.repeat(np.arange(len(y)), w))
        for parts in (
            corp_decomposition(y, v, sample_weight=w, score=divergence),
            corp_decomposition(y[rows], v[rows], score=divergence),
        ):
            assert_near(parts, (own, own - best, constant - best, constant))


class TestBregmanDivergence:
    @every_estimator
    def test_own_functions_equal_the_named_divergences(self, binary, multiclass, options):
        for name, own, rows in (
            ("brier", SQUARE, binary),
            ("brier", SQUARE, multiclass),
            ("log", ENTROPY, binary),
        ):
            result = calibration_decomposition(*rows, divergence=own, **options)
            expected = calibration_decomposition(*rows, divergence=name, **options)
            assert_near(result, expected, 1e-11)
        # Gradients may be infinite at the ends.
        for y, v in (([0, 1], [0, 1]), ([1, 1], [0, 1]), ([0, 1, 1], [0.5, 0.5, 1])):
            if options["estimator"] != "kernel":
                result = calibration_decomposition(y, v, divergence=ENTROPY, **options)
                assert_near(result, calibration_decomposition(y, v, divergence="log", **options))

    def test_total_of_classes_is_the_sum_over_them(self, multiclass):
        y, proba = multiclass
        outcomes = np.eye(4)[y]
        values = outcomes - proba**4 - 4 * proba**3 * (outcomes - proba)
        total = calibration_decomposition(y, proba, divergence=QUARTIC).total
        assert total == pytest.approx(values.sum(axis=1).mean(), rel=1e-12)

    def test_is_called_with_numbers_or_arrays(self):
        assert SQUARE(1, 0.5) == 0.25
        np.testing.assert_allclose(ENTROPY(0.5, [0.5, 0.0]), [0, np.inf])
        # Sums of terms near the largest number do not overflow.
        huge = BregmanDivergence(lambda v: 1e308 + 5e307 * v**2, lambda v: 1e308 * v)
        np.testing.assert_allclose(huge(1.0, 0.5), 1.25e307)

    @pytest.mark.parametrize(
        ("y", "v", "message"),
        [
            ([0.5, 2.0], 0.5, r"y must lie in \[0, 1\]; got 2\.0"),
            (0.5, np.nan, r"v must lie in \[0, 1\]; got nan"),
            ("a", 0.5, "y must hold real numbers"),
            ([0.5, 0.5], [0.5] * 3, r"y and v must have shapes that fit .* got \(2,\) and \(3,\)"),
        ],
    )
    def test_bad_arguments(self, y, v, message):
        with pytest.raises(ValueError, match=message):
            SQUARE(y, v)

    @pytest.mark.parametrize(
        ("phi", "gradient", "message"),
        [
            (lambda v: -(v**2), lambda v: -2 * v, r"phi must be convex .* got d\(.*\) = -"),
            (np.square, lambda v: v, "phi must be convex and gradient its derivative"),
            (lambda v: v * np.log(v), lambda v: np.log(v) + 1, r"phi must be finite .* nan at 0"),
            (np.square, lambda v: v / v, r"gradient must be defined .* got nan at 0\."),
            (lambda v: 1.0, lambda v: 2 * v, r"phi must map .* got shape \(\) for"),
            (np.square, lambda v: v[:1], r"gradient must map .* got shape \(1, 33\) for"),
            (str, np.square, r"phi\(v\) must hold real numbers"),
            (lambda v: 1e308 * v**2, lambda v: 2 * v, r"no divergence is negative; got d\(.*= -"),
            (
                np.square,
                lambda v: np.where(v > 0, 2 * v, np.inf),
                r"no divergence is negative; got d\(.*, 0\) = -inf",
            ),
            ("square", np.sign, "phi must be callable; got"),
            (np.square, None, "gradient must be callable; got None"),
        ],
    )
    def test_bad_functions(self, phi, gradient, message):
        with pytest.raises(ValueError, match=message):
            BregmanDivergence(phi, gradient)

    def test_mistakes_between_the_places_that_are_tried_show_in_use(self):
        bump = 0.5 + 1 / 300
        divergence = BregmanDivergence(lambda v: v**2 + (v == bump), lambda v: 2 * v)
        with pytest.raises(ValueError, match=r"no divergence is negative; got d\(.* -"):
            calibration_decomposition([0, 1], [bump, 0.7], divergence=divergence)
