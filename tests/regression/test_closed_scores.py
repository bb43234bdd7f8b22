"""CRPS of Student, gamma and Poisson distributions: closed forms against integrals and sums."""

import numpy as np
import pytest
from scipy import stats

from skcal.regression import _predictive_scores
from skcal.regression import continuous_ranked_probability_score as score
from skcal.regression._predictive_scores import _integrate, _score_discrete

RNG = np.random.default_rng(0)
SPREAD = np.exp(RNG.normal(0, 3, 60))
LAWS = {
    "student": (stats.t(1 + SPREAD, loc=RNG.normal(size=60), scale=2.0), _integrate),
    "one student": (stats.t(4), _integrate),
    "nearly normal": (stats.t(np.geomspace(1e3, 1e12, 60)), _integrate),
    "without a mean": (stats.t(np.linspace(0.8, 1.2, 60)), _integrate),
    "gamma": (stats.gamma(SPREAD, loc=0.5, scale=SPREAD[::-1]), _integrate),
    "steep gamma": (stats.gamma(np.geomspace(1e-2, 5.0, 60)), _integrate),
    "poisson": (stats.poisson(SPREAD), _score_discrete),
    "rare": (stats.poisson(np.geomspace(1e-9, 1e-1, 60)), _score_discrete),
    "moved": (stats.poisson(SPREAD, loc=0.25), _score_discrete),
    "many": (stats.poisson(1e4), _score_discrete),
}


@pytest.mark.parametrize("kind", LAWS)
def test_scores_by_their_definition(kind):
    law, by_definition = LAWS[kind]
    for targets in (law.rvs(60, random_state=1), RNG.normal(0, 5, 60), np.zeros(60)):
        expected = by_definition(targets, law)
        values, _ = _predictive_scores._score_rows(targets, law)
        np.testing.assert_allclose(values, expected, rtol=2e-8)


@pytest.mark.parametrize("law", [stats.t(5.0), stats.gamma(2.0), stats.poisson(3.0)])
def test_no_row_is_integrated(law, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("integrated")

    monkeypatch.setattr(_predictive_scores, "_integrate", refuse)
    monkeypatch.setattr(_predictive_scores, "_score_discrete", refuse)
    assert score(law.rvs(50, random_state=0), law) > 0


BAD = [stats.t(-1.0), stats.gamma([1.0, 2.0, 3.0]), stats.poisson(np.nan)]


@pytest.mark.parametrize("law", BAD)
def test_bad_parameters_are_refused(law):
    with pytest.raises(ValueError, match="distribution"):
        score([0.0, 1.0], law)
