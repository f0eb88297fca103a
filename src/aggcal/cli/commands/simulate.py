"""``aggcal simulate``: a study whose truth is known."""

from __future__ import annotations

import argparse
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_json, add_output, print_json
from aggcal.registry import LINKS, LOGISTIC
from aggcal.simulation.terms import TIE_MODELS, SimulatedTerms

if TYPE_CHECKING:
    from pathlib import Path

_PLAIN = SimulatedTerms()
TABLES = ("judgments.csv", "scores.csv", "truth.csv", "annotators.csv")
"""What is written, besides the list of it."""


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=simulate)
    command.describe(
        f"Writes {', '.join(TABLES)} and simulation.json (the settings) into DIR, and further "
        "tables with further terms."
    )
    add_output(command, "the tables")
    for name, kind, default, what in (
        ("items", int, 100, "number of items"),
        ("annotators", int, 30, "number of annotators"),
        ("judgments", int, 3000, "number of judgments"),
        ("reliability-sd", float, 0.5, "sd of log reliability; the mean reliability is 1"),
        ("reversed", float, 0.0, "share of reversed annotators"),
        ("location", float, 50.0, "location in truth = location + scale * latent score"),
        ("scale", float, 10.0, "scale in truth = location + scale * latent score"),
        ("model-sd", float, 10.0, "sd of the model's error"),
        ("model-bias", float, 0.0, "mean error of the model"),
        ("model-slope", float, 1.0, "slope of the model's scores against the truth"),
        ("seed", int, 0, "seed for all random numbers"),
    ):
        letter = "N" if kind is int else "X"
        command.add_argument(f"--{name}", type=kind, default=default, metavar=letter, help=what)
    command.add_argument(
        "--link", choices=LINKS, default=LOGISTIC.name, help="distribution of the noise"
    )
    _add_terms(command)
    add_json(command, "the settings and the files written")


def _add_terms(command: Parser) -> None:
    """Add the options for what judgments depend on beside items and reliabilities."""
    group = command.add_argument_group(
        "further terms",
        "What judgments depend on beside items and reliabilities. With one of these, judgments.csv "
        "has left, right and outcome, and the columns context and category where there are some "
        "(read them with --context context and --by category); annotators.csv has every "
        "annotator's true position, tie_readiness and stance. The truth about the rest is in "
        "contexts.csv, categories.csv and axis.csv; control.csv is for --control.",
    )
    group.add_argument(
        "--ties",
        choices=TIE_MODELS,
        default=_PLAIN.ties,
        help="how ties come about: each annotator has a readiness to call a tie",
    )
    for name, kind, what in (
        ("tie-readiness", float, "mean readiness to call a tie, with --ties"),
        ("tie-readiness-sd", float, "sd of the readiness over annotators"),
        ("position", float, "mean preference for the left item, in logits"),
        ("position-sd", float, "sd of the preference over annotators"),
        ("contexts", int, "number of contexts, such as prompts"),
        ("context-sd", float, "sd of what an item does in a context"),
        ("tie-context-sd", float, "sd of the readiness to call a tie in a context, with --ties"),
        ("categories", int, "number of categories"),
        ("category-sd", float, "sd of what an item does in a category"),
        ("control", float, "effect of one sd of a covariate, the length, on a judgment"),
        ("axis-sd", float, "sd of the items along an axis of disagreement"),
        ("second-camp", float, "share of annotators at its other end; 0: stances are normal"),
        ("grades", int, "strengths of an answer: with 2 also left+ and right+, with 3 left++"),
    ):
        default = getattr(_PLAIN, name.replace("-", "_"))
        letter = "N" if kind is int else "X"
        group.add_argument(f"--{name}", type=kind, default=default, metavar=letter, help=what)
    group.add_argument(
        "--category-shares",
        type=_shares,
        default=argparse.SUPPRESS,
        metavar="X,X,...",
        help="share of the judgments in each category, instead of equal ones",
    )


def _shares(text: str) -> tuple[float, ...]:
    """Read numbers between commas.

    Examples
    --------
    >>> _shares("6,3,1")
    (6.0, 3.0, 1.0)
    """
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a list of numbers; give such as 6,3,1"
        ) from None


def simulate(options: argparse.Namespace) -> int:
    """Make the study that was described."""
    from aggcal.io.writing.writable import refuse_unwritable

    refuse_unwritable(options.output)
    study = {
        "items": options.items,
        "annotators": options.annotators,
        "judgments": options.judgments,
        "link": options.link,
        "reliability_sd": options.reliability_sd,
        "reversed_share": options.reversed,
        "location": options.location,
        "scale": options.scale,
        "model_sd": options.model_sd,
        "model_bias": options.model_bias,
        "model_slope": options.model_slope,
        "seed": options.seed,
    }
    given = vars(options)
    named = {each.name: given[each.name] for each in fields(_PLAIN) if each.name in given}
    terms = SimulatedTerms(**named)
    if not terms.plain:
        study["terms"] = asdict(terms)
    paths = write_study(options.output, force=options.force, **study)
    Console(quiet=options.quiet).say(f"wrote {', '.join(str(path) for path in paths)}")
    if options.json:
        print_json({"study": study}, paths)
    return 0


def write_study(folder: str | Path, *, force: bool = False, **study: Any) -> list[Path]:
    """Simulate a study and write its tables, unless there are others of these names."""
    from aggcal._core.progress import report
    from aggcal._version import __version__
    from aggcal.io.writing.manifest import Manifest
    from aggcal.io.writing.swap import check_output
    from aggcal.io.writing.write import csv_writer, write_files
    from aggcal.simulation import simulate as make

    about = {"version": __version__, "study": study}
    manifest = Manifest("simulation.json", about, "simulate")
    terms = SimulatedTerms(**study.get("terms", {}))
    check_output(folder, (*TABLES, *terms.tables, manifest.name), manifest, force=force)
    report("simulating")
    made = make(**study | {"terms": terms})
    report("writing the tables")
    tables = {name: csv_writer(table) for name, table in made.tables.items()}
    return write_files(folder, tables, manifest=manifest, force=force)
