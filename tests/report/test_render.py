"""The page of a report: what stands in it, for people and for its script, whatever ids hold."""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from zlib import decompress

import numpy as np
import pytest

from aggcal._core.tables import Columns, as_text
from aggcal.assessment import Assessment, assess
from aggcal.cli import main
from aggcal.pages.fitting import MOST_ROWS
from aggcal.pages.html import FIRST_ROWS
from aggcal.simulation import simulate
from documents import rendered

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    '"><b onmouseover="alert(1)">',
    "' onclick='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "שלום עולם",
    "\u202eevil\u202c",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "line\nbreak\u2028\u2029\ttab",
    "half a pair \ud83d",
    "&lt;b&gt;",
    "x" * 10_000,
    "longer than all " * 10_000,
    "",
]
VOID = {"meta", "input", "br", "img"}


class Page(HTMLParser):
    """What a browser makes of the page: elements in order, what is in scripts, what is text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif not self.open or self.open[-1] != "style":
            self.text += data

    def data(self, name: str) -> dict[str, dict[str, Any]]:
        """Return the columns that the script gets, by their keys."""
        scripts = [attrs for tag, attrs in self.elements if tag == "script"]
        at = [attrs.get("id") for attrs in scripts].index(f"data-{name}")
        text = self.scripts[at]
        if scripts[at]["type"] != "application/json":
            text = decompress(b64decode(text)).decode()
        return {column["key"]: column for column in json.loads(text)["columns"]}

    def names(self) -> list[str]:
        found: list[str] = self.data("items")["item"]["values"]
        return found


def studied(items: int = 30, **options: Any) -> Assessment:
    study = simulate(items=items, annotators=12, judgments=20 * items, seed=3)
    return assess(study.judgments, study.scores, warn=False, **options)


def page_of(result: Assessment, items: Columns | None = None) -> str:
    assert result.consensus is not None
    annotators = result.consensus.annotator_columns()
    columns = items or result.item_columns()
    return rendered(result.to_dict(), columns, annotators, comparisons=result.comparisons)


@pytest.fixture(scope="module")
def html() -> str:
    return page_of(studied())


def test_the_sections_stand_in_the_order_in_which_people_ask(html: str) -> None:
    page = Page(html)
    sections = [attrs["id"] for tag, attrs in page.elements if tag == "section"]
    assert sections == ["results", "annotators", "quality", "method"]
    links = {str(attrs["href"]) for tag, attrs in page.elements if tag == "a"}
    links = {link for link in links if "=" not in link}  # those lead to a row
    anchors = {f"#{attrs['id']}" for _, attrs in page.elements if "id" in attrs}
    assert {f"#{name}" for name in sections} <= links <= anchors
    assert not page.open


def test_a_consensus_alone_has_no_model_and_no_changes() -> None:
    study = simulate(items=20, annotators=5, judgments=200, seed=0)
    page = Page(page_of(assess(study.judgments, warn=False)))
    assert "Consensus scores have no unit" in page.text
    keys = set(page.data("items"))
    assert "consensus" in keys
    assert not {"model", "change", "calibrated"} & keys


def test_the_page_asks_the_network_for_nothing(html: str) -> None:
    addresses = set(re.findall(r"[a-z]+://[^\s\"'<)]+", html))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, never fetched
    page = Page(html)
    for _, attrs in page.elements:
        assert "src" not in attrs
        assert (attrs.get("href") or "#").startswith("#")
    assert "@import" not in html
    assert "url(" not in html
    policy = [attrs for _, attrs in page.elements if "http-equiv" in attrs]
    assert policy[0]["content"] is not None
    assert policy[0]["content"].startswith("default-src 'none'")


def test_the_figures_are_there_and_have_titles(html: str) -> None:
    page = Page(html)
    figures = [attrs for tag, attrs in page.elements if tag == "svg"]
    # What is drawn is said in words beside it, or has a name of its own.
    assert all(attrs.get("role") == "img" or attrs.get("aria-hidden") for attrs in figures)
    assert html.count('class="matrix" role="img"') == 1
    assert html.count("</title>") >= 2


def test_the_script_gets_every_row_and_the_page_itself_the_first() -> None:
    result = studied(items=300)
    page = Page(page_of(result))
    columns = result.item_columns()
    assert page.names() == columns["item"].tolist()
    scores = page.data("items")["calibrated"]
    np.testing.assert_allclose(scores["values"], columns["calibrated"], atol=0.06)
    np.testing.assert_allclose(scores["low"], columns["calibrated_low"], atol=0.06)
    text = page.text
    for k, name in enumerate(columns["item"][: FIRST_ROWS + 1]):
        assert (f"{name}" in text) or k == FIRST_ROWS
    assert f"The first {FIRST_ROWS} of 300" in text


def test_a_thousand_items_take_less_than_a_megabyte() -> None:
    result = studied(items=1000)
    assert len(page_of(result).encode()) < 1_000_000
    items = result.item_columns()
    items["item"] = as_text(f"{k} " + "long text " * 1000 for k in range(1000))
    page = page_of(result, items)
    assert len(page.encode()) < 1_500_000
    assert "Names are cut to 400 characters" in Page(page).text


def test_a_hundred_thousand_items_stay_a_few_megabytes() -> None:
    n = 100_000
    score = np.linspace(50.0, -50.0, n)
    items: Columns = {
        "item": as_text(f"item-{k:06}" for k in range(n)),
        "consensus": score / 25.0,
        "rank": np.arange(1, n + 1),
        "model": score[::-1].copy(),
        "calibrated": score,
        "block": np.arange(1, n + 1),
        "n_judgments": np.full(n, 20),
    }
    page = rendered(summary(n), items)
    assert len(page.encode()) < 5_000_000
    assert len(Page(page).names()) == n


def test_what_the_page_cannot_list_it_says() -> None:
    n = MOST_ROWS + 1
    items: Columns = {"item": as_text(range(n)), "consensus": np.zeros(n)}
    page = Page(rendered(summary(n), items))
    assert len(page.names()) == MOST_ROWS
    assert "the first 200,000 of 200,001; all are in items.csv" in page.text


def summary(n: int) -> dict[str, Any]:
    return {
        "version": "0", "method": "own", "calibrator": "atc", "n_items": n, "n_annotators": 1,
        "n_judgments": n, "n_calibrated": n, "blocks": n, "shift_rms": 1.0, "weighted": False,
        "warnings": [], "converged": None,
    }  # fmt: skip


def test_hostile_ids_stay_text() -> None:
    tame = [f"item-{k}" for k in range(len(HOSTILE))]
    rows = [("ann", a, b) for k, a in enumerate(tame) for b in tame[k + 1 :]]
    result = assess(rows, [(a, float(k % 4)) for k, a in enumerate(tame)], warn=False)
    assert result.consensus is not None
    items, annotators = result.item_columns(), result.consensus.annotator_columns()
    expected = Page(rendered(result.to_dict() | {"warnings": ["odd."]}, items, annotators))
    wild = dict(zip(tame, HOSTILE, strict=True))
    items["item"] = as_text(wild[name] for name in items["item"])
    annotators["annotator"] = as_text([HOSTILE[0]])
    told = result.to_dict() | {"judgments": HOSTILE[0], "warnings": [HOSTILE[1]]}
    html = rendered(told, items, annotators)
    html.encode("utf-8")
    page = Page(html)
    assert not page.open
    assert page.scripts[-1] == expected.scripts[-1]
    plain = {"span", "p", "code"}  # a name too long for its row also stands in what it opens to
    tags = [tag for tag, _ in page.elements if tag not in plain]
    assert tags == [tag for tag, _ in expected.elements if tag not in plain]
    assert not any(name.startswith("on") for _, attrs in page.elements for name in attrs)
    shown = page.names()
    for name in HOSTILE[:10]:
        assert name in shown
        assert name in page.text
    assert "half a pair ?" in shown
    assert "x" * 10_000 in shown
    assert max(map(len, shown)) == 10_001


def test_items_without_a_score_and_intervals_without_end_are_shown() -> None:
    items = studied().item_columns()
    items["calibrated_high"] = items["calibrated_high"].copy()
    items["calibrated_high"][3] = np.inf
    for name in ("model", "calibrated", "calibrated_low", "calibrated_high"):
        items[name] = items[name].copy()
        items[name][0] = np.nan
    page = Page(page_of(studied(), items))
    scores = page.data("items")["calibrated"]
    assert scores["values"][0] is None
    assert scores["high"][3] == "inf"
    assert "∞" in page.text
    assert "nan" not in "".join(str(attrs) for _, attrs in page.elements)


@pytest.mark.parametrize("calibrator", ["fused", "safe"])
@pytest.mark.parametrize("uncertainty", ["laplace", None])
def test_every_calibrator_has_a_page(calibrator: str, uncertainty: str | None) -> None:
    html = page_of(studied(calibrator=calibrator, uncertainty=uncertainty, model_sd=5.0))
    page = Page(html)
    assert not page.open
    assert ("certainty was not computed" in page.text) == (uncertainty is None)


@pytest.mark.parametrize("method", ["crowd-bt", "btl"])
def test_every_kind_of_method_has_a_page(method: str) -> None:
    page = Page(page_of(studied(method=method)))
    assert ("takes every annotator to be equally reliable" in page.text) == (method == "btl")


def test_the_reversed_are_marked() -> None:
    result = studied()
    assert result.consensus is not None
    annotators = result.consensus.annotator_columns()
    annotators["reliability"] = np.linspace(2.0, -2.0, 12)
    annotators["reliability_low"] = annotators["reliability"] - 0.3
    annotators["reliability_high"] = annotators["reliability"] + 0.3
    page = Page(rendered(result.to_dict(), result.item_columns(), annotators))
    words = page.data("annotator-table")["verdict"]["values"]
    assert words == ["reversed"] * 5 + ["unclear"] * 2 + ["reliable"] * 5
    assert "5 annotators seem to have reversed the question" in page.text


def test_a_fit_that_did_not_converge_is_said_first() -> None:
    result = studied()
    assert result.consensus is not None
    told = result.to_dict() | {"converged": False}
    page = rendered(told, result.item_columns(), result.consensus.annotator_columns())
    assert page.index("did not converge") < page.index('id="results"')


def test_pictures_are_shown_where_a_row_opens(tmp_path: Path) -> None:
    from PIL import Image

    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "pictures" / "a.png")
    result = assess([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
    result.save(tmp_path / "out", check=False)
    seen = ["--pictures", str(tmp_path / "pictures")]
    assert main(["report", str(tmp_path / "out"), *seen, "-o", str(tmp_path / "p.html"), "-q"]) == 0
    page = Page((tmp_path / "p.html").read_text(encoding="utf-8"))
    (picture,) = (attrs for tag, attrs in page.elements if tag == "img")
    assert str(picture["src"]).startswith("data:image/png;base64,")
    assert picture["alt"] == "a"


def commands(path: Path) -> dict[str, str]:
    """Return the commands that a page offers to copy, by their first word."""
    page = Page(path.read_text(encoding="utf-8"))
    copied = (str(attrs["data-copy"]) for _, attrs in page.elements if "data-copy" in attrs)
    return {text.split()[1]: text for text in copied if text.startswith("aggcal ")}


def test_the_page_names_a_command_that_makes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    size = ["--items", "15", "--annotators", "5", "--number", "150"]
    assert main(["simulate", "-o", ".", *size, "-q"]) == 0
    Path("judgments.csv").rename("my answers.csv")
    options = ["--method", "btl", "--uncertainty", "laplace", "--level", "0.9",
               "--seed", "5", "--calibrator", "fused", "--model-sd", "2", "-q"]  # fmt: skip
    assert main(["run", "my answers.csv", "scores.csv", "-o", "one", *options]) == 0
    typed = commands(Path("one/report.html"))
    command = shlex.split(typed["run"].replace("DIR", "two"))
    assert main([*command[1:], "-q"]) == 0
    for name in ("items.csv", "annotators.csv", "comparisons.json", "report.html"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes()
    for word in ("check", "suggest"):
        assert typed[word].startswith(f"aggcal {word} 'my answers.csv' scores.csv")


def test_the_commands_tell_how_the_files_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    rows = [f"{j},{a},{b},{v}" for j in "pq" for a, b, v in ("xyA", "yzB", "zxA")]
    Path("data/votes.csv").write_text("\n".join(["judge,one,two,said", *rows]))
    Path("data/points.csv").write_text("name,elo\nx,3\ny,2\nz,1\n")
    reading = ["--column", "annotator=judge", "--column=left=one", "--column", "right=two",
               "--column", "outcome=said", "--outcome", "A=left", "--outcome", "B=right",
               "--score-column", "elo"]  # fmt: skip
    files = ["data/votes.csv", "data/points.csv"]
    assert main(["run", *files, "-o", "one", *reading, "-q"]) == 0
    typed = commands(Path("one/report.html"))
    for word, more in (("run", ["-o", "two", "-q"]), ("check", ["-q"]), ("suggest", [])):
        assert main([*shlex.split(typed[word].replace("-o DIR", ""))[1:], *more]) == 0
    assert Path("one/items.csv").read_bytes() == Path("two/items.csv").read_bytes()
