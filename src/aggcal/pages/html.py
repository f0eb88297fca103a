"""Write a document as one self-contained HTML page that can be read without scripts.

The script of the page makes charts of its long tables, and sorts and searches them. It gets their
columns as JSON, and adds buttons and their words; all other words are in the page. A table with
``top`` needs a column ``rank``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zlib import compress

from aggcal._core.markup import Markup, joined, tag
from aggcal.pages.document import (
    Block,
    Bullets,
    Cell,
    Chip,
    Column,
    Command,
    Document,
    Figure,
    Group,
    Heading,
    Line,
    Link,
    Listing,
    Pairs,
    Section,
    Strong,
    Table,
    Term,
    Text,
    plain_text,
    to_json,
)
from aggcal.pages.fitting import fitted
from aggcal.pages.numbers import cell_text

STATIC_ROWS, FIRST_ROWS = 200, 100
"""Rows up to which all of them stand in the page for a reader without scripts, and how many of more
do."""
PRINTED = 50
"""Rows that are printed."""
PACKED = 2_000_000
"""Characters of data above which they are compressed: more would make the page heavy."""

_SHELL = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src {style_digest}; script-src {theme_digest} {script_digest}">
{title}
<script>{theme}</script>
<style>{style}</style>
</head>
<body>
{skip}
<header class="page head">
{about}
{headline}
{lead}
</header>
{tabs}
<main class="page">
{sections}
</main>
<footer class="page foot">{foot}</footer>
<div id="tip" role="tooltip" hidden></div><p id="say" class="sr" role="status"></p>
<template id="icons">{icons}</template>
{data}
<script>{script}</script>
</body>
</html>
"""
_ICONS = {
    "good": (
        tag("circle", cx=8, cy=8, r=7, fill="currentColor"),
        tag("path", class_="cut", d="M4.6 8.3l2.3 2.3 4.5-4.8"),
    ),
    "care": (
        tag("path", d="M8 1l7.4 13.6H.6z", fill="currentColor"),
        tag("path", class_="cut", d="M8 6v4.2M8 11.6v1.6"),
    ),
    "bad": (
        tag("path", d="M5 .8h6L15.2 5v6L11 15.2H5L.8 11V5z", fill="currentColor"),
        tag("path", class_="cut", d="M5.3 5.3l5.4 5.4m0-5.4l-5.4 5.4"),
    ),
    "none": (
        tag("circle", class_="ring", cx=8, cy=8, r=6.2),
        tag("path", class_="ring", d="M5 8h6"),
    ),
}


def page(document: Document) -> str:
    """Return a document as a page.

    Its policy allows our own style and scripts, by their digests, and nothing else.

    Examples
    --------
    >>> section = Section("a", "A", "<A>", [Text(("1 < ", Strong("2")), "note")])
    >>> written = page(Document("t", "about", "news", [], [section]))
    >>> '<p class="note">1 &lt; <b dir="auto">2</b></p>' in written, "<A>" in written
    (True, False)
    """
    write = Writer(frozenset(document.words))
    own = {name.partition(".")[0]: _file(name) for name in ("theme.js", "page.js")}
    own["style"] = _file("page.css")
    theme = tag("button", type="button", class_="btn small js", id="theme", aria_label=_THEME)
    first = document.sections[0].id if document.sections else ""
    sections = joined(map(write.section, document.sections))  # which fill write.scripts
    return _SHELL.format(
        title=tag("title", document.title),
        theme=own["theme"],
        script=own["page"],
        style=own["style"],
        theme_digest=_digest(own["theme"]),
        script_digest=_digest(own["page"]),
        style_digest=_digest(own["style"]),
        skip=tag("a", "Skip to the results", class_="skip", href=f"#{first}"),
        about=tag("p", write.line(document.about), " ", theme, class_="about"),
        headline=tag("h1", write.line(document.headline), dir="auto"),
        lead=write.blocks(document.lead),
        tabs=_tabs(document.sections),
        sections=sections,
        foot=tag("p", document.foot),
        icons=joined(Writer.chip(Chip(kind, "")) for kind in _ICONS),
        data=joined([_script("words", document.words), *write.scripts]),
    )


_THEME = "Switch between light and dark"


class Writer:
    """Writes blocks as HTML, each kind with the method of its name.

    Parameters
    ----------
    words
        The words that the glossary of the page explains.
    """

    def __init__(self, words: frozenset[str] = frozenset()) -> None:
        self._words = words
        self.scripts: list[Markup] = []
        """What the script of the page needs of the blocks that were written."""

    def section(self, one: Section) -> Markup:
        """Write a section."""
        title = f"{one.id}-title"
        heading = tag("h2", one.heading, id=title)
        return tag("section", heading, self.blocks(one.blocks), id=one.id, aria_labelledby=title)

    def blocks(self, them: Iterable[Block]) -> Markup:
        """Write blocks below each other."""
        return joined(
            [
                getattr(self, type(each).__name__.lower())(each)
                for each in them
                if getattr(each, "only", "") != "text"
            ]
        )

    # Within a line --------------------------------------------------------------------------------

    def line(self, parts: Line) -> str:
        """Write a line; a text stays one, and is escaped by the element around it."""
        if isinstance(parts, str):
            return parts
        if isinstance(parts, tuple):
            return joined(map(self.line, parts))
        written: str = getattr(self, type(parts).__name__.lower())(parts)
        return written

    @staticmethod
    def strong(one: Strong) -> Markup:
        """Write words that stand out."""
        return tag("b", one.text, dir="auto")

    @staticmethod
    def link(one: Link) -> Markup:
        """Write a link within the page."""
        return tag("a", one.text, href=f"#{quote(one.to, safe='=', errors='replace')}", dir="auto")

    @staticmethod
    def chip(one: Chip) -> Markup:
        """Write a word with its sign."""
        icon = tag("svg", *_ICONS[one.kind], class_="icon", viewBox="0 0 16 16", aria_hidden="true")
        return tag("span", icon, one.text, class_=f"chip {one.kind}")

    def term(self, one: Term) -> str:
        """Write a word of the glossary, linked to its meaning if the page has it."""
        shown = one.shown or one.word
        if one.word not in self._words:
            return shown
        return tag("a", shown, class_="term", href=f"#{word_id(one.word)}", data_term=one.word)

    # Blocks ---------------------------------------------------------------------------------------

    def heading(self, one: Heading) -> Markup:
        """Write a heading."""
        return tag(f"h{one.level}", self.line(one.text), id=one.id, dir="auto")

    def text(self, one: Text) -> Markup:
        """Write a paragraph."""
        whole = "auto" if one.style == "quote" else ""  # a text of others, perhaps of Hebrew
        return tag("p", self.line(one.line), class_=one.style, dir=whole)

    def bullets(self, one: Bullets) -> Markup:
        """Write a list; one of ids may be long, and scrolls."""
        ids = one.style == "ids"
        lines = (tag("li", self.line(each), dir="auto" if ids else "") for each in one.lines)
        return tag("ul", *lines, class_=one.style, tabindex="0" if ids else "")

    def pairs(self, one: Pairs) -> Markup:
        """Write names with values."""
        rows = [
            (tag("dt", self.line(name)), tag("dd", self.line(value))) for name, value in one.pairs
        ]
        if one.style == "kv":
            return tag("dl", *(part for row in rows for part in row), class_="kv")
        ids = (word_id(plain_text(name)) if one.style == "gloss" else "" for name, _ in one.pairs)
        held = (tag("div", *row, id=at) for row, at in zip(rows, ids, strict=True))
        return tag("dl", *held, class_=one.style)

    def table(self, one: Table) -> Markup:
        """Write a short table, its first column as the heads of the rows."""
        wide = max(map(len, (one.heads, *one.rows)))
        sides = ["num" if k in one.numbers else "" for k in range(wide)]
        titles = [plain_text(each) for each in one.heads] or [""] * len(sides)

        def row(cells: Iterable[Cell]) -> Markup:
            first, *rest = (self._cell(each) for each in cells)
            named = zip(rest, sides[1:], titles[1:], strict=True)
            return tag(
                "tr",
                tag("th", first, scope="row", class_=sides[0], dir="auto"),
                *(tag("td", c, class_=s, data_label=t, dir="auto") for c, s, t in named),
            )

        heads = (
            tag("th", self.line(each), scope="col", class_=side)
            for each, side in zip(one.heads, sides, strict=False)
        )
        head = tag("thead", tag("tr", *heads)) if one.heads else Markup()
        return tag("table", head, tag("tbody", *map(row, one.rows)), class_=one.style)

    def _cell(self, cell: Cell) -> str:
        if not isinstance(cell, list):
            return self.line(cell)
        return joined(
            self.group(each)
            if isinstance(each, Group)
            else tag("span", self.line(each), class_="dep")
            for each in cell
        )

    def figure(self, one: Figure) -> Markup:
        """Write a drawing or a picture with what is said of it."""
        caption = tag("figcaption", self.line(one.caption), class_="note") if one.caption else ""
        if one.picture:
            picture = tag("img", src=one.picture, alt=one.name, loading="lazy")
            return tag("figure", picture, caption, class_=one.style)
        reading = Markup()
        if one.points is not None:
            self.scripts.append(_script(one.name, replace(one, svg=Markup(), caption="")))
            said = "Point at a square for its record."
            reading = tag("p", said, class_="muted js reading", aria_live="polite")
        return tag("figure", reading, one.svg, caption, id=one.name, class_=one.style)

    def command(self, one: Command) -> Markup:
        """Write a command with a button that copies it."""
        button = tag(
            "button", one.label or "Copy", type="button", class_="btn small js", data_copy=one.text
        )
        if one.label:
            return button
        words = [tag("span", word) for word in one.text.split(" ")]
        spaced = (part for word in words for part in (word, " "))
        return tag("div", tag("code", *spaced), button, class_="cmd")

    def group(self, one: Group) -> Markup:
        """Write blocks that belong together."""
        inside, title = self.blocks(one.blocks), self.line(one.title)
        if one.style == "fold":
            return tag("details", tag("summary", title), inside, class_="fold", id=one.id)
        if "card" in one.style.split():
            header = tag("header", tag("h3", title))
            return tag("article", header, inside, class_=one.style, id=one.id)
        name = "aside" if one.style == "side" else "div"
        heading = tag("h3", title) if one.title else ""
        scrolls = "0" if one.style == "across" else ""
        return tag(name, heading, inside, class_=one.style, id=one.id, tabindex=scrolls)

    def listing(self, one: Listing) -> Markup:
        """Write the first rows of a long table in words."""
        data, told = fitted(one)
        self.scripts.append(_script(one.id, replace(data, details=())))  # they stand in the rows
        notes = [tag("p", said, class_="note") for said in told]
        # Those that a button shows stand in what the rows open to.
        shown = [each for each in one.columns if each.is_text and "x" not in each.style.split()]
        order = list(range(one.n) if one.order is None else one.order)
        rows = order[: one.n if one.n <= STATIC_ROWS else FIRST_ROWS]
        heads = (
            tag("th", self.line(Term(c.word, c.title)), scope="col", class_=c.style) for c in shown
        )
        table = tag(
            "table",
            tag("caption", one.caption, class_="sr"),
            tag("thead", tag("tr", *heads)),
            *(self._row(one, shown, k) for k in rows),
            class_=f"grid plain {one.style}",
            id=one.id,
        )
        if len(rows) < one.n:
            said = f"The first {len(rows):,} of {one.n:,} are shown. JavaScript is needed to see, "
            said += f"sort and search the rest{f'; all are in {one.file}' if one.file else ''}."
            notes.append(tag("p", said, class_="note static"))
        if one.n > PRINTED and one.file:
            said = f"The first {PRINTED} of {one.n:,} {one.noun}s; all are in {one.file}."
            notes.append(tag("p", said, class_="note printed"))
        across = tag("div", tag("div", table, class_="across"), class_="listing")
        return joined([across, *notes])

    def _row(self, one: Listing, shown: list[Column], k: int) -> Markup:
        cells = []
        for column in shown:
            text: str = cell_text(column, k)
            if column.kind != "name":
                if column.kinds:
                    text = self._sign(column, k)
                cells.append(tag("td", text, class_=column.style))
                continue
            if k < len(one.details):
                parts = tag("div", self.blocks(one.details[k]), class_="parts")
                text = tag("details", tag("summary", text, dir="auto"), parts)
            elif column.to:
                text = self.link(Link(text, f"{column.to}={column.values[k]}"))
            cells.append(tag("th", text, scope="row", dir="auto", class_=column.style))
        return tag("tbody", tag("tr", *cells, class_="row"), data_k=k)

    def _sign(self, column: Column, k: int) -> Markup:
        word = column.values[k]
        chip = self.chip(Chip((column.kinds or {}).get(word, "none"), word[:1].upper() + word[1:]))
        note = column.notes[k] if len(column.notes) else ""
        return joined([chip, " ", tag("span", note, class_="why")] if note else [chip])


def word_id(word: str) -> str:
    """Return the anchor of a word of the glossary.

    Examples
    --------
    >>> word_id("same score")
    'word-same-score'
    """
    return f"word-{word.replace(' ', '-')}"


def _tabs(sections: Iterable[Section]) -> Markup:
    tabs = []
    for one in sections:
        badge = [" ", tag("span", f"{one.badge:,}", class_="n")] if one.badge else []
        tabs.append(tag("li", tag("a", one.title, *badge, href=f"#{one.id}")))
    return tag("nav", tag("ul", *tabs, class_="page"), class_="tabs", aria_label="Sections")


def _script(name: str, what: Any) -> Markup:
    """Write data as JSON, or compressed where they are large."""
    text, kind = to_json(what), "application/json"
    if len(text) > PACKED:
        # Higher levels take five times as long for 1.5% less.
        packed = compress(text.encode("utf-8", "replace"), 7)
        text, kind = b64encode(packed).decode(), "application/octet-stream"
    return joined([tag("script", Markup(text), type=kind, id=f"data-{name}"), "\n"])


def _digest(text: str) -> str:
    """Return what a Content-Security-Policy calls a text that the page holds itself."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
