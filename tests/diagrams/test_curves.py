"""Curves of a display: where they are drawn, lists, legend entries."""

import numpy as np
import pytest

from skcal.diagrams._curves import (
    Curve,
    as_curves,
    as_list,
    check_lengths,
    find_supported,
    label_curves,
)

GRID = np.linspace(0, 1, 1001)


def _gaussian_curve(n_samples, bandwidth, centre=0.5):
    """The curve of n equal predictions; the kernel's reflections are far away."""
    density = np.exp(-0.5 * ((GRID - centre) / bandwidth) ** 2) / (bandwidth * np.sqrt(2 * np.pi))
    return Curve(GRID, np.full_like(GRID, 0.3), density, bandwidth, n_samples)


# ------------------------------------------------------------------------- support


@pytest.mark.parametrize(("n_samples", "bandwidth"), [(100, 0.03), (10_000, 0.03), (40, 0.08)])
def test_supported_where_the_kernel_gathers_five(n_samples, bandwidth):
    # n exp(-d^2 / 2 s^2) >= 5 up to the distance s sqrt(2 log(n / 5)), and one point more.
    supported = find_supported(_gaussian_curve(n_samples, bandwidth))
    reach = bandwidth * np.sqrt(2 * np.log(n_samples / 5))
    expected = np.abs(GRID - 0.5) <= reach
    assert not supported.all()
    assert supported.sum() == expected.sum() + 2
    assert supported[expected].all()


@pytest.mark.parametrize("n_samples", [1, 3, 9])
def test_supported_in_small_samples_at_half_of_the_peak(n_samples):
    bandwidth = 0.05
    supported = find_supported(_gaussian_curve(n_samples, bandwidth))
    expected = np.abs(GRID - 0.5) <= bandwidth * np.sqrt(2 * np.log(2))
    assert supported.sum() == expected.sum() + 2
    assert supported[expected].all()


def test_supported_point_is_visible_however_small_the_bandwidth():
    supported = find_supported(_gaussian_curve(1000, 1e-6))
    np.testing.assert_array_equal(np.flatnonzero(supported), [499, 500, 501])


@pytest.mark.parametrize("missing", ["density", "bandwidth", "n_samples"])
def test_supported_everywhere_when_nothing_is_known(missing):
    curve = _gaussian_curve(100, 0.01)._replace(**{missing: None})
    assert find_supported(curve).all()


# ------------------------------------------------------------------------- lists and labels


def test_lists_of_numbers_are_one_curve():
    assert as_curves([0.1, 0.2]) == [[0.1, 0.2]]
    assert len(as_curves(np.array([0.1, 0.2]))) == 1
    assert len(as_curves([[0.1, 0.2], [0.3]])) == 2
    assert as_curves(None) is None
    assert as_list(0.1) == [0.1]
    assert as_list("name") == ["name"]
    assert as_list(["a", "b"]) == ["a", "b"]
    assert as_list(None) is None


def test_check_lengths_names_the_list():
    check_lengths(2, prob_true=[1, 2], density=None)
    with pytest.raises(
        ValueError, match="density must have one entry for each of the 2 curves; got 3"
    ):
        check_lengths(2, prob_true=[1, 2], density=[1, 2, 3])


@pytest.mark.parametrize(
    ("names", "values", "separate", "expected"),
    [
        (["a"], [0.0344], True, ["a (smECE = 0.034)"]),
        (None, [0.0344], True, ["smECE = 0.034"]),
        (["a"], None, True, ["a"]),
        (None, None, True, [None]),
        (["a"], [0.0], True, ["a (smECE = 0.000)"]),
        (["a"], [0.01, 0.03], True, ["a (smECE = 0.010)", "a (smECE = 0.030)"]),
        (["a", "b"], [0.01, 0.03], True, ["a (smECE = 0.010)", "b (smECE = 0.030)"]),
        (["a"], [0.01, 0.03], False, ["a (smECE = 0.020 +/- 0.010)", None]),
        (None, [0.01, 0.03], False, ["smECE = 0.020 +/- 0.010", None]),
        (["a"], None, False, ["a", None]),
    ],
)
def test_label_curves(names, values, separate, expected):
    labels = label_curves(names, values, "smECE", len(expected), separate=separate)
    assert labels == expected
