"""What was typed, for those who want the same results again."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

_READING = {
    *("--format", "--column", "--outcome", "--criterion", "--judged-by", "--ranking-weight"),
    *("--tie-within", "--left-key", "--right-key", "--score-column", "--item-column"),
}
_TALK = {"-q", "--quiet", "--json", "--verbose", "--force"}
_OUTPUT = {"-o", "--output"}


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
    command, reading = ["aggcal"], [options.judgments]
    if getattr(options, "scores", None) is not None:
        reading.append(options.scores)
    for word, value in _paired(options.words):
        if word in _TALK:
            continue
        if word in _OUTPUT:
            command += [word, "DIR"]
            continue
        both = [word] if value is None else [word, value]
        command += both
        if word in _READING or word == "--drafts":
            reading += both
    return {"command": shlex.join(command), "files": shlex.join(reading)}


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
