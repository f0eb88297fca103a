"""``aggcal demo``: the paper's story on real data, in ten lines and a report."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from aggcal._core.records import dataclass
from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_force, add_json, add_seed, print_json
from aggcal.cli.options.report import add_titles
from aggcal.registry import FUSED
from aggcal.registry.datasets import DATASETS, DEMOS, DOTS, LLMFAO, READING_LEVEL, SIMULATED

if TYPE_CHECKING:
    from pathlib import Path

    from aggcal._core.arrays import FloatArray
    from aggcal._core.tables import Columns
    from aggcal.aggregation.consensus import Consensus
    from aggcal.assessment import Assessment
    from aggcal.assessment.titles import Titles
    from aggcal.datasets.tables import Tables

DEMO_STUDY: dict[str, Any] = {
    "items": 60,
    "annotators": 40,
    "judgments": 3000,
    "reversed_share": 0.05,
    "model_sd": 8.0,
}
"""The study that is simulated."""


@dataclass(frozen=True)
class Story:
    """The words for a dataset, and which of its numbers can be compared with the truth."""

    introduction: str
    """Who judged what, what the model did, what the truth is: a line or a few."""
    model: str
    calibrated: str
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
        model="the model's scores",
        calibrated="calibrated scores",
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
        calibrated="calibrated scores",
        others={"gpt-4": "GPT-4's scores, to compare"},
        title="Answers of 59 language models",
        question="Which answer is better?",
    ),
    SIMULATED: Story(
        "40 simulated annotators, two of them reversed, gave 3,000 judgments of "
        "60 items.\n"
        "The model's scores are the truth with noise of 8 points.",
        model="the model's scores",
        calibrated="calibrated scores",
        unit="points",
        truths="true scores",
        anchors=12,
        title="A simulated study",
    ),
}


_CONSENSUS = "the comparisons (consensus)"


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=demo)
    command.describe(
        "Writes the results and the report into DIR, and the input tables into DIR/data. "
        f"{', '.join(DEMOS[:-1])} are real data; see 'aggcal datasets'."
    )
    command.add_argument("--data", choices=DEMOS, default=DOTS.name, help="dataset to use")
    command.add_argument(
        "-o", "--output", metavar="DIR", default="demo", help="folder for the results"
    )
    add_force(command, "files in DIR that aggcal did not write, or that have changed since")
    add_titles(command)
    add_seed(command)
    add_json(command, "the summary, the comparison with the truth and the files written")


def demo(options: argparse.Namespace) -> int:
    """Run both stages on the dataset, name the report, and say how far off everybody is."""
    from pathlib import Path

    from aggcal._core.machine import check_seed
    from aggcal.assessment import assess
    from aggcal.assessment.titles import checked_titles
    from aggcal.cli.results import refuse_output, with_command
    from aggcal.io import read_judgments, read_scores
    from aggcal.io.texts import read_texts
    from aggcal.io.writing.writable import refuse_unwritable

    console = Console(quiet=options.quiet)
    folder = Path(options.output)
    check_seed(options.seed)
    refuse_unwritable(folder)
    refuse_output(options, [])
    story = STORIES[options.data]
    titles = checked_titles(options.title or story.title, options.question or story.question)
    tables = _tables(options.data, options.seed, console)
    data = folder / "data" / options.data
    written = _write(data, options, tables, _anchors(story, tables, options.seed))
    typed = _typed(data, folder, titles)
    result = assess(
        read_judgments(typed.judgments),
        read_scores(typed.scores),
        **titles,
        warn=False,
        on_iteration=console.on_iteration,
    )
    result = with_command(result.with_advice(on_step=console.on_step), typed)
    shown = None if typed.texts is None else read_texts(typed.texts)
    written += result.save(folder, texts=shown, force=options.force)
    console.done()
    rows = _rows(story, result, tables, data)
    if options.json:
        compared = _compared(rows, tables, story)
        print_json({**result.to_dict(), "compared_with_truth": compared}, written)
    else:
        print((folder / "report.html").resolve(), flush=True)
    _tell(console, story, _table(story, rows, tables), typed.words)
    return 0


def _tell(console: Console, story: Story, compared: Iterable[str], words: list[str]) -> None:
    """Say how far off everybody is, and how to run it again."""
    console.say(*story.introduction.split("\n"), *compared)
    if story.anchors:
        console.say(
            "Comparisons cannot reveal the model's bias, so calibration keeps it; a few "
            f"{story.truths} remove it."
        )
    called = "aggcal" if sys.argv[0].endswith("__main__.py") else sys.argv[0]
    console.say(f"To run it yourself: {called} {' '.join(map(shlex.quote, words))}")


def _typed(data: Path, folder: Path, titles: Titles) -> argparse.Namespace:
    """Return what somebody would type to get the same."""
    files = [str(data / "judgments.csv"), str(data / "scores.csv")]
    named = (word for name, text in titles.items() for word in (f"--{name}", str(text)))
    words = ["run", *files, *named, "-o", str(folder)]
    texts = data / "texts.csv"
    if texts.is_file():
        words += ["--texts", str(texts)]
    return argparse.Namespace(
        judgments=files[0],
        scores=files[1],
        texts=texts if texts.is_file() else None,
        words=words,
    )


def _tables(name: str, seed: int, console: Console) -> Tables:
    """Return the tables of a dataset, or of the simulated study."""
    from aggcal.datasets import folder_of
    from aggcal.datasets.tables import Tables, read_tables
    from aggcal.simulation import simulate

    if name != SIMULATED:
        info = DATASETS[name]
        return read_tables(info, folder_of(info, info.needs, console.on_step))
    made = simulate(**DEMO_STUDY, seed=seed)
    return Tables(made.judgments, made.scores, made.truths)


def _anchors(story: Story, tables: Tables, seed: int) -> Columns:
    """Draw the items whose truth is given away, at random."""
    import numpy as np

    if tables.truth is None:
        return {}
    n = len(tables.truth["item"])
    drawn = np.sort(np.random.default_rng(seed).choice(n, story.anchors, replace=False))
    return {name: values[drawn] for name, values in tables.truth.items()}


def _write(
    folder: Path, options: argparse.Namespace, tables: Tables, anchors: Columns
) -> list[Path]:
    """Write the tables, unless there are others of these names."""
    import numpy as np

    from aggcal._version import __version__
    from aggcal.io.writing.manifest import Manifest
    from aggcal.io.writing.write import csv_writer, write_files

    about: dict[str, Any] = {"version": __version__, "data": options.data, "seed": options.seed}
    if options.data in DATASETS:
        info = DATASETS[options.data]
        about |= {"source": info.source, "licence": info.licence}
    columns: dict[str, Columns | None] = {
        "judgments.csv": tables.judgments,
        "scores.csv": tables.scores,
        "truth.csv": tables.truth,
        "anchors.csv": anchors if STORIES[options.data].anchors else None,
    }
    if options.data == DOTS.name and tables.truth is not None:
        dots = [f"{truth:g} dots" for truth in tables.truth["truth"]]
        texts = {"item": tables.truth["item"], "text": np.array(dots, dtype=object)}
        columns["texts.csv"] = texts
    return write_files(
        folder,
        {name: csv_writer(table) for name, table in columns.items() if table is not None},
        manifest=Manifest("dataset.json", about, "demo"),
        force=options.force,
    )


def _rows(
    story: Story, result: Assessment, tables: Tables, data: Path
) -> dict[str, dict[str, float]]:
    """Return the scores that each source gives to the items."""
    calibration, consensus = result.calibration, result.consensus
    if calibration is None or consensus is None or tables.truth is None:
        return {}
    ids = calibration.item_ids
    rows = {
        label: _values(tables.others[name], "score") for name, label in (story.others or {}).items()
    }
    rows[_CONSENSUS] = _by_id(consensus.item_ids, consensus.scores)
    rows[story.model] = _by_id(ids, calibration.model)
    rows[story.calibrated] = _by_id(ids, calibration.calibrated)
    if story.anchors:
        others = _mended(consensus, data)
        rows[f"with {story.anchors} {story.truths}: the other {len(others)}"] = others
    return rows


def _compared(
    rows: Mapping[str, Mapping[str, float]], tables: Tables, story: Story
) -> dict[str, dict[str, float]]:
    """Return how far each source is from the truth; errors only in the unit of the truth."""
    if tables.truth is None:
        return {}
    truth = _values(tables.truth, "truth")
    found = {}
    for label, values in rows.items():
        found[label] = {"tau_a": _order(values, truth)}
        if story.unit and label != _CONSENSUS:
            rms, unbiased = _errors(values, truth)
            found[label] |= {"rms_error": rms, "rms_error_without_bias": unbiased}
    return found


def _table(story: Story, rows: Mapping[str, Mapping[str, float]], tables: Tables) -> Iterator[str]:
    """Say how far each source is from the truth, how good its order is, and one of its numbers."""
    if tables.truth is None or not rows:
        return
    truth = _values(tables.truth, "truth")
    # One item to look at: the middle one of those whose truth nobody was given.
    shown = sorted(
        (item for item in list(rows.values())[-1] if item in truth), key=truth.__getitem__
    )
    example = shown[len(shown) // 2] if story.unit else None
    head = f"e.g. {truth[example]:g} {story.unit}" if example is not None else ""
    errors = f"{'RMS error':>14}{'without bias':>14}" if example is not None else ""
    yield f"{'':36}{errors}{'order (tau-a)':>15}{head:>16}".rstrip()
    for label, values in rows.items():
        numbers = errors and _shown_errors(values, truth, "" if label == _CONSENSUS else story.unit)
        one = "" if label == _CONSENSUS or example is None else f"{values[example]:.1f}"
        yield f"{label:36}{numbers}{_order(values, truth):15.2f}{one:>16}".rstrip()


def _mended(consensus: Consensus, data: Path) -> dict[str, float]:
    """Calibrate with some true scores, and return those of the other items."""
    from aggcal.calibration import calibrate
    from aggcal.io import read_scores

    anchors = read_scores(data / "anchors.csv", column="truth")
    scores = read_scores(data / "scores.csv")
    made = calibrate(scores, consensus, method=FUSED.make(), anchors=anchors, warn=False)
    known = set(anchors.item_ids)
    return {i: x for i, x in _by_id(made.item_ids, made.calibrated).items() if i not in known}


def _values(columns: Columns, name: str) -> dict[str, float]:
    return _by_id(columns["item"], columns[name])


def _by_id(ids: Iterable[Any], values: Iterable[Any]) -> dict[str, float]:
    return dict(zip(map(str, ids), map(float, values), strict=True))


def _both(values: Mapping[str, float], truth: Mapping[str, float]) -> tuple[FloatArray, FloatArray]:
    import numpy as np

    items = [item for item in truth if item in values]
    return np.array([values[item] for item in items]), np.array([truth[item] for item in items])


def _order(values: Mapping[str, float], truth: Mapping[str, float]) -> float:
    from aggcal.metrics import compare

    return compare(*_both(values, truth))["tau_a"]


def _errors(values: Mapping[str, float], truth: Mapping[str, float]) -> tuple[float, float]:
    """Return the root mean square error, and the same without the mean error."""
    import numpy as np

    found, target = _both(values, truth)
    error = found - target
    return float(np.sqrt(np.mean(error**2))), float(np.std(error))


def _shown_errors(values: Mapping[str, float], truth: Mapping[str, float], unit: str) -> str:
    if not unit:
        return f"{'-':>14}{'-':>14}"
    off, aside = _errors(values, truth)
    return f"{f'{off:.1f} {unit}':>14}{f'{aside:.1f} {unit}':>14}"
