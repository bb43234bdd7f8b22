"""OnlineRecalibration: loss, calibration and evidence on streams, adversaries, batches, speed.

``python benchmarks/bench_online.py`` takes five minutes, most of them for false alarms of 1000
streams of 20,000 rows; an argument sets another number of these.
"""

import sys
from itertools import product

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from timing import describe_machine, median_cpu_times, print_table, show_progress

from skcal._numerics.monitoring._betting_evidence import keep_back
from skcal._numerics.monitoring._online import learn_at_once, learn_in_order, make_state
from skcal._numerics.monitoring._online_mixture import SHARE
from skcal.metrics import smooth_ece
from skcal.monitoring import CalibrationMonitor
from skcal.recalibration import OnlineRecalibration

N_ROWS, N_SEEDS, BLOCK = 10_000, 5, 1000
RATES = 0.01, 0.1
MEMORIES, BATCHES = OnlineRecalibration().memories, ("rows", "whole", "dependent")


def add_waves(x, t):
    return 1.5 * np.sin(t / len(x) * 4 * np.pi)


# Log odds of the truth, and of the scores, by log odds that are normal.
STREAMS = {
    "calibrated": (lambda x, _: x, lambda x: x),
    "twice too extreme": (lambda x, _: x, lambda x: 2 * x + 0.5),
    "base rate jumps": (lambda x, t: x + 1.5 * (t >= len(x) // 2), lambda x: x),
    "slow wave": (lambda x, t: x + add_waves(x, t), lambda x: x),
    "regimes of 1000 rows": (lambda x, t: x + t // 1000 % 2, lambda x: x),
    ".5 % event, twice too high": (lambda x, _: x - 5, lambda x: x - 4.3),
}


def draw(name, seed, n=N_ROWS):
    """True probabilities, scores and labels of a stream."""
    rng, (truth, scores) = np.random.default_rng(seed), STREAMS[name]
    x = rng.normal(-1, 1.2, n)
    eta = expit(truth(x, np.arange(n)))
    return eta, expit(scores(x)), (rng.random(n) < eta).astype(int)


def find_loss(p, y):
    return -np.log(np.where(y == 1, p, 1 - p))


def find_logs(p):
    return np.log(np.column_stack([1 - p, p]))


def run_online(p, y):
    """Probabilities that each row gets before it is learned: the evidence has their likelihood."""
    state = make_state(len(MEMORIES), 2)
    _, factors = learn_in_order(state, find_logs(p), y, np.ones(len(y)), MEMORIES)
    of_true = np.where(y == 1, p, 1 - p) * np.exp(factors)
    return np.where(y == 1, of_true, 1 - of_true), np.cumsum(factors)


class LogOdds(ClassifierMixin, BaseEstimator):
    """Its features are log odds."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def run_refits(p, y, every, size, method="sigmoid", *, once=False):
    """scikit-learn's map of the last rows, fitted again after so many."""
    z, found = logit(p)[:, None], p.copy()
    model = FrozenEstimator(LogOdds().fit(z, y))
    for start in range(every, len(p), every):
        rows = slice(0, size) if once else slice(max(0, start - size), start)
        if np.bincount(y[rows], minlength=2).min() >= 5:  # as many as it has folds
            fitted = CalibratedClassifierCV(model, method=method).fit(z[rows], y[rows])
            found[start : start + every] = fitted.predict_proba(z[start : start + every])[:, 1]
    return found


def run_gradient(p, y, rate):
    """Platt's sigmoid, moved against the gradient of the log loss of each row."""
    slope, intercept, found = 1.0, 0.0, np.empty(len(p))
    for t, (z, label) in enumerate(zip(logit(p).tolist(), y.tolist(), strict=True)):
        found[t] = expit(slope * z + intercept)
        step = rate * (label - found[t])
        slope, intercept = slope + step * z, intercept + step
    return found


def find_smooth_errors(p, y):
    return np.mean(
        [smooth_ece(y[a : a + BLOCK], p[a : a + BLOCK]) for a in range(0, len(y), BLOCK)]
    )


def list_streams():
    """Loss above that of the truth, in nats, mean SmoothECE of blocks, and evidence."""
    for name in show_progress(STREAMS, "streams"):
        losses, errors, evidence, alarms = [], [], [], []
        for seed in range(N_SEEDS):
            eta, p, y = draw(name, seed)
            mixed, path = run_online(p, y)
            answers = [
                p,
                run_refits(p, y, 1000, 1000, once=True),
                run_refits(p, y, 500, 2000),
                run_refits(p, y, 500, 2000, "isotonic"),
                *(run_gradient(p, y, rate) for rate in RATES),
                mixed,
            ]
            best = find_loss(eta, y).sum()
            losses.append([find_loss(q, y).sum() - best for q in answers])
            errors.append([find_smooth_errors(q, y) for q in answers])
            monitor = CalibrationMonitor().update(y, p)
            evidence.append([path[-1], monitor.log_e_value_])
            is_high = path >= np.log(20)
            first = 1 + is_high.argmax() if is_high.any() else np.inf
            alarms.append([first, np.inf if monitor.alarm_ is None else monitor.alarm_])
        yield [
            name,
            *(f"{value:.1f}" for value in np.mean(losses, axis=0)),
            *(f"{value:.3f}" for value in np.mean(errors, axis=0)),
            *(f"{value:.1f}" for value in np.mean(evidence, axis=0)),
            *(f"{value:.0f}" for value in np.median(alarms, axis=0)),
        ]


def run_in_groups(p, y, groups):
    found = np.empty(len(p))
    for group in np.unique(groups):
        rows = groups == group
        found[rows] = run_online(p[rows], y[rows])[0]
    return found


def list_groups():
    """Loss above that of the truth where groups differ, and the base rate of all jumps."""
    for n_groups, spread in ((5, 0.0), (5, 0.5), (50, 0.0), (50, 0.5)):
        losses = []
        for seed in range(N_SEEDS):
            rng = np.random.default_rng(seed)
            groups = rng.choice(n_groups, N_ROWS, p=rng.dirichlet(np.full(n_groups, 2.0)))
            x = rng.normal(-1, 1.2, N_ROWS)
            eta = expit(x + rng.normal(0, spread, n_groups)[groups] + (np.arange(N_ROWS) >= 5000))
            p, y = expit(x), (rng.random(N_ROWS) < eta).astype(int)
            common = run_online(p, y)[0]
            answers = [p, common, run_in_groups(p, y, groups), run_in_groups(common, y, groups)]
            losses.append([find_loss(q, y).sum() - find_loss(eta, y).sum() for q in answers])
        means = [f"{value:.1f}" for value in np.mean(losses, axis=0)]
        yield [f"{n_groups} groups, by {spread}", *means]


# ------------------------------------------------------------------------ every sequence


def play(name, n, rng):
    """Scores and labels of an adversary."""
    p = rng.choice([0.02, 0.2, 0.5, 0.9], n)
    t = np.arange(n)
    labels = {
        "alternating": t % 2,
        "all of one class": np.zeros(n, dtype=int),
        "opposite in every other 500 rows": rng.random(n) < np.where(t // 500 % 2 == 0, p, 1 - p),
        "anti-correlated": rng.random(n) < 1 - p,
        "calibrated": rng.random(n) < p,
    }
    return p, labels[name].astype(int)


def play_least_likely(n, rng):
    """The label that the mixture finds less likely, row by row, and the evidence."""
    p = rng.choice([0.02, 0.2, 0.5, 0.9], n)
    state, logs, factors, y = make_state(len(MEMORIES), 2), find_logs(p), np.empty(n), []
    for t in range(n):
        row = logs[[t]]
        tried = [learn_in_order(state, row, np.array([k]), np.ones(1), MEMORIES) for k in range(2)]
        k = int(tried[1][1][0] + row[0, 1] < tried[0][1][0] + row[0, 0])
        state, factors[t] = tried[k][0], tried[k][1][0]
        y.append(k)
    return p, np.array(y), np.cumsum(factors)


def find_best_loss(p, y):
    """Log loss of the best sigmoid of the log odds, which knows all labels."""
    z = logit(p)[:, None]
    if len(set(y)) < 2:
        return 0.0
    fitted = LogisticRegression(C=1e9, max_iter=1000).fit(z, y)
    return find_loss(fitted.predict_proba(z)[:, 1], y).sum()


def list_adversaries(n=10**5, n_slow=20_000):
    """What the mixture lost at most, and in the end, against the scores and the best sigmoid."""
    names = ["alternating", "all of one class", "opposite in every other 500 rows"]
    for name in show_progress([*names, "anti-correlated", "calibrated", "least likely"], "games"):
        rng = np.random.default_rng(0)
        if name == "least likely":
            p, y, path = play_least_likely(n_slow, rng)
        else:
            p, y = play(name, n, rng)
            path = run_online(p, y)[1]
        kept = np.log(2 + np.log1p(np.arange(1, len(y) + 1)))
        above = find_loss(p, y).sum() - path[-1] - find_best_loss(p, y)
        yield [
            name,
            f"{len(y):,}",
            f"{max(0.0, -path.min()):.2f}",
            f"{np.max(-path - kept):.2f}",
            f"{-path[-1]:,.1f}",
            f"{above:,.1f} = {above / np.log(len(y)):.1f} log n",
        ]


def check_enumeration():
    """The distance from 1 of the mean wealth over all outcomes of 12 rows."""
    laws = {
        "rare": lambda past: 0.01,
        "changing": lambda past: 0.1 + 0.06 * len(past),
        "looks back": lambda past: 0.9 if sum(past) > len(past) / 2 else 0.2,
    }
    for name, law in laws.items():
        total = 0.0
        for outcomes in product([0, 1], repeat=12):
            p = np.array([law(outcomes[:t]) for t in range(12)])
            y, logs = np.array(outcomes), find_logs(p)
            _, factors = learn_in_order(make_state(3, 2), logs, y, np.ones(12), MEMORIES)
            total += np.exp(logs[np.arange(12), y].sum() + factors.sum())
        yield [name, f"{abs(total - 1):.0e}"]


# ------------------------------------------------------------------------ batches, alarms


def list_batches(n=20_000, size=500):
    """Loss of what predicts a batch before it learns it, less that of the scores, and evidence."""
    rng = np.random.default_rng(0)
    x, t = rng.normal(-1, 1.2, n), np.arange(n)
    shifts = {
        "calibrated": 0 * t,
        "regimes of one batch": t // size % 2 * 2 - 1,
        "right and opposite in turns": None,
        "regimes of ten batches": t // (10 * size) % 2,
        "one jump of 1": t >= n // 2,
    }
    for name, shift in shifts.items():
        truth = x + shift if shift is not None else np.where(t // size % 2 == 0, x, -x)
        p, y = expit(x), (rng.random(n) < expit(truth)).astype(int)
        row = [name]
        for batch in BATCHES:
            fitted = OnlineRecalibration(classes=[0, 1], batch=batch)
            excess = 0.0
            for start in range(0, n, size):
                part = slice(start, start + size)
                if start:
                    found = fitted.transform(p[part, None])[:, 0]
                    excess += (find_loss(found, y[part]) - find_loss(p[part], y[part])).sum()
                fitted.partial_fit(p[part, None], y[part])
            row += [f"{excess:.1f}", f"{fitted.log_e_value_:.1f}"]
        yield row


def learn_batches(p, y, *, is_dependent, size=500):
    """The course of the evidence from batches."""
    state, path = make_state(len(MEMORIES), 2), [0.0]
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        part = find_logs(p[rows]), y[rows], np.ones(size), MEMORIES
        state, factor = learn_at_once(state, *part, is_dependent=is_dependent)
        path.append(path[-1] + factor)
    return np.array(path)


def run_many(p, y):
    """Logarithms of the largest wealth of many streams at once, (n_streams, n): much the faster.

    It is a second version of the formulas, which a first stream is compared with.
    """
    z, signs = logit(p), np.where(y == 1, 1.0, -1.0)
    rates = np.array([0.0 if rows is None else 1 / rows for rows in MEMORIES])[:, None]
    left = np.exp(-rates)
    u, v, b = (np.zeros((len(MEMORIES), len(p))) for _ in range(3))
    a, c = np.ones_like(u), np.ones_like(u)
    pool = np.full((1 + len(MEMORIES), len(p)), 0.5 / (1 + len(MEMORIES)))
    forgets = np.append(True, rates[:, 0] > 0)[:, None]
    wealth = largest = np.zeros(len(p))
    kept = keep_back(np.arange(p.shape[1] + 1))
    for t in range(p.shape[1]):
        x, sign = z[:, t], signs[:, t]
        still = kept[t] * np.exp(-wealth)
        pool[1:] *= expit(sign * ((1 + u) * x + v)) / expit(sign * x)
        factor = still + pool.sum(axis=0)
        slow = 1 - kept[t + 1] / kept[t]
        leaving = np.where(forgets, SHARE, slow)
        given = slow * still + (leaving * pool).sum(axis=0)
        pool = (pool * (1 - leaving) + given / len(pool)) / factor
        wealth = wealth + np.log(factor)
        largest = np.maximum(largest, wealth)
        f, g = left * (a * u + b * v), left * (b * u + c * v)
        a, b, c = left * a + 1 - left, left * b, left * c + 1 - left
        size = a * c - b * b
        u, v = (c * f - b * g) / size, (a * g - b * f) / size
        along, across = (c * x - b) / size, (a - b * x) / size
        start, reach = sign * ((1 + u) * x + v), along * x + across
        low, high = start, start + reach
        for _ in range(40):  # halving, which cannot fail
            middle = (low + high) / 2
            is_above = middle > start + reach * expit(-middle)
            low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
        miss = expit(-low)
        u, v, spread = u + sign * miss * along, v + sign * miss * across, miss * (1 - miss)
        a, b, c = a + spread * x * x, b + spread * x, c + spread
    return largest


def list_false_alarms(n_streams, n=20_000):
    """Shares of calibrated streams with an alarm at 5 %."""
    rng = np.random.default_rng(1)

    def draw_streams(n_streams, mean, sd, shared=1):
        p = expit(rng.normal(mean, sd, (n_streams, n // shared)))
        y = rng.random(p.shape) < p
        return p.repeat(shared, axis=1), y.astype(int).repeat(shared, axis=1)

    def tell(name, largest):
        share = np.mean(np.asarray(largest) >= np.log(20))
        error = np.sqrt(share * (1 - share) / len(largest))
        return [name, f"{len(largest)}", f"{share:.3f} ± {error:.3f}"]

    for name, mean, sd in (("usual, row by row", -1, 1.2), ("rare events, row by row", -6, 1)):
        p, y = draw_streams(n_streams, mean, sd)
        largest = run_many(p, y)
        assert abs(largest[0] - max(run_online(p[0], y[0])[1].max(), 0)) < 1e-6
        yield tell(name, largest)
    few = n_streams // 10
    for name, shared, is_dependent in (
        ("usual, batches of 500", 1, False),
        ("tens that share an outcome, whole batches", 10, False),
        ("tens that share an outcome, dependent", 10, True),
    ):
        streams = zip(*draw_streams(few, -1, 1.2, shared), strict=True)
        yield tell(name, [learn_batches(*one, is_dependent=is_dependent).max() for one in streams])


def list_late(calm=(5000, 10**5, 10**6), n_after=20_000, by=0.5):
    """Rows until an alarm, and nats lost, where events become more frequent after calm rows."""
    for n_calm in show_progress(calm, "calm streams"):
        rng = np.random.default_rng(2)
        x, t = rng.normal(-1, 1.2, n_calm + n_after), np.arange(n_calm + n_after)
        eta, p = expit(x + by * (t >= n_calm)), expit(x)
        y = (rng.random(len(x)) < eta).astype(int)
        mixed, path = run_online(p, y)
        after = slice(n_calm, None)
        lost = (find_loss(mixed[after], y[after]) - find_loss(eta[after], y[after])).sum()
        alarm = (path[n_calm:] >= np.log(20)).argmax() + 1
        yield [f"{n_calm:,}", f"{-path[n_calm - 1]:.2f}", f"{lost:.1f}", f"{alarm:,}"]


def list_times():
    rng = np.random.default_rng(0)
    p = expit(rng.normal(-1, 1.2, 10**6))
    y = (rng.random(10**6) < p).astype(int)
    many = rng.dirichlet(np.ones(100), 10**5)
    codes = (many.cumsum(axis=1) < rng.random((10**5, 1))).sum(axis=1).clip(0, 99)

    def feed(X, y, size, **options):
        fitted = OnlineRecalibration(classes=np.arange(max(X.shape[1], 2)), **options)
        for start in range(0, len(y), size):
            fitted.partial_fit(X[start : start + size], y[start : start + size])

    tasks = {
        "10^6 rows, learned one by one": lambda: feed(p[:, None], y, 10**6),
        "10^6 rows in batches of 1000": lambda: feed(p[:, None], y, 1000, batch="whole"),
        "1000 calls with one row each": lambda: feed(p[:1000, None], y[:1000], 1),
        "10^5 rows of 100 classes, batches of 1000": lambda: feed(many, codes, 1000, batch="whole"),
    }
    seconds = median_cpu_times(list(tasks.values()), repeats=1)
    return [[name, f"{value:.1f}"] for name, value in zip(tasks, seconds, strict=True)]


def main(n_streams=1000):
    print(describe_machine())
    rows = list(list_streams())
    answers = ["scores", "Platt once", "Platt again", "isotonic again"]
    answers += [*(f"gradient {rate}" for rate in RATES), "online"]
    n = 1 + len(answers)
    print(f"\nNats lost on {N_ROWS:,} rows above the truth, mean of {N_SEEDS} streams:\n")
    print_table(["stream", *answers], [row[:n] for row in rows])
    print(f"\nMean SmoothECE of blocks of {BLOCK} rows:\n")
    print_table(["stream", *answers], [[row[0], *row[n : 2 * n - 1]] for row in rows])
    print("\nLogarithm of the evidence at the end, and the median row of the alarm:\n")
    heads = [f"{what}, {who}" for what in ("evidence", "alarm") for who in ("online", "monitor")]
    print_table(["stream", *heads], [[row[0], *row[2 * n - 1 :]] for row in rows])
    print("\nNats lost where log odds of groups differ and those of all jump by 1:\n")
    heads = ["groups", "scores", "one for all", "one for each", "one for each after one for all"]
    print_table(heads, list(list_groups()))
    print("\nNats lost against the scores and against the best sigmoid, on any labels:\n")
    heads = ["labels", "rows", "most lost", "less the bound", "lost at the end", "above the best"]
    print_table(heads, list(list_adversaries()))
    print("\nMean wealth over all outcomes of 12 rows:\n")
    print_table(["prediction law", "distance from 1"], list(check_enumeration()))
    print("\nBatches of 500 rows, predicted before they are learned, less the scores:\n")
    heads = [f"{batch}, {what}" for batch in BATCHES for what in ("lost", "evidence")]
    print_table(["truth", *heads], list(list_batches()))
    print("\nA shift of .5 after calm rows:\n")
    print_table(["calm rows", "lost before", "lost after", "alarm after"], list(list_late()))
    print("\nFalse alarms at 5 % in 20,000 rows:\n")
    print_table(["calibrated streams", "streams", "share"], list(list_false_alarms(n_streams)))
    print("\nSeconds:\n")
    print_table(["task", "seconds"], list_times())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
