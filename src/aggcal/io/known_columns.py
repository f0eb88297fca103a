"""The names of columns that some format knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from aggcal.io.formats import formats
from aggcal.io.formats._base import TableFormat
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._synonyms import GROUP, ITEM, RATING
from aggcal.io.formats.plain import EXTRA, OWN

NAMED = (*OWN, *EXTRA, "item", "rank", "rating")
"""Columns that a user may name."""
_OF_RECORDS = (*ITEM, *RATING, *GROUP, "best", "worst", "items", "options")
"""Columns of the formats that are read record by record."""


class KnownColumns(Mapping[str, str]):
    """Every column that some format reads, by which the delimiter of a table is known.

    The formats are loaded when somebody looks for a column: a Parquet file has no delimiter.

    Examples
    --------
    >>> "winner" in KnownColumns(), KnownColumns().get("shoe size")
    (True, None)
    """

    @cached_property
    def _names(self) -> dict[str, None]:
        names = dict.fromkeys((*NAMED, *_OF_RECORDS))
        for known in formats():
            if isinstance(known, TableFormat):
                names |= dict.fromkeys(known.columns_of(Sample("")))
        return names

    def __getitem__(self, name: str) -> str:
        if name not in self._names:
            raise KeyError(name)
        return name

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
