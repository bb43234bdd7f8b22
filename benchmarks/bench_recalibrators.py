"""Every recalibrator on many problems: how often it makes a model worse, and what it gains.

``python benchmarks/bench_recalibrators.py --out losses.csv`` fits eight kinds of models on data
sets that need no download, and takes besides the real predictions that lie beside the checkout,
where there are any. Every recalibrator of skcal learns from 50 to 10^4 rows that the model has not
seen, and so do methods of other packages, where these are installed: ``pip install betacal
venn-abers probmetrics numba netcal``. New rows then show its log loss, Brier score and smooth ECE.
It takes 20 minutes on two cores; what the file already holds is not measured again, so that a run
may be stopped at any time. ``--quick`` takes some of it, in less than a minute.

``--tables`` prints the tables of what a file holds, ``--figure FILE.png`` draws them.

``--harm`` asks more narrowly how often a recalibrator does harm: 75 random problems of two classes
with five kinds of models, and the real networks in many splits. Their probabilities are kept from 0
and 1, where leaving them would have an infinite log loss. It takes three minutes.
"""

import argparse
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import sklearn.datasets as made
from joblib import Parallel, delayed
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from timing import show_progress

from skcal.metrics import smooth_ece
from skcal.recalibration import IsotonicRecalibration, get_recalibrator, get_recalibrator_names

SIZES = (50, 100, 300, 1000, 3000, 10_000)
N_TEST = 4000
# Fewer rows of a class would show little of it.
ROWS_PER_CLASS = 5
# Splits of predictions that are given.
N_SPLITS = 5
IDENTITY, GIVEN, NOTHING = "identity", "given", ""
KEY = ["suite", "data", "model", "split", "rows", "recalibrator"]
VALUES = ["log_loss", "brier", "smooth_ece", "seconds"]
COLUMNS = [*KEY, "n_classes", *VALUES, "note"]

# --------------------------------------------------------------------------------------- problems


class Problem(NamedTuple):
    """A data set, the number of rows that train a model, and of splits that are averaged."""

    load: object
    n_train: int = 2000
    n_splits: int = 1


def classify(n_classes=2, n_train=2000, **options):
    """A problem of `make_classification`, with 20 features unless told otherwise."""

    def load(seed):
        return made.make_classification(
            n_train + SIZES[-1] + N_TEST,
            n_classes=n_classes,
            random_state=seed,
            **{"n_features": 20, "n_informative": 8, "n_redundant": 2, **options},
        )

    return Problem(load, n_train)


def draw_options(rng):
    """Two classes, of random difficulty, noise and balance."""
    n_informative = int(rng.integers(2, 10))
    return {
        "n_features": n_informative + int(rng.integers(0, 10)),
        "n_informative": n_informative,
        "n_redundant": 0,
        "n_clusters_per_class": int(rng.integers(1, min(4, 2**n_informative // 2) + 1)),
        "class_sep": rng.uniform(0.3, 1.2),
        "flip_y": rng.uniform(0, 0.2),
        "weights": [rng.uniform(0.5, 0.95)],
    }


def draw_from(make, n_train=2000, **options):
    """A problem of another generator."""
    n = n_train + SIZES[-1] + N_TEST
    return Problem(lambda seed: make(n_samples=n, random_state=seed, **options), n_train)


def load_pair(seed):
    X, y = made.load_digits(return_X_y=True)
    chosen = (y == 3) | (y == 8)
    return X[chosen], y[chosen]


def load_odd(seed):
    X, y = made.load_digits(return_X_y=True)
    return X, y % 2


def crowd(n_samples, random_state, **options):
    """Blobs that overlap."""
    return made.make_blobs(n_samples, random_state=random_state, cluster_std=4.0, **options)


ALONE = {"n_clusters_per_class": 1}
PROBLEMS = {
    "breast cancer": Problem(lambda seed: made.load_breast_cancer(return_X_y=True), 200, 5),
    "iris": Problem(lambda seed: made.load_iris(return_X_y=True), 50, 5),
    "wine": Problem(lambda seed: made.load_wine(return_X_y=True), 60, 5),
    "digits": Problem(lambda seed: made.load_digits(return_X_y=True), 500, 3),
    "digits, 3 or 8": Problem(load_pair, 60, 5),
    "digits, odd": Problem(load_odd, 500, 3),
    "moons": draw_from(made.make_moons, noise=0.35),
    "circles": draw_from(made.make_circles, noise=0.2, factor=0.6),
    "hastie": draw_from(made.make_hastie_10_2),
    "quantiles": draw_from(made.make_gaussian_quantiles, n_features=6, n_classes=2),
    "blobs": draw_from(crowd, centers=2, n_features=3),
    "few rows to train": classify(n_train=300),
    "many features": classify(n_features=60, n_train=500),
    "redundant features": classify(n_informative=4, n_redundant=12),
    "noisy labels": classify(flip_y=0.2),
    "rare class": classify(weights=[0.95], flip_y=0.02),
    **{
        f"random {number}": classify(**draw_options(np.random.default_rng(number)))
        for number in range(6)
    },
    "3 classes": classify(3, class_sep=0.7),
    "5 classes, noisy": classify(5, flip_y=0.1, class_sep=0.8, **ALONE),
    "5 quantiles": draw_from(made.make_gaussian_quantiles, n_features=6, n_classes=5),
    "10 blobs": draw_from(crowd, centers=10, n_features=4),
    "10 classes, uneven": classify(10, weights=list(np.arange(1, 11) / 55), **ALONE),
    "20 classes": classify(20, class_sep=1.5, n_informative=10, **ALONE),
    "50 classes": classify(50, class_sep=2.0, n_informative=12, n_train=3000, **ALONE),
    "100 classes": classify(100, class_sep=2.0, n_informative=14, n_train=4000, **ALONE),
}


def make_harm_problem(number):
    """The data of one of the 75 problems, whose options are drawn one after the other."""
    rng = np.random.default_rng(1)
    for _ in range(number + 1):
        options, seed = draw_options(rng), int(rng.integers(1_000_000))
    return made.make_classification(12_000, random_state=seed, **options)


def load_given():
    """Probabilities and outcomes by name, from files that lie beside the checkout."""
    folders = [parent / "shared" / "data" for parent in Path(__file__).resolve().parents]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    found = {}
    if folder is None:
        return found
    files = {
        "ResNet-34": "imagenet_resnet34_confidence",
        "DenseNet-40": "cifar10_densenet40_confidence",
        "rain in Finland": "rain_finland_2003",
        "solar flares": "solar_flares_c1",
    }
    for name, file in files.items():
        if (folder / f"{file}.csv").exists():
            table = pd.read_csv(folder / f"{file}.csv")
            p = table.y_prob.to_numpy()
            found[name] = np.column_stack([1 - p, p]), table.y_true.to_numpy()
    if (folder / "cifar10_vgg16_proba.csv.gz").exists():
        table = pd.read_csv(folder / "cifar10_vgg16_proba.csv.gz")
        proba = table[[f"p{k}" for k in range(10)]].to_numpy()
        found["VGG-16"] = proba / proba.sum(axis=1, keepdims=True), table.y_true.to_numpy()
    return found


# ----------------------------------------------------------------------------------------- models

SCALED = StandardScaler()
MODELS = {
    "logistic regression": make_pipeline(SCALED, LogisticRegression(max_iter=1000)),
    "naive Bayes": GaussianNB(),
    "random forest": RandomForestClassifier(random_state=0),
    "extra trees": ExtraTreesClassifier(min_samples_leaf=2, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "nearest neighbours": make_pipeline(SCALED, KNeighborsClassifier(20)),
    "SVM": make_pipeline(SCALED, SVC()),
    "network": make_pipeline(SCALED, MLPClassifier((64,), random_state=0)),
}
HARM_MODELS = {
    "naive Bayes": GaussianNB(),
    "random forest": RandomForestClassifier(min_samples_leaf=2, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "logistic regression": LogisticRegression(max_iter=500),
    "discriminant": QuadraticDiscriminantAnalysis(reg_param=0.1),
}


def predict(model, X):
    """Probabilities; those of a model without any are the sigmoid or softmax of its scores."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    scores = model.decision_function(X)
    if scores.ndim == 1:
        return np.column_stack([special.expit(-scores), special.expit(scores)])
    return special.softmax(scores, axis=1)


# ---------------------------------------------------------------------------------- recalibrators


class Given(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose features are its probabilities."""

    def fit(self, X, y):
        self.classes_ = np.arange(X.shape[1])
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return X.argmax(axis=1)


class Peer(BaseEstimator):
    """A method of another package, from functions that fit it and that read its probabilities."""

    def __init__(self, learn, read, binary=False):
        self.learn, self.read, self.binary = learn, read, binary

    def fit(self, X, y):
        if self.binary and X.shape[1] > 2:
            raise ValueError("It is for two classes.")
        self.model = self.learn(X, y)
        return self

    def predict_proba(self, X):
        proba = np.asarray(self.read(self.model, X), dtype=float)
        if proba.ndim == 1 or proba.shape[1] == 1:
            return np.column_stack([1 - proba.ravel(), proba.ravel()])
        return proba


def list_scikit_learn():
    def fit(method, X, y):
        everything = np.arange(len(y))
        return CalibratedClassifierCV(
            FrozenEstimator(Given().fit(X, y)),
            method=method,
            cv=[(everything, everything)],
            ensemble=False,
        ).fit(X, y)

    # "temperature" comes with scikit-learn 1.8; before, it is refused.
    for method in ("sigmoid", "isotonic", "temperature"):
        yield f"scikit-learn {method}", Peer(partial(fit, method), lambda m, X: m.predict_proba(X))


def list_betacal():
    from betacal import BetaCalibration

    yield (
        "betacal",
        Peer(
            lambda X, y: BetaCalibration(parameters="abm").fit(X[:, 1], y),
            lambda model, X: model.predict(X[:, 1]),
            binary=True,
        ),
    )


def list_venn_abers():
    """It is fitted as it predicts, so that its time says nothing."""
    from venn_abers.venn_abers import predict_proba_prefitted_va

    yield (
        "venn-abers",
        Peer(
            lambda X, y: (X, y),
            lambda rows, X: predict_proba_prefitted_va(*rows, X, va_tpe="one_vs_rest")[0],
        ),
    )


def list_probmetrics():
    from probmetrics.calibrators import get_calibrator

    for name in ("ts-mix", "logistic", "svs", "quadratic-scaling"):
        yield (
            f"probmetrics {name}",
            Peer(
                lambda X, y, name=name: get_calibrator(name).fit(X, y),
                lambda model, X: model.predict_proba(X),
                binary=name == "quadratic-scaling",
            ),
        )


def list_netcal():
    from netcal.binning import BBQ
    from netcal.scaling import TemperatureScaling

    for kind in (TemperatureScaling, BBQ):

        def fit(X, y, kind=kind):
            model = kind()
            model.fit(X[:, 1] if X.shape[1] == 2 else X, y)
            return model

        yield (
            f"netcal {kind.__name__}",
            Peer(
                fit,
                lambda model, X: model.transform(X[:, 1] if X.shape[1] == 2 else X),
                binary=kind is BBQ,
            ),
        )


PEERS = (list_scikit_learn, list_betacal, list_venn_abers, list_probmetrics, list_netcal)


def list_peers():
    """Methods of the packages that are installed, by name."""
    peers = {}
    for list_methods in PEERS:
        with suppress(ImportError):
            peers.update(list_methods())
    return peers


def list_recalibrators(suite, n_rows):
    """What is compared, by name; None leaves the scores as they are."""
    if suite == "harm":
        names = ("temperature", "platt", "beta", "spline", "auto")
        inside = IsotonicRecalibration(min_proba=1 / (n_rows + 2))
        others = {"isotonic": inside}
    else:
        names, others = get_recalibrator_names(), list_peers()
    options = {"scaling_binning": {"n_bins": 10}}
    own = {name: get_recalibrator(name, **options.get(name, {})) for name in names}
    return {IDENTITY: None} | own | others


# ------------------------------------------------------------------------------------ measurement


class Case(NamedTuple):
    """Predictions, and the numbers of rows that they are recalibrated by."""

    suite: str
    data: str
    model: str
    split: int
    sizes: tuple

    def is_given(self):
        return self.model == GIVEN


def list_cases(quick):
    """All data sets once, then the next split of those that have several."""
    problems = {name: PROBLEMS[name].n_splits for name in list(PROBLEMS)[:: 5 if quick else 1]}
    models = list(MODELS)[:: 2 if quick else 1]
    n_splits = dict.fromkeys(load_given(), N_SPLITS) | problems
    sizes = (100, 1000) if quick else SIZES
    for split in range(1 if quick else max(n_splits.values())):
        for name, last in n_splits.items():
            for model in (models if name in PROBLEMS else [GIVEN]) if split < last else []:
                yield Case("all", name, model, split, sizes)


def list_harm_cases(quick):
    for number in range(8 if quick else 75):
        for model in HARM_MODELS:
            yield Case("harm", f"random {number}", model, 0, (100,) if quick else (100, 400, 2000))
    networks = load_given().keys() & {"ResNet-34", "DenseNet-40"}
    one_of_ten = [f"VGG-16, {k}" for k in range(10)] if "VGG-16" in load_given() else []
    for size, n_splits in {100: 4, 300: 3, 1000: 2}.items() if not quick else []:
        for name in [*sorted(networks), *one_of_ten]:
            for split in range(3 * n_splits if name in networks else n_splits):
                yield Case("harm", name, GIVEN, split, (size,))


def predict_rows(case):
    """Probabilities and labels from 0 on, of the rows that did not train the model."""
    harm = case.suite == "harm"
    if case.is_given():
        name, _, number = case.data.partition(", ")
        proba, y = load_given()[name]
        if number:
            proba, y = proba[:, int(number)], (y == int(number)).astype(int)
            proba = np.column_stack([1 - proba, proba])
    elif harm:
        X, y = make_harm_problem(int(case.data.removeprefix("random ")))
        model = clone(HARM_MODELS[case.model]).fit(X[:3000], y[:3000])
        proba, y = predict(model, X[3000:]), y[3000:]
    else:
        problem = PROBLEMS[case.data]
        X, y = problem.load(case.split)
        y = np.unique(y, return_inverse=True)[1]
        X, X_rest, y, y_rest = train_test_split(
            X, y, train_size=problem.n_train, random_state=case.split, stratify=y
        )
        proba, y = predict(clone(MODELS[case.model]).fit(X, y), X_rest), y_rest
    if harm:
        proba = np.clip(proba, 1e-6, 1 - 1e-6)
    return proba / proba.sum(axis=1, keepdims=True), y


def split_rows(case, y, size):
    """Rows for recalibration and test rows; None if there are too few of them."""
    if case.suite == "harm":
        order = np.arange(len(y))
        if case.is_given():
            order = np.random.default_rng(case.split).permutation(len(y))[: size + 5000]
        few = np.bincount(y[order[:size]], minlength=2).min() < (6 if case.is_given() else 10)
        return None if few else (order[:size], order[size:])
    n_test, n_classes = min(N_TEST, len(y) - size), y.max() + 1
    if size < ROWS_PER_CLASS * n_classes or n_test < 50:
        return None
    rows = np.arange(len(y))
    return train_test_split(
        rows, train_size=size, test_size=n_test, random_state=case.split, stratify=y
    )


def measure(y, proba):
    own = proba[np.arange(len(y)), y]
    with np.errstate(divide="ignore"):
        log_loss = -np.log(np.clip(own, 0, 1)).mean()
    brier = np.square(proba - np.eye(proba.shape[1])[y]).sum(axis=1).mean()
    columns = np.clip(proba[:, 1] if proba.shape[1] == 2 else proba, 0, 1)
    error = smooth_ece(y, columns, labels=np.arange(proba.shape[1]))
    return {"log_loss": log_loss, "brier": brier, "smooth_ece": error}


def recalibrate(recalibrator, X, y, X_test, y_test):
    """The measures on test rows, or why there are none."""
    if recalibrator is None:
        return measure(y_test, X_test)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            start = time.perf_counter()
            fitted = clone(recalibrator).fit(X, y)
            seconds = time.perf_counter() - start
            proba = fitted.predict_proba(X_test)
        return measure(y_test, proba) | {"seconds": seconds}
    except Exception as error:  # whatever a package refuses with is reported
        return {"note": f"{type(error).__name__}: {error}".splitlines()[0][:150]}


def run(case, missing):
    """Rows of the file for some recalibrators by size."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proba, y = predict_rows(case)
        for size, names in missing.items():
            split = split_rows(case, y, size)
            methods = list_recalibrators(case.suite, size) if split else {NOTHING: None}
            for name in names if split else methods:
                values = {"note": "too few rows"}
                if split:
                    fit, test = split
                    values = recalibrate(methods[name], proba[fit], y[fit], proba[test], y[test])
                key = (case.suite, case.data, case.model, case.split, size, name)
                rows.append(dict(zip(KEY, key, strict=True), n_classes=proba.shape[1], **values))
    return pd.DataFrame(rows, columns=COLUMNS)


def find_missing(case, known, names):
    """Names of the recalibrators by size whose results are not known."""
    missing = {}
    for size in case.sizes:
        key = (case.suite, case.data, case.model, case.split, size)
        left = [name for name in names if (*key, name) not in known]
        if left and (*key, NOTHING) not in known:
            missing[size] = left
    return missing


def run_all(cases, path, n_jobs):
    """Measure what the file does not hold, and append it case by case."""
    known = set()
    if path.exists():
        known = set(read(path)[KEY].itertuples(index=False, name=None))
    else:
        pd.DataFrame(columns=COLUMNS).to_csv(path, index=False)
    jobs = []
    for case in cases:
        missing = find_missing(case, known, list(list_recalibrators(case.suite, case.sizes[0])))
        jobs += [(case, missing)] if missing else []
    results = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="2*n_jobs")(
        show_progress([delayed(run)(*job) for job in jobs], "cases")
    )
    for rows in results:
        rows.to_csv(path, mode="a", header=False, index=False)


def read(path):
    return pd.read_csv(path, keep_default_na=False, na_values={c: [""] for c in VALUES})


# ----------------------------------------------------------------------------------------- tables


def tabulate(table, value):
    """A measure by problem and recalibrator; splits of small data sets are averaged."""
    by = KEY[1:-1] if "harm" in set(table.suite) else ["data", "model", "rows"]
    return table.pivot_table(index=by, columns="recalibrator", values=value)


def find_changes(wide):
    """Relative to the scores as they are, where these have a finite loss."""
    base = wide[IDENTITY]
    return wide[np.isfinite(base)].div(base, axis=0).dropna(how="all") - 1


def summarize(table):
    """One line for each recalibrator."""
    losses, brier = tabulate(table, "log_loss"), tabulate(table, "brier")
    change, brier_change = find_changes(losses), find_changes(brier)
    seconds = table.groupby("recalibrator").seconds.median()  # as ratios, which load does not move
    lines = {}
    for name in losses:
        values = change[name].dropna()
        lines[name] = {
            "problems": losses[name].count(),
            "worse": (values > 1e-9).mean(),
            "worse by 1 %": (values > 0.01).mean(),
            "infinite": np.isinf(losses[name]).sum() / losses[name].count(),
            "mean change %": 100 * values.mean(),
            "median change %": 100 * values.median(),
            "90 % worst %": 100 * values.quantile(0.9, interpolation="higher"),
            "worst %": 100 * values.max(),
            "mean rank": losses.rank(axis=1)[name].mean(),
            "Brier worse by 1 %": (brier_change[name].dropna() > 0.01).mean(),
            "smooth ECE": tabulate(table, "smooth_ece")[name].mean(),
            "fit time": seconds.get(name, np.nan) / seconds.get("platt", np.nan),
        }
    return pd.DataFrame(lines).T.sort_values("mean rank")


DIGITS = dict.fromkeys(("worse", "worse by 1 %", "infinite", "Brier worse by 1 %"), ".2f")
DIGITS |= {"problems": ".0f", "worst %": ".0f", "smooth ECE": ".3f"}


def show(value, digits=".1f"):
    if not np.isfinite(value):
        return "–" if np.isnan(value) else "∞"
    shown = f"{value:{digits}}"
    return shown if float(shown) else shown.lstrip("+-")


def print_csv_table(header, lines):
    widths = ["24", *["10"] * (len(header) - 1)]
    print(f".. csv-table::\n   :header: {', '.join(header)}\n   :widths: {', '.join(widths)}\n")
    for line in lines:
        print(f"   {', '.join(line)}")
    print()


def print_summary(table):
    summary = summarize(table)
    lines = [
        [name, *(show(value, DIGITS.get(column, ".1f")) for column, value in line.items())]
        for name, line in summary.iterrows()
    ]
    print_csv_table(["recalibrator", *summary], lines)


def print_by_size(table):
    """Share worse by more than 1 %, and mean change in %, by number of rows."""
    parts = {size: summarize(part) for size, part in table.groupby("rows")}

    def show_cell(name, part):
        if name not in part.index:
            return "–"
        line = part.loc[name]
        change = line["mean change %"]
        return (
            f"{line['worse by 1 %']:.2f} ({show(change, '+.1f' if abs(change) < 100 else '+.0f')})"
        )

    names = summarize(table).index
    lines = [[name, *(show_cell(name, part) for part in parts.values())] for name in names]
    print_csv_table(["recalibrator", *(f"{size} rows" for size in parts)], lines)


def split_kinds(table):
    """Parts of the results by title."""
    harm, given, binary = table.suite == "harm", table.model == GIVEN, table.n_classes == 2
    kinds = {
        "Two classes": ~harm & binary,
        "More classes": ~harm & ~binary,
        "Harm, random problems": harm & ~given,
        "Harm, networks": harm & given,
    }
    return {title: table[chosen] for title, chosen in kinds.items() if chosen.any()}


def print_tables(table):
    for title, part in split_kinds(table[table.note == ""]).items():
        n_pairs = len(part[["data", "model"]].drop_duplicates())
        print(f"\n{title}: {part.data.nunique()} data sets, {n_pairs} pairs of data and model\n")
        if "Harm" not in title:
            print_by_size(part)
            print_summary(part)
            continue
        for size, few in part.groupby("rows"):
            print(f"{size} rows\n")
            print_summary(few)
    refused = table[(table.note != "") & (table.recalibrator != NOTHING)]
    notes = refused.note.str.replace(r"[\d.]+", "#", regex=True)
    for (name, note), count in refused.groupby(["recalibrator", notes]).size().items():
        print(f"Refused {count} times: {name} ({note})")


# ---------------------------------------------------------------------------------------- figure

COLORS = {
    "auto": "black",
    "temperature": "C0",
    "platt": "C1",
    "beta": "C2",
    "spline": "C3",
    "structured_matrix": "C4",
    "structured_vector": "C5",
    "venn_abers": "C6",
    "isotonic": "C7",
}
LIMIT = 30


def draw(table, path):
    """Share worse by more than 1 % against the mean change, a panel for each number of rows."""
    import matplotlib.pyplot as plt

    table = table[(table.note == "") & (table.suite == "all")]
    kinds, sizes = split_kinds(table), sorted(set(table.rows))
    figure, axes = plt.subplots(
        len(kinds),
        len(sizes),
        figsize=(2.1 * len(sizes), 2.4 * len(kinds) + 0.6),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for row, (title, part) in zip(axes, kinds.items(), strict=True):
        for ax, size in zip(row, sizes, strict=True):
            few = part[part.rows == size]
            ax.set_title(f"{title}, {size:,} rows", fontsize=8)
            if len(few):
                draw_panel(ax, summarize(few).drop(IDENTITY))
        row[0].set_ylabel("mean change of log loss, %")
    for ax in axes[-1]:
        ax.set_xlabel("share worse by > 1 %")
    marks = [plt.Line2D([], [], marker="o", linestyle="", color=c) for c in COLORS.values()]
    names = [name.replace("_", " ") for name in COLORS]
    figure.legend(marks, names, loc="outside lower center", ncols=len(names), frameon=False)
    figure.savefig(path, dpi=100)


def draw_panel(ax, summary):
    """All methods, those without a name of the legend in grey below the others."""
    ax.axhline(0, color="0.8", linewidth=1)
    ax.set(xlim=(-0.05, 1.05), ylim=(-LIMIT, LIMIT))
    for name, line in summary.iterrows():
        x, y = line["worse by 1 %"], line["mean change %"]
        # What lies beyond the axis is an arrow at its edge.
        mark = "^" if y > LIMIT else "o"
        style = {"color": COLORS.get(name, "0.8"), "markersize": 5, "zorder": 2 + (name in COLORS)}
        ax.plot(x, min(y, LIMIT - 2), mark, **style | ({"zorder": 4} if name == "auto" else {}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("bench_recalibrators.csv"))
    parser.add_argument("--quick", action="store_true", help="some of the problems")
    parser.add_argument("--harm", action="store_true", help="the narrower question")
    parser.add_argument("--tables", action="store_true", help="only print what --out holds")
    parser.add_argument("--figure", type=Path, help="draw what --out holds")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1 takes all cores")
    options = parser.parse_args()
    if not options.tables and not options.figure:
        cases = list_harm_cases(options.quick) if options.harm else list_cases(options.quick)
        run_all(cases, options.out, options.jobs)
    table = read(options.out)
    print_tables(table)
    if options.figure:
        draw(table, options.figure)


if __name__ == "__main__":
    main()
