"""The commands and their options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias

from aggcal import __version__

# fmt: off
_METHODS = (
    "hra-g", "hra-e", "hra-n", "crowd-bt", "crowd-tcv", "btl", "tcv", "gppl", "rank-svm", "barcw",
)
_METHODS_WITHOUT_FEATURES = _METHODS[:7]
_ENGINES = ("local", "dask", "gpu")
_KINDS = ("laplace", "bootstrap", "sandwich", "sandwich-random", "sandwich-fixed", "none")
_JUDGMENTS = (
    "table of judgments (annotator,winner,loser or annotator,left,right,outcome) or the export of "
    "a tool; see 'aggcal formats'"
)
_FORMATS = (
    "preflib", "label-studio", "argilla", "vote-log", "mt-bench", "alpaca-eval", "arena",
    "crowd-kit", "gavel", "all-our-ideas", "all-our-ideas-non-votes", "no-more-marking",
    "preference-pairs", "evalica", "best-worst", "rankings", "ratings", "choix", "table",
)
# fmt: on
_SCORES = "table of model scores: item,score (and sd, if the model states it); higher is better"
_FILES = "CSV, TSV, JSON lines or Parquet; a header names the columns"


class _Parser(argparse.ArgumentParser):
    """Errors in one sentence, without the usage in front of it."""

    def error(self, message: str) -> None:  # type: ignore[override]  # exits, as its parent does
        self.exit(2, f"aggcal: error: {message.rstrip('.')}; see '{self.prog} --help'.\n")

    def parse_known_args(  # type: ignore[override]  # the stricter half of its parent's signature
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse what is left over here, where the command's own options are known."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            known = [option for action in self._actions for option in action.option_strings]
            close = get_close_matches(rest[0].split("=")[0], known, 1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            if not rest[0].startswith("-"):
                hint = " (put a value that holds spaces in quotation marks)"
            self.error(f"{' '.join(rest)} is not understood{hint}")
        return found, rest


class _Formatter(argparse.HelpFormatter):
    """Shows a default where it tells something."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, False, []) or action.default is argparse.SUPPRESS:
            return action.help
        return f"{action.help} (default: %(default)s)"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line.

    Examples
    --------
    >>> parse(["run", "judgments.csv", "scores.csv", "-o", "out"]).method
    'hra-g'
    """
    return _parser().parse_args(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="aggcal",
        description="Aggregate, then calibrate: turn many fallible judgments and one imperfect "
        "model into scores you can stand behind.",
        epilog="'aggcal COMMAND --help' tells about each. Start with 'aggcal demo'.",
    )
    parser.add_argument("--version", action="version", version=f"aggcal {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=_Parser
    )
    for build in (
        _run,
        _aggregate,
        _calibrate,
        _check,
        _report,
        _convert,
        _formats,
        _evaluate,
        _simulate,
        _suggest,
        _reproduce,
        _methods,
        _demo,
    ):
        build(commands)
    return parser


if TYPE_CHECKING:
    _Commands: TypeAlias = argparse._SubParsersAction[_Parser]  # noqa: SLF001


def _command(commands: _Commands, name: str, help_: str, more: str = "") -> _Parser:
    command = commands.add_parser(
        name,
        help=help_,
        description=f"{help_[0].upper()}{help_[1:]}. {more}".strip(),
        formatter_class=_Formatter,
    )
    command.set_defaults(command=name)
    command.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    return command


def _output(command: _Parser, what: str) -> None:
    command.add_argument("-o", "--output", metavar="DIR", required=True, help=f"folder for {what}")


def _json(command: _Parser, what: str) -> None:
    command.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def _stage_1(command: _Parser) -> None:
    group = command.add_argument_group("Stage 1: the consensus")
    group.add_argument(
        "--method", choices=_METHODS, default="hra-g", help="aggregator; see 'aggcal methods'"
    )
    group.add_argument(
        "--features",
        metavar="FILE",
        help="table of features for gppl, rank-svm and barcw: item and columns of numbers; or the "
        "word identity, to take every item on its own",
    )
    group.add_argument(
        "--prior",
        choices=("default", "auto", "none"),
        default="default",
        help="auto: choose its scales from the data; none: pure maximum likelihood",
    )
    group.add_argument(
        "--score-sd",
        type=float,
        metavar="X",
        help="how widely scores are expected to spread, as a prior sd (1 for hra-g and btl, "
        "1.1 for hra-e, 0.55 for hra-n and tcv)",
    )
    group.add_argument(
        "--reliability-sd",
        type=float,
        metavar="X",
        help="how widely reliabilities are expected to spread about 1, as a prior sd (0.5)",
    )
    group.add_argument(
        "--uncertainty",
        choices=_KINDS,
        default="laplace",
        help="how to work out standard errors: laplace, from the curvature of the fit; bootstrap, "
        "refitting resampled annotators; sandwich (-random, -fixed), for btl and tcv",
    )
    group.add_argument(
        "--draws", type=int, default=200, metavar="N", help="refits of the bootstrap"
    )
    group.add_argument(
        "--engine",
        choices=_ENGINES,
        default="local",
        help="where judgments are summed: on this machine (local), on its GPU (gpu), or on a "
        "cluster (dask), which also reads them (JUDGMENTS may then be a pattern, or any path that "
        "fsspec knows)",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of the Dask scheduler to use, such as tcp://host:8786; without, a cluster of "
        "processes is started here",
    )
    group.add_argument(
        "--workers", type=int, metavar="N", help="processes of the cluster that is started here"
    )
    _judgment_options(command)


def _judgment_options(command: _Parser) -> None:
    group = _format_options(command)
    group.add_argument("--criterion", metavar="NAME", help="use only judgments of this criterion")
    group.add_argument(
        "--memory",
        metavar="SIZE",
        help="how much memory reading may take before it goes on on disk, such as 2GB",
    )
    group.add_argument(
        "--verbose", action="store_true", help="name every row that was read but not used"
    )


def _format_options(command: _Parser) -> argparse._ArgumentGroup:
    group = command.add_argument_group("judgments")
    group.add_argument(
        "--format",
        metavar="NAME",
        choices=_FORMATS,
        help="the format, if it is not to be recognised by its content; see 'aggcal formats'",
    )
    group.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="OURS=THEIRS",
        help="which column is which, such as annotator=coder (may be repeated)",
    )
    group.add_argument(
        "--outcome",
        action="append",
        default=[],
        metavar="LABEL=MEANING",
        help="what an outcome label means: left, right, tie, skip, failed or a number from 0 to 1 "
        "(may be repeated)",
    )
    group.add_argument(
        "--judged-by", metavar="NAME", help="who gave all judgments, if the table names nobody"
    )
    group.add_argument(
        "--ranking-weight",
        choices=("information", "item", "pair"),
        default="information",
        help="what the pairs of a ranking weigh: together as much as the ranking tells, so that "
        "each item counts once, or each pair as an opinion of its own",
    )
    group.add_argument(
        "--tie-within",
        type=float,
        default=0.0,
        metavar="X",
        help="ratings that differ by no more than this are a tie",
    )
    for side in ("left", "right"):
        group.add_argument(
            f"--{side}-key",
            metavar="KEY",
            help=f"the field of a Label Studio task that holds the {side} item",
        )
    group.add_argument(
        "--drafts", action="store_true", help="take Argilla's and Label Studio's drafts too"
    )
    return group


def _score_columns(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--score-column", metavar="NAME", default="score", help="column that holds the scores"
    )
    group.add_argument(
        "--item-column", metavar="NAME", default="item", help="column of SCORES that holds the ids"
    )


def _common(command: _Parser) -> None:
    command.add_argument(
        "--level", type=float, default=0.95, metavar="P", help="level of the intervals"
    )
    command.add_argument("--seed", type=int, default=0, help="seed of everything random")


def _stage_2(command: _Parser) -> None:
    group = command.add_argument_group("Stage 2: the calibrated scores")
    group.add_argument(
        "--calibrator",
        choices=("atc", "fused", "safe"),
        default="atc",
        help="atc: project onto the consensus order; fused: closer to the truth on average, not "
        "strictly in the consensus order; safe: never worse than a model of known sd on average",
    )
    group.add_argument(
        "--model-sd",
        type=float,
        metavar="X",
        help="standard deviation of the model's errors, such as its validation error: for fused "
        "rather too large than too small, for safe at most 1.4 times too large; with atc it adds "
        "an estimate of the error",
    )
    group.add_argument(
        "--anchors",
        metavar="FILE",
        help="table item,truth of 5 or more items drawn at random: the gain is measured, fused "
        "learns how far to trust the model, and with 9 anchors (level 0.9) or 19 (0.95) intervals "
        "cover the truth",
    )
    group.add_argument(
        "--second-model",
        metavar="FILE",
        help="table item,score of another model with independent errors; for fused",
    )
    _score_columns(group)
    group.add_argument(
        "--unweighted",
        action="store_true",
        help="weigh all items alike even if the scores carry an sd",
    )


def _report_options(command: _Parser, *, check: bool = True) -> None:
    group = command.add_argument_group("the report")
    group.add_argument(
        "--texts",
        metavar="FILE",
        help="table item,text: what the items say, shown beside their ids",
    )
    group.add_argument(
        "--text-column", metavar="NAME", default="text", help="column of FILE that holds the texts"
    )
    if check:
        group.add_argument(
            "--no-check",
            action="store_true",
            help="do not look the data over (as 'aggcal check' does), nor suggest what to ask next",
        )


def _run(commands: _Commands) -> None:
    command = _command(
        commands,
        "run",
        "judgments and scores in, calibrated scores out",
        "Writes items.csv, annotators.csv, summary.json, report.html and report.md into DIR, and "
        "predictions.csv if there are scores of items that nobody judged.",
    )
    command.add_argument("judgments", metavar="JUDGMENTS", help=f"{_JUDGMENTS} ({_FILES})")
    command.add_argument("scores", metavar="SCORES", help=_SCORES)
    _output(command, "the results")
    _common(command)
    _stage_1(command)
    _stage_2(command)
    _report_options(command)
    _json(command, "the summary")


def _aggregate(commands: _Commands) -> None:
    command = _command(
        commands,
        "aggregate",
        "Stage 1 alone: the consensus of the judgments",
        "Writes items.csv, annotators.csv, summary.json, report.html and report.md into DIR.",
    )
    command.add_argument("judgments", metavar="JUDGMENTS", help=f"{_JUDGMENTS} ({_FILES})")
    _output(command, "the results")
    _common(command)
    _stage_1(command)
    _report_options(command)
    _json(command, "the summary")


def _calibrate(commands: _Commands) -> None:
    command = _command(
        commands,
        "calibrate",
        "Stage 2 alone: calibrate scores by an order you have",
        "Writes items.csv and summary.json into DIR.",
    )
    command.add_argument(
        "consensus",
        metavar="CONSENSUS",
        help="an items.csv that aggcal wrote, or any item,score table, higher is better; a "
        "consensus_se or sd column tells how uncertain it is",
    )
    command.add_argument("scores", metavar="SCORES", help=_SCORES)
    _output(command, "the results")
    _common(command)
    command.add_argument(
        "--consensus-column",
        metavar="NAME",
        help="column of CONSENSUS that holds the order (consensus, else score)",
    )
    _stage_2(command)
    _json(command, "the summary")


def _check(commands: _Commands) -> None:
    command = _command(commands, "check", "what is wrong with this data, and what to do about it")
    command.add_argument("judgments", metavar="JUDGMENTS", help=f"{_JUDGMENTS} ({_FILES})")
    command.add_argument("scores", metavar="SCORES", nargs="?", help=_SCORES)
    _score_columns(command)
    _judgment_options(command)
    command.add_argument(
        "--method",
        choices=_METHODS_WITHOUT_FEATURES,
        default="hra-g",
        help="what is fitted to tell what to expect; see 'aggcal methods'",
    )
    command.add_argument(
        "--precision",
        type=float,
        metavar="X",
        help="wanted standard error of a score on the consensus scale: says how many more "
        "judgments it takes (without it: for two random items to be in the right order with a "
        "chance of 90%%)",
    )
    command.add_argument(
        "--quick",
        action="store_true",
        help="leave out what takes long: copies, camps, circles and precision",
    )
    command.add_argument("--seed", type=int, default=0, help="seed of everything random")
    command.add_argument("--strict", action="store_true", help="exit with 1 if there is a problem")
    _json(command, "counts, findings and precision")


def _report(commands: _Commands) -> None:
    command = _command(
        commands,
        "report",
        "the report of a folder of results once more: with texts, as Markdown, as JSON",
        "Nothing is fitted again.",
    )
    command.add_argument(
        "results", metavar="DIR", help="a folder that 'aggcal run' or 'aggcal aggregate' wrote"
    )
    command.add_argument(
        "--format", choices=("html", "md", "json"), default="html", help="what to write"
    )
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="file to write; - for the terminal (default: report.html, .md or .json in DIR)",
    )
    _report_options(command, check=False)


def _convert(commands: _Commands) -> None:
    command = _command(
        commands,
        "convert",
        "judgments of any format in, one table out",
        "Several files are written as one.",
    )
    command.add_argument("inputs", metavar="IN", nargs="+", help=f"{_JUDGMENTS} ({_FILES})")
    command.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="file to write; - for the terminal"
    )
    command.add_argument("--force", action="store_true", help="replace OUT if it is there already")
    command.add_argument(
        "--to",
        choices=("aggcal", "crowd-kit", "preflib"),
        help="aggcal: a CSV that loses nothing (unless OUT ends in .soc, .soi, .toc or .toi)",
    )
    group = _format_options(command)
    group.add_argument("--criterion", metavar="NAME", help="write only judgments of this criterion")


def _formats(commands: _Commands) -> None:
    command = _command(commands, "formats", "the formats that judgments are read from")
    _json(command, "the list")


def _evaluate(commands: _Commands) -> None:
    command = _command(
        commands,
        "evaluate",
        "compare consensus, model and calibrated scores with a truth",
        "tau-a and tau-b differ where there are ties: pooling alone can raise tau-b.",
    )
    command.add_argument("items", metavar="ITEMS", help="an items.csv that aggcal wrote")
    command.add_argument("truth", metavar="TRUTH", help="table of the truth: item,truth")
    command.add_argument(
        "--truth-column", metavar="NAME", default="truth", help="column that holds the truth"
    )
    command.add_argument(
        "--centred",
        action="store_true",
        help="subtract each vector's mean first, as the paper does",
    )
    _json(command, "the metrics")


def _simulate(commands: _Commands) -> None:
    command = _command(
        commands,
        "simulate",
        "make a study whose truth is known",
        "Writes judgments.csv, scores.csv, truth.csv and annotators.csv into DIR.",
    )
    _output(command, "the tables")
    for name, kind, default, what in (
        ("items", int, 100, "number of items"),
        ("annotators", int, 30, "number of annotators"),
        ("judgments", int, 3000, "number of judgments"),
        ("reliability-sd", float, 0.5, "sd of log reliability; the mean reliability is 1"),
        ("reversed", float, 0.0, "share of annotators who answer the other way round"),
        ("location", float, 50.0, "truth = location + scale x latent"),
        ("scale", float, 10.0, "truth = location + scale x latent"),
        ("model-sd", float, 10.0, "sd of the model's error"),
        ("model-bias", float, 0.0, "constant error of the model"),
        ("model-slope", float, 1.0, "how steeply the model follows the truth"),
        ("seed", int, 0, "seed of everything random"),
    ):
        command.add_argument(f"--{name}", type=kind, default=default, metavar="X", help=what)
    command.add_argument(
        "--link", choices=("logistic", "normal", "laplace"), default="logistic", help="noise"
    )


def _suggest(commands: _Commands) -> None:
    command = _command(
        commands,
        "suggest",
        "the pairs worth asking next, and whom to ask",
        "Prints a table: (annotator,) left, right, information, probability (that the left is put "
        "above), reason. Pieces of the comparisons are joined and new items asked first.",
    )
    command.add_argument("judgments", metavar="JUDGMENTS", help=f"{_JUDGMENTS} ({_FILES})")
    command.add_argument(
        "scores",
        metavar="SCORES",
        nargs="?",
        help=f"{_SCORES}; items that nobody judged yet are asked, too",
    )
    command.add_argument(
        "-n",
        "--pairs",
        type=int,
        metavar="N",
        help="how many pairs (default: 20, or as many as --per-annotator allows)",
    )
    command.add_argument("-o", "--output", metavar="FILE", help="write the table there")
    command.add_argument(
        "--about",
        choices=("order", "scores"),
        default="order",
        help="order: which pairs would put most items in the right order; scores: which would "
        "improve the calibrated scores most",
    )
    command.add_argument(
        "--items", metavar="FILE", help="table with the column item: further items to consider"
    )
    command.add_argument(
        "--per-item", type=int, metavar="K", help="an item is in at most K of the pairs"
    )
    command.add_argument(
        "--repeat", action="store_true", help="let a pair be asked of more than one annotator"
    )
    command.add_argument(
        "--explore",
        type=float,
        default=0.0,
        metavar="P",
        help="share of the pairs for items that were judged least, or for learning how reliable "
        "the named annotators are",
    )
    command.add_argument("--seed", type=int, default=0, help="seed of everything random")
    group = command.add_argument_group("whom to ask")
    group.add_argument(
        "--annotator",
        action="append",
        metavar="ID",
        help="someone who can be asked; never a pair they judged or skipped already (may be "
        "repeated)",
    )
    group.add_argument(
        "--new-annotator",
        action="append",
        default=[],
        metavar="ID",
        help="someone who can be asked and has not judged yet (may be repeated)",
    )
    group.add_argument(
        "--per-annotator",
        type=int,
        metavar="K",
        help="ask each at most K pairs; if none is named, everybody who judged before",
    )
    group = command.add_argument_group("the consensus so far")
    group.add_argument(
        "--method",
        choices=("hra-g", "hra-e", "hra-n", "btl", "tcv"),
        default="hra-g",
        help="aggregator; see 'aggcal methods'",
    )
    _score_columns(group)
    _judgment_options(command)
    _json(command, "the pairs")


def _reproduce(commands: _Commands) -> None:
    command = _command(
        commands,
        "reproduce",
        "the paper's tables and figures beside ours",
        "Writes index.html, index.md, cells.csv, levels.csv, consensus/ and figures/ into DIR. "
        "The data are found in the folder that AGGCAL_DATA names, or downloaded and verified.",
    )
    command.add_argument(
        "what",
        metavar="WHAT",
        nargs="?",
        default="all",
        choices=("reading-level", "dots", "rq3", "all"),
        help="reading-level, dots, rq3 or all",
    )
    _output(command, "the page")
    command.add_argument(
        "--quick", action="store_true", help="fewer repetitions and levels, in about a minute"
    )


def _methods(commands: _Commands) -> None:
    command = _command(commands, "methods", "the methods of Stage 1, one line each")
    _json(command, "the list")


def _demo(commands: _Commands) -> None:
    command = _command(
        commands, "demo", "simulate a study, run aggcal on it, say where the report is"
    )
    command.add_argument("-o", "--output", metavar="DIR", default="demo", help="folder for it all")
    command.add_argument("--seed", type=int, default=0, help="seed of everything random")
