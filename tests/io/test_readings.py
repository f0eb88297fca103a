"""Tables and exports as people have them, each with what a person would read in it.

The examples are in ``readings.txt``. Of each: its name after ``##``, options after ``??``, what
stands in the file, whose lines end with ``⏎``, and after ``--`` the format and the judgments, or
after ``!!`` what the refusal says. A judgment is "who: left > right"; ``>>`` is a step more, ``=``
a tie, a number a strength. A line with ``..`` is a part of a note.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pytest

import aggcal
from aggcal.errors import AggcalError
from aggcal.io.formats import FORMATS

GENERAL = ("table", "ratings", "rankings")
"""Formats whose columns may be called otherwise, unless they are named as a format."""


class Example(NamedTuple):
    """What stands in a file, how it is read, and what is expected."""

    content: str
    options: dict[str, Any]
    form: str
    expected: list[str]
    notes: list[str]
    refusal: str | None


def examples() -> dict[str, Example]:
    every: dict[str, Example] = {}
    text = (Path(__file__).parent / "readings.txt").read_text(encoding="utf-8")
    for block in re.split(r"(?m)^## ", text)[1:]:
        name, *lines = block.splitlines()
        options = ast.literal_eval(lines.pop(0)[3:]) if lines[0].startswith("??") else {}
        notes = [line[3:] for line in lines if line.startswith("..")]
        content, said = lines[0].replace(" ⏎ ", "\n") + "\n", lines[1]
        form, *expected = said[3:].split("; ") if said.startswith("--") else [""]
        refusal = said[3:] if said.startswith("!!") else None
        every[name] = Example(content, options, form, expected, notes, refusal)
    return every


EXAMPLES = examples()
ONE_OF_EACH = list({
    one.form: name for name, one in reversed(EXAMPLES.items()) if one.form and not one.options
}.values())  # fmt: skip
"""An example of each format: the first."""


def rows(judgments: aggcal.Judgments) -> list[str]:
    """Write every judgment on a line, as often as it was read."""
    who, ids = judgments.annotator_ids, judgments.item_ids
    grades = judgments.grade
    found = []
    for k, (u, i, j) in enumerate(
        zip(judgments.annotator, judgments.left, judgments.right, strict=True)
    ):
        strength = float(judgments.outcome[k])
        signs = {0.0: "<", 0.5: "=", 1.0: ">"}
        times = 1 if grades is None else max(abs(int(grades[k])), 1)
        sign = signs.get(strength, f"{strength:g}") * times
        found += [f"{who[u]}: {ids[i]} {sign} {ids[j]}"] * int(judgments.count[k])
    found += [f"({n} {why})" for why, n in judgments.unfitted.counts.items()]
    return sorted(found)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_table_is_read_as_a_person_reads_it(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    path = tmp_path / "export"
    path.write_text(example.content, encoding="utf-8")
    if example.refusal is not None:
        with pytest.raises(AggcalError) as caught:
            aggcal.read_judgments(path, **example.options)
        assert example.refusal in str(caught.value)
        assert str(caught.value).count("\n") == 0
        return
    found = aggcal.read_judgments(path, **example.options)
    assert (found.format, rows(found)) == (example.form, example.expected)
    for note in example.notes:
        assert any(note in each for each in found.notes), found.notes
    if not example.options.keys() & {"format", "columns"} and example.form not in GENERAL:
        assert rows(aggcal.read_judgments(path, format=found.format, **example.options)) == rows(
            found
        )


def test_every_format_has_an_example() -> None:
    read = {example.form for example in EXAMPLES.values()}
    assert set(FORMATS) - read == {"all-our-ideas-non-votes"}


NESTED = [name for name, one in EXAMPLES.items() if one.content.startswith("[{") and one.expected]


@pytest.mark.parametrize("name", NESTED)
def test_records_are_read_alike_from_frames_and_parquet(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    records = json.loads(example.content)
    given: list[Any] = [records, pd.DataFrame(records)]
    try:
        pd.DataFrame(records).to_parquet(tmp_path / "x.parquet")
        given += [tmp_path / "x.parquet", tmp_path, pl.DataFrame(records)]
    except (TypeError, ValueError, NotImplementedError, pl.exceptions.PolarsError):
        pass  # lists of several kinds, or of nothing
    for data in given:
        found = aggcal.read_judgments(data, **example.options)
        assert (found.format, rows(found)) == (example.form, example.expected)
