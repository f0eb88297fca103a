"""A statement about the data, its conditions, and the statements by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aggcal._core.text import brief
from aggcal.calibration.says import Condition, Guarantee


@dataclass(frozen=True)
class Guarantees:
    """The statements, by name.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("bob", "b", "c")]
    >>> found = aggcal.assess(rows, [("a", 1.0), ("b", 3.0), ("c", 0.0)], warn=False).guarantees
    >>> round(found["gain"].values["moved_rms"], 3)
    0.816
    """

    every: tuple[Guarantee, ...] = ()

    __repr__ = brief

    def __iter__(self) -> Iterator[Guarantee]:
        return iter(self.every)

    def __len__(self) -> int:
        return len(self.every)

    def __getitem__(self, name: str) -> Guarantee:
        found = {each.name: each for each in self.every}
        if name not in found:
            raise KeyError(f"{name} (there are {', '.join(found) or 'none'})")
        return found[name]

    def __contains__(self, name: object) -> bool:
        return any(each.name == name for each in self.every)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        return {each.name: each.to_dict() for each in self.every}

    def __str__(self) -> str:
        return "\n".join(f"{each.title}: {each.says}" for each in self.every)


MODEL = Condition(
    "answers are clearer when two items differ more (as the method and its prior assume)"
)
ANNOTATORS = Condition("the annotators are a random sample")
CONTEXTS = Condition("the contexts (such as prompts) are a random sample")
UNSEEN = Condition("the annotators did not see the model's scores")

INDEPENDENT = Condition(
    "answers that share no annotator, question, context or act are independent",
)
