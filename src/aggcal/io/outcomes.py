"""What outcomes mean: a side, a step, a strength or the id of the winner, as ours; or a refusal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn

import numpy as np

from aggcal.data.spelling import KINDS, Kind, Spelling, merged_note
from aggcal.errors import (
    OptionError,
    OutcomeError,
    TooLittleDataError,
    count,
    option,
    some,
)
from aggcal.io import words
from aggcal.io.choices import on_scale
from aggcal.io.columns import Column, number, numbers, plain_numbers
from aggcal.io.guessing import is_index, refuse_key, said_by_names, says_lost, says_side
from aggcal.io.naming import Part
from aggcal.io.refusals import refuse_rows
from aggcal.registry import TABLE

NOT_ANSWERED = "not answered"
"""Why a row with a blank outcome is not fitted."""
STRENGTHS = (
    "numbers that say who won are taken as the strength of the left: 1 means that the left item "
    "won, 0 the right"
)
_MOST_SAID = 7
"""Outcomes that a message lists: more steps no scale has."""
_TURNED = (
    "numbers between 0 and 1 are taken as the strength of the right, since 1 means that the right "
    "item won"
)


def meant(part: Part) -> None:
    """Say what the outcomes of a part mean, in place; refuse rows that cannot be read."""
    columns, choices = part.columns, part.choices
    if not len(part):
        what = "has a header but no row; add judgments"
        if part.table is None:
            said = "".join(f" ({note})" for note in part.notes)
            what = f"holds no judgment that {part.form.name} could have{said}; add judgments"
        raise TooLittleDataError(f"{part.name}: {what}.")
    if choices.spelling is not None:
        _respell(part)
    if part.short:
        _refuse_places(part)
        _refuse_draws(part)
        # One who names neither item gave no answer; what names nobody and nothing is a fault.
        none = columns["left"].blank & columns["right"].blank & ~columns["annotator"].blank
        columns["outcome"] = Column(["left", NOT_ANSWERED], none.astype(np.int32))
    else:
        asked = _asked(part)
        if part.direct:
            columns["outcome"] = _plain(part)
        part.said = tuple(columns["outcome"].texts)
        answers = [t for t in sorted(part.said) if words.is_label(t) or not np.isnan(number(t))]
        if part.table is not None and answers and not asked:
            each = option("outcome", *(f"{text}=MEANING" for text in answers[:_MOST_SAID]))
            refuse_key(part.table, f"{each}, where MEANING is {', '.join(words.MEANINGS)}")
        _refuse_off_scale(part, asked)
        labels = _labels(part, asked)
        columns["outcome"] = (_sided if part.direct else _by_label)(part, labels, asked)
        lost = says_lost(part.names["outcome"]) if part.direct and not asked else False
        if lost is None:
            _refuse_worse(part)
        elif lost:
            columns["outcome"] = columns["outcome"].map(_turned)
            part.labels = {text: _turned(means) for text, means in part.labels.items()}
            part.notes.append(
                f"the column '{part.called('outcome')}' names the item that lost: the other one won"
            )
        final = dict.fromkeys(words.NOTHING, NOT_ANSWERED)
        final |= {means: means for means in words.MEANINGS} | asked
        columns["outcome"] = columns["outcome"].map(
            lambda text: final.get(text.lower(), text), NOT_ANSWERED
        )
    refuse_rows(part, NOT_ANSWERED)
    part.notes[:0] = read_as(part)


def _refuse_places(part: Part) -> None:
    """Refuse winners and losers that are only places, unless the user names the columns."""
    items = {text.lower() for side in ("left", "right") for text in part.columns[side].texts}
    typed = part.choices.columns.keys() & {"winner", "loser"}
    named = part.path is not None or part.backend is not None  # tuples have no names
    if part.table is None or typed:
        return
    have = part.table.columns
    sides = next((pair for pair in words.LEFT_RIGHT if {*pair} <= have.keys()), None)
    shown = {v.lower() for side in sides or () for v in part.table.first(side)}
    places = all(words.is_label(text) or text in ("0", "1", "2") for text in items)
    name, other = part.called("winner"), part.called("loser")
    if sides is not None and items and places and not items & shown:
        left, right = (have[side] for side in sides)
        columns = option("column", f"left={left}", f"right={right}", f"outcome={name}")
        raise OptionError(
            f"{part.name}: '{name}' and '{other}' say where an item was shown "
            f"({some(sorted(items))}); read it with {option('format', TABLE)} {columns}."
        )
    if named and items in words.PLACES:
        raise OptionError(
            f"{part.name}: '{name}' and '{other}' hold only {some(sorted(items))}, which may be "
            "places where items were shown; write the items into these columns, or, if they are "
            f"called so, say {option('column', f'winner={name}', f'loser={other}')}."
        )


def _refuse_draws(part: Part) -> None:
    """Refuse winners and losers where another column says of some rows that nobody won."""
    table = part.table
    if (
        table is None
        or part.form.name != TABLE
        or part.choices.columns.keys() & {"winner", "loser"}
    ):
        return
    for name in sorted(table.columns.keys() - {*part.names.values()}):
        texts = sorted({*table.first(name)})
        tied: list[str] = []
        if {*re.split(r"[^a-z]+", name)} & {*words.TIED}:
            tied = [text for text in texts if words.TRUTH.get(text.lower(), number(text)) == 1.0]
        elif words.DECIDED.search(name):
            tied = [text for text in texts if words.LABELS.get(words.spelt(text)) == "tie"]
        if not tied or len(texts) > _MOST_SAID:
            continue
        winner, loser, column = part.called("winner"), part.called("loser"), table.columns[name]
        columns = option("column", f"left={winner}", f"right={loser}", f"outcome={column}")
        blank = len(table.first(name)) < len(table.head)
        filled = f"write 'decided' into the blank cells of '{column}' and " if blank else ""
        texts += ["decided"] if blank else []
        means = (f"{text}={'tie' if text in tied else 'left'}" for text in texts)
        raise OptionError(
            f"{part.name}: '{winner}' and '{loser}' say who won, but '{column}' may say that rows "
            f"with {some(tied)} are draws; if it does, {filled}say {columns} "
            f"{option('outcome', *means)}; "
            f"if not, {option('column', f'winner={winner}', f'loser={loser}')}."
        )


def _refuse_worse(part: Part) -> NoReturn:
    """Refuse a column that may say which was the better or which the worse, with both readings."""
    name = part.called("outcome")
    meant = {text: part.labels.get(text, text.lower()) for text in sorted(part.said)}
    sides = {text: means for text, means in meant.items() if means in words.OPPOSITE}

    def options(sides: Mapping[str, str]) -> str:
        return option("outcome", *(f"{text}={side}" for text, side in sides.items()))

    turned = {text: _turned(means) for text, means in sides.items()}
    ways = f"say {options(sides)} if the better, or {options(turned)} if the worse"
    if not sides:
        ways = "call the column 'winner' if the better, or 'loser' if the worse"
    raise OptionError(f"{part.name}: '{name}' may name the better or the worse of two; {ways}.")


def _asked(part: Part) -> dict[str, str]:
    """Return what outcomes mean by the user's word."""
    scale = part.choices.strength_scale if "strength_scale" in part.form.options else None
    said = {**on_scale(scale), **part.choices.outcomes}
    return {str(k).strip().lower(): str(v).strip().lower() for k, v in said.items()}


def _turned(text: str) -> str:
    """Return an outcome for the other side.

    Examples
    --------
    >>> _turned("left++"), _turned("tie"), _turned("0.25")
    ('right++', 'tie', '0.75')
    """
    side = text.rstrip("+")
    if side in words.OPPOSITE:
        return words.OPPOSITE[side] + text[len(side) :]
    return text if np.isnan(number(text)) else repr(1.0 - number(text))


def unused_labels(part: Part) -> list[str]:
    """Tell of outcome labels that were mapped though no row has them: they may be misspelt."""
    if part.short:
        return []
    there = {text.lower() for text in part.said}
    asked = (str(label).strip().lower() for label in part.choices.outcomes)
    return [
        f"no row has the outcome '{label}' that was mapped"
        for label in asked
        if label not in {*words.OUTCOMES, "0", "1", *there}
        and words.spelt(label) not in words.BOTH_BAD
    ]


# -------------------------------------------------------------------- spelling


def _respell(part: Part) -> None:
    """Bring ids under one spelling, and outcomes that name an item."""
    columns, spelling = part.columns, part.choices.spelling
    assert spelling is not None  # noqa: S101  # asked by the caller
    kinds: dict[Kind, tuple[str, ...]] = {"item": ("left", "right"), "annotator": ("annotator",)}
    for kind, names in kinds.items():
        times: dict[str, int] = {}
        for name in names:
            column = columns[name]
            for text, n in zip(column.texts, column.times().tolist(), strict=True):
                times[text] = times.get(text, 0) + n
        changed = spelling.learn(kind, times)
        before = _of_one_item(columns)
        for name in names:
            columns[name] = columns[name].map(lambda text: changed.get(text, text))  # noqa: B023
        part.notes += [merged_note(kind, changed)] if changed else []
        merged = _of_one_item(columns) - before
        if merged:
            verb, are = ("compares", "is") if merged == 1 else ("compare", "are")
            part.notes.append(
                f"{count(merged, 'judgment')} {verb} two spellings of one item and {are} set aside"
            )
    items = {*columns["left"].texts, *columns["right"].texts}
    _refuse_both(spelling, items & {*columns["annotator"].texts})
    columns["outcome"] = columns["outcome"].map(
        lambda text: now if (now := spelling.of("item", text)) in items else text
    )


def _refuse_both(spelling: Spelling, ids: set[str]) -> None:
    """Refuse an alias that may mean an item or an annotator."""
    items, people = (spelling.aliases.get(kind, {}) for kind in KINDS)
    doubtful = sorted({*items.values()} & ids) if items.keys() & people.keys() else []
    if doubtful:
        raise OptionError(
            f"the alias of {some(doubtful)} may mean an item or an annotator; add a column 'kind' "
            "to the aliases that says item or annotator."
        )


def _of_one_item(columns: Mapping[str, Column]) -> int:
    """Count the rows that compare an item with itself."""
    return int(columns["left"].same(columns["right"]).sum())


# -------------------------------------------------------------------- meaning


def _plain(part: Part) -> Column:
    """Write numbers in the usual way, unless they are ids that look like numbers."""
    outcome = part.columns["outcome"]
    numeric = any(re.search(r"\d", text) and np.isnan(number(text)) for text in outcome.texts)
    named = any(outcome.same(part.columns[side]).any() for side in ("left", "right"))
    if part.table is None or named or not numeric:
        return outcome
    plain, said = plain_numbers(outcome, part.names["outcome"], part.table)
    part.notes += said
    return plain


def _refuse_off_scale(part: Part, asked: Mapping[str, str]) -> None:
    """Refuse numbers that are not on the scale that was stated, and a scale that has none."""
    scale = on_scale(part.choices.strength_scale)
    if not scale or "strength_scale" not in part.form.options:
        return
    outcome, ends = part.columns["outcome"], [text for text in scale if text.lstrip("-").isdigit()]
    if not part.choices.origin and not outcome.has(lambda text: text.lower() in scale).any():
        raise OptionError(
            f"{part.name}: no outcome is a number from {ends[0]} to {ends[-1]}; leave "
            f"{option('strength-scale')} out, or name the column that holds the numbers with "
            f"{option('column', 'outcome=NAME')}."
        )
    part.refuse(
        outcome.has(lambda text: not np.isnan(number(text)) and text.lower() not in asked),
        f"has the outcome VALUE, which is not on the scale from {ends[0]} to {ends[-1]}",
        f"correct {option('strength-scale')}, or say what the number means with "
        f"{option('outcome', 'VALUE=MEANING')}",
        OutcomeError,
        outcome,
    )


def _labels(part: Part, asked: Mapping[str, str]) -> dict[str, str]:
    """Return what each label means."""
    outcome = part.columns["outcome"]
    # Beside W, for won, an L has lost.
    none = {"l"} if "w" in map(str.lower, outcome.texts) else set()
    labels = {
        text: _meaning(text, asked)
        for text in outcome.texts
        if text.lower() not in {*asked, *none} and words.is_label(text)
    }
    part.steps = _graded(labels, asked, part.name)
    labels |= part.steps
    others = [text for text in outcome.texts if text.lower() not in asked and text not in labels]
    values = {text: number(text) for text in others if not np.isnan(number(text))}
    shown = said_by_names(part.called("left"), part.called("right"))
    # A number alone, or one beside others from 0 to 1, may as well count from 0 or be a strength.
    counted = {text for text in shown if text.isdecimal()}
    between = {text for text, value in values.items() if 0.0 <= value <= 1.0}
    if not (counted <= values.keys() and between <= counted):
        shown = {text: side for text, side in shown.items() if text not in counted}
    labels |= {text: shown[text.lower()] for text in (*labels, *others) if text.lower() in shown}
    items = {*part.columns["left"].texts, *part.columns["right"].texts}
    if {"a", "b"} <= {text.lower() for text in labels}:  # as judges of language models say it
        labels |= {text: "tie" for text in others if text in {"C", "c"} - items}
    numbered = 2.0 in values.values() and {*values.values()} <= {1.0, 2.0}  # noqa: PLR2004
    if numbered:
        labels |= {text: "left" if v == 1.0 else "right" for text, v in values.items()}
    return labels


def _by_label(part: Part, labels: Mapping[str, str], _: Mapping[str, str]) -> Column:
    """Give labels our own names, and say which were taken for ties."""
    part.labels = labels
    part.notes += _ties(part.columns["outcome"], labels)
    return part.columns["outcome"].map(lambda text: labels.get(text, text))


def _meaning(text: str, asked: Mapping[str, str]) -> str:
    """Return what a label means; all spellings of "both bad" mean what the user says of one."""
    small = words.spelt(text)
    if small in words.BOTH_BAD:
        said = (means for label, means in asked.items() if words.spelt(label) in words.BOTH_BAD)
        return next(said, "tie")
    return text.lower() if text.lower() in words.MEANINGS else words.LABELS.get(small, "")


def _graded(labels: Mapping[str, str], asked: Mapping[str, str], name: str) -> dict[str, str]:
    """Return what labels with a step mean among each other: left, left+, left++ and so on.

    Without a "slightly", better is the first step and much better the second. With one, that is
    the first, and each other that occurs comes one step after it.
    """
    told = {text: words.step(text) for text in labels if text.lower() not in words.MEANINGS}
    steps = {text: step for text, step in told.items() if step is not None}
    plain = [t for t, m in labels.items() if t not in steps and m.rstrip("+") in words.OPPOSITE]
    plain += [means for means in asked.values() if means.rstrip("+") in words.OPPOSITE]
    levels = {level for _, level in steps.values()} | ({2} if plain else set())
    own = next((text for text in plain if text.endswith("+")), None)
    if 1 in levels and own is not None:
        first = next(text for text, (_, level) in steps.items() if level == 1).lower()
        raise OutcomeError(
            f"{name}: outcomes such as '{first}' beside '{own}' are ambiguous: which is the "
            f"stronger? Say what each label means with {option('outcome', f'{first}=MEANING')}."
        )
    order = sorted(levels) if 1 in levels else [2, 3, 4]
    if len(order) > 3:  # noqa: PLR2004
        raise OutcomeError(
            f"{name}: its outcomes tell four steps of 'better' apart "
            f"({', '.join(sorted(map(str.lower, steps)))}), and there may be three; say what each "
            f"label means with {option('outcome', 'LABEL=MEANING')}."
        )
    return {text: side + "+" * order.index(level) for text, (side, level) in steps.items()}


def read_as(part: Part) -> list[str]:
    """Say which columns and labels were taken for ours that are called otherwise.

    Nothing is said where all are called as ours, and of what a format is known for.
    """
    shown = part.names
    if part.table is not None:
        shown = {own: part.table.columns.get(n.lower(), n) for own, n in shown.items()}
    named = {
        own: f'{own} = "{name.strip()}"'
        for own, name in shown.items()
        if own in (*words.OWN, "item", "rating", "rank")
    }
    typed = part.choices.columns
    if all(n.strip().lower() == own or own in typed for own, n in shown.items() if own in named):
        named = {}
    elif part.by_item and "outcome" in named:
        named["outcome"] += " (the item that won)"
    labels = {
        text: means
        for text, means in sorted(part.labels.items())
        if text.lower() not in words.MEANINGS and words.spelt(text) not in words.BOTH_BAD
    }
    if not {*labels.values()} - {"tie"}:
        labels = {}
    meant = ", ".join(f"{text} = {means}" for text, means in labels.items())
    if meant:
        named["outcome"] = f"{named.get('outcome', 'outcome')} ({meant})"
    return [f"read as: {', '.join(named.values())}"] if named else []


def _ties(outcome: Column, labels: Mapping[str, str]) -> list[str]:
    """Say how many answers were taken for ties that not everybody would call so."""
    times, notes = dict(zip(outcome.texts, outcome.times().tolist(), strict=True)), []
    for name, spellings in (("both bad", words.BOTH_BAD), (words.NEITHER, (words.NEITHER,))):
        n = sum(times[t] for t, m in labels.items() if m == "tie" and words.spelt(t) in spellings)
        if n:
            verb = "is counted as a tie" if n == 1 else "are counted as ties"
            label = words.spelt(name)
            without = option("outcome", f"{label}=skip")
            notes.append(f"{n:,} '{name}' {verb}; {without} leaves them out")
    return notes


def _sided(part: Part, labels: Mapping[str, str], asked: Mapping[str, str]) -> Column:
    """Say which side outcomes are for that name it by a label, a number, or the item that won.

    A column is read in one of these ways throughout. Where two would do and differ, as where items
    are called like sides or like strengths, it is refused: a guess would turn judgments round
    unseen.
    """
    outcome, left, right = (part.columns[name] for name in ("outcome", "left", "right"))
    own = part.names["outcome"] == "outcome" and part.choices.columns.get("outcome") is None
    strength = numbers(outcome)
    between = (strength >= 0.0) & (strength <= 1.0)
    open_ = ~outcome.blank & outcome.has(lambda text: text.lower() not in asked)
    known = outcome.has(lambda text: text in labels)
    ours = own and all(text.lower() in words.MEANINGS for text in labels)
    is_left, is_right = outcome.same(left), outcome.same(right)
    item = is_left | is_right
    if not (open_ & item).any() or (ours and not (open_ & ~known & ~between).any()):
        return _directed(part, labels, asked)
    sides = {text: _strength_of(means) for text, means in labels.items()}
    side = outcome.look_up([sides.get(t, np.nan) for t in outcome.texts], np.nan, float)
    side = np.where(np.isnan(side) & between, strength, side)
    neutral = outcome.has(lambda text: labels.get(text) in words.NO_SIDE)
    decided = open_ & (item | ~neutral)
    by_item, by_side = not (decided & ~item).any(), not (decided & np.isnan(side)).any()
    differ = decided & item & ~np.isnan(side) & (side != np.where(is_left, 1.0, 0.0))
    part.refuse(
        differ & by_item & by_side,
        "has the outcome 'VALUE', which may name a side or an item, and the other rows do not show "
        "which",
        "write left, right or tie in every row",
        value=outcome,
    )
    if by_side and not by_item:
        return _directed(part, labels, asked)
    stray = decided & ~item & ~np.isnan(side)
    # What is neither item must not pass for a side or a strength where others name items.
    part.refuse(
        stray,
        "has the outcome 'VALUE', which is neither of its two items though other rows name the "
        "item that won",
        "correct it, or write left, right or tie in every row",
        OutcomeError,
        outcome,
    )
    kept = outcome.map(lambda text: means if (means := labels.get(text)) in words.NO_SIDE else text)
    codes = np.where(kept.blank, -1, kept.codes + 2)
    part.by_item = True
    codes = np.where(open_ & is_left, 0, np.where(open_ & is_right, 1, codes))
    return Column(["left", "right", *kept.texts], codes.astype(np.int32)).compact()


def _strength_of(means: str) -> float:
    return {"left": 1.0, "righ": 0.0}.get(means[:4], 0.5)


def _directed(part: Part, labels: Mapping[str, str], asked: Mapping[str, str]) -> Column:
    """Take numbers from 0 to 1 for strengths, in the one direction they have, or refuse them.

    In our own columns they are strengths of the left; elsewhere 1 often is the right item.
    """
    outcome = part.columns["outcome"]
    _refuse_swapped(part)
    open_ = [t for t in outcome.texts if t.lower() not in asked and t not in labels]
    values = {text: number(text) for text in open_ if not np.isnan(number(text))}
    side = says_side(part.names["outcome"])
    if side is not None:
        truth = {text: words.TRUTH[text.lower()] for text in open_ if text.lower() in words.TRUTH}
        said = {text: side if value else words.OPPOSITE[side] for text, value in truth.items()}
        labels = {**labels, **said}
    by_label = _by_label(part, labels, asked)
    if not values or not all(0.0 <= value <= 1.0 for value in values.values()):
        return by_label
    stated = {number(label): means[:4] for label, means in asked.items()}
    beyond = [label for label in stated if not (np.isnan(label) or 0.0 <= label <= 1.0)]
    if beyond and part.choices.strength_scale is None:
        rest = option("outcome", *(f"{text}=MEANING" for text in sorted(values, key=float)))
        raise OutcomeError(
            f"{part.name}: {beyond[0]:g} has a meaning of its own, so the other numbers are no "
            f"strengths; say what each of them means with {rest}."
        )
    if not beyond and {*stated} >= {0.0, 1.0} and {*values.values()} <= {0.5}:
        return by_label.map(lambda text: "tie" if text in values else text)
    straight = stated.get(1.0) == "left" or stated.get(0.0) == "righ"
    turned = stated.get(1.0) == "righ" or stated.get(0.0) == "left"
    ours = [part.names[own] for own in ("left", "right", "outcome")] == ["left", "right", "outcome"]
    ours = ours and not {"left", "right", "outcome"} & part.choices.columns.keys()
    index = is_index(part.names["left"], part.names["right"])
    if straight == turned and (index or side is not None):
        straight, turned = side == "left", index or side == "right"
    elif not ours:
        ends = [text for text, value in values.items() if value in (0.0, 1.0)]
        halves = {*values.values()} <= {0.0, 0.5, 1.0}
        if ends or (not halves and straight == turned):
            _refuse_direction(part, ends)
    if not turned:
        # A side that is named in the same column tells as much.
        told = {"left", "right"} & {*labels.values()} or (side is None and straight)
        part.notes += [] if told else [STRENGTHS]
    else:
        part.notes.append(_TURNED)
        values = {text: 1.0 - value for text, value in values.items()}
    return by_label.map(lambda text: repr(values[text]) if text in values else text)


def _refuse_swapped(part: Part) -> None:
    """Refuse answers that name a side where another column says that sides were exchanged."""
    table, choices = part.table, part.choices
    read = "" if part.form.name == TABLE else f"{option('format', TABLE)} "
    if table is None or {"outcome", "swapped"} & choices.columns.keys() or choices.outcomes:
        return
    for name in filter(words.SWAPPED.search, table.columns.keys() - {*part.names.values()}):
        if len({*table.first(name)}) > 1:
            raise OptionError(
                f"{part.name}: '{name}' says that items were shown in the other order in some rows,"
                f" and '{part.called('outcome')}' may name the side where an item is written or "
                "where it was shown; if the former, say "
                f"{option('column', 'outcome=' + part.called('outcome'))}; if the latter, "
                f"{read}{option('column', 'swapped=' + table.columns[name])}."
            )


def _refuse_direction(part: Part, ends: list[str]) -> None:
    """Refuse numbers of which nobody knows which side they are for, with both readings."""
    left, right = part.called("left"), part.called("right")
    labels = sorted(ends, key=float, reverse=True) or ["1", "0"]

    def options(*sides: str) -> str:
        return option("outcome", *(f"{each}={sides[float(each) != 0.0]}" for each in labels))

    raise OutcomeError(
        f"{part.name}: column '{part.called('outcome')}' says by numbers from 0 to 1 which item "
        f"won, and 1 may stand for '{left}' or for '{right}'; say {options('right', 'left')} if "
        f"it stands for '{left}', or {options('left', 'right')} if for '{right}'."
    )
