"""Calibration curves, and bands and regions around them."""
