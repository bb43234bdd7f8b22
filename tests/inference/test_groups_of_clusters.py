"""The audit of groups of rows in clusters, which may cut clusters."""

import numpy as np
import pytest
from scipy.special import expit

from skcal.diagrams import GroupAuditDisplay
from skcal.inference import audit_groups
from tests.inference.samples import draw_clusters

FEW = {"random_state": 0, "n_resamples": 199}


def list_groups(rng, v):
    """All rows, two overlapping groups of visits, and a region."""
    return np.column_stack([v >= 0, rng.random(len(v)) < 0.6, rng.random(len(v)) < 0.5, v > 0.3])


def read_group(audit, name):
    return {
        key: values[audit.names.index(name)]
        for key, values in audit._asdict().items()
        if isinstance(values, np.ndarray)
    }


def find_effect(residuals, clusters):
    return (np.bincount(clusters, residuals) ** 2).sum() / (residuals**2).sum()


def test_statistics_are_those_of_rows_over_the_design_effect(rng):
    y, v, clusters = draw_clusters(rng, 150, correlation=0.5)
    groups, weights = list_groups(rng, v), rng.uniform(1, 2, len(v))
    for options in ({}, {"sample_weight": weights}):
        own = options.get("sample_weight", np.ones(len(v)))
        for statistic, power in (("mean", 0.5), ("slope", 1.0), ("kuiper", 0.5)):
            plain, found = (
                audit_groups(y, v, groups, statistic=statistic, **options, **kind, **FEW)
                for kind in ({}, {"clusters": clusters})
            )
            for name in range(4):
                inside = groups[:, name]
                effect = find_effect((own * (y - v))[inside], clusters[inside])
                expected = read_group(plain, name)["statistics"] / effect**power
                assert read_group(found, name)["statistics"] == pytest.approx(expected)


def test_one_sign_of_a_cluster_serves_all_groups(rng):
    """p-values of the mean are shares of signs, and those of all groups are of the same signs."""
    y, v, clusters = draw_clusters(rng, 150, correlation=0.5)
    y = np.where(rng.random(len(v)) < 0.06, 1, y)
    groups, n_draws = list_groups(rng, v), 4000
    audit = audit_groups(
        y, v, groups, statistic="mean", clusters=clusters, n_resamples=n_draws, random_state=0
    )
    signs = rng.choice([-1.0, 1.0], size=(n_draws, 150))
    pulls = [np.bincount(clusters, (y - v) * inside, 150) for inside in groups.T]
    scales = []
    for inside in groups.T:
        effect = find_effect((y - v)[inside], clusters[inside])
        scales.append(np.sqrt(effect * (v * (1 - v))[inside].sum()))
    drawn = np.array(
        [np.abs(signs @ pull) / scale for pull, scale in zip(pulls, scales, strict=True)]
    )
    observed = np.array(
        [abs(pull.sum()) / scale for pull, scale in zip(pulls, scales, strict=True)]
    )
    shares = [(own >= one).mean() for own, one in zip(drawn, observed, strict=True)]
    shares.append((drawn.max(axis=0) >= observed.max()).mean())
    found = [read_group(audit, name)["pvalues"] for name in range(4)] + [audit.pvalue]
    # Two shares of 4000 draws each.
    error = np.sqrt(2 * np.array(shares) * (1 - np.array(shares)) / n_draws)
    assert (np.abs(np.array(found) - shares) <= 4 * error + 1 / n_draws).all()


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_intervals_agree_with_tests(alternative, rng):
    y, v, clusters = draw_clusters(rng, 200, correlation=0.5)
    groups = np.column_stack([list_groups(rng, v), v > 0.6, v < 0.5])
    off = np.clip(np.where(groups[:, 4], v - 0.12, np.where(groups[:, 5], v + 0.12, v)), 0.01, 0.99)
    audit = audit_groups(
        y, off, groups, statistic="mean", alternative=alternative, clusters=clusters, **FEW
    )
    holds = (audit.low <= 0) & (audit.high >= 0)
    np.testing.assert_array_equal(holds, audit.adjusted_pvalues > 0.05)
    assert 0 < holds.sum() < len(holds)


def test_a_group_that_is_wrong_is_found(rng):
    y, v, clusters = draw_clusters(rng, 400, correlation=0.3)
    site = np.array(["north", "south", "west"])[clusters % 3]
    off = np.where(site == "south", expit(3 * (v - 0.2)), v)
    for statistic in ("mean", "slope", "kuiper"):
        for adjust in ("min-p", "holm"):
            audit = audit_groups(
                y, off, site, statistic=statistic, adjust=adjust, clusters=clusters, **FEW
            )
            assert audit.find() == ["south"]
    display = GroupAuditDisplay.from_predictions(y, off, site, clusters=clusters, **FEW)
    assert display.audit.find() == ["south"]
    (text,) = (label for label in display.ax_.get_yticklabels() if "south" in label.get_text())
    assert text.get_text() == f"south ({(site == 'south').sum()})"


def test_single_rows_are_tested_where_signs_do_not_hold(rng):
    """Few clusters; and both ways have half of the level."""
    y, v, clusters = draw_clusters(rng, 100, correlation=1.0)
    few = np.where(clusters < 8, "few", "many")
    y = np.where(few == "few", 1, y)
    audit = audit_groups(y, v, few, statistic="mean", clusters=clusters, **FEW)
    few, many = (read_group(audit, name) for name in ("few", "many"))
    # A mean of twenty p-values of 199 draws has more digits than one of them.
    assert 1e-9 < few["pvalues"] * 200 % 1 < 1 - 1e-9
    assert many["pvalues"] * 200 == pytest.approx(round(many["pvalues"] * 200))
    for own in (few, many):
        assert own["adjusted_pvalues"] == pytest.approx(min(2 * own["pvalues"], 1))
    assert many["n_samples"] == 460


def test_impossible_outcomes_need_no_signs(rng):
    y, v, clusters = draw_clusters(rng, 10, correlation=0.5)
    v[0], y[0] = 0.0, 1
    group = np.where(clusters == 0, "wrong", "right")
    audit = audit_groups(y, v, group, clusters=clusters, **FEW)
    assert read_group(audit, "wrong")["pvalues"] == 1 / 200
    v[:], y[:] = [np.repeat([0.0, 1.0], 25)] * 2
    audit = audit_groups(y, v, group, clusters=clusters, **FEW)
    assert audit.pvalue == 1


def test_groups_without_weight_are_left_out(rng):
    y, v, clusters = draw_clusters(rng, 60, correlation=0.5)
    group = np.array(["a", "b", "c"])[rng.integers(3, size=len(v))]
    kept = group != "c"
    rows = (values[kept] for values in (y, v, group))
    expected = audit_groups(*rows, clusters=clusters[kept], **FEW)
    found = audit_groups(y, v, group, sample_weight=1.0 * kept, clusters=clusters, **FEW)
    assert found.names == expected.names
    np.testing.assert_allclose(found.low, expected.low)
    np.testing.assert_array_equal(found.adjusted_pvalues, expected.adjusted_pvalues)
