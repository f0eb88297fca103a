"""What several commands read: judgments, scores, texts, anchors; and the engine that sums them."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from aggcal.cli.commands import COMMANDS
from aggcal.cli.console import Console
from aggcal.cli.options import READING
from aggcal.cli.table import FILES
from aggcal.errors import AggcalWarning, count
from aggcal.registry import GPU, LOCAL

if TYPE_CHECKING:
    from aggcal.data.base import AnyJudgments
    from aggcal.data.features import Features
    from aggcal.data.scores import Scores
    from aggcal.data.spelling import Spelling
    from aggcal.engines import Engine
    from aggcal.io.choices import Choices
    from aggcal.io.items import Texts

_Table = TypeVar("_Table", "Scores", "Features")
IDENTITY = "identity"
"""What may stand in place of a file of features: each item resembles only itself."""


def judgment_files(options: argparse.Namespace) -> list[str]:
    """Return the files of judgments, in the order in which they were given.

    Examples
    --------
    >>> judgment_files(argparse.Namespace(judgments="a.csv", more_judgments=["b.xlsx"]))
    ['a.csv', 'b.xlsx']
    """
    first = options.judgments
    more = getattr(options, "more_judgments", [])
    return [*(first if isinstance(first, list) else [] if first is None else [first]), *more]


def input_files(options: argparse.Namespace) -> list[str]:
    """Return every file that a command reads and must not overwrite.

    Examples
    --------
    >>> from aggcal.cli.parser import parse_as
    >>> input_files(parse_as("check", ["a.csv", "--judgments", "b.csv"]))
    ['a.csv', 'b.csv']
    """
    found: list[Any] = []
    for option in COMMANDS[options.command].options:
        if option.value in FILES and option.key not in ("output", "study"):
            value = getattr(options, option.dest)
            found += value if isinstance(value, list) else [value]
    return [path for path in found if path not in (None, IDENTITY)]


def choices_from(options: argparse.Namespace) -> Choices:
    """Return how files of judgments are to be understood, or refuse it before they are read."""
    from aggcal.io.choices import Choices, categories_of, stated_order, stated_scale
    from aggcal.io.respelling import read_spelling

    how = READING.given(options)
    how |= {
        "spelling": read_spelling(how["aliases"], normalize=how["normalize_ids"]),
        "order": stated_order(how["order"]),
        "by": categories_of(how["by"], how["criterion"]),
        "strength_scale": stated_scale(how["strength_scale"]),
    }
    return Choices(**{each.name: how[each.name] for each in fields(Choices) if each.name in how})


def judgments_from(
    options: argparse.Namespace, console: Console, engine: Engine | None = None
) -> AnyJudgments:
    """Read the judgments, leave out whom to leave out, and say as what they were read."""
    from aggcal.io import read_judgments
    from aggcal.io.choices import stated_order

    files, how = judgment_files(options), READING.given(options)
    several = len(files) > 1
    how |= {"order": stated_order(how["order"]), "on_progress": console.on_reading}
    how["strict"] = getattr(options, "strict", False)
    judgments: AnyJudgments
    if engine is None or several:
        # An engine reads the parts of one table; files of their own are put together here.
        judgments = read_judgments(files if several else files[0], **how)
    else:
        judgments = engine.read(files[0], **how)
    console.done()
    read = f"{len(files)} files" if several else f"{files[0]}: read as {judgments.format}"
    ratings = getattr(judgments, "ratings", None)
    number = count(judgments.n_judgments, "judgment")
    if ratings is not None:
        number = count(len(ratings), "rating")
    size = (
        f"{number} of {count(judgments.n_items, 'item')} by "
        f"{count(judgments.n_annotators, 'annotator')}"
    )
    console.hold(f"{read}: {size}")
    for note in judgments.notes:
        if not note.startswith(size):
            console.say(note if several else f"  {note}")
    if getattr(options, "verbose", False) and len(judgments.unfitted.count):
        console.say(*str(judgments.unfitted).split("\n"))
    if engine is not None and several:
        judgments = engine.distribute(judgments.on_one_machine("reading several files"))
    if getattr(options, "without", []):
        judgments = judgments.without(*options.without)
        console.say(judgments.notes[-1])
    return judgments


def scores_from(options: argparse.Namespace, console: Console) -> Scores | None:
    """Read the model's scores, if there are any, and say what was made of them."""
    from aggcal.io import read_scores

    if getattr(options, "scores", None) is None:
        return None
    scores = read_scores(options.scores, column=options.score_column)
    console.say_notes(options.scores, scores.notes)
    return scores


def features_from(options: argparse.Namespace, console: Console) -> Features | str | None:
    """Read the features of items, if there are any."""
    from aggcal.io import read_features

    if options.features in (None, IDENTITY):
        return cast("str | None", options.features)
    features = read_features(options.features)
    console.say_notes(options.features, features.notes)
    return features


def anchors_from(options: argparse.Namespace, console: Console) -> Scores | None:
    """Read the true scores of some items, if there are any."""
    from aggcal.io.items import read_truth

    if options.anchors is None:
        return None
    anchors, blank = read_truth(options.anchors, flag=None)
    console.say_notes(options.anchors, anchors.notes)
    if blank:
        console.say(f"{options.anchors}: {count(blank, 'row')} without a truth left out")
    return anchors


def calibration_from(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Read what is known about the model and the truth, as `aggcal.calibrate` takes it."""
    return {
        "model_sd": options.model_sd,
        "anchors": anchors_from(options, console),
        "bounds": options.bounds,
        "digits": options.digits,
    }


def texts_from(options: argparse.Namespace, console: Console) -> Texts | None:
    """Read the texts and the pictures of items, if there are any."""
    from aggcal.io.items import Texts, read_texts
    from aggcal.io.pictures import read_pictures

    folder = getattr(options, "pictures", None)
    pictures = {} if folder is None else read_pictures(folder)
    if options.texts is None:
        return Texts({}, pictures=pictures) if pictures else None
    texts = read_texts(options.texts)
    console.say_notes(options.texts, texts.notes)
    return replace(texts, pictures=pictures)


def respelt(table: _Table, spelling: Spelling | None, path: str, console: Console) -> _Table:
    """Return a table under the spelling that all tables have, and say what was changed."""
    if spelling is None:
        return table
    from aggcal.data.spelling import merged_note

    now = spelling.table(table)
    pairs = zip(table.item_ids.tolist(), now.item_ids.tolist(), strict=True)
    changed = {was: is_now for was, is_now in pairs if was != is_now}
    if changed:
        console.say_notes(path, (merged_note("item", changed),))
    return now


@contextmanager
def engine_from(options: argparse.Namespace, console: Console) -> Iterator[Engine | None]:
    """Start the engine that was asked for, and end it when everything is written."""
    name, address = options.engine
    if name == LOCAL:
        yield None
    elif name == GPU:
        from aggcal.engines import named

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AggcalWarning)
            engine = named(GPU)
        console.warn(*(w.message for w in caught if isinstance(w.message, AggcalWarning)))
        yield engine
    else:
        from aggcal.engines import Dask

        with Dask(address, on_pass=console.on_pass) as engine:
            yield engine
