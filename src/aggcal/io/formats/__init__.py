"""The formats that people's tools export, each declared: how to know it, and what of it is ours.

A table is the names of its columns (`tables`); what is nested is taken apart into rows (`arena`,
`label_studio`, `argilla`, `preflib`, `rankings`, `ratings`, `reviews`). To add one, write a
`Format` with a summary, and its name in `aggcal.registry.literals`.
Other packages register a `Format` by the entry point ``aggcal.formats``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from aggcal.errors import OptionError, TableError, did_you_mean, option
from aggcal.io.choices import Choices
from aggcal.io.formats.arena import ARENA
from aggcal.io.formats.argilla import ARGILLA
from aggcal.io.formats.base import Format, Made, Notes, Records, Row, has
from aggcal.io.formats.label_studio import LABEL_STUDIO
from aggcal.io.formats.preflib import PREFLIB
from aggcal.io.formats.rankings import RANKINGS, refuse_unclear_ranks
from aggcal.io.formats.ratings import RATINGS
from aggcal.io.formats.reviews import REVIEWS
from aggcal.io.formats.tables import TABLES
from aggcal.io.tables import Table, listed
from aggcal.registry.literals import FormatName
from aggcal.registry.names import Names

__all__ = [
    "FORMATS",
    "Choices",
    "Format",
    "Made",
    "Notes",
    "Records",
    "Row",
    "formats",
    "has",
    "recognised",
]

_HEAD = 1_000
"""Lines by which a text is told."""
_DECLARED = {
    **PREFLIB, **LABEL_STUDIO, **ARGILLA, **ARENA, **TABLES, **REVIEWS, **RANKINGS, **RATINGS,
}  # fmt: skip
FORMATS = Names(
    "format",
    Format,
    # From the most particular to the most general: the first that knows a file reads it.
    tuple(replace(_DECLARED[name], name=name) for name in get_args(FormatName)),
)
"""The formats by name: aggcal's own, and those of installed packages behind them."""


def formats() -> list[Format]:
    """Return every format in the order in which a file is shown to them, the general ones last.

    Examples
    --------
    >>> [form.name for form in formats()][-1]
    'table'
    """
    own = FORMATS.own.values()
    particular, general = ([form for form in own if form.general is one] for one in (False, True))
    return [*particular, *FORMATS.others.values(), *general]


def recognised(table: Table, name: str | None = None) -> Format:
    """Return the format of a table: the one named, or the first that knows it."""
    if name is None:
        form = next(form for form in formats() if is_of(form, table))
        if form.name == "rankings":
            refuse_unclear_ranks(table)
            if is_of(FORMATS.own["ratings"], table):
                raise OptionError(
                    f"{table.name}: holds ranks and ratings; say which to use with "
                    f"{option('format', 'rankings')} or {option('format', 'ratings')}."
                )
        return form
    if name not in FORMATS:
        known = sorted(FORMATS)
        raise OptionError(
            f"there is no format '{name}'{did_you_mean(name, known)}; there are {', '.join(known)}."
        )
    form = FORMATS[name]
    if not is_of(form, table) and not form.may_be(table):
        found = listed(sorted(table.columns)) or "no columns"
        raise TableError(
            f"{table.name}: does not look like {form.summary} (found: {found}); "
            f"leave {option('format')} out or choose another."
        )
    return form


def is_of(form: Format, table: Table) -> bool:
    """Whether a table, or a text, looks like a format."""
    if table.is_text:
        return form.is_text is not None and form.is_text("".join(table.rows[:_HEAD]))
    return form.is_mine(table)
