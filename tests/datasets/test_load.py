"""The datasets of the repository are what their READMEs say, and load as they should."""

from __future__ import annotations

import ast
import csv
import hashlib
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal import datasets
from aggcal.datasets import tables
from aggcal.registry.datasets import DATASETS, DOTS, DatasetInfo
from aggcal.registry.literals import DatasetName
from paper.dots import nearest

ROOT = Path(__file__).resolve().parents[2]
HERE = [info for info in DATASETS.values() if info.in_repository]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("info", HERE, ids=lambda info: info.name)
def test_the_readme_lists_every_file_with_its_checksum_and_columns(
    info: DatasetInfo, data_folder: Path
) -> None:
    folder = data_folder / info.folder
    text = (folder / "README.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| `(\S+)` \| [\d,]+ \| `([0-9a-f]{64})` \|$", text, re.MULTILINE))
    files = [path for path in folder.iterdir() if path.suffix in (".csv", ".json")]
    assert set(stated) == {path.name for path in files}
    for path in files:
        content = path.read_bytes()
        assert hashlib.sha256(content).hexdigest() == stated[path.name], path.name
        assert f"| `{path.name}` | {len(content):,} |" in text
        if path.suffix == ".csv":
            found = rows(path)
            assert f"| `{path.name}` | {len(found):,} |" in text, path.name
            for column in found[0]:
                assert f"`{column}`" in text, f"{path.name}: {column}"
    for word in ("**What.**", "**Who.**", "**Licence.**", "**Which way round.**"):
        assert word in text
    assert info.licence.split(" (")[0] in text


@pytest.mark.parametrize("info", HERE, ids=lambda info: info.name)
def test_what_is_loaded_has_the_sizes_that_are_listed(
    info: DatasetInfo, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGGCAL_DATA", str(data_folder))
    found = datasets.load(info.name)
    sizes = (found.judgments.n_items, found.judgments.n_annotators, found.judgments.n_judgments)
    assert sizes == (info.items, info.annotators, info.judgments)
    assert found.folder == data_folder / info.folder
    assert found.scores is not None
    assert found.truth is not None
    items = set(found.judgments.item_ids)
    assert set(found.scores.item_ids) == items
    assert set(found.truth.item_ids) <= items
    assert all(set(other.item_ids) == items for other in found.others.values())
    # Higher is more of the same for people, model and truth.
    won = aggcal.aggregate(found.judgments, "btl", warn=False)
    score = dict(zip(won.item_ids, won.scores, strict=True))
    mine = np.array([score[item] for item in found.truth.item_ids])
    agreed = aggcal.compare(mine, found.truth.values)
    assert agreed["tau_a"] > 0.2
    assert len(repr(found)) < 120


def test_the_judgments_of_dots_are_its_ranks(data_folder: Path) -> None:
    loaded = tables.read_tables(DOTS, data_folder / "dots").judgments
    kept = rows(data_folder / "dots" / "judgments.csv")
    names = {"annotator": "annotator", "winner": "winner", "loser": "loser", "screen": "entry"}
    for mine, theirs in names.items():
        assert loaded[mine].tolist() == [row[theirs] for row in kept]


def test_the_counts_of_dots_are_those_nearest_to_the_paper(data_folder: Path) -> None:
    counted: dict[tuple[str, float], np.ndarray] = {}
    for row in rows(data_folder / "dots" / "model_scores.csv"):
        at = counted.setdefault((row["corruption"], float(row["level"])), np.zeros(30))
        at[int(row["item"]) - 1] = float(row["s_p"])
    level = nearest(counted)
    assert level == (tables.DAMAGE, float(tables.LEVEL))
    scores = datasets.load("dots").scores
    assert scores is not None
    assert [scores[str(k)] for k in range(1, 31)] == counted[level].tolist()


def test_an_llms_wins_are_counted_from_its_answers(data_folder: Path) -> None:
    won: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for row in rows(data_folder / "llmfao" / "battles.csv"):
        if row["annotator"] == "gpt-4":
            shown.update([row["left"], row["right"]])
            won.update({row[row["outcome"]]: 2} if row["outcome"] != "tie" else {})
            won.update([row["left"], row["right"]] if row["outcome"] == "tie" else [])
    found = datasets.load("llmfao").others["gpt-4"]
    for item in shown:
        assert found[item] == pytest.approx(50.0 * won[item] / shown[item], abs=0.005)


@pytest.fixture
def installed(tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installed without the repository: only what a wheel carries is there, and no network."""
    package = tmp_path / "site-packages" / "aggcal" / "datasets"
    hook = ast.parse((ROOT / "hatch_build.py").read_text(encoding="utf-8"))
    (carried,) = (
        ast.literal_eval(node.value)
        for node in hook.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_CARRIED"
    )
    for folder, names in carried.items():
        (package / folder).mkdir(parents=True)
        for name in names:
            (package / folder / name).write_bytes((data_folder / folder / name).read_bytes())
    monkeypatch.delenv("AGGCAL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("AGGCAL_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setattr(datasets, "__file__", str(package / "__init__.py"))
    return package


def test_an_installed_package_has_the_tables_of_dots_and_llmfao(installed: Path) -> None:
    dots = datasets.load("dots")
    assert dots.folder == installed / "dots"
    assert dots.judgments.n_judgments == 8_700
    assert datasets.load("llmfao").folder == installed / "llmfao"
    assert sum(path.stat().st_size for path in installed.rglob("*.*")) < 1_500_000


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", [name for name, each in DATASETS.items() if not each.carried])
def test_what_is_not_there_says_what_to_do(name: DatasetName) -> None:
    with pytest.raises(aggcal.AggcalError) as caught:
        datasets.load(name)
    message = str(caught.value)
    assert "AGGCAL_DATA" in message
    assert "\n" not in message
    assert ("cannot be downloaded" in message) == DATASETS[name].downloads


def test_a_folder_of_the_same_name_beside_the_library_is_not_ours(installed: Path) -> None:
    beside = installed.parents[2] / "datasets" / "judgemark"
    beside.mkdir(parents=True)
    for file in DATASETS["judgemark"].needs:
        (beside / file).write_text("annotator\n")
    with pytest.raises(aggcal.AggcalError, match="is not on this machine"):
        datasets.load("judgemark")


def test_a_folder_that_is_named_and_not_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGGCAL_DATA", str(tmp_path / "mistyped"))
    with pytest.raises(aggcal.AggcalError, match="AGGCAL_DATA names no folder"):
        datasets.load("dots")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("items.csv", "item,truth\n1,50\n"),
        ("items.csv", "item,truth,mean_rating\n1,many,47\n"),
        ("ratings.csv", "annotator,entry,item,rank,rating\n1,1,1,first,43\n"),
        ("ratings.csv", "\x00"),
    ],
)
def test_files_that_were_changed_are_one_sentence(
    file: str, content: str, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dots").mkdir()
    for name in DOTS.needs:
        (tmp_path / "dots" / name).write_bytes((data_folder / "dots" / name).read_bytes())
    (tmp_path / "dots" / file).write_text(content)
    monkeypatch.setenv("AGGCAL_DATA", str(tmp_path))
    with pytest.raises(aggcal.AggcalError) as caught:
        datasets.load("dots")
    assert "\n" not in str(caught.value)
