"""Measures of calibration of probabilities, and of what a decision loses by errors."""
