"""What the files of an assessment are called."""

MATRIX_FILES = ("win_rates.csv", "battles.csv", "win_rates.svg", "battles.svg")
"""What ``--matrices`` writes: the share that the row's item won, how often two items met."""
RESULT_FILES = (
    "items.csv", "annotators.csv", "categories.csv", "camps.csv", "predictions.csv",
    "comparisons.json", *MATRIX_FILES, "report.html", "report.md", "report.json", "summary.json",
)  # fmt: skip
"""What a folder of results may hold; ``summary.json`` lists what it does hold, with digests."""
