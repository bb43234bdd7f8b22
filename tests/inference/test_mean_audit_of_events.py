"""Audits of means where targets are counts, of which few rows have any."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.stats import beta, binom, chi2, norm, poisson

from skcal.inference import audit_mean_groups
from tests.chance import most_of
from tests.inference.samples import FEW, STATISTICS, every_statistic, take_group


@every_statistic
@pytest.mark.parametrize("clustered", [False, True])
def test_groups_without_events(statistic, clustered):
    """p-values are the chance of none, and intervals are those of a Poisson number (Garwood)."""
    years = np.tile([0.5, 1.0], 150)
    claims = np.zeros(300)
    claims[150:165], claims[200:215] = 1, 2
    group, v = np.repeat(["quiet", "busy"], 150), np.full(300, 0.02)
    options = {"statistic": statistic, "n_resamples": 4999, "random_state": 0}
    unit = np.arange(300) // 2 if clustered else np.arange(300)
    if clustered:
        options["clusters"] = unit
    audit = audit_mean_groups(claims / years, v, group, sample_weight=years, **options)
    quiet = take_group(audit, "quiet")
    sums = np.bincount(unit, claims)
    size, mass = (sums**2).sum() / sums.sum(), years[:150].sum()
    chance = min(2 * poisson.pmf(0, 0.02 * mass / size), 1)
    assert chance * (1 - 1e-9) <= quiet["pvalues"] <= chance + 0.1
    ends = np.array([0, chi2.isf(0.0125, 2) / 2 * size / mass]) - 0.02
    np.testing.assert_allclose([quiet["low"], quiet["high"]], ends, atol=1e-15)


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_pvalue_of_few_events(alternative):
    """No smaller than that of a Poisson number, and small where many more were predicted."""
    group = np.repeat(["a", "b"], 400)
    for n_events in range(5):
        y = np.zeros(800)
        y[:n_events] = y[400:420] = 1
        for expected in (3.0, 5.0, 40.0):
            v = np.where(group == "a", expected / 400, 0.05)
            audit = audit_mean_groups(
                y, v, group, alternative=alternative, n_resamples=999, random_state=0
            )
            few = take_group(audit, "a")
            tail = poisson.cdf(n_events, expected)
            if alternative == "two-sided":
                tail = 2 * (poisson.sf(n_events - 1, expected) if n_events > expected else tail)
            assert few["pvalues"] >= min(tail, 1) * (1 - 1e-12)
            assert few["adjusted_pvalues"] <= 0.05 or expected < 40
            assert alternative == "less" or few["low"] >= -few["mean_prediction"]


@pytest.mark.parametrize(
    ("statistic", "alternative"),
    [*product(STATISTICS, ["two-sided"]), ("mean", "less"), ("mean", "greater")],
)
def test_few_rows_without_an_event(statistic, alternative):
    """p-values and ends are those of binomial numbers, in a group without any other row, too."""
    group = np.repeat(["a", "b"], [60, 1000])
    options = {"statistic": statistic, "alternative": alternative, "random_state": 0}
    tail = 0.025 if alternative == "two-sided" else 0.05
    for n_others in (0, 1, 6):
        y, v = np.ones(1060), np.full(1060, 0.95)
        y[:n_others] = y[60:110] = 0
        few = take_group(audit_mean_groups(y, v, group, **options), "a")
        chances = binom.cdf(n_others, 60, 0.05), binom.sf(n_others - 1, 60, 0.05)
        two = min(1, 2 * chances[n_others > 3])
        pvalue = {"two-sided": two, "less": chances[1], "greater": chances[0]}[alternative]
        assert few["pvalues"] == pytest.approx(pvalue)
        low = 1 - beta.isf(tail / 2, n_others + 1, 60 - n_others) - 0.95
        high = 0.05 if n_others == 0 else 0.05 - beta.ppf(tail / 2, n_others, 61 - n_others)
        low, high = {"less": (-np.inf, high), "greater": (low, np.inf)}.get(
            alternative, (low, high)
        )
        assert (few["low"], few["high"]) == pytest.approx((low, high))


def test_level_of_few_rows_without_an_event():
    """In ten groups of 40 rows; the test may reject 5 %, or 19 of 100 with a chance of 5e-7."""
    rng, n_rejected = np.random.default_rng(0), 0
    for _ in range(100):
        v = 1 - rng.uniform(0.01, 0.07, 400)
        y = 1.0 * (rng.random(400) < v)
        audit = audit_mean_groups(y, v, np.arange(400) % 10, n_resamples=99, random_state=rng)
        n_rejected += audit.pvalue <= 0.05
    assert n_rejected <= most_of(100, 0.05)


def put_claims(number, n_rows=3000):
    """Rates of so many claims in rows of exposures from .5 to 1, and the exposures."""
    years = np.linspace(0.5, 1, n_rows)
    claims = np.zeros(n_rows)
    claims[np.linspace(0, n_rows - 1, number).astype(int)] = 1
    return claims / years, years


@every_statistic
@pytest.mark.parametrize("n_claims", [5, 12, 20, 60])
def test_too_few_counts_are_those_of_a_poisson_number(statistic, n_claims):
    """Half of the rows have too few of them, the other half is right."""
    expected = max(2.5 * n_claims, 30.5)
    rates, years = (np.tile(own, 2) for own in put_claims(n_claims))
    rates[3000:] = put_claims(round(expected))[0]
    v, group = np.full(6000, 2 * expected / years.sum()), np.repeat(["few", "right"], 3000)
    audit = audit_mean_groups(
        rates, v, group, statistic=statistic, sample_weight=years, random_state=0
    )
    few = take_group(audit, "few")
    pvalue = max(2 * poisson.cdf(n_claims, expected), 1e-300)
    assert few["pvalues"] <= max(pvalue, 0.001) * (1 + 1e-9)
    assert few["adjusted_pvalues"] <= max(2 * pvalue, 0.001) * (1 + 1e-9)
    ends = chi2.isf(0.0125, 2 * n_claims + 2) / 2 / years[:3000].sum() - v[0]
    assert few["high"] <= ends * (1 - 1e-9)  # both are below 0
    assert audit.find() == ["few"]


def test_fewer_counts_are_no_less_evidence():
    """One-sided p-values and upper ends of one group grow with the number of claims."""
    found = []
    for number in range(2, 41, 2):
        rates, years = put_claims(number)
        v = np.full(3000, 40 / years.sum())
        options = {"sample_weight": years, "alternative": "less", "random_state": 0}
        audit = audit_mean_groups(rates, v, ["all"] * 3000, n_resamples=199, **options)
        assert audit.pvalue <= poisson.cdf(number, 40) * (1 + 1e-9)
        found.append(audit.high[0])
    assert (np.diff(found) > 0).all()


def test_half_the_mean_is_found_as_often_as_by_the_poisson_test():
    """Of 30 expected claims; counts are taken as over-dispersed only if they look so."""
    rng, found = np.random.default_rng(0), np.zeros(2)
    for _ in range(100):
        y, v = rng.poisson(0.05, 300), np.full(300, 0.1)
        found[0] += audit_mean_groups(y, v, ["all"] * 300, n_resamples=99).pvalue <= 0.05
        found[1] += 2 * poisson.cdf(y.sum(), 30) <= 0.05
    assert found[0] >= found[1] - 5 > 50


def test_amounts_and_clumps_are_no_single_events():
    """Twelve claims of unequal sizes, and twelve in clumps of six, where 30 are expected."""
    sizes = np.exp(norm.isf((np.arange(12) + 0.5) / 12))
    for own in (sizes * 12 / sizes.sum(), np.repeat([6.0, 0.0], [2, 10])):
        y = np.zeros(3000)
        y[:12] = own
        audit = audit_mean_groups(y, np.full(3000, 0.01), ["all"] * 3000, random_state=0)
        assert audit.pvalue >= 2 * poisson.cdf(2, 30 / 6) * (1 - 1e-9)
        assert audit.high[0] > 0


@pytest.mark.parametrize("statistic", STATISTICS)
def test_events_where_none_was_expected(statistic):
    y = np.repeat([1.0, 0.0], [3, 297])
    audit = audit_mean_groups(y, np.zeros(300), ["all"] * 300, statistic=statistic, **FEW)
    assert audit.pvalue < 1e-200


@every_statistic
def test_no_event_at_all(statistic):
    """Nothing is known of the sizes of events."""
    v = np.linspace(0.008, 0.012, 100)
    audit = audit_mean_groups(np.zeros(100), v, ["a", "b"] * 50, statistic=statistic, **FEW)
    assert (audit.pvalues == 1).all()
    assert audit.pvalue == 1
    np.testing.assert_array_equal(audit.low, -audit.mean_prediction)
    assert (audit.high == np.inf).all()
    for alternative, end in (("greater", "low"), ("less", "high")):
        audit = audit_mean_groups(np.zeros(100), v, ["a"] * 100, alternative=alternative, **FEW)
        assert audit.pvalue == 1
        other = -v.mean() if end == "low" else np.inf
        assert getattr(audit, end)[0] == pytest.approx(other)
    below = audit_mean_groups(np.zeros(100), v - 0.02, ["a"] * 100, **FEW)
    assert below.pvalue < 0.05  # targets that may be negative are not events


@pytest.mark.slow
@every_statistic
@pytest.mark.parametrize("n_groups", [1, 10])
@pytest.mark.parametrize("expected", [1, 2, 3])
def test_level_of_rare_counts(statistic, n_groups, expected):
    """Groups in which one to three events are expected, and some of which have none."""
    rng, false = np.random.default_rng(0), 0
    group = np.tile(np.arange(n_groups), 150)
    for _ in range(200):
        v = expected / 150 * np.exp(0.3 * rng.normal(size=len(group)) - 0.045)
        run = partial(audit_mean_groups, rng.poisson(v), v, group, statistic=statistic)
        false += run(n_resamples=99, random_state=rng).pvalue <= 0.05
    assert false <= binom.ppf(0.9987, 200, 0.05)
