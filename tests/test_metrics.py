"""Metrics: against their definitions, and the paper's table from the authors' own vectors."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import aggcal
from aggcal.metrics import compare, kendall, kl_divergence, kolmogorov_smirnov, spearman

TABLE_1 = {
    # protocols: tau-b, Wasserstein, KS, MSE of consensus / model / calibrated
    "g": (
        (0.375, 0.399, 0.410),
        (2.250, 2.831, 0.839),
        (0.500, 0.300, 0.163),
        (8.658, 29.0, 8.122),
    ),
    "e": (
        (0.375, 0.399, 0.403),
        (2.243, 2.831, 0.827),
        (0.498, 0.300, 0.163),
        (8.631, 29.0, 8.183),
    ),
    "n": (
        (0.368, 0.399, 0.399),
        (2.351, 2.831, 0.738),
        (0.563, 0.300, 0.192),
        (8.985, 29.0, 7.919),
    ),
}


def test_kendall_counts_pairs(random: np.random.Generator) -> None:
    x, y = random.integers(0, 6, 40).astype(float), random.integers(0, 6, 40).astype(float)
    signs = [np.sign(x[a] - x[b]) * np.sign(y[a] - y[b]) for a, b in combinations(range(40), 2)]
    tau_a, tau_b = kendall(x, y)
    assert tau_a == pytest.approx(np.mean(signs), abs=1e-12)
    free_x = sum(x[a] != x[b] for a, b in combinations(range(40), 2))
    free_y = sum(y[a] != y[b] for a, b in combinations(range(40), 2))
    assert tau_b == pytest.approx(sum(signs) / np.sqrt(free_x * free_y), abs=1e-12)


def test_others_agree_with_scipy(random: np.random.Generator) -> None:
    x, y = random.normal(size=50), random.normal(size=50).round(1)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    assert kolmogorov_smirnov(x, y) == pytest.approx(stats.ks_2samp(x, y).statistic)


def test_kl_is_the_divergence_of_the_smoothed_densities(random: np.random.Generator) -> None:
    """Between large normal samples: the closed form for normals widened by the kernel."""
    n = 4000
    quantiles = stats.norm.ppf((np.arange(n) + 0.5) / n)
    x, y = 1.0 + 1.5 * quantiles, 2.0 * quantiles
    width = 1.0 + n**-0.4
    v_x, v_y = 2.25 * width, 4.0 * width
    exact = 0.5 * (v_x / v_y + 1.0 / v_y - 1.0 + np.log(v_y / v_x))
    assert kl_divergence(x, y) == pytest.approx(exact, abs=2e-3)
    shifted = kl_divergence(random.normal(size=200), random.normal(size=200) + 500.0)
    assert np.isfinite(shifted)
    assert shifted > 1000


def test_degenerate_vectors_give_nan_not_noise() -> None:
    found = compare(np.ones(5), np.arange(5.0))
    assert np.isnan([found["tau_b"], found["spearman"], found["kl"]]).all()
    assert found["tau_a"] == 0.0
    assert found["mse"] == pytest.approx(3.0)


def test_centring_hides_a_constant_offset() -> None:
    x = np.array([1.0, 2.0, 4.0])
    assert compare(x + 10.0, x)["mse"] == pytest.approx(100.0)
    assert compare(x + 10.0, x, centred=True)["mse"] == pytest.approx(0.0)


@pytest.mark.parametrize("method", list(TABLE_1))
def test_table_1_from_the_authors_vectors(method: str, reading_level: Path) -> None:
    items = reading_level / "items.csv"
    order = aggcal.read_scores(items, column=f"s_star_hra_{method}")
    made = aggcal.calibrate(aggcal.read_scores(items, column="s_p"), order, warn=False)
    truth = aggcal.read_scores(items, column="truth")
    assert truth.item_ids.tolist() == order.item_ids.tolist()
    vectors = {"consensus": (order.item_ids, order.values), "model": (made.item_ids, made.model)}
    vectors["calibrated"] = made.item_ids, made.calibrated
    found = {}
    for name, (ids, values) in vectors.items():
        by_item = dict(zip(ids.tolist(), values.tolist(), strict=True))
        own = np.array([by_item[item] for item in truth.item_ids.tolist()])
        found[name] = compare(own, truth.values, centred=True)
    for name, row in zip(("tau_b", "wasserstein", "ks", "mse"), TABLE_1[method], strict=True):
        for vector, value in zip(("consensus", "model", "calibrated"), row, strict=True):
            assert found[vector][name] == pytest.approx(value, abs=0.001), (name, vector)
