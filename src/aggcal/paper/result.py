"""What an experiment hands over: cells, consensus scores, figures, and facts for the page."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.records import dataclass
from aggcal._core.tables import Columns
from aggcal.paper.cells import Cell


@dataclass
class Result:
    """The outcome of one experiment; experiments fill it as they go."""

    cells: list[Cell] = field(default_factory=list)
    consensus: dict[str, tuple[TextArray, FloatArray]] = field(default_factory=dict)
    """For each ``<experiment>-<method>-<kind>``, items and scores."""
    figures: dict[str, str] = field(default_factory=dict)
    """For each file name without its ending, an SVG."""
    pictures: dict[str, bytes] = field(default_factory=dict)
    """For each file name without its ending, a PNG."""
    tables: dict[str, Columns] = field(default_factory=dict)
    """For each file name without its ending, a table of our own."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Numbers that the page's text quotes."""
