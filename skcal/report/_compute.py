"""What a report holds: each part computed in turn, of one model or several."""

from dataclasses import replace
from datetime import datetime
from numbers import Integral

import numpy as np

from skcal import __version__
from skcal._input._conditions import choose_rows
from skcal._input._validation import (
    check_confidence_level,
    check_flag,
    check_inside,
    check_integer,
    check_option,
    check_rng,
)
from skcal._tools._progress import read_progress
from skcal.diagrams import ReliabilityDisplay
from skcal.inference import audit_features, audit_groups, compare_calibration
from skcal.report._binary_problem import (
    check_clinical,
    check_labels_alone,
    list_models,
    read_problems,
)
from skcal.report._clinical import describe_clinical
from skcal.report._judgement import count_for_labels, judge_rows, share_level
from skcal.report._quantities import describe_measures, describe_sample, describe_scores
from skcal.report._recalibration import describe_recalibration
from skcal.report._records import ModelReport
from skcal.report._sentence import write_sentence

# Parts of a report that a bar counts: measures, the verdict, recalibration, and the diagram;
# a clinical section and each audit count one more.
_N_PARTS = 4


def compute_report(
    y_true,
    y_proba,
    *,
    sample_weight,
    pos_label,
    clusters,
    groups,
    scale,
    confidence_level,
    tolerance,
    clinical,
    n_jobs,
    random_state,
    labels=None,
    features=None,
    reduction="auto",
    n_resamples=499,
    progress=None,
):
    """The fields of a `CalibrationReport`, from the arguments of `calibration_report`."""
    check_option("reduction", reduction, ("auto", "confidence", "multilabel"))
    check_option("scale", scale, ("probability", "logit"))
    check_flag("clinical", clinical)
    show = read_progress(progress)
    options = {
        "scale": scale,
        "confidence_level": check_confidence_level(confidence_level),
        "tolerance": check_inside("tolerance", tolerance),
        "n_resamples": check_integer("n_resamples", n_resamples, minimum=2),
        "n_jobs": n_jobs,
        "seed": _draw_seed(random_state),
    }
    data = {
        "sample_weight": sample_weight,
        "pos_label": pos_label,
        "labels": labels,
        "clusters": clusters,
    }
    if reduction == "multilabel":
        check_labels_alone(groups=groups, features=features, clinical=clinical or None)
    problems = read_problems(y_true, y_proba, reduction=reduction, **data)
    n_labels = len(problems) if reduction == "multilabel" else 1
    if features is not None:  # before anything takes time
        choose_rows("features", features, np.ones(len(y_true), dtype=bool))
    if clinical:
        check_clinical(problems)
    rules = data | {
        "reduction": reduction,
        "confidence_level": options["confidence_level"],
        "n_resamples": options["n_resamples"],
        "n_jobs": n_jobs,
        "random_state": options["seed"],
    }
    models = {}
    n_parts = _N_PARTS + clinical + (groups is not None) + (features is not None)
    parts = iter(show(range(len(problems) * n_parts)))
    next(parts)  # which starts the bar
    for name in problems:
        model = _report_model(problems[name], parts, n_labels, **options)
        if clinical:
            next(parts)
            model = _add_clinical(model, problems[name], **options)
        if groups is not None:
            next(parts)
            model = _add_groups(model, y_true, list_models(y_proba)[name], groups, **rules)
        if features is not None:
            next(parts)
            model = _add_features(model, y_true, list_models(y_proba)[name], features, **rules)
        next(parts, None)
        models[name] = model
    comparison = None
    if len(models) > 1 and reduction != "multilabel":
        del rules["n_jobs"]
        comparison = compare_calibration(y_true, y_proba, **rules)
    level, now = options["confidence_level"], datetime.now().astimezone()
    return models, level, options["tolerance"], comparison, now, __version__


def _add_clinical(model, problem, *, confidence_level, n_jobs, seed, **_):
    options = {"confidence_level": confidence_level, "n_jobs": n_jobs, "seed": seed}
    return model._replace(clinical=describe_clinical(problem, **options))


def _add_groups(model, y_true, y_proba, groups, **rules):
    found = audit_groups(y_true, y_proba, groups, **rules)
    return model._replace(sentence=f"{model.sentence} {found}", groups=found)


def _add_features(model, y_true, y_proba, features, *, confidence_level, **rules):
    found = audit_features(y_true, y_proba, features, alpha=1 - confidence_level, **rules)
    return model._replace(sentence=f"{model.sentence} {found}", features=found)


def _draw_seed(random_state):
    """One seed for all models and all that is random, that of the functions which it calls."""
    rng = check_rng(random_state)
    return random_state if isinstance(random_state, Integral) else int(rng.integers(1 << 31))


def _report_model(problem, parts, n_labels, *, scale, tolerance, **options):
    level, sample = options["confidence_level"], describe_sample(problem)
    options["confidence_level"] = confidence_level = share_level(level, n_labels)
    measures, smooth = describe_measures(problem, scale=scale, **options)
    next(parts)
    # The p-value of a label counts as often as there are labels, and has to be smaller by as much.
    options["n_resamples"] = min(n_labels * (options["n_resamples"] + 1) - 1, 1 << 24)
    verdict, facts = judge_rows(problem, sample, smooth=smooth, tolerance=tolerance, **options)
    facts = count_for_labels(facts, n_labels, level)
    evidence, error = facts["evidence"], facts["evidence"].error
    next(parts)
    recalibration = describe_recalibration(problem, confidence_level=confidence_level)
    next(parts)
    return ModelReport(
        verdict=verdict,
        sentence=write_sentence(verdict, facts),
        sample=sample,
        scores=describe_scores(problem, sample.frequency, recalibration, confidence_level),
        measures=measures,
        test=evidence.test,
        class_test=evidence.class_test,
        cell_test=evidence.cell_test,
        fine_test=evidence.fine_test,
        pvalue=evidence.pvalue,
        error=error.size,
        error_low=error.low,
        error_bound=error.bound,
        error_scale=error.scale,
        tolerated=facts["tolerated"],
        discrimination_pvalue=facts["discrimination_pvalue"],
        direction=facts["direction"],
        recalibration=recalibration,
        diagram=_describe_diagram(problem, sample, scale, confidence_level, evidence.finds_answers),
        n_labels=n_labels,
    )


def _describe_diagram(problem, sample, scale, confidence_level, finds_answers):
    """The diagram of a problem.

    Its band is the narrow one of single points where a test finds an error, which shows what it is.
    Where none does, some points would leave it by chance: there the band is the exact one of the
    whole curve, if rows are independent and count alike.
    """
    is_exact = problem.has_equal_weights and problem.member is None
    display = ReliabilityDisplay.estimate(
        *problem.data,
        sample_weight=None if problem.has_equal_weights else problem.weights,
        labels=problem.keywords["labels"],
        reduction=problem.reduction,
        scale=scale,
        clusters=problem.member,
        band="isotonic" if is_exact and not finds_answers else "wilson",
        interval=False,
        confidence_level=confidence_level,
    )
    if sample.pos_label is not None:
        display.curves = [replace(curve, pos_label=sample.pos_label) for curve in display.curves]
    return display
