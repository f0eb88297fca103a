"""The paper, reproduced: the cells that can be are, and the page tells the others."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from aggcal.experiments.pictures import CLEAN, counts
from aggcal.experiments.reading_level import load, recipe_scores
from aggcal.experiments.rq3 import corrupted, inversions
from aggcal.io.scores import read_item_columns
from conftest import Command


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, data_folder: Path) -> Path:
    from aggcal.experiments.reproduce import reproduce

    assert (data_folder / "dots").is_dir()
    folder = tmp_path_factory.mktemp("page")
    reproduce("all", folder, quick=True, say=lambda _: None)
    return folder


def cells(page: Path) -> list[dict[str, str]]:
    with (page / "cells.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_the_recipe_gives_the_authors_own_scores(reading_level: Path) -> None:
    study = load(reading_level)
    np.testing.assert_allclose(
        recipe_scores("hra-n", study.wins), study.theirs["hra-n"], atol=5.1e-7
    )


@pytest.mark.slow
def test_every_cell_that_can_be_is_reproduced(page: Path) -> None:
    rows = cells(page)
    assert set(rows[0]) >= {
        "experiment", "method", "metric", "vector", "kind", "published", "ours", "tolerance",
        "status",
    }  # fmt: skip
    assert {row["kind"] for row in rows} == {"recipe", "fitted"}

    def statuses(experiment: str, method: str, vector: str | None = None) -> set[str]:
        return {
            row["status"]
            for row in rows
            if (row["experiment"], row["method"], row["kind"]) == (experiment, method, "recipe")
            and row["published"]
            and vector in (None, row["vector"])
        }

    for method in ("hra-g", "hra-n", "crowd-bt", "tcv"):
        assert statuses("reading-level", method) == {"reproduced"}, method
        assert statuses("scaled", method) == {"reproduced"}, method
    for method in ("hra-g", "hra-e", "hra-n", "btl", "tcv", "crowd-bt"):
        assert statuses("dots", method, "consensus") == {"reproduced"}, method
    for row in rows:
        if row["status"] == "differs" and row["kind"] == "recipe":
            assert row["note"], row


@pytest.mark.slow
def test_the_page_is_whole(page: Path) -> None:
    html, text = (page / "index.html").read_text(), (page / "index.md").read_text()
    for question in ("RQ1", "RQ2", "RQ3", "RQ4", "RQ5", "RQ6"):
        assert question in html
        assert question in text
    assert "http" not in html.replace("http://www.w3.org", "")
    assert {path.name for path in (page / "figures").iterdir()} >= {
        "violin-hra-e.svg",
        "radar-btl-whiteout.svg",
        "rq3-published.svg",
        "rq3-truth-paper.svg",
    }
    ids, columns = read_item_columns(page / "consensus" / "dots-hra-g-recipe.csv", ("score",))
    assert len(ids) == 30
    assert np.isfinite(columns["score"]).all()


def test_a_clean_picture_has_as_many_contours_as_dots(data_folder: Path) -> None:
    pytest.importorskip("cv2", reason="needs OpenCV: pip install 'aggcal[reproduce]'")
    found = counts(data_folder / "dots", CLEAN, 0.0)
    assert np.abs(found - np.arange(50, 80)).max() < 2.0


def test_corruption_has_the_wanted_inversions(random: np.random.Generator) -> None:
    for target in (0, 1, 17, 45):
        assert inversions(corrupted(np.arange(10.0), target, random)) == target


def test_an_unknown_experiment_is_refused(command: Command) -> None:
    done = command("reproduce", "tea-leaves", "-o", "out")
    assert done.returncode == 2
    assert "tea-leaves" in done.stderr
    assert json.dumps(done.stdout) == '""'
