"""Places by evidence, and how far a kernel reaches there."""

import numpy as np
import pytest

from skcal._input._sample import Sample
from skcal._numerics.curves._adaptive import (
    N_BANDWIDTHS,
    choose_bandwidth,
    find_evidence,
    place_by_evidence,
)


def test_places_are_the_mean_of_both_shares():
    # Variances .25 and .09: shares of the rows 1/4 and 3/4, of the information .25 and .27 of .52.
    places = place_by_evidence(np.array([0.5, 0.9]), np.array([1.0, 3.0]))
    rows, information = [1 / 8, 5 / 8], [0.125 / 0.52, (0.25 + 0.135) / 0.52]
    np.testing.assert_allclose(places, np.mean([rows, information], axis=0))
    # Where nothing is uncertain, rows alone; and weights have no unit.
    np.testing.assert_allclose(
        place_by_evidence(np.array([0.0, 1.0]), np.array([2e300, 2e300])), [0.25, 0.75]
    )


def test_outcomes_that_no_prediction_knows_of_are_evidence():
    y, v = np.array([1.0, 0.0, 0.0, 1.0]), np.array([0.001, 0.001, 0.999, 0.999])
    found = find_evidence(Sample(y * 0 + v, y).sorted)
    assert found == pytest.approx((0.999**2 + 0.001**2) / 2)
    calm = find_evidence(Sample(v, np.array([0.0, 0.0, 1.0, 1.0])).sorted)
    assert calm == pytest.approx(0.001 * 0.999)


def test_bandwidth_gathers_25_events_where_it_can():
    for n_events in (20, 40, 100, 140):
        assert n_events * N_BANDWIDTHS * choose_bandwidth(n_events, 25) == pytest.approx(25)
    assert choose_bandwidth(0.0, 25) == choose_bandwidth(10, 25) == 0.5
    assert choose_bandwidth(1e6, 25) == 0.05
