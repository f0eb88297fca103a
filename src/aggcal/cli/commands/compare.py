"""``aggcal compare``: which method predicts these judgments best."""

from __future__ import annotations

import argparse

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_force, add_json, add_seed, print_json
from aggcal.cli.options.formats import choices_from
from aggcal.cli.options.judgments import add_judgment_options, add_judgments, judgments_from
from aggcal.cli.provenance import judgment_files
from aggcal.registry import BTL


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=compare)
    command.describe(
        "Fits every method, with the terms that the data have (ties, position, context, "
        "categories), to the same folds, and prints how well each predicts what was held out: "
        "log-loss, accuracy and calibration (1 is calibrated; less: too extreme; more: too timid), "
        f"with standard errors and differences from {BTL.name}. Whole contexts are held out where "
        "--context names them, else whole screens or rankings, else all answers of an annotator to "
        "one pair. The chosen method is the simplest within one standard error of the best; "
        "'aggcal run --method auto' chooses in the same way."
    )
    add_judgments(command)
    command.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="folder for comparison.csv, comparison.svg and summary.json",
    )
    add_force(command, "files in DIR that aggcal did not write, or that have changed since")
    command.add_argument(
        "--methods",
        metavar="NAME[,NAME]",
        help="methods to compare, such as hra-g,tcv,hra-g:ties+position (a method with its terms; "
        "hra-g:plain has none); default: all that need no features, with every term that has data",
    )
    command.add_argument(
        "--folds", type=int, default=5, metavar="N", help="number of parts held out in turn"
    )
    command.add_argument(
        "--hold-out",
        choices=("auto", "context", "screen", "question", "pair", "row"),
        default="auto",
        help="what is held out together: whole contexts (--context), whole screens or rankings, "
        "all answers of an annotator to one pair (question), of all to it (pair), or nothing "
        "(row); auto: the first of context, screen and question that is known. Whole contexts "
        "measure predictions for new contexts",
    )
    command.add_argument(
        "--sample",
        type=int,
        default=200_000,
        metavar="N",
        help="with more judgments than this, compare on a sample of contexts or annotators",
    )
    add_seed(command)
    add_judgment_options(command)
    add_json(command, "the comparison and the files written")


def compare(options: argparse.Namespace) -> int:
    """Compare, print, and write what was asked for."""
    from aggcal.assessment.methods import (
        COMPARISON_FILES,
        check_comparison,
        compare_methods,
        comparison_manifest,
    )
    from aggcal.io.writing.swap import check_output
    from aggcal.io.writing.writable import refuse_unwritable
    from aggcal.io.writing.write import refuse_overwriting

    console = Console(quiet=options.quiet)
    named = options.methods
    methods = None if named is None else [name.strip() for name in named.split(",")]
    how = {name: getattr(options, name) for name in ("folds", "seed", "sample", "hold_out")}
    check_comparison(methods, **how)
    choices_from(options)
    if options.output is not None:
        manifest = comparison_manifest()
        names = (*COMPARISON_FILES, manifest.name)
        refuse_unwritable(options.output)
        refuse_overwriting(options.output, names, judgment_files(options))
        check_output(options.output, names, manifest, force=options.force)
    found = compare_methods(judgments_from(options, console), methods, **how)
    console.done()
    paths = [] if options.output is None else found.save(options.output, force=options.force)
    if options.json:
        print_json(found.to_dict(), paths)
    else:
        print(found)
    if paths:
        console.say(f"wrote {', '.join(str(path) for path in paths)}")
    return 0
