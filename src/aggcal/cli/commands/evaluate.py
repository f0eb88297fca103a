"""``aggcal evaluate``: metrics against a truth."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_json, print_json
from aggcal.cli.options.formats import add_id_options, respelt
from aggcal.errors import TooLittleDataError, count

if TYPE_CHECKING:
    from aggcal._core.arrays import FloatArray, TextArray
    from aggcal.data.scores import Scores

_COLUMNS = ("consensus", "model", "calibrated", "score")


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=evaluate)
    command.describe(
        "Prints rank correlations and errors for each column. tau-a and tau-b differ where there "
        "are ties; pooling alone can raise tau-b."
    )
    command.add_argument("items", metavar="ITEMS", help="an items.csv written by aggcal")
    command.add_argument("truth", metavar="TRUTH", help="true values: a table item,truth")
    command.add_argument(
        "--truth-column", metavar="NAME", default="truth", help="column with the truth"
    )
    command.add_argument(
        "--centred",
        action="store_true",
        help="subtract the mean of each column first, as the paper does",
    )
    add_id_options(command)
    add_json(command, "the metrics")


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
    found = {
        name: compare(values[both], target[both], centred=options.centred)
        for name, values in columns.items()
    }
    if options.json:
        print_json({"n": n, **found})
        return 0
    print(f"{count(n, 'item')}{', centred' if options.centred else ''}")
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
    from aggcal.io.respelling import read_spelling
    from aggcal.io.results import unmixed
    from aggcal.io.scores import read_item_columns, read_truth

    spelling = read_spelling(options.alias, normalize=options.normalize_ids)
    with unmixed(options.items):
        ids, columns = read_item_columns(options.items, _COLUMNS)
    items = Scores(ids, np.zeros(len(ids)), None, options.items)
    ids = respelt(items, spelling, options.items, console).item_ids
    truth, blank = read_truth(options.truth, column=options.truth_column)
    console.say_notes(options.truth, truth.notes)
    return ids, columns, respelt(truth, spelling, options.truth, console), blank
