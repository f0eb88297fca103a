"""Shards as futures on the workers of a cluster, and how they are asked.

A question goes to all workers that have shards, in one message each, and the answers are added up
here; what would be too much for this machine is asked by tasks and added up in a tree of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from aggcal.engines.base import Lasting, size_of
from aggcal.engines.sharded.dask_asking import Kept, answer, ask_shards
from aggcal.engines.sharded.dask_files import BRANCHES

if TYPE_CHECKING:
    from distributed import Future

    from aggcal.engines.sharded.dask import Dask

_AT_HOME = 1 << 28
"""Bytes of a question to all shards together up to which it goes through the scheduler, and the
answers come here: a tree of tasks takes less memory and several times as long."""
_AHEAD = 1 << 16
"""Bytes from which a parameter is sent to the workers ahead of the tasks that need it."""


class LostShardsError(LookupError):
    """Shards, or what they were sent, are not where they were."""


class DaskShards:
    """Shards as futures.

    Parameters
    ----------
    engine
        Where they lie.
    make
        Makes them, and makes them again if Dask cannot.
    """

    def __init__(self, engine: Dask, make: Callable[[], list[Future]]) -> None:
        self._engine, self._make = engine, make
        self._futures: list[Future] = []
        self._located = False
        self._workers: list[str] | None = None
        self._kept: dict[str, tuple[object, str]] = {}
        self._sent: dict[type, tuple[object, Future]] = {}
        engine.surviving(self._made, self._renew)

    def __len__(self) -> int:
        return len(self._futures)

    @property
    def futures(self) -> list[Future]:
        """The shards."""
        return self._futures

    def total(self, question: str, *parameters: Any) -> Any:
        """Ask every shard, and add up the answers in a tree."""

        def work() -> Any:
            if self._too_much(question, parameters):
                by_tasks = partial(self._engine.submit, _added)
                return _in_tree(self._asked(question, parameters), by_tasks).result()
            return _in_tree(self._answers(question, parameters), _added)

        found = self._engine.surviving(work, self._renew)
        self._engine.passed(question)
        return found

    def listed(self, question: str, *parameters: Any) -> list[Any]:
        """Ask every shard."""

        def work() -> list[Any]:
            return self._answers(question, parameters)

        found = self._engine.surviving(work, self._renew)
        self._engine.passed(question)
        return found

    def derived(self, question: str, *parameters: Any, only: int | None = None) -> DaskShards:
        """Return what shards answer as shards, left on their workers."""

        def make() -> list[Future]:
            if self._given_up():
                self._renew()
            return self._asked(question, parameters, only)

        return DaskShards(self._engine, make)

    def _made(self) -> None:
        """Make the shards if need be, and find out which workers have them."""
        from distributed import wait

        if not self._futures:
            self._futures = self._make()
        wait(self._futures)
        for shard in self._futures:
            if shard.status != "finished":
                shard.result()
        client = self._engine.client
        holders = {at for each in client.who_has(self._futures).values() for at in each}
        # To ask all is to ask those that there are: one that has left is waited for half a minute.
        self._workers = None if holders == client.nthreads().keys() else sorted(holders)
        self._located = True

    def _given_up(self) -> bool:
        return any(shard.status not in ("finished", "pending") for shard in self._futures)

    def _renew(self) -> None:
        """Send everything again; make the shards again if Dask gave them up."""
        self._sent.clear()
        self._kept.clear()
        self._located = False
        if self._given_up():
            self._futures = []
            self._futures = self._make()

    # ------------------------------------------------------------------ by messages

    def _answers(self, question: str, parameters: Sequence[Any]) -> list[Any]:
        """Ask every shard where it lies, in one message to each worker."""
        if not self._located or any(shard.status != "finished" for shard in self._futures):
            self._made()
        keys = [shard.key for shard in self._futures]
        sent = [self._worded(parameter) for parameter in parameters]
        answers: dict[str, Any] = {}
        asked = (ask_shards, keys, question, sent)
        for found in self._engine.client.run(*asked, workers=self._workers).values():
            answers |= found
        if len(answers) < len(keys):
            raise LostShardsError
        for parameter, each in zip(parameters, sent, strict=True):
            if isinstance(each, Kept):
                self._kept[each.kind] = parameter, each.name
        return [answers[key] for key in keys]

    def _worded(self, parameter: Any) -> Any:
        """Return a parameter as it is sent: what shards keep already, by its name alone."""
        if not isinstance(parameter, Lasting):
            return parameter
        kind = type(parameter).__name__
        before, name = self._kept.get(kind, (None, ""))
        return Kept(kind, name) if before is parameter else Kept(kind, uuid4().hex, parameter)

    # ------------------------------------------------------------------ by tasks

    def _too_much(self, question: str, parameters: Sequence[Any]) -> bool:
        """Whether the answers of all shards may be too much for one machine."""
        matrices = question.endswith("dense")
        large = len(self) * sum(map(size_of, parameters)) > _AT_HOME
        return len(self) > BRANCHES and (matrices or large)

    def _asked(
        self, question: str, parameters: Sequence[Any], only: int | None = None
    ) -> list[Future]:
        sent = [self._on_workers(parameter) for parameter in parameters]
        asked = self._futures if only is None else self._futures[only : only + 1]
        return [self._engine.submit(answer, shard, question, *sent) for shard in asked]

    def _on_workers(self, parameter: Any) -> Any:
        """Send a parameter to all workers, unless it is small or there already."""
        if size_of(parameter) < _AHEAD:
            return parameter
        kind = type(parameter)
        before, future = self._sent.get(kind, (None, None))
        if before is parameter:
            return future
        future = self._engine.client.scatter(parameter, broadcast=True, hash=False)
        if isinstance(parameter, Lasting):
            self._sent[kind] = parameter, future
        return future


def _added(answers: Sequence[Any]) -> Any:
    return reduce(add, answers)


def _in_tree(level: Sequence[Any], added: Callable[[Sequence[Any]], Any]) -> Any:
    """Add up answers, several at a time: in the same order wherever that is done."""
    while len(level) > 1:
        level = [added(level[k : k + BRANCHES]) for k in range(0, len(level), BRANCHES)]
    return level[0]
