"""Other populations: base rates and importance weights."""
