"""Make what a study file says the defaults of a command."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aggcal.cli.arguments import Parser
from aggcal.cli.study import STUDY_FILE
from aggcal.cli.study.settings import Setting, Study, actions_of
from aggcal.errors import FileError

_NONE = "none"


def study_path(words: Sequence[str]) -> Path | None:
    """Return the study file that a command line means; None if there is none.

    Examples
    --------
    >>> study_path(["run", "--study", __file__]).name
    'defaults.py'
    >>> study_path(["run", "--study=none"]) is None
    True
    """
    named = None
    for k, word in enumerate(words):
        if word == "--study" and k + 1 < len(words):
            named = words[k + 1]
        elif word.startswith("--study="):
            named = word.partition("=")[2]
    if named == _NONE:
        return None
    if named is None:
        return Path(STUDY_FILE) if Path(STUDY_FILE).is_file() else None
    if not Path(named).is_file():
        raise FileError(f"{named}: no such file; give a study file with --study, or --study none.")
    return Path(named)


class Defaults:
    """The defaults that a study file gives to a command."""

    def __init__(self, path: Path, name: str, commands: Mapping[str, Parser]) -> None:
        self._path = path
        study = Study.read(path, {each: actions_of(commands[each]) for each in commands})
        self._settings = study.settings(name)
        for setting in self._settings.values():
            action = setting.action
            action.default, action.required = None, False
            if not action.option_strings:
                action.nargs = "*" if action.nargs in ("*", "+") else "?"
        commands[name].hint = f"write {{it}} into {path}"

    def fill(self, found: argparse.Namespace, words: Sequence[str]) -> None:
        """Fill in what was not given, and say in ``words`` the command as if all had been."""
        taken: list[Setting] = []
        for dest, setting in self._settings.items():
            given = getattr(found, dest)
            if given is None or given is False or given == []:
                setattr(found, dest, setting.value)
                taken.append(setting)
            elif setting.key.rpartition(".")[2] in ("column", "outcome"):
                setattr(found, dest, [*setting.value, *given])
                taken.append(setting)
        start = words.index(found.command) + 1
        more = [setting for setting in taken if setting.action.option_strings]
        files = [setting.value for setting in taken if not setting.action.option_strings]
        found.words = [
            *words[:start],
            *(word for setting in more for word in _words(setting)),
            *_without_study(words[start:]),
            *(name for each in files for name in (each if isinstance(each, list) else [each])),
        ]
        if taken:
            listed = ", ".join(setting.key for setting in taken)
            found.study_used = f"using {self._path}: {listed}"


def _words(setting: Setting) -> Iterator[str]:
    """Write a setting as on the command line."""
    option, value = setting.action.option_strings[-1], setting.value
    if value is True:
        yield option
    elif value is not False:
        for each in value if isinstance(value, list) else [value]:
            yield from _option(option, each)


def _option(option: str, value: Any) -> list[str]:
    text = str(value)
    return [f"{option}={text}"] if text.startswith("-") else [option, text]


def _without_study(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if word == "--study":
            next(rest, None)
        elif not word.startswith("--study="):
            yield word
