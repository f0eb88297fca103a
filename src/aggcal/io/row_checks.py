"""Refuse rows of judgments that cannot be read, each in words, and say what outcomes mean."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.data.alike import key, visible
from aggcal.errors import (
    OptionError,
    OutcomeError,
    TableError,
    TooLittleDataError,
    WeightError,
)
from aggcal.io.formats._base import MEANINGS, OUTCOMES, STRONG, Blank, TableFormat
from aggcal.io.formats._labels import is_both_bad
from aggcal.io.formats._synonyms import LEFT_RIGHT, OUTCOME
from aggcal.io.per_item import refuse_damaged_ids
from aggcal.io.repeated import repeated_header
from aggcal.io.rows import Reading
from aggcal.io.tables.source import Source, quoted

_LISTED = 5  # labels that an error lists
_LIGHTEST, _HEAVIEST = 1e-9, 1e9  # weights outside would drown, or drown the others
_WIDEST = 1e12
"""The heaviest weight over the lightest: numbers have 16 digits, and the curvature needs a few of
them to spare. Within these limits 100 random studies were fitted without a failure (those that did
not converge say so); from 1e14 on, curvatures that cannot be inverted were met."""

GRADES = {
    "tie": 0,
    **{f"left{'+' * k}": 1 + k for k in range(3)},
    **{f"right{'+' * k}": -1 - k for k in range(3)},
}
"""How many steps better the left item is said to be."""

NOT_ANSWERED = "not answered"
"""Why a row with a blank outcome is not fitted."""
_NOTHING = ("na", "n/a", "null")
"""What R and databases write where a cell is blank."""


def checked(
    reading: Reading, outcomes: Mapping[str, str | float], blank: Blank = "skip"
) -> tuple[tuple[str, str], str | None]:
    """Refuse rows that cannot be read.

    Returns the columns of the two items, and the SQL expression for what the outcome means (None
    where each row names a winner and a loser).
    """
    source = reading.source
    if not source.rows():
        what = "has a header but no row; add judgments"
        if not isinstance(reading.format, TableFormat):
            said = "".join(f" ({note})" for note in reading.notes)
            what = (
                f"holds no judgment that {reading.format.info.name} could have{said}; add judgments"
            )
        raise TooLittleDataError(f"{source.name}: {what}.")
    _refuse_off_scale(reading, outcomes)
    long = "outcome" in source.columns
    pair = ("left", "right") if long else ("winner", "loser")
    if outcomes and not long:
        raise OptionError(
            f"{source.name}: has winners and losers, so there is no outcome to map; "
            "leave the outcomes out."
        )
    means = _meaning(outcomes) if long else None
    if blank == "error":
        _refuse_blank(source, pair, means)
    _refuse_missing_ids(source, ("annotator", *pair), means)
    refuse_damaged_ids(source, ("annotator", *pair))
    if means is not None:
        _refuse_outcomes(source, means)
    if "weight" in source.columns:
        refuse_weights(source)
    return pair, means


def unused_labels(reading: Reading, outcomes: Mapping[str, str | float]) -> list[str]:
    """Tell of outcome labels that were mapped though no row has them: they may be misspelt."""
    source = reading.source
    if "outcome" not in source.columns:
        return []
    asked = [str(label).strip().lower() for label in outcomes if label not in reading.scale]
    return [
        f"no row has the outcome '{label}' that was mapped"
        for label in asked
        if label not in (*OUTCOMES, "0", "1")  # which are named to say which side numbers are for
        and not is_both_bad(label)
        and not source.one("count(*)", f"lower(outcome) = {quoted(label)}")
    ]


def _ends(scale: Mapping[str, str]) -> str:
    numbers = [text for text in scale if "." not in text and "+" not in text]
    return f"{numbers[0]} to {numbers[-1]}"


def refuse_unused_scale(reading: Reading) -> None:
    """Refuse a scale that no outcome is on."""
    source, scale = reading.source, reading.scale
    if not scale or "outcome" not in source.columns:
        return
    if not source.one("count(*)", f"lower(outcome) IN ({', '.join(map(quoted, scale))})"):
        raise OptionError(
            f"{source.name}: no outcome is a number from {_ends(scale)}; leave --strength-scale "
            "out, or name the column that holds the numbers with --column outcome=NAME."
        )


def _refuse_off_scale(reading: Reading, outcomes: Mapping[str, str | float]) -> None:
    """Refuse numbers that are not on the scale that was stated."""
    source, scale = reading.source, reading.scale
    if not scale or "outcome" not in source.columns:
        return
    known = ", ".join(quoted(str(label).strip().lower()) for label in {**scale, **outcomes})
    off = f"try_cast(outcome AS DOUBLE) IS NOT NULL AND lower(outcome) NOT IN ({known})"
    if bad := source.offending(off, "outcome"):
        raise OutcomeError(
            f"{source.name}: {bad.location} has the outcome {bad.value}, which is not on the scale "
            f"from {_ends(scale)} ({bad.total}); correct --strength-scale, or say what the number "
            f"means with --outcome '{bad.value}=MEANING'."
        )


def _refuse_missing_ids(source: Source, columns: tuple[str, ...], means: str | None) -> None:
    if not source.any_row(f'"{column}" IS NULL' for column in columns):
        return  # as nearly always, and asked in a hundredth of the words
    # Of a judgment that was never given it need not be known what was shown.
    given = f"NOT ({unanswered(columns[1:], means)})"
    if means is not None:
        given += f" AND coalesce({means}, '') NOT IN ('skip', 'failed')"
    for column in columns:
        where = f'"{column}" IS NULL AND {given}'
        if bad := source.offending(where):
            rest = "" if bad.number == 1 else f" ({bad.total})"
            raise TableError(
                f"{source.name}: {bad.location} has no value in column '{column}'{rest}; "
                "fill it in or remove the row."
            )


def unanswered(pair: tuple[str, ...], means: str | None) -> str:
    """Write the SQL of whether a row has no answer: a blank outcome, or neither item named.

    What names nobody and nothing is no question, but a note that got into the table.
    """
    if means is not None:
        cells = ", ".join(f'"{column}"' for column in ("annotator", *pair))
        return f"({means} = {quoted(NOT_ANSWERED)} AND coalesce({cells}) IS NOT NULL)"
    blank = " AND ".join(f'"{column}" IS NULL' for column in pair)
    return f"({blank} AND annotator IS NOT NULL)"


def _refuse_blank(source: Source, pair: tuple[str, str], means: str | None) -> None:
    if bad := source.offending(unanswered(pair, means)):
        raise OutcomeError(
            f"{source.name}: {bad.location} has no outcome ({bad.total}); "
            "write left, right, tie, skip, failed or a number from 0 to 1, or leave --blank error "
            "out to count them as not answered."
        )


def choose_criterion(
    source: Source, criterion: str | None, *, part: bool = False
) -> tuple[str, ...]:
    """Mark the rows of other criteria than the one chosen; return the criteria that are read.

    A part of a table need not have the one chosen.
    """
    if "criterion" not in source.columns:
        if criterion is not None:
            raise OptionError(
                f"{source.name}: there is no column 'criterion' to choose '{criterion}' from; "
                "leave the option out."
            )
        return ()
    found = [v for v, _ in source.frequencies("criterion", "criterion IS NOT NULL")]
    if criterion is None:
        return tuple(sorted(found))
    if criterion not in found and not part:
        raise OptionError(
            f"{source.name}: no judgment has the criterion '{criterion}'; "
            f"there are {', '.join(sorted(found)) or 'none'}."
        )
    source.connection.execute("ALTER TABLE raw ADD COLUMN other BOOLEAN")
    source.connection.execute("UPDATE raw SET other = criterion IS DISTINCT FROM ?", [criterion])
    return (criterion,) if criterion in found else ()


def _meaning(outcomes: Mapping[str, str | float]) -> str:
    """Write the SQL expression that turns an outcome into a known label or a number."""
    meaning = {label: label for label in MEANINGS}
    for label, value in outcomes.items():
        meaning[str(label).strip().lower()] = str(value).strip().lower()
    meaning = dict.fromkeys(_NOTHING, NOT_ANSWERED) | meaning
    # The shorter the better: it is in every query, and planned anew in each.
    said: dict[str, list[str]] = {}
    for label, value in meaning.items():
        said.setdefault(str(value), []).append(quoted(label))
    same = [quoted(label) for label, value in meaning.items() if label == value]
    cases = [f"WHEN lower(outcome) IN ({', '.join(same)}) THEN lower(outcome)"] if same else []
    cases += [
        f"WHEN lower(outcome) IN ({', '.join(labels)}) THEN {quoted(value)}"
        for value, labels in said.items()
        if labels != [quoted(value)]
    ]
    blank = f"WHEN outcome IS NULL THEN {quoted(NOT_ANSWERED)}"
    return f"(CASE {blank} {' '.join(cases)} ELSE outcome END)"


def _refuse_outcomes(source: Source, means: str) -> None:
    labels = ", ".join(f"'{label}'" for label in (*MEANINGS, NOT_ANSWERED))
    within = f"coalesce(try_cast({means} AS DOUBLE) BETWEEN 0 AND 1, false)"
    if source.one("count(*)", f"{means} NOT IN ({labels}) AND NOT {within}"):
        _refuse_labels(source, means, labels)
    if is_graded(source, means):
        refuse_between(source, means)


def _refuse_labels(source: Source, means: str, labels: str) -> None:
    """Say which outcomes are neither known labels nor numbers from 0 to 1."""
    unknown = f"{means} NOT IN ({labels}) AND try_cast({means} AS DOUBLE) IS NULL"
    if bad := source.offending(unknown, "outcome"):
        number, location, value = bad
        every = source.frequencies("outcome", unknown)
        listed = ", ".join(f"'{v}' ({n:,}x)" for v, n in every[:_LISTED])
        more = "" if len(every) <= _LISTED else f" and {len(every) - _LISTED:,} more labels"
        _refuse_respelt(source, unknown, location, value)
        # With an apostrophe in it, the hint would end in the middle of the label.
        shown = "LABEL" if "'" in value else value
        raise OutcomeError(
            f"{source.name}: {location} has the unknown outcome '{value}' ({number:,} of "
            f"{source.rows():,} rows: {listed}{more}); say what each label means, one by one, with "
            f"--outcome '{shown}=MEANING', where "
            f"MEANING is {', '.join(MEANINGS)} or a number from 0 (right) to 1 (left)."
        )
    outside = f"{means} NOT IN ({labels}) AND NOT (try_cast({means} AS DOUBLE) BETWEEN 0 AND 1)"
    if bad := source.offending(outside, "outcome"):
        raise OutcomeError(
            f"{source.name}: {bad.location} has the outcome {bad.value}, which is outside 0 to 1 "
            f"({bad.total}); rescale the outcomes so that 1 is a clear left and 0 a clear right, "
            "state the ends of their scale with --strength-scale LEFT:RIGHT if they are steps, or "
            f"say what each number means with --outcome '{bad.value}=MEANING', where MEANING is "
            f"{', '.join(MEANINGS)}."
        )


def is_graded(source: Source, means: str) -> bool:
    """Whether an outcome says how much better an item is."""
    strong = ", ".join(map(quoted, STRONG))
    return bool(source.one("count(*)", f"{means} IN ({strong})"))


def refuse_between(source: Source, means: str) -> None:
    """Refuse numbers between left and right beside steps: they are no step of that scale."""
    between = f"try_cast({means} AS DOUBLE) NOT IN (0, 0.5, 1)"
    if bad := source.offending(between, "outcome"):
        raise OutcomeError(
            f"{source.name}: {bad.location} has the outcome {bad.value}, though others are steps "
            f"such as left+ ({bad.total}); say which step each number means with "
            f"--outcome '{bad.value}=MEANING', where MEANING is {', '.join(GRADES)}."
        )


def _refuse_respelt(source: Source, unknown: str, location: str, value: str) -> None:
    """Refuse an outcome that names an item in another spelling, or the column that it is in."""
    _, items = source.first(unknown, """coalesce("left", '') || chr(0) || coalesce("right", '')""")
    if value.lower() in OUTCOME and tuple(items.lower().split("\0")) in LEFT_RIGHT:
        raise repeated_header(source.name, location, [*items.split("\0"), value])
    same = [item for item in items.split("\0") if item and key(item) == key(value)]
    if same:
        raise OutcomeError(
            f"{source.name}: {location} has the outcome '{visible(value)}', which is the item "
            f"'{visible(same[0])}' but for its spelling; merge such ids with --normalize-ids, "
            "or correct them."
        )


def refuse_weights(source: Source) -> None:
    """Refuse weights that are none, or that differ too much to be added up."""
    limits = f"{_LIGHTEST} AND {_HEAVIEST}"
    heaviest = source.connection.execute(
        "SELECT max(try_cast(weight AS DOUBLE)) FROM raw WHERE isfinite(try_cast(weight AS DOUBLE))"
    ).fetchone()
    least = (heaviest[0] or 0.0) / _WIDEST if heaviest else 0.0
    rest = "give every row a weight of 0 or more, or drop the column"
    for where, what, remedy in (
        ("weight IS NULL", "has no weight", rest),
        ("try_cast(weight AS DOUBLE) IS NULL", "has a weight that is not a number", rest),
        ("NOT isfinite(try_cast(weight AS DOUBLE))", "has a weight that is not finite", rest),
        ("try_cast(weight AS DOUBLE) < 0", "has a negative weight", rest),
        (
            f"weight::DOUBLE > 0 AND weight::DOUBLE NOT BETWEEN {limits}",
            f"has a weight outside {_LIGHTEST:g} to {_HEAVIEST:g}",
            "multiply all weights in the column 'weight' by the same number",
        ),
        (
            f"weight::DOUBLE > 0 AND weight::DOUBLE < {least!r}",
            f"has a weight of less than 1/{_WIDEST:g} of the largest",
            "write 0 in the column 'weight' where a judgment does not count",
        ),
    ):
        if bad := source.offending(where, "weight"):
            shown = f" ('{bad.value}')" if bad.value else ""
            raise WeightError(
                f"{source.name}: {bad.location} {what}{shown} ({bad.total}); {remedy}."
            )
