"""How often certified thresholds break their promises, and what they accept.

    python benchmarks/bench_promises.py          # some minutes
    python benchmarks/bench_promises.py risks    # the last table alone, a minute

The first two tables promise that at most a tenth of the accepted rows are wrong.

The share of rows that are accepted, and in brackets how often the promise is broken. "As seen"
takes the lowest threshold above which a tenth of these rows were wrong at most. "To the first
failure" begins where the bound of Clopper and Pearson is first below a tenth, and goes down while
it is. Holm tests a hundred thresholds.

The second table has clusters of rows, all of them or one row of each. Predictions are calibrated;
the latent variables of the outcomes, and those of the predictions, are correlated in clusters.

The third table has other risks. At most a tenth of the events may be missed, a tenth of the others
be called, and fewer rows be on the wrong side than any threshold achieves, by a rounding error:
whoever promises that breaks the promise. "Both" are misses and errors, with the error rate of the
threshold that misses a twentieth.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, expit, logit
from scipy.stats import norm
from timing import print_table, show_progress

from skcal.inference import certified_threshold
from skcal.recalibration import AutoRecalibration

N_SAMPLES, AT_MOST, ALPHA = 600, 0.1, 0.05
SIZES = 500, 2000
# Samples of other risks, and rows of their clusters.
N_PROMISES, N_TOGETHER = 500, 5
# Rows that a map is fitted to, apart from those that a promise is made on.
N_FITTED = 1000
# Numbers of clusters, their rows, and correlations in them.
CLUSTERS = [(500, 2, 0.9), (500, 5, 0.9), (500, 5, 0.3), (2000, 5, 0.9), (2000, 5, 0.3)]


def draw(rng, n):
    """Outcomes and their probabilities."""
    truth = expit(1.8 * np.abs(rng.normal(size=n)))
    return (rng.random(n) < truth).astype(int), truth


def sort(y, v):
    order = np.argsort(-v, kind="stable")
    last = np.flatnonzero(np.diff(v[order], append=-np.inf))
    return v[order][last], last + 1, np.cumsum(1 - y[order])[last]


def take_as_seen(y, v):
    scores, counts, errors = sort(y, v)
    found = np.flatnonzero(errors <= AT_MOST * counts)
    return scores[found[-1]] if len(found) else np.inf


def go_to_first_failure(y, v):
    scores, counts, errors = sort(y, v)
    passed = bdtr(errors, counts, AT_MOST) <= ALPHA
    first = int(passed.argmax())
    if not passed.any():
        return np.inf
    rest = passed[first:]
    return scores[first + (len(rest) if rest.all() else int(rest.argmin())) - 1]


def test_by_holm(y, v):
    scores, counts, errors = sort(y, v)
    places = np.unique(np.searchsorted(counts, np.linspace(1, len(y), 100)))
    pvalues = bdtr(errors[places], counts[places], AT_MOST)
    order = np.argsort(pvalues)
    passed = pvalues[order] <= ALPHA / np.arange(len(order), 0, -1)
    n_passed = len(passed) if passed.all() else int(passed.argmin())
    return scores[places[order[:n_passed]]].min(initial=np.inf)


def certify(y, v, **options):
    return certified_threshold(y, v, at_most=AT_MOST, **options).threshold


METHODS = {
    "as seen": take_as_seen,
    "to the first failure": go_to_first_failure,
    "Holm": test_by_holm,
    "``certified_threshold``": certify,
}


def repair(rng):
    """A map that is fitted to rows of its own."""
    y, truth = draw(rng, N_FITTED)
    return AutoRecalibration().fit(exaggerate(truth)[:, None], y)


def exaggerate(truth):
    return expit(2.5 * logit(truth))


def make_scores(kind, rng):
    """Scores as a function of the true probability."""
    if kind == "over-confident":
        return exaggerate
    if kind == "repaired":
        fitted = repair(rng)
        return lambda truth: fitted.predict_proba(exaggerate(truth)[:, None])[:, 1]
    return lambda truth: truth


def tabulate():
    _, truth_new = draw(np.random.default_rng(1), 200_000)
    for kind in ("calibrated", "over-confident", "repaired"):
        for n in SIZES:
            accepted, broken = np.zeros((2, len(METHODS)))
            for seed in show_progress(range(N_SAMPLES), f"{kind}, {n} rows"):
                rng = np.random.default_rng(seed)
                score = make_scores(kind, rng)
                y, truth = draw(rng, n)
                v, v_new = score(truth), score(truth_new)
                for k, find in enumerate(METHODS.values()):
                    kept = v_new >= find(y, v)
                    accepted[k] += kept.mean()
                    broken[k] += kept.any() and 1 - truth_new[kept].mean() > AT_MOST
            yield kind, n, accepted / N_SAMPLES, broken / N_SAMPLES


def draw_clusters(rng, n_clusters, n_rows, correlation):
    """Outcomes and their probabilities; as those of `draw`, but in clusters."""
    latent = np.empty((2, n_clusters, n_rows))
    for values in latent:
        shared, own = rng.normal(size=(n_clusters, 1)), rng.normal(size=(n_clusters, n_rows))
        values[:] = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    truth = expit(1.8 * np.abs(latent[0]))
    return (norm.cdf(latent[1]) < truth).astype(int), truth


def tabulate_clusters():
    truth_new = np.sort(draw(np.random.default_rng(1), 200_000)[1])[::-1]
    risks = np.cumsum(1 - truth_new) / np.arange(1, len(truth_new) + 1)
    for n_clusters, n_rows, correlation in CLUSTERS:
        accepted, broken = np.zeros((2, 2))
        for seed in show_progress(range(N_SAMPLES), f"{n_clusters} clusters of {n_rows}"):
            rng = np.random.default_rng(seed)
            y, v = draw_clusters(rng, n_clusters, n_rows, correlation)
            member = np.repeat(np.arange(n_clusters), n_rows)
            for k, found in enumerate(
                (
                    certify(y[:, 0], v[:, 0]),
                    certify(y.ravel(), v.ravel(), clusters=member),
                )
            ):
                n_kept = int((truth_new >= found).sum())
                accepted[k] += n_kept / len(truth_new)
                broken[k] += n_kept > 0 and risks[n_kept - 1] > AT_MOST
        yield n_clusters, n_rows, correlation, accepted / N_SAMPLES, broken / N_SAMPLES


class Case(NamedTuple):
    """Rows whose log odds are normal, as seen by a model."""

    n_rows: int = 2000
    centre: float = -0.5
    spread: float = 3.0
    see: Callable = lambda rng, truth: truth
    correlation: float = 0.0  # of latent variables, within clusters of five rows
    n_groups: int = 1
    side: str = "above"

    def draw(self, rng, n):
        """True probabilities, scores, and outcomes."""
        latent = rng.normal(size=(2, n))
        if self.correlation:
            shared = np.repeat(rng.normal(size=(2, n // N_TOGETHER)), N_TOGETHER, axis=1)
            parts = self.correlation, 1 - self.correlation
            latent = np.sqrt(parts[0]) * shared + np.sqrt(parts[1]) * latent
        truth = expit(self.centre + self.spread * latent[0])
        return truth, self.see(rng, truth), (norm.cdf(latent[1]) < truth).astype(int)

    def name_rows(self):
        """Groups of very different sizes, or clusters."""
        place = np.arange(self.n_rows)
        if self.n_groups > 1:
            return {"groups": np.sqrt(self.n_groups**2 * place / self.n_rows).astype(int)}
        return {"clusters": place // N_TOGETHER} if self.correlation else {}


class Population:
    """True risks of all thresholds, by the number of rows below."""

    def __init__(self, truth, scores):
        order = np.argsort(scores, kind="stable")
        self.scores, truth = scores[order], truth[order]
        events, others = (np.append(0.0, np.cumsum(part)) for part in (truth, 1 - truth))
        n_rows, n_above = len(truth), np.arange(len(truth), -1, -1)
        above = others[-1] - others
        self.risks = {
            "miss": events / events[-1],
            "false_positive": above / others[-1],
            "misclassification": (events + above) / n_rows,
            "error": above / np.maximum(n_above, 1),
        }
        is_cut = np.append(True, np.diff(self.scores) > 0)
        self.places = np.append(np.flatnonzero(is_cut), n_rows)
        # What can be known of a row is its score.
        self.least = self.risks["misclassification"][self.places].min()
        self.error = self.risks["error"][np.searchsorted(self.risks["miss"], AT_MOST / 2)]

    def is_broken(self, found, promises):
        place = np.searchsorted(
            self.scores, found.threshold, "left" if found.side == "above" else "right"
        )
        return any(self.risks[risk][place] > limit for risk, limit in promises.items())


CASES = {
    "calibrated, 500 rows": Case(500),
    "calibrated": Case(),
    'calibrated, ``side="below"``': Case(side="below"),
    "over-confident": Case(see=lambda rng, truth: exaggerate(truth)),
    "rounded to tenths": Case(see=lambda rng, truth: truth.round(1)),
    "votes of ten trees": Case(see=lambda rng, truth: rng.binomial(10, truth) / 10),
    "1 % events, 10,000 rows": Case(10_000, -5.5, 1.5),
    "clusters of five, correlation 0.9": Case(correlation=0.9),
    "clusters of five, correlation 0.3": Case(correlation=0.3),
    "three groups of 220 to 1110 rows": Case(n_groups=3),
}


def prepare(case):
    """Its population, and limits by the columns of the table."""
    truth, scores, _ = case._replace(correlation=0.0).draw(np.random.default_rng(1), 200_000)
    population = Population(truth, scores)
    promises = {
        "miss": {"miss": AT_MOST},
        "false positive": {"false_positive": AT_MOST},
        "misclassification": {"misclassification": population.least * (1 - 1e-9)},
        "both": {"miss": AT_MOST, "error": population.error},
    }
    return population, promises


def try_promises(case, population, promises, seed):
    """Whether each promise is broken, and whether there is one."""
    _, v, y = case.draw(np.random.default_rng(seed), case.n_rows)
    cells = []
    for limits in promises.values():
        options = {"risk": [*limits], "at_most": [*limits.values()], "side": case.side}
        found = certified_threshold(y, v, labels=[0, 1], **options, **case.name_rows())
        each = found.parts.values() if case.n_groups > 1 else [found]
        kept = [one for one in each if one.feasible]
        cells.append([any(population.is_broken(one, limits) for one in kept), len(kept) > 0])
    return np.array(cells, dtype=float)


def tabulate_risks():
    for name, case in CASES.items():
        prepared = prepare(case)
        seeds = show_progress(range(N_PROMISES), name)
        shares = np.mean([try_promises(case, *prepared, seed) for seed in seeds], axis=0)
        yield [name, *(f"{100 * broken:.1f} ({100 * made:.0f})" for broken, made in shares)]


def show(accepted, broken):
    cells = zip(accepted, broken, strict=True)
    return ", ".join(f"{100 * a:.0f} % ({100 * b:.0f} %)" for a, b in cells)


def print_errors():
    print(".. csv-table::\n   :header: scores, rows, " + ", ".join(METHODS) + "\n")
    for kind, n, accepted, broken in tabulate():
        print(f"   {kind}, {n}, {show(accepted, broken)}", flush=True)
    print("\n.. csv-table::\n   :header: clusters, rows, correlation, one row each, all rows\n")
    for *case, accepted, broken in tabulate_clusters():
        print(f"   {', '.join(map(str, case))}, {show(accepted, broken)}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] != ["risks"]:
        print_errors()
        print()
    header = ["scores", "miss", "false positive", "misclassification", "both"]
    print_table(header, list(tabulate_risks()))
