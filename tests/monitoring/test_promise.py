"""Monitors of a promise: which rows count, that the game is fair, alarms, and what is refused."""

import pickle
from copy import copy
from itertools import product

import numpy as np
import pandas as pd
import pytest

from skcal.inference import certified_threshold
from skcal.monitoring import CalibrationMonitor, GroupedMonitor, monitor_batches
from tests.cases import slow_among
from tests.damage import MISSING, change
from tests.monitoring.streams import feed
from tests.streaming.calls import pass_through_json

PROMISE = {"threshold": 0.8, "at_most": 0.2, "side": "above"}
CONTRACT = {"threshold": 0.9, "at_most": 0.05, "side": "above"}


def watch(promise=PROMISE, **settings):
    return CalibrationMonitor(promise=promise, **settings)


def draw_errors(rng, *parts):
    """Labels and accepted confidences of parts: numbers of rows, and how often they are wrong."""
    is_wrong = np.concatenate([rng.random(n) < rate for n, rate in parts])
    return (~is_wrong).astype(int), rng.uniform(0.9, 1, len(is_wrong))


# ---------------------------------------------------------------------------------- a fair game


def list_outcomes(n_rows, find_rate):
    """All sequences of errors, and their probabilities; rates may depend on earlier rows."""
    errors = np.array(list(product([0, 1], repeat=n_rows)))
    rates = np.array([[find_rate(row[:t]) for t in range(n_rows)] for row in errors])
    return errors, np.where(errors, rates, 1 - rates).prod(axis=1)


# Rates of at most .2 given the earlier errors.
RATES = {
    "edge": lambda past: 0.2,
    "fewer": lambda past: 0.05,
    "none": lambda past: 0.0,
    "follows errors": lambda past: 0.2 if past.sum() % 2 else 0.1,
    "after an error": lambda past: 0.2 * (len(past) > 0 and past[-1] == 1),
    "adversary": lambda past: 0.2 if past.sum() >= 0.2 * len(past) else 0.0,
}


@pytest.mark.parametrize("rate", slow_among(RATES, "fewer", "none", "after an error"))
@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"tolerance": 0.3}, marks=pytest.mark.slow),
        pytest.param({"memories": (2, None)}, marks=pytest.mark.slow),
    ],
)
def test_expected_evidence_is_1_at_most(rate, settings):
    """At any allowed rate, after every row; 1 at the bound, where every bet is fair."""
    errors, mass = list_outcomes(8, RATES[rate])
    monitors = [watch(run_length=10**15, **settings).update(1 - row, [0.9] * 8) for row in errors]
    courses = np.exp([monitor.history_[["log_e_value", "log_detector"]] for monitor in monitors])
    evidence, detector = np.tensordot(mass, courses, axes=1).T
    assert (evidence <= 1 + 1e-12).all()
    assert (detector <= np.arange(1, 9) + 1e-9).all()
    wealth = np.exp([monitor.experts_["log_wealth"] for monitor in monitors])
    assert (mass @ wealth <= 1 + 1e-12).all()
    if rate == "edge" and "tolerance" not in settings:
        np.testing.assert_allclose(evidence, 1, rtol=1e-12)
        np.testing.assert_allclose(mass @ wealth, 1, rtol=1e-12)


def test_the_tolerance_moves_the_bound():
    """Log odds beyond the promised ones by the tolerance are allowed, and no more."""
    evidence = []
    for tau in (0.3, 0.31):
        rate = 0.25 * np.exp(tau) / (1 + 0.25 * np.exp(tau))
        errors, mass = list_outcomes(8, lambda past, rate=rate: rate)
        monitors = [watch(tolerance=0.3).update(1 - row, [0.9] * 8) for row in errors]
        evidence.append(mass @ [monitor.e_value_ for monitor in monitors])
    assert evidence[0] == pytest.approx(1, rel=1e-12)
    assert evidence[1] > 1.0001


def test_rows_near_the_threshold_may_be_wrong_more_often():
    """What counts is the mean over accepted rows, however the errors depend on the predictions."""
    # Prediction, how often it comes, and how often it is wrong: accepted rows .2 on average.
    kinds = [(0.95, 0.4, 0.1), (0.8, 0.2, 0.4), (0.3, 0.4, 0.9)]
    cases = [(v, 1 - wrong, p * (r if wrong else 1 - r)) for v, p, r in kinds for wrong in (0, 1)]
    total = 0.0
    for rows in product(cases, repeat=4):
        v, y, mass = np.array(rows).T
        total += mass.prod() * watch().update(y, v).e_value_
    assert total == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("batch", ["whole", "dependent"])
def test_batches_may_be_sorted(batch):
    """The mean over a batch has to be kept; rows one after the other need it of each."""
    rates = np.array([0, 0, 0, 0.4, 0.4, 0.4])
    errors, mass = list_outcomes(6, lambda past: rates[len(past)])
    errors, mass = errors[mass > 0], mass[mass > 0]
    means = {batch: 0.0, "rows": 0.0}
    for one, two in product(range(len(mass)), repeat=2):
        for kind in means:
            monitor = watch(batch=kind)
            for k in (one, two):
                monitor.update(1 - errors[k], [0.95, 0.94, 0.93, 0.82, 0.81, 0.8])
            means[kind] += mass[one] * mass[two] * monitor.e_value_
    assert means[batch] <= 1 + 1e-12
    assert means["rows"] > 1.001


def test_wealth_is_the_likelihood_ratio_beyond_the_bound():
    """Computed row by row: of the rate that a penalized Newton step finds, and the promised one."""
    rng, a = np.random.default_rng(4), 0.2
    wrong = (rng.random(400) < np.where(np.arange(400) < 200, 0.1, 0.4)).astype(float)
    for memory in (None, 30):
        left, total, weight, log_wealth = np.exp(-1 / memory) if memory else 1.0, 0.0, 0.0, 0.0
        for y in wrong:
            q = a + max(total / (weight + 2.5), 0) * a * (1 - a)
            log_wealth += np.log(q / a if y else (1 - q) / (1 - a))
            total, weight = left * total + y - a, left * weight + a * (1 - a)
        monitor = watch(memories=(memory,)).update(1 - wrong, np.full(400, 0.9))
        assert log_wealth > 0.1
        np.testing.assert_allclose(monitor.experts_["log_wealth"], log_wealth, rtol=1e-9)
        assert monitor.experts_["expert"].tolist() == ["shift"]


def test_fewer_errors_than_promised_are_no_evidence(rng):
    """An expert that has seen fewer at every row has never bet."""
    for wrong in (np.zeros(5000), np.tile([0, 0, 0, 0, 0, 1], 800)):
        monitor = watch(memories=(None,), run_length=10).update(1 - wrong, np.full(len(wrong), 0.9))
        assert (monitor.experts_["log_wealth"] == 0).all()
        assert monitor.log_e_value_ == pytest.approx(0, abs=1e-12)
        assert monitor.alarm_ is None
    for seed in range(20):
        y, v = draw_errors(np.random.default_rng(seed), (5000, 0.02))
        assert watch(CONTRACT).update(y, v).alarm_ is None


def test_twice_as_many_errors_raise_an_alarm(rng):
    monitors = [watch(CONTRACT).update(*draw_errors(rng, (3000, 0.1))) for _ in range(30)]
    assert all(monitor.alarm_ is not None for monitor in monitors)
    changes = [
        watch(CONTRACT, run_length=10**5).update(*draw_errors(rng, (3000, 0.03), (3000, 0.1)))
        for _ in range(30)
    ]
    assert all(monitor.alarm_ > 3000 for monitor in changes)
    assert all(monitor.change_alarms_["row"].min() > 3000 for monitor in changes)
    points = np.array([monitor.change_point_ for monitor in changes]) - 3000
    assert points.min() > -100  # not at the start, as no bets were made until then
    assert np.median(points) < 500


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"lag": 5}, {"batch": "whole"}, {"tolerance": 0.2}])
def test_false_alarms_are_few(rng, settings):
    """Ville, at the bound."""
    odds, pvalues = 0.05 / 0.95 * np.exp(settings.get("tolerance", 0)), []
    for _ in range(400):
        y, v = draw_errors(rng, (5000, odds / (1 + odds)))
        pvalues.append(feed(watch(CONTRACT, **settings), y, v, range(100, 5000, 100)).pvalue_)
    for alpha in (0.01, 0.05, 0.2, 0.5):
        share = np.mean(np.array(pvalues) <= alpha)
        assert share <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / 400)


# ----------------------------------------------------------------------------- accepted rows


def certify(y, v, **options):
    found = certified_threshold(y, v, at_most=0.2, **options)
    assert found.feasible
    return found


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("side", ["above", "below"])
def test_what_was_certified_is_accepted(rng, dtype, n_columns, side):
    """In the type of the predictions, the threshold included."""
    v = rng.beta(0.3, 0.3, (3000, 1)).round(3).astype(dtype)
    y = (rng.random(3000) < v[:, 0]).astype(int)
    proba = np.hstack([1 - v, v])[:, -n_columns:]
    found = certify(y, proba, side=side)
    monitor = watch(found).update(y, proba)
    assert monitor.n_samples_ == found.n_accepted < 3000
    (rate,) = monitor.to_frame()["mean_outcome"]
    assert rate == pytest.approx(found.risk, rel=1e-12)
    assert watch(found).update([1], [found.threshold]).n_samples_ == 1
    away = np.nextafter(dtype(found.threshold), dtype(0 if side == "above" else 1))
    assert watch(found).update([1], np.array([away])).n_samples_ == 0


def test_a_threshold_by_hand_is_rounded_to_the_type_of_predictions():
    for dtype in (np.float16, np.float32, np.float64, np.longdouble):
        for side in ("above", "below"):
            given = watch({"threshold": 0.9, "at_most": 0.05, "side": side})
            assert given.update([1], np.array([0.9], dtype=dtype)).n_samples_ == 1


def test_classes(rng):
    proba = rng.dirichlet([0.2, 0.2, 0.2], 3000).astype(np.float32)
    target = (rng.random((3000, 1)) > proba.cumsum(axis=1)[:, :2]).sum(axis=1)
    names = np.array(["a", "b", "c"])
    for settings, wrong in (
        ({}, proba.argmax(axis=1) != target),
        ({"reduction": "confidence"}, proba.argmax(axis=1) != target),
        ({"pos_label": "b"}, target != 1),
        ({"pos_label": "b", "side": "below"}, target == 1),
    ):
        found = certify(names[target], proba, labels=names, **settings)
        settings.pop("side", None)
        monitor = watch(found, labels=names, **settings).update(names[target], proba)
        score = proba[:, 1] if "pos_label" in settings else proba.max(axis=1)
        kept = score <= found.threshold if found.side == "below" else score >= found.threshold
        assert monitor.n_samples_ == found.n_accepted == kept.sum()
        expected = watch().update(1 - wrong[kept], np.ones(kept.sum()))
        assert monitor.log_e_value_ == pytest.approx(expected.log_e_value_, rel=1e-12)


def test_labels_without_a_name_and_with_one(rng):
    y, v = draw_errors(rng, (300, 0.3))
    expected = watch().update(y, v)
    for settings, labels in (
        ({}, 2 * y - 1),
        ({}, y == 1),
        ({"pos_label": "yes"}, np.array(["no", "yes"])[y]),
        ({"labels": ["yes", "no"], "pos_label": "yes"}, np.array(["no", "yes"])[y]),
    ):
        assert watch(**settings).update(labels, v).log_e_value_ == expected.log_e_value_


MODES = [{}, {"run_length": 50}, {"lag": 3}, {"batch": "whole"}, {"batch": "dependent"}]


@pytest.mark.parametrize("settings", MODES)
@pytest.mark.parametrize("timed", [True, False])
def test_rows_that_are_not_accepted_change_nothing(rng, settings, timed):
    """Nor do whole parts of them; times go on."""
    v = rng.random(400).round(2)
    v[100:150] = 0.5
    y, kept = rng.integers(0, 2, 400), v >= 0.8
    time = pd.date_range("2026-01-01", periods=400, freq="h").to_numpy() if timed else None
    cuts = np.array([3, 90, 100, 120, 150, 151, 300])
    monitor = feed(watch(**settings), y, v, cuts, time)
    ends = np.searchsorted(np.flatnonzero(kept), cuts)
    if "batch" in settings:  # a batch without rows is none
        ends = np.unique(ends)
    alone = feed(watch(**settings), y[kept], v[kept], ends, None if time is None else time[kept])
    assert monitor == alone
    assert monitor.n_samples_ == kept.sum()
    assert monitor.describe() == alone.describe()
    assert pass_through_json(monitor) == pickle.loads(pickle.dumps(monitor)) == copy(monitor)
    if timed:
        assert monitor.history_["time"].iloc[-1] == time[np.flatnonzero(kept)[-1]]
        with pytest.raises(ValueError, match="time must not go back"):
            monitor.update([0, 0], [0.1, 0.1], time=time[[1, 0]])


def test_no_accepted_rows():
    monitor = watch().update([0], [0.1], time=3)
    assert monitor == watch().update([0], [0.2])
    assert monitor.describe() == "No accepted rows yet."
    assert monitor.to_frame().empty
    assert monitor.merge(watch()).n_samples_ == 0
    # Their labels still say which ones there are, as in one part.
    assert watch().update([-1], [0.1]).update([1], [0.9]) == watch().update([-1, 1], [0.1, 0.9])
    with pytest.raises(ValueError, match="got both 0 and -1"):
        watch().update([-1], [0.1]).update([0], [0.9])
    with pytest.raises(ValueError, match="got both 0 and -1"):
        pass_through_json(watch().update([-1], [0.1])).update([0], [0.1])
    with pytest.raises(ValueError, match="got both 0 and -1"):
        watch().update([-1], [0.1]).merge(watch().update([0], [0.9]))


def test_parts_do_not_matter(rng):
    y, v = draw_errors(rng, (1500, 0.03), (1500, 0.2))
    v[rng.random(3000) < 0.5] -= 0.5
    whole = feed(watch(CONTRACT, run_length=1000), y, v)
    assert whole.alarm_ is not None
    for cuts in (range(1, 700), np.sort(rng.integers(0, 3000, 30))):
        assert feed(watch(CONTRACT, run_length=1000), y, v, cuts) == whole


def test_merged_groups_and_batches(rng):
    y, v = draw_errors(rng, (600, 0.3))
    parts = [watch(CONTRACT).update(y[k::2], v[k::2]) for k in (0, 1)]
    merged = parts[0].merge(parts[1], independent=True)
    assert merged.log_e_value_ == pytest.approx(sum(one.log_e_value_ for one in parts), rel=1e-12)
    assert merged.n_samples_ == 600
    assert merged.alarm_ == 600
    assert " the promise is broken: " in merged.describe()
    with pytest.raises(ValueError, match=r"promise is .* in one and None in another"):
        parts[0].merge(CalibrationMonitor())
    by = np.arange(600) % 2
    groups = GroupedMonitor(promise=CONTRACT).update(y, v, by=by)
    assert [groups[key] for key in (0, 1)] == parts
    assert set(groups.rejected()) == {0, 1}
    assert pass_through_json(groups) == groups
    table = pd.DataFrame({"y": y, "p": v, "key": by})
    names = {"y_true": "y", "y_proba": "p"}
    assert monitor_batches([table], **names, promise=CONTRACT) == watch(CONTRACT).update(y, v)
    assert monitor_batches([table], **names, by="key", promise=CONTRACT) == groups


def test_monitors_of_earlier_versions_are_read(rng):
    """Their settings do not name a promise; damaged ones are refused."""
    monitor = CalibrationMonitor().update(*draw_errors(rng, (300, 0.1)))
    old = change(monitor.to_dict(), ("settings", "promise"), MISSING)
    assert CalibrationMonitor.from_dict(old) == monitor
    data = watch().update(*draw_errors(rng, (300, 0.1))).to_dict()
    assert data["settings"]["promise"] == PROMISE
    for path, value, message in (
        (("settings", "promise"), MISSING, "must be numbers of shape"),
        (("settings", "promise"), [0.8, 0.2], "promise must be what"),
        (("settings", "promise", "at_most"), 1, "at_most of promise must be above 0"),
        (("settings", "promise", "threshold"), MISSING, "promise must have threshold"),
    ):
        with pytest.raises(ValueError, match=message):
            CalibrationMonitor.from_dict(change(data, path, value))


# ---------------------------------------------------------------------------------------- words


def test_sentences(rng):
    y, v = draw_errors(rng, (2000, 0.04), (2000, 0.15))
    monitor = watch(CONTRACT).update(y[:2000], v[:2000])
    rate = 100 * (1 - y[:2000].mean())
    assert monitor.describe() == (
        f"No alarm in 2,000 accepted rows, {rate:.1f} % of them wrong where at most 5.0 % "
        f"were promised: the evidence against the promise is {monitor.e_value_:.2g} now, and 20 "
        f"would be an alarm (p = {monitor.pvalue_:.2f})."
    )
    text, since = monitor.update(y[2000:], v[2000:]).describe(), monitor.change_point_
    rate = 100 * (1 - y[since:].mean())
    assert text.startswith(
        f"Alarm at accepted row {monitor.alarm_:,}: the evidence against the promise reached 20. "
        "After 4,000 accepted rows the evidence is 10^"
    )
    assert text.endswith(
        f"Since about row {since:,} the promise is broken: {rate:.1f} % of the accepted rows were "
        f"wrong where at most 5.0 % were promised ({4000 - since:,} rows)."
    )
    table = monitor.to_frame().set_index("period")
    assert table["n_samples"].to_dict() == {"before": since, "after": 4000 - since}
    assert table.loc["after", "mean_outcome"] == pytest.approx(rate / 100, rel=1e-12)
    np.testing.assert_allclose(table["mean_prediction"], 0.05, rtol=1e-12)
    assert (table[["low", "high"]] == [0, 1]).all(axis=None)


def test_sentences_about_a_promise_that_is_kept_again(rng):
    monitor = watch(CONTRACT).update(*draw_errors(rng, (1000, 0.03), (2000, 0.15), (9000, 0.03)))
    text = monitor.describe()
    assert "From about row 1," in text
    assert " the promise was broken: 1" in text
    assert text.endswith(" Since then nothing clear is wrong.")
    assert set(monitor.to_frame()["period"]) == {"before", "during", "after"}


def test_sentences_with_a_lag_and_one_row(rng):
    text = watch(CONTRACT, lag=3).update(*draw_errors(rng, (3000, 0.2))).describe()
    assert "the p-value of the promise fell to 0.05" in text
    assert "rows, one in 3)." in text
    text = watch(lag=3).update([1, 0, 1, 1], [0.9] * 4).describe()
    assert text.startswith("No alarm in 4 accepted rows, 25.0 % of them wrong where")
    assert (
        watch()
        .update([0], [0.8])
        .describe()
        .startswith("No alarm in 1 accepted row, 100.0 % of them wrong where at most 20.0 % were")
    )


# ------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize("kind", [CalibrationMonitor, GroupedMonitor])
@pytest.mark.parametrize(
    ("promise", "message"),
    [
        ("x", "must be what certified_threshold returned, or a dict .* got 'x'"),
        (0.9, "must be what certified_threshold returned"),
        ((0.9, 0.05), "must be what certified_threshold returned"),
        (True, "must be what certified_threshold returned"),
        ({}, "threshold and at_most, and may have side; got nothing"),
        ({"threshold": 0.9}, "threshold and at_most, and may have side; got 'threshold'"),
        ({"at_most": 0.9}, "threshold and at_most"),
        (CONTRACT | {"sides": "above"}, "got .*'sides'.* Did you mean 'side'"),
        (CONTRACT | {1: 2}, "threshold and at_most"),
        (CONTRACT | {"threshold": 1.2}, r"threshold of promise must lie in \[0, 1\]; got 1.2"),
        (CONTRACT | {"threshold": np.nan}, "threshold of promise must be a number; got nan"),
        (CONTRACT | {"threshold": "x"}, "threshold of promise must be a number"),
        (CONTRACT | {"threshold": [0.9]}, "threshold of promise must be a number"),
        (CONTRACT | {"threshold": np.inf}, "promise must be feasible, .* got a threshold of inf"),
        (CONTRACT | {"at_most": 0}, "at_most of promise must be above 0 and below 1; got 0"),
        (CONTRACT | {"at_most": 5}, "at_most of promise must be above 0 and below 1; got 5"),
        (CONTRACT | {"at_most": None}, "at_most of promise must be a number"),
        (CONTRACT | {"side": "both"}, "side of promise must be one of 'above', 'below'; got 'bo"),
        (CONTRACT | {"side": None}, "side of promise must be one of"),
        ({"above": CONTRACT, "below": CONTRACT}, "make one monitor for each.*'above', 'below'"),
    ],
)
def test_bad_promises(kind, promise, message):
    with pytest.raises(ValueError, match=message):
        kind(promise=promise)


def test_promises_that_cannot_be_watched(rng):
    y, v = draw_errors(rng, (500, 0.01))
    cost = certified_threshold(y, v, risk=(1 - y) * 0.5)
    both = certified_threshold(y, v, at_most=0.5, side="both")
    groups = certified_threshold(y, v, groups=np.arange(500) % 2)
    for promise, message in (
        (cost, "promise must be one of the error rate of .* got one of kind 'loss'"),
        (cost._asdict(), "got one of kind 'loss'"),
        (certified_threshold(y, v, at_most=0.5, risk="miss"), "got one of kind 'miss'"),
        (
            certified_threshold(y, v, at_most=0.5, risk=["error", "miss"]),
            "make one monitor for each, .* those of 'error', 'miss'",
        ),
        (certified_threshold(y, v, at_most=1e-4), "promise must be feasible.* of inf"),
        (certified_threshold(y, v, at_most=1e-4, side="below"), "promise must be feasible.* -inf"),
        (both, "make one monitor for each, .* those of 'above', 'below'"),
        (groups, "make one monitor for each, .* those of 0, 1"),
    ):
        with pytest.raises(ValueError, match=message):
            watch(promise)
    assert watch(groups.parts[0]._asdict()) == watch(groups.parts[0])
    below = CONTRACT | {"side": "below"}
    for promise, settings, message in (
        (CONTRACT, {"reduction": "classwise"}, "reduction must be 'auto' or 'confidence' with a p"),
        (below, {"reduction": "confidence"}, "side of promise must be 'above' for a confidence"),
        (below, {"labels": [0, 1, 2]}, "side of promise must be 'above' for a confidence"),
    ):
        with pytest.raises(ValueError, match=message):
            watch(promise, **settings)
    assert watch(below, labels=[0, 1, 2], pos_label=1).promise == below
    assert watch({"threshold": 0, "at_most": 0.3}).promise["side"] == "above"


def test_the_promise_of_the_user_is_copied():
    mine = dict(CONTRACT)
    monitor = watch(mine)
    mine["at_most"] = 0.5
    monitor.to_dict()["settings"]["promise"]["at_most"] = 0.6
    assert monitor.promise == CONTRACT
    assert repr(monitor) == f"CalibrationMonitor(promise={CONTRACT!r}, n_samples=0, alarm=None)"
