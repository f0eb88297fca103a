"""What can go wrong, and what is worth a word.

The tree::

    AggcalError
    ├── InputError              the user's data or options: exit code 2
    │   ├── FileError           no such file, a directory, not text, empty, no permission
    │   ├── TableError          a missing column, a ragged row
    │   ├── OutcomeError        an outcome that is neither a known label nor in [0, 1]
    │   ├── WeightError         a negative, missing or non-numeric weight
    │   ├── ScoreError          a missing, non-numeric, infinite or double score
    │   ├── FeatureError        the same of a feature, or an item without features
    │   ├── UnknownItemError    an item that is not there (a KeyError too)
    │   ├── TooLittleDataError  nothing left to fit or to calibrate
    │   ├── EngineError         an engine that is not installed, not reached, or lost
    │   └── OptionError         an option or argument with an impossible value
    └── OutputError             results could not be written: exit code 2

    AggcalWarning (a UserWarning)
    ├── AlikeIdsWarning         ids that differ only in case, spacing, punctuation or Unicode form
    ├── SelfPairWarning         an item compared with itself: not fitted
    ├── DuplicateRowsWarning    rows that are equal in every column
    ├── WeightsWarning          weights above 1 that may not be numbers of answers
    ├── UnansweredWarning       skipped and failed judgments: kept, not fitted
    ├── OneAnnotatorWarning     reliabilities cannot be told from the scale
    ├── PooledCriteriaWarning   judgments of several criteria fitted together
    ├── SeparationWarning       items that never win or never lose
    ├── DisconnectedWarning     a comparison graph in several pieces
    ├── WeaklyJoinedWarning     groups of items that too few judgments join
    ├── PairedByLevelWarning    items compared with others of a level that was known beforehand
    ├── ReversedWarning         annotators with a negative reliability
    ├── DividedWarning          two opposite orders fit the judgments about as well
    ├── UnmatchedItemsWarning   items in only one of the two tables
    ├── DirectionWarning        a model that runs against the consensus
    ├── NoMaximumWarning        a maximum-likelihood estimate that does not exist
    ├── FewJudgmentsWarning     too little of each annotator for errors without a prior
    ├── HarmfulWarning          calibration is likely to make the scores worse
    ├── BetterCalibratorWarning another calibrator is closer to the anchors
    ├── DependentModelsWarning  a second model that tells nothing new
    ├── AnchorsWarning          anchors that cannot be used, or too few of them
    ├── NoGpuWarning            no GPU to work with: the processor took its place
    ├── PluginWarning           what an installed package registers wrongly: left out
    ├── KernelWarning           a kernel that the judgments do not determine
    └── ConvergenceWarning      the optimum was not reached

A message says what is wrong, where, and what to do.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

_SHOWN, _LONGEST = 3, 100  # ids that a message names before it counts, and characters of each
_ALIKE = 0.6
"""Share of two names that must agree: less would offer names that nobody meant."""
_MOST, _COMPARED = 3, 5_000
"""Names that are offered where several are equally near; names that are compared at most, since
each takes some microseconds."""

# What moves a cursor or begins a line, and what turns the text beside it or cannot be encoded.
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# An id may be a whole book.
_ENDLESS = re.compile(r"('[^']{100})[^']{900,}(?=')|(\S{100})\S{900,}")
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return a text on one line that no terminal or log takes for anything but text.

    Whatever people read passes through here, since ids may hold anything; CSV and JSON do not.

    Examples
    --------
    >>> printable("one" + chr(27) + "[2J" + chr(10) + "two"), printable(chr(0x202E) + "abc")
    ('one [2J two', '\N{REPLACEMENT CHARACTER}abc')
    >>> len(printable("the item '" + 70_000 * "so " + "'"))
    114
    """
    plain = _TURNS.sub("\N{REPLACEMENT CHARACTER}", _BREAKS.sub(" ", text))
    return _ENDLESS.sub(lambda id_: f"{id_[1] or id_[2]}...", plain)


def cut(text: str, longest: int) -> str:
    """Return a text, cut with an ellipsis if it is too long.

    Examples
    --------
    >>> cut("abcdef", 3)
    'abc…'
    """
    return text if len(text) <= longest else f"{text[:longest]}…"


def some(ids: Iterable[object], shown: int = _SHOWN) -> str:
    """Name the first few ids, cut where they are long, and count the rest.

    Examples
    --------
    >>> some(["a", "b"])
    "'a', 'b'"
    >>> some(["a", "b", "c", "d", "e"])
    "'a', 'b', 'c' and 2 more"
    """
    every = [str(i) for i in ids]
    named = ", ".join(f"'{printable(cut(i, _LONGEST))}'" for i in every[:shown])
    return named if len(every) <= shown else f"{named} and {len(every) - shown:,} more"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> count(1, "item"), count(1200, "item"), count(2, "entry", "entries")
    ('1 item', '1,200 items', '2 entries')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def sentence(text: str) -> str:
    """Write a text as a sentence: with a capital and a full stop.

    Examples
    --------
    >>> sentence("remove it"), sentence("Remove it.")
    ('Remove it.', 'Remove it.')
    """
    return f"{text[:1].upper()}{ended(text[1:])}"


def ended(text: str) -> str:
    """End a text with a full stop, unless it has an end.

    Examples
    --------
    >>> ended("1 duplicate row")
    '1 duplicate row.'
    """
    return text if text.endswith((".", "?", "!")) else f"{text}."


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Name the known names that are nearest to one that is not known; nothing if none is near.

    Examples
    --------
    >>> did_you_mean("Crowd_BT", ["btl", "crowd-bt"]), did_you_mean("x", ["btl"])
    (" (did you mean 'crowd-bt'?)", '')
    """
    near = [f"'{printable(cut(each, _LONGEST))}'" for each in nearest(str(name), map(str, known))]
    listed = " or ".join((", ".join(near[:-1]), near[-1]) if near[1:] else near)
    return f" (did you mean {listed}?)" if near else ""


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names nearest to a name, in their order; none where none is near.

    Capitals, spaces, hyphens and underscores do not count.

    Examples
    --------
    >>> nearest("sugest", ["suggest", "simulate"]), nearest("hra-x", ["hra-g", "btl", "hra-n"])
    (['suggest'], ['hra-g', 'hra-n'])
    >>> nearest("x", ["suggest", "simulate"])
    []
    """
    from difflib import SequenceMatcher  # which hardly any command needs

    def plain(text: str) -> str:
        return re.sub("[ _-]", "", text.casefold())

    matcher, ratios = SequenceMatcher(None, "", plain(name), autojunk=False), dict[str, float]()
    for each in islice(known, _COMPARED):
        matcher.set_seq1(plain(each))
        ratios[each] = matcher.ratio() if plain(name) and matcher.quick_ratio() >= _ALIKE else 0.0
    best = max(ratios.values(), default=0.0)
    return [each for each in ratios if ratios[each] == best >= _ALIKE][:_MOST]


def check_choice(what: str, name: Any, choices: Collection[str]) -> None:
    """Refuse a name that is none of the choices.

    Examples
    --------
    >>> check_choice("engine", "gpus", ("local", "gpu"))
    Traceback (most recent call last):
    aggcal.errors.OptionError: engine 'gpus' is unknown (did you mean 'gpu'?); choose local, gpu.
    """
    if name not in choices:
        near = did_you_mean(name, choices)
        raise OptionError(f"{what} '{name}' is unknown{near}; choose {', '.join(choices)}.")


# ------------------------------------------------- options, in the words of whoever reads a message

# fmt: off
_ARGUMENTS = {
    "column": "columns", "outcome": "outcomes", "judged-by": "annotator", "alias": "aliases",
    "annotator": "annotators", "new-annotator": "new_annotators", "pairs": "n",
    "precision": "wanted_error", "score-column": "column",
    "reversed": "reversed_share", "number": "judgments", "true-scores": "n",
}
"""Options whose argument in Python is called otherwise."""
_FLAGS = {
    "no-check": "check=False", "unweighted": "weights=None",
    **{flag: flag.replace("-", "_") + "=True" for flag in (
        "force", "repeat", "drafts", "normalize-ids", "quick", "centred",
        "spreadsheet-safe", "independent",
    )},
}
"""Options without a value: what they are in Python."""
# fmt: on
PYTHON_ONLY = frozenset(
    (
        *("blank", "drafts", "ranking-weight", "score-sd", "reliability-sd"),
        *("estimator", "draws", "criteria-weights", "second-model", "unweighted", "error"),
        *("influence", "repeat", "sample", "centred", "design", "studies", "link", "new-annotator"),
        *("categories", "category-shares"),
    )
)  # fmt: skip
"""Arguments that the command line does not have; its messages say so."""
_PRIOR = {"score-sd", "reliability-sd"}
_PLAIN = re.compile(r"[\w=.-]*[\w=]").fullmatch
"""A value that a shell does not take apart."""
_PLACEHOLDERS = {"FILE", "KEY", "LABEL", "MEANING", "NAME", "X"}
"""Words that stand for what is to be written."""
_reader = {"shell": False}


@contextmanager
def command_line() -> Iterator[None]:
    """Let messages name the options of the command line, not the arguments of functions."""
    before, _reader["shell"] = _reader["shell"], True
    try:
        yield
    finally:
        _reader["shell"] = before


def option(name: str, *values: str) -> str:
    """Write what to add to a command or, where Python was called, to the call of a function.

    Examples
    --------
    >>> option("method", "btl"), option("features", "FILE"), option("per-item"), option("repeat")
    ("method='btl'", 'features=FILE', 'per_item=', 'repeat=True')
    >>> option("column", "left=One", "right=Two")
    "columns={'left': 'One', 'right': 'Two'}"
    >>> with command_line():
    ...     option("repeat"), option("column", "left=One", "right=The other")
    ('repeat=True in Python', "--column left=One --column 'right=The other'")
    """
    if _reader["shell"] and name in PYTHON_ONLY:
        return f"{_argued(name, *values)} in Python"
    if _reader["shell"]:
        each = [f"--{name} {v if _PLAIN(v) else repr(v)}" for v in values]
        return " ".join(each) or f"--{name}"
    return _argued(name, *values)


def _argued(name: str, *values: str) -> str:
    """Write an option as the argument of a function."""
    if name in _FLAGS:
        return _FLAGS[name]
    if name in ("column", "outcome") and values:
        # A label may hold "=", and so may the name of a column.
        pairs = [v.rsplit("=", 1) if name == "outcome" else v.split("=", 1) for v in values]
        written = ", ".join(f"{own!r}: {_literal(other)}" for own, other in pairs)
        return f"{keyword(name)}={{{written}}}"
    value = ", ".join("None" if v == "none" else _literal(v) for v in values)
    if name in _PRIOR:
        return f"prior=Prior({keyword(name)}={value or '...'})"
    return f"{keyword(name)}={value}"


def argument(name: str) -> str:
    """Name an option of the command line or, where Python was called, the argument.

    Examples
    --------
    >>> argument("judged-by"), argument("model-sd")
    ('annotator', 'model_sd')
    """
    return f"--{name}" if _reader["shell"] and name not in PYTHON_ONLY else keyword(name)


def keyword(name: str) -> str:
    """Return the argument that an option of the command line is in Python.

    Examples
    --------
    >>> keyword("judged-by"), keyword("model-sd")
    ('annotator', 'model_sd')
    """
    return _ARGUMENTS.get(name, name.replace("-", "_"))


def _literal(value: str) -> str:
    return value if value in _PLACEHOLDERS else repr(value)


class AggcalError(Exception):
    """Everything that aggcal raises on purpose, in one line whatever it quotes."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class InputError(AggcalError, ValueError):
    """The data or the options cannot be used as they are."""


class FileError(InputError):
    """A file cannot be read at all."""


class TableError(InputError):
    """A table does not have the columns or the shape that it needs."""


class OutcomeError(InputError):
    """An outcome is neither a known label nor a number in [0, 1]."""


class WeightError(InputError):
    """A weight is missing, negative or not a number."""


class ScoreError(InputError):
    """A score is missing, not a finite number, or given twice."""


class FeatureError(InputError):
    """A feature is missing, not a finite number or given twice, or tells no items apart."""


class UnknownItemError(InputError, KeyError):
    """An item was asked for that is not there.

    Examples
    --------
    >>> str(UnknownItemError("z", "the consensus"))
    "item 'z' is not in the consensus; check its id."
    """

    def __init__(self, item: object, where: str) -> None:
        super().__init__(f"item {some([item])} is not in {where}; check its id.")

    def __str__(self) -> str:
        return ValueError.__str__(self)  # a KeyError would quote its message


class TooLittleDataError(InputError):
    """Nothing is left to work on."""


class EngineError(InputError):
    """An engine is not installed, cannot be reached, or was lost."""


class OptionError(InputError):
    """An option has an impossible value."""


class OutputError(AggcalError):
    """Results could not be written; nothing half-written was left."""


class AggcalWarning(UserWarning):
    """Something the user should know; the calculation continues.

    Parameters
    ----------
    title
        What was found, in a few words and numbers: also a heading.
    why
        The evidence with the first few ids, and what follows from it; what to read below that
        heading.
    remedy
        What to do about it, in the imperative.
    items, annotators
        Ids of all items or annotators that it concerns.
    judgments
        How many judgments it concerns, where that is known.

    Examples
    --------
    >>> str(DuplicateRowsWarning("2 duplicate rows", "Each counts", "remove copies"))
    '2 duplicate rows. Each counts. Remove copies.'
    """

    code = "notice"
    """What `aggcal check` and ``summary.json`` call such a finding."""

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        cls.code = code or cls.code

    def __init__(
        self,
        title: str,
        why: str,
        remedy: str,
        *,
        items: Iterable[object] = (),
        annotators: Iterable[object] = (),
        judgments: int | None = None,
    ) -> None:
        super().__init__(title, why, remedy)
        self.title, self.why, self.remedy = title.rstrip("."), why, remedy
        self.items = tuple(map(str, items))
        self.annotators = tuple(map(str, annotators))
        self.judgments = judgments

    @property
    def what(self) -> str:
        """What was found, and the evidence."""
        return f"{ended(self.title)} {sentence(self.why)}" if self.why else ended(self.title)

    def __str__(self) -> str:
        return printable(f"{self.what} {sentence(self.remedy)}")


class AlikeIdsWarning(AggcalWarning, code="alike-ids"):
    """Ids that differ only in case, spacing, punctuation or Unicode form: likely one."""


class SelfPairWarning(AggcalWarning, code="self-pairs"):
    """An item was compared with itself."""


class DuplicateRowsWarning(AggcalWarning, code="duplicate-rows"):
    """Rows are equal in every column: perhaps one judgment was recorded more than once."""


class WeightsWarning(AggcalWarning, code="weights"):
    """Weights above 1 count as so many answers, and do not look like numbers of answers."""


class UnansweredWarning(AggcalWarning, code="unanswered"):
    """Judgments were skipped, failed or given no weight."""


class OneAnnotatorWarning(AggcalWarning, code="one-annotator"):
    """Only one annotator judged."""


class PooledCriteriaWarning(AggcalWarning, code="pooled-criteria"):
    """Judgments of several criteria were fitted as one."""


class SeparationWarning(AggcalWarning, code="separation"):
    """Items that never win or never lose."""


class DisconnectedWarning(AggcalWarning, code="disconnected"):
    """The comparison graph falls into pieces."""


class WeaklyJoinedWarning(AggcalWarning, code="weakly-joined"):
    """Groups of items that too few judgments join for their order to be known."""


class PairedByLevelWarning(AggcalWarning, code="paired-by-level"):
    """Items that were compared with others of their own level, by what is not in the answers."""


class ReversedWarning(AggcalWarning, code="reversed-annotators"):
    """Annotators whose judgments run against the consensus."""


class DividedWarning(AggcalWarning, code="divided"):
    """Annotators fall into camps with opposite orders."""


class UnmatchedItemsWarning(AggcalWarning, code="unmatched-items"):
    """Items that are in only one of the two tables."""


class DirectionWarning(AggcalWarning, code="direction"):
    """The model's scores fall where the consensus rises."""


class NoMaximumWarning(AggcalWarning, code="no-maximum"):
    """The maximum-likelihood estimate does not exist."""


class FewJudgmentsWarning(AggcalWarning, code="few-judgments"):
    """Annotators gave too few judgments for standard errors without a prior."""


class HarmfulWarning(AggcalWarning, code="harmful"):
    """Calibration is likely to make the scores worse."""


class BetterCalibratorWarning(AggcalWarning, code="better-calibrator"):
    """Another calibrator is closer to the truth of the anchors."""


class DependentModelsWarning(AggcalWarning, code="second-model"):
    """A second model is of no use beside the first."""


class AnchorsWarning(AggcalWarning, code="anchors"):
    """Anchors are too few, or not all of them can be used."""


class NoGpuWarning(AggcalWarning, code="no-gpu"):
    """There is no GPU to work with, and the processor took its place."""


class PluginWarning(AggcalWarning, code="plugin"):
    """An installed package registers something that cannot be used."""


class KernelWarning(AggcalWarning, code="kernel"):
    """The judgments do not determine the kernel of a Gaussian process."""


class ConvergenceWarning(AggcalWarning, code="not-converged"):
    """The optimum was not reached to the wanted precision."""
