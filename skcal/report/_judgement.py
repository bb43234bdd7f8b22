"""From rows to a verdict, and the facts that its sentence tells."""

from skcal._numerics.inference._verdict import count_enough, find_discrimination_pvalue
from skcal._tools._least_pvalue import carry_least
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

_ROUNDING = 1e-12


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


def count_for_labels(facts, n_labels, confidence_level):
    """The same facts with p-values that count once for each of several labels (Bonferroni).

    `confidence_level` is that of all labels at once.
    """
    if n_labels == 1:
        return facts
    evidence, plain = facts["evidence"], facts["plain_pvalue"]
    return facts | {
        "n_labels": n_labels,
        "evidence": evidence._replace(pvalue=count_pvalue(evidence.pvalue, n_labels)),
        "discrimination_pvalue": count_pvalue(facts["discrimination_pvalue"], n_labels),
        "plain_pvalue": None if plain is None else count_pvalue(plain, n_labels),
        "confidence_level": confidence_level,
    }


def count_pvalue(pvalue, n_labels):
    """A p-value times the number of labels."""
    return carry_least(min(n_labels * pvalue, 1.0), pvalue)


def share_level(confidence_level, n_labels):
    """Level of each of several labels that hold at `confidence_level` together."""
    if n_labels == 1:
        return confidence_level
    # p-values of draws may be equal to the level up to rounding: they count as that.
    return 1 - (1 - confidence_level) / n_labels - _ROUNDING


def _count_enough(problem, sample, bound, tolerated, confidence_level):
    """About how many rows like these a calibrated model needs to be called so."""
    predictions, _ = problem.read_rows()
    variance = float(problem.shares @ (predictions * (1 - predictions)))
    size = sample.effective_sample_size
    factor = count_enough(variance, size, bound, tolerated, confidence_level)
    return round_up(factor * sample.n_rows)
