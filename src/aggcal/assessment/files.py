"""The files of an assessment: which there are, and what writes each."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from aggcal.aggregation.consensus import camp_columns
from aggcal.assessment.file_names import RESULT_FILES
from aggcal.io.cells import csv_writer
from aggcal.io.items import read_texts
from aggcal.io.saving import Manifest, Writer, write_files
from aggcal.pages.document import Document
from aggcal.report.report import RENDERERS, report
from aggcal.report.run import Run

if TYPE_CHECKING:
    from aggcal.assessment.result import Assessment


def run_of(result: Assessment, texts: Any = None) -> Run:
    """Return what the report of an assessment is made of: see `Assessment.to_run`."""
    columns = result.annotator_columns()
    summary, items = result.to_dict(), result.item_columns()
    cells = result.category_columns()
    if texts is None:
        return Run(summary, items, columns, comparisons=result.comparisons, categories=cells)
    read = read_texts(texts)
    by_item, judgments = read.by_item, result.judgments
    if judgments is not None and judgments.spelling is not None:
        by_item = judgments.spelling.texts(by_item)
    if by_item or not read.pictures:
        summary |= {"texts": Path(read.source).name}
    return Run(summary, items, columns, by_item, result.comparisons, read.pictures, cells)


def save(
    result: Assessment, run: Run, directory: str | Path, *, force: bool, spreadsheet_safe: bool
) -> list[Path]:
    """Write the files of an assessment: see `Assessment.save`."""
    table = partial(csv_writer, spreadsheet_safe=spreadsheet_safe)
    files: dict[str, Writer] = {"items.csv": table(run.items)}
    if result.consensus is not None:
        files["annotators.csv"] = table(run.annotators)
        if run.categories:
            files["categories.csv"] = table(run.categories)
        if camps := camp_columns(result.consensus):
            files["camps.csv"] = table(camps)
        if run.comparisons:
            kept = json.dumps(run.comparisons, ensure_ascii=False, separators=(",", ":"))
            files["comparisons.json"] = partial(_write, f"{kept}\n")
        document = report(run)
        for ending in ("html", "md"):
            files[f"report.{ending}"] = partial(_render, RENDERERS[ending], document)
    if result.calibration is not None and result.calibration.unjudged_ids:
        predicted = result.calibration.predict_unjudged().item_columns()
        files["predictions.csv"] = table(predicted)
    manifest = Manifest("summary.json", run.summary)
    outdated = [name for name in RESULT_FILES[:-1] if name not in files]
    return write_files(directory, files, manifest=manifest, outdated=outdated, force=force)


def _render(renderer: Callable[[Document], str], document: Document, file: IO[str]) -> None:
    file.write(renderer(document))


def _write(text: str, file: IO[str]) -> None:
    file.write(text)
