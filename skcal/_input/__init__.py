"""From what users give to checked samples, vectors, groups, distributions and batches."""
