"""What a summary keeps of a binary problem, and what can be computed of it.

`skcal.streaming` fills cells with rows; summaries, tests, intervals and diagrams read them.
"""
