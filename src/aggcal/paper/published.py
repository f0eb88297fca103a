"""The numbers that the paper printed, as it printed them: what ours are compared with."""

from __future__ import annotations

from aggcal._core.records import dataclass

METHODS = ("hra-g", "hra-e", "hra-n", "crowd-bt", "crowd-tcv", "btl", "tcv")
"""The methods of the paper's tables, in their order."""

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

VECTORS = ("consensus", "model", "calibrated")
SCALED_VECTORS = ("scaled", *VECTORS)

Table = dict[str, dict[str, str]]

_THIRD_DIGIT = 0.001  # one unit: the authors' cells are not all rounded alike
_DIGITS = 3  # as printed in the paper


@dataclass(frozen=True)
class Printed:
    """A printed number (None where the paper has a dash) and how far a reproduction may be off."""

    value: float | None
    tolerance: float


def printed(text: str) -> list[Printed]:
    """Read the numbers of one cell of a printed table.

    A number of two digits stands for everything that rounds to it. One of three digits may be one
    unit off in the last: the authors' cells are not all rounded alike.

    Examples
    --------
    >>> printed("0.375 / 29.00 / --")
    [Printed(value=0.375, tolerance=0.001), Printed(value=29.0, tolerance=0.005),
     Printed(value=None, tolerance=0.0)]
    """
    found = []
    for part in text.split(" / "):
        if part == "--":
            found.append(Printed(None, 0.0))
            continue
        digits = len(part.partition(".")[2])
        found.append(Printed(float(part), _THIRD_DIGIT if digits >= _DIGITS else 0.5 / 10**digits))
    return found


READING_LEVEL: Table = {
    "hra-g": {
        "tau_b": "0.375 / 0.399 / 0.410",
        "wasserstein": "2.250 / 2.831 / 0.839",
        "ks": "0.500 / 0.300 / 0.163",
        "mse": "8.658 / 29.00 / 8.122",
    },
    "hra-e": {
        "tau_b": "0.375 / 0.399 / 0.403",
        "wasserstein": "2.243 / 2.831 / 0.827",
        "ks": "0.498 / 0.300 / 0.163",
        "mse": "8.658 / 29.00 / 8.191",
    },
    "hra-n": {
        "tau_b": "0.368 / 0.399 / 0.399",
        "wasserstein": "2.351 / 2.831 / 0.738",
        "ks": "0.563 / 0.300 / 0.192",
        "mse": "8.985 / 29.00 / 7.919",
    },
    "crowd-bt": {
        "tau_b": "0.354 / 0.399 / 0.399",
        "wasserstein": "2.150 / 2.831 / 0.843",
        "ks": "0.455 / 0.300 / 0.269",
        "mse": "8.301 / 29.00 / 7.555",
    },
    "crowd-tcv": {
        "tau_b": "0.339 / 0.399 / 0.372",
        "wasserstein": "2.272 / 2.831 / 1.015",
        "ks": "0.506 / 0.300 / 0.312",
        "mse": "8.689 / 29.00 / 7.809",
    },
    "btl": {
        "tau_b": "0.340 / 0.399 / 0.373",
        "wasserstein": "2.186 / 2.831 / 0.894",
        "ks": "0.461 / 0.300 / 0.300",
        "mse": "7.764 / 29.00 / 8.097",
    },
    "tcv": {
        "tau_b": "0.338 / 0.399 / 0.373",
        "wasserstein": "2.343 / 2.831 / 0.914",
        "ks": "0.547 / 0.300 / 0.300",
        "mse": "8.943 / 29.00 / 8.030",
    },
}
"""Table 1: consensus, model, calibrated."""

SCALED: Table = {
    "hra-g": {"wasserstein": "1.44 / 2.25 / 2.83 / 0.84", "ks": "0.31 / 0.50 / 0.30 / 0.16"},
    "hra-e": {"wasserstein": "1.46 / 2.24 / 2.83 / 0.83", "ks": "0.34 / 0.50 / 0.30 / 0.16"},
    "hra-n": {"wasserstein": "1.45 / 2.35 / 2.83 / 0.74", "ks": "0.31 / 0.56 / 0.30 / 0.19"},
    "btl": {"wasserstein": "1.78 / 2.19 / 2.83 / 0.89", "ks": "0.42 / 0.46 / 0.30 / 0.30"},
    "crowd-bt": {"wasserstein": "1.72 / 2.15 / 2.83 / 0.84", "ks": "0.40 / 0.46 / 0.30 / 0.27"},
    "crowd-tcv": {"wasserstein": "1.76 / 2.27 / 2.83 / 1.02", "ks": "0.42 / 0.51 / 0.30 / 0.31"},
    "tcv": {"wasserstein": "1.78 / 2.34 / 2.83 / 0.91", "ks": "0.43 / 0.55 / 0.30 / 0.30"},
}
"""Table 3, the scaled consensus: scaled, consensus, model, calibrated."""

DOTS: Table = {
    "hra-g": {
        "tau_b": "0.917 / 0.923 / 0.940",
        "wasserstein": "6.97 / 2.53 / 2.53",
        "kl": "123.13 / 0.881 / 0.860",
        "mse": "65.08 / 11.75 / 9.61",
    },
    "hra-e": {
        "tau_b": "0.922 / 0.922 / 0.943",
        "wasserstein": "6.98 / 2.53 / 2.53",
        "kl": "123.16 / 0.881 / 0.861",
        "mse": "65.16 / 11.75 / 9.59",
    },
    "hra-n": {
        "tau_b": "0.917 / 0.923 / 0.934",
        "wasserstein": "7.05 / 2.53 / 2.53",
        "kl": "125.50 / 0.881 / 0.859",
        "mse": "66.44 / 11.75 / 9.75",
    },
    "crowd-bt": {
        "tau_b": "0.894 / 0.923 / 0.927",
        "wasserstein": "5.32 / 2.53 / 2.55",
        "kl": "72.84 / 0.881 / 0.865",
        "mse": "39.28 / 11.75 / 10.24",
    },
    "crowd-tcv": {
        "tau_b": "0.899 / 0.923 / 0.926",
        "wasserstein": "5.73 / 2.53 / 2.55",
        "kl": "84.74 / 0.881 / 0.865",
        "mse": "44.97 / 11.75 / 10.24",
    },
    "btl": {
        "tau_b": "0.917 / 0.923 / 0.937",
        "wasserstein": "6.72 / 2.53 / 2.53",
        "kl": "115.37 / 0.881 / 0.860",
        "mse": "60.51 / 11.75 / 9.73",
    },
    "tcv": {
        "tau_b": "0.917 / 0.923 / 0.933",
        "wasserstein": "6.81 / 2.53 / 2.54",
        "kl": "117.81 / 0.881 / 0.878",
        "mse": "62.09 / 11.75 / 10.18",
    },
}
"""Tables 2 and 4, Dots: consensus, model, calibrated."""

DOTS_BASELINES: Table = {
    "gppl": {"tau_b": "0.931", "wasserstein": "64.50", "kl": "126.62", "mse": "4220.36"},
    "rank-svm": {"tau_b": "0.923", "wasserstein": "61.20", "kl": "133.70", "mse": "3814.49"},
    "barcw": {"tau_b": "0.940", "wasserstein": "64.62", "kl": "24.09", "mse": "4236.16"},
}
"""The last rows of Tables 2 and 4: each method's own output, compared without centring."""
