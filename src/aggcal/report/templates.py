"""How pages are made: templates, escaped and strict about what is not there; numbers for people."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from aggcal.report.numerals import MINUS

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment(package: str) -> Environment:
    """Return what renders the templates of a package; it keeps them, as compiling takes long.

    Examples
    --------
    >>> environment("aggcal.report").from_string("{{ x }}").render(x="<b>")
    '&lt;b&gt;'
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def number(value: Any, digits: int = 4) -> str:
    """Write a number for people; a dash for what is not there.

    Examples
    --------
    >>> number(12345), number(0.123456), number(True), number(None)
    ('12,345', '0.1235', 'yes', '–')
    """
    if value is None or value != value:  # noqa: PLR0124  # NaN
        return "–"  # an en dash, for people
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", MINUS)
    if isinstance(value, float):
        text = f"{value:,.{digits}g}" if abs(value) < 1e6 else f"{value:,.0f}"  # noqa: PLR2004
        return text.replace("-", MINUS, 1) if value < 0 else text
    return str(value)
