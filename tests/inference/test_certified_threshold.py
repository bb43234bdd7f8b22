"""Which predictions may be acted on, with a promise."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta, norm

from skcal.inference import CertifiedThreshold, certified_threshold


def draw(rng, n):
    confidence = rng.uniform(0.5, 1, n)
    return (rng.random(n) < confidence).astype(int), confidence


def test_a_promise_by_its_parts(rng):
    y, v = draw(rng, 2000)
    found = certified_threshold(y, v, at_most=0.1)
    accepted = v >= found.threshold
    assert isinstance(found, CertifiedThreshold)
    assert found.feasible
    assert found.n_accepted == accepted.sum()
    assert found.coverage == accepted.mean()
    assert found.risk == pytest.approx(1 - y[accepted].mean())
    assert (found.at_most, found.attainable, found.confidence_level) == (0.1, 0.1, 0.95)
    # The bound of Clopper and Pearson, at the level of one threshold.
    n, k = found.n_accepted, round(found.risk * found.n_accepted)
    assert beta.ppf(0.95, k + 1, n - k) <= 0.1
    assert str(found) == (
        f"Accept at {found.threshold:.4f} or above: {100 * found.coverage:.3g} % of rows, and at "
        "most 10 % of them are wrong (95 % confidence)."
    )


def test_rows_that_are_all_right():
    """59 of them promise 5 %: .95^59 < .05 < .95^58."""
    options = {"labels": [0, 1], "at_most": 0.05}
    assert certified_threshold([1] * 59, [0.9] * 59, **options)[:3] == (0.9, 1.0, 0.0)
    found = certified_threshold([1] * 58, [0.9] * 58, **options)
    assert not found.feasible
    assert (found.threshold, found.coverage, found.n_accepted) == (np.inf, 0, 0)
    assert found.risk is None
    assert found.attainable == pytest.approx(1 - 0.05 ** (1 / 58), rel=0.01)
    assert found.n_required == np.inf  # predictions of .9 expect 10 % of errors
    assert str(found) == (
        "No threshold: a risk of at most 5 % cannot be promised. 5.04 % could have been. If the "
        "predictions are right, no number of rows suffices."
    )


def test_rows_that_would_do_are_told(rng):
    y, v = draw(rng, 100)
    found = certified_threshold(y, v, at_most=0.02)
    assert 1e4 < found.n_required < 1e5
    assert f"about {float(f'{found.n_required:.2g}'):,.0f} rows are needed" in str(found)
    found = certified_threshold([0] * 300, [0.99] * 300, labels=[0, 1])
    assert found.n_required < found.n_rows == 300
    assert "If the predictions were right, about" in str(found)
    # Of a single row that is right no more than this.
    found = certified_threshold([1], [1.0], labels=[0, 1], at_most=0.5)
    assert found.attainable == pytest.approx(0.95, abs=1e-3)
    found = certified_threshold([0], [1.0], labels=[0, 1], at_most=0.5)
    assert found.attainable == 1
    limit = np.nextafter(1, 0)
    found = certified_threshold([0], [1.0], labels=[0, 1], at_most=limit)
    assert (found.feasible, found.attainable) == (False, 1)
    assert "could have been" not in str(found)


def test_the_other_side_is_that_of_the_other_label(rng):
    p = rng.beta(0.5, 0.5, 600)
    y = (rng.random(600) < p).astype(int)
    below = certified_threshold(y, p, at_most=0.1, side="below")
    turned = certified_threshold(1 - y, 1 - p, at_most=0.1)
    assert below.side == "below"
    assert below.threshold == pytest.approx(1 - turned.threshold)
    assert below.threshold in p
    assert below.n_accepted == turned.n_accepted == (p <= below.threshold).sum()
    assert below.risk == pytest.approx(y[p <= below.threshold].mean())
    assert str(below).startswith("Rule out at ")
    both = certified_threshold(y, p, at_most=0.1, side="both", confidence_level=0.9)
    assert both.parts.keys() == {"above", "below"}
    for side, found in both.parts.items():
        single = certified_threshold(y, p, at_most=0.1, side=side, confidence_level=0.95)
        assert found == single._replace(confidence_level=0.9)
    nothing = certified_threshold(y, p, at_most=1e-6, side="below")
    assert nothing.threshold == -np.inf


def test_the_threshold_accepts_the_rows_that_are_counted():
    """Next to 0, where 1 - p is 1, and where rounding tells equal predictions apart."""
    p = np.repeat([1e-18, 1e-20], [200, 50])
    y = np.repeat([0, 1], [200, 50])
    found = certified_threshold(y, p, side="below", at_most=0.3)
    assert (p <= found.threshold).sum() == found.n_accepted == 250
    found = certified_threshold(1 - y, p, side="below", at_most=0.3)
    assert (found.threshold, found.n_accepted) == (1e-20, 50)
    rng = np.random.default_rng(0)
    p = np.repeat(rng.uniform(0.8, 0.99, 20), 50) + 1e-16 * rng.integers(-3, 4, 1000)
    for rows in (p, p.astype(np.float32)):
        found = certified_threshold(np.ones(1000, dtype=int), rows, labels=[0, 1])
        assert (rows >= found.threshold).sum() == found.n_accepted == 1000


def test_digits_of_thresholds_next_to_one():
    v = np.repeat([0.999987, 0.99996], 100)
    found = certified_threshold(np.ones(200, dtype=int), v, labels=[0, 1], at_most=0.05)
    assert str(found).startswith("Accept at 0.99996 or above: 100 % of rows")


def test_groups_share_the_level(rng):
    y, v = draw(rng, 1200)
    group = np.where(rng.random(1200) < 0.3, "few", "many")
    found = certified_threshold(y, v, at_most=0.15, groups=group, confidence_level=0.9)
    assert found.parts.keys() == {"few", "many"}
    for name, own in found.parts.items():
        rows = group == name
        single = certified_threshold(y[rows], v[rows], at_most=0.15, confidence_level=0.95)
        assert own == single._replace(confidence_level=0.9)


def test_several_promises_are_one_record(rng):
    """Of the same type, with the rows that any of them accepts."""
    p = rng.beta(0.5, 0.5, 900)
    y, group = (rng.random(900) < p).astype(int), rng.permuted(np.repeat(["a", "b", "c"], 300))
    options = {"at_most": 0.2, "confidence_level": 0.9}
    both = certified_threshold(y, p, side="both", **options)
    groups = certified_threshold(y, p, groups=group, **options)
    nested = certified_threshold(y, p, groups=group, side="both", **options)
    for found in (both, groups, nested):
        assert isinstance(found, CertifiedThreshold)
        assert np.isnan(found.threshold)
        assert (found.risk, found.n_required, found.n_rows) == (None, None, 900)
        assert (found.at_most, found.confidence_level) == (0.2, 0.9)
        assert found.feasible
    above, below = both.parts.values()
    accepted = (p >= above.threshold) | (p <= below.threshold)
    assert (both.side, both.n_accepted, both.coverage) == ("both", accepted.sum(), accepted.mean())
    assert str(both) == f"{above}\n{below}"
    assert groups.side == "above"
    assert groups.n_accepted == sum(part.n_accepted for part in groups.parts.values())
    assert str(groups) == "\n".join(f"{name!r}: {part}" for name, part in groups.parts.items())
    assert [part.side for part in nested.parts.values()] == ["both"] * 3
    assert str(nested).split("\n")[2].startswith("'b': Accept at ")
    single = certified_threshold(
        y[group == "a"], p[group == "a"], side="below", at_most=0.2, confidence_level=1 - 0.1 / 6
    )
    assert nested.parts["a"].parts["below"].threshold == single.threshold
    clusters = certified_threshold(y, p, groups=group, clusters=np.arange(900) // 4, **options)
    assert clusters.n_clusters == 225
    nothing = certified_threshold(y, p, groups=group, at_most=1e-4)
    assert not nothing.feasible
    assert nothing.attainable == max(part.attainable for part in nothing.parts.values()) < 1


def test_clusters(rng):
    y, v = draw(rng, 600)
    single = certified_threshold(y, v, at_most=0.15)
    assert certified_threshold(y, v, at_most=0.15, clusters=rng.permutation(600)) == single
    # Rows of a cluster come true together: nine in ten promises of independent rows would be more.
    question = np.repeat(np.arange(60), 10)
    confidence = np.repeat(np.full(60, 0.95), 10) + rng.uniform(-0.01, 0.01, 600)
    is_right = (rng.random(60) < 0.95).astype(int)[question]
    wide = certified_threshold(is_right, confidence, at_most=0.1, clusters=question)
    assert not wide.feasible
    assert str(wide).endswith("% could have been.")
    order = rng.permutation(600)
    names = rng.permutation(60).astype(str)[question]
    again = certified_threshold(
        is_right[order], confidence[order], at_most=0.1, clusters=names[order]
    )
    assert again == wide


@pytest.mark.parametrize("at_most", [0.05, 0.15])
@pytest.mark.parametrize("counts", [5, np.arange(600) % 4 + 1], ids=["equal", "unequal"])
def test_copies_tell_what_their_rows_tell(counts, at_most, rng):
    y, v = draw(rng, 600)
    copies = np.repeat(np.arange(600), counts)
    for options in ({}, {"risk": 0.7 - 0.5 * y}):
        rows = certified_threshold(y, v, at_most=at_most, **options)
        if options:
            options = {"risk": options["risk"][copies]}
        found = certified_threshold(
            y[copies], v[copies], at_most=at_most, clusters=copies, **options
        )
        assert found.threshold == rows.threshold
        assert found.attainable == pytest.approx(rows.attainable)
        assert found.n_accepted == (v[copies] >= rows.threshold).sum()
        assert (found.n_rows, found.n_clusters, found.n_required) == (len(copies), 600, None)


def test_all_clusters_count_alike(rng):
    """All rows of some clusters may come several times."""
    y, v = draw(rng, 600)
    clusters, times = np.arange(600) % 300, np.where(np.arange(600) % 300 < 20, 9, 1)
    losses = 0.9 * (1 - y)
    for at_most in (0.02, 0.15):
        found, again = (
            certified_threshold(
                y[rows], v[rows], risk=losses[rows], at_most=at_most, clusters=clusters[rows]
            )
            for rows in (np.arange(600), np.repeat(np.arange(600), times))
        )
        assert again.threshold == found.threshold
        assert again.attainable == pytest.approx(found.attainable)
    assert str(found).endswith(
        "at most 0.15, with equal weight for each cluster (95 % confidence)."
    )


def draw_clusters(rng, n_clusters, n_rows, correlation):
    """Labels and confidences; rows of a cluster come true together at the correlation 1."""
    confidence = expit(2.2 * np.abs(rng.normal(size=(n_clusters, n_rows))))
    shared, own = rng.normal(size=(n_clusters, 1)), rng.normal(size=confidence.shape)
    latent = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    return (norm.cdf(latent) < confidence).astype(int), confidence


@pytest.mark.parametrize("correlation", [0.0, 1.0])
@pytest.mark.parametrize(("n_clusters", "n_rows"), [(300, 2), (500, 10)])
def test_no_rows_need_be_thrown_away(n_clusters, n_rows, correlation):
    """A threshold accepts as much as that of one row of each cluster, but for a part of it."""
    accepted = np.zeros(2)
    for seed in range(12):
        y, v = draw_clusters(np.random.default_rng(seed), n_clusters, n_rows, correlation)
        clusters = np.repeat(np.arange(n_clusters), n_rows)
        found = certified_threshold(y.ravel(), v.ravel(), at_most=0.1, clusters=clusters)
        single = certified_threshold(y[:, 0], v[:, 0], at_most=0.1)
        accepted += found.coverage, single.coverage
    assert accepted[1] > 1
    assert accepted[0] > 0.85 * accepted[1]
    if n_rows == 10 and not correlation:  # all of them tell more
        assert accepted[0] > 1.2 * accepted[1]


@pytest.mark.parametrize("spread", [0.0, 0.01])
def test_all_outcomes_of_clusters(spread):
    """False promises with their probability, of clusters whose rows are often copies or seldom."""
    sizes = np.array([2, 2, 1, 1, 1])
    member = np.repeat(np.arange(5), sizes)
    confidence = np.array([0.95, 0.9, 0.85, 0.8, 0.75])[member] + spread * np.arange(7) / 7
    outcomes = np.array(list(product([0, 1], repeat=7)))
    shares = []
    for wrong in outcomes:
        options = {"labels": [0, 1], "at_most": 0.5, "confidence_level": 0.6}
        found = certified_threshold(1 - wrong, confidence, clusters=member, **options)
        shares.append(np.bincount(member, confidence >= found.threshold) / sizes)
    shares = np.array(shares)
    n_wrong = np.array([np.bincount(member, wrong) for wrong in outcomes])
    for chances in ([0.51] * 5, [1, 0.8, 0.4, 0.2, 0.15], [0, 0.1, 0.9, 0.9, 0.7]):
        chances = np.array(chances)
        alone = chances**n_wrong * (1 - chances) ** (sizes - n_wrong)
        alike = np.select([n_wrong == sizes, n_wrong == 0], [chances, 1 - chances])
        for together in (0.0, 0.5, 0.9):
            probability = np.prod(together * alike + (1 - together) * alone, axis=1)
            assert probability.sum() == pytest.approx(1)
            is_false = shares @ chances > 0.5 * shares.sum(axis=1)
            assert probability @ is_false <= 0.4
            assert probability @ shares.any(axis=1) > 0.01  # promises are made


def test_losses_of_any_size(rng):
    """A matrix of costs; losses of 0 and 1 may promise less as such than as errors."""
    proba = rng.dirichlet([0.2] * 3, 2000)
    y = np.array([rng.choice(3, p=row) for row in proba])
    cost = np.array([[0, 0.2, 1], [0.2, 0, 0.5], [1, 0.5, 0]])
    losses = cost[y, proba.argmax(axis=1)]
    found = certified_threshold(y, proba, risk=losses, at_most=0.1)
    accepted = proba.max(axis=1) >= found.threshold
    assert found.risk == pytest.approx(losses[accepted].mean())
    assert str(found).endswith("and their mean loss is at most 0.1 (95 % confidence).")
    errors = (proba.argmax(axis=1) != y).astype(float)
    exact = certified_threshold(y, proba, at_most=0.1)
    betting = certified_threshold(y, proba, risk=errors, at_most=0.1)
    assert 0 < betting.coverage <= exact.coverage < found.coverage


def test_layouts_and_labels(rng):
    y, v = draw(rng, 500)
    expected = certified_threshold(y, v, at_most=0.15)
    both = np.column_stack([1 - v, v])
    assert certified_threshold(y, both, at_most=0.15) == expected
    names = np.array(["no", "yes"])[y]
    assert certified_threshold(names, v, at_most=0.15, pos_label="yes") == expected
    # The confidence is the probability that is above one half.
    turned = np.where(np.arange(500) % 2, v, 1 - v)
    label = np.where(np.arange(500) % 2, y, 1 - y)
    assert certified_threshold(label, turned, at_most=0.15, reduction="confidence")[
        :4
    ] == pytest.approx(expected[:4])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(
            ({"at_most": wrong}, "at_most must be above 0 and below 1; got")
            for wrong in (0, 1, -0.1)
        ),
        ({"at_most": "5 %"}, "at_most must be a number; got '5 %'"),
        ({"side": "up"}, "side must be one of"),
        ({"side": "below", "reduction": "confidence"}, "side must be 'above' for a confidence"),
        ({"confidence_level": 0.5}, "confidence_level must be above 0.5"),
        ({"risk": "recall"}, "risk must be one of 'error', .*; got 'recall'"),
        ({"risk": [0, 1, 1, 0], "side": "both"}, "risk must be 'error' for both sides"),
        ({"risk": [0.1]}, r"risk must have shape \(4,\)"),
        ({"risk": [0, 1, 2, 0]}, r"risk must lie in \[0, 1\]; got 2.0 at row 2"),
        ({"groups": [1, 2]}, "groups must hold one name for each of the 4 rows; got 2"),
        ({"clusters": [1, 1, 1, 1]}, "clusters must hold at least two clusters"),
        ({"y_true": [0.5, 0, 1, 1], "labels": [0, 1]}, "soft"),
    ],
)
def test_bad_arguments(arguments, message):
    rows = {"y_true": [0, 1, 1, 0], "y_proba": [0.2, 0.7, 0.8, 0.4]}
    with pytest.raises(ValueError, match=message):
        certified_threshold(**{**rows, **arguments})
