"""Measures with their options, and where tests, intervals and diagrams take values from."""
