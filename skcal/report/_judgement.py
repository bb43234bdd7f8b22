"""From rows to a verdict, and the facts that its sentence tells."""

from skcal._numerics.inference._verdict import count_enough, find_discrimination_pvalue
from skcal._tools._words import round_up
from skcal.report._evidence import find_plain_pvalue, weigh_evidence
from skcal.report._verdict import (
    describe_direction,
    describe_regions,
    find_signs,
    find_tolerated,
    find_verdict,
    name_error,
)


def judge_rows(problem, sample, *, smooth, tolerance, **options):
    """The verdict, and facts as `write_sentence` takes them.

    `smooth` is SmoothECE with its mean by chance. `options` are `confidence_level`, `n_resamples`,
    `n_jobs` and `seed`.
    """
    level = options["confidence_level"]
    evidence, regions = weigh_evidence(problem, smooth, **options), ()
    # Where no test finds an error none is to be located: one level holds for all.
    if evidence.finds_answers:
        regions = describe_regions(problem, level, options["n_resamples"], options["seed"])
    direction = describe_direction(problem, level, regions)
    signs, error = find_signs(direction), "miscalibrated"
    if evidence.finds_answers:
        clear = evidence.clear_size, evidence.worst.size if evidence.finds_classes else 0.0
        error = name_error(problem, direction, signs, *clear, level)
    discrimination = find_discrimination_pvalue(
        problem.shares, problem.proba, problem.codes, problem.member
    )
    tolerated = find_tolerated(sample, tolerance)
    facts = {
        "summary": sample,
        "evidence": evidence,
        "error": error,
        "signs": signs,
        "direction": direction,
        "discrimination_pvalue": discrimination,
        "tolerated": tolerated,
        "tolerance": tolerance,
        "n_enough": _count_enough(problem, sample, evidence.error.bound, tolerated, level),
        "confidence_level": level,
        "plain_pvalue": find_plain_pvalue(problem, **options),
        **problem.describe_accuracy(),
    }
    return find_verdict(evidence, error, tolerated, discrimination, level), facts


def _count_enough(problem, sample, bound, tolerated, confidence_level):
    """About how many rows like these a calibrated model needs to be called so."""
    predictions, _ = problem.read_rows()
    variance = float(problem.shares @ (predictions * (1 - predictions)))
    size = sample.effective_sample_size
    factor = count_enough(variance, size, bound, tolerated, confidence_level)
    return round_up(factor * sample.n_rows)
