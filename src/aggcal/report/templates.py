"""How pages are made: templates, escaped and strict about what is not there; numbers for people."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal._version import __version__
from aggcal.pages.numbers import MINUS

_NEEDS_ESCAPE = re.compile("[&<>\"']")

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from jinja2.bccache import Bucket


@cache
def environment(package: str) -> Environment:
    """Return what renders the templates of a package; it keeps them, as compiling takes long.

    Compiled templates are kept beside the compiled modules, and like them only where that may be
    written.

    Examples
    --------
    >>> environment("aggcal.report").from_string("{{ x }}").render(x="<b>")
    '&lt;b&gt;'
    """
    import jinja2
    from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined

    class Beside(FileSystemBytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):  # what cannot be read is compiled
                super().load_bytecode(bucket)

        def dump_bytecode(self, bucket: Bucket) -> None:
            if not sys.dont_write_bytecode:
                with suppress(OSError):
                    super().dump_bytecode(bucket)

    class Quick(Environment):
        def getattr(self, obj: Any, attribute: str) -> Any:
            # Most of what a page shows are rows, which are dictionaries: to ask them for an
            # attribute first, as Jinja does, costs more than all the rest.
            if type(obj) is dict and attribute in obj:
                return obj[attribute]
            return super().getattr(obj, attribute)

        def get_template(self, *args: Any, **options: Any) -> Template:
            found = super().get_template(*args, **options)
            # Templates escape by a name of their own: what they write is joined to one text at
            # once, and need not be marked as safe piece by piece.
            found.root_render_func.__globals__["escape"] = escaped
            return found

    folder = folder_of(package) / "__pycache__"
    release = f"{__version__}-jinja-{jinja2.__version__}"
    return Quick(
        loader=PackageLoader(package, "."),
        bytecode_cache=Beside(str(folder), f"%s.{release}.template"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def folder_of(package: str) -> Path:
    """Return where a package is.

    Examples
    --------
    >>> folder_of("aggcal.report").name
    'report'
    """
    return Path(import_module(package).__path__[0])


def escaped(value: Any) -> str:
    """Return a value as it may stand in a page: most hold nothing that needs escaping.

    Examples
    --------
    >>> escaped("1.5"), str(escaped("<b>")), escaped(3)
    ('1.5', '&lt;b&gt;', Markup('3'))
    """
    if type(value) is str and not _NEEDS_ESCAPE.search(value):
        return value
    return _escape()(value)


@cache
def _escape() -> Callable[[Any], str]:
    from markupsafe import escape

    return escape


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
