"""The one place where HTML and SVG are written, and everything that goes into them is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

_EMPTY = frozenset({"img", "meta"})
"""Elements of HTML that hold nothing, and have no end."""


class Markup(str):
    """Text that is written already, and is not escaped again."""

    __slots__ = ()


def tag(name: str, /, *inside: str, **attributes: Any) -> Markup:
    """Write an element around texts, which are escaped, and `Markup`, which is not.

    Attributes lose an underscore at their end, and others become hyphens; those that are empty,
    None or False are left out.

    Examples
    --------
    >>> tag("p", "a < b ", tag("b", "c"), class_="note", data_k=0, hidden=False)
    '<p class="note" data-k="0">a &lt; b <b>c</b></p>'
    """
    written = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False or value == "":
            continue
        shown = "" if value is True else f'="{escape(str(value))}"'
        written.append(f" {key.rstrip('_').replace('_', '-')}{shown}")
    written.append(">")
    written += [each if isinstance(each, Markup) else escape(each, quote=False) for each in inside]
    if name not in _EMPTY:
        written.append(f"</{name}>")
    return Markup("".join(written))


def joined(parts: Iterable[str]) -> Markup:
    """Return parts one after the other, texts among them escaped.

    Examples
    --------
    >>> joined(["<", tag("i")])
    '&lt;<i></i>'
    """
    return Markup(
        "".join(each if isinstance(each, Markup) else escape(each, quote=False) for each in parts)
    )
