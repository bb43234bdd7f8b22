"""Which thresholds keep the promise that at most a tenth of the accepted rows are wrong.

    python benchmarks/bench_promises.py    # some minutes

The share of rows that are accepted, and in brackets how often the promise is broken. "As seen"
takes the lowest threshold above which a tenth of these rows were wrong at most. "To the first
failure" begins where the bound of Clopper and Pearson is first below a tenth, and goes down while
it is. Holm tests a hundred thresholds.

The second table has clusters of rows, all of them or one row of each. Predictions are calibrated;
the latent variables of the outcomes, and those of the predictions, are correlated in clusters.
"""

import numpy as np
from scipy.special import bdtr, expit, logit
from scipy.stats import norm
from timing import show_progress

from skcal.inference import certified_threshold
from skcal.recalibration import AutoRecalibration

N_SAMPLES, AT_MOST, ALPHA = 600, 0.1, 0.05
SIZES = 500, 2000
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


def show(accepted, broken):
    cells = zip(accepted, broken, strict=True)
    return ", ".join(f"{100 * a:.0f} % ({100 * b:.0f} %)" for a, b in cells)


if __name__ == "__main__":
    print(".. csv-table::\n   :header: scores, rows, " + ", ".join(METHODS) + "\n")
    for kind, n, accepted, broken in tabulate():
        print(f"   {kind}, {n}, {show(accepted, broken)}", flush=True)
    print("\n.. csv-table::\n   :header: clusters, rows, correlation, one row each, all rows\n")
    for *case, accepted, broken in tabulate_clusters():
        print(f"   {', '.join(map(str, case))}, {show(accepted, broken)}", flush=True)
