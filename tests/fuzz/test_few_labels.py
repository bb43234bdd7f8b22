"""Hostile labels, of which some are missing, and verdicts."""

import numpy as np
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from skcal.diagrams import PredictionPoweredReliabilityDisplay
from skcal.inference import (
    choose_rows_to_label,
    prediction_powered_calibration,
    prediction_powered_targets,
    required_labels,
)
from tests.fuzz import strategies as some
from tests.fuzz.hostile import few, hostile
from tests.fuzz.options import options


@st.composite
def judged(draw):
    """Rows of a problem, of which some have no label; verdicts are labels or probabilities."""
    rows = draw(some.problems(max_rows=9))
    rows.pop("reduction")
    labels = list(rows["y_true"])
    kind = draw(st.sampled_from(["labels", "numbers", "numbers", None]))
    if kind == "labels":
        proxy = draw(st.permutations(labels))
    else:
        proxy = draw(some.lists(some.PROBABILITIES, len(labels))) if kind else None
    is_seen = draw(some.lists(st.sampled_from([True, True, False]), len(labels)))
    labels = [label if seen else None for label, seen in zip(labels, is_seen, strict=False)]
    return rows | {"y_true": labels, "proxy": proxy}


@hostile(judged(), options(prediction_powered_targets))
def test_targets(**arguments):
    targets = prediction_powered_targets(**arguments)
    assert np.isfinite(targets).all()
    return targets


@hostile(
    judged(),
    options(prediction_powered_calibration, n_resamples=3, random_state=0),
    clusters=st.sampled_from([None, None, None, list("aabbccdde"), ["a"]]),
    amount=few,
)
def test_calibration(**arguments):
    found = prediction_powered_calibration(**arguments)
    assert 0 <= found.test.pvalue <= 1
    assert 0 <= found.observed.low <= found.observed.estimate <= found.observed.high <= 1
    assert 0 <= found.smooth_ece.low <= found.smooth_ece.estimate <= found.smooth_ece.high
    assert 0 <= found.effective_labels <= len(arguments["y_true"])
    assert "expected" in str(found)
    return found.expected, found.observed, found.smooth_ece, found.effective_labels


@hostile(judged(), options(PredictionPoweredReliabilityDisplay.from_predictions), amount=few)
def test_diagram(**arguments):
    display = PredictionPoweredReliabilityDisplay.from_predictions(**arguments)
    plt.close(display.figure_)
    return display.curve.y_mean, display.effective_labels


@hostile(
    options(choose_rows_to_label, random_state=0),
    y_proba=some.lists(some.PROBABILITIES, 6),
    proxy=st.none() | some.lists(some.PROBABILITIES | some.NO_PROBABILITIES, 6),
    budget=some.mostly([1, 2, 3], [0, 99, 1.5, "x"]),
    groups=st.sampled_from([None, list("aabbbb"), ["a"], [1, np.nan]]),
)
def test_rows_to_label(y_proba, budget, **arguments):
    chosen = choose_rows_to_label(y_proba, budget, **arguments)
    assert len(set(chosen.rows)) == budget
    assert (chosen.sampling_probability > 0).all()
    return chosen.rows, chosen.sampling_probability


@hostile(
    options(required_labels),
    y_proba=some.lists(some.PROBABILITIES, 6),
    width=some.mostly([0.5, 0.1, 3.0], [0, -1, np.nan, "x"]),
)
def test_required_labels(y_proba, **arguments):
    found = required_labels(y_proba, **arguments)
    assert 1 <= found.n_labels <= found.n_rows
    return found.n_labels, found.n_rows, found.width
