"""Misses, false positives and misclassified rows, with a promise, alone and together."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from skcal.inference import CertifiedThreshold, certified_threshold

RISKS = ("error", "miss", "false_positive", "misclassification")


def draw(rng, n):
    p = rng.beta(0.7, 0.7, n)
    return (rng.random(n) < p).astype(int), p


def see_risk(kind, y, is_positive):
    """Its definition, of labels and of rows that are taken for events."""
    wrong = is_positive != (y == 1)
    among = {"error": is_positive, "miss": y == 1, "false_positive": y == 0}
    return wrong[among.get(kind, slice(None))].mean()


@pytest.mark.parametrize("side", ["above", "below"])
@pytest.mark.parametrize("risk", ["miss", "false_positive", "misclassification"])
def test_a_promise_by_its_parts(risk, side, rng):
    y, p = draw(rng, 2000)
    found = certified_threshold(y, p, risk=risk, at_most=0.3, side=side)
    assert isinstance(found, CertifiedThreshold)
    accepted = p >= found.threshold if side == "above" else p <= found.threshold
    is_positive = accepted if side == "above" else ~accepted
    assert found.feasible
    assert found.n_accepted == accepted.sum()
    assert found.risk == pytest.approx(see_risk(risk, y, is_positive))
    assert found.risk < 0.3 == found.at_most == found.attainable
    assert (found.kind, found.side, found.parts) == (risk, side, {})
    # The exact binomial bound at the threshold.
    n = {"miss": y.sum(), "false_positive": (1 - y).sum()}.get(risk, 2000)
    assert binom.cdf(round(found.risk * n), n, 0.3) <= 0.05


@pytest.mark.parametrize("at_most", [0.05, 0.2])
def test_shares_of_a_class_are_order_statistics(at_most, rng):
    """A tolerance limit: the largest k with P(Bin(K, a) <= k) of at most 5 % may be missed."""
    y, p = draw(rng, 800)
    for risk, scores, sign in (("miss", p[y == 1], 1), ("false_positive", -p[y == 0], -1)):
        n = len(scores)
        k = int(np.flatnonzero(binom.cdf(np.arange(n), n, at_most) <= 0.05)[-1])
        edge = sign * np.sort(scores)[k]  # of the event that comes next
        above = certified_threshold(y, p, risk=risk, at_most=at_most)
        below = certified_threshold(y, p, risk=risk, at_most=at_most, side="below")
        inside, outside = (above, below) if risk == "miss" else (below, above)
        assert inside.threshold == edge
        beyond = p[p < edge].max() if risk == "miss" else p[p > edge].min()
        assert outside.threshold == beyond
        assert inside.risk == outside.risk == pytest.approx(k / n)


@pytest.mark.parametrize(("risk", "side"), [("miss", "above"), ("false_positive", "below")])
def test_rows_that_are_planned_do_in_four_samples_of_five(risk, side):
    draw = np.random.default_rng(0)
    p = draw.beta(2, 2, 4000)
    options = {"risk": risk, "side": side, "at_most": 0.1, "labels": [0, 1]}
    planned = certified_threshold((draw.random(4000) < p).astype(int), p, **options).n_required
    found = 0
    for _ in range(200):
        p = draw.beta(2, 2, round(planned))
        y = (draw.random(len(p)) < p).astype(int)
        found += certified_threshold(y, p, **options).feasible
    # Outside by chance: 1e-7.
    assert binom.ppf(5e-8, 200, 0.75) <= found <= binom.ppf(1 - 5e-8, 200, 0.9)


def test_rows_that_would_do():
    """59 events, all of them found, promise that at most 5 % are missed, and 58 do not."""
    for n, is_enough in ((59, True), (58, False)):
        y, p = np.ones(n, dtype=int), np.linspace(0.4, 0.6, n)
        found = certified_threshold(y, p, risk="miss", labels=[0, 1])
        assert found.feasible == is_enough
        assert (found.coverage, found.n_accepted, found.risk) == (1, n, 0)
        assert found.threshold == (0.4 if is_enough else -np.inf)
        # Of so many rows 59 are events in four samples of five, if half of them are expected to be.
        assert binom.sf(58, round(found.n_required), 0.5) == pytest.approx(0.8, abs=0.02)
    assert str(found).startswith(
        "No threshold: a miss rate of at most 5 % cannot be promised. 5.04 % could have been. If "
        "the predictions are right, about 130 rows are needed."
    )
    out = certified_threshold(y, p, risk="miss", labels=[0, 1], side="below")
    assert (out.threshold, out.n_accepted, out.feasible) == (-np.inf, 0, False)
    held = certified_threshold(1 - y, p, risk="false_positive", labels=[0, 1])
    assert (held.threshold, held.n_accepted, held.feasible) == (np.inf, 0, False)
    for risk in ("miss", "false_positive"):  # none of the class
        found = certified_threshold(y if risk != "miss" else 1 - y, p, risk=risk, labels=[0, 1])
        assert (found.feasible, found.risk, found.attainable) == (False, None, 1)


def test_sentences(rng):
    y, p = draw(rng, 3000)
    ends = {
        ("miss", "above"): "at most 30 % of events are below",
        ("miss", "below"): "at most 30 % of events are among them",
        ("false_positive", "above"): "at most 30 % of non-events are among them",
        ("false_positive", "below"): "at most 30 % of non-events are above",
        ("misclassification", "above"): "at most 30 % of all rows are on the wrong side",
    }
    for (risk, side), end in ends.items():
        found = certified_threshold(y, p, risk=risk, at_most=0.3, side=side)
        verb = "Accept" if side == "above" else "Rule out"
        assert str(found) == (
            f"{verb} at {found.threshold:.4g} or {side}: {100 * found.coverage:.3g} % of rows, and "
            f"{end} (95 % confidence)."
        )
    for risk, name in (("misclassification", "misclassification"), ("miss", "miss")):
        nothing = certified_threshold(y[:9], p[:9], risk=risk)
        assert str(nothing).startswith(f"No threshold: a {name} rate of at most 5 % cannot be")


def test_the_fewest_rows_are_misclassified(rng):
    """Among thresholds that keep the promise the one with fewest wrong labels on these rows."""
    y, p = draw(rng, 1000)
    found = certified_threshold(y, p, risk="misclassification", at_most=0.3)
    wrong = np.array([np.mean((p >= t) != y) for t in p])
    assert found.risk == pytest.approx(wrong.min())
    turned = certified_threshold(1 - y, 1 - p, risk="misclassification", at_most=0.3, side="below")
    assert turned.threshold == pytest.approx(1 - found.threshold)
    assert turned[1:4] == found[1:4]


@pytest.mark.parametrize("side", ["above", "below"])
def test_several_at_once(side, rng):
    """Each at half of the level, at a threshold that keeps all."""
    y, p = draw(rng, 3000)
    found = certified_threshold(y, p, risk=["error", "miss"], at_most=[0.25, 0.35], side=side)
    options = {"side": side, "confidence_level": 0.975}
    for kind, limit in (("error", 0.25), ("miss", 0.35)):
        single = certified_threshold(y, p, risk=kind, at_most=limit, **options)
        assert found.parts[kind] == single._replace(confidence_level=0.95)
    assert found.threshold == found.parts["error"].threshold  # most rows are accepted
    assert found.feasible
    assert (found.kind, found.risk, found.n_required) == ("error and miss", None, None)
    assert np.isnan([found.at_most, found.attainable]).all()
    assert ", at most 25 % of them are wrong, and at most 35 % of events are " in str(found)
    same = certified_threshold(y, p, risk=("miss", "misclassification"), at_most=0.3)
    accepted = p >= same.threshold
    for kind, part in same.parts.items():
        assert part.at_most == 0.3
        n = int(y.sum()) if kind == "miss" else 3000
        assert binom.cdf(round(see_risk(kind, y, accepted) * n), n, 0.3) <= 0.025
    groups = certified_threshold(
        y, p, risk=("miss", "false_positive"), at_most=0.4, groups=np.arange(3000) % 2
    )
    assert groups.feasible
    assert [*groups.parts[1].parts] == ["miss", "false_positive"]
    own = p[1::2], y[1::2]
    single = certified_threshold(own[1], own[0], risk="miss", at_most=0.4, confidence_level=0.9875)
    assert groups.parts[1].parts["miss"].threshold == single.threshold


def test_promises_that_exclude_each_other(rng):
    y, p = draw(rng, 3000)
    found = certified_threshold(y, p, risk=["error", "miss"], at_most=[0.05, 0.05])
    assert all(part.feasible for part in found.parts.values())
    assert found.parts["error"].threshold > found.parts["miss"].threshold
    assert (found.threshold, found.n_accepted, found.feasible) == (np.inf, 0, False)
    first, *others = str(found).split("\n")
    assert first == "No threshold keeps all promises at once (95 % confidence)."
    assert others == [str(part) for part in found.parts.values()]


# Two points of a population: prediction, label, probability.
POINTS = [(v, label) for v in (0.2, 0.5, 0.8) for label in (0, 1)]
POPULATIONS = {
    "calibrated": [0.24, 0.06, 0.2, 0.2, 0.06, 0.24],
    "reversed": [0.06, 0.24, 0.2, 0.2, 0.24, 0.06],
    "on the edge": [0.25, 0.25, 0.15, 0.0, 0.1, 0.25],
    "rare": [0.5, 0.02, 0.3, 0.05, 0.05, 0.08],
}


@pytest.mark.parametrize(
    ("risk", "side", "at_most"),
    [
        *product(["miss", "false_positive", "misclassification"], ["above", "below"], [0.5]),
        (("false_positive", "miss"), "above", 0.7),
    ],
    ids=str,
)
def test_all_samples_of_a_population(risk, side, at_most):
    """The exact probability of a false promise, from all samples of five rows."""
    v, label = np.array(POINTS).T
    counts = np.array([c for c in product(range(6), repeat=6) if sum(c) == 5])
    options = {"labels": [0, 1], "at_most": at_most, "confidence_level": 0.6}
    kinds = [risk] if isinstance(risk, str) else risk
    chosen = np.empty(len(counts))
    for k, count in enumerate(counts):
        rows = np.repeat(np.arange(6), count)
        found = certified_threshold(label[rows], v[rows], risk=risk, side=side, **options)
        chosen[k] = found.threshold if found.feasible else np.nan
    most = 0.0
    for chances in POPULATIONS.values():
        is_false = np.zeros(len(counts), dtype=bool)
        for k in np.flatnonzero(~np.isnan(chosen)):
            is_positive = v >= chosen[k] if side == "above" else v > chosen[k]
            wrong = np.where(is_positive != (label == 1), chances, 0.0)
            for kind in kinds:
                among = {"miss": label == 1, "false_positive": label == 0}.get(kind, label >= 0)
                is_false[k] |= wrong[among].sum() > at_most * np.array(chances)[among].sum() + 1e-9
        total = multinomial(5, chances).pmf(counts)
        assert total.sum() == pytest.approx(1)
        assert total @ is_false <= 0.4
        most = max(most, total @ ~np.isnan(chosen))
    assert most > 0.1  # promises are made


@pytest.mark.parametrize("risk", ["miss", "false_positive", "misclassification"])
def test_clusters(risk, rng):
    """Copies are one row, permuted single rows are rows, and shares count clusters alike."""
    y, p = draw(rng, 600)
    options = {"risk": risk, "at_most": 0.35}
    rows = certified_threshold(y, p, **options)
    assert certified_threshold(y, p, clusters=rng.permutation(600), **options) == rows
    copies = np.repeat(np.arange(600), np.arange(600) % 4 + 1)
    found = certified_threshold(y[copies], p[copies], clusters=copies, **options)
    assert found.n_clusters == 600
    if risk == "misclassification":  # of two that are as good on single rows copies may decide
        assert see_risk(risk, y, p >= found.threshold) == pytest.approx(rows.risk)
    else:
        assert found.threshold == rows.threshold
    question = np.arange(600) // 10
    alike = (rng.random(60) < 0.5).astype(int)[question]
    found = certified_threshold(alike, np.where(alike == 1, 0.9, 0.1), clusters=question, **options)
    assert found.feasible
    assert str(found).endswith("with equal weight for each cluster (95 % confidence).")
    few = certified_threshold(
        alike[:30], p[:30], clusters=question[:30], risk=risk, at_most=0.05, labels=[0, 1]
    )
    assert not few.feasible


def test_bets_of_clusters_by_their_definition(rng):
    """Three fifths of the rows of a cluster may be events; the e-value is that of all clusters."""
    from skcal._numerics.inference import _certification as module

    member, scores = rng.integers(9, size=60), rng.random(60).round(1)
    member[:9] = np.arange(9)
    is_class = (rng.random(60) < 0.6).astype(float)
    weights = module.weigh_in_clusters(member)
    sizes, bets = np.bincount(member), module._BETS / 0.6
    for is_open in (False, True):
        places = module.sort_places(scores, is_open=is_open)
        unmoved = np.bincount(member, weights * is_class), 0.0
        stakes = module.find_stakes(places, 0.0, weights * is_class, member, unmoved)
        found = module.find_betting_pvalues(stakes, 0.4)
        for cut, pvalue in zip(places.cuts, found, strict=True):
            held = scores > cut if is_open else scores >= cut
            gains = np.bincount(member, is_class * (0.4 - held)) / sizes
            wealth = np.mean([np.prod(1 + bet * gains) for bet in bets])
            assert pvalue == pytest.approx(min(1, 1 / wealth))
        wrong = np.where(scores[:, None] >= places.cuts, 1 - is_class[:, None], is_class[:, None])
        unmoved = 1.0, np.bincount(member, weights * is_class)
        changes = weights * (1 - 2 * is_class)
        closed = module.sort_places(scores)
        stakes = module.find_stakes(closed, 0.0, changes, member, unmoved)
        for loss, pvalue in zip(wrong.T, module.find_betting_pvalues(stakes, 0.4), strict=True):
            gains = np.bincount(member, 0.4 - loss) / sizes
            wealth = np.mean([np.prod(1 + bet * gains) for bet in bets])
            assert pvalue == pytest.approx(min(1, 1 / wealth))


@pytest.mark.parametrize("risk", ["miss", "false_positive", "misclassification"])
def test_promises_of_clusters_hold(risk):
    """All rows of a cluster are alike in label, not in prediction, next to the limit.

    A promise with a confidence of 80 % is broken so often with a probability below 1e-6.
    """
    n_broken = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        label = np.repeat(rng.random(40) < 0.5, 3).astype(int)
        v = rng.random(120)  # tells nothing: the risk at t is t, 1 - t or one half
        found = certified_threshold(
            *(label, v),
            clusters=np.arange(120) // 3,
            risk=risk,
            at_most=0.3 if risk != "misclassification" else 0.5 - 1e-9,
            confidence_level=0.8,
        )
        if found.feasible:
            truth = {"miss": found.threshold, "false_positive": 1 - found.threshold}
            n_broken += truth.get(risk, 0.5) > found.at_most
    assert n_broken <= binom.isf(1e-6, 100, 0.2)


def test_confidences_and_labels(rng):
    proba = rng.dirichlet([0.3] * 3, 900)
    y = np.array([rng.choice(3, p=row) for row in proba])
    found = certified_threshold(y, proba, risk="false_positive", at_most=0.2)
    right, confidence = proba.argmax(axis=1) == y, proba.max(axis=1)
    assert found.risk == np.mean(confidence[~right] >= found.threshold)
    assert certified_threshold(
        right.astype(int), confidence, risk="false_positive", at_most=0.2
    ).threshold == pytest.approx(found.threshold)
    p = proba[:, 1]
    one = certified_threshold(y, proba, risk="miss", at_most=0.2, side="below", pos_label=1)
    other = certified_threshold((y == 1).astype(int), p, risk="miss", at_most=0.2, side="below")
    assert one == other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"risk": "recall"}, "risk must be one of .*; got 'recall'"),
        ({"risk": ["miss", "miss"]}, "risk must name each kind once; got"),
        ({"risk": ["miss", 0.5]}, "risk must be one of"),
        ({"risk": []}, "risk must name at least one kind"),
        ({"risk": np.array(["miss", "recall"])}, "risk must be one of .*; got 'recall'"),
        ({"risk": ["miss", "error"], "at_most": [0.1]}, "or one for each of the 2 risks; got"),
        ({"risk": "miss", "at_most": [0.1, 0.2]}, "at_most must be a number; got"),
        ({"risk": ["miss", "error"], "at_most": [0.1, 2]}, "at_most must be above 0 and below 1"),
        ({"risk": "miss", "side": "both"}, "risk must be 'error' for both sides"),
        ({"risk": [0, 1, 0, 1], "at_most": [0.1]}, "at_most must be a number"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        certified_threshold(
            **{"y_true": [0, 1, 1, 0], "y_proba": [0.2, 0.7, 0.8, 0.4], **arguments}
        )
