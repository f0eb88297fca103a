"""What outcome labels mean: one table for every format and every column."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from aggcal.io.formats._base import MEANINGS, STRONG, Choices, Notes
from aggcal.io.formats._steps import CANDIDATE, graded, step_of
from aggcal.io.formats._synonyms import LEFT_RIGHT
from aggcal.io.tables.source import Source, quoted

NO_SIDE = ("tie", "skip", "failed")

# fmt: off
_THINGS = (
    "model", "item", "option", "choice", "response", "output", "text", "answer", "assistant",
    "candidate", "system", "generator", "completion", "summary", "image", "sample",
)
_SIDES = (
    ("left", "right"), ("a", "b"), ("x", "y"), ("first", "second"), ("[[a]]", "[[b]]"),
    ("leftvote", "rightvote"), ("left_vote", "right_vote"),
    ("a>b", "b>a"), ("[[a>b]]", "[[b>a]]"),
    *((f"{thing}_{one}", f"{thing}_{two}") for thing in _THINGS for one, two in ("ab", "12")),
    *((f"{thing}1", f"{thing}2") for thing in _THINGS),
    *LEFT_RIGHT,
)
_BOTH_BAD = (
    "both_bad", "bothbad", "tie_(bothbad)", "tie_(both_bad)", "bothbad_vote", "both_are_bad",
)
_TIES = (
    "tie", "tied", "tievote", "tie_vote", "draw", "equal", "even", "same", "both", "both_good",
    "no_preference", "no_difference", "[[c]]", "a=b", "[[a=b]]", "about_the_same", "the_same",
    "about_equal", "about_equally_good", "equally_good", "roughly_equal", "roughly_the_same",
    "no_clear_preference", "both_are_equal", "both_are_equally_good", "neither_is_better",
)
# fmt: on
_NEITHER = "neither"
"""Counted as a tie, which not everybody would do: so it is said."""


def spelt(label: str) -> str:
    """Return a label without its capitals, and with one sign for all that parts words.

    Examples
    --------
    >>> spelt(" Model A"), spelt("both-bad")
    ('model_a', 'both_bad')
    """
    return label.strip().lower().replace(" ", "_").replace("-", "_")


LABELS: dict[str, str] = {
    **{spelt(left): "left" for left, _ in _SIDES},
    **{spelt(right): "right" for _, right in _SIDES},
    **dict.fromkeys((*_TIES, *_BOTH_BAD, _NEITHER), "tie"),
    **dict.fromkeys(("skip", "skipped", "ignore"), "skip"),
    **dict.fromkeys(("failed", "error"), "failed"),
}
"""What each label means. The numbers 1 and 2 are sides, too, where a column has no others."""

_NAMED_SIDES = {
    **{label: means for label, means in LABELS.items() if means in ("left", "right")},
    "1": "left",
    "2": "right",
}
"""What people call the sides in sentences such as "A is much better"."""
_LONGEST = 80
"""Characters of a label: a longer text is no outcome."""
_MANY = 1_000
"""Different texts in a column from which DuckDB picks the candidates: of fewer Python is faster."""


@cache
def _known() -> re.Pattern[str]:
    """Return what matches the same as what DuckDB is asked; it takes long to compile."""
    labels = (rf"\A{re.escape(each).replace('_', '[ _-]')}\Z" for each in (*LABELS, *STRONG))
    return re.compile("|".join([*labels, CANDIDATE.replace("$", r"\Z")]))


def is_label(text: str) -> bool:
    """Whether a text is an outcome label, also one that says how much better an item is.

    Examples
    --------
    >>> is_label("Model A"), is_label("A is much better"), is_label("gpt-4")
    (True, True, False)
    """
    label = spelt(text)
    return label in LABELS or label in STRONG or step_of(label, _NAMED_SIDES) is not None


def is_both_bad(label: str) -> bool:
    """Whether a label says "both bad", which every arena spells its own way.

    Examples
    --------
    >>> is_both_bad("tie (bothbad)"), is_both_bad("tie")
    (True, False)
    """
    return spelt(label) in _BOTH_BAD


def _candidates(source: Source, said: str) -> dict[str, int]:
    """Return what of a column may be a label, in small letters, and how often it is there."""
    every = f"SELECT lower({said}) AS v, count(*) AS n FROM raw WHERE length({said}) <= {_LONGEST}"
    found = source.connection.execute(f"{every} GROUP BY v ORDER BY v LIMIT {_MANY}").fetchall()
    if len(found) < _MANY:
        return {v: n for v, n in found if _known().search(v)}
    known = ", ".join(map(quoted, (*LABELS, *STRONG)))
    found = source.connection.execute(
        f"SELECT v, n FROM ({every} GROUP BY v) "
        f"WHERE replace(replace(v, ' ', '_'), '-', '_') IN ({known}) "
        f"OR regexp_matches(v, {quoted(CANDIDATE)}) ORDER BY v"
    ).fetchall()
    return {str(v): int(n) for v, n in found}


@dataclass(frozen=True)
class Labels:
    """The labels of one column: what those that occur mean, and how often they do."""

    means: Mapping[str, str]
    """By the label in small letters; those that the user maps are not among them."""
    number: Mapping[str, int]
    mapped: frozenset[str]
    numbered: bool
    """Whether the only numbers are 1 and 2, which are the first and the second item."""
    strengths: int
    """How many rows hold a number from 0 to 1 that is not to be read so."""
    unknown: int
    """How many rows hold something else."""

    @classmethod
    def of(cls, source: Source, said: str, choices: Choices) -> Labels:
        """Look at a column of a table; ``said`` is its SQL."""
        asked = {str(k).strip().lower(): str(v) for k, v in choices.outcomes.items()}
        found = _candidates(source, said)
        number = {v: n for v, n in found.items() if v not in asked and is_label(v)}
        bad = next((means for label, means in asked.items() if is_both_bad(label)), None)
        means = {
            label: bad if bad is not None and is_both_bad(label) else LABELS.get(spelt(label), "")
            for label in number
        }
        means |= _steps(source, means, asked)
        value = f"try_cast({said} AS DOUBLE)"
        # Labels are left out before numbers are looked for: it is slow to find that text is none.
        listed = ", ".join(map(quoted, ("", *asked, *number)))
        counts = source.connection.execute(
            f"SELECT count(*), count({value}), count_if({value} IN (1, 2)), "
            f"count_if({value} = 2), count_if({value} BETWEEN 0 AND 1) FROM raw "
            f"WHERE coalesce(lower({said}), '') NOT IN ({listed})"
        ).fetchall()[0]
        others, numbers, pair, twos, strengths = (int(n or 0) for n in counts)
        numbered = twos > 0 and pair == numbers
        unknown = others - (numbers if numbered else strengths)
        strengths = 0 if numbered else strengths
        return cls(means, number, frozenset(asked), numbered, strengths, unknown)

    def sql(self, said: str) -> str:
        """Write the SQL of what a label means; NULL where it is none."""
        whens = [f"WHEN {quoted(k)} THEN {quoted(v)}" for k, v in self.means.items()]
        label = f"CASE lower({said}) {' '.join(whens)} END" if whens else "NULL"
        if not self.numbered:
            return f"({label})"
        value = f"try_cast({self.open(said)} AS DOUBLE)"
        sides = f"CASE {value} WHEN 1 THEN 'left' WHEN 2 THEN 'right' END"
        return f"coalesce({label}, {sides})"

    def open(self, said: str) -> str:
        """Write the SQL of a label, NULL where the user says what it means."""
        listed = ", ".join(map(quoted, ("", *sorted(self.mapped))))
        return f"(CASE WHEN lower({said}) IN ({listed}) THEN NULL ELSE {said} END)"

    @property
    def are_ours(self) -> bool:
        """Whether there is nothing but the labels of our own format and strengths."""
        ours = all(label in MEANINGS for label in self.means)
        return ours and not self.numbered and not self.unknown

    def say(self, notes: Notes, own: tuple[str, ...] = ()) -> None:
        """Say how labels were taken that are not our own, nor the format's."""
        taken = [
            f"'{label}' as {means}"
            for label, means in self.means.items()
            if means != "tie" and label not in (*MEANINGS, *own) and not is_both_bad(label)
        ]
        if self.numbered:
            taken.append("1 as left, 2 as right")
        if taken:
            notes.append(f"outcomes taken: {', '.join(taken)}")
        for name, labels in (
            ("both bad", [k for k in self.means if is_both_bad(k) and self.means[k] == "tie"]),
            (_NEITHER, [k for k in self.means if k == _NEITHER]),
        ):
            number = sum(self.number[label] for label in labels)
            if number:
                verb = "is counted as a tie" if number == 1 else "are counted as ties"
                label = spelt(name)
                notes.append(f"{number:,} '{name}' {verb}; --outcome {label}=skip leaves them out")


def _steps(source: Source, means: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, str]:
    """Return what labels mean that say how much better an item is, and keep it with the source."""
    own = {label: label for label in means if label in STRONG}
    steps = {label: step_of(spelt(label), _NAMED_SIDES) for label in means if label not in own}
    told = {label: step for label, step in steps.items() if step is not None}
    plain = [label for label, side in means.items() if side in ("left", "right")]
    others = (*own, *(label for label in plain if label not in told))
    stated = (meaning for meaning in asked.values() if meaning in ("left", "right", *STRONG))
    found = graded(told, (*others, *stated), source.name)
    source.steps.update(found)
    return found | own
