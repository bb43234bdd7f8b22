"""Formulas on plain float arrays: no validation, no labels, no scikit-learn estimators."""
