"""``aggcal demo``: the paper's story on real data, in ten lines and a report."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from aggcal.cli.console import Console, print_json
from aggcal.cli.parser import parse_as
from aggcal.registry import FUSED
from aggcal.registry.datasets import DATASETS, DOTS, LLMFAO, READING_LEVEL, SIMULATED

if TYPE_CHECKING:
    from aggcal.assessment import Assessment
    from aggcal.assessment.result import Titles
    from aggcal.datasets.tables import Tables

Values: TypeAlias = dict[str, float]
"""Scores by item."""


@dataclass(frozen=True)
class Story:
    """The words for a dataset, and which of its numbers can be compared with the truth."""

    introduction: str
    """Who judged what, what the model did, what the truth is: a line or a few."""
    model: str = "the model's scores"
    calibrated: str = "calibrated scores"
    unit: str = ""
    """What model and truth are counted in; without one only their orders can be compared."""
    truths: str = ""
    """What true scores are called."""
    anchors: int = 0
    """How many true scores the last row is given: few, as in practice, and at least five."""
    others: Mapping[str, str] | None = None
    """What the rows of other scores are called."""
    title: str = ""
    question: str = ""
    """What annotators were asked."""


STORIES = {
    DOTS.name: Story(
        "300 people ranked pictures of dots and guessed how many there are: 8,700 judgments of 30 "
        "pictures.\n"
        "OpenCV counted the dots after 30% of each picture was painted white. In truth there are "
        "50 to 79.",
        model="OpenCV's counts",
        calibrated="calibrated counts",
        unit="dots",
        truths="true counts",
        anchors=6,
        others={"estimates": "people's own estimates"},
        title="Counting dots",
        question="Which picture has more dots?",
    ),
    READING_LEVEL.name: Story(
        "624 crowd workers said which of two texts is harder: 12,726 judgments of 490 texts.\n"
        "The model is the paper's: the true grade, 1 to 12, with noise, moved to mean 0.",
        unit="grades",
        truths="true grades",
        anchors=20,
        title="Reading level of 490 texts",
        question="Which text is harder to read?",
    ),
    LLMFAO.name: Story(
        "124 people compared the answers of 59 language models: 8,931 judgments.\n"
        "GPT-3.5 judged the same pairs: its score of a model is the percentage that it wins.\n"
        "LMArena's scores of 18 models serve as the truth. Their unit differs, so only orders are "
        "compared.",
        model="GPT-3.5's scores",
        others={"gpt-4": "GPT-4's scores, to compare"},
        title="Answers of 59 language models",
        question="Which answer is better?",
    ),
    SIMULATED: Story(
        "40 simulated annotators, two of them reversed, gave 3,000 judgments of 60 items.\n"
        "The model's scores are the truth with noise of 8 points.",
        unit="points",
        truths="true scores",
        anchors=12,
        title="A simulated study",
    ),
}


_CONSENSUS = "the comparisons (consensus)"


def demo(options: argparse.Namespace) -> int:
    """Run both stages on the dataset, name the report, and say how far off everybody is."""
    from aggcal.assessment import assess
    from aggcal.assessment.result import checked_titles
    from aggcal.cli.results import refuse_output, with_command
    from aggcal.io import read_judgments, read_scores
    from aggcal.io.items import read_texts

    console, folder = Console(quiet=options.quiet), Path(options.output)
    refuse_output(options, [])
    story = STORIES[options.data]
    titles = checked_titles(options.title or story.title, options.question or story.question)
    tables = _tables(options.data, options.seed, console)
    data = folder / "data" / options.data
    written = _write(data, options, tables, story)
    typed = _typed(data, folder, titles)
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
    known = read_scores(data / "truth.csv", column="truth")
    truth = _paired(known.item_ids, known.values)
    rows = _rows(story, result, tables, data)
    compared = _compared(rows, truth, story)
    if options.json:
        print_json({**result.to_dict(), "compared_with_truth": compared}, written)
    else:
        print((folder / "report.html").resolve(), flush=True)
    console.say(*story.introduction.split("\n"), *_lines(story, rows, truth, compared))
    if story.anchors:
        console.say(
            "Comparisons cannot reveal the model's bias, so calibration keeps it; a few "
            f"{story.truths} remove it."
        )
    called = "aggcal" if sys.argv[0].endswith("__main__.py") else sys.argv[0]
    console.say(f"To run it yourself: {called} {' '.join(map(shlex.quote, typed.words))}")
    return 0


def _typed(data: Path, folder: Path, titles: Titles) -> argparse.Namespace:
    """Return what somebody would type to get the same."""
    texts = data / "texts.csv"
    named = [word for name, text in titles.items() for word in (f"--{name}", str(text))]
    named += ["--texts", str(texts)] if texts.is_file() else []
    files = [str(data / "judgments.csv"), str(data / "scores.csv")]
    return parse_as("run", [*files, *named, "-o", str(folder)])


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
        if story.anchors:  # items whose truth is given away, drawn at random
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


def _rows(story: Story, result: Assessment, tables: Tables, data: Path) -> dict[str, Values]:
    """Return the scores that each source gives to the items."""
    from aggcal.calibration import calibrate
    from aggcal.io import read_scores

    calibration, consensus = result.calibration, result.consensus
    if calibration is None or consensus is None:
        return {}
    others = (story.others or {}).items()
    rows = {label: _paired(*tables.others[name].values()) for name, label in others}
    rows[_CONSENSUS] = _paired(consensus.item_ids, consensus.scores)
    rows[story.model] = _paired(calibration.item_ids, calibration.model)
    rows[story.calibrated] = _paired(calibration.item_ids, calibration.calibrated)
    if story.anchors:
        anchors = read_scores(data / "anchors.csv", column="truth")
        scores = read_scores(data / "scores.csv")
        made = calibrate(scores, consensus, method=FUSED.make(), anchors=anchors, warn=False)
        mended = _paired(made.item_ids, made.calibrated)
        left = {item: mended[item] for item in mended if item not in set(anchors.item_ids)}
        rows[f"with {story.anchors} {story.truths}: the other {len(left)}"] = left
    return rows


def _compared(
    rows: Mapping[str, Values], truth: Values, story: Story
) -> dict[str, dict[str, float]]:
    """Return how far each source is from the truth; errors only in the unit of the truth."""
    import numpy as np

    from aggcal.metrics import compare

    found = {}
    for label, values in rows.items():
        items = [item for item in truth if item in values]
        scores, target = (np.array([each[item] for item in items]) for each in (values, truth))
        metrics, centred = compare(scores, target), compare(scores, target, centred=True)
        found[label] = {"tau_a": metrics["tau_a"]}
        if story.unit and label != _CONSENSUS:
            found[label]["rms_error"] = metrics["rmse"]
            found[label]["rms_error_without_bias"] = centred["rmse"]
    return found


def _lines(
    story: Story,
    rows: Mapping[str, Values],
    truth: Values,
    compared: Mapping[str, Mapping[str, float]],
) -> Iterator[str]:
    """Say how far each source is from the truth, how good its order is, and one of its numbers."""
    # One item to look at: the middle one of those whose truth nobody was given.
    *_, last = rows.values()
    shown = sorted((item for item in last if item in truth), key=truth.__getitem__)
    example = shown[len(shown) // 2]
    head = f"{'RMS error':>14}{'without bias':>14}" if story.unit else ""
    last_head = f"e.g. {truth[example]:g} {story.unit}" if story.unit else ""
    yield f"{'':36}{head}{'order (tau-a)':>15}{last_head:>16}".rstrip()
    for label, found in compared.items():
        errors = [found[name] for name in found if name != "tau_a"]
        cells = [f"{error:.1f} {story.unit}" for error in errors] or ["-", "-"]
        numbers = "".join(f"{cell:>14}" for cell in cells) if story.unit else ""
        one = f"{rows[label][example]:.1f}" if errors else ""
        yield f"{label:36}{numbers}{found['tau_a']:15.2f}{one:>16}".rstrip()


def _paired(ids: Iterable[Any], values: Iterable[Any], *_: object) -> Values:
    """Return values by their ids, the first two columns of a table."""
    return dict(zip(map(str, ids), map(float, values), strict=True))
