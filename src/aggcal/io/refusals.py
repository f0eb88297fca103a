"""Rows of judgments that cannot be read: each is refused with its place, its cause and a remedy."""

from __future__ import annotations

import numpy as np

from aggcal.data.alike import key, visible
from aggcal.errors import OutcomeError, WeightError, option
from aggcal.io import words
from aggcal.io.choices import is_strength
from aggcal.io.columns import Column, number
from aggcal.io.naming import Part

_LISTED = 5  # labels that an error lists
_LIGHTEST, _HEAVIEST = 1e-9, 1e9  # weights outside would drown, or drown the others
_WIDEST = 1e12
"""The heaviest weight over the lightest: numbers have 16 digits, and the curvature needs a few of
them to spare. Within these limits 100 random studies were fitted without a failure (those that did
not converge say so); from 1e14 on, curvatures that cannot be inverted were met."""


def refuse_rows(part: Part, not_answered: str) -> None:
    """Refuse rows without ids, with damaged ones, and with outcomes that mean nothing."""
    columns = part.columns
    shown = {"left": "winner", "right": "loser"} if part.short else {}
    aside = columns["outcome"].has(lambda text: text in ("skip", "failed"))
    # What names nobody and nothing is no question, but a note that got into the table.
    named = ~(columns["annotator"].blank & columns["left"].blank & columns["right"].blank)
    unanswered = columns["outcome"].has(not_answered.__eq__) & named
    if part.choices.blank == "error":
        part.refuse(
            unanswered,
            "has no outcome",
            "write left, right, tie, skip, failed or a number from 0 to 1, or leave "
            f"{option('blank', 'error')} out to count them as not answered",
            OutcomeError,
        )
    # Of a judgment that was never given it need not be known what was shown; but one item alone
    # is what a spreadsheet adds below its rows ("Total, 60"), unless we wrote what was rated.
    added = part.direct and not {"reason", "ranking"} & {*part.names, *columns}
    alone = (columns["left"].blank != columns["right"].blank) & added
    for own, column in ((own, columns[own]) for own in ("annotator", "left", "right")):
        way = "fill it in or remove the row"
        if own == "annotator":
            way = (
                "if the name above it holds for it too, write it again; if nobody knows who "
                "judged, write a word such as 'unknown'"
            )
        name = part.called(own if own in part.names else shown.get(own, own))
        lost = column.blank & ~aside & (~unanswered | alone)
        part.refuse(lost, f"has no value in column '{name}'", way)
        for what, remedy, test in words.DAMAGE:  # what a spreadsheet does to ids
            said = f"has 'VALUE' in column '{name}', which {what}"
            part.refuse(column.has(test), said, remedy, value=column)
    _refuse_outcomes(part, not_answered)
    if "weight" in part.numbers:
        refuse_weights(part)


def _refuse_outcomes(part: Part, not_answered: str) -> None:
    outcome = part.columns["outcome"]
    known = {*words.MEANINGS, not_answered}
    odd = {text for text in outcome.texts if text not in known and np.isnan(number(text))}
    if odd and (bad := outcome.has(odd.__contains__)).any():
        _refuse_labels(part, bad, odd)
    beyond = {text for text in outcome.texts if text not in known | odd and not is_strength(text)}
    part.refuse(
        outcome.has(beyond.__contains__),
        "has the outcome VALUE, which is outside 0 to 1",
        _what_numbers_may_mean(outcome),
        OutcomeError,
        outcome,
    )
    if is_graded(outcome):
        refuse_between(part)


def _what_numbers_may_mean(outcome: Column) -> str:
    """Say how to tell what numbers mean that say who won."""
    met = sorted((text for text in outcome.texts if not np.isnan(number(text))), key=number)
    if len(met) > 7:  # noqa: PLR2004  # more steps than a scale may have
        return "rescale the outcomes so that 1 is a clear left and 0 a clear right"
    each = option("outcome", *(f"{text}=MEANING" for text in met))
    ways = f"say what each number means with {each}, where MEANING is {', '.join(words.MEANINGS)}"
    if len(met) > 2 and all(float(number(text)).is_integer() for text in met):  # noqa: PLR2004
        scale = option("strength-scale", f"{met[0]}:{met[-1]}")
        ends = f"{scale} if its lowest is the strongest left"
        ways += f"; or, for a scale, its ends, such as {ends}, '{met[-1]}:{met[0]}' if the right"
    return ways


def is_graded(outcome: Column) -> bool:
    """Whether outcomes say how much better an item is."""
    return any(text.endswith("+") and text in words.GRADES for text in outcome.texts)


def refuse_between(part: Part) -> None:
    """Refuse numbers between left and right beside steps: they are no step of that scale."""
    outcome = part.columns["outcome"]
    part.refuse(
        outcome.has(lambda text: 0.0 < number(text) < 1.0 and number(text) != 0.5),  # noqa: PLR2004
        "has the outcome VALUE, though others are steps such as left+",
        f"say which step each number means with {option('outcome', 'VALUE=MEANING')}, where "
        f"MEANING is {', '.join(words.GRADES)}",
        OutcomeError,
        outcome,
    )


def _refuse_labels(part: Part, bad: np.ndarray, odd: set[str]) -> None:
    """Say which outcomes are neither labels nor numbers."""
    outcome, row, n = part.columns["outcome"], int(np.argmax(bad)), int(bad.sum())
    where = part.place(row)
    value, items = str(outcome.at(row)), [str(part.columns[s].at(row)) for s in ("left", "right")]
    same = [item for item in items if key(item) == key(value)]
    if same:
        raise OutcomeError(
            f"{part.name}: {where} has the outcome '{visible(value)}', which is the item "
            f"'{visible(same[0])}' but for its spelling; merge such ids with "
            f"{option('normalize-ids')}, or correct them."
        )
    times = zip(outcome.texts, outcome.times().tolist(), strict=True)
    every = sorted(((-k, text) for text, k in times if text in odd and k))
    listed = ", ".join(f"'{text}' ({-k:,}x)" for k, text in every[:_LISTED])
    more = "" if len(every) <= _LISTED else f" and {len(every) - _LISTED:,} more labels"
    shown = option("outcome", *(f"{text}=MEANING" for _, text in every[:_LISTED]))
    raise OutcomeError(
        f"{part.name}: {where} has the unknown outcome '{value}' ({n:,} of {len(part):,} rows: "
        f"{listed}{more}); say what each label means with {shown}, where MEANING is "
        f"{', '.join(words.MEANINGS)} or a number from 0 "
        "(right) to 1 (left)."
    )


def refuse_weights(part: Part) -> None:
    """Refuse weights that are none, or that differ too much to be added up."""
    weight = part.numbers["weight"]
    column = part.columns.get("weight")
    blank = np.zeros(len(part), bool) if column is None else column.blank
    finite = np.where(np.isfinite(weight), weight, 0.0)
    rest = "give every row a weight of 0 or more, or drop the column"
    for bad, what, remedy in (
        (blank, "has no weight", rest),
        (np.isnan(weight), "has a weight that is not a number", rest),
        (np.isinf(weight), "has a weight that is not finite", rest),
        (finite < 0.0, "has a negative weight", rest),
        (
            (finite > 0.0) & ((finite < _LIGHTEST) | (finite > _HEAVIEST)),
            f"has a weight outside {_LIGHTEST:g} to {_HEAVIEST:g}",
            "multiply all weights in the column 'weight' by the same number",
        ),
        (
            (finite > 0.0) & (finite < finite.max(initial=0.0) / _WIDEST),
            f"has a weight of less than 1/{_WIDEST:g} of the largest",
            "write 0 in the column 'weight' where a judgment does not count",
        ),
    ):
        written = column is not None and bad.any() and column.at(int(np.argmax(bad)))
        shown = " ('VALUE')" if written else ""
        part.refuse(bad, f"{what}{shown}", remedy, WeightError, column)
