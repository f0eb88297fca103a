"""What an engine is: shards of judgments, and a way to call a function with each of them.

An `Engine` decides where judgments lie: it distributes them as `Shards`, whose one method calls a
function with every shard where that lies, and returns what the function returned. What comes back
has the size of the parameters, never of the data. The functions are those of
`aggcal.aggregation.shards` (sums of a fit) and of `aggcal.engines.remote` (counts).

**How a further engine plugs in.** Write two classes: ``Shards``, of which `ThreadedShards` is the
shortest example, and an `Engine`: ``distribute`` takes `Judgments` in memory, ``read`` a path, and
both return `aggcal.engines.remote.RemoteJudgments`. Add its name to `aggcal.engines.named`.

**The rules.** Shards hold consecutive annotators in the order of their ids, all rows of an
annotator in one shard: the parameters of each are then disposed of within one shard, and the
shards' rows one after the other are exactly the rows of one machine. Every call says all that its
answer depends on, or the function says that the shard has forgotten something, and the caller tells
it again: a shard may be lost and made anew at any time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol

from aggcal._core.kernels.threads import in_turn
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError, option
from aggcal.io import read_judgments

if TYPE_CHECKING:
    from aggcal.engines.remote import RemoteJudgments


@dataclass(eq=False)
class Shard:
    """The judgments of consecutive annotators."""

    judgments: Judgments
    """Without ids: items have their numbers among all, annotators are counted from 0."""
    first: int
    """The number of its first annotator among all."""
    memory: dict[str, Any] = field(default_factory=dict)
    """What functions keep here from call to call: it may get lost."""
    _lock: Any = field(default_factory=RLock)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function with this shard, one at a time."""
        with self._lock:
            return function(self, *arguments)

    def place(self, rows: Any) -> Any:
        """Return laid out rows where sums over them are made: here."""
        return rows

    def inward(self, value: Any) -> Any:
        """Return what a function takes, its arrays where rows lie."""
        return value

    def outward(self, value: Any) -> Any:
        """Return what a function answers, its arrays on this machine."""
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.judgments, self.first)

    def __sizeof__(self) -> int:
        # Engines weigh what they hold by this; a layout takes about as much again.
        return 2 * sys.getsizeof(self.judgments)


class Shards(Protocol):
    """Judgments that lie somewhere, in parts."""

    def __len__(self) -> int:
        """How many shards there are."""
        ...

    def each(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Call a function with every shard and its entry of each column; return the answers."""
        ...


class Engine(Protocol):
    """Holds judgments, and calls functions with them."""

    @property
    def name(self) -> str:
        """What ``summary.json`` calls it."""
        ...

    def distribute(self, judgments: Judgments, /) -> RemoteJudgments:
        """Take judgments that are in memory; ratings are refused (`refuse_ratings`)."""
        ...

    def read(self, path: str, /, **options: Any) -> RemoteJudgments:
        """Read judgments where they are to lie; the options are those of `read_judgments`."""
        return self.distribute(read_judgments(path, **options))

    def close(self) -> None:
        """Let everything go."""
        return  # nothing is held


def refuse_ratings(judgments: Judgments) -> None:
    """Refuse judgments with ratings, which an engine would fit as the pairs that they imply."""
    if judgments.ratings is not None:
        raise OptionError(
            f"{judgments.source}: ratings are fitted on one machine; leave {option('engine')} out, "
            "or write the pairs that they imply with 'aggcal convert'."
        )


class ThreadedShards:
    """Shards in a list, called in threads.

    Parameters
    ----------
    shards
        What functions are called with.
    threads
        How many at a time.
    """

    def __init__(self, shards: Sequence[Shard], threads: int = 1) -> None:
        self._shards, self._threads = shards, threads

    def __len__(self) -> int:
        return len(self._shards)

    def each(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Call a function with every shard and its entry of each column."""

        def call(k: int) -> Any:
            return self._shards[k].call(function, *(column[k] for column in columns))

        return list(in_turn(call, range(len(self)), most=self._threads))
