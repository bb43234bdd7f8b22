"""Meta-analysis of estimates: published reviews, and properties."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from skcal.inference import PooledEstimate, pool_estimates


@pytest.fixture
def reviewed():
    """23 validations of EuroSCORE II, as published by Guida et al. (2014) and in metamisc.

    doi:10.1016/j.jtcvs.2014.07.039; data set EuroSCORE of the R package metamisc 0.4.
    """
    return pd.read_csv(Path(__file__).parent / "euroscore.csv")


def test_observed_to_expected_of_euroscore(reviewed):
    """1.11 (0.90 to 1.36), prediction 0.43 to 2.85 with a variance that is taken for known.

    T. P. A. Debray and others (2017), BMJ 356, doi:10.1136/bmj.i6460.
    """
    ratio = reviewed["events"] / reviewed["expected"]
    errors = ratio * np.sqrt(1 / reviewed["events"] - 1 / reviewed["n"])
    found = pool_estimates(ratio, errors, scale="log")
    assert isinstance(found, PooledEstimate)
    assert [round(value, 2) for value in found[:3]] == [1.11, 0.90, 1.36]
    assert 0.40 < found.low_of_next < 0.43 < 2.85 < found.high_of_next < 3.0


def test_c_statistics_of_euroscore(reviewed):
    """.7889 (.7649 to .8110), tau^2 .070, in the vignette of metamisc.

    Standard errors are as there: published ones, those of published intervals on the logit scale,
    and else those of R. G. Newcombe (2006), doi:10.1002/sim.2323, from the numbers of events.
    """
    c, n, n_events = reviewed["c"], reviewed["n"], reviewed["events"]
    half = n / 2 - 1
    newcombe = c * (1 - c) * (1 + half * (1 - c) / (2 - c) + half * c / (1 + c))
    newcombe = np.sqrt(newcombe / (n_events * (n - n_events)))
    width = logit(reviewed["c_high"]) - logit(reviewed["c_low"])
    of_interval = c * (1 - c) * width / 2 / norm.isf(0.025)
    errors = reviewed["c_error"].fillna(of_interval).fillna(newcombe)
    found = pool_estimates(c, errors, scale="logit")
    np.testing.assert_allclose(found[:3], [0.7888603, 0.7648784, 0.8110005], atol=5e-5)
    assert found.heterogeneity**2 == pytest.approx(0.070, abs=5e-4)
    assert found.low_of_next < 0.6793 < 0.8683 < found.high_of_next


@pytest.mark.parametrize(
    ("scale", "move", "turn_back", "slope"),
    [
        ("log", np.log, np.exp, lambda x: 1 / x),
        ("logit", logit, expit, lambda x: 1 / (x * (1 - x))),
    ],
)
def test_scales(scale, move, turn_back, slope, rng):
    values, errors = rng.uniform(0.4, 0.9, 8), rng.uniform(0.01, 0.1, 8)
    found = pool_estimates(values, errors, scale=scale, confidence_level=0.9)
    expected = pool_estimates(move(values), errors * slope(values), confidence_level=0.9)
    np.testing.assert_allclose(found[:5], turn_back(np.array(expected[:5])))
    assert found.heterogeneity == expected.heterogeneity
    assert (found.scale, found.confidence_level) == (scale, 0.9)
    assert found.low_of_next < found.low < found.estimate < found.high < found.high_of_next


def test_two_groups_tell_nothing_of_a_third():
    assert pool_estimates([1, 2], [0.1, 0.1])[3:5] == (-np.inf, np.inf)
    assert pool_estimates([1, 2], [0.1, 0.1], scale="log")[3:5] == (0, np.inf)
    assert pool_estimates([0.6, 0.8], [0.1, 0.1], scale="logit")[3:5] == (0, 1)


def test_equal_estimates_have_no_heterogeneity():
    found = pool_estimates([0.7] * 5, [0.1] * 5)
    assert found.estimate == pytest.approx(0.7)
    assert found.heterogeneity == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("estimates", "errors", "options", "message"),
    [
        ([1], [0.1], {}, "estimates must be those of at least two groups; got 1"),
        ([1, 2], [0.1], {}, "errors must have one for each of the 2 estimates; got 1"),
        ([1, 2], [0.1, 0], {}, "errors must lie above 0; got 0 at 1"),
        ([1, 0], [0.1, 1], {"scale": "log"}, "estimates must lie between 0 and inf on the log"),
        ([0.5, 1], [0.1, 1], {"scale": "logit"}, "between 0 and 1 on the logit scale; got 1 at 1"),
        ([1, np.nan], [0.1, 0.1], {}, "estimates must be a sequence of finite numbers"),
        ([1, 2], [[0.1], [0.1]], {}, "errors must be a sequence of finite numbers"),
        ([1, 2], [0.1, 0.1], {"scale": "ratio"}, "scale must be one of"),
        ([1, 2], [0.1, 0.1], {"confidence_level": 95}, "confidence_level must be"),
    ],
)
def test_bad_arguments(estimates, errors, options, message):
    with pytest.raises(ValueError, match=message):
        pool_estimates(estimates, errors, **options)
