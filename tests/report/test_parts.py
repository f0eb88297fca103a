"""A study that falls apart: each component is ranked on its own, wherever ranks are shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggcal.assessment import Assessment, assess
from aggcal.assessment.result import explain
from aggcal.report.run import Run
from documents import blocks, document, listing, section, visible, words

SIZES = (7, 4, 2)


def _judgments(parts: tuple[int, ...]) -> list[tuple[str, str, str, str]]:
    """Judge the items of these components, each among themselves."""
    random = np.random.default_rng(5)
    rows = []
    for part in parts:
        names = [f"p{part}-{k}" for k in range(SIZES[part])]
        for _ in range(60 * SIZES[part]):
            i, j = random.choice(len(names), 2, replace=False)
            left = random.random() < 1.0 / (1.0 + np.exp(0.8 * (i - j)))
            rows.append((f"u{random.integers(6)}", names[i], names[j], "left" if left else "right"))
    return rows


@pytest.fixture(scope="module")
def apart() -> Assessment:
    rows = _judgments((0, 1, 2))
    names = sorted({item for _, item, *_ in rows})
    return assess(rows, {item: float(k) for k, item in enumerate(names)}, warn=False).with_advice()


@pytest.fixture(scope="module")
def told(apart: Assessment) -> dict[str, Any]:
    return document(apart)


def test_ranks_within_a_component_follow_its_scores_and_stay_in_it(apart: Assessment) -> None:
    run, items = apart.to_run(), apart.item_columns()
    own: Any = {name: run.number(name) for name in ("rank", "rank_low", "rank_high")}
    names, score = run.names, np.asarray(items["consensus"], dtype=float)
    for part, size in enumerate(SIZES):
        mine = [k for k, name in enumerate(names) if name.startswith(f"p{part}-")]
        ordered = sorted(mine, key=lambda k: -score[k])
        assert [int(own["rank"][k]) for k in ordered] == list(range(1, size + 1))
        for k in mine:
            assert 1 <= own["rank_low"][k] <= own["rank"][k] <= own["rank_high"][k] <= size
    wide = np.asarray(items["rank_high"], dtype=float)
    assert wide.max() == sum(SIZES)  # of all items nothing is known


def test_one_component_is_left_as_it_is() -> None:
    items = assess(_judgments((0,)), warn=False).item_columns()
    run = Run({}, items)
    assert run.parts == []
    assert np.array_equal(run.items["rank"], items["rank"])


def test_the_table_is_divided_by_component(apart: Assessment, told: dict[str, Any]) -> None:
    (table,) = (each for each in blocks(told, "listing") if each["id"] == "items")
    titles = table["groups"]["titles"].values()
    assert [title for title, _ in titles] == ["Component 1", "Component 2", "Component 3"]
    assert [int(says.split()[0]) for _, says in titles] == list(SIZES)
    columns = listing(told, "items")
    ranks = [columns["rank"]["values"][k] for k in table["order"]]
    assert ranks == [rank for size in SIZES for rank in range(1, size + 1)]
    assert "top" not in table  # nobody is among the first of all
    page = visible(apart.report())
    assert "Pairs in the right order" not in page
    assert "7, 4 and 2 items" in page
    assert "Each component is calibrated by itself; how calibrated scores" in page


def test_markdown_has_them_too(apart: Assessment) -> None:
    text = apart.report("md")
    assert re.findall(r"### (Component \d): (\d)", text) == [
        (f"Component {k}", str(size)) for k, size in enumerate(SIZES, 1)
    ]
    assert len(re.findall(r"^\| 1 \(", text, re.MULTILINE)) == len(SIZES)
    assert "comes from your scores alone" in text


def test_what_a_row_opens_to_names_no_rank_among_all(apart: Assessment) -> None:
    for item in map(str, apart.item_columns()["item"]):
        found = explain(apart, item)
        size = SIZES[int(item[1])]
        said = str(found)
        assert all(int(rank) <= size for rank in re.findall(r"\(rank (\d+)\)", said))
        assert found.data["n_items"] == size
        assert not found.data["why"]
        assert "to rank" not in said


def test_a_folder_says_the_same(apart: Assessment, told: dict[str, Any], tmp_path: Path) -> None:
    from aggcal.cli import main

    apart.save(tmp_path)
    target = tmp_path / "again.json"
    assert main(["report", str(tmp_path), "-o", str(target), "-q"]) == 0
    again = json.loads(target.read_text(encoding="utf-8"))
    assert words(section(again, "results")) == words(section(told, "results"))
