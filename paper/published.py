"""The methods and the numbers of the paper, as it printed them: ``published.csv``.

Tables 1 and 3 are ``reading-level`` and ``scaled``, Tables 2 and 4 together are ``dots``. Of its
baselines the paper prints one vector, compared without centring; ours are held against it on both
footings.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

HRA = ("hra-g", "hra-e", "hra-n")
METHODS = (*HRA, "crowd-bt", "crowd-tcv", "btl", "tcv")
"""The methods of the paper's tables, in their order."""
BASELINES = ("gppl", "rank-svm", "barcw")

NAMES = {
    "hra-g": "HRA-G",
    "hra-e": "HRA-E",
    "hra-n": "HRA-N",
    "crowd-bt": "CrowdBT",
    "crowd-tcv": "CrowdTCV",
    "btl": "BTL",
    "tcv": "TCV",
    "gppl": "GPPL",
    "rank-svm": "Rank-SVM",
    "barcw": "BARCW",
}
"""What the paper calls each method."""


def printed(experiment: str, method: str, metric: str, vector: str) -> str:
    """Return a number as the paper prints it; nothing where it prints none.

    Examples
    --------
    >>> printed("reading-level", "hra-g", "mse", "model"), printed("rq3", "atc", "mse", "model")
    ('29.00', '')
    """
    return _tables().get((experiment, method, metric), {}).get(vector, "")


@cache
def _tables() -> dict[tuple[str, str, str], dict[str, str]]:
    text = (resources.files("paper") / "published.csv").read_text("utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["experiment"], row["method"], row["metric"]): row for row in rows}
