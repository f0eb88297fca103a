"""A study that falls apart: each component is ranked on its own, wherever ranks are shown."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from aggcal._core.tables import Columns
from aggcal.assessment import Assessment, assess
from aggcal.report.html import RENDERERS
from aggcal.report.loading import load_report
from aggcal.report.parts import own_ranks, parts_of
from aggcal.report.report import Report

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
    return assess(rows, {item: float(k) for k, item in enumerate(names)}, warn=False)


@pytest.fixture(scope="module")
def report(apart: Assessment, tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder: Path = tmp_path_factory.mktemp("apart")
    apart.save(folder)
    return load_report(folder)


def test_ranks_within_a_component_follow_its_scores_and_stay_in_it(apart: Assessment) -> None:
    items: Columns = apart.item_columns()
    own, names = own_ranks(items), [str(one) for one in items["item"]]
    score = np.asarray(items["consensus"], dtype=float)
    for part, size in enumerate(SIZES):
        mine = [k for k, name in enumerate(names) if name.startswith(f"p{part}-")]
        ordered = sorted(mine, key=lambda k: -score[k])
        assert [int(own["rank"][k]) for k in ordered] == list(range(1, size + 1))
        for k in mine:
            assert 1 <= own["rank_low"][k] <= own["rank"][k] <= own["rank_high"][k] <= size
    wide = np.asarray(items["rank_high"], dtype=float)
    assert wide.max() == sum(SIZES)  # of all items nothing is known


def test_one_component_is_left_as_it_is() -> None:
    items: Columns = assess(_judgments((0,)), warn=False).item_columns()
    assert own_ranks(items) is items
    assert parts_of(items) == []


def test_the_page_has_a_table_for_each_component(report: Report) -> None:
    page = RENDERERS["html"](report)
    heads = re.findall(r'class="part".*?<b>(.*?)</b> <span class="muted">(.*?)</span>', page)
    assert [title for title, _ in heads] == ["Component 1", "Component 2", "Component 3"]
    assert [int(says.split()[0]) for _, says in heads] == list(SIZES)
    ranks = [int(one) for one in re.findall(r'c-rank">(?:<i[^>]*></i>)?<b>(\d+)</b>', page)]
    assert ranks == [rank for size in SIZES for rank in range(1, size + 1)]
    assert 'id="topk"' not in page  # nobody is among the first of all
    assert "Two random items" not in page
    assert "7, 4 and 2 items" in page
    assert "Each component is calibrated by itself; how calibrated scores" in page


def test_markdown_has_them_too(report: Report) -> None:
    text = RENDERERS["md"](report)
    assert re.findall(r"### (Component \d): (\d)", text) == [
        (f"Component {k}", str(size)) for k, size in enumerate(SIZES, 1)
    ]
    assert len(re.findall(r"^\| 1 \(", text, re.MULTILINE)) == len(SIZES)
    assert "Largest changes" not in text
    assert "comes from the model alone" in text


def test_tied_blocks_stay_within_components(report: Report) -> None:
    for k in np.flatnonzero(np.isfinite(report.items["block"])).tolist():
        mates = report.rows.mates(k)
        assert k in mates
        assert len({str(report.items["item"][mate])[:2] for mate in mates}) == 1


def test_what_a_row_opens_to_names_no_rank_among_all(report: Report) -> None:
    for k, item in enumerate(map(str, report.items["item"])):
        detail = report.details.detail(k, item)
        size = SIZES[int(item[1])]
        assert all(int(one["rank"]) <= size for one in detail["upsets"])
        assert detail["strip"] is None
        assert not any("to rank" in said for said in detail["changes"])
