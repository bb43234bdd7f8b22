"""The fit of a temperature: closed forms, its ends, and its count."""

import array_api_strict as xp
import numpy as np
import pytest
from scipy.special import softmax

from skcal._numerics.recalibration import _temperature as temperature
from skcal._numerics.recalibration._row_blocks import RowBlocks
from skcal._numerics.recalibration._temperature import fit_temperature


def make_one_hot(n_classes, share):
    """Two equal rows of logits 1, 0, 0 ...; the share of the first is right."""
    logits = np.eye(1, n_classes).repeat(2, axis=0)
    return logits, np.array([0, 1]), np.array([share, 1 - share])


@pytest.mark.parametrize(
    ("n_classes", "share"), [(2, 0.6), (2, 0.99), (10, 0.9), (1000, 0.6), (10_000, 0.99)]
)
def test_the_share_of_right_answers_decides(n_classes, share):
    """It is exp(1 / T) / (exp(1 / T) + n_classes - 1).

    With many classes the first step goes so far that all probabilities are 0 or 1.
    """
    logits, codes, weights = make_one_hot(n_classes, share)
    expected = 1 / np.log(share * (n_classes - 1) / (1 - share))
    for scale in (1e-150, 1e-6, 1e6):
        found, n_iter = fit_temperature(scale * logits, codes, 7 * weights)
        assert found / scale == pytest.approx(expected, rel=1e-12)
        assert n_iter < 20
        # Up to the square root of rounding errors, as this score is flat at its minimum.
        if n_classes <= 10:
            found, _ = fit_temperature(scale * logits, codes, weights, loss="brier")
            assert found / scale == pytest.approx(expected, rel=2e-7)


@pytest.mark.parametrize("mask", [1e6, 1e30])
def test_differences_beyond_a_million_medians_count_as_that(mask):
    """Log-odds of 1, right in 80 %, and a row of weight 1e-7 whose true class is ruled out.

    The log loss has the derivative 0 where sigmoid(1 / T) = 0.8 - 1e-7 min(mask, 1e6), the Brier
    score where sigmoid(1 / T) = 0.8: what is ruled out stays so whatever T is.
    """
    logits = np.array([[0, 1.0], [0, 1.0], [0, mask]])
    sample = logits, np.array([1, 0, 0]), np.array([0.8, 0.2, 1e-7])
    assert fit_temperature(*sample)[0] == pytest.approx(1 / np.log(0.7 / 0.3), rel=1e-9)
    found, _ = fit_temperature(*sample, loss="brier")
    assert found == pytest.approx(1 / np.log(0.8 / 0.2), rel=1e-6)


@pytest.mark.parametrize(("n_masks", "mask"), [(1, 1e9), (4, 1e150)])
def test_differences_next_to_none_are_none_beside_masks(n_masks, mask):
    """Log-odds of 1, right in 80 %, more that say nothing, and masks of what did not come true."""
    logits = np.concatenate([np.ones(5), np.full(9, 1e-250), np.full(n_masks, mask)])[:, None]
    codes = np.array([1, 1, 1, 1, 0] + [0] * 4 + [1] * 5 + [1] * n_masks)
    for unit in (1.0, 1e-13):
        weights = np.full(len(codes), unit)
        found, _ = fit_temperature(np.hstack([0 * logits, logits]), codes, weights)
        assert found == pytest.approx(1 / np.log(0.8 / 0.2), rel=1e-9)


@pytest.mark.parametrize(("n_classes", "n_masks"), [(3, 1), (6, 2), (5, 2), (10, 8)])
def test_masks_of_classes_that_did_not_come_true(n_classes, n_masks, rng):
    """However large they are, however many, and in any library."""
    logits = 2 * rng.normal(size=(301, n_classes))
    codes = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    order = rng.random(logits.shape)
    order[np.arange(301), codes] = 2
    wrong = order.argsort(axis=1)[:, :n_masks]
    expected = None
    for mask in (1e3, 1e12, 1e30, 1e90):
        np.put_along_axis(logits, wrong, -mask, axis=1)
        found, _ = fit_temperature(logits, codes)
        expected = expected or found
        assert found == pytest.approx(expected, rel=1e-9)
        arrays = xp.asarray(logits), xp.asarray(codes)
        assert fit_temperature(*arrays, xp=xp)[0] == pytest.approx(found, rel=1e-9)


def test_scores_that_are_no_better_than_none():
    """T is 1e12 times the largest difference, here 1e6 times the median of 1, 2, 3, 4, 1e9."""
    assert fit_temperature(np.array([[0, 5.0], [0, 5.0]]), np.array([0, 1])) == (5e12, 1)
    logits = np.array([[0, 1.0], [0, 2], [0, 3], [0, 4], [0, 1e9]])
    found = fit_temperature(logits, np.zeros(5, dtype=int))
    assert found == (pytest.approx(3e18, rel=1e-12), 1)


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_rows_without_information_do_not_matter(rng, loss):
    logits, codes = rng.normal(size=(60, 4)), rng.integers(0, 4, 60)
    logits[np.arange(60), codes] += 0.5
    even, more_codes = np.full((2, 4), 1e30), np.append([0, 1], codes)
    expected, _ = fit_temperature(logits, codes, loss=loss)
    found, _ = fit_temperature(np.vstack([even, logits]), more_codes, loss=loss)
    assert found == pytest.approx(expected, rel=1e-6)
    assert fit_temperature(even, np.array([0, 1]), loss=loss) == (1.0, 0)


def test_evaluations_are_counted(record):
    """Near even odds the loss is quadratic: it is read at 0 and where the first step leads to."""
    log_fits = record(temperature, "_minimise_log_loss")
    brier_fits = record(temperature, "_minimise_brier_score")
    found = fit_temperature(*make_one_hot(2, 0.5001), loss="brier")
    (_, (_, n_log)), (_, (inverse, n_brier)) = *log_fits, *brier_fits
    assert n_log == 2
    assert n_brier > len(temperature._BRIER_GRID)
    assert found == (pytest.approx(1 / inverse, rel=1e-12), n_log + n_brier)
    assert fit_temperature(*make_one_hot(2, 0.5001))[1] == 2


def make_many(rng):
    """Rows enough for a part of them to tell where to start; the best temperature is near 2."""
    logits = rng.normal(size=(9000, 120))
    return 2 * logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1), rng.random(9000)


def find_slope(logits, codes, weights, found):
    """Derivative of the mean log loss by the inverse of the temperature."""
    mean = (softmax(logits / found, axis=1) * logits).sum(axis=1)
    return np.average(mean - logits[np.arange(len(codes)), codes], weights=weights)


def test_many_rows_start_from_a_part_and_end_at_the_optimum(rng, record):
    sample = make_many(rng)
    starts = record(temperature, "_start_from_part")
    found, _ = fit_temperature(*sample)
    assert any(start is not None for _, start in starts)
    assert abs(find_slope(*sample, found)) < 1e-11
    again, n_again = fit_temperature(*sample, start=found)
    assert again == pytest.approx(found, rel=1e-12)
    assert n_again <= 3


def test_a_part_without_information_gives_no_start(rng):
    """Where its logits are worse than none: every 16th row is wrong for sure."""
    logits, codes, weights = make_many(rng)
    codes[::16] = logits[::16].argmin(axis=1)
    found, _ = fit_temperature(logits, codes, weights)
    assert abs(find_slope(logits, codes, weights, found)) < 1e-11


@pytest.mark.parametrize("loss", ["log", "brier"])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_blocks_of_rows_and_columns_are_what_the_array_of_them_is(kind, loss, rng):
    """300 classes of 700 are read anew in each pass, in several blocks."""
    values = (2 * rng.normal(size=(900, 700))).astype(kind)
    rows, columns = rng.permutation(900)[:600], rng.permutation(700)[:300]
    blocks = RowBlocks(values).take_rows(rows).take_columns(columns)
    whole = values[np.ix_(rows, columns)].astype(np.float64)
    assert blocks.shape == whole.shape
    assert len(blocks.list_slices()) > 1
    read = np.concatenate([blocks[part] for part in blocks.list_slices()])
    np.testing.assert_array_equal(read, whole)
    codes, weights = (whole / 2 + rng.gumbel(size=whole.shape)).argmax(axis=1), rng.random(600)
    found, _ = fit_temperature(blocks, codes, weights, loss=loss)
    assert found == fit_temperature(whole, codes, weights, loss=loss)[0]
    if loss == "log":
        assert abs(find_slope(whole, codes, weights, found)) < 1e-11


def test_blocks_are_raised_as_whole_rows_are(rng):
    values = rng.normal(size=(500, 400))
    values[0, :3] = -np.inf
    low = values.max(axis=1, keepdims=True) - 2
    expected = np.where(values == -np.inf, values, np.maximum(values, low))
    raised = RowBlocks(values).floor(2.0).take_columns(np.arange(100)).take_rows(np.arange(400))
    np.testing.assert_array_equal(raised[3:40], expected[3:40, :100])
    np.testing.assert_array_equal(raised[0:1], expected[:1, :100])
    blocks = RowBlocks(values)
    assert blocks.floor(100.0) is blocks


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_ranks_are_those_of_sorted_numbers(n, rng):
    values = np.exp(30 * rng.normal(size=n))
    values[: n // 3] = values[0]
    parts = np.array_split(values, 3)
    found = [temperature._find_rank(lambda: parts, rank) for rank in range(n)]
    assert found == sorted(values)


def test_an_impossible_class_is_none(rng):
    """Also where classes differ from row to row: 0 is the slope of the loss of the possible."""
    logits = 2 * rng.normal(size=(500, 6))
    codes = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    for n_more in (1, 400):
        more = np.hstack([logits, np.full((500, n_more), -np.inf)])
        for loss in ("log", "brier"):
            expected, _ = fit_temperature(logits, codes, loss=loss)
            assert fit_temperature(more, codes, loss=loss)[0] == pytest.approx(expected, rel=1e-7)
            arrays = xp.asarray(more), xp.asarray(codes)
            found, _ = fit_temperature(*arrays, loss=loss, xp=xp)
            assert found == pytest.approx(expected, rel=1e-7)
    is_out = rng.random(logits.shape) < 0.4
    is_out[np.arange(500), codes] = False
    logits[is_out] = -np.inf
    found, _ = fit_temperature(logits, codes)
    filled = np.where(is_out, 0, logits)
    mean = (softmax(logits / found, axis=1) * filled).sum(axis=1)
    assert abs(np.mean(mean - logits[np.arange(500), codes])) < 1e-11
    flat = np.where(is_out, -np.inf, 3.0)
    assert fit_temperature(flat, codes) == (1.0, 0)


def test_a_worse_score_than_none_of_the_possible_classes():
    """The mean over possible classes decides: of 0 and -1 the truth is the lower."""
    logits = np.array([[0, -1.0, -np.inf, -np.inf]] * 2)
    assert fit_temperature(logits, np.array([1, 1])) == (1e12, 1)
