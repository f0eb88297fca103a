"""``aggcal demo``: real data from tables to a report, and how far off the scores are."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal.cli.console import Console, print_json
from aggcal.cli.parser import parse_as
from aggcal.registry.datasets import DATASETS, DOTS, LLMFAO, READING_LEVEL, SIMULATED

if TYPE_CHECKING:
    from aggcal._core.arrays import FloatArray
    from aggcal.assessment import Assessment
    from aggcal.datasets.tables import Tables


@dataclass(frozen=True)
class Story:
    """The words for a dataset."""

    title: str
    introduction: str
    """Who judged what, what the model did, what the truth is: a line or a few."""
    unit: str = ""
    """What model and truth are counted in; without one only their orders can be compared."""
    question: str = ""
    """What annotators were asked."""
    anchors: int = 0
    """How many true scores are written into a table of their own, drawn at random."""


STORIES = {
    LLMFAO.name: Story(
        "Answers of 59 language models",
        "124 people compared the answers of 59 language models: 8,931 judgments.\n"
        "GPT-3.5 judged the same pairs: its score of a model is the percentage that it wins.\n"
        "LMArena's scores of 18 models serve as the truth. Their unit differs, so only orders are "
        "compared.",
        question="Which answer is better?",
    ),
    DOTS.name: Story(
        "Counting dots",
        "300 people ranked pictures of dots: 8,700 judgments of 30 pictures.\n"
        "OpenCV counted the dots after 30% of each picture was painted white. In truth there are "
        "50 to 79.\n"
        "Comparisons cannot reveal the model's bias, so calibration keeps it; a few true counts "
        "(--anchors) remove it.",
        unit="dots",
        question="Which picture has more dots?",
        anchors=6,
    ),
    READING_LEVEL.name: Story(
        "Reading level of 490 texts",
        "624 crowd workers said which of two texts is harder: 12,726 judgments of 490 texts.\n"
        "The model is the paper's: the true grade, 1 to 12, with noise, moved to mean 0.",
        unit="grades",
        question="Which text is harder to read?",
        anchors=20,
    ),
    SIMULATED: Story(
        "A simulated study",
        "40 simulated annotators, two of them reversed, gave 3,000 judgments of 60 items.\n"
        "The model's scores are the truth with noise of 8 points.",
        unit="points",
        anchors=12,
    ),
}


def demo(options: argparse.Namespace) -> int:
    """Run both stages on the dataset, and say how far off the model was and is."""
    from aggcal.assessment import assess
    from aggcal.assessment.result import checked_titles
    from aggcal.cli.results import refuse_output, with_command
    from aggcal.io import read_judgments, read_scores
    from aggcal.io.items import read_texts

    console, folder = Console(quiet=options.quiet), Path(options.output)
    refuse_output(options, [])
    story = STORIES[options.data]
    titles = checked_titles(options.title or story.title, options.question or story.question)
    data = folder / "data" / options.data
    written = _write(data, options, _tables(options.data, options.seed, console), story)
    words = [word for name, text in titles.items() for word in (f"--{name}", str(text))]
    words += ["--texts", str(data / "texts.csv")] if (data / "texts.csv").is_file() else []
    files = [str(data / "judgments.csv"), str(data / "scores.csv")]
    typed = parse_as("run", [*files, *words, "-o", str(folder)])
    result = assess(
        read_judgments(typed.judgments),
        read_scores(typed.scores),
        **titles,
        warn=False,
        on_iteration=console.on_iteration,
    )
    result = with_command(result.with_advice(on_step=console.on_step), typed)
    texts = None if typed.texts is None else read_texts(typed.texts)
    written += result.save(folder, texts=texts, force=options.force)
    console.done()
    truth = read_scores(data / "truth.csv", column="truth")
    compared = _compared(result, dict(zip(truth.item_ids.tolist(), truth.values, strict=True)))
    if options.json:
        print_json({**result.to_dict(), "compared_with_truth": compared}, written)
    else:
        print((folder / "report.html").resolve(), flush=True)
    console.say(*story.introduction.split("\n"), "", *result.answer().split("\n"), "")
    console.say(*_lines(compared, story.unit))
    called = "aggcal" if sys.argv[0].endswith("__main__.py") else sys.argv[0]
    console.say(f"To run it yourself: {called} {' '.join(map(shlex.quote, typed.words))}")
    return 0


def _tables(name: str, seed: int, console: Console) -> Tables:
    """Return the tables of a dataset, or of the simulated study."""
    from aggcal.datasets import folder_of
    from aggcal.datasets.tables import Tables, read_tables
    from aggcal.simulation import simulate

    if name != SIMULATED:
        return read_tables(DATASETS[name], folder_of(name, console.on_step))
    made = simulate(
        items=60, annotators=40, judgments=3000, reversed_share=0.05, model_sd=8.0, seed=seed
    )
    return Tables(made.judgments, made.scores, made.truths)


def _write(folder: Path, options: argparse.Namespace, tables: Tables, story: Story) -> list[Path]:
    """Write the tables, unless there are others of these names."""
    import numpy as np

    from aggcal._version import __version__
    from aggcal.io.cells import csv_writer
    from aggcal.io.saving import Manifest, write_files

    about: dict[str, Any] = {"version": __version__, "data": options.data, "seed": options.seed}
    if options.data in DATASETS:
        info = DATASETS[options.data]
        about |= {"source": info.source, "licence": info.licence}
    columns = {"judgments.csv": tables.judgments, "scores.csv": tables.scores}
    if tables.truth is not None:
        columns["truth.csv"] = tables.truth
        if story.anchors:
            draw = np.random.default_rng(options.seed).choice
            drawn = np.sort(draw(len(tables.truth["item"]), story.anchors, replace=False))
            columns["anchors.csv"] = {name: each[drawn] for name, each in tables.truth.items()}
        if options.data == DOTS.name:
            dots = [f"{truth:g} dots" for truth in tables.truth["truth"]]
            texts = {"item": tables.truth["item"], "text": np.array(dots, dtype=object)}
            columns["texts.csv"] = texts
    return write_files(
        folder,
        {name: csv_writer(table) for name, table in columns.items() if table is not None},
        manifest=Manifest("dataset.json", about, "demo"),
        force=options.force,
    )


def _compared(result: Assessment, truth: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return how far the model's scores and the calibrated ones are from the truth."""
    import numpy as np

    from aggcal.metrics import compare

    done = result.calibration
    assert done is not None  # noqa: S101  # there are scores
    known = np.array([item in truth for item in done.item_ids.tolist()], dtype=bool)
    target = np.array([truth[item] for item in done.item_ids[known].tolist()])

    def measured(values: FloatArray) -> dict[str, float]:
        whole, bare = compare(values, target), compare(values, target, centred=True)
        return {
            "tau_a": whole["tau_a"],
            "rms_error": whole["rmse"],
            "rms_error_without_bias": bare["rmse"],
        }

    return {
        "model": measured(done.model[known]),
        "calibrated": measured(done.calibrated[known]),
    }


def _lines(compared: dict[str, dict[str, float]], unit: str) -> Iterator[str]:
    """Say how far the scores are from the truth, before and after calibration."""
    before, after = compared.values()
    yield (
        f"Compared with the truth: order (tau-a) {before['tau_a']:.2f} before calibration, "
        f"{after['tau_a']:.2f} after."
    )
    if unit:
        one, other = before["rms_error_without_bias"], after["rms_error_without_bias"]
        yield (
            f"RMS error {before['rms_error']:.1f} {unit} before, {after['rms_error']:.1f} after; "
            f"without the mean error {one:.1f} and {other:.1f}."
        )
