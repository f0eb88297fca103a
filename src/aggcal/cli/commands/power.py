"""``aggcal power``: how many judgments reach a goal."""

from __future__ import annotations

import argparse

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_force, add_json, add_level, add_seed, print_json
from aggcal.cli.options.formats import choices_from
from aggcal.cli.options.judgments import (
    add_judgment_options,
    add_judgments,
    add_without,
    judgments_from,
)
from aggcal.cli.provenance import judgment_files
from aggcal.registry import DEFAULT_METHOD, PREDICTABLE

_APART = (
    "of two items X apart, a typical annotator puts the better one first with probability "
    "1 / (1 + exp(-X))"
)
_ASSUMED = (
    ("items", int, "N", "number of items (default: 50)"),
    ("annotators", int, "N", "number of annotators (default: 20)"),
    ("per-annotator", int, "K", "judgments that each annotator gives, instead of --annotators"),
    (
        "score-sd",
        float,
        "X",
        f"spread of the true scores: {_APART} (default: 1)",
    ),
    ("reliability-sd", float, "X", "spread of the reliabilities around 1 (default: 0.5)"),
    ("reversed", float, "P", "share of annotators who answer the other way round (default: 0)"),
    ("ties", float, "P", "share of answers that are ties (default: 0)"),
)


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=power)
    command.describe(
        "Without JUDGMENTS, studies are simulated from the assumptions below. With JUDGMENTS, the "
        "answer is how many more this study needs, with its own items and annotators and random "
        "pairs; with --pilot, JUDGMENTS only tell what to assume of a new study. Every simulated "
        "study is fitted as 'aggcal run' would. The truth is what such annotators would agree on "
        "with unlimited judgments."
    )
    add_judgments(command, nobody_yet=True)
    command.add_argument(
        "--goal",
        metavar="GOAL",
        required=True,
        help="tau=0.8: Kendall's tau with the truth; top-10=0.9: share of the true ten best that "
        "are found; half-width=0.3: mean half-width of the intervals on the consensus scale",
    )
    command.add_argument(
        "--pilot", action="store_true", help="plan a new study, of which JUDGMENTS are a pilot"
    )
    command.add_argument(
        "-o", "--output", metavar="DIR", help="folder for power.csv, power.svg and summary.json"
    )
    add_force(command, "files in DIR that aggcal did not write, or that have changed since")
    command.add_argument(
        "--studies",
        type=int,
        metavar="N",
        help="simulated studies for each number of judgments (default: 8 to 48, fewer for many "
        "items)",
    )
    command.add_argument(
        "--method",
        choices=PREDICTABLE,
        default=DEFAULT_METHOD,
        help="aggregation method; see 'aggcal methods'",
    )
    add_level(command)
    add_seed(command)
    group = command.add_argument_group("assumptions about a new study")
    for name, kind, letter, what in _ASSUMED:
        group.add_argument(f"--{name}", type=kind, metavar=letter, help=what)
    group.add_argument(
        "--design",
        choices=("random", "balanced"),
        help="random pairs, or random pairs in which each item comes equally often (default: "
        "random)",
    )
    add_without(command)
    add_judgment_options(command)
    add_json(command, "the answer, the table and the files written")


def power(options: argparse.Namespace) -> int:
    """Simulate, print, and write what was asked for."""
    from aggcal.assessment.power import POWER_FILES, check_options, power_manifest
    from aggcal.assessment.power import power as look
    from aggcal.io.writing.swap import check_output
    from aggcal.io.writing.writable import refuse_unwritable
    from aggcal.io.writing.write import refuse_overwriting

    console, files = Console(quiet=options.quiet), judgment_files(options)
    assumed = {name.replace("-", "_") for name, *_ in _ASSUMED} | {"design"}
    given = {name: getattr(options, name) for name in sorted(assumed)}
    given["reversed_share"] = given.pop("reversed")
    how = {name: getattr(options, name) for name in ("method", "level", "studies", "seed", "pilot")}
    check_options(options.goal, given, **how, new=not files)
    choices_from(options)
    if options.output is not None:
        manifest = power_manifest()
        names = (*POWER_FILES, manifest.name)
        refuse_unwritable(options.output)
        refuse_overwriting(options.output, names, files)
        check_output(options.output, names, manifest, force=options.force)
    found = look(
        options.goal,
        judgments_from(options, console) if files else None,
        on_step=console.on_report,
        **how,
        **given,
    )
    console.done()
    paths = [] if options.output is None else found.save(options.output, force=options.force)
    if options.json:
        print_json(found.to_dict(), paths)
    else:
        print(found)
    if paths:
        console.say(f"wrote {', '.join(str(path) for path in paths)}")
    return 0
