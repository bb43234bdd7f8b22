"""
Repair a model for the groups that it is wrong for
==================================================

A model says whether a flight from New York will be late. Its reliability diagram is fine, but it
does not know the airline, and is wrong for several of them.
:class:`~skcal.recalibration.MulticalibratedClassifierCV` repairs that. What does it cost in log
loss, and what does it not promise?
"""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from threadpoolctl import threadpool_limits

from skcal.diagrams import GroupAuditDisplay, ReliabilityDisplay
from skcal.inference import audit_groups
from skcal.metrics import smooth_ece
from skcal.recalibration import MulticalibratedClassifierCV, RecalibratedClassifierCV

# sphinx_gallery_thumbnail_number = 2

# %%
# The rows are 40,000 flights, drawn at random from all that left Newark (EWR), John F. Kennedy
# (JFK) and La Guardia (LGA) in 2013. Late are those that arrived more than 15 minutes after
# schedule. ``data/flights.md``, beside this program, tells where they come from.
folder = Path(__file__).parent if "__file__" in globals() else Path.cwd()
flights = pd.read_csv(folder / "data" / "flights.csv.gz")
X, late = flights.drop(columns="late"), flights["late"]
X_train, X_test, late_train, late_test = train_test_split(X, late, test_size=0.25, random_state=0)

# %%
# The model reads month, hour and distance, and is recalibrated on average. It is small, and faster
# in one thread.
threadpool_limits(1)
knows = make_column_transformer(("passthrough", ["month", "hour", "distance"]))
model = make_pipeline(knows, HistGradientBoostingClassifier(max_iter=50, random_state=0))
recalibrated = RecalibratedClassifierCV(model).fit(X_train, late_train)
y_proba = recalibrated.predict_proba(X_test)[:, 1]
ReliabilityDisplay.from_predictions(late_test, y_proba, name="recalibrated")
plt.show()

# %%
# Who is not served?
# ------------------
# The audit makes groups of four columns and of pairs of them. Airlines have codes: EV is
# ExpressJet, DL is Delta.
columns = ["carrier", "origin", "month", "hour"]
before = audit_groups(late_test, y_proba, X_test[columns], random_state=0)
before.print(n_groups=8)

# %%
# Flights of ExpressJet, and those from Newark, are late more often than predicted; those of Delta
# less often. On average these errors cancel out, so the reliability diagram does not show them.
GroupAuditDisplay.from_audit(before, n_groups=15)
plt.show()

# %%
# The repair
# ----------
# It gets the model and the columns of the groups. The model reads what it did before; the
# correction of its log-odds reads airline and airport, too. In the test rows no group stands out
# any more.
multicalibrated = MulticalibratedClassifierCV(model, features=columns).fit(X_train, late_train)
y_proba = multicalibrated.predict_proba(X_test)[:, 1]
after = audit_groups(late_test, y_proba, X_test[columns], random_state=0)
after.print(n_groups=3)
GroupAuditDisplay.from_audit(after, n_groups=15)
plt.show()

# %%
# The price in log loss
# ---------------------
# There is none here: the log loss falls, because the groups tell something about the outcomes that
# the model did not know. Recalibration on average leaves it nearly as it is. Who can give the
# columns to the model itself may begin with that: here it then needs no repair.
reads_all = make_column_transformer(
    ("passthrough", ["month", "hour", "distance"]),
    (OrdinalEncoder(), ["carrier", "origin"]),
)
boosting = HistGradientBoostingClassifier(max_iter=50, random_state=0, categorical_features=[3, 4])
informed = make_pipeline(reads_all, boosting)


def compare(models, X_new, late_new):
    """Log loss, smooth ECE, and the number of groups off, of fitted models."""
    rows = {}
    for name, fitted in models.items():
        proba = fitted.predict_proba(X_new)[:, 1]
        audit = audit_groups(late_new, proba, X_new[columns], random_state=0)
        scores = log_loss(late_new, proba), smooth_ece(late_new, proba)
        rows[name] = [*(f"{score:.4f}" for score in scores), len(audit.find())]
    return pd.DataFrame.from_dict(rows, "index", columns=["log loss", "smooth ECE", "groups off"])


models = {
    "model": model.fit(X_train, late_train),
    "recalibrated": recalibrated,
    "multicalibrated": multicalibrated,
    "model that reads all columns": informed.fit(X_train, late_train),
}
print(compare(models, X_test, late_test))

# %%
# What this does not promise
# --------------------------
# Training and test rows were drawn at random from the flights of one year, so the p-values are
# about the flights of that year. They are not about days to come: flights of one day are late
# together, in a storm for instance, and most test rows had others of their day among the training
# rows. For other days, leave out whole days, here a quarter, and keep days together in the folds:
day = 100 * X["month"] + X["day"]
known, new = next(GroupShuffleSplit(1, test_size=0.25, random_state=0).split(X, groups=day))
X_known, late_known = X.iloc[known], late.iloc[known]
cv = list(GroupKFold().split(X_known, groups=day.iloc[known]))
models = {
    "model": model,
    "recalibrated": RecalibratedClassifierCV(model, cv=cv),
    "multicalibrated": MulticalibratedClassifierCV(model, features=columns, cv=cv),
    "model that reads all columns": informed,
}
models = {name: classifier.fit(X_known, late_known) for name, classifier in models.items()}
print(compare(models, X.iloc[new], late.iloc[new]))

# %%
# The repair still lowers the log loss. But in some months more flights were late on these days than
# on those of the training rows, in others fewer, which no correction can know that was learned from
# other days. These rows are not independent either: their numbers of groups off are a description,
# not a test.
