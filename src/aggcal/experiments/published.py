"""The numbers that the paper printed: what ours are compared with."""

from __future__ import annotations

METHODS = ("hra-g", "hra-e", "hra-n", "crowd-bt", "crowd-tcv", "btl", "tcv")
"""The methods of the paper's tables, in their order."""

VECTORS = ("consensus", "model", "calibrated")

Table = dict[str, dict[str, tuple[float | None, ...]]]

READING_LEVEL: Table = {
    "hra-g": {
        "tau_b": (0.375, 0.399, 0.410),
        "wasserstein": (2.250, 2.831, 0.839),
        "ks": (0.500, 0.300, 0.163),
        "mse": (8.658, 29.00, 8.122),
    },
    "hra-e": {
        "tau_b": (0.375, 0.399, 0.403),
        "wasserstein": (2.243, 2.831, 0.827),
        "ks": (0.498, 0.300, 0.163),
        "mse": (8.658, 29.00, 8.191),
    },
    "hra-n": {
        "tau_b": (0.368, 0.399, 0.399),
        "wasserstein": (2.351, 2.831, 0.738),
        "ks": (0.563, 0.300, 0.192),
        "mse": (8.985, 29.00, 7.919),
    },
    "crowd-bt": {
        "tau_b": (0.354, 0.399, 0.399),
        "wasserstein": (2.150, 2.831, 0.843),
        "ks": (0.455, 0.300, 0.269),
        "mse": (8.301, 29.00, 7.555),
    },
    "crowd-tcv": {
        "tau_b": (0.339, 0.399, 0.372),
        "wasserstein": (2.272, 2.831, 1.015),
        "ks": (0.506, 0.300, 0.312),
        "mse": (8.689, 29.00, 7.809),
    },
    "btl": {
        "tau_b": (0.340, 0.399, 0.373),
        "wasserstein": (2.186, 2.831, 0.894),
        "ks": (0.461, 0.300, 0.300),
        "mse": (7.764, 29.00, 8.097),
    },
    "tcv": {
        "tau_b": (0.338, 0.399, 0.373),
        "wasserstein": (2.343, 2.831, 0.914),
        "ks": (0.547, 0.300, 0.300),
        "mse": (8.943, 29.00, 8.030),
    },
}
"""Table 1: consensus, model, calibrated."""

SCALED: Table = {
    "hra-g": {"wasserstein": (1.44, 2.25, 2.83, 0.84), "ks": (0.31, 0.50, 0.30, 0.16)},
    "hra-e": {"wasserstein": (1.46, 2.24, 2.83, 0.83), "ks": (0.34, 0.50, 0.30, 0.16)},
    "hra-n": {"wasserstein": (1.45, 2.35, 2.83, 0.74), "ks": (0.31, 0.56, 0.30, 0.19)},
    "btl": {"wasserstein": (1.78, 2.19, 2.83, 0.89), "ks": (0.42, 0.46, 0.30, 0.30)},
    "crowd-bt": {"wasserstein": (1.72, 2.15, 2.83, 0.84), "ks": (0.40, 0.46, 0.30, 0.27)},
    "crowd-tcv": {"wasserstein": (1.76, 2.27, 2.83, 1.02), "ks": (0.42, 0.51, 0.30, 0.31)},
    "tcv": {"wasserstein": (1.78, 2.34, 2.83, 0.91), "ks": (0.43, 0.55, 0.30, 0.30)},
}
"""The scaled consensus: scaled, consensus, model, calibrated."""

DOTS: Table = {
    "hra-g": {
        "tau_b": (0.917, 0.923, 0.940),
        "wasserstein": (6.97, 2.53, 2.53),
        "mse": (65.08, 11.75, 9.61),
    },
    "hra-e": {
        "tau_b": (0.922, 0.922, 0.943),
        "wasserstein": (6.98, 2.53, 2.53),
        "mse": (65.16, 11.75, 9.59),
    },
    "hra-n": {
        "tau_b": (0.917, 0.923, 0.934),
        "wasserstein": (7.05, 2.53, 2.53),
        "mse": (66.44, 11.75, 9.75),
    },
    "crowd-bt": {
        "tau_b": (0.894, 0.923, 0.927),
        "wasserstein": (5.32, 2.53, 2.55),
        "mse": (39.28, 11.75, 10.24),
    },
    "crowd-tcv": {
        "tau_b": (0.899, 0.923, 0.926),
        "wasserstein": (5.73, 2.53, 2.55),
        "mse": (44.97, 11.75, 10.24),
    },
    "btl": {
        "tau_b": (0.917, 0.923, 0.937),
        "wasserstein": (6.72, 2.53, 2.53),
        "mse": (60.51, 11.75, 9.73),
    },
    "tcv": {
        "tau_b": (0.917, 0.923, 0.933),
        "wasserstein": (6.81, 2.53, 2.54),
        "mse": (62.09, 11.75, 10.18),
    },
    "gppl": {
        "tau_b": (None, None, 0.931),
        "wasserstein": (None, None, 64.50),
        "mse": (None, None, 4220.36),
    },
    "rank-svm": {
        "tau_b": (None, None, 0.923),
        "wasserstein": (None, None, 61.20),
        "mse": (None, None, 3814.49),
    },
    "barcw": {
        "tau_b": (None, None, 0.940),
        "wasserstein": (None, None, 64.62),
        "mse": (None, None, 4236.16),
    },
}
"""Table 3: consensus, model, calibrated; the last three are compared uncentred."""
