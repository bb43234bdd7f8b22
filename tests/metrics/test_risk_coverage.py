"""Risk-coverage curves and areas against loops, integrals, closed forms and published values."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

from skcal.metrics import area_under_risk_coverage_curve, risk_coverage_curve
from skcal.scorers import get_scorer, make_calibration_scorer

KINDS = ("selective", "excess", "generalized")
every_kind = pytest.mark.parametrize("kind", KINDS)


def list_areas(y, v, **options):
    return [area_under_risk_coverage_curve(y, v, kind=kind, **options) for kind in KINDS]


def cumulate(keys, losses, weights):
    """Nodes of the loss of the rows of the largest keys over their weight, both of all 1."""
    nodes = [(0.0, 0.0)]
    for key in sorted(set(keys), reverse=True):
        chosen = keys >= key
        nodes.append((weights[chosen].sum(), (weights * losses)[chosen].sum()))
    return np.transpose(nodes) / weights.sum()


def integrate(nodes, function):
    """Integral of a function of the coverage and the loss, piece by piece."""
    coverage, loss = nodes
    return sum(
        quad(lambda c: function(c, np.interp(c, coverage, loss)), *ends, epsabs=1e-12)[0]
        for ends in itertools.pairwise(coverage)
    )


@pytest.fixture
def rows():
    """Tied predictions, labels, losses and weights."""
    rng = np.random.default_rng(0)
    v = rng.integers(1, 9, 40) / 10
    return (rng.random(40) < v).astype(int), v, rng.random(40), rng.uniform(0.1, 3, 40)


def test_curve_is_its_definition(rows):
    y, v, losses, weights = rows
    for w, risk in itertools.product((None, weights), ("error", losses)):
        curve = risk_coverage_curve(y, v, sample_weight=w, risk=risk)
        w = np.ones(40) if w is None else w
        ell = 1.0 - y if isinstance(risk, str) else risk
        assert curve.thresholds.tolist() == sorted(set(v), reverse=True)
        for t, coverage, found in zip(*curve, strict=True):
            accepted = v >= t
            assert coverage == pytest.approx(w[accepted].sum() / w.sum(), rel=1e-12)
            assert found == pytest.approx(np.average(ell[accepted], weights=w[accepted]), rel=1e-12)
        assert curve.coverage[-1] == 1


def test_areas_are_integrals(rows):
    y, v, losses, weights = rows
    for w, risk in itertools.product((None, weights), ("error", losses)):
        found = list_areas(y, v, sample_weight=w, risk=risk)
        w = np.ones(40) if w is None else w
        ell = 1.0 - y if isinstance(risk, str) else risk
        nodes, best = cumulate(v, ell, w), cumulate(-ell, ell, w)
        area = integrate(nodes, lambda c, loss: loss / c)
        excess = area - integrate(best, lambda c, loss: loss / c)
        joint = integrate(nodes, lambda c, loss: loss)
        np.testing.assert_allclose(found, [area, excess, joint], rtol=1e-9)


def test_ties_are_all_orders_of_many_copies():
    """The mean over all orders of copies of tied rows comes near the value from 1 / n on."""
    v, losses = np.array([0.9, 0.5, 0.5, 0.5]), np.array([0.2, 1.0, 0.0, 0.6])
    found = list_areas([1, 1, 1, 1], v, labels=[0, 1], risk=losses)
    orders = np.array([losses[[0, *order]] for order in itertools.permutations([1, 2, 3])])
    # Rows may be split: within one of them the loss is linear.
    nodes = np.arange(5) / 4
    means = [
        np.mean([integrate((nodes, np.append(0, order.cumsum() / 4)), f) for order in orders])
        for f in (lambda c, loss: loss / c, lambda c, loss: loss)
    ]
    np.testing.assert_allclose(found[::2], means, rtol=1e-9)


def test_weights_are_copies_and_order_and_split_do_not_matter(rows):
    y, v, _, _ = rows
    rng = np.random.default_rng(1)
    times, order = rng.integers(0, 4, 40), rng.permutation(40)
    expected = list_areas(np.repeat(y, times), np.repeat(v, times))
    np.testing.assert_allclose(list_areas(y, v, sample_weight=times), expected, rtol=1e-12)
    scaled = list_areas(y[order], v[order], sample_weight=1e-200 * times[order])
    np.testing.assert_allclose(scaled, expected, rtol=1e-12)
    hundred = list_areas(np.tile(y, 100), np.tile(v, 100))
    np.testing.assert_allclose(hundred, list_areas(y, v), rtol=1e-12)
    copied = risk_coverage_curve(np.repeat(y, times), np.repeat(v, times))
    np.testing.assert_allclose(risk_coverage_curve(y, v, sample_weight=times), copied, rtol=1e-12)


def test_an_order_that_tells_nothing():
    """r, r minus the closed form of Geifman et al. (2019), and r / 2."""
    for n_wrong in (0, 1, 3, 10):
        y, r = np.arange(10) >= n_wrong, n_wrong / 10
        best = r + (1 - r) * np.log(1 - r) if r < 1 else 1.0
        found = list_areas(y, np.full(10, 0.7), labels=[False, True])
        np.testing.assert_allclose(found, [r, r - best, r / 2], atol=1e-15)


@pytest.mark.parametrize("n_rows", [1, 2, 7, 1000])
def test_perfect_order(n_rows):
    rng = np.random.default_rng(n_rows)
    losses = rng.random(n_rows)
    for ell in (losses, np.rint(losses)):
        y = np.ones(n_rows, dtype=int)
        for w in (None, rng.uniform(0, 1, n_rows) ** 9):
            options = {"labels": [0, 1], "risk": ell, "sample_weight": w}
            area, excess, joint = list_areas(y, 1 - ell, **options)
            mean = np.average(ell, weights=w)
            assert 0 <= excess <= 1e-14
            assert area <= mean + 1e-15
            assert joint <= mean / 2 + 1e-15
    r = np.mean(ell)
    plain = area_under_risk_coverage_curve(1 - ell.astype(int), 1 - ell, labels=[0, 1])
    assert plain == pytest.approx(r + (1 - r) * np.log(1 - r) if r < 1 else 1.0, abs=1e-14)


def test_generalized_area_by_the_roc_curve():
    """Equation 7 of Traub et al. (2024), also for ties, which count one half."""
    rng = np.random.default_rng(0)
    v = rng.random(200).round(1)
    y = (rng.random(200) < v).astype(int)
    acc = y.mean()
    expected = (1 - roc_auc_score(y, v)) * acc * (1 - acc) + (1 - acc) ** 2 / 2
    found = area_under_risk_coverage_curve(y, v, kind="generalized")
    assert found == pytest.approx(expected, rel=1e-12)


def test_generalized_area_is_half_the_loss_of_the_more_confident_of_two_rows(rows):
    _, v, losses, weights = rows
    found = area_under_risk_coverage_curve(
        np.ones(40), v, kind="generalized", labels=[0, 1], risk=losses, sample_weight=weights
    )
    pairs = [
        weights[i] * weights[j] * np.mean(losses[[i, j]][v[[i, j]] == max(v[i], v[j])])
        for i, j in itertools.product(range(40), repeat=2)
    ]
    assert found == pytest.approx(sum(pairs) / weights.sum() ** 2 / 2, rel=1e-12)


def test_an_error_counts_by_its_place():
    """Of n rows one that is wrong at c counts about -log(c) / n, and (1 - c) / n in the AUGRC."""
    n = 100_000
    v = np.linspace(1, 0, n)
    for c in (0.001, 0.1, 0.5, 0.9):
        y = np.ones(n, dtype=int)
        y[int(c * n)] = 0
        area, _, joint = n * np.array(list_areas(y, v))
        assert area == pytest.approx(-np.log(c), rel=1e-2)
        assert joint == pytest.approx(1 - c, rel=1e-4)
    # One error is more confident, another one less: the AURC rises, and the AUGRC falls.
    before, after = ([1, 0, 1, 1, 1, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1, 1, 0, 1, 1])
    one, other = (list_areas(labels, np.linspace(1, 0, 10)) for labels in (before, after))
    assert one[0] < other[0]
    assert one[2] > other[2]


def find_lines(curve):
    """The area that torch-uncertainty calls AURC: below lines from the first point on."""
    n = len(curve.risk)
    return np.trapezoid(curve.risk, curve.coverage) / (1 - 1 / n)


def test_values_of_torch_uncertainty():
    """Its documentation, and its tests (tests/metrics/classification/test_risk_coverage.py)."""
    proba = [[0.7, 0.3], [0.6, 0.4], [0.8, 0.2]]
    curve = risk_coverage_curve([0, 1, 0], proba, reduction="confidence")
    assert find_lines(curve) == pytest.approx(0.0833, abs=5e-5)
    # Their tie is of two right answers, which may as well be apart.
    v, y = [0.1, 0.2, 0.3, 0.4, 0.19], [0, 0, 1, 1, 0]
    curve = risk_coverage_curve(y, v, reduction="confidence")
    value = (0 * 0.4 + 0.25 * 0.2 / 2 + 0.25 * 0.2 + 0.15 * 0.2 / 2) / 0.8
    assert find_lines(curve) == pytest.approx(value, rel=1e-12)
    proba = np.transpose([1 - np.array(v), v])
    again = risk_coverage_curve(y, proba, reduction="confidence")
    np.testing.assert_array_equal(again.risk, curve.risk)
    for labels, expected in (([1] * 5, 1), ([0] * 5, 0)):
        curve = risk_coverage_curve(labels, v, reduction="confidence")
        assert find_lines(curve) == pytest.approx(expected)


def test_values_of_fd_shifts():
    """fd_shifts/tests/analysis/test_metrics.py, "unnormalized_confid": lines, in thousandths."""
    v = np.arange(100) / 100
    for right, expected in (
        (np.ones(100, dtype=int), 0),
        (np.arange(100) % 2, 482.81112575762546),
        (np.zeros(100, dtype=int), 990),
    ):
        curve = risk_coverage_curve(right, v, labels=[0, 1])
        found = 1000 * np.trapezoid(curve.risk, curve.coverage)
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [100, 10_000])
def test_averages_of_the_points_depend_on_the_number_of_rows(n):
    """If the most confident row alone is wrong: the n-th harmonic number against 1 + log(n)."""
    v, y = np.linspace(1, 0.5, n), np.append(0, np.ones(n - 1, dtype=int))
    mean = risk_coverage_curve(y, v).risk.mean()
    assert mean == pytest.approx(sum(1 / k for k in range(1, n + 1)) / n, rel=1e-12)
    area = area_under_risk_coverage_curve(y, v)
    assert area == pytest.approx((1 + np.log(n)) / n, rel=1e-12)


def test_soft_labels():
    v, soft = np.array([0.9, 0.4, 0.2]), np.array([0.8, 0.5, 0.1])
    np.testing.assert_allclose(list_areas(soft, v), list_areas(soft, v, risk=1 - soft))
    errors = [1 - 0.8, 0.5, 0.1]
    confident = risk_coverage_curve(soft, v, reduction="confidence")
    np.testing.assert_allclose(confident.thresholds, [0.9, 0.8, 0.6])
    np.testing.assert_allclose(confident.risk, np.cumsum([0.2, 0.1, 0.5]) / [1, 2, 3])
    again = list_areas(soft, v, reduction="confidence", risk=errors)
    np.testing.assert_allclose(list_areas(soft, v, reduction="confidence"), again)


def test_reductions_and_labels():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 1], 60)
    names = np.array(["a", "b", "c"])
    y = names[rng.integers(3, size=60)]
    right = (y == names[proba.argmax(axis=1)]).astype(int)
    assert list_areas(y, proba) == list_areas(right, proba.max(axis=1))
    assert list_areas(y, proba, pos_label="b") == list_areas((y == "b").astype(int), proba[:, 1])
    two = np.where(proba[:, 0] > 0.4, "yes", "no")
    by_label = risk_coverage_curve(two, proba[:, 0], pos_label="yes")
    np.testing.assert_array_equal(by_label, risk_coverage_curve(two == "yes", proba[:, 0]))


def test_single_rows_and_classes():
    for label in (0, 1):
        curve = risk_coverage_curve([label], [0.3])
        assert [part.tolist() for part in curve] == [[0.3], [1.0], [1.0 - label]]
        found = list_areas([label] * 3, [0.3, 0.0, 1.0])
        assert found == [1 - label, 0, (1 - label) / 2]
    weighted = risk_coverage_curve([0, 1, 1], [0.9, 0.8, 0.8], sample_weight=[0, 1, 3])
    assert [part.tolist() for part in weighted] == [[0.8], [1.0], [0.0]]


def test_thresholds_accept_rows_that_agree_to_rounding():
    v = np.array([0.1 + 0.2, 0.3, 0.9])
    curve = risk_coverage_curve([0, 1, 1], v)
    assert curve.thresholds.tolist() == [0.9, 0.3]
    assert (v >= curve.thresholds[1]).all()


def test_weights_of_any_size():
    """A row of almost no weight is no row, wherever it is."""
    expected = list_areas([0, 1, 1, 0], [0.9, 0.8, 0.7, 0.1])
    for light in (1e-300, 5e-324):
        for place in (1.0, 0.75, 0.0):
            found = list_areas(
                [0, 1, 1, 0, 0], [0.9, 0.8, 0.7, 0.1, place], sample_weight=[1, 1, 1, 1, light]
            )
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@every_kind
def test_scorers_take_the_confidence(kind):
    """Of both labels, unless something else is asked for."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.array(["no", "yes"])[rng.integers(2, size=90)]
    model = GaussianNB().fit(X, y)
    proba = model.predict_proba(X)
    name = "area_under_risk_coverage_curve"
    options = {"kind": kind, "labels": model.classes_}
    expected = area_under_risk_coverage_curve(y, proba, reduction="confidence", **options)
    for scorer in (get_scorer(f"neg_{name}", kind=kind), make_calibration_scorer(name, kind=kind)):
        assert scorer(model, X, y) == -expected
    scorer = make_calibration_scorer(name, kind=kind, reduction="auto")
    assert scorer(model, X, y) == -area_under_risk_coverage_curve(y, proba, **options)
    assert scorer(model, X, y) != -expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"risk": "miss"}, "risk must be 'error' or an array of losses; got 'miss'"),
        ({"risk": None}, "risk must be 'error' or an array of losses; got None"),
        ({"risk": [0.1]}, r"risk must have shape \(4,\)"),
        ({"risk": [0, 1, 2, 0]}, r"risk must lie in \[0, 1\]; got 2.0 at row 2"),
        ({"reduction": "classwise"}, "reduction must give one binary problem"),
        ({"y_true": [0, 1]}, "must have the same length"),
        ({"sample_weight": [0, 0, 0, 0]}, "at least one positive weight"),
    ],
)
def test_what_is_refused(options, message):
    rows = {"y_true": [0, 1, 1, 0], "y_proba": [0.1, 0.2, 0.3, 0.4]}
    for function in (risk_coverage_curve, area_under_risk_coverage_curve):
        with pytest.raises(ValueError, match=message):
            function(**(rows | options))
