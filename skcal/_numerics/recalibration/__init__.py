"""Maps of probabilities and how they are fitted."""
