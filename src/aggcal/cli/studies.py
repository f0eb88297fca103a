"""``aggcal check``, ``compare``, ``power``, ``evaluate``: how good data, methods, scores are."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aggcal.cli import reading
from aggcal.cli.commands import ASSUMPTIONS
from aggcal.cli.console import Console, print_json, show
from aggcal.errors import TooLittleDataError, count

if TYPE_CHECKING:
    from aggcal._core.arrays import FloatArray, TextArray
    from aggcal.data.scores import Scores

_COLUMNS = ("consensus", "model", "calibrated", "score")


def check(options: argparse.Namespace) -> int:
    """Print what is wrong with the data."""
    from aggcal.advice.check import check as look_over

    console = Console(quiet=options.quiet)
    reading.choices_from(options)
    scores = reading.scores_from(options, console)
    found = look_over(
        reading.judgments_from(options, console),
        scores,
        method=options.method,
        wanted_error=options.precision,
        quick=options.quick or None,
        seed=options.seed,
        on_step=console.on_step,
        on_iteration=console.on_iteration,
    )
    console.done()
    console.say()
    show(found, options)
    return 1 if options.strict and found.problems else 0


def compare(options: argparse.Namespace) -> int:
    """Print which method predicts these judgments best, and write it where that is wanted."""
    from aggcal.aggregation.selection import check_methods
    from aggcal.assessment.studies import MethodComparison, compare_methods
    from aggcal.cli.results import finish_study, refuse_folder

    console = Console(quiet=options.quiet)
    methods = options.methods and [name.strip() for name in options.methods.split(",")]
    how = {name: getattr(options, name) for name in ("folds", "seed", "hold_out")}
    check_methods(methods)
    reading.choices_from(options)
    refuse_folder(options, MethodComparison, reading.judgment_files(options))
    found = compare_methods(reading.judgments_from(options, console), methods, **how)
    return finish_study(found, options, console)


def power(options: argparse.Namespace) -> int:
    """Print how many judgments reach a goal, and write it where that is wanted."""
    from aggcal.assessment.studies import Power, check_options
    from aggcal.assessment.studies import power as look
    from aggcal.cli.results import finish_study, refuse_folder

    console, files = Console(quiet=options.quiet), reading.judgment_files(options)
    given = ASSUMPTIONS.given(options)
    how = {name: getattr(options, name) for name in ("method", "level", "seed", "pilot")}
    how["studies"] = None
    check_options(options.goal, given, **how, new=not files)
    reading.choices_from(options)
    refuse_folder(options, Power, files)
    found = look(
        options.goal,
        reading.judgments_from(options, console) if files else None,
        on_step=console.on_report,
        **how,
        **given,
    )
    return finish_study(found, options, console)


def evaluate(options: argparse.Namespace) -> int:
    """Print every metric of every column."""
    import numpy as np

    from aggcal._core.tables import aligned
    from aggcal.metrics import METRICS, compare

    console = Console(quiet=options.quiet)
    ids, columns, truth, blank = _tables(options, console)
    target = aligned(truth.values, truth.item_ids, ids)
    both = np.isfinite(target)
    for values in columns.values():
        both &= np.isfinite(values)
    n = int(both.sum())
    if n == 0:
        raise TooLittleDataError(
            f"no item has a truth in {options.truth} and a number in every column of "
            f"{options.items}; check that both use the same ids, or merge those that differ in "
            "spelling alone with --normalize-ids."
        )
    missing = len(ids) - n
    if missing:
        console.warn(
            f"{count(missing, 'item')} of {options.items} left out: no truth, "
            "or a blank in one of the columns."
        )
    unused = len(truth) - int(np.isfinite(target).sum()) + blank
    if unused:
        console.warn(
            f"{count(unused, 'row')} of {options.truth} left out: blank, or not in {options.items}."
        )
    found = {name: compare(values[both], target[both]) for name, values in columns.items()}
    if options.json:
        print_json({"n": n, **found})
        return 0
    print(count(n, "item"))
    print(f"{'':12}" + "".join(f" {name:>11}" for name in found))
    for metric in METRICS:
        print(f"{metric:12}" + "".join(f" {row[metric]:11.4g}" for row in found.values()))
    console.say("For tau and spearman, higher is better; for the others, lower is better.")
    if "consensus" in found:
        console.say("The consensus has no unit, so only its tau and spearman are meaningful.")
    return 0


def _tables(
    options: argparse.Namespace, console: Console
) -> tuple[TextArray, dict[str, FloatArray], Scores, int]:
    """Read items with their columns, and the truth with the number of its blanks."""
    import numpy as np

    from aggcal.data.scores import Scores
    from aggcal.io.items import read_item_columns, read_truth
    from aggcal.io.respelling import read_spelling
    from aggcal.io.results import unmixed

    spelling = read_spelling(options.alias, normalize=options.normalize_ids)
    with unmixed(options.items):
        ids, columns = read_item_columns(options.items, _COLUMNS)
    items = Scores(ids, np.zeros(len(ids)), None, options.items)
    ids = reading.respelt(items, spelling, options.items, console).item_ids
    truth, blank = read_truth(options.truth)
    console.say_notes(options.truth, truth.notes)
    return ids, columns, reading.respelt(truth, spelling, options.truth, console), blank
