"""How pages are made from templates: escaped, and strict about what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(package: str) -> Environment:
    """Return what renders the templates of a package.

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
