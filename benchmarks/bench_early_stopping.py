"""Stop a training by the log loss, or by the log loss after recalibration; recalibrate both."""

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier
from timing import show_progress

from skcal.model_selection import stop_by_refinement
from skcal.recalibration import PlattScaling

N_PROBLEMS = 14
TRAIN, VALIDATION, TEST = slice(0, 2000), slice(2000, 3000), slice(3000, None)


def make_problem(rng):
    """11,000 rows of two classes, of random difficulty."""
    n_informative = int(rng.integers(4, 12))
    X, y = make_classification(
        11_000,
        n_informative + int(rng.integers(5, 25)),
        n_informative=n_informative,
        n_redundant=0,
        n_clusters_per_class=int(rng.integers(1, 4)),
        class_sep=rng.uniform(0.4, 1.0),
        flip_y=rng.uniform(0, 0.15),
        random_state=int(rng.integers(1_000_000)),
    )
    mean, spread = X[TRAIN].mean(axis=0), X[TRAIN].std(axis=0)
    return (X - mean) / spread, y


def train_trees(X, y):
    """Rounds after each stage, and its probabilities of the validation and the test rows."""
    model = HistGradientBoostingClassifier(
        max_iter=250, learning_rate=0.15, early_stopping=False, random_state=0
    ).fit(X[TRAIN], y[TRAIN])
    staged = zip(*(model.staged_predict_proba(X[rows]) for rows in (VALIDATION, TEST)), strict=True)
    return [(k + 1, *probas) for k, probas in enumerate(staged) if k % 10 == 9]


def train_network(X, y):
    """The same after every other epoch of a network."""
    model = MLPClassifier((128,), learning_rate_init=3e-3, alpha=0, random_state=0)
    stages = []
    for epoch in range(1, 41):
        model.partial_fit(X[TRAIN], y[TRAIN], classes=[0, 1])
        if epoch % 2 == 0:
            stages.append((epoch, *(model.predict_proba(X[rows]) for rows in (VALIDATION, TEST))))
    return stages


def measure(problem, number, train):
    """Where each rule stops, and the log loss of new rows after recalibration."""
    X, y = problem
    rounds, validation, test = zip(*train(X, y), strict=True)
    stop = stop_by_refinement(validation, y[VALIDATION])
    crossed = stop_by_refinement(validation, y[VALIDATION], cv=5)

    def measure_stage(stage):
        fitted = PlattScaling().fit(validation[stage], y[VALIDATION])
        return log_loss(y[TEST], fitted.predict_proba(test[stage]))

    by_loss = int(stop.losses.argmin())
    found = {"problem": number, "model": train.__name__.removeprefix("train_")}
    found["as it is"] = log_loss(y[TEST], test[by_loss])
    rules = {"loss": by_loss, "refinement": stop.best_stage, "cross-fitted": crossed.best_stage}
    for rule, stage in rules.items():
        found[f"stop by {rule}"], found[f"log loss, {rule}"] = rounds[stage], measure_stage(stage)
    return found


rng = np.random.default_rng(5)
problems = [make_problem(rng) for _ in range(N_PROBLEMS)]
jobs = [
    delayed(measure)(problem, number, train)
    for number, problem in enumerate(problems)
    for train in (train_trees, train_network)
]
rows = Parallel(n_jobs=2)(show_progress(jobs, "trainings"))
table = pd.DataFrame(rows).set_index("problem")
for rule in ("refinement", "cross-fitted"):
    gain = 100 * (1 - table[f"log loss, {rule}"] / table["log loss, loss"])
    table[f"gain % {rule}"], table[f"better {rule}"] = gain, gain > 0
    table[f"equal {rule}"] = gain == 0
print(table.groupby("model").mean().T.round(4).to_string())
