"""What the columns of a plain table may be called."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from aggcal.io.formats._base import Choices


def _spaced(names: Sequence[str]) -> tuple[str, ...]:
    """Add to each name how a person types it: with spaces where programs have underscores.

    Examples
    --------
    >>> _spaced(["worker", "worker_id"])
    ('worker', 'worker_id', 'worker id')
    """
    return tuple(dict.fromkeys(s for name in names for s in (name, name.replace("_", " "))))


# fmt: off
ANNOTATOR = _spaced((
    "annotator", "annotator_id", "worker", "worker_id", "workerid", "judge", "judge_id",
    "judgeid", "rater", "rater_id", "reviewer", "assessor", "participant", "voter", "user",
    "reviewer_id", "reviewer_name", "reviewername", "member name", "member #",
    "reviewer_email", "annotator_name", "rater_name", "judge_name", "judgename", "participant_id",
    "prolific_pid", "prolific_id", "respondent_id", "email address",
    "teacher", "marker", "examiner", "coder", "labeler", "labeller",
    "user_id", "completed_by", "session_id", "evaluation_session_id", "responseid",
    "response_id",
))
"""Who judged, the surest name first."""

_PAIRS = (
    ("left", "right"), ("model_a", "model_b"), ("item_a", "item_b"), ("option_a", "option_b"),
    ("item_1", "item_2"), ("item1", "item2"), ("option_1", "option_2"), ("option1", "option2"),
    ("generator_1", "generator_2"), ("left choice id", "right choice id"), ("left_id", "right_id"),
    ("choice_a", "choice_b"), ("choice_1", "choice_2"), ("choice1", "choice2"),
    ("response_a", "response_b"), ("response_1", "response_2"), ("output_1", "output_2"),
    ("text_a", "text_b"), ("text_1", "text_2"), ("text1", "text2"), ("a", "b"), ("x", "y"),
)
LEFT_RIGHT = tuple(zip(*(_spaced(side) for side in zip(*_PAIRS, strict=True)), strict=True))
"""What was shown side by side."""

WINNER_LOSER = (
    ("winner", "loser"), ("winner_id", "loser_id"), ("winner id", "loser id"),
    ("chosen", "notchosen"), ("chosen", "not_chosen"), ("chosen", "rejected"),
    ("preferred", "other"), ("better", "worse"),
)
"""What was put above what."""

OUTCOME = (
    "outcome", "winner", "label", "preference", "selected", "result", "choice", "vote", "answer",
)
"""Which side won."""

ITEM = _spaced((
    "item", "item_id", "paper", "paper_id", "submission", "submission_id", "submission #",
    "submission number", "pid", "essay", "script", "poster", "product", "forum", "student", "pupil",
))
"""What was rated, the surest name first."""

PER_ITEM = ("id", "model", "system", "name")
"""What the column of items may be called where no name is surer: often it is something else."""

RATING = (
    "rating", "score", "mark", "grade", "stars", "points", "overall merit", "overall score",
    "total score", "overall evaluation", "overall rating", "overall_rating", "ovemer",
    "overall_assessment", "overall assessment", "overall_recommendation", "overall recommendation",
    "recommendation",
)
"""What an annotator gave an item."""

RANKS = ("rank", "place", "position", "placement", "rang", "platz")
"""Which place an item got: the lowest number is the best, so that none of these is a rating."""

GROUP = (
    "ranking", "task", "task_id", "entry", "question", "question_id", "prompt", "prompt_id",
    "context", "list", "set",
)
"""What was ranked or rated together."""

TIMES = ("count", "counts", "n", "freq", "frequency", "times", "n_votes", "num_votes", "votes")
"""How often a judgment was made, where a table has one row for all of them: this is only said."""

SECONDS = {
    "seconds": 1.0, "duration_s": 1.0, "duration_ms": 1e-3, "lead_time": 1.0,
    "response time (s)": 1.0, "response_time_ms": 1e-3,
}
"""How long a judgment took, and how many seconds one unit is."""
# fmt: on


def paired(columns: Collection[str]) -> bool:
    """Whether columns hold pairs: two that go together, and are not the first of more.

    Examples
    --------
    >>> paired({"a", "b"}), paired({"a", "b", "c"}), paired({"chosen", "rejected"})
    (True, False, True)
    """
    third = {("a", "b"): "c", ("x", "y"): "z"}
    return any(
        one in columns and two in columns and third.get((one, two)) not in columns
        for one, two in (*LEFT_RIGHT, *WINNER_LOSER)
    )


def first_of(cells: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return what stands under the first of these names that is there.

    Examples
    --------
    >>> first_of({"judge": "ann", "user": "x"}, ANNOTATOR)
    'ann'
    """
    return next((cells[name] for name in names if cells.get(name) not in (None, "")), None)


def renamed(record: Mapping[str, Any], choices: Choices) -> dict[str, Any]:
    """Return a record under small letters, with the names that the user gave it.

    Examples
    --------
    >>> renamed({"Mean Score": 3, "item": "a"}, Choices(columns={"rating": "mean score"}))
    {'mean score': 3, 'item': 'a', 'rating': 3}
    """
    cells = {str(name).strip().lower(): value for name, value in record.items()}
    named = {
        own: cells[other.strip().lower()]
        for own, other in choices.columns.items()
        if other.strip().lower() in cells
    }
    return cells | named
