"""What internal validation says of a model, beside what is true of it in new rows.

For each kind of model, number of rows and number of features it draws data sets whose truth is
known, validates the model by optimism and by repeated folds, and measures it on 100,000 new rows.
The table has the mean truth, and of each method its bias, its root mean square error and the
coverage of its intervals of 95 %. ``--n-sets`` sets how many data sets there are of each kind, and
``--shrinkage`` compares repairs instead.
"""

import argparse
import sys
import warnings

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from skcal.inference import cox_recalibration, observed_expected_ratio
from skcal.metrics import smooth_ece
from skcal.model_selection import internal_validation
from skcal.recalibration import PlattScaling, RecalibratedClassifierCV

N_NEW = 100_000
EFFECTS = (1.0, 0.7, 0.5)
MEASURES = ("slope", "observed_expected_ratio", "smooth_ece")
METHODS = ("optimism", "cv")
LASSO = LogisticRegression(penalty="l1", solver="liblinear", random_state=0)
MODELS = {
    "logistic regression": LogisticRegression(C=np.inf, max_iter=1000),
    "lasso in a search": GridSearchCV(LASSO, {"C": [0.03, 0.1, 0.3, 1]}, scoring="neg_log_loss"),
    "random forest": RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}


def draw(n_rows, n_features, rng):
    """Features and outcomes of a logistic model in which three features count."""
    X = rng.normal(size=(n_rows, n_features))
    log_odds = X[:, : len(EFFECTS)] @ EFFECTS - 0.5
    return X, (rng.random(n_rows) < expit(log_odds)).astype(int)


def find_truth(model, n_features, rng):
    """Slope, O/E and SmoothECE of a fitted model in new rows; no slope of a constant one."""
    X, y = draw(N_NEW, n_features, rng)
    risk = np.clip(model.predict_proba(X)[:, 1], 1e-9, 1 - 1e-9)
    slope = cox_recalibration(y, risk).slope.estimate if np.ptp(risk) > 0 else np.nan
    return np.array([slope, observed_expected_ratio(y, risk).estimate, smooth_ece(y, risk)])


def validate(model, n_rows, n_features, seed, n_resamples):
    """Truth of shape (n_measures,), and of each method corrected, low and high of each measure."""
    rng = np.random.default_rng(seed)
    X, y = draw(n_rows, n_features, rng)
    found = []
    for method in METHODS:
        result = internal_validation(
            model,
            X,
            y,
            method=method,
            n_resamples=n_resamples,
            measures=MEASURES,
            random_state=rng,
        )
        found.append([tuple(one.corrected) for one in result.measures.values()])
    return find_truth(model.fit(X, y), n_features, rng), np.array(found)


def shrink(model, X, y, X_new, slope):
    """Probabilities whose log odds are multiplied by a slope, with the intercept that fits y."""
    own, new = (logit(clip(model.predict_proba(rows)[:, 1])) for rows in (X, X_new))
    level = brentq(lambda a: np.mean(expit(a + slope * own) - y), -50, 50)
    return expit(level + slope * new)


def clip(risk):
    return np.clip(risk, 1e-9, 1 - 1e-9)


def compare_repairs(model, n_rows, n_features, seed, n_resamples):
    """Mean log loss in new rows of a model as it is, and repaired in several ways."""
    rng = np.random.default_rng(seed)
    X, y = draw(n_rows, n_features, rng)
    X_new, y_new = draw(N_NEW, n_features, rng)
    fitted = clone(model).fit(X, y)
    found = {"none": clip(fitted.predict_proba(X_new)[:, 1])}
    options = {"n_resamples": n_resamples, "measures": ["slope"], "random_state": rng}
    slope = internal_validation(model, X, y, **options).measures["slope"].corrected.estimate
    found["shrinkage, validated slope"] = shrink(fitted, X, y, X_new, slope)
    risk, rate = clip(fitted.predict_proba(X)[:, 1]), y.mean()
    gain = 2 * n_rows * (log_loss(y, np.full(n_rows, rate)) - log_loss(y, risk))
    heuristic = max(1 - n_features / gain, 0)
    found["shrinkage, van Houwelingen"] = shrink(fitted, X, y, X_new, heuristic)
    for name, recalibrator in (("default repair", None), ("Platt", PlattScaling())):
        repaired = RecalibratedClassifierCV(model, recalibrator=recalibrator).fit(X, y)
        found[name] = clip(repaired.predict_proba(X_new)[:, 1])
    return {name: log_loss(y_new, risk) for name, risk in found.items()}


def summarize(truths, found):
    """Of each method and measure bias and root mean square error, None where most are unknown.

    And the coverage of intervals.
    """
    errors = found[..., 0] - truths[:, None]
    known = np.isfinite(errors)
    for m in range(len(METHODS)):
        for k in range(len(MEASURES)):
            one = errors[known[:, m, k], m, k]
            low, high = found[known[:, m, k], m, k, 1:].T
            covered = (low <= truths[known[:, m, k], k]) & (truths[known[:, m, k], k] <= high)
            if 2 * len(one) < len(errors):
                yield METHODS[m], MEASURES[k], "none", np.nan
                continue
            shown = f"{one.mean():+.2f} ({np.sqrt(np.mean(one**2)):.2f})"
            yield METHODS[m], MEASURES[k], shown, covered.mean()


def print_repairs(options):
    for name in options.models:
        for n_rows in options.rows:
            for n_features in options.features:
                losses = pd.DataFrame(
                    compare_repairs(MODELS[name], n_rows, n_features, seed, options.n_resamples)
                    for seed in range(options.n_sets)
                )
                shown = " ".join(f"{key}: {value:.4f};" for key, value in losses.mean().items())
                print(f"{name}, {n_rows} rows, {n_features} features: {shown}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n-sets", type=int, default=40)
    parser.add_argument("--n-resamples", type=int, default=50)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--rows", nargs="*", type=int, default=[100, 200, 500])
    parser.add_argument("--features", nargs="*", type=int, default=[5, 30])
    parser.add_argument("--shrinkage", action="store_true")
    options = parser.parse_args()
    if options.shrinkage:
        print_repairs(options)
        return
    for name in options.models:
        for n_rows in options.rows:
            for n_features in options.features:
                results = [
                    validate(MODELS[name], n_rows, n_features, seed, options.n_resamples)
                    for seed in range(options.n_sets)
                ]
                truths, found = (np.array(part) for part in zip(*results, strict=True))
                cells = list(summarize(truths, found))
                slopes, _, errors = (
                    [shown for _, name, shown, _ in cells if name == one] for one in MEASURES
                )
                shown = [name, n_rows, n_features, f"{np.nanmean(truths[:, 0]):.2f}", *slopes]
                shown += [f"{truths[:, 2].mean():.2f}", *errors]
                print("  ", ", ".join(map(str, shown)), flush=True)
                shown = (f"{method} {one} {share:.2f}" for method, one, _, share in cells)
                print("   .. coverage:", "; ".join(shown), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of models that do not converge
    sys.exit(main())
