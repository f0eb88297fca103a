"""The columns by which the user has rows parted: a context, categories."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from aggcal.data.row_columns import CRITERION
from aggcal.errors import OptionError, did_you_mean
from aggcal.io.formats._base import Choices, text_of
from aggcal.io.tables.source import listed

# fmt: off
NATURAL_NAMES = {
    "prompt": (
        "prompt", "prompt_id", "instruction", "question", "question_id", "input", "query",
        "instruction_id", "context",
    ),
    "task": ("task", "task_id", "question_id", "prompt_id"),
    "session": ("session", "session_id", "session id", "evaluation_session_id", "conversation_id"),
}
"""What a context is called in a wish, and the columns that hold it, the surest first."""
# fmt: on
OF_A_RANKING = ("ranking", "screen")
"""What a context is called that is the ranking or the ratings which pairs were taken from."""


def wished(choices: Choices) -> dict[str, str]:
    """Return our own columns for what the user wants rows parted by, and what they call it.

    Examples
    --------
    >>> wished(Choices(context="prompt", by=("language", "topic")))
    {'context': 'prompt', 'by_1': 'language', 'by_2': 'topic'}
    """
    context = {} if choices.context is None else {"context": choices.context}
    return context | {f"by_{k}": name for k, name in enumerate(choices.by, 1)}


def categories_of(
    by: Sequence[str] | str, criterion: str | None = None, criteria: str | None = None
) -> tuple[str, ...]:
    """Return the columns of categories, that of the criteria last where all of those are kept.

    Examples
    --------
    >>> categories_of("language, topic"), categories_of(["topic"], None, "all")
    (('language', 'topic'), ('topic', 'criterion'))
    """
    names = [name.strip() for name in (by.split(",") if isinstance(by, str) and by else by)]
    if criteria not in (None, "all"):
        raise OptionError(
            f"criteria cannot be '{criteria}'; say all, or name one criterion with --criterion."
        )
    if criteria is not None and criterion is not None:
        raise OptionError("one criterion is chosen and all are kept; leave one of the two out.")
    if criteria is not None and CRITERION not in names:
        names.append(CRITERION)
    small = [name.lower() for name in names]
    if "" in small or len(set(small)) < len(small):
        raise OptionError(
            f"the categories '{','.join(names)}' name a column twice or none; name each once."
        )
    return tuple(names)


def column_of(
    own: str, name: str, have: Container[str], known: Mapping[str, tuple[str, ...]]
) -> str:
    """Return the column that a wish means: of this name, or by one that it naturally has.

    Examples
    --------
    >>> column_of("context", "Prompt", {"instruction"}, {}), column_of("by_1", "Topic", set(), {})
    ('instruction', 'topic')
    """
    said = name.strip().lower()
    if said in have or own != "context":
        return said
    natural = (*known.get(said, ()), *NATURAL_NAMES.get(said, ()))
    return next((other for other in natural if other in have), said)


MARK = ""
"""Where a record keeps its context and categories, once looked up: no column has this name."""

Mark: TypeAlias = tuple[str | None, tuple[str | None, ...]]
"""A context and categories, each None where there is none."""


def marked(cells: Mapping[str, Any], choices: Choices) -> Mark:
    """Return the context and the categories of a row of a table whose names are in small letters.

    Rankings are no names of themselves, since two people may rank alike: they are numbered
    elsewhere.

    Examples
    --------
    >>> marked({"question_id": 7, "lang": "de"}, Choices(context="prompt", by=("lang", "topic")))
    ('7', ('de', None))
    """
    found = {
        own: text_of(cells.get(column_of(own, name, cells, {})))
        for own, name in wished(choices).items()
    }
    ranked = (choices.context or "").strip().lower() in OF_A_RANKING
    context = None if ranked else found.get("context")
    return context, tuple(value for own, value in found.items() if own != "context")


def of_both(one: tuple[str | None, ...], other: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """Return the categories that two items share; a pair across categories is of none.

    Examples
    --------
    >>> of_both(("de", "news"), ("de", "sport"))
    ('de', None)
    """
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


def no_such_column(file: str, own: str, name: str, found: Iterable[str]) -> OptionError:
    """Say that there is no column to part rows by.

    Examples
    --------
    >>> print(no_such_column("f.csv", "context", "promt", ["prompt", "left"]))
    f.csv: there is no column 'promt' to take as the context (did you mean 'prompt'?) (found: ...
    """
    what = "the context" if own == "context" else "a category"
    known = [*found]
    return OptionError(
        f"{file}: there is no column '{name}' to take as {what}{did_you_mean(name, known)} "
        f"(found: {listed(known)})."
    )


def text_in(record: Any, name: str, places: Iterable[str] = ()) -> Any:
    """Return what a record holds under a name in small letters; also within these of its parts.

    Examples
    --------
    >>> text_in({"id": 3, "data": {"Prompt": "Why?"}}, "prompt", ("data",))
    'Why?'
    """
    if not isinstance(record, Mapping):
        return None
    for part in (record, *(record.get(place) for place in places)):
        if isinstance(part, Mapping):
            for key, value in part.items():
                if str(key).strip().lower() == name and value not in (None, ""):
                    return value
    return None
