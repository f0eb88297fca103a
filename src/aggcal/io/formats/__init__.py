"""The formats that people's tools export, each declared: how to know it, and what of it is ours.

A table is the names of its columns (`tables`); what is nested is taken apart into rows (`arena`,
`label_studio`, `argilla`, `preflib`, `rankings`, `ratings`, `reviews`). To add one, write a
`Format` and register it in `aggcal.registry`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

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
from aggcal.registry import FORMATS, FormatInfo
from aggcal.registry.names import load

__all__ = ["Choices", "Format", "Made", "Notes", "Records", "Row", "formats", "has", "recognised"]

_HEAD = 1_000
"""Lines by which a text is told."""
OWN = {
    **PREFLIB, **LABEL_STUDIO, **ARGILLA, **ARENA, **TABLES, **REVIEWS, **RANKINGS, **RATINGS,
}  # fmt: skip
"""Those that come with aggcal."""


@cache
def _loaded(info: FormatInfo) -> Format:
    form = OWN[info.name] if info.name in FORMATS.own else load(info.home)
    return replace(form, info=info)


def formats() -> list[Format]:
    """Return every format in the order in which a file is shown to them, the general ones last.

    Examples
    --------
    >>> [form.info.name for form in formats()][-1]
    'table'
    """
    own = [*FORMATS.own.values()]
    every = [info for info in own if not info.general]
    every += [*FORMATS.others.values(), *(info for info in own if info.general)]
    return [_loaded(info) for info in every]


def recognised(table: Table, name: str | None = None) -> Format:
    """Return the format of a table: the one named, or the first that knows it."""
    if name is None:
        form = next(form for form in formats() if is_of(form, table))
        if form.info.name == "rankings":
            refuse_unclear_ranks(table)
            if is_of(OWN["ratings"], table):
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
    form = _loaded(FORMATS[name])
    if not is_of(form, table) and not form.may_be(table):
        found = listed(sorted(table.columns)) or "no columns"
        raise TableError(
            f"{table.name}: does not look like {form.info.summary} (found: {found}); "
            f"leave {option('format')} out or choose another."
        )
    return form


def is_of(form: Format, table: Table) -> bool:
    """Whether a table, or a text, looks like a format."""
    if table.is_text:
        return form.is_text is not None and form.is_text("".join(table.rows[:_HEAD]))
    return form.is_mine(table)
