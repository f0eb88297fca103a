"""Ids of one table looked up in another: by their hashes as by a dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aggcal._core import positions as module
from aggcal._core.positions import positions, same
from aggcal._core.tables import aligned, as_text


class Crowded(str):
    """Ids that all have one hash."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 7


def plainly(ids: Any, among: Any) -> list[int]:
    lookup = {label: k for k, label in enumerate(among)}
    return [lookup.get(label, -1) for label in ids]


def tables() -> list[tuple[Any, Any]]:
    random = np.random.default_rng(6)
    many = as_text(f"item {k}" for k in range(20_000))
    mixed = many[random.permutation(len(many))]
    objects = np.empty(5, dtype=object)
    objects[:] = [1, -1, 2.0, "1", None]
    others = np.empty(6, dtype=object)
    others[:] = [-2, 1.0, None, True, 2, "one"]
    return [
        (many, many),
        (many, many.copy()),
        (mixed, many),
        (mixed[:9_000], many),
        (many, mixed[5_000:]),
        (mixed[:10_000], mixed[10_000:]),
        (many.tolist(), mixed.tolist()),
        (["a"], ["a"]),
        (["a"], ["b"]),
        ([], ["b"]),
        (["b", "b"], []),
        (["a", "b", "a"], ["a", "c", "a"]),  # the last of several
        (as_text(["é", "e\u0301", ""]), as_text(["", "é"])),
        (objects, others),
        ([Crowded("a"), Crowded("b")], [Crowded("b"), Crowded("c")]),
        ([Crowded("a")], [Crowded("c")]),
        (np.array(["b", "a"]), np.array(["a", "b"])),
    ]


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("case", range(len(tables())))
def test_the_same_as_a_dictionary(
    monkeypatch: pytest.MonkeyPatch, case: int, kernels: bool
) -> None:
    monkeypatch.setattr(module, "_LONG", 1)
    if not kernels:
        monkeypatch.setattr(module, "library", lambda: None)
    ids, among = tables()[case]
    expected = plainly(ids, among)
    assert positions(ids, among).tolist() == expected
    assert same(ids, among) == (list(ids) == list(among))
    values = np.random.default_rng(7).standard_normal(len(among))
    found = aligned(values, among, ids)
    plain = [values[k] if k >= 0 else np.nan for k in expected]
    np.testing.assert_array_equal(found, plain)


def test_values_of_the_same_ids_are_copied() -> None:
    values, ids = np.array([1.0, 2.0]), as_text(["a", "b"])
    found = aligned(values, ids, ids)
    found[0] = 9.0
    assert values[0] == 1.0
