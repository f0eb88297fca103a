"""What a worker does with a question: it asks its shards, in its own threads.

A question comes in one message to each worker (`distributed.Client.run`), beside Dask's tasks: of
those each takes the scheduler several messages for every shard.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from aggcal.engines.sharded.shard import Shard

if TYPE_CHECKING:
    from distributed import Worker


class Kept(NamedTuple):
    """A parameter that a shard keeps for further questions, or its name where it has it already."""

    kind: str
    name: str
    value: Any = None


_kept: WeakKeyDictionary[Shard, dict[str, Kept]] = WeakKeyDictionary()
"""What the shards of this process keep: the last parameter of each kind, as long as they live."""


async def ask_shards(
    keys: Sequence[str], question: str, sent: Sequence[Any], dask_worker: Worker
) -> dict[str, Any]:
    """Ask those of the shards that are on this worker; return their answers.

    A shard that lacks a parameter which it is supposed to have is not asked.
    """
    loop, pool = asyncio.get_running_loop(), dask_worker.executors["default"]
    work = {}
    for key in keys:
        shard = dask_worker.data.get(key)
        parameters = None if shard is None else _recalled(shard, sent)
        if parameters is not None:
            asked = partial(answer, shard, question, *parameters)
            work[key] = loop.run_in_executor(pool, asked)
    return dict(zip(work, await asyncio.gather(*work.values()), strict=True))


def answer(shard: Any, question: str, *parameters: Any) -> Any:
    """Ask one shard."""
    return getattr(shard, question)(*parameters)


def _recalled(shard: Shard, sent: Sequence[Any]) -> list[Any] | None:
    """Return the parameters of a question; None where one of them is not here."""
    mine, found = _kept.setdefault(shard, {}), []
    for each in sent:
        if not isinstance(each, Kept):
            found.append(each)
            continue
        known = mine.get(each.kind)
        if each.value is not None:
            known = mine[each.kind] = each
        if known is None or known.name != each.name:
            return None
        found.append(known.value)
    return found


def _worth_a_line(record: logging.LogRecord) -> bool:
    return record.args != (ask_shards.__name__,)


# Dask notes each call of a function in a worker's log, and a fit makes a hundred of them.
logging.getLogger("distributed.worker").addFilter(_worth_a_line)
