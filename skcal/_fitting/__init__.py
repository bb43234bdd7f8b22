"""Classifiers and recalibrators fitted on parts of the rows, and what they predict."""
