"""What an engine is: shards of compact columns, and sums over them.

The optimum of Stage 1 is a few dozen sums over the judgments. An `Engine` decides where they are
computed: it distributes judgments as `Shards`, and shards answer questions. A question is the name
of a method of `aggcal.engines.sharded.shard.Shard` with its parameters (scores, a vector, ...).
What comes back has the size of the parameters, never of the data. Everything above (the solver, the
standard errors) asks questions and does not know where they are answered.

**How a further engine plugs in.** Write two classes:

1. ``Shards`` below: ``total`` asks every shard and adds up the answers, ``listed`` returns them
   one by one, ``derived`` makes new shards out of the answers. The shortest example, three loops,
   is `aggcal.engines.sharded.local.LocalShards`.
2. ``Engine`` below: ``distribute`` takes `Judgments` in memory, ``read`` a path, and both return
   `aggcal.engines.remote.RemoteJudgments` (``RemoteJudgments.of_shards`` makes them from what the
   shards tell about themselves). Add its name to `aggcal.engines.named`.

An engine that has all rows in one place needs no shards: `aggcal.engines.gpu` moves them to a
device (``RemoteJudgments.of_local``). Either way a kind of rows registers the objectives that sum
over it (`aggcal.models.compiled.thurstone` and its like are dispatched by the kind of rows).

**The rules.** Shards hold consecutive annotators in the order of their ids, all rows of an
annotator in one shard: each reliability is then eliminated within one shard, and the shards' rows
one after the other are exactly the rows of one machine. (Very active annotators are never split:
a shard is at least as large as its most active annotator.) Every question says all that its answer
depends on, so that a shard which was lost and made again gives the same answer; what a shard
remembers between questions (curvature, reliabilities to begin with) only saves work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.models.compiled import thurstone
from aggcal.models.crowd import Crowd
from aggcal.models.links import link as link_of
from aggcal.models.objective import Objective
from aggcal.models.rows import Rows
from aggcal.models.thurstone import Thurstone

if TYPE_CHECKING:
    from aggcal.data.judgments import Judgments
    from aggcal.engines.remote import RemoteJudgments


class Shards(Protocol):
    """Judgments that lie somewhere, in parts."""

    def __len__(self) -> int:
        """How many shards there are."""
        ...

    def total(self, question: str, *parameters: Any) -> Any:
        """Ask every shard; return the sum of the answers, added in an order that stays the same.

        Parameters
        ----------
        question
            Name of a method of `Shard`.
        parameters
            Of that method, the same for all shards. What is `Lasting` comes again with many
            questions (the same object each time) and needs to be sent once only.
        """
        ...

    def listed(self, question: str, *parameters: Any) -> list[Any]:
        """Ask every shard; return the answers in the order of the shards."""
        ...

    def derived(self, question: str, *parameters: Any, only: int | None = None) -> Shards:
        """Return new shards: what each shard (or one of them) answers, left where it is."""
        ...


class Engine(Protocol):
    """Holds the rows of judgments, and sums over them."""

    @property
    def name(self) -> str:
        """What ``summary.json`` calls it."""
        ...

    @property
    def integrates(self) -> bool:
        """Whether it can integrate annotators' parameters out: what holds shards can."""
        ...

    def distribute(self, judgments: Judgments, /) -> RemoteJudgments:
        """Take judgments that are in memory."""
        ...

    def read(
        self,
        path: str,
        /,
        *,
        on_progress: Callable[[float], None] | None = None,
        **options: Any,
    ) -> RemoteJudgments:
        """Read judgments where they are to lie; the options are those of `read_judgments`."""
        ...

    def close(self) -> None:
        """Let everything go."""
        ...


@dataclass(frozen=True)
class Model:
    """Which likelihood: enough to make its objective of any rows, without the scores' prior."""

    link: str
    precision: float | None = None
    """Of the reliabilities' prior; None where every annotator counts alike."""
    crowd: Mapping[str, float] | None = None
    """Options of a crowd mixture, where it is one."""

    def problem(self, rows: Rows) -> Objective:
        """Return the objective of these rows."""
        if self.crowd is None and self.precision is None:
            return thurstone(rows.pooled(), link_of(self.link), 0.0, None)
        if self.crowd is None:
            return thurstone(rows, link_of(self.link), 0.0, self.precision)
        return self._mixture(rows, self.crowd)

    def formulae(self, rows: Rows) -> Objective:
        """Return it without the room that its sums take."""
        if self.crowd is None:
            whose = rows.pooled() if self.precision is None else rows
            return Thurstone(whose, link_of(self.link), 0.0, self.precision)
        return self._mixture(rows, self.crowd)

    def _mixture(self, rows: Rows, options: Mapping[str, float]) -> Objective:
        return Crowd(rows, link_of(self.link), 0.0, **{**options, "virtual": 0.0})


class Lasting:
    """A parameter that comes again with many questions, until one of its kind takes its place."""

    @property
    def nbytes(self) -> int:
        """How much room its numbers take."""
        return sum(size_of(part) for part in vars(self).values())


def size_of(part: object) -> int:
    """Return how much room numbers take, also within mappings and tuples; 0 for what has none.

    Examples
    --------
    >>> size_of({"a": (np.zeros(2), None)})
    16
    """
    if isinstance(part, Mapping):
        return sum(map(size_of, part.values()))
    if isinstance(part, tuple | list):
        return sum(map(size_of, part))
    return int(getattr(part, "nbytes", 0))


@dataclass(frozen=True, eq=False)
class Parts:
    """What a shard answers: sums, which are added up, and columns over its annotators.

    Examples
    --------
    >>> one, two = (Parts((k,), (np.array([k]),)) for k in (1.0, 2.0))
    >>> (one + two).sums, (one + two).columns
    ((3.0,), (array([1., 2.]),))
    """

    sums: tuple[Any, ...]
    columns: tuple[np.ndarray, ...]

    def __add__(self, other: Parts) -> Parts:
        return Parts(
            tuple(one + two for one, two in zip(self.sums, other.sums, strict=True)),
            tuple(map(np.concatenate, zip(self.columns, other.columns, strict=True))),
        )


@dataclass(frozen=True, eq=False)
class FitPoint(Lasting):
    """A point of a fit: a shard that has forgotten its curvature there finds it again from this."""

    fit: str
    number: int
    model: Model
    scores: FloatArray
    tolerance: float


@dataclass(frozen=True, eq=False)
class InformationPoint(Lasting):
    """Where the Fisher information is taken."""

    model: Model
    scores: FloatArray
    theta: FloatArray
    name: str = field(default_factory=lambda: uuid4().hex)

    def of(self, first: int, last: int) -> FloatArray:
        """Return the parameters of these annotators."""
        return self.theta[first:last] if len(self.theta) > 1 else np.ravel(self.theta)
