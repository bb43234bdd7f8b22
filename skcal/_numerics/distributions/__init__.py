"""Predictive distributions, intervals and quantiles of real targets."""
