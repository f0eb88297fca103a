"""Workbooks (.xlsx, .xls, .ods): one sheet of them, as rows of texts."""

from __future__ import annotations

from pathlib import Path

from aggcal.door.tables import Table


def of_sheet(path: Path, name: str, sheet: str | None, names: set[str]) -> Table:
    """Read one sheet: the one named, or the only one that names known columns."""
    raise NotImplementedError
