"""Where HTML and SVG are written, and everything that goes into them is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from html import escape
from typing import Any

_EMPTY = frozenset({"img", "meta"})
"""Elements of HTML that hold nothing, and have no end."""
_NEEDS_ESCAPE = re.compile("[&<>\"']")


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
    opening = name
    for key, value in attributes.items():
        if value is True:
            opening += f" {_attribute(key)}"
        elif value is not None and value is not False and value != "":
            opening += f' {_attribute(key)}="{_escaped(str(value))}"'
    ending = "" if name in _EMPTY else f"</{name}>"
    return Markup(f"<{opening}>{_written(inside)}{ending}")


def joined(parts: Iterable[str]) -> Markup:
    """Return parts one after the other, texts among them escaped.

    Examples
    --------
    >>> joined(["<", tag("i")])
    '&lt;<i></i>'
    """
    return Markup(_written(parts))


def _written(parts: Iterable[str]) -> str:
    return "".join([each if type(each) is Markup else _escaped(each) for each in parts])


def _escaped(text: str) -> str:
    """Return a text as it may stand in a page: most hold nothing that needs escaping."""
    return escape(text) if _NEEDS_ESCAPE.search(text) else text


@cache
def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
