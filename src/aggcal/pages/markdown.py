"""Write a document in short, as Markdown: for a code host, a chat, a notebook, a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from aggcal.errors import count
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
    Listing,
    Pairs,
    Strong,
    Table,
    Text,
    plain_text,
)
from aggcal.pages.numbers import cell_text, cut

TOP = 20
"""Rows of a table: the others are in the files."""

_TITLE, _NAME, _SAID = 200, 80, 100  # characters of a title, of a name, of what an item says
_LONGEST = 2000  # characters of a text
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_TURNING = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FIRST = re.compile(r"^(|\d+)([#+=.)-])")
_SPECIAL = re.compile(r"[\\`*\[\]<>|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|:(?=//)|(?<=www)\.|@")


def markdown(document: Document) -> str:
    r"""Return a document as Markdown.

    Examples
    --------
    >>> from aggcal.pages.document import Section
    >>> section = Section("a", "A", "A", [Bullets(["1 < 2", ("a|b ", Strong("c"))])])
    >>> print(markdown(Document("1. *t*", "about", "news", [], [section], foot="end")))
    # 1\. \*t\*
    <BLANKLINE>
    **news**
    <BLANKLINE>
    ## A
    <BLANKLINE>
    - 1 \< 2
    - a\|b **c**
    <BLANKLINE>
    end
    <BLANKLINE>
    """
    parts = [
        f"# {plain(document.title, _TITLE)}",
        f"**{inline(plain_text(document.headline), _LONGEST)}**",
    ]
    parts += _blocks(document.lead)
    for section in document.sections:
        title = section.title
        heading = title if section.heading == title else f"{title}: {section.heading}"
        parts += [f"## {plain(heading, _LONGEST)}", *_blocks(section.blocks)]
    parts += [plain(document.foot, _LONGEST)] if document.foot else []
    return "\n\n".join(parts) + "\n"


def plain(text: Any, longest: int = _NAME) -> str:
    r"""Return a text on one line that Markdown shows as it stands, cut if it is too long.

    What turns the direction of writing round is left out: here nothing could end it.

    Examples
    --------
    >>> print(plain("a|b <i>*x*</i> item_7 `c`"))
    a\|b \<i\>\*x\*\</i\> item_7 \`c\`
    >>> plain("two\nlines"), plain("# no heading")
    ('two lines', '\\# no heading')
    """
    return _begun(inline(text, longest))


def inline(text: Any, longest: int = _NAME) -> str:
    r"""Return a text as `plain` does, for the middle of a line.

    Examples
    --------
    >>> plain("0.1.0"), inline("0.1.0")
    ('0\\.1.0', '0.1.0')
    """
    return _escaped(str(text), longest).strip() or "(blank)"


def fenced(text: str) -> str:
    """Return a command as a block of code, whatever a file is called.

    Examples
    --------
    >>> fenced("rm `x`").splitlines()
    ['```', 'rm `x`', '```']
    """
    ticks = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, ticks + 1)
    return f"{fence}\n{_INVISIBLE.sub(' ', text)}\n{fence}"


def _escaped(text: str, longest: int = _LONGEST) -> str:
    return _SPECIAL.sub(r"\\\g<0>", _TURNING.sub("", _INVISIBLE.sub(" ", cut(text, longest))))


def _begun(line: str) -> str:
    """Return a line whose beginning means nothing to Markdown."""
    return _FIRST.sub(r"\1\\\2", line)


def _line(line: Line) -> str:
    return _begun(_within(line).strip())


def _within(line: Line) -> str:
    if isinstance(line, tuple):
        return "".join(map(_within, line))
    text = _escaped(plain_text(line))
    return f"**{text.strip()}**" if isinstance(line, Strong | Chip) and text.strip() else text


# Blocks -------------------------------------------------------------------------------------------


def _blocks(them: Iterable[Block]) -> Iterator[str]:
    """Write blocks, without what only a page shows."""
    for each in them:
        if getattr(each, "only", "") == "page":
            continue
        if isinstance(each, Group):
            if each.title:
                yield _line(Strong(each.title) if isinstance(each.title, str) else each.title)
            yield from _blocks(each.blocks)
        elif text := _WRITERS[type(each)](each):
            yield text


def _heading(one: Heading) -> str:
    return f"{'#' * one.level} {_line(one.text)}"


def _text(one: Text) -> str:
    return _line(one.line)


def _bullets(one: Bullets) -> str:
    return "\n".join(f"- {_line(each)}" for each in one.lines)


def _pairs(one: Pairs) -> str:
    return "\n".join(f"- {_line(name)}: {_within(value).strip()}" for name, value in one.pairs)


def _command(one: Command) -> str:
    return "" if one.label else fenced(one.text)


def _table(one: Table) -> str:
    shown = one.rows if one.whole else one.rows[:TOP]
    rows = [[_cell(each) for each in row] for row in shown]
    left = len(one.rows) - len(shown)
    more = f"\n\nand {left:,} more" if left else ""
    heads = [_cell(each) for each in one.heads] or [" "] * max(map(len, rows), default=0)
    return _rows(heads, rows) + more if heads else ""


def _cell(cell: Cell) -> str:
    if isinstance(cell, list):
        return "; ".join(_within(each).strip() for each in cell if not isinstance(each, Group))
    return _within(cell).strip()


def _listing(one: Listing) -> str:
    """Write the first rows of a long table, or those of each of its groups."""
    parts = _parts(one)
    written, shown = [], 0
    for title, rows in parts:
        written += [f"### {plain(title, _TITLE)}"] if title else []
        written.append(_listed(one, rows[:TOP]))
        shown += len(rows[:TOP])
    if shown < one.n:
        where = f" in `{one.file}`" if one.file else ""
        written.append(f"{count(one.n - shown, f'more {one.noun}')}{where}.")
    return "\n\n".join(written)


def _parts(one: Listing) -> list[tuple[str, list[int]]]:
    """Return the rows of each group with its title, or all of them without one."""
    order = list(range(one.n) if one.order is None else one.order)
    column = one.column(one.groups["column"]) if one.groups else None
    if one.groups is None or column is None:
        return [("", order)]
    members: dict[str, list[int]] = {}
    for k in order:
        members.setdefault(cell_text(column, k), []).append(k)
    titles = one.groups["titles"]
    return [(": ".join(titles.get(value, ())), rows) for value, rows in members.items()]


def _listed(one: Listing, rows: Sequence[int]) -> str:
    columns = [each for each in one.columns if each.is_text and not each.only]

    def cell(column: Column, k: int) -> str:
        text = inline(cell_text(column, k))
        said = one.texts[k] if one.texts is not None and column.kind == "name" else ""
        return f"{text}: {inline(said, _SAID)}" if said else text

    cells = ([cell(each, k) for each in columns] for k in rows)
    return _rows([inline(each.title) for each in columns], cells)


def _rows(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_WRITERS: dict[type, Callable[[Any], str]] = {
    Heading: _heading,
    Text: _text,
    Bullets: _bullets,
    Pairs: _pairs,
    Command: _command,
    Table: _table,
    Listing: _listing,
    Figure: lambda _: "",
}
"""What writes each kind of block but `Group`; drawings are left out."""
