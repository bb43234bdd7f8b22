"""What chance alone gives to a measure."""

from skcal._input._validation import check_rng
from skcal._sources._bound_measure import bind_for_rows, bind_rows
from skcal._sources._resamples import Units
from skcal._sources._row_source import RowSource
from skcal.inference import calibration_test


def compare_with_chance(
    y_true,
    y_proba,
    measure,
    *,
    sample_weight,
    labels,
    clusters,
    n_resamples,
    n_jobs,
    seed,
    reduction="auto",
    **options,
):
    """The value of a measure, and its mean for calibrated rows of the same predictions.

    Of clusters the mean is that over signs of whole clusters, which is nearly right also where
    their law is not.
    """
    rows = {"sample_weight": sample_weight, "labels": labels}
    if clusters is None:
        rows |= {"reduction": reduction, "n_jobs": n_jobs, "random_state": seed}
        found = calibration_test(
            y_true, y_proba, statistic=measure, n_resamples=n_resamples, **rows, **options
        )
        return found.estimate, found.null_mean
    statistic = bind_for_rows(
        "measure", measure, options, reduction, sample_weight, compare_with_chance
    )
    statistic, rows, is_binary = bind_rows(statistic, y_true, y_proba, pos_label=None, **rows)
    source = RowSource(statistic, rows, is_binary, Units(rows.n_rows, clusters))
    drawn = source.make_null().draw(check_rng(seed), n_resamples)
    return source.estimate, float(drawn.mean())
