"""Several systems at once, against one after the other."""

from __future__ import annotations

import numpy as np

from aggcal.aggregation.solve.together import solve_together


def test_each_column_is_solved_as_if_it_were_alone() -> None:
    random = np.random.default_rng(1)
    root = random.normal(size=(60, 60))
    matrix = root @ root.T + np.diag(random.uniform(20.0, 200.0, 60))
    single, targets = matrix.astype(np.float32), random.normal(size=(60, 4)).astype(np.float32)
    targets[:, 2] = 0.0  # solved before it begins, the others not
    targets[:, 3] *= 1e4
    found = solve_together(lambda v: single @ v, targets, np.diag(matrix), 1e-5)
    exact = np.linalg.solve(matrix, targets.astype(np.float64))
    size = np.abs(exact).max(axis=0)
    assert (np.abs(found - exact).max(axis=0) <= 1e-3 * size).all()
    assert not found[:, 2].any()


def test_a_looser_residual_takes_fewer_products() -> None:
    random = np.random.default_rng(2)
    stiff = random.uniform(1.0, 100.0, (200, 1)).astype(np.float32)
    targets = random.normal(size=(200, 4)).astype(np.float32)
    asked: list[int] = []
    for close in (1e-1, 1e-4):
        asked.append(0)

        def product(vectors: np.ndarray) -> np.ndarray:
            asked[-1] += 1
            return np.asarray(stiff * vectors)

        found = solve_together(product, targets, np.ones(200), close)
        left = np.linalg.norm(targets - stiff * found, axis=0)
        assert (left <= 1.1 * close * np.linalg.norm(targets, axis=0)).all()
    assert asked[0] < asked[1]
