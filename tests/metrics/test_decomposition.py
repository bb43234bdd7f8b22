"""Decompositions of proper scores: closed forms, published values, laws, infinities, bad input."""

import dataclasses
import pickle

import numpy as np
import pandas as pd
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


def square_gradient(v):
    return 2 * v


def negative_entropy(v):
    return xlogy(v, v) + xlogy(1 - v, 1 - v)


def entropy_gradient(v):
    return np.log(v) - np.log1p(-v)


SQUARE = BregmanDivergence(np.square, square_gradient)
ENTROPY = BregmanDivergence(negative_entropy, entropy_gradient)
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


def shrunk(n=100_000):
    """Family B of closed forms: v uniform, eta = 1/2 + (v - 1/2) / 2."""
    v = (np.arange(n) + 0.5) / n
    return 0.5 + 0.5 * (v - 0.5), v


# Total, calibration and sharpness gap of `shrunk`; log loss: DEFINITIONS.md. Brier, with a = 1/2:
# calibration a^2 / 12, gap E eta (1 - eta) = 1/4 - (1 - a)^2 / 12.
SHRUNK = {
    "brier": (0.25, 0.25 / 12, 0.25 - 0.25 / 12),
    "log": (0.75, 0.099644464, 0.650355536),
}


def divergence_of(name, y, v):
    """d(y, v) as in the definition."""
    return (y - v) ** 2 if name == "brier" else rel_entr(y, v) + rel_entr(1 - y, 1 - v)


class TestDecomposition:
    @every_divergence
    @pytest.mark.parametrize(
        ("options", "tolerance"),
        [
            ({"estimator": "isotonic"}, 2e-6),
            ({"estimator": "binned", "n_bins": 1000}, 2e-4),
            # Smoothed values are off within a bandwidth of the ends, where the kernel is cut.
            ({"estimator": "kernel", "bandwidth": 0.001}, 2e-4),
            ({"estimator": "kernel", "bandwidth": 0.002, "kernel": "epanechnikov"}, 2e-4),
        ],
    )
    def test_closed_form(self, divergence, options, tolerance):
        result = calibration_decomposition(*shrunk(), divergence=divergence, **options)
        assert result.total == pytest.approx(SHRUNK[divergence][0], abs=2e-6)
        np.testing.assert_allclose(result, SHRUNK[divergence], rtol=0, atol=tolerance)

    @every_divergence
    @every_estimator
    def test_total_is_the_score_and_the_sum_holds(self, binary, rng, divergence, options):
        y, v = binary
        weights = rng.exponential(1, len(y))
        result = calibration_decomposition(
            y, v, sample_weight=weights, divergence=divergence, **options
        )
        score = {"brier": brier_score_loss, "log": log_loss}[divergence]
        assert result.total == pytest.approx(score(y, v, sample_weight=weights), rel=1e-12)
        assert result.sharpness_gap == result.total - result.calibration
        assert result.calibration + result.sharpness_gap == pytest.approx(result.total, rel=1e-15)
        assert all(type(part) is float for part in result)

    @every_divergence
    @pytest.mark.parametrize("name", ["isotonic", "binned", "quantile"])
    def test_no_term_is_negative(self, rng, divergence, name):
        for _ in range(30):
            n = rng.integers(1, 60)
            v = rng.choice([rng.random(n), np.round(rng.random(n), 1) * 0.8 + 0.1])
            y, w = rng.integers(0, 2, n), rng.integers(1, 4, n) + 1.0
            result = calibration_decomposition(
                y, v, sample_weight=w, divergence=divergence, **ESTIMATORS[name]
            )
            assert min(result) >= -1e-12

    @every_divergence
    @pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
    @pytest.mark.parametrize("bandwidth", [0.001, 0.05, 2.0])
    def test_kernel_is_the_definition(self, binary, rng, divergence, kernel, bandwidth):
        y, v = binary
        w = rng.exponential(1, len(y))
        z = (v[:, None] - v) / bandwidth
        k = np.exp(-0.5 * z**2) if kernel == "gaussian" else np.maximum(1 - z**2, 0)
        eta = k @ (w * y) / (k @ w)
        result = calibration_decomposition(
            y, v, sample_weight=w, divergence=divergence, kernel=kernel, bandwidth=bandwidth
        )
        expected = np.average(divergence_of(divergence, np.clip(eta, 0, 1), v), weights=w)
        assert result.calibration == pytest.approx(expected, abs=1e-10)

    @every_divergence
    @pytest.mark.parametrize("bandwidth", [0.001, 0.05, 0.5])
    def test_many_distinct_predictions_are_off_by_less_than_promised(
        self, rng, divergence, bandwidth
    ):
        """The promise is 2e-8 (1 + 1/s) for the squared error and 1e-4 for log loss."""
        n = 3000
        v = np.concatenate([rng.beta(0.3, 0.3, n - 2), [1e-300, np.nextafter(1, 0)]])
        y = (rng.random(n) < v).astype(int)
        w = rng.exponential(1, n)
        kernel = np.exp(-0.5 * ((v[:, None] - v) / bandwidth) ** 2)
        positive, negative = kernel @ (w * y), kernel @ (w * (1 - y))
        eta, complement = positive / (positive + negative), negative / (positive + negative)
        if divergence == "brier":
            values = (eta - v) ** 2
        else:
            values = rel_entr(eta, v) + rel_entr(complement, 1 - v)
        result = calibration_decomposition(
            y, v, sample_weight=w, divergence=divergence, bandwidth=bandwidth
        )
        tolerance = {"brier": 2e-8 * (1 + 1 / bandwidth), "log": 1e-4}[divergence]
        assert result.calibration == pytest.approx(np.average(values, weights=w), abs=tolerance)

    @pytest.mark.parametrize("law", ["even", "two crowds"])
    def test_many_rows_under_the_epanechnikov_kernel(self, rng, law):
        """Grid or rows, the promise of 2e-5 holds; two crowds a bandwidth apart need the rows."""
        n, bandwidth = 6000, 0.25
        v = rng.random(n)
        if law == "two crowds":
            v = np.where(v < 0.5, 0.3, 0.3 + bandwidth * (1 - 4e-4)) + 1e-9 * v
        y = (rng.random(n) < v**2).astype(int)
        kernel = np.maximum(1 - ((v[:, None] - v) / bandwidth) ** 2, 0)
        expected = np.mean((kernel @ y / kernel.sum(axis=1) - v) ** 2)
        result = calibration_decomposition(y, v, kernel="epanechnikov", bandwidth=bandwidth)
        tolerance = 2e-5 if law == "even" else 1e-12
        assert result.calibration == pytest.approx(expected, abs=tolerance)

    @every_divergence
    def test_isotonic_is_the_definition(self, binary, divergence):
        y, v = binary
        eta = IsotonicRegression().fit_transform(v, y)
        result = calibration_decomposition(y, v, divergence=divergence, estimator="isotonic")
        assert result.calibration == pytest.approx(
            divergence_of(divergence, eta, v).mean(), abs=1e-12
        )
        assert result.sharpness_gap >= divergence_of(divergence, y, eta).mean() - 1e-12

    @every_divergence
    def test_bins_are_the_definition(self, binary, divergence):
        y, v = binary
        bins = pd.cut(v, np.linspace(0, 1, 9))
        table = pd.DataFrame({"y": y, "v": v}).groupby(bins, observed=True)
        means, share = table.mean(), table.size() / len(y)
        values = divergence_of(divergence, means["y"], means["v"])
        result = calibration_decomposition(
            y, v, divergence=divergence, estimator="binned", n_bins=8
        )
        assert result.calibration == pytest.approx((share * values).sum(), abs=1e-12)

    @every_divergence
    @pytest.mark.parametrize("name", ["gaussian", "epanechnikov", "isotonic"])
    def test_gap_is_what_recalibration_leaves(self, rng, divergence, name):
        """E d(y, eta) in the population, where eta = v^2 is known."""
        v = np.sort(rng.uniform(0.05, 0.95, 20_000))
        result = calibration_decomposition(
            v**2, v, divergence=divergence, bandwidth=0.01, **ESTIMATORS[name]
        )
        eta = v**2
        left = eta * divergence_of(divergence, 1.0, eta)
        left += (1 - eta) * divergence_of(divergence, 0.0, eta)
        assert result.sharpness_gap == pytest.approx(left.mean(), abs=1e-4)

    @pytest.mark.parametrize("n_distinct", [20, 3000])
    def test_bandwidth_none_takes_smooth_ece(self, rng, n_distinct):
        v = rng.random(n_distinct)
        y = (rng.random(n_distinct) < v**3).astype(int)
        assert calibration_decomposition(y, v, bandwidth=None).calibration == pytest.approx(
            calibration_decomposition(y, v, bandwidth=smooth_ece(y, v)).calibration, abs=1e-5
        )


class TestLaws:
    @every_divergence
    @every_estimator
    @pytest.mark.parametrize("n", [60, 3000])
    def test_weights_are_repetitions_and_order_is_nothing(self, rng, divergence, options, n):
        v = rng.random(n)
        v[:2] = 0, 1  # absent below; an infinite divergence must be absent too
        y, w = (rng.random(n) < v).astype(int), rng.integers(0, 3, n)
        y[:2], w[:2] = [1, 0], 0
        expected = calibration_decomposition(
            np.repeat(y, w), np.repeat(v, w), divergence=divergence, **options
        )
        assert np.isfinite(expected).all()
        order = rng.permutation(n)
        for rows in (slice(None), order):
            result = calibration_decomposition(
                y[rows], v[rows], sample_weight=w[rows], divergence=divergence, **options
            )
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12)

    @every_divergence
    @pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "quantile"])
    def test_the_other_label_has_the_same_decomposition(self, binary, divergence, name):
        """Not for quantile bins: they are right-closed, and ties lie on their edges."""
        y, v = binary
        v = np.clip(np.round(v * 64), 1, 63) / 64 + 1 / 1024  # 1 - v is exact, and on no edge
        options = {"divergence": divergence, **ESTIMATORS[name]}
        for rows in (v, np.append(v[1:], 0.0)):  # the latter infinite alike
            one = calibration_decomposition(y, rows, **options)
            two = calibration_decomposition(1 - y, 1 - rows, **options)
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)

    @every_divergence
    @every_estimator
    def test_labels_and_containers(self, binary, divergence, options):
        y, v = binary
        options = {"divergence": divergence, **options}
        expected = calibration_decomposition(y, v, **options)
        names = np.where(y == 1, "wet", "dry")
        both = np.column_stack([v, 1 - v])
        for arguments, extra in (
            ((names, v), {"pos_label": "wet"}),
            (
                (pd.Series(names), pd.DataFrame(both)),
                {"labels": ["wet", "dry"], "pos_label": "wet"},
            ),
            ((y.tolist(), v.tolist()), {}),
        ):
            result = calibration_decomposition(*arguments, **extra, **options)
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12)
            options_ = {"score": divergence}
            np.testing.assert_allclose(
                corp_decomposition(*arguments, **extra, **options_),
                corp_decomposition(y, v, **options_),
                rtol=0,
                atol=1e-12,
            )

    @every_divergence
    @every_estimator
    def test_soft_labels_are_outcomes_in_proportion(self, rng, divergence, options):
        v, soft = np.round(rng.uniform(0.05, 0.95, (2, 50)), 2)
        hard = np.repeat([1, 0], 50)
        weights = np.concatenate([soft, 1 - soft])
        both = np.tile(v, 2)
        if options.get("strategy") == "quantile":
            weights = 100 * weights.round(2)
        np.testing.assert_allclose(
            calibration_decomposition(
                soft,
                v,
                sample_weight=np.full(50, 100 if options.get("strategy") == "quantile" else 1),
                divergence=divergence,
                **options,
            ),
            calibration_decomposition(
                hard, both, sample_weight=weights, divergence=divergence, **options
            ),
            rtol=0,
            atol=1e-12,
        )

    @every_divergence
    @every_estimator
    def test_one_row_and_one_class(self, divergence, options):
        expected = {"brier": 0.09, "log": -np.log(0.7)}[divergence]
        for n in (1, 5):
            result = calibration_decomposition(
                np.ones(n), np.full(n, 0.7), divergence=divergence, **options
            )
            np.testing.assert_allclose(result, [expected, expected, 0], rtol=0, atol=1e-12)
            result = corp_decomposition(np.ones(n), np.full(n, 0.7), score=divergence)
            np.testing.assert_allclose(result, [expected, expected, 0, 0], rtol=0, atol=1e-12)

    @every_divergence
    @every_estimator
    def test_constant_base_rate_is_calibrated_and_blunt(self, divergence, options):
        y, v = [0, 0, 1, 0], np.full(4, 0.25)
        result = calibration_decomposition(y, v, divergence=divergence, **options)
        expected = {"brier": 0.1875, "log": -negative_entropy(0.25)}[divergence]
        np.testing.assert_allclose(result, [expected, 0, expected], rtol=0, atol=1e-12)


class TestInfinities:
    @every_estimator
    def test_certain_and_right(self, options):
        result = calibration_decomposition(
            [0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0], divergence="log", bandwidth=0.01, **options
        )
        np.testing.assert_allclose(result, 0, atol=1e-12)

    def test_certain_and_right_scores(self):
        assert corp_decomposition([0, 1], [0, 1], score="log") == pytest.approx(
            (0, 0, np.log(2), np.log(2))
        )

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
        assert result.calibration == np.inf
        assert result.sharpness_gap == -np.inf
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
        v = np.repeat([0.0, 0.4, 1.0], 50)
        y = np.repeat([0, 1, 1], 50)
        y[50:75] = 0
        w = rng.choice([0.1, 0.3, 0.7], 150)
        for options in ({"estimator": "isotonic"}, {"estimator": "binned"}, {"bandwidth": 0.001}):
            result = calibration_decomposition(y, v, sample_weight=w, divergence="log", **options)
            assert np.isfinite(result).all()


class TestMulticlass:
    def test_totals_are_of_all_classes_and_calibration_of_the_confidence(self, multiclass, rng):
        y, proba = multiclass
        w = rng.integers(0, 3, len(y))
        confidence, hit = proba.max(axis=1), (proba.argmax(axis=1) == y).astype(int)
        for options in ESTIMATORS.values():
            for divergence in ("brier", "log"):
                result = calibration_decomposition(
                    y, proba, sample_weight=w, divergence=divergence, **options
                )
                binary = calibration_decomposition(
                    hit, confidence, sample_weight=w, divergence=divergence, **options
                )
                assert result.calibration == pytest.approx(binary.calibration, abs=1e-12)
                assert result.total > binary.total
                assert result.sharpness_gap == result.total - result.calibration
        squares = ((np.eye(4)[y] - proba) ** 2).sum(axis=1)
        result = calibration_decomposition(y, proba, sample_weight=w)
        assert result.total == pytest.approx(np.average(squares, weights=w), rel=1e-12)
        result = calibration_decomposition(y, proba, sample_weight=w, divergence="log")
        assert result.total == pytest.approx(log_loss(y, proba, sample_weight=w), rel=1e-12)

    def test_always_wrong_predictor(self):
        """Proposition 4.4: harmless as to its confidence, as bad as can be as to its classes."""
        for n_classes in (3, 10, 1000):
            c = 1 / n_classes + 1e-4
            rest = (1 - c) / (n_classes - 1)
            proba = np.full((4, n_classes), rest)
            proba[:, 1] = c
            result = calibration_decomposition(
                [0, 0, 0, 2], proba, labels=np.arange(n_classes), estimator="isotonic"
            )
            assert result.calibration == pytest.approx(c**2, rel=1e-12)
            full = c**2 + (1 - rest) ** 2 + (n_classes - 2) * rest**2
            assert result.total == pytest.approx(full, rel=1e-12)
            assert result.total == pytest.approx(1 - 1 / n_classes, abs=1e-3)

    def test_one_class_against_the_rest(self, multiclass):
        y, proba = multiclass
        names = np.array(list("dbca"))
        for column, name in enumerate(names):
            expected = (y == column).astype(int), proba[:, column]
            arguments = {"pos_label": name, "labels": names}
            assert calibration_decomposition(names[y], proba, **arguments) == pytest.approx(
                calibration_decomposition(*expected), abs=1e-12
            )
            assert corp_decomposition(names[y], proba, **arguments) == pytest.approx(
                corp_decomposition(*expected), abs=1e-12
            )

    def test_published_totals(self, shared_data):
        """DEFINITIONS.md, section 11: log loss and summed Brier score of VGG-16 on CIFAR-10."""
        table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
        y, proba = table.pop("y_true"), table.to_numpy()
        brier = calibration_decomposition(y, proba, estimator="binned")
        assert brier.total == pytest.approx(0.105446, abs=1e-6)
        log = calibration_decomposition(y, proba, divergence="log", estimator="binned")
        assert log.total == pytest.approx(0.257065, abs=2e-6)

    def test_certain_zero_that_comes_true(self):
        proba = [[0.0, 0.4, 0.6], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]
        result = calibration_decomposition([0, 1, 2], proba, divergence="log", sample_weight=None)
        assert result.total == np.inf
        present = calibration_decomposition(
            [0, 1, 2], proba, divergence="log", sample_weight=[0, 1, 1]
        )
        assert present.total == pytest.approx(-np.log(0.5 * 0.8) / 2)


class TestCORP:
    @pytest.mark.parametrize(
        ("forecast", "parts"),
        [
            ("EMOS", (0.232025, 0.018283, 0.030469, 0.244211)),
            ("Logistic", (0.205746, 0.017076, 0.055541, 0.244211)),
        ],
    )
    def test_published_values(self, shared_data, forecast, parts):
        """DEFINITIONS.md, section 11; data of Dimitriadis et al. (2021)."""
        table = pd.read_csv(shared_data / "precip_niamey_2016.csv")
        result = corp_decomposition(table.obs, table[forecast])
        np.testing.assert_allclose(result, parts, rtol=0, atol=1e-6)

    @every_divergence
    @pytest.mark.parametrize("reduction", ["confidence", "classwise", "top-label", "full"])
    def test_terms_add_up_and_none_is_negative(self, multiclass, rng, divergence, reduction):
        y, proba = multiclass
        parts = corp_decomposition(
            y, proba, sample_weight=rng.random(300), score=divergence, reduction=reduction
        )
        assert parts.score == pytest.approx(
            parts.miscalibration - parts.discrimination + parts.uncertainty, abs=1e-14
        )
        assert min(parts) >= -1e-12

    @every_divergence
    def test_is_the_definition(self, binary, rng, divergence):
        y, v = binary
        w = rng.exponential(1, len(y))
        eta = IsotonicRegression().fit_transform(v, y, sample_weight=w)
        own, best, constant = (
            np.average(divergence_of(divergence, y, forecast), weights=w)
            for forecast in (v, np.clip(eta, 0, 1), np.full(len(y), np.average(y, weights=w)))
        )
        parts = corp_decomposition(y, v, sample_weight=w, score=divergence)
        expected = (own, own - best, constant - best, constant)
        np.testing.assert_allclose(parts, expected, rtol=0, atol=1e-12)
        isotonic = calibration_decomposition(
            y, v, sample_weight=w, divergence=divergence, estimator="isotonic"
        )
        assert isotonic.calibration <= parts.miscalibration + 1e-12
        assert isotonic.total == pytest.approx(parts.score, rel=1e-12)

    @every_divergence
    def test_closed_form(self, divergence):
        """Nothing is pooled in the population: the two decompositions share their terms."""
        total, calibration, gap = SHRUNK[divergence]
        uncertainty = {"brier": 0.25, "log": np.log(2)}[divergence]
        expected = (total, calibration, uncertainty - gap, uncertainty)
        parts = corp_decomposition(*shrunk(), score=divergence)
        np.testing.assert_allclose(parts, expected, rtol=0, atol=2e-6)

    @every_divergence
    def test_weights_are_repetitions_and_order_is_nothing(self, binary, rng, divergence):
        y, v = binary
        w = rng.integers(0, 3, len(y))
        expected = corp_decomposition(np.repeat(y, w), np.repeat(v, w), score=divergence)
        order = rng.permutation(len(y))
        result = corp_decomposition(y[order], v[order], sample_weight=w[order], score=divergence)
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12)


class TestBregmanDivergence:
    @every_estimator
    def test_own_functions_equal_the_named_divergences(self, binary, multiclass, options):
        for name, own in (("brier", SQUARE), ("log", ENTROPY)):
            result = calibration_decomposition(*binary, divergence=own, **options)
            expected = calibration_decomposition(*binary, divergence=name, **options)
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-11)
        result = calibration_decomposition(*multiclass, divergence=SQUARE, **options)
        expected = calibration_decomposition(*multiclass, **options)
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-11)

    def test_infinite_gradients_at_the_ends(self):
        for y, v in (([0, 1], [0, 1]), ([1, 1], [0, 1]), ([0, 1, 1], [0.5, 0.5, 1])):
            for estimator in ("isotonic", "binned"):
                np.testing.assert_allclose(
                    calibration_decomposition(y, v, divergence=ENTROPY, estimator=estimator),
                    calibration_decomposition(y, v, divergence="log", estimator=estimator),
                    atol=1e-12,
                )

    def test_total_of_classes_is_the_sum_over_them(self, multiclass):
        y, proba = multiclass
        total = calibration_decomposition(y, proba, divergence=QUARTIC).total
        outcomes = np.eye(4)[y]
        values = outcomes - proba**4 - 4 * proba**3 * (outcomes - proba)
        assert total == pytest.approx(values.sum(axis=1).mean(), rel=1e-12)
        only = calibration_decomposition(
            proba.argmax(axis=1) == y, proba.max(axis=1), divergence=QUARTIC
        )
        assert total >= only.total

    def test_is_called_with_numbers_or_arrays(self):
        assert SQUARE(1, 0.5) == 0.25
        np.testing.assert_allclose(ENTROPY(0.5, [0.5, 0.0]), [0, np.inf])

    def test_may_be_huge(self):
        """Sums of terms near the largest number do not overflow."""
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

    def test_is_a_value(self):
        assert pickle.loads(pickle.dumps(SQUARE)) == SQUARE
        with pytest.raises(dataclasses.FrozenInstanceError):
            SQUARE.phi = np.exp

    @pytest.mark.parametrize(
        ("phi", "gradient", "message"),
        [
            (lambda v: -(v**2), lambda v: -2 * v, r"phi must be convex .* got d\(.*\) = -"),
            (np.square, lambda v: -2 * v, "phi must be convex and gradient its derivative"),
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
        ],
    )
    def test_bad_functions(self, phi, gradient, message):
        with pytest.raises(ValueError, match=message):
            BregmanDivergence(phi, gradient)

    def test_mistakes_between_the_places_that_are_tried_show_in_use(self):
        bump = np.array([0.5 + 1 / 300])
        divergence = BregmanDivergence(
            lambda v: v**2 + np.where(v == bump, 1.0, 0.0), square_gradient
        )
        with pytest.raises(ValueError, match=r"no divergence is negative; got d\(.* -"):
            calibration_decomposition([0, 1], [bump[0], 0.7], divergence=divergence)

    @pytest.mark.parametrize(("phi", "gradient"), [("square", np.sign), (np.square, None)])
    def test_not_callable(self, phi, gradient):
        with pytest.raises(ValueError, match="must be callable; got"):
            BregmanDivergence(phi, gradient)


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"divergence": "briar"}, "divergence must be .* Did you mean 'brier'"),
            ({"divergence": np.square}, "divergence must be 'brier', 'log' or a BregmanDiverg"),
            ({"divergence": None}, "divergence must be 'brier', 'log' or .* got None"),
            ({"estimator": "kernels"}, "estimator must be .* Did you mean 'kernel'"),
            ({"kernel": "box"}, "kernel must be one of 'gaussian', 'epanechnikov'; got 'box'"),
            ({"bandwidth": 0}, "bandwidth must be at least 0.001 and finite; got 0"),
            ({"bandwidth": np.inf}, "bandwidth must be at least 0.001 and finite; got inf"),
            ({"bandwidth": "auto"}, "bandwidth must be a number; got 'auto'"),
            ({"n_bins": 0}, "n_bins must be at least 1; got 0"),
            ({"n_bins": 2.0}, "n_bins must be an integer"),
            ({"strategy": "equal"}, "strategy must be one of"),
            ({"sample_weight": [1, -1]}, "sample_weight must be finite and not negative"),
        ],
    )
    def test_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            calibration_decomposition([0, 1], [0.2, 0.7], **options)

    @pytest.mark.parametrize("function", [calibration_decomposition, corp_decomposition])
    @pytest.mark.parametrize(
        ("y", "v", "message"),
        [
            ([0, 1], [0.2, 1.2], r"y_proba must lie in \[0, 1\]; got 1.2 at row 1"),
            ([0, 1], [0.2, np.nan], r"y_proba must lie in \[0, 1\]; got nan at row 1"),
            ([0, 1, 1], [0.2, 0.7], "must have the same length; got 3 labels and 2"),
            ([], [], "y_proba must hold at least one row"),
            ([0, 1, 2], [0.2, 0.7, 0.1], "y_true has 3 labels"),
            ([0, 1], [[0.2, 0.9], [0.5, 0.5]], "Rows of y_proba must sum to 1"),
        ],
    )
    def test_data(self, function, y, v, message):
        with pytest.raises(ValueError, match=message):
            function(y, v)

    def test_score_and_reduction(self):
        with pytest.raises(ValueError, match="score must be one of 'brier', 'log'; got 'crps'"):
            corp_decomposition([0, 1], [0.2, 0.7], score="crps")
        with pytest.raises(
            ValueError, match=r"reduction must be one of .* Did you mean 'classwise'"
        ):
            corp_decomposition([0, 1], [0.2, 0.7], reduction="class-wise")
