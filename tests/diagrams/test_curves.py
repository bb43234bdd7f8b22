"""Curves of a display: where they are drawn, lists, legend entries."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skcal.diagrams import CalibrationSharpnessDisplay, ReliabilityDisplay
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


# ------------------------------------------------------------------------- hand-made displays

THREE = {"prob_pred": [0.1, 0.5, 0.9], "prob_true": [0.2, 0.5, 0.8]}
BAD_ARRAYS = {
    "no points": ({"prob_pred": None}, "prob_pred must hold the points of a curve; got None"),
    "empty": ({"prob_pred": [], "prob_true": []}, r"one-dimensional array, .* got shape \(0,\)"),
    "matrix": ({"prob_pred": np.ones((2, 3))}, r"prob_pred must be a one-dim.* shape \(2, 3\)"),
    "short": ({"prob_true": [0.1, 0.2]}, "prob_true must be as long as prob_pred; got 2 and 3"),
    "density": ({"density": [1, 2]}, "density must be as long as prob_pred; got 2 and 3"),
    "no density": ({"density": [0, 0, 0]}, "density must be positive somewhere"),
}
BAD_RELIABILITY = {
    "grid": (
        {"density": [1, 2], "density_grid": [0.1, 0.2, 0.3]},
        "density must be as long as density_grid; got 2 and 3",
    ),
    "band": (
        {"prob_true_low": [0.1], "prob_true_high": [0.2]},
        "prob_true_low must be as long as prob_pred; got 1 and 3",
    ),
    "rug": ({"rug_pred": [0.1, 0.2], "rug_true": [1]}, "rug_true must be as long as rug_pred"),
    "witness": ({"witness_pred": [0.1], "witness": [0.1, 0.2]}, "witness must be as long as wit"),
    "half": ({"rug_pred": [0.1]}, "rug_pred and rug_true must be given together"),
    "interval": ({"smooth_ece": 0.1, "smooth_ece_interval": [1, 2, 3]}, "must be a pair of low"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS | BAD_RELIABILITY)
@pytest.mark.parametrize("panels", [False, True])
def test_arrays_that_do_not_fit(case, panels):
    changes, message = (BAD_ARRAYS | BAD_RELIABILITY)[case]
    arguments = {**THREE, **changes}
    if panels:
        arguments = {name: [values] for name, values in arguments.items()} | {"pos_label": ["a"]}
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay(**arguments).plot()
    assert not plt.get_fignums()


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_arrays_that_do_not_fit_beside_a_sharpness_gap(case):
    changes, message = BAD_ARRAYS[case]
    with pytest.raises(ValueError, match=message):
        CalibrationSharpnessDisplay(**{**THREE, **changes}).plot()
    with pytest.raises(ValueError, match="sharpness_gap must be as long as prob_pred; got 1 and 3"):
        CalibrationSharpnessDisplay(**THREE, sharpness_gap=[0.1]).plot()
    assert not plt.get_fignums()


@pytest.mark.parametrize("interval", [(0.05, 0.2), [0.05, 0.2], np.array([0.05, 0.2])])
def test_an_interval_may_be_any_pair(interval):
    display = ReliabilityDisplay(**THREE, smooth_ece=0.1, smooth_ece_interval=interval).plot()
    assert display.line_.get_label() == "smECE = 0.100 [0.050, 0.200]"


def test_support_is_read_where_the_curve_is():
    """The density of a display may be known at other points than the curve."""
    grid, points = np.linspace(0, 1, 101), np.linspace(0.5, 1, 101)
    density = np.exp(-0.5 * ((grid - 0.8) / 0.05) ** 2) / (0.05 * np.sqrt(2 * np.pi))
    display = ReliabilityDisplay(
        prob_pred=points,
        prob_true=points,
        density_grid=grid,
        density=density,
        bandwidth=0.05,
        n_samples=1000,
    ).plot()
    drawn = points[~np.ma.getmaskarray(display.line_.get_ydata())]
    reach = 0.05 * np.sqrt(2 * np.log(1000 / 5))
    assert drawn.min() == pytest.approx(0.8 - reach, abs=0.011)
    assert drawn.max() == pytest.approx(0.8 + reach, abs=0.011)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prob_pred": [0.0, 0.5, 1.5]}, r"prob_pred must lie in \[0, 1\]; got 1\.5"),
        ({"prob_pred": [0.0, np.nan, 1.0]}, r"prob_pred must lie in \[0, 1\]; got nan"),
        ({"prob_true": [0.0, 0.5, 1.7e308]}, r"prob_true must lie in \[0, 1\]; got 1\.7e\+308"),
        ({"prob_true": ["a", "b", "c"]}, "prob_true must hold real numbers"),
        ({"density": [-1.0, 0.5, 0.5]}, r"density must lie in \[0, 1e\+100\]; got -1"),
        (
            {"density": [0.0, 0.0, 5e-324]},
            "positive somewhere, above 1e-100; its maximum is 4.94",
        ),
    ],
)
def test_numbers_that_cannot_be_drawn(change, message):
    """They overflowed inside of matplotlib."""
    with pytest.raises(ValueError, match=message):
        CalibrationSharpnessDisplay(**{**THREE, **change}).plot()
