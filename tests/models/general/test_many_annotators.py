"""What is worked out by annotator: in threads, the same to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal.models.general import annotators, held_means
from aggcal.models.general.annotators import POSITION, RELIABILITY, Known


@pytest.fixture
def known() -> Known:
    random = np.random.default_rng(3)
    nodes = random.normal(size=(9_000, 14, 2))
    weights = random.random((9_000, 14))
    weights[:50, :7] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    return Known((RELIABILITY, POSITION), nodes, np.abs(nodes[:, :, 0]), weights, 0.0)


def test_means_over_nodes(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    values = known.of(POSITION)
    found, off = known.mean(values), known.off(values)
    assert known.weights.size > annotators._MANY_NODES
    monkeypatch.setattr(annotators, "_MANY_NODES", known.weights.size + 1)
    assert found.tobytes() == known.mean(values).tobytes()
    assert off.tobytes() == known.off(values).tobytes()


def test_curvature_in_the_means(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, precision = np.full(7, 1 / 7), np.array([3.0, 0.5])
    found = held_means.held_means(known.nodes, known.weights, rule, precision)
    assert len(known.nodes) > 2 * held_means._FEWEST
    monkeypatch.setattr(held_means, "_FEWEST", len(known.nodes))
    whole = held_means.held_means(known.nodes, known.weights, rule, precision)
    assert found.tobytes() == whole.tobytes()
    assert (whole != len(known.nodes) * precision).all()
