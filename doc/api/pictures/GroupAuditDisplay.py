import numpy as np

from skcal.diagrams import GroupAuditDisplay

rng = np.random.default_rng(0)
table = {"age": rng.integers(20, 80, size=5000), "site": rng.choice(["north", "south"], size=5000)}
y_proba = rng.random(5000)
y_true = rng.random(5000) < np.where(table["age"] < 35, y_proba**1.5, y_proba)
GroupAuditDisplay.from_predictions(y_true, y_proba, table, random_state=0)
