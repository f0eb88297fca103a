"""What is shown of an object at the prompt is short, however much it holds."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.simulation import simulate

LINES, LENGTH = 3, 300


def reachable(root: object) -> dict[type, object]:
    """One object of each of our types that public attributes lead to from ``root``."""
    found: dict[type, object] = {}
    waiting, seen = [root], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
            if type(one).__module__.startswith("aggcal"):
                found.setdefault(type(one), one)
        elif type(one).__module__.startswith("aggcal"):
            found.setdefault(type(one), one)
            waiting += [value for name, value in vars(one).items() if name[0] != "_"]
    return found


@pytest.mark.parametrize("method", ["hra-g", "btl", "crowd-bt", "gppl", "rank-svm"])
def test_no_repr_prints_whole_arrays(method: str) -> None:
    made = simulate(items=60, annotators=30, judgments=600, seed=1)
    features = aggcal.read_features({"item": made.item_ids, "x": np.arange(60.0)})
    from_features = features if method in ("gppl", "rank-svm") else None
    result = aggcal.assess(
        aggcal.read_judgments(made.judgments), made.scores, method=method, features=from_features,
        warn=False,
    ).with_advice()  # fmt: skip
    for attribute in ("guarantees", "verdicts"):
        getattr(result, attribute)
    assert result.calibration is not None
    everything = (
        made,
        result,
        features,
        result.to_run(),
        result.calibration.predict({"new": 1.0}),
    )
    found = reachable(everything)
    assert len(found) > 15
    long = {kind.__name__: repr(one) for kind, one in found.items() if is_long(repr(one))}
    assert sorted(long) == []


def is_long(text: str) -> bool:
    return len(text) > LENGTH or text.count("\n") >= LINES or "array(" in text


def test_an_assessment_with_many_warnings_is_shown_in_three_lines() -> None:
    rows = [("one", f"item {k} {'x' * 50}", f"item {k + 1} {'x' * 50}") for k in range(0, 40, 2)]
    result = aggcal.assess(rows, {f"item {k} {'x' * 50}": -k for k in range(90)}, warn=False)
    assert len(result.warnings) > 1
    assert not is_long(repr(result))
    assert str(result).count("warning:") == len(result.warnings)
