"""Results of studies of methods and of sizes: a table, a figure, and the files of both."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from pathlib import Path
from typing import IO, Any, ClassVar

from aggcal._core.tables import Columns, as_frame
from aggcal._version import __version__
from aggcal.io.cells import csv_writer
from aggcal.io.saving import Manifest, Writer, write_files


class Saved:
    """A result with a table and a figure, which are written together or not at all."""

    FILES: ClassVar[tuple[str, str]]
    """The table and the figure; ``summary.json``, which lists them, is written beside them."""
    COMMAND: ClassVar[str]
    """The command that writes them."""

    @property
    def backend(self) -> str | None:
        """The library of the table; None for that of `aggcal.options`."""
        return None

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """The table as plain columns."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data."""

    @abstractmethod
    def figure(self) -> str:
        """Return the figure as SVG."""

    @property
    def table(self) -> Any:
        """The table, as in the CSV file, in the frame library the user came with."""
        return as_frame(self.columns, self.backend)

    @classmethod
    def manifest(cls, found: dict[str, Any] | None = None) -> Manifest:
        """Return the list of the files."""
        return Manifest("summary.json", {"version": __version__, **(found or {})}, cls.COMMAND)

    def save(self, directory: str | Path, *, force: bool = False) -> list[Path]:
        """Write the table, the figure and ``summary.json``, all or none.

        Parameters
        ----------
        directory
            Made if it is not there.
        force
            Replace files of these names whoever wrote them.
        """
        table, figure = self.FILES
        files: dict[str, Writer] = {
            table: csv_writer(self.columns),
            figure: partial(_write, self.figure()),
        }
        return write_files(directory, files, manifest=self.manifest(self.to_dict()), force=force)


def _write(text: str, file: IO[str]) -> None:
    file.write(text)
