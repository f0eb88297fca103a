"""AlpacaEval's annotations: soft preferences between two generators."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.io.formats._base import (
    Choices,
    Notes,
    TableFormat,
    annotator_or_nobody,
    number_of,
)
from aggcal.io.formats._labels import Labels
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._synonyms import ANNOTATOR
from aggcal.io.tables.source import Source

_NEEDS = ("generator_1", "generator_2", "preference")


def _is_mine(sample: Sample) -> bool:
    # With 0 and 1 alone, 0 may as well stand for the second output: a table says what it means.
    numbers = {*map(number_of, sample.values("preference"))} - {None}
    return sample.has(*_NEEDS) and (not numbers or not numbers <= {0.0, 1.0})


def _columns(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:
    number = "try_cast(preference AS DOUBLE)"
    # 1 is the first output, 2 the second, what lies between a soft preference; null is a judge
    # whose answer could not be read, and 0 a draw of early versions.
    empty = "preference IS NULL OR lower(preference) IN ('nan', 'none', 'null')"
    label = Labels.of(source, "preference", choices).sql("preference")
    return {
        "annotator": annotator_or_nobody(source, choices, notes, *ANNOTATOR),
        "left": "generator_1",
        "right": "generator_2",
        "outcome": f"CASE WHEN {empty} THEN 'failed' WHEN {number} = 0 THEN 'tie' "
        f"WHEN {number} BETWEEN 1 AND 2 THEN (2 - {number})::VARCHAR "
        f"ELSE coalesce({label}, 'preference ' || preference) END",
        "reason": f"CASE WHEN {empty} THEN 'no preference' END",
    }


def _sided(sample: Sample) -> bool:  # noqa: ARG001
    return False  # AlpacaEval shows the two outputs in random order, and writes them in one


FORMAT = TableFormat(_is_mine, (*_NEEDS, *ANNOTATOR), _columns, sided=_sided)
