"""
For whom is my model wrong?
===========================

A model of arrears looks calibrated, and is not: it does not know how old borrowers are, nor where
they live. :func:`~skcal.inference.audit_groups` makes groups of the columns of a table and finds
those in which observed and predicted shares differ, with p-values and intervals that hold for all
groups at once.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from skcal.diagrams import GroupAuditDisplay, ReliabilityDisplay
from skcal.inference import audit_groups

# sphinx_gallery_thumbnail_number = 2

# Simulated: the true risk depends on income, on age, and on the job in one region.
rng = np.random.default_rng(0)
n = 20_000
people = pd.DataFrame(
    {
        "age": rng.integers(20, 80, size=n),
        "region": rng.choice(["east", "north", "south", "west"], size=n),
        "job": rng.choice(["fixed", "none", None], size=n, p=[0.7, 0.2, 0.1]),
    }
)
income = rng.normal(size=n)
log_odds = -1 - income + 0.5 * (people["age"] < 35) - 0.35 * (people["age"] >= 50)
log_odds += 0.8 * ((people["job"] == "none") & (people["region"] == "north"))
late = rng.random(n) < expit(log_odds)

# %%
# The model reads the income alone. On new rows its reliability diagram is as good as can be.
train, test = train_test_split(np.arange(n), test_size=0.5, random_state=0)
model = LogisticRegression().fit(income[train, None], late[train])
y_proba = model.predict_proba(income[test, None])[:, 1]
ReliabilityDisplay.from_predictions(late[test], y_proba, name="income alone")
plt.show()

# %%
# The audit looks at all values of all columns and at their intersections.
audit = audit_groups(late[test], y_proba, people.iloc[test], random_state=0)
audit.print()

# %%
# Filled points are groups in which the model is miscalibrated: the young are late more often than
# predicted, the old less often, and in the north so are those without a job. The probability to
# name any group in which it is calibrated is 5 %.
GroupAuditDisplay.from_audit(audit, n_groups=25)
plt.show()
