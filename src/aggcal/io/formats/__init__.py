"""The formats that people's tools export, each in a file of its own.

A format knows its files by a first look (`_sample`) and says how their columns or records become
judgments (`_base`). Files that begin with an underscore help the others: `_labels` and `_synonyms`
know what people call things, `_steps` how much better, `_parting` what a context is; `_orders`
takes rankings apart, `_sides` and `_stream` read.

To add one, copy ``gavel.py`` (a table), ``vote_log.py`` (records) or ``preflib.py`` (text), and add
an entry to `aggcal.registry`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from aggcal.errors import OptionError, did_you_mean
from aggcal.io.formats._asking import ask_for_ratings
from aggcal.io.formats._base import (
    Choices,
    Format,
    Notes,
    RecordFormat,
    Row,
    TableFormat,
    TextFormat,
)
from aggcal.io.formats._guessing import ask_for_columns
from aggcal.io.formats._layouts import refuse_places_for_items
from aggcal.io.formats._sample import Record, Sample
from aggcal.io.formats.rankings import refuse_unclear_ranks
from aggcal.io.tables.cells import is_own_table
from aggcal.registry import FORMATS, RANKINGS, RATINGS, TABLE, FormatInfo
from aggcal.registry.names import load

# fmt: off
__all__ = [
    "Choices", "Format", "Notes", "Record", "RecordFormat", "Row", "Sample", "TableFormat",
    "TextFormat", "formats", "recognised",
]
# fmt: on


@cache
def _loaded(info: FormatInfo) -> Format:
    found: Format = replace(load(info.home), info=info)
    return found


def formats() -> list[Format]:
    """Return every format in the order in which a file is shown to them, the general ones last.

    Examples
    --------
    >>> [known.info.name for known in formats()][-1]
    'table'
    """
    own = FORMATS.own.values()
    return [
        *(_loaded(info) for info in own if not info.general),
        *(_loaded(info) for info in FORMATS.others.values()),
        *(_loaded(info) for info in own if info.general),
    ]


def recognised(sample: Sample, name: str | None = None) -> Format:
    """Return the format of a file: the one named, or the first that knows it.

    Examples
    --------
    >>> from aggcal.io.formats._sample import of_records
    >>> sample = of_records("f", [{"worker": "w", "left": "a", "right": "b", "label": "a"}])
    >>> recognised(sample).info.name
    'crowd-kit'
    """
    if name is None:
        if is_own_table(sample.columns):
            # Nobody else's: other packages, which take long to be looked for, are not asked.
            found = _loaded(TABLE)
        else:
            refuse_places_for_items(sample)
            found = next(known for known in formats() if known.is_mine(sample))
        if found.info == RANKINGS:
            refuse_unclear_ranks(sample)
        if found.info == RANKINGS and _loaded(RATINGS).is_mine(sample):
            raise OptionError(
                f"{sample.name}: holds ranks and ratings; say which to use with --format "
                f"{RANKINGS.name} or --format {RATINGS.name}."
            )
        if found.info == TABLE:
            ask_for_columns(sample)
            ask_for_ratings(sample)
        return found
    if name not in FORMATS:
        known = sorted(FORMATS)
        hint = did_you_mean(name, known)
        raise OptionError(f"there is no format '{name}'{hint}; there are {', '.join(known)}.")
    return _loaded(FORMATS[name])
