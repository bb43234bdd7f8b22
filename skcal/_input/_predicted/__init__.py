"""Predictions of real targets: what users may pass, and how it is read and checked."""
