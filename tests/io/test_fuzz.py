"""Random and mutated files: a clear error or a right result, never anything else."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from fuzz_readers import (
    SEEDS,
    Results,
    mutated,
    one_input,
    random_name,
    same_under_another_name,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

_QUIETLY = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.mark.parametrize("name", SEEDS)
def test_mutated_exports(name: str, tmp_path: Path) -> None:
    dice = random.Random(name)  # noqa: S311
    for _ in range(6):
        one_input(mutated(SEEDS[name], dice.choice(list(SEEDS.values())), dice), tmp_path)


@pytest.mark.parametrize("seed", range(6))
def test_names_make_no_difference(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # and back again
    dice = random.Random(seed)  # noqa: S311
    for data in dice.choices([*SEEDS.values(), b"not,a,table\n"], k=8):
        same_under_another_name(data, tmp_path, random_name(dice))


def test_reports_of_mutated_results(tmp_path: Path) -> None:
    results = Results(tmp_path, random.Random(1))  # noqa: S311
    assert {results.one() for _ in range(25)} == {"report, exit code 0", "report, exit code 2"}


@given(st.binary(max_size=200))
@_QUIETLY
def test_random_bytes(tmp_path: Path, data: bytes) -> None:
    one_input(data, tmp_path)


_CELLS = st.text(st.characters(codec="utf-8"), max_size=6)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _CELLS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_CELLS, inner, max_size=3),
    max_leaves=6,
)
_KEYS = st.sampled_from(
    ["data", "annotations", "responses", "fields", "values", "user_id", "states", "type", "model_a",
     "model_b", "winner", "judge", "annotator", "left", "right", "outcome", "chosen", "rejected",
     "item", "rank", "rating", "best", "worst", "items", "ranking", "preference", "generator_1",
     "generator_2", "g1_winner", "g2_winner", "model_1", "model_2", "pw", "annotation_id", "weight"]
)  # fmt: skip


@given(st.lists(st.dictionaries(_KEYS, _VALUES, min_size=2, max_size=8), min_size=1, max_size=4))
@_QUIETLY
def test_records_with_anything_under_known_keys(
    tmp_path: Path, records: list[dict[str, object]]
) -> None:
    one_input(json.dumps(records).encode(), tmp_path)


@given(st.lists(_KEYS, min_size=2, max_size=6), st.lists(st.lists(_CELLS, max_size=6), max_size=5))
@_QUIETLY
def test_tables_with_anything_under_known_columns(
    tmp_path: Path, columns: list[str], rows: list[list[str]]
) -> None:
    lines = [",".join(columns), *(",".join(row) for row in rows)]
    one_input("\n".join(lines).encode(), tmp_path)
