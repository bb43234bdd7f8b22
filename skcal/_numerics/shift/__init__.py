"""Other populations: base rates, importance weights, censored outcomes."""
