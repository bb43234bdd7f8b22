"""The numbers of a report as a data frame, and as one for a paper."""

import numpy as np
import pandas as pd

from skcal._tools._words import show_interval, show_pvalue
from skcal.report._sections import MEASURE_TITLES, SCORE_TITLES

_PVALUE, _COUNTS = ", p-value", ("n_rows", "n_clusters")
_CLINICAL = {
    "observed_expected": "Observed over expected",
    "clinical_calibration_in_the_large": "Calibration in the large",
    "clinical_slope": "Calibration slope",
    "clinical_intercept_test": f"Calibration in the large 0{_PVALUE}",
    "clinical_slope_test": f"Calibration slope 1{_PVALUE}",
    "clinical_test": f"Both{_PVALUE}",
    "ici": "ICI",
    "e50": "E50",
    "e90": "E90",
    "emax": "Emax",
}
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


def make_paper_frame(models, confidence_level):
    """Readable texts, one row for each quantity and a column for each model."""
    columns = {
        "Estimate" if name is None else name: dict(_list_texts(model))
        for name, model in models.items()
    }
    titles = dict.fromkeys(title for texts in columns.values() for title in texts)
    index = pd.Index(titles, name=f"{100 * confidence_level:g} per cent intervals")
    return pd.DataFrame(columns, index=index).fillna("")


def _list_texts(model):
    """Yield titles and what stands beside them, without what TeX or Markdown would read."""
    yield "Verdict", model.verdict
    numbers = dict(_list_quantities(model))
    for name, title in _name_quantities(model).items():
        found = numbers.get(name, {})
        estimate, low, high = (found.get(part) for part in COLUMNS[2:5])
        if estimate is None or np.isnan(estimate):
            continue
        if name in _COUNTS:
            yield title, f"{estimate:.0f}"
        elif low is not None:
            yield title, show_interval(estimate, low, high)
        elif title.endswith(_PVALUE):
            yield title, _tell_pvalue(found["estimate"])
        else:
            yield title, f"{estimate:.3g}"
        if name in MEASURE_TITLES:
            yield f"{title}, by chance", f"{found['null_mean']:.2g}"


def _name_quantities(model):
    """Titles of the quantities that a paper has, in their order."""
    reads_confidence = model.sample.pos_label is None
    mean, rate = ("confidence", "accuracy") if reads_confidence else ("prediction", "outcome")
    scores = {name: title[0].upper() + title[1:] for name, title in SCORE_TITLES.items()}
    names = {
        "n_rows": "Rows",
        "n_clusters": "Clusters",
        "mean_prediction": f"Mean {mean}",
        "mean_outcome": f"Mean {rate}" if not reads_confidence else "Accuracy",
        **{name: title[0].upper() + title[1:] for name, title in MEASURE_TITLES.items()},
        "average_error": "Average error without chance",
        "pvalue": f"Calibrated{_PVALUE}",
        "groups_pvalue": f"Calibrated in all groups{_PVALUE}",
        **scores,
        "overconfidence": "Confidence minus accuracy",
        "bias": "Prediction minus outcome",
        "slope": "Slope",
        "log_odds_slope": "Slope of log odds",
        **_CLINICAL,
        **{
            f"recalibrated_{name}": f"{title} after recalibration" for name, title in scores.items()
        },
        "log_loss_gain": "Log loss gained by recalibration",
    }
    if reads_confidence:
        del names["bias"]
    return names


def _tell_pvalue(pvalue):
    """A p-value without signs that TeX sets as others."""
    sign, number = show_pvalue(pvalue).split()[1:]
    return {"<": "below ", "<=": "at most ", "=": ""}[sign] + number


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
    if model.features is not None:
        audit = model.features
        yield "features_pvalue", {"estimate": audit.pvalue}
        yield "features_error", {"estimate": audit.error, "low": audit.error_low}
        yield "features_gain", {"estimate": audit.gain, "low": audit.gain_low}
    if model.clinical is not None:
        yield from _list_clinical(model.clinical)
    if model.validation is not None:
        for name, found in model.validation.measures.items():
            yield f"corrected_{name}", found.corrected._asdict()
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
