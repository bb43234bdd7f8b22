"""The numbers of a report as a data frame."""

import numpy as np
import pandas as pd

COLUMNS = ("model", "quantity", "estimate", "low", "high", "null_mean")


def make_frame(models):
    """One row for each model and quantity; NaN stands for what a quantity does not have."""
    rows = [
        {"model": name, "quantity": quantity, **values}
        for name, model in models.items()
        for quantity, values in _list_quantities(model)
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    frame["model"] = frame["model"].astype(object).where(frame["model"].notna(), None)
    return frame.astype(dict.fromkeys(COLUMNS[2:], np.float64))


def _list_quantities(model):
    """Yield names of quantities and their numbers, by column."""
    for name in ("n_rows", "n_clusters", "design_effect", "effective_sample_size"):
        value = getattr(model.sample, name)
        if value is not None:
            yield name, {"estimate": value}
    for name in ("mean_prediction", "mean_outcome"):
        yield name, {"estimate": getattr(model.sample, name)}
    for name, measure in model.measures.items():
        yield name, measure._asdict()
    yield "pvalue", {"estimate": model.pvalue}
    for name in ("test", "class_test", "cell_test", "fine_test"):
        test = getattr(model, name)
        if test is not None:
            yield f"{name}_pvalue", {"estimate": test.pvalue}
    ends = {"low": model.error_low, "high": model.error_bound}
    yield "average_error", {"estimate": model.error, **ends}
    yield "discrimination_pvalue", {"estimate": model.discrimination_pvalue}
    for name, score in model.scores.items():
        yield name, {"estimate": score.score}
        for part in ("miscalibration", "refinement", "base_rate"):
            yield f"{name}_{part}", {"estimate": getattr(score, part)}
        yield f"{name}_advantage", score.advantage._asdict()
    nulls = {"overconfidence": 0.0, "bias": 0.0, "slope": 1.0, "log_odds_slope": 1.0}
    for name, null in nulls.items():
        interval = getattr(model.direction, name)
        values = {} if interval is None else interval._asdict()
        yield name, {**values, "null_mean": null}
    if model.groups is not None:
        yield "groups_pvalue", {"estimate": model.groups.pvalue}
    if model.clinical is not None:
        yield from _list_clinical(model.clinical)
    summary = model.recalibration
    yield "recalibrated_log_loss", {"estimate": summary.log_loss_after}
    yield "recalibrated_brier_score", {"estimate": summary.brier_score_after}
    yield "log_loss_gain", {} if summary.gain is None else summary.gain._asdict()


def _list_clinical(clinical):
    yield "observed_expected", {**clinical.observed_expected._asdict(), "null_mean": 1.0}
    cox = clinical.recalibration
    for name, null in (("calibration_in_the_large", 0.0), ("slope", 1.0)):
        values = {} if cox is None else getattr(cox, name)._asdict()
        yield f"clinical_{name}", {**values, "null_mean": null}
    for name in ("intercept_test", "slope_test", "test"):
        yield f"clinical_{name}", {} if cox is None else {"estimate": getattr(cox, name).pvalue}
    for name in ("ici", "e50", "e90", "emax"):
        yield name, getattr(clinical, name)._asdict()
