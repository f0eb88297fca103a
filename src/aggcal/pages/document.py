"""What a page says, as plain data: sections, each made of a few kinds of blocks.

The report of one run, the comparison of two and the paper's page are such documents. `html` writes
one as a page, `markdown` as text and `to_json` as data; none of them knows what a section is about.

To add a kind of block, write its class and name it in `Block`, a method of `html.Writer` and an
entry of `markdown._WRITERS`, and a row of tests/pages/test_blocks.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from aggcal._core.markup import Markup
from aggcal._core.text import brief

# Within a line ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Strong:
    """Words that stand out."""

    text: str


@dataclass(frozen=True)
class Link:
    """A link within the page: to a section, ``item=ID``, ``annotator=ID`` or ``by=CATEGORY``."""

    text: str
    to: str


@dataclass(frozen=True)
class Chip:
    """A word with a sign: ``good``, ``care``, ``bad`` or ``none``."""

    kind: str
    text: str


@dataclass(frozen=True)
class Term:
    """A word that the glossary explains, perhaps shown in other words."""

    word: str
    shown: str = ""


Part: TypeAlias = "str | Strong | Link | Chip | Term"
Line: TypeAlias = "Part | tuple[Part, ...]"
Cell: TypeAlias = "Line | list[Line | Group]"
"""What a cell of a short table holds: a line, or several below each other."""
Only: TypeAlias = Literal["", "page", "text"]
"""Where a block is shown: everywhere, only on a page, or only in Markdown."""


def plain_text(line: Line) -> str:
    """Return the words of a line.

    Examples
    --------
    >>> plain_text(("see ", Strong("this"), " ", Term("same score", "shared")))
    'see this shared'
    """
    if isinstance(line, tuple):
        return "".join(map(plain_text, line))
    if isinstance(line, Term):
        return line.shown or line.word
    return line if isinstance(line, str) else line.text


# Blocks -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: Line
    level: int = 3
    id: str = ""
    only: Only = ""


@dataclass(frozen=True)
class Text:
    """A paragraph: plain, or in one of some styles."""

    line: Line
    style: Literal["", "lede", "note", "caveat", "quote", "muted", "asides"] = ""
    only: Only = ""


@dataclass(frozen=True)
class Bullets:
    """A list."""

    lines: Sequence[Line]
    style: str = ""
    only: Only = ""


@dataclass(frozen=True)
class Pairs:
    """Names with values: ``facts`` beside each other, ``kv`` below, ``gloss`` for a glossary."""

    pairs: Sequence[tuple[Line, Line]]
    style: Literal["facts", "kv", "gloss"] = "kv"
    only: Only = ""


@dataclass(frozen=True)
class Table:
    """A short table."""

    heads: Sequence[Line]
    rows: Sequence[Sequence[Cell]]
    style: str = "mini"
    numbers: frozenset[int] = frozenset()
    """The columns that are set to the right."""
    whole: bool = False
    """Whether Markdown has all of its rows."""
    only: Only = ""


@dataclass(frozen=True)
class Figure:
    """A drawing by `figures`; or a picture."""

    name: str
    svg: Markup = field(default_factory=Markup)
    caption: Line = ""
    style: str = ""
    picture: str = ""
    """The address of a picture that is shown instead of a drawing: ``data:image/...``."""
    points: Mapping[str, Any] | None = None
    """Of a matrix: its ``names`` and ``pairs`` (row, column, wins, losses, ties), for pointing."""
    only: Only = ""


@dataclass(frozen=True)
class Command:
    """A command for a shell; with a label, only a button of that name that copies the text."""

    text: str
    label: str = ""
    only: Only = ""


@dataclass(frozen=True)
class Group:
    """Blocks that belong together.

    Its style may have several words. The writer knows ``card``, ``fold`` (opens below its title),
    ``side`` (an aside) and ``across`` (scrolls); the style sheet alone arranges ``two``, ``ends``,
    ``split`` and ``cols`` (columns), ``sec`` (a part with room above), ``cards``, ``trust``,
    ``decided``, ``doubts`` and ``problem``.
    """

    blocks: Sequence[Block]
    style: str = ""
    title: Line = ""
    id: str = ""
    only: Only = ""


# Long tables --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a long table.

    Its kind is ``name`` (ids), ``number`` (perhaps with an interval), ``interval`` (that of another
    column), ``word`` (few words, perhaps with a sign each: see ``kinds``), ``chart`` (marks of
    other columns), ``chance`` (of being in the top k) or ``tied`` (a bracket around equal rows).
    """

    key: str
    title: str
    kind: str = "number"
    values: Any = None
    low: Any = None
    high: Any = None
    decimals: int | None = 0
    unit: str = ""
    signed: bool = False
    word: str = ""
    """What the glossary calls it."""
    hint: str = ""
    style: str = ""
    """The class of its cells: what style sheets and narrow screens know it by."""
    up: bool = False
    """Whether the smallest comes first when readers sort by it."""
    to: str = ""
    """Of names: what they link to, where their rows do not open: ``item`` or ``annotator``."""
    kinds: Mapping[str, str] | None = None
    """Of words: the sign of each."""
    notes: Sequence[str] = ()
    """What is said beside each word."""
    marks: Mapping[str, Any] | None = None
    """Of a chart: which columns are its ``dot``, ``hollow`` and ``block``; ``lines`` to draw, the
    ``ends`` that its scale must hold, and a ``legend`` of (mark, words, word of the glossary)."""
    only: Only = ""

    @property
    def is_text(self) -> bool:
        """Whether it can be read without a script."""
        return self.kind in ("name", "number", "word")


@dataclass(frozen=True, eq=False)
class Listing:
    """A long table: its first rows stand in the page, and a script sorts and searches all."""

    id: str
    noun: str
    caption: str
    columns: Sequence[Column]
    sort: str
    """The key of the column whose order the rows have."""
    style: str = "res"
    file: str = ""
    """Where a reader finds all rows."""
    details: Sequence[Sequence[Block]] = ()
    """What the first rows open to."""
    texts: Sequence[str] | None = None
    """What items say, to be searched."""
    filters: Sequence[Mapping[str, Any]] = ()
    """Choices of rows: a ``label`` with ``rows``, or with a ``column`` and what it must be."""
    tools: bool = True
    """Whether it is searched, filtered, copied and saved."""
    top: Mapping[str, Any] | None = None
    """Of the first k, by a column ``rank``: the ``stops`` to choose from, which of them is
    ``first``, the ``best`` and ``worst`` rank of each row, the ``states`` in words (``in``,
    ``edge``, ``out``) and a ``note``; perhaps the chances in ``percent`` of each stop, and the
    ``exact`` ones of the k ``asked``."""
    groups: Mapping[str, Any] | None = None
    """A ``column`` whose values divide the rows, and the ``titles`` of its values."""
    order: Sequence[int] | None = None
    """The order of the rows, if it is not that of the columns."""

    def column(self, key: str) -> Column | None:
        """Return a column by its key."""
        return next((each for each in self.columns if each.key == key), None)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.columns[0].values)


Block: TypeAlias = "Heading | Text | Bullets | Pairs | Table | Figure | Command | Group | Listing"


@dataclass(frozen=True)
class Section:
    """A part of the document, with a tab of its own."""

    id: str
    title: str
    heading: str
    blocks: Sequence[Block]
    badge: int = 0
    """How many things in it need attention."""


@dataclass(frozen=True)
class Document:
    """A whole page."""

    title: str
    about: Line
    headline: Line
    lead: Sequence[Block]
    sections: Sequence[Section]
    words: Mapping[str, str] = field(default_factory=dict)
    """The glossary."""
    foot: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    """What a program wants beside the words: the summary and the comparisons."""

    __repr__ = brief

    def __str__(self) -> str:
        from aggcal.pages.markdown import markdown  # which is written of documents

        return markdown(self)


# As JSON ------------------------------------------------------------------------------------------

_EXACT = 2.0**53  # below it, whole numbers are the same as floats
_SIGNS = re.compile("[<>&\u2028\u2029]")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def to_json(thing: Any) -> str:
    r"""Write a document, or a part of it, as JSON that may stand in a script element.

    Each block says what it is; what is not set is left out.

    Examples
    --------
    >>> to_json(Text(("</script>", Strong("a"))))
    '{"block":"text","line":["\\u003c/script\\u003e",{"block":"strong","text":"a"}]}'
    >>> to_json(Column("a", "A", values=np.array([0.5, np.nan]), decimals=2))
    '{"block":"column","key":"a","title":"A","kind":"number","values":[0.5,null],"decimals":2}'
    """
    # Only texts hold these signs, and JSON reads the escape as the sign.
    return _SIGNS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", _encode(_plain(thing)))


def _plain(thing: Any) -> Any:
    """Return plain data, whatever JSON has no sign for as nothing or as a text."""
    if isinstance(thing, np.ndarray):
        if thing.dtype.kind == "f" and (np.abs(thing) < _EXACT).all():
            whole = bool((thing == np.floor(thing)).all())
            return thing.astype(np.int64).tolist() if whole else thing.tolist()
        return [_number(each) for each in thing.tolist()]
    if is_dataclass(thing):
        values = {each.name: getattr(thing, each.name) for each in fields(thing)}
        kept = {name: value for name, value in values.items() if not _unset(value)}
        return {"block": type(thing).__name__.lower(), **_plain(kept)}
    if isinstance(thing, Mapping):
        return {str(name): _plain(each) for name, each in thing.items()}
    if isinstance(thing, Sequence | frozenset) and not isinstance(thing, str):
        return [_plain(each) for each in thing]
    thing = thing.item() if isinstance(thing, np.generic) else thing
    return None if isinstance(thing, float) and not np.isfinite(thing) else thing


def _number(value: Any) -> Any:
    """Return a number of a column: infinite ones as texts, missing ones as nothing."""
    if not isinstance(value, float) or np.isfinite(value):
        return value
    return None if value != value else str(value)  # noqa: PLR0124  # NaN


def _unset(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, str | tuple) and not value)
