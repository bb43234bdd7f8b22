"""Audits of groups from summaries: what audits of the rows give, and what may not be."""

import numpy as np
import pandas as pd
import pytest

from skcal.inference import audit_groups, audit_groups_from_summary
from skcal.streaming import GroupedSummary
from tests.inference.samples import draw_binary
from tests.inference.test_group_audit import FEW, assert_alike, every_statistic


def summarize_groups(y, v, table, n_batches=4, **settings):
    """Summary of batches, some of them merged, by all columns of a table."""
    parts = [GroupedSummary(n_cells=64, **settings) for _ in range(2)]
    for k, rows in enumerate(np.array_split(np.arange(len(y)), n_batches)):
        parts[k % 2].update(y[rows], v[rows], by=table.iloc[rows])
    return parts[0].merge(parts[1])


@every_statistic
@pytest.mark.parametrize("adjust", ["min-p", "holm"])
def test_summaries_of_batches_have_the_audit_of_their_rows(rng, statistic, adjust):
    """Predictions alone in their cells: the laws of the draws are the same, too."""
    y, v = draw_binary(rng, 900, digits=1)
    v[:5], y[:5] = [0, 0, 1, 1, 1], [0, 0, 1, 1, 1]
    regions, ages = rng.choice(["e", "n", "s", "w"], size=900), rng.integers(2, 5, 900)
    table = pd.DataFrame({"region": regions, "age": ages})
    y[table["region"] == "n"] |= rng.random(np.sum(table["region"] == "n")) < 0.3
    options = {"statistic": statistic, "adjust": adjust, "n_resamples": 2000, "random_state": 0}
    expected = audit_groups(y, v, table, min_samples=60, **options)
    summary = summarize_groups(y, v, table)
    found = audit_groups_from_summary(
        summary, key_names=["region", "age"], min_samples=60, **options
    )
    assert_alike(found, expected)
    pvalues = [audit.to_frame().set_index("group").sort_index() for audit in (found, expected)]
    # Those of Holm are up to 20 times as far apart as the p-values that they multiply.
    for column in ("pvalue", "adjusted_pvalue")[: 2 if adjust == "min-p" else 1]:
        np.testing.assert_allclose(*(own[column] for own in pvalues), atol=0.05)
    assert "region = n" in found.find()
    assert (found.statistic, found.adjust) == (statistic, adjust)


def test_keys_of_one_part_and_impossible_outcomes(rng):
    y, v = np.tile([0, 1], 50), np.repeat([0.25, 0.75], 50)
    v[0], y[0] = 0.0, 1
    summary = GroupedSummary().update(y, v, by=np.repeat([3, 7], 50))
    audit = audit_groups_from_summary(summary, min_samples=10, **FEW)
    assert sorted(audit.names) == ["all rows", "key = 3", "key = 7"]
    table = audit.to_frame().set_index("group")
    assert np.isinf(table["statistic"][["all rows", "key = 3"]]).all()
    assert np.isfinite(table.loc["key = 7", "statistic"])
    assert table["n_samples"].to_dict() == {"all rows": 100, "key = 3": 50, "key = 7": 50}
    certain = GroupedSummary().update([0, 1], [0.0, 1.0], by=["a", "b"])
    audit = audit_groups_from_summary(certain, min_samples=1, **FEW)
    assert audit.pvalue == 1
    assert (audit.statistics == 0).all()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"summary": [1]}, TypeError, "summary must be a GroupedSummary; got list"),
        ({"summary": GroupedSummary()}, ValueError, "summary must hold rows; got an empty"),
        ({"key_names": ["a", "b"]}, ValueError, r"key_names must name the 1 parts .*\['a', 'b'\]"),
        ({"key_names": "region"}, ValueError, "key_names must"),
        ({"min_samples": 101}, ValueError, "min_samples must be at most .* got 101 for 100 rows"),
        ({"max_groups": 1}, ValueError, "max_groups must be at least the number of groups; got 1"),
        ({"max_depth": 0}, ValueError, "max_depth must be at least 1"),
        ({"adjust": "holm"}, ValueError, "n_resamples must be at least 59"),
        ({"statistic": "ece"}, ValueError, "statistic must be one of"),
    ],
)
def test_summaries_that_are_refused(change, error, message):
    rows = np.tile([0, 1], 50), np.linspace(0.1, 0.9, 100)
    summary = GroupedSummary(n_cells=64).update(*rows, by=np.repeat(["a", "b"], 50))
    with pytest.raises(error, match=message):
        audit_groups_from_summary(**{"summary": summary, "min_samples": 1, **FEW} | change)


@pytest.mark.parametrize(
    ("settings", "weights", "message"),
    [
        ({}, [2, 1, 1, 1], "summary must hold labels without weights"),
        ({"reduction": "classwise"}, None, "summary must hold one binary problem"),
    ],
)
def test_summaries_without_independent_rows(settings, weights, message):
    summary = GroupedSummary(n_cells=64, **settings)
    summary.update([0, 1, 1, 0], [0.2, 0.3, 0.6, 0.5], weights, by=[0, 0, 1, 1])
    with pytest.raises(ValueError, match=message):
        audit_groups_from_summary(summary, min_samples=1)


def test_groups_without_weight_are_left_out(rng):
    y, v = draw_binary(rng, 200)
    summary = GroupedSummary().update(y, v, by=np.arange(200) % 2)
    more = GroupedSummary().update(y, v, by=np.arange(200) % 2)
    more.update(y[:3], v[:3], by=[7, 7, 7], sample_weight=[0, 0, 0])
    found = audit_groups_from_summary(more, **FEW)
    assert 7 not in found.names
    assert found.pvalue == audit_groups_from_summary(summary, **FEW).pvalue
