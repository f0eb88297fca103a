"""What was typed, for those who want the same results again."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator

from aggcal.errors import printable

_READING = {
    *("--format", "--column", "--outcome", "--criterion", "--judged-by", "--ranking-weight"),
    *("--tie-within", "--order", "--left-key", "--right-key", "--score-column", "--item-column"),
    *("--blank", "--alias", "--context", "--by", "--criteria", "--strength-scale"),
}
_FLAGS = {"--drafts", "--normalize-ids"}
_TALK = {"-q", "--quiet", "--json", "--verbose", "--force"}
_OUTPUT = {"-o", "--output"}


def judgment_files(options: argparse.Namespace) -> list[str]:
    """Return the files of judgments, in the order in which they were given.

    Examples
    --------
    >>> judgment_files(argparse.Namespace(judgments="a.csv", more_judgments=["b.xlsx"]))
    ['a.csv', 'b.xlsx']
    """
    first = options.judgments
    more = getattr(options, "more_judgments", None) or []
    return [*(first if isinstance(first, list) else [] if first is None else [first]), *more]


def given(options: argparse.Namespace) -> dict[str, str]:
    """Return the command that was given, and its files with how to read them, for a shell.

    Examples
    --------
    >>> typed = argparse.Namespace(judgments="my votes.csv", words=["aggregate", "my votes.csv",
    ...     "-o", "out", "--column", "winner=Better text", "--quiet"])
    >>> given(typed)["command"]
    "aggcal aggregate 'my votes.csv' -o DIR --column 'winner=Better text'"
    >>> given(typed)["files"]
    "'my votes.csv' --column 'winner=Better text'"
    """
    first, *more = judgment_files(options)
    command, reading = ["aggcal"], [first]
    if getattr(options, "scores", None) is not None:
        reading.append(options.scores)
    if more:
        reading += ["--judgments", *more]
    for word, value in _paired(options.words):
        if word in _TALK:
            continue
        if word in _OUTPUT:
            command += [word, "DIR"]
            continue
        both = [word] if value is None else [word, value]
        command += both
        if word in _READING or word in _FLAGS:
            reading += both
    return {
        name: " ".join(map(_word, words))
        for name, words in (("command", command), ("files", reading))
    }


def _word(text: str) -> str:
    r"""Quote a word for a shell; in one that is not plain text strange bytes are escaped.

    Examples
    --------
    >>> print(_word("my votes.csv"), _word("caf\udce9.csv"))
    'my votes.csv' $'caf\xe9.csv'
    """
    if printable(text) == text:
        return shlex.quote(text)
    escaped = os.fsencode(text).decode("latin-1").encode("unicode_escape").decode("ascii")
    return "$'" + escaped.replace("'", "\\'") + "'"


def _paired(words: list[str]) -> Iterator[tuple[str, str | None]]:
    """Go through words; those that take a value come with it, however it was joined to them."""
    rest = iter(words)
    for word in rest:
        name, joined, value = word.partition("=")
        if joined and (name in _READING or name in _OUTPUT):
            yield name, value
        elif word in _READING or word in _OUTPUT:
            yield word, next(rest, None)
        else:
            yield word, None
