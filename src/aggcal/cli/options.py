"""The options that several commands take: a row each, in groups as the help shows them."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from typing import Any, NamedTuple

from aggcal import registry
from aggcal.cli.table import Group, Option
from aggcal.errors import OptionError, did_you_mean
from aggcal.registry.limits import ABOVE_0, MOST_DIGITS
from aggcal.registry.literals import ContextUse, EngineName

# How values of their own kinds are read ----------------------------------------------------------


def grades(text: str) -> tuple[float, ...] | dict[str, float]:
    """Read boundaries of grades, the lowest first, or names of grades and their lowest scores.

    Examples
    --------
    >>> grades("40, 50"), grades("A=70,B=60")
    ((40.0, 50.0), {'A': 70.0, 'B': 60.0})
    """
    named = [part.rpartition("=") for part in text.split(",")]
    try:
        lowest = [float(number) for _, _, number in named]
    except ValueError:
        lowest = []
    names = [name.strip() for name, _, _ in named]
    if not lowest or (any(names) and not all(names)) or (any(names) and len({*names}) < len(names)):
        raise argparse.ArgumentTypeError(
            f"'{text}' are no boundaries of grades; write, for example, A=70,B=60 or 60,70."
        )
    return dict(zip(names, lowest, strict=True)) if all(names) else tuple(lowest)


def two_numbers(text: str) -> tuple[float, float]:
    """Read two numbers, the lower one first.

    Examples
    --------
    >>> two_numbers("0,100")
    (0.0, 100.0)
    """
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low = high = 0.0
    if not -math.inf < low < high < math.inf:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not two numbers, the lower one first, with a comma between them; write, "
            "for example, 0,100."
        )
    return low, high


def digits(text: str) -> int:
    """Read how many decimals.

    Examples
    --------
    >>> digits("1")
    1
    """
    if not (text.isascii() and text.isdigit() and int(text) <= MOST_DIGITS):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a whole number from 0 to {MOST_DIGITS}; write, for example, 1."
        )
    return int(text)


def scale(text: str) -> tuple[str, tuple[str, float] | None]:
    """Read a scale and, of Elo ratings, an item and its rating.

    Examples
    --------
    >>> scale("win"), scale("elo:gpt=4=1000")
    (('win', None), ('elo', ('gpt=4', 1000.0)))
    """
    name, _, anchor = text.partition(":")
    item, _, rating = anchor.rpartition("=")
    if name not in registry.SCALES:
        near, listed = did_you_mean(name, registry.SCALES), ", ".join(registry.SCALES)
        raise argparse.ArgumentTypeError(f"'{name}' is unknown{near}; choose {listed}.")
    if name == text:
        return name, None
    try:
        number = float(rating)
    except ValueError:
        item = ""
    if not item or name != registry.ELO.name:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not elo with an item and its rating; write, for example, elo:ITEM=1000."
        )
    return name, (item, number)


class Context(NamedTuple):
    """The column of contexts, and what they are used for."""

    column: str
    use: ContextUse = registry.CONTEXT_USES[0]


def context(text: str) -> Context:
    """Read the column of contexts and what they are used for, if that is said.

    Examples
    --------
    >>> context("prompt").use, context("prompt:off"), context("a:b").column
    ('auto', Context(column='prompt', use='off'), 'a:b')
    """
    column, _, use = text.rpartition(":")
    for known in registry.CONTEXT_USES:
        if column and use == known:
            return Context(column, known)
    return Context(text)


def engine(text: str) -> tuple[EngineName, str | None]:
    """Read where to compute, and where that is, if it is said.

    Examples
    --------
    >>> engine("local"), engine("dask=tcp://host:8786")
    (('local', None), ('dask', 'tcp://host:8786'))
    """
    name, _, address = text.partition("=")
    for known in registry.ENGINES:
        if name == known and (not address or name == registry.DASK):
            return known, address or None
    near, listed = did_you_mean(name, registry.ENGINES), ", ".join(registry.ENGINES)
    raise argparse.ArgumentTypeError(f"'{text}' is unknown{near}; choose {listed} or dask=ADDRESS.")


def columns(texts: list[str]) -> dict[str, str]:
    """Return the names that our columns have in the file.

    Examples
    --------
    >>> columns(["annotator=coder", "winner=better=best"])
    {'annotator': 'coder', 'winner': 'better=best'}
    """
    parts = {text: text.partition("=") for text in texts}
    for text, (_, _, name) in parts.items():
        if not name:
            raise OptionError(f"--column '{text}' is not OURS=THEIRS; write 'annotator=coder'.")
    return {own: name for own, _, name in parts.values()}


def outcomes(texts: list[str]) -> dict[str, str]:
    """Return what each outcome label means.

    Examples
    --------
    >>> outcomes(["both bad=tie", "a=b=left"])
    {'both bad': 'tie', 'a=b': 'left'}
    """
    parts = {text: text.rpartition("=") for text in texts}
    for text, (label, _, _) in parts.items():
        if not label:
            raise OptionError(f"--outcome '{text}' is not LABEL=MEANING; write 'both bad=tie'.")
    return {label: meaning for label, _, meaning in parts.values()}


# The table, laid out by hand: a row an option -----------------------------------------------------
# fmt: off

WHAT_JUDGMENTS_ARE = (
    "judgments: a table with the columns annotator,winner,loser or annotator,left,right,outcome, "
    "or another tool's export (see 'aggcal list formats'), as CSV, TSV, JSON Lines, Parquet or a "
    "spreadsheet (book.xlsx#Answers names a sheet)"
)
WHAT_SCORES_ARE = "model scores: a table item,score (optionally sd); higher is better"
JUDGMENTS = Option("judgments JUDGMENTS", WHAT_JUDGMENTS_ARE)
PERHAPS_JUDGMENTS = Option("judgments [JUDGMENTS]", f"{WHAT_JUDGMENTS_ARE}; omit it if there are "
    "none yet")
MORE_JUDGMENTS = Option("--judgments FILE", "further files or folders of judgments, in any "
    "supported format, to be read together with JUDGMENTS (repeatable)", several=True,
    destination="more_judgments")
SCORES = Option("scores SCORES", WHAT_SCORES_ARE)
PERHAPS_SCORES = Option("scores [SCORES]", WHAT_SCORES_ARE)
RESULTS = Option("results DIR", "folder written by 'aggcal run' or 'aggcal aggregate'",
    study=("output", "results"))

# What many commands take -------------------------------------------------------------------------


def output(what: str, value: str = "DIR", **how: Any) -> Option:
    """Return ``--output``; in a study file it belongs to its command, unless that is said."""
    return replace(Option(f"-o --output {value}", what, study=()), **how)


def force(what: str) -> Option:
    """Return ``--force``."""
    return Option("--force", f"replace {what}", kept=False)


def as_json(what: str) -> Option:
    """Return ``--json``: standard output then holds one JSON document and nothing else."""
    return Option("--json", f"print {what} as JSON on standard output", kept=False)


FORCE_FOLDER = force("files in DIR that aggcal did not write, or that have changed since")
FORCE_FILE = force("FILE if it already exists")
SPREADSHEET_SAFE = Option("--spreadsheet-safe", "in CSV files, put an apostrophe before ids that "
    "a spreadsheet would run as a formula (those starting with =, +, - or @); other programs "
    "then see different ids")
LEVEL = Option("--level P", "level of the intervals", 0.95)
SEED = Option("--seed N", "seed for all random numbers", 0)
WITHOUT = Option("--without ANNOTATOR", "annotators to leave out, with all their judgments "
    "(repeatable)", several=True)
SCORE_COLUMN = Option("--score-column NAME", "column with the scores", "score")
METHOD_TO_PREDICT = Option("--method", "aggregation method; see 'aggcal list methods'",
    registry.DEFAULT_METHOD, registry.PREDICTABLE)

# How judgments are read --------------------------------------------------------------------------

NORMALIZE_IDS = Option("--normalize-ids", "merge ids that differ only in case, spacing, "
    "punctuation or Unicode form")
ALIAS = Option("--alias FILE", "table with the columns alias and id: other names of annotators "
    "and items")
CRITERION = Option("--criterion NAME", "use only judgments with this criterion")
STRICT = Option("--strict", "refuse columns that are called in other words, even if they have one "
    "reading, and exit with code 1 if there is a problem")
VERBOSE = Option("--verbose", "list every row that was read but not used", kept=False)
READING = Group("reading judgments", (
    Option("--format NAME", "format of the judgments, if it is not recognised automatically; see "
        "'aggcal list formats'", choices=registry.FORMAT_NAMES),
    Option("--column OURS=THEIRS", "name of a column in your file, such as annotator=coder; of a "
        "task of Label Studio, the field that holds an item: left=KEY (repeatable)",
        repeated=True, python=columns),
    Option("--outcome LABEL=MEANING", "meaning of an outcome label: left, right, tie, skip, "
        "failed, left+ or right+ (much better), left++ or right++, or a number from 0 (right) to "
        "1 (left) (repeatable)", repeated=True, python=outcomes),
    Option("--strength-scale LEFT:RIGHT", "outcomes are numbers on a scale of 3 to 7 steps: the "
        "number for the strongest left, then for the strongest right, such as 1:5 or 3:-3"),
    Option("--judged-by NAME", "annotator of all judgments, if the table names none"),
    Option("--order LABELS", "labels of ratings from best to worst, such as 'A+,A,A-,B'; for "
        "numeric ratings, which end is best: lowest or highest", ""),
    NORMALIZE_IDS, ALIAS, CRITERION,
    Option("--context COLUMN[:USE]", "column with the context of each judgment, such as its "
        "prompt, session or screen; 'ranking' for the ranking or ratings that pairs come from. "
        "With :fit how each item does in each context is fitted, with :errors it only widens the "
        "standard errors, with :off it is ignored; default: fit if items were judged repeatedly "
        "in a context", read=context, python=lambda context: context and context.column),
    Option("--by COLUMN[,COLUMN]", "columns with the categories of each judgment, such as "
        "language or topic; criterion is that of the judgments", ""),
))

# Stage 1 -----------------------------------------------------------------------------------------

TERMS = Group("terms", (
    Option("--ties", "davidson: each annotator has a readiness to call a tie; rao-kupper: a "
        "threshold instead; halves: a tie counts as half a win for each side; auto: davidson "
        "where there are ties (hra-g), else halves", registry.TIES[0], registry.TIES),
    Option("--position", "estimate each annotator's preference for the left item and take it out "
        "of the scores; auto: where the sides are known and the data show a preference",
        registry.SWITCHES[0], registry.SWITCHES),
    Option("--control FILE", "table of what to hold equal, such as length or style: item, "
        "numeric columns of any name, and the column of --context if an item's values depend on "
        "it; scores are then those of items that do not differ in it"),
    Option("--bridge", "also find how annotators disagree, and the common ground: along one "
        "axis, in camps, or whichever predicts others better (auto)", "off", registry.BRIDGES),
))
STAGE_1 = Group("Stage 1 (consensus)", (
    Option("--method", "aggregation method; see 'aggcal list methods'. auto: the simplest that "
        "predicts held-out judgments well, as 'aggcal compare' finds it",
        registry.DEFAULT_METHOD, registry.METHODS.choices),
    Option("--features FILE", "table of item features for gppl, rank-svm and barcw: item and "
        "numeric columns; or the word identity, which relates no item to another"),
    Option("--prior", "default: estimate the standard deviations of scores and reliabilities "
        "from the data; none: maximum likelihood without a prior", "default",
        ("default", "auto", "none")),
    Option("--uncertainty KIND", "how standard errors are computed: from the curvature of the "
        "fit, widened where answers depend on each other (robust), from the curvature alone "
        "(laplace), by refitting resampled annotators or contexts (bootstrap), or not at all "
        "(none)", registry.ROBUST.name, (*registry.UNCERTAINTIES, "none"),
        python=lambda kind: None if kind == "none" else kind),
    *TERMS.options,
    Option("--engine NAME", "where the computation runs: on this machine (local), on its GPU "
        "(gpu), or on a Dask cluster (dask on this machine, or dask=ADDRESS, such as "
        "dask=tcp://host:8786), which also reads the files (JUDGMENTS may then be a pattern, or "
        "any path that fsspec supports)", registry.LOCAL, read=engine),
))

# Stage 2 -----------------------------------------------------------------------------------------

BOUNDS = Option("--bounds LOW,HIGH", "lowest and highest possible score, such as 0,100: scores "
    "and intervals stay within", read=two_numbers)
DIGITS = Option("--digits N", "decimals of the calibrated scores; interval ends are rounded "
    "outwards", read=digits)
_CALIBRATORS = "; ".join(
    f"{each.name}: {each.help}"
    for each in (*registry.CALIBRATORS.values(), registry.AUTO_CALIBRATOR)
)
STAGE_2 = Group("Stage 2 (calibrated scores)", (
    Option("--calibrator", _CALIBRATORS, registry.DEFAULT_CALIBRATOR,
        (*registry.CALIBRATORS, registry.AUTO_CALIBRATOR.name)),
    Option("--model-sd X", "standard deviation of the model's errors, such as its validation "
        "error. For fused, too large is better than too small; for safe, at most 1.4 times too "
        "large; for atc, it adds an estimate of the error", numbers=ABOVE_0),
    Option("--anchors FILE", "table item,truth of at least 5 items drawn at random. They correct "
        "the level, tell fused the scale and how far to trust the model, and measure the gain. "
        "With 9 anchors (level 0.9) or 19 (0.95), intervals cover the truth. Without SCORES they "
        "alone give all items a score on their scale"),
    BOUNDS, DIGITS, SCORE_COLUMN,
))
ANCHORED = Group("scores without a model", (
    Option("--anchors FILE", "table item,truth of at least 5 judged items drawn at random. All "
        "items get a score on their scale and, with 14 anchors (level 0.9) or 24 (0.95), an "
        "interval for the truth"),
    BOUNDS, DIGITS,
))

# Decisions and the report ------------------------------------------------------------------------

GRADES = Option("--grades NAME=X,...", "lowest score of each grade, such as A=70,B=60, or the "
    "boundaries alone, such as 60,70: gives grades, and which are uncertain", read=grades)
DECISIONS = Group("decisions", (
    Option("--top K", "which items are surely among the first K, and how probably each is"),
    Option("--cut X", "probability of a score above X: of the calibrated score; without one, of "
        "the consensus (on the --scale)"),
    GRADES,
    Option("--scale NAME", "also give the consensus as Elo ratings (elo: the average item has "
        "1000; elo:ITEM=1000: this one has), from 0 to 100 (0-100), or as the probability to "
        "beat an average item (win); adds the rank bounds that arenas print", read=scale),
))
TITLE = Option("--title TEXT", "title of the report, kept in summary.json")
QUESTION = Option("--question TEXT", "the question that annotators were asked, such as 'Which "
    "essay is better?'")
TEXTS = Option("--texts FILE", "table item,text: the items' texts, shown beside their ids")
PICTURES = Option("--pictures DIR", "folder of pictures of the items, shown in their rows: ID.png, "
    ".jpg, .gif or .webp")
REPORT = Group("report", (
    TITLE, QUESTION, TEXTS, PICTURES,
    Option("--no-check", "skip the data check (see 'aggcal check') and the suggestions of what "
        "to ask next"),
))
