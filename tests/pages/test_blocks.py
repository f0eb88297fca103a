"""Every kind of block through every writer: a page, Markdown, JSON."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt

from aggcal._core.markup import tag
from aggcal.pages import document as document_module
from aggcal.pages import html as html_module
from aggcal.pages.document import (
    Block,
    Bullets,
    Chip,
    Column,
    Command,
    Document,
    Figure,
    Group,
    Heading,
    Link,
    Listing,
    Pairs,
    Section,
    Strong,
    Table,
    Term,
    Text,
    to_json,
)
from aggcal.pages.html import page
from aggcal.pages.markdown import markdown

EVIL = "</script><img src=x onerror=alert(1)>|*\u2028"
LISTING = Listing(
    "scores",
    "item",
    "Scores",
    [
        Column("rank", "Rank", values=np.array([1.0, 2.0]), up=True),
        Column("item", "Item", "name", [EVIL, "b"]),
        Column("score", "Score", "number", np.array([1.26, np.nan]), np.array([1.0, np.nan]),
               np.array([np.inf, np.nan]), decimals=1),
        Column("chart", "", "chart", marks={"dot": "score", "legend": []}),
        Column("verdict", "Verdict", "word", ["good", "odd"], kinds={"good": "good"},
               notes=["", "why"]),
        Column("more", "More", values=np.array([7.0, 8.0]), only="page"),
    ],
    "rank",
    file="items.csv",
    details=[[Text("opened")]],
)  # fmt: skip

FOLD = Group([Text("in")], "fold", "T")
BLOCKS: list[tuple[Block, str, str]] = [
    (Heading("A < B", 4, "at"), '<h4 id="at" dir="auto">A &lt; B</h4>', "#### A \\< B"),
    (
        Text(("1. ", Strong("b"), " ", Chip("bad", "No")), "note"),
        '<p class="note">1. <b dir="auto">b</b> <span class="chip bad">',
        "1\\. **b** **No**",
    ),
    (Text(Link("see", "item=a b")), '<a href="#item=a%20b" dir="auto">see</a>', "see"),
    (Text(Term("score", "Score")), 'href="#word-score" data-term="score">Score</a>', "Score"),
    (Text(Term("unknown")), "<p>unknown</p>", "unknown"),
    (Bullets(["x", "y"]), "<ul><li>x</li>", "- x\n- y"),
    (Pairs([("a", "b")], "facts"), "<div><dt>a</dt><dd>b</dd></div>", "- a: b"),
    (Pairs([("tied block", "b")], "gloss"), '<div id="word-tied-block">', "- tied block: b"),
    (
        Table(("A", "B"), [("x", ["y", FOLD])], numbers=frozenset({1})),
        '<td class="num" data-label="B" dir="auto"><span class="dep">y</span><details ',
        "| A | B |\n| --- | --- |\n| x | y |",
    ),
    (Table((), [("x", "1")]), '<table class="mini"><tbody>', "|   |   |\n| --- | --- |\n| x | 1 |"),
    (Table(("A",), []), '<th scope="col">A</th></tr></thead><tbody></tbody>', "| A |\n| --- |"),
    (Table((), []), '<table class="mini"><tbody></tbody></table>', ""),
    (Figure("f", tag("svg"), "what"), '<figure id="f"><svg></svg><figcaption', ""),
    (Figure("<i>", picture="data:,x"), '<img src="data:,x" alt="&lt;i&gt;" loading="lazy">', ""),
    (Command("a `b`"), '<div class="cmd"><code><span>a</span> <span>`b`', "```\na `b`\n```"),
    (Command("x", "Copy it"), 'data-copy="x">Copy it</button>', ""),
    (FOLD, '<details class="fold"><summary>T</summary>', "**T**\n\nin"),
    (Group([Text("in")], "card", "T", "c"), '<article class="card" id="c"><header>', "**T**\n\nin"),
    (Group([Text("in")], "side"), '<aside class="side"><p>in</p></aside>', "in"),
    (Text("p", only="page"), "<p>p</p>", ""),
    (Text("only in text", only="text"), "", "only in text"),
    (
        LISTING,
        '<table class="grid plain res" id="scores"><caption class="sr">Scores</caption>',
        "| 2 | b | – | odd |",
    ),
]  # fmt: skip


def document(*blocks: Any, **more: Any) -> Document:
    section = Section("part", "Part", "Part", blocks)
    return Document("T", "about", "news", [], [section], {"score": "what"}, **more)


def test_a_page_needs_no_sections() -> None:
    empty = Document("T", "about", "news", [], [])
    assert "<h1" in page(empty)
    assert markdown(empty) == "# T\n\n**news**\n"


def script(text: str, name: str) -> Any:
    """Return the data that a page holds for its script."""
    found = re.search(rf'<script type="([^"]+)" id="data-{name}">([^<]*)</script>', text)
    assert found is not None
    kind, data = found.groups()
    if kind == "application/octet-stream":
        data = zlib.decompress(b64decode(data)).decode()
    return json.loads(data)


def test_these_are_all_kinds_of_blocks() -> None:
    kinds = {name.strip() for name in str(document_module.Block).split("|")}
    assert {type(block).__name__ for block, _, _ in BLOCKS} == kinds


@pytest.mark.parametrize(("block", "html", "text"), BLOCKS)
def test_every_writer_knows_every_block(block: Block, html: str, text: str) -> None:
    told = document(block)
    assert html in page(told)
    body = markdown(told).partition("## Part")[2].strip()
    assert text in body
    assert bool(body) == bool(text)
    assert json.loads(to_json(block))["block"] == type(block).__name__.lower()


@pytest.mark.parametrize(
    "block",
    [
        Heading(EVIL, id=EVIL),
        Text((EVIL, Strong(EVIL), Link(EVIL, EVIL), Chip("bad", EVIL), Term("score", EVIL))),
        Bullets([EVIL], EVIL),
        Pairs([(EVIL, EVIL)], "gloss"),
        Table((EVIL, EVIL), [(EVIL, [EVIL])], EVIL),
        Figure(EVIL, EVIL),  # type: ignore[arg-type]  # whatever a caller does
        Figure(EVIL, caption=EVIL, picture=EVIL, points={"names": [EVIL], "pairs": []}),
        Command(EVIL, EVIL),
        Group([Text(EVIL)], EVIL, EVIL, EVIL),
        LISTING,
    ],
)
def test_no_text_becomes_markup(block: Block) -> None:
    told = replace(document(block, foot=EVIL), title=EVIL, about=EVIL, headline=EVIL)
    assert "<img src=x" not in page(told)
    shown = MarkdownIt("commonmark").enable("table").render(markdown(told))
    assert "<img" not in shown
    assert "\u2028" not in to_json(block)
    assert "</script" not in to_json(block)


def test_half_a_character_stops_no_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_module, "PACKED", 10)
    half = "\ud800"
    told = document(Text((half, Link(half, half))), replace(LISTING, texts=[half, half]))
    for written in (page(told), markdown(told), to_json(told)):
        assert written.encode("utf-8", "replace")


def test_the_script_gets_what_is_shown() -> None:
    data = script(page(document(Group([LISTING]))), "scores")
    columns = {each["key"]: each for each in data["columns"]}
    assert columns["score"]["values"] == [1.3, None]
    assert columns["score"]["high"] == ["inf", None]
    assert columns["rank"]["values"] == [1, 2]
    assert columns["item"]["values"][0] == EVIL
    assert "details" not in data  # they stand in the rows


def test_a_long_table_shows_its_first_rows_and_packs_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(html_module, "PACKED", 1000)
    n = 300
    columns = [
        Column("rank", "Rank", values=np.arange(1.0, n + 1)),
        Column("item", "Item", "name", [f"item {k}" for k in range(n)], to="item"),
    ]
    told = Listing("long", "item", "Long", columns, "rank", file="items.csv", order=range(n)[::-1])
    written = page(document(told))
    assert written.count("data-k=") == html_module.FIRST_ROWS
    assert "The first 100 of 300 are shown. JavaScript is needed" in written
    assert '<a href="#item=item%20299" dir="auto">item 299</a>' in written
    assert script(written, "long")["columns"][1]["values"][-1] == "item 299"
    assert "280 more items in `items.csv`." in markdown(document(told))


def test_groups_of_rows_have_their_own_tables_in_markdown() -> None:
    columns = [
        Column("item", "Item", "name", ["a", "b", "c"]),
        Column("part", "Part", values=np.array([1, 2, 1]), only="page"),
    ]
    titles = {"1": ["First", "2 items"], "2": ["Second", "1 item"]}
    told = Listing("g", "item", "G", columns, "item", groups={"column": "part", "titles": titles})
    text = markdown(document(told))
    first, second = text.partition("### Second: 1 item")[::2]
    assert "| a |\n| c |" in first.partition("### First: 2 items")[2]
    assert "| b |" in second


def test_markdown_has_all_rows_of_a_table_only_where_they_are_wanted() -> None:
    table = Table(("k",), [(str(k),) for k in range(30)])
    assert "and 10 more" in markdown(document(table))
    whole = markdown(document(replace(table, whole=True)))
    assert "| 29 |" in whole
    assert "more" not in whole
