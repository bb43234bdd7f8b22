"""Forest plots of audits: what is drawn, where, and what is refused."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from sklearn.linear_model import LogisticRegression

from skcal.diagrams import GroupAuditDisplay
from skcal.inference import audit_groups, make_groups

FEW = {"n_resamples": 39, "random_state": 0}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def rows(rng):
    """Rows of five groups, one of which the model is wrong for."""
    group, v = rng.choice(list("abcde"), size=3000), rng.uniform(0.2, 0.8, 3000)
    return (rng.random(3000) < v + 0.2 * (group == "c")).astype(int), v, group


def test_points_and_intervals(rows):
    audit = audit_groups(*rows, **FEW)
    display = GroupAuditDisplay.from_audit(audit, alpha=0.1)
    table = audit.to_frame()
    table.iloc[1:] = table.iloc[1:].sort_values("difference", key=abs, ascending=False).to_numpy()
    gap = table["difference"].to_numpy(dtype=float)
    rejected, others = display.points_
    np.testing.assert_array_equal(rejected.get_xydata(), [[gap[0], 0]])
    np.testing.assert_array_equal(others.get_xydata(), np.column_stack([gap[1:], range(1, 5)]))
    ends = np.concatenate([bars.get_segments() for bars in display.intervals_])
    np.testing.assert_allclose(ends[:, :, 0], table[["low", "high"]].astype(float))
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    shown = zip(table["group"], table["n_samples"], strict=True)
    assert labels == [f"{name} ({size})" for name, size in shown]
    assert labels[0].startswith("c (")
    low, high = display.ax_.get_ylim()
    assert low > 4 > 0 > high  # the first one is on top
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert words == ["miscalibrated (adjusted p ≤ 0.1)", "not rejected"]
    assert "95 % intervals" in display.ax_.get_xlabel()
    assert display.ax_.get_title() == "Test of calibration in 5 groups: p <= 0.025"
    np.testing.assert_array_equal(display.ref_line_.get_xdata(), [0, 0])


def test_largest_errors_are_on_top_and_small_groups_are_named(rng):
    """A small group with a large error is less certain than a large one with a small error."""
    group = np.repeat(
        ["large", "small", "right", "tiny", "few", "none"], [9000, 400, 600, 30, 2, 0]
    )
    v = rng.uniform(0.2, 0.8, len(group))
    shift = 0.06 * (group == "large") + 0.2 * (group == "small")
    table = {"kind": group, "part": np.where(np.arange(len(group)) < 5, "odd", "usual")}
    audit = audit_groups((rng.random(len(group)) < v + shift).astype(int), v, table, **FEW)
    ax = GroupAuditDisplay.from_audit(audit).ax_
    labels = [label.get_text().rpartition(" ")[0] for label in ax.get_yticklabels()]
    found = set(audit.find())
    assert [label in found for label in labels] == sorted(
        (n in found for n in labels), reverse=True
    )
    gap = dict(zip(audit.names, np.abs(audit.mean_outcome - audit.mean_prediction), strict=True))
    for part in (found, set(audit.names) - found):
        sizes = [gap[label] for label in labels if label in part]
        assert sizes == sorted(sizes, reverse=True)
    assert labels.index("kind = small") < labels.index("kind = large")
    assert audit.left_out == ("kind = few (2)", "kind = tiny (30)", "part = odd (5)")
    words = ax.get_xlabel().split("Too few rows: ")[1].replace("\N{NO-BREAK SPACE}", " ")
    assert words.replace("\n", " ") == ", ".join(audit.left_out)
    assert max(map(len, ax.get_xlabel().split("\n"))) < 50
    audit = audit._replace(left_out=tuple(f"x = {k} (1)" for k in range(9)))
    words = GroupAuditDisplay.from_audit(audit).ax_.get_xlabel()
    assert words.replace("\N{NO-BREAK SPACE}", " ").endswith("6 more")
    groups = make_groups(table)  # in the same words of groups that are made before
    assert (
        groups.left_out
        == groups.take(np.arange(10000)).left_out
        == ("kind = few (2)", "kind = tiny (30)", "part = odd (5)")
    )


def test_the_plot_tells_what_the_mean_does_not(rng):
    """A slope is wrong where the mean is right: the interval contains 0, and the test rejects."""
    group, v = rng.choice(list("abcd"), size=4000), rng.uniform(0.1, 0.9, 4000)
    truth = np.select([group == "c", group == "b"], [v - 0.1, 0.5 + 0.2 * (v - 0.5)], v)
    audit = audit_groups((rng.random(4000) < truth).astype(int), v, group, **FEW)
    display = GroupAuditDisplay.from_audit(audit)
    found = audit.adjusted_pvalues <= 0.05
    holds = (audit.low <= 0) & (audit.high >= 0)
    assert set(np.array(audit.names)[found & holds]) == {"b"}
    assert set(np.array(audit.names)[found & ~holds]) == {"c"}
    labels = [label.get_text()[0] for label in display.ax_.get_yticklabels()]
    for points, rows in zip(display.points_, (found & ~holds, found & holds, ~found), strict=True):
        assert {labels[k] for k in points.get_ydata()} == set(np.array(audit.names)[rows])
    assert [points.get_marker() for points in display.points_] == ["o", "D", "o"]
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    wrong = "miscalibrated (adjusted p ≤ 0.05)"
    assert words == [wrong, "miscalibrated, though the mean may be right", "not rejected"]
    display.figure_.canvas.draw()
    legend, frame = display.ax_.get_legend().get_window_extent(), display.ax_.get_window_extent()
    assert legend.y1 < display.ax_.transData.transform([0, 3])[1]
    assert frame.x0 <= legend.x0
    # Where the mean is tested, interval and test agree.
    audit = audit_groups(
        (rng.random(4000) < truth).astype(int), v, group, statistic="mean", n_resamples=999
    )
    display = GroupAuditDisplay.from_audit(audit)
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert words == [wrong, "not rejected"]


@pytest.mark.parametrize(("alternative", "kind"), [("greater", "lower"), ("less", "upper")])
def test_open_ends_leave_the_axes(rows, alternative, kind):
    """What a one-sided audit says nothing of must not squeeze the bounds that it draws."""
    audit = audit_groups(*rows, statistic="mean", alternative=alternative, **FEW)
    display = GroupAuditDisplay.from_audit(audit)
    gap = audit.mean_outcome - audit.mean_prediction
    bounds, far = (audit.low, audit.high) if alternative == "greater" else (-audit.high, -audit.low)
    low, high = sorted(end if alternative == "greater" else -end for end in display.ax_.get_xlim())
    inside = gap if alternative == "greater" else -gap
    assert low < min(bounds)
    assert max(*inside, 0) < high < min(far)
    assert f"95 % {kind} bounds of all groups" in display.ax_.get_xlabel()


def test_ways_to_one_plot(rows):
    y, v, group = rows
    X = pd.DataFrame({"log_odds": np.log(v / (1 - v)), "group": (group == "c").astype(float)})
    model = LogisticRegression(C=1e6).fit(X[["log_odds"]], y)
    expected = GroupAuditDisplay.from_predictions(
        y, model.predict_proba(X[["log_odds"]]), X[["log_odds"]], max_depth=1, **FEW
    )
    found = GroupAuditDisplay.from_estimator(model, X[["log_odds"]], y, max_depth=1, **FEW)
    assert found.audit.names == expected.audit.names
    np.testing.assert_array_equal(found.audit.statistics, expected.audit.statistics)
    given = GroupAuditDisplay.from_estimator(model, X[["log_odds"]], y, groups=group, **FEW)
    assert sorted(given.audit.names) == list("abcde")
    with pytest.raises(ValueError, match="groups must be given where X is no data frame; got gro"):
        GroupAuditDisplay.from_estimator(LogisticRegression().fit(X.to_numpy(), y), X.to_numpy(), y)


@pytest.mark.parametrize("n_groups", [5, 60])
def test_names_do_not_touch(rng, n_groups):
    group = np.arange(6000) % n_groups
    names = np.array([f"a rather long name of group {k}" for k in range(n_groups)])[group]
    v = rng.random(6000)
    options = {"plot_kwargs": {"n_groups": n_groups}, **FEW}
    display = GroupAuditDisplay.from_predictions(rng.random(6000) < v, v, names, **options)
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert len(boxes) == n_groups
    for upper, lower in pairwise(boxes):
        assert lower.y1 <= upper.y0
    assert min(box.x0 for box in boxes) >= 0
    legend = display.ax_.get_legend().get_window_extent()
    lowest = display.ax_.transData.transform([0, n_groups - 1])[1]
    assert legend.y1 < lowest


def test_long_names_lose_their_middle(rng):
    names = np.array([f"{'long ' * 20}{k}" for k in "ab"])[np.arange(600) % 2]
    v = rng.random(600)
    display = GroupAuditDisplay.from_predictions(rng.random(600) < v, v, names, **FEW)
    display.figure_.canvas.draw()
    texts = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert sorted(text[0] + text[-7:] for text in texts) == ["la (300)", "lb (300)"]
    width = display.figure_.bbox.width
    for text in (display.ax_.xaxis.label, display.ax_.title):
        assert 0 <= text.get_window_extent().x0 < text.get_window_extent().x1 <= width


def test_fewer_groups_and_looks(rows):
    audit = audit_groups(*rows, **FEW)
    figure, axes = plt.subplots()
    display = GroupAuditDisplay(audit)
    assert (
        display.plot(
            axes,
            n_groups=2,
            interval_kwargs={"c": "red", "capsize": 3},
            ref_line_kwargs={"ls": ":"},
            despine=True,
        )
        is display
    )
    assert (display.ax_, display.figure_) == (axes, figure)
    assert len(axes.get_yticks()) == 2
    assert "5 groups (2 shown)" in axes.get_title()
    assert [to_hex(points.get_color()) for points in display.points_] == ["#ff0000"] * 2
    assert display.ref_line_.get_linestyle() == ":"
    assert not axes.spines["top"].get_visible()
    assert len(display.plot(alpha=0).points_) == 1  # none is rejected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_groups": 0}, "n_groups must be at least 1; got 0"),
        ({"alpha": 1}, "alpha must be at least 0 and below 1; got 1"),
        ({"despine": 1}, "despine must be True or False"),
        ({"interval_kwargs": "red"}, "interval_kwargs must be None or a dictionary"),
        ({"ax": 3}, "ax must be matplotlib axes"),
    ],
)
def test_what_plot_refuses(rows, options, message):
    display = GroupAuditDisplay(audit_groups(*rows, **FEW))
    n_figures = len(plt.get_fignums())
    with pytest.raises(ValueError, match=message):
        display.plot(**options)
    assert len(plt.get_fignums()) == n_figures


def test_axes_of_another_plot_are_refused(rows):
    y, v, group = rows
    display = GroupAuditDisplay.from_predictions(y, v, group, **FEW)
    n_artists = len(display.ax_.get_children())
    with pytest.raises(ValueError, match=r"^ax must not show another display: the y axis"):
        GroupAuditDisplay.from_predictions(y, v, group == "c", ax=display.ax_, **FEW)
    with pytest.raises(ValueError, match=r"^ax must not show another display"):
        display.plot(ax=display.ax_)
    assert len(display.ax_.get_children()) == n_artists


def test_what_constructors_refuse(rows):
    with pytest.raises(ValueError, match="audit must be a GroupAudit; got a str"):
        GroupAuditDisplay("audit").plot()
    with pytest.raises(TypeError, match=r"n_group\. Did you mean 'n_groups'"):
        GroupAuditDisplay.from_predictions(*rows, plot_kwargs={"n_group": 3})
    with pytest.raises(ValueError, match="plot_kwargs must be None or a dictionary"):
        GroupAuditDisplay.from_predictions(*rows, plot_kwargs=3)
    with pytest.raises(TypeError, match="n_groups"):
        GroupAuditDisplay.from_predictions(*rows, n_groups=3)
