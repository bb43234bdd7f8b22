"""
Getting started: the diagram
============================

The model of :doc:`/getting_started`, a naive Bayes classifier whose features share evidence, before
and after isotonic regression. It is over-confident: low probabilities are too low, and high ones
too high.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from skcal.diagrams import ReliabilityDisplay
from skcal.recalibration import IsotonicRecalibration, RecalibratedClassifierCV

X, y = make_classification(10_000, n_informative=4, n_redundant=12, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

_, ax = plt.subplots(figsize=(6, 6))
models = {
    "naive Bayes": GaussianNB(),
    "repaired": RecalibratedClassifierCV(GaussianNB(), IsotonicRecalibration()),
}
for name, model in models.items():
    model.fit(X_train, y_train)
    ReliabilityDisplay.from_estimator(model, X_test, y_test, name=name, ax=ax)
plt.show()
