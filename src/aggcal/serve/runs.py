"""The runs in a folder: where they are, what state they are in, and what a line says of each."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

from aggcal._core.records import dataclass
from aggcal.errors import AggcalError, FileError, printable
from aggcal.io.writing.journal import is_interrupted
from aggcal.report.loading import fitting, load_report
from aggcal.report.report import Report

_FILES = ("summary.json", "items.csv", "annotators.csv", "categories.csv", "comparisons.json")
"""What a report is rendered from; whoever changes one of them changes the state of the run."""
_KEPT = 8
"""Reports that are kept in memory: more make going back faster, and large ones take much room."""
_CHIPS = {"sound": "good", "care": "care", "not-ready": "bad"}


@dataclass(frozen=True)
class Run:
    """A folder of results: its name within the folder that is served (empty for that itself)."""

    name: str
    path: Path

    @property
    def key(self) -> str:
        """The name as it stands in addresses, whatever bytes it holds."""
        return quote_from_bytes(os.fsencode(self.name), safe="")

    @property
    def label(self) -> str:
        """The name for people."""
        return printable(self.name or self.path.name or str(self.path))

    @property
    def state(self) -> str:
        """A digest that changes when the results do; no file is read for it.

        Examples
        --------
        >>> Run("", Path("nowhere")).state == Run("", Path("elsewhere")).state
        True
        """
        parts = [str(is_interrupted(self.path))]
        for name in _FILES:
            try:
                status = (self.path / name).stat()
            except OSError:
                parts.append("-")
            else:
                parts.append(f"{status.st_mtime_ns}.{status.st_size}.{status.st_ino}")
        return sha256(" ".join(parts).encode()).hexdigest()[:32]

    @property
    def changed_at(self) -> float:
        """When it was written last, in seconds; 0 where that is not known."""
        try:
            return (self.path / "summary.json").stat().st_mtime
        except OSError:
            return 0.0


class Library:
    """A folder of results, or of folders of results.

    Parameters
    ----------
    root
        The folder that is served.
    force
        Read files that are not those that their summary lists, too.
    """

    def __init__(self, root: Path | str, *, force: bool = False) -> None:
        self.root = Path(root)
        if not self.root.is_dir():
            raise FileError(f"{root}: no such folder; give one that 'aggcal run' wrote.")
        self._force = force
        self._reports: OrderedDict[tuple[str, str], Report] = OrderedDict()
        self._lines: dict[str, tuple[str, dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def runs(self) -> dict[str, Run]:
        """Return the runs that are there now, by the names they have in addresses; newest first.

        Only these names lead anywhere: an address can reach no other file.
        """
        found = [Run("", self.root)] if _is_run(self.root) else []
        try:
            with os.scandir(self.root) as entries:
                names = sorted(each.name for each in entries if not each.name.startswith("."))
        except OSError as error:
            raise FileError(f"{self.root}: cannot be read ({error.strerror}).") from None
        found += [Run(name, self.root / name) for name in names if _is_run(self.root / name)]
        found.sort(key=lambda run: -run.changed_at)
        return {run.key: run for run in found}

    @property
    def state(self) -> str:
        """A digest that changes when any of the runs does."""
        every = sorted(f"{key} {run.state}" for key, run in self.runs().items())
        return sha256("\n".join(every).encode()).hexdigest()[:32]

    def report(self, run: Run) -> Report:
        """Return the report of a run as it is now."""
        wanted = run.key, run.state
        with self._lock:
            if wanted in self._reports:
                self._reports.move_to_end(wanted)
                return self._reports[wanted]
        found = load_report(run.path, force=self._force, repair=False)
        with self._lock:
            self._reports[wanted] = found
            while len(self._reports) > _KEPT:
                self._reports.popitem(last=False)
        return found

    def lines(self) -> list[dict[str, Any]]:
        """Return what the list says of each run; of one that cannot be read, why."""
        found = []
        for key, run in self.runs().items():
            state = run.state
            kept = self._lines.get(key)
            if kept is None or kept[0] != state:
                kept = self._lines[key] = state, self._line(run)
            found.append(kept[1])
        return found

    def _line(self, run: Run) -> dict[str, Any]:
        line: dict[str, Any] = {"key": run.key, "name": run.label, "when": _when(run.changed_at)}
        try:
            report = self.report(run)
            with fitting(run.label):
                summary = report.summary
                line |= {
                    "title": str(summary.get("title") or run.label),
                    "headline": report.headline,
                    "trust": (_CHIPS[report.trust.state], report.trust.words),
                    "counts": [int(summary[f"n_{what}"]) for what in _COUNTED],
                }
        except AggcalError as error:
            line["error"] = printable(str(error))
        return line


_COUNTED = ("items", "annotators", "judgments")


def _is_run(folder: Path) -> bool:
    """Whether a folder holds results, whole or in part."""
    return any(os.path.isfile(folder / name) for name in ("summary.json", "items.csv"))  # noqa: PTH113


def _when(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}" if seconds else ""
