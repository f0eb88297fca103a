"""What the report tells of the data, and that page, Markdown and JSON tell the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt

import aggcal
from aggcal.advice.check import look
from aggcal.assessment import Assessment, assess
from aggcal.errors import OptionError, TableError, TooLittleDataError
from aggcal.io.items import read_texts
from aggcal.pages.html import page
from aggcal.pages.markdown import TOP, plain
from aggcal.registry import CALIBRATORS, METHODS
from aggcal.registry.literals import UncertaintyName
from aggcal.report.report import report
from aggcal.report.run import Run
from aggcal.simulation import simulate
from documents import blocks, document, section, visible, words

Row = tuple[str, str, str, str]

SUMMARY = {
    "version": "0", "method": "own", "n_items": 1, "n_annotators": 1, "n_judgments": 1,
    "warnings": [],
}  # fmt: skip

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "| a | b |",
    "`code` *bold* _slanted_ __b__ [link](https://example.com)",
    "https://example.com/x www.example.com a@example.com",
    "line\nbreak\r\n\ttab\u2028",
    "\u202eevil",
    "&lt;b&gt; &amp;",
    "# no heading",
    "- no list",
    "1. no list",
    "---",
    "1) nor this",
    "~~gone~~ $x$ \\ ```",
    "x" * 10_000,
]


def troubled(seed: int = 4) -> list[Row]:
    """Two pieces, one reversed annotator, five who guess, one who copies another."""
    random = np.random.default_rng(seed)
    height = random.normal(size=34)
    rows: list[Row] = []
    for u in range(20):
        for _ in range(90):
            low, high = (0, 30) if random.random() < 0.95 else (30, 34)
            a, b = random.choice(np.arange(low, high), 2, replace=False)
            chance = 1.0 / (1.0 + np.exp(-2.5 * (height[a] - height[b])))
            chance = 1.0 - chance if u == 3 else 0.5 if u in range(8, 13) else chance
            said = "left" if random.random() < chance else "right"
            rows.append((f"rater {u}", f"essay {a}", f"essay {b}", said))
    return rows + [("copy", *row[1:]) for row in rows if row[0] == "rater 0"]


@pytest.fixture(scope="module")
def result() -> Assessment:
    scores = {f"essay {k}": float(k % 7) for k in range(33)}
    return assess(troubled(), scores, warn=False).with_advice()


def test_every_finding_and_suggestion_is_in_all_three(result: Assessment) -> None:
    summary = result.to_dict()
    findings, pairs = summary["check"]["findings"], summary["suggestions"]["pairs"]
    codes = {each["code"] for each in findings}
    assert {"disconnected", "reversed-annotators", "copies", "unmatched-items"} <= codes
    assert len(pairs) == 10
    page = visible(result.report(check=False))
    text = MarkdownIt("commonmark").enable("table").render(result.report("md", check=False))
    quality = section(document(result, check=False), "quality")
    error = summary["check"]["precision"]["standard_error"]
    for said in (page, visible(text), words(quality)):
        for each in findings:
            assert each["title"] in said
            assert each["remedy"] in said
        assert f"standard error of a consensus score is {error:.2f}" in said
    (asked,) = (each for each in blocks(quality, "table") if each["style"] == "flow pairs")
    assert [[row[0]["text"], row[1]["text"]] for row in asked["rows"]] == [
        [pair["left"], pair["right"]] for pair in pairs
    ]
    for left, right, wins, why in asked["rows"]:
        row = f"{left['text']} {right['text']} {wins} {why}"
        assert row in page
        assert row in visible(text)


def test_the_summary_holds_what_check_and_suggest_say(result: Assessment) -> None:
    from aggcal.advice.check import check

    assert result.judgments is not None
    summary = result.to_dict()
    alone = check(result.judgments, result.scores).to_dict()
    assert summary["check"]["findings"][: len(alone["findings"])] == alone["findings"]
    assert summary["check"]["precision"]["says"] == str(alone["precision"]["says"])
    pairs = aggcal.suggest_pairs(result.judgments, result.scores, n=10).to_dict()["pairs"]
    assert summary["suggestions"]["pairs"] == pairs


def test_a_warning_is_told_once_and_the_careful_words_win(result: Assessment) -> None:
    found = [f for f in result.to_dict()["check"]["findings"] if f["code"] == "reversed-annotators"]
    assert len(found) == 1
    assert "answer" in found[0]["message"]
    messages = [f["message"] for f in result.to_dict()["check"]["findings"]]
    assert len(messages) == len(set(messages))


def test_warnings_of_the_fit_that_no_check_makes_stay() -> None:
    study = simulate(items=12, annotators=5, judgments=400, seed=1)
    result = assess(study.judgments, study.scores, prior=None, warn=False)
    told = {f["message"] for f in result.with_advice().to_dict()["check"]["findings"]}
    assert {w.what for w in result.warnings} - told <= {
        w.what for w in result.warnings if w.code in {"reversed-annotators", "direction"}
    }


@pytest.mark.parametrize(
    ("method", "uncertainty"), [("btl", "laplace"), ("crowd-bt", None), ("gppl", None)]
)
def test_every_kind_of_method_is_advised(method: str, uncertainty: UncertaintyName | None) -> None:
    study = simulate(items=8, annotators=4, judgments=150, seed=2)
    features = "identity" if method == "gppl" else None
    result = assess(
        study.judgments, method=method, features=features, uncertainty=uncertainty, warn=False
    ).with_advice()
    assert result.advice is not None
    assert result.advice.suggestions is not None
    assert len(result.advice.suggestions) == 10


def test_large_studies_get_the_quick_look_and_the_page_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = simulate(items=10, annotators=4, judgments=300, seed=0)
    result = assess(study.judgments, study.scores, warn=False)
    monkeypatch.setattr("aggcal.advice.advising.IN_FULL", 10)
    page = visible(result.with_advice().report(check=False))
    assert "Not checked" in page
    assert "aggcal check JUDGMENTS SCORES" in page
    monkeypatch.setattr(look, "LOOKED_QUICKLY", 10)
    monkeypatch.setattr(look, "_FEWEST_DRAWN", 3)
    part = visible(result.with_advice().report(check=False))
    assert "were drawn at random" in part


def test_without_a_check_the_warnings_are_told() -> None:
    rows = [("ann", "a", "b"), ("bob", "c", "d")]
    result = assess(rows, warn=False)
    page, text = result.report(check=False), result.report("md", check=False)
    for each in (visible(page), text):
        assert "connected components" in each
    assert "suggestions" not in result.to_dict()


def test_two_items_make_one_pair() -> None:
    result = assess([("ann", "a", "b"), ("bob", "a", "b")], warn=False).with_advice()
    assert result.advice is not None
    assert result.advice.suggestions is not None
    assert len(result.advice.suggestions) == 1
    assert "aggcal suggest JUDGMENTS -n 1" in visible(result.report())


def test_markdown_shows_hostile_ids_as_text() -> None:
    parser = MarkdownIt("commonmark").enable("table").enable("strikethrough")
    for name in HOSTILE:
        for shown in (f"| head |\n| --- |\n| {plain(name, 20_000)} |", f"- {plain(name, 20_000)}"):
            html = parser.render(shown)
            tags = set(re.findall(r"</?([a-z0-9]+)", html))
            assert tags <= {"table", "thead", "tbody", "tr", "th", "td", "ul", "li"}, html
            cells = re.findall(r"(?s)<(?:td|li)>(.*?)</(?:td|li)>", html)
            assert len(cells) == 1
            bare = re.sub(r"[\u202e\u2028]", " ", name)
            assert unescape(cells[0]).split() == bare.split()
    assert "\u202e" not in plain(HOSTILE[6])
    assert plain("item_07-b.txt") == "item_07-b.txt"  # what needs no escape gets none
    assert plain("") == "(blank)"


def test_the_markdown_of_hostile_results_keeps_its_shape() -> None:
    tame = [f"item-{k}" for k in range(len(HOSTILE))]
    rows = [(f"u{u}", a, b) for u in range(3) for k, a in enumerate(tame) for b in tame[k + 1 :]]
    wild = dict(zip(tame, HOSTILE, strict=True))
    result = assess(
        [(HOSTILE[0] + u, wild[a], wild[b]) for u, a, b in rows],
        [(wild[a], float(k % 4)) for k, a in enumerate(tame)],
        warn=False,
    )
    text = result.report("md", texts={name: name * 3 for name in HOSTILE})
    assert max(map(len, text.splitlines())) < 3000
    html = MarkdownIt("commonmark").enable("table").render(text)
    tables = re.findall(r"(?m)^\|.*\n\| ---.*\n(?:\|.*\n)*", text)
    assert html.count("<table>") == len(tables) > 2
    for one in tables:
        assert len({line.replace("\\|", "").count("|") for line in one.splitlines()}) == 1
    assert html.count("<h2>") == len(re.findall("(?m)^## ", text))
    assert not re.findall(r"<(script|img|a|b)\b", html)


def test_the_markdown_is_short_however_many_items() -> None:
    study = simulate(items=300, annotators=10, judgments=3000, seed=1)
    result = assess(study.judgments, study.scores, warn=False)
    text = result.report("md", check=False)
    assert len(text) < 20_000
    rows = text[text.index("| Rank |") :].partition("\n\n")[0].splitlines()
    assert len(rows) == TOP + 2
    assert "280 more items in `items.csv`." in text
    columns = result.item_columns()
    first = [row.split("|")[2].strip() for row in rows[2:]]
    assert first == columns["item"][:TOP].tolist()


TEXTS = {
    "essay 1": "Once upon a time. " * 2000,
    "essay 2": "<b>bold</b> & more",
    "essay 9": "Short",
}


def test_texts_stand_beside_the_ids_and_are_searched(result: Assessment) -> None:
    page = result.report(texts=TEXTS)
    found = re.search(r'(?s)id="data-items">(.*?)</script>', page)
    assert found is not None
    table = json.loads(found[1])
    column = next(each for each in table["columns"] if each["kind"] == "name")
    beside = dict(zip(column["values"], table["texts"], strict=True))
    assert beside["essay 2"] == TEXTS["essay 2"]
    assert beside["essay 3"] == ""
    assert beside["essay 1"] == TEXTS["essay 1"][:20_000] + "…"
    assert "Texts are cut to 20,000 characters" in visible(page)
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; more" in page
    assert "<b>bold</b>" not in page
    assert "essay 9: Short" in result.report("md", texts=TEXTS)
    # Without texts nothing of it is there.
    assert '"texts"' not in result.report(check=False)


def test_texts_come_from_any_table(tmp_path: Path) -> None:
    import pandas as pd

    rows = [("a", "one, two"), ("b", "three\nfour")]
    file = tmp_path / "t.csv"
    file.write_text('id,item,answer\n1,a,"one, two"\n2,b,"three\nfour"\n3,c,\n', encoding="utf-8")
    forms: Iterable[tuple[Any, dict[str, str]]] = [
        (rows, {}),
        (dict(rows), {}),
        ({"item": ["a", "b"], "text": [t for _, t in rows]}, {}),
        (pd.DataFrame(rows, columns=["item", "text"]), {}),
        (file, {"column": "answer"}),
        ({"ID": ["a", "b"], "text": [t for _, t in rows]}, {}),
        ([{"model": item, "name": "x", "paper": item, "text": t} for item, t in rows], {}),
        ([{"id": item, "essay": t} for item, t in rows], {"column": "essay"}),
    ]
    for data, options in forms:
        assert read_texts(data, **options).by_item == dict(rows)


def test_bad_texts_are_refused_in_words(tmp_path: Path) -> None:
    assert read_texts([{"item": "a", "answer": "x"}]).notes == (
        "read as: item = 'item', text = 'answer'",
    )
    with pytest.raises(TableError, match=r"column 'text' missing .*call the column of the texts"):
        read_texts([{"item": "a", "answer": "x", "answer 2": "y"}])
    with pytest.raises(TableError, match=r"column 'item' missing .* the column of the ids 'item'"):
        read_texts([{"id": "a", "name": "b", "text": "x"}])
    with pytest.raises(TableError, match="duplicate item 'a'"):
        read_texts([("a", "x"), ("a", "y")])
    with pytest.raises(OptionError, match="names the items"):
        read_texts([("a", "x")], column="item")
    empty = tmp_path / "t.csv"
    empty.write_text("item,text\n", encoding="utf-8")
    with pytest.raises(TooLittleDataError, match="no row"):
        read_texts(empty)


def test_only_long_names_are_cut_and_all_fit() -> None:
    def shown(ids: list[str]) -> list[str]:
        items = {
            "item": np.array(ids, dtype=object),
            "consensus": -np.arange(len(ids), dtype=float),
        }
        found = re.search(r'(?s)id="data-items">(.*?)</script>', page(report(Run(SUMMARY, items))))
        assert found is not None
        columns = json.loads(found[1])["columns"]
        names: list[str] = next(each for each in columns if each["kind"] == "name")["values"]
        return names

    short = [f"item {k}" for k in range(990)]
    cut = shown([*short, *("y" * 30_000 + str(k) for k in range(10))])
    assert cut[:990] == short
    assert {len(name) for name in cut[990:]} == {10_001}  # with the ellipsis
    many = shown(["語" * 5000 + str(k) for k in range(2000)])
    assert sum(len(name.encode()) for name in many) < 600_000


def test_words_explain_what_the_page_links_to(result: Assessment) -> None:
    found = result.report(check=False)
    links = set(re.findall(r'href="#(word-[^"]+)"', found))
    assert links
    assert links <= set(re.findall(r'id="(word-[^"]+)"', found))
    assert all(known.assumes for known in METHODS.values())
    assert {name for name, known in CALIBRATORS.items() if known.does} == {"atc", "fused", "safe"}


def test_the_report_refuses_what_it_does_not_know(result: Assessment) -> None:
    with pytest.raises(OptionError, match="choose html, md, json"):
        result.report("pdf")  # type: ignore[arg-type]
    alone = Assessment(None, result.calibration)
    with pytest.raises(OptionError, match="Stage 1"):
        alone.report()
