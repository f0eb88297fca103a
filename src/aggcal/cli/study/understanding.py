"""What the columns and labels of judgments mean, asked where the file does not tell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from aggcal.cli.console import Console
from aggcal.cli.options.formats import columns_from, outcomes_from
from aggcal.cli.options.judgments import judgments_from
from aggcal.cli.study.asking import Asker
from aggcal.cli.study.looking import Look
from aggcal.errors import InputError, OptionError, OutcomeError, TableError, cut
from aggcal.io.formats import formats
from aggcal.io.formats._base import MEANINGS, Choices, TableFormat, number_of
from aggcal.io.formats._labels import Labels
from aggcal.io.formats._parting import categories_of
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._steps import stated_scale
from aggcal.io.formats._synonyms import ANNOTATOR, OUTCOME, SECONDS
from aggcal.io.formats.plain import EXTRA, pair_columns
from aggcal.io.tables.opening import opened
from aggcal.registry import TABLE

if TYPE_CHECKING:
    from aggcal.data.base import AnyJudgments

_LABELS = 8  # that are shown: more make a table unreadable
_LONGEST = 60  # characters of a label, or of a column's name
_NOBODY = "nobody"


def read(options: argparse.Namespace, path: str | list[str]) -> AnyJudgments:
    """Read judgments as the options say, without notes."""
    given = argparse.Namespace(**{**vars(options), "judgments": path, "verbose": False})
    console = Console(quiet=True, progress=not options.quiet)
    return judgments_from(given, console)


def understood(options: argparse.Namespace, look: Look, asker: Asker) -> AnyJudgments:
    """Read judgments; ask for what their file does not tell, and note the answers as options."""
    asked = False
    while True:
        try:
            return read(options, look.path)
        except OutcomeError as error:
            labels = _unknown_labels(options, look)
            if not asker.may_ask or not labels:
                raise
            for label in labels:
                options.outcome.append(f"{label}={_meaning(asker, label, error)}")
        except (TableError, OptionError) as error:
            if asked or not asker.may_ask or not look.columns:
                raise
            _ask_columns(options, look, asker, error)
            asked = True


def _meaning(asker: Asker, label: str, error: InputError) -> str:
    while True:
        said = asker.text(f"What does the outcome '{label}' mean? ({', '.join(MEANINGS)})", error)
        number = number_of(said)
        if said.lower() in MEANINGS or (number is not None and 0.0 <= number <= 1.0):
            return said.lower()


def _ask_columns(options: argparse.Namespace, look: Look, asker: Asker, error: InputError) -> None:
    names = [column.name for column in look.columns.values()]
    known = columns_from(options)
    have = frozenset(look.columns) | frozenset(known)
    if not have & {*ANNOTATOR} and options.judged_by is None:
        who = asker.choose(f"{look.path}: who judged?", [*names, _NOBODY], error)
        if who == _NOBODY:
            options.judged_by = asker.text("Who gave all judgments? (a name)", error)
        else:
            options.column.append(f"annotator={who}")
    pair = pair_columns(have)
    if pair is None:
        way = asker.choose(
            f"{look.path}: does each row name the winner and the loser, or two items and which of "
            "them won?",
            ["winner", "outcome"],
            error,
        )
        wanted = ("winner", "loser") if way == "winner" else ("left", "right")
        for own, says in zip(wanted, _says(way), strict=True):
            options.column.append(f"{own}={asker.choose(f'Which column {says}?', names, error)}")
        pair = (wanted[0], *wanted)
    if pair[0] == "left" and not have & {*OUTCOME}:
        said = asker.choose("Which column says which of the two won?", names, error)
        options.column.append(f"outcome={said}")


def _says(way: str) -> tuple[str, str]:
    if way == "winner":
        return "names the winner", "names the loser"
    return "names the first (left) item", "names the second (right) item"


def _outcome_column(options: argparse.Namespace, look: Look) -> str | None:
    given = columns_from(options).get("outcome")
    names = [given] if given is not None else OUTCOME
    return next((name.strip().lower() for name in names if look.column(name) is not None), None)


def _unknown_labels(options: argparse.Namespace, look: Look) -> list[str]:
    """Return the outcomes that mean nothing known; if all do, those for one of two sides."""
    outcome = _outcome_column(options, look)
    if outcome is None:
        return []
    with opened(look.path, look.names(outcome), what="judgments", shapes={}) as source:
        found = Labels.of(source, "outcome", _choices(options))
        every = [label for label, _ in source.frequencies("outcome", "outcome IS NOT NULL")]
    known = {*found.means, *found.mapped, *(("1", "2") if found.numbered else ())}
    labels = [label for label in every if label.lower() not in known]
    sides = [label for label in labels if number_of(label) in (0.0, 1.0)]
    return [label for label in labels if not _is_strength(label)] or sides


def _choices(options: argparse.Namespace) -> Choices:
    return Choices(outcomes_from(options), strength_scale=stated_scale(options.strength_scale))


def _is_strength(label: str) -> bool:
    number = number_of(label)
    return number is not None and 0.0 <= number <= 1.0


def taken(options: argparse.Namespace, look: Look, format_name: str) -> list[tuple[str, str]]:
    """Return of each column what it is taken for."""
    if format_name != TABLE.name:
        return _of_format(options, look, format_name)
    known = columns_from(options)
    means = {other.strip().lower(): own for own, other in known.items()}
    have = frozenset(look.columns) | frozenset(known)
    pair = pair_columns(have) or ("", "", "")
    sides = ("winner", "loser") if pair[0] == "winner" else ("left", "right")
    guesses = {**dict(zip(pair[1:], sides, strict=True))}
    who = next((name for name in ANNOTATOR if name in have), "")
    guesses |= {who: "annotator"}
    guesses |= {name: name for name in (*EXTRA, "weight", "criterion")}
    guesses |= dict.fromkeys(SECONDS, "seconds")
    if pair[0] == "left":
        guesses |= {_outcome_column(options, look) or "": "outcome"}
    parted = _parted(options)
    found = []
    for name, column in look.columns.items():
        own = (
            parted.get(name)
            or means.get(name)
            or ("" if guesses.get(name) in known else guesses.get(name, ""))
        )
        said = f"outcome: {_labels(options, look)}" if own == "outcome" else own
        found.append((cut(column.name, _LONGEST), said or "not used"))
    return found


def _of_format(options: argparse.Namespace, look: Look, format_name: str) -> list[tuple[str, str]]:
    """Say which columns a tool's format uses, where it is a table."""
    form = next(known for known in formats() if known.info.name == format_name)
    if not isinstance(form, TableFormat):
        return []
    sample = Sample(look.path, frozenset(look.columns))
    used = {*form.columns_of(sample), *(o.strip().lower() for o in columns_from(options).values())}
    return [
        (
            cut(column.name, _LONGEST),
            _parted(options).get(name) or ("used" if name in used else "not used"),
        )
        for name, column in look.columns.items()
    ]


def _parted(options: argparse.Namespace) -> dict[str, str]:
    """Return the columns by which judgments are parted, and what each is."""
    context = {options.context.strip().lower(): "context"} if options.context else {}
    return context | {name.lower(): "category" for name in categories_of(options.by or ())}


def _labels(options: argparse.Namespace, look: Look) -> str:
    """Say what the labels of the outcome mean, with their numbers."""
    outcome = _outcome_column(options, look)
    if outcome is None:
        return "?"
    mapped = {k.lower(): str(v) for k, v in _choices(options).outcomes.items()}
    with opened(look.path, look.names(outcome), what="judgments", shapes={}) as source:
        found = Labels.of(source, "outcome", _choices(options))
        every = source.frequencies("outcome", "outcome IS NOT NULL")
    return ", ".join(_told(every, found, mapped)) or "blank in every row"


def _told(every: list[tuple[str, int]], found: Labels, mapped: dict[str, str]) -> Iterator[str]:
    sides = {"1": "left", "2": "right"} if found.numbered else {}
    by_id = 0
    for k, (label, n) in enumerate(every):
        low = label.lower()
        means = mapped.get(low) or found.means.get(low) or sides.get(low)
        if means is None and not _is_strength(label):
            by_id += n
        elif k < _LABELS:
            yield f"'{cut(label, _LONGEST)}' ({n:,}) {means or 'strength of left'}"
    if by_id:
        yield f"the id of the winner ({by_id:,})"
