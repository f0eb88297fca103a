"""What the files of an assessment are called."""

RESULT_FILES = (
    "items.csv", "annotators.csv", "categories.csv", "camps.csv", "predictions.csv",
    "comparisons.json", "report.html", "report.md", "report.json", "summary.json",
)  # fmt: skip
"""What a folder of results may hold; ``summary.json`` lists what it does hold, with digests."""
