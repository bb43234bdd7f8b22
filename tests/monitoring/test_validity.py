"""What monitors promise: fair games by enumeration, few false alarms, and that they find shifts."""

from copy import copy
from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logit

from skcal.monitoring import CalibrationMonitor
from tests.cases import slow_among
from tests.monitoring.streams import CALIBRATED, draw_rows, feed

PREDICTIONS = np.array([0.3, 1e-9, 0.5, 0.97, 0.5, 1 - 1e-9, 0.3, 0.02, 0.97, 0.6])
HUGE = 10**15  # run lengths that are never reached


def list_sequences(truth):
    """All sequences of labels and their probabilities."""
    labels = np.array(list(product([0, 1], repeat=len(truth))))
    return labels, np.where(labels, truth, 1 - np.asarray(truth)).prod(axis=1)


def expect(mass, logs):
    return np.tensordot(mass, np.exp(logs), axes=1)


def expect_history(mass, monitors):
    """Mean evidence and, where there are any, mean detectors after each row."""
    return expect(mass, np.stack([one.history_.iloc[:, 1:] for one in monitors])).T


def test_every_expert_plays_a_fair_game():
    """Over all sequences its mean wealth is 1 after every row, looked at after each."""
    monitors = [CalibrationMonitor(run_length=HUGE)]
    for t, v in enumerate(PREDICTIONS[:7], start=1):
        monitors = [copy(one).update([label], [v]) for one in monitors for label in (0, 1)]
        mass = list_sequences(PREDICTIONS[:t])[1]
        wealth = expect(mass, [one.experts_["log_wealth"] for one in monitors])
        np.testing.assert_allclose(wealth, np.ones(9), rtol=1e-12)
    expected = np.ones(7), np.arange(1, 8)
    np.testing.assert_allclose(expect_history(mass, monitors), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("cuts", "settings"),
    [
        ([], {"run_length": HUGE}),
        pytest.param(
            [1, 5, 6], {"run_length": HUGE, "memories": (2,), "n_bins": 2}, marks=pytest.mark.slow
        ),
        pytest.param([4, 6], {"lag": 3, "memories": (None, 1)}, marks=pytest.mark.slow),
        pytest.param([], {"reduction": "classwise", "run_length": HUGE}, marks=pytest.mark.slow),
    ],
)
def test_mean_evidence_is_1_and_mean_detectors_count_the_rows(cuts, settings):
    labels, mass = list_sequences(PREDICTIONS[:7])
    monitors = [feed(CalibrationMonitor(**settings), y, PREDICTIONS[:7], cuts) for y in labels]
    expected = [np.ones(7), np.arange(1, 8)][: 1 + ("run_length" in settings)]
    np.testing.assert_allclose(expect_history(mass, monitors), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "signs",
    [
        pytest.param(1, marks=pytest.mark.slow),
        pytest.param(-1, marks=pytest.mark.slow),
        (1, -1) * 3,
        pytest.param((-1, -1, 1) * 2, marks=pytest.mark.slow),
    ],
)
def test_no_allowed_probabilities_are_worth_a_bet(signs):
    predictions = PREDICTIONS[:6]
    labels, mass = list_sequences(expit(logit(predictions) + 0.4 * np.array(signs)))
    settings = {"tolerance": 0.4, "run_length": HUGE, "memories": (None, 2)}
    monitors = [CalibrationMonitor(**settings).update(y, predictions) for y in labels]
    wealth = expect(mass, [monitor.experts_["log_wealth"] for monitor in monitors])
    assert wealth.max() <= 1 + 1e-12
    most = np.array([np.ones(6), np.arange(1, 7)])
    assert (expect_history(mass, monitors) <= most + 1e-12).all()


@pytest.mark.parametrize(
    "reduction", ["confidence", pytest.param("classwise", marks=pytest.mark.slow)]
)
def test_mean_evidence_of_three_classes_is_1(reduction):
    proba = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1], [0.4, 0.35, 0.25], [0.05, 0.9, 0.05]])
    blank, labels = CalibrationMonitor(labels=[0, 1, 2], reduction=reduction), range(3)
    mass = [proba[range(4), y].prod() for y in product(labels, repeat=4)]
    monitors = [copy(blank).update(y, proba) for y in product(labels, repeat=4)]
    np.testing.assert_allclose(expect_history(mass, monitors), np.ones((1, 4)), rtol=1e-12)


# One uniform number for a batch settles all of its rows, of which some come true together.
DEPENDENT = [
    ([0.3, 0.3, 0.3], [(0.3, [1, 1, 1]), (0.7, [0, 0, 0])]),
    ([0.2, 0.5, 0.9], [(0.2, [1, 1, 1]), (0.3, [0, 1, 1]), (0.4, [0, 0, 1]), (0.1, [0, 0, 0])]),
    ([0.4, 0.6], [(0.4, [1, 0]), (0.6, [0, 1])]),
]


@pytest.mark.parametrize(("predictions", "cases"), DEPENDENT)
def test_rows_of_a_batch_may_depend_on_each_other(predictions, cases):
    """The mean of the evidence is 1 over any joint law with the right margins."""
    means = {"dependent": 0.0, "rows": 0.0}
    for sequence in product(cases, repeat=3):
        mass = np.prod([case[0] for case in sequence])
        for batch in means:
            monitor = CalibrationMonitor(batch=batch)
            for _, labels in sequence:
                monitor.update(labels, predictions)
            means[batch] += mass * monitor.e_value_
    assert means["dependent"] == pytest.approx(1, rel=1e-12)
    assert abs(means["rows"] - 1) > 0.01  # which asks for rows one after the other


@pytest.mark.parametrize("batch", [pytest.param("whole", marks=pytest.mark.slow), "dependent"])
def test_the_order_in_a_batch_does_not_matter(batch):
    predictions = PREDICTIONS[:6]
    labels, mass = list_sequences(predictions)
    blank = CalibrationMonitor(batch=batch, run_length=HUGE)
    monitors = [feed(copy(blank), y, predictions, [3, 5]) for y in labels]
    np.testing.assert_allclose(expect_history(mass, monitors), [[1] * 3, [1, 2, 3]], rtol=1e-12)
    order = [1, 2, 0, 4, 3, 5]
    for y, monitor in zip(labels, monitors, strict=True):
        other = feed(copy(blank), y[order], predictions[order], [3, 5])
        np.testing.assert_allclose(other.history_, monitor.history_, rtol=1e-12, atol=1e-12)


# --------------------------------------------------------------------------------- simulations


def watch(name, n_streams, n_rows, **settings):
    draw, own = CALIBRATED[name]
    streams = zip(*draw(np.random.default_rng(len(name)), n_streams, n_rows), strict=True)
    return [CalibrationMonitor(**own | settings).update(*rows) for rows in streams]


def check_false_alarms(name, n_streams, n_rows):
    """Ville: the share of streams whose evidence ever reaches 1 / alpha is at most alpha."""
    monitors = watch(name, n_streams, n_rows)
    pvalues = np.array([monitor.pvalue_ for monitor in monitors])
    for alpha in (0.01, 0.05, 0.2, 0.5):
        slack = 3 * np.sqrt(alpha * (1 - alpha) / n_streams)
        assert (pvalues <= alpha).mean() <= alpha + slack
    alarms = [monitor.alarm_ is not None for monitor in monitors]
    np.testing.assert_array_equal(alarms, pvalues <= 0.05)


@pytest.mark.parametrize("name", slow_among(CALIBRATED, "classwise", "confidence", "edges", "hard"))
def test_false_alarms_are_few(name):
    check_false_alarms(name, 100, 500)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALIBRATED)
def test_false_alarms_are_few_in_long_streams(name):
    check_false_alarms(name, 400, 10_000)


def test_what_keeps_false_alarms_few():
    """Without the lag, or the tolerance, the same streams raise many."""
    for name, missing in (("weeks", {"lag": 1}), ("too low", {"tolerance": 0.0})):
        assert np.mean([one.alarm_ is not None for one in watch(name, 50, 1000, **missing)]) > 0.3


@pytest.mark.slow
def test_a_shift_is_found_after_many_calm_rows(rng):
    streams = [draw_rows(rng, 10_000, shift=0.3, start=5000) for _ in range(200)]
    alarms = [CalibrationMonitor().update(*rows).alarm_ or np.inf for rows in streams]
    delays = np.array(alarms) - 5000
    assert (np.isfinite(delays) & (delays > 0)).mean() >= 0.95
    assert np.median(delays) < 1500


@pytest.mark.slow
def test_alarms_at_changes_are_far_apart(rng):
    """Of calibrated streams on average at least `run_length` rows."""
    alarms = []
    for _ in range(200):
        monitor = CalibrationMonitor(run_length=300)
        while monitor.change_alarm_ is None:
            monitor.update(*draw_rows(rng, 1000))
        alarms.append(monitor.change_alarm_)
    assert np.mean(alarms) + 3 * np.std(alarms) / np.sqrt(200) >= 300


@pytest.mark.slow
def test_the_detector_is_as_patient_after_an_alarm(rng):
    """Of n rows on average n / `run_length` raise a false one, at most."""
    monitors = [
        CalibrationMonitor(run_length=1000).update(*draw_rows(rng, 30_000)) for _ in range(60)
    ]
    counts = [len(monitor.change_alarms_) for monitor in monitors]
    assert np.mean(counts) <= 30 + 3 * np.std(counts) / np.sqrt(60)
    assert np.mean(counts) > 10
