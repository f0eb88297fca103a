"""The study file, ``aggcal.toml``: what a study consists of, described once for all commands.

What it says for an option of a command becomes its default. ``aggcal init`` writes one.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aggcal.cli.commands import COMMANDS
from aggcal.cli.table import FILES, STUDY, Command, Option
from aggcal.errors import FileError, OptionError, did_you_mean

STUDY_FILE = "aggcal.toml"
"""Its name; it is looked for in the current folder only, since one found elsewhere would change
results unseen."""
STUDY_COMMANDS = {name: command for name, command in COMMANDS.items() if command.study}
"""The commands that read it."""
_NONE = "none"
_TABLES = ("column", "outcome")
"""Options that say what something is called: a table of their own in the file."""
_SEVERAL = "judgments"
"""What may be one file or several."""
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}


def study_path(words: Sequence[str]) -> Path | None:
    """Return the study file that a command line means; None if there is none.

    Examples
    --------
    >>> study_path(["run", "--study", __file__]).name
    'study.py'
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
        if os.path.lexists(STUDY_FILE) and not Path(STUDY_FILE).is_file():
            raise FileError(
                f"{STUDY_FILE}: is not a file, as a study file should be; rename it, or say "
                "--study none."
            )
        return Path(STUDY_FILE) if Path(STUDY_FILE).is_file() else None
    if not Path(named).is_file():
        raise FileError(f"{named}: no such file; give a study file with --study, or --study none.")
    return Path(named)


@dataclass(frozen=True)
class Setting:
    """What the file says for one option of a command."""

    key: str
    option: Option
    value: Any
    texts: list[str]
    """The value as it would be typed; none for a flag."""

    @property
    def words(self) -> Iterator[str]:
        """The option and its value, as on the command line."""
        if not self.option.names:
            yield from self.texts
        elif self.option.flag:
            yield from self.option.names[-1:] if self.value else ()
        else:
            for text in self.texts:
                name = self.option.names[-1]
                yield from (f"{name}={text}",) if text.startswith("-") else (name, text)

    @staticmethod
    def fill(settings: Mapping[str, Setting], found: argparse.Namespace, path: Path) -> None:
        """Fill in what was not given, and the words as if all had been given on the command line.

        Columns and outcomes that were given are added to those of the file.
        """
        taken: list[Setting] = []
        for dest, setting in settings.items():
            given = getattr(found, dest)
            if given is None or given is False or given == []:
                setattr(found, dest, setting.value)
                taken.append(setting)
            elif setting.option.key in _TABLES:
                setattr(found, dest, [*setting.value, *given])
                taken.append(setting)
        name, *typed = found.words
        found.words = [name, *(word for each in taken if each.option.names for word in each.words)]
        found.words += _without_study(typed)
        found.words += [word for each in taken if not each.option.names for word in each.words]
        if taken:
            found.from_study = {setting.option.dest for setting in taken}
            found.study_used = f"using {path}: {', '.join(setting.key for setting in taken)}"


def _without_study(words: Iterable[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if word == "--study":
            next(rest, None)
        elif not word.startswith("--study="):
            yield word


def options_of(command: Command) -> dict[str, Option]:
    """Return what the file may set for a command in its own table, by key.

    Examples
    --------
    >>> sorted(options_of(COMMANDS["evaluate"]))
    ['alias', 'items', 'json', 'normalize-ids', 'quiet', 'truth']
    """
    # Of JUDGMENTS and --judgments the first.
    return {o.key: o for o in reversed(command.options) if o is not STUDY}


def _common_options(command: Command) -> dict[str, tuple[Option, str]]:
    """Return what the part for all commands may set, with the file that is meant in a folder."""
    found: dict[str, tuple[Option, str]] = {}
    for key, option in options_of(command).items():
        for name in (key,) if option.study is None else option.study:
            common, _, file = name.partition("/")
            found[common] = option, file
    return found


@dataclass(frozen=True)
class Study:
    """A study file: its path and its contents."""

    path: Path
    data: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Study:
        """Read a file and refuse keys that no command understands."""
        import tomllib  # which few commands need

        try:
            with path.open("rb") as file:
                data = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise FileError(f"{path}: not valid TOML ({error}); correct it.") from None
        except RecursionError:
            raise FileError(f"{path}: lists within lists, too deep to read; correct it.") from None
        except UnicodeDecodeError:
            raise FileError(f"{path}: not UTF-8 text; save it as UTF-8.") from None
        except OSError as error:
            raise FileError(f"{path}: cannot be read ({error.strerror}).") from None
        study = cls(path, data)
        for command in STUDY_COMMANDS.values():
            study.settings(command)
        return study

    def settings(self, command: Command) -> dict[str, Setting]:
        """Return what the file says for a command, by what the parser calls each option."""
        found: dict[str, Setting] = {}
        common, own = _common_options(command), options_of(command)
        for key, value in self._common():
            if key in common:
                option, file = common[key]
                found[option.dest] = self._setting(key, key, option, value, file)
        table = self.data.get(command.name, {})
        if not isinstance(table, Mapping):
            what = f"is a command: write its options below [{command.name}]"
            raise self._refuse(command.name, what)
        for name, value in table.items():
            key = name.replace("_", "-")
            if key not in own:
                raise self._unknown(f"[{command.name}] {name}", key, own)
            where, whole = f"[{command.name}] {key}", f"{command.name}.{key}"
            found[own[key].dest] = self._setting(whole, where, own[key], value)
        return found

    def _common(self) -> Iterator[tuple[str, Any]]:
        """Go through the keys that hold for all commands."""
        known = {key for command in STUDY_COMMANDS.values() for key in options_of(command)}
        for name, value in self.data.items():
            key = name.replace("_", "-")
            if name in STUDY_COMMANDS:
                continue
            if key not in known or (isinstance(value, Mapping) and key not in _TABLES):
                tables = (f"[{each}]" for each in STUDY_COMMANDS)
                shown = f"[{name}]" if isinstance(value, Mapping) else name
                raise self._unknown(shown, shown, (*sorted(known), *tables))
            yield key, value

    def _setting(self, key: str, where: str, option: Option, value: Any, file: str = "") -> Setting:
        if option.key in _TABLES:
            pairs = self._pairs(where, value)
            return Setting(key, option, pairs, pairs)
        if option.repeated or option.several or (option.key == _SEVERAL and _is_list(value)):
            each = [
                self._one(where, one, option) for one in (value if _is_list(value) else [value])
            ]
            return Setting(key, option, [one for one, _ in each], [text for _, text in each])
        one, text = self._one(where, value, option)
        if file:
            one = text = os.path.join(text, file)  # noqa: PTH118  # as it was written
        return Setting(key, option, one, [text])

    def _one(self, where: str, value: Any, option: Option) -> tuple[Any, str]:
        """Return a value as the command line would read it, and the text of which it would."""
        kind: Any = bool if option.flag else option.kind
        if not isinstance(kind, type):
            return self._parsed(where, value, option)
        right = isinstance(value, (int, float) if kind is float else kind)
        if not right or (isinstance(value, bool) and kind is not bool):
            raise self._refuse(where, f"must be {_KINDS[kind]}, not {_written(value)}")
        if option.choices is not None and value not in option.choices:
            near, listed = did_you_mean(value, option.choices), ", ".join(map(str, option.choices))
            raise self._refuse(where, f"'{value}' is unknown{near}; choose {listed}")
        if option.limit is not None and (fault := option.limit.fault(value)):
            raise self._refuse(where, fault)
        kept = self._located(value) if option.value in FILES else kind(value)
        return kept, str(kept)

    def _parsed(self, where: str, value: Any, option: Option) -> tuple[Any, str]:
        """Read what the command line reads from a text of its own: here numbers are numbers."""
        text = ",".join(map(str, value if _is_list(value) else [value]))
        try:
            return option.kind(text), text
        except argparse.ArgumentTypeError as error:
            raise self._refuse(where, str(error).rstrip(".")) from None

    def _pairs(self, where: str, value: Any) -> list[str]:
        """Return a table, or a list as on the command line, as ``NAME=MEANING``."""
        if isinstance(value, Mapping):
            for name, means in value.items():
                if isinstance(means, bool) or not isinstance(means, str | int | float):
                    said = f"must be {_KINDS[str]}, not {_written(means)}"
                    raise self._refuse(f"{where}.{name}", said)
            return [f"{name}={means}" for name, means in value.items()]
        if _is_list(value) and all(isinstance(each, str) for each in value):
            return list(value)
        raise self._refuse(where, "must be a table, such as [column] with annotator = 'coder'")

    def _located(self, value: str) -> str:
        """Return a path as it is from here: those of the file are relative to it."""
        if value in ("-", "identity") or "://" in value:
            return value
        given, folder = os.path.expanduser(value), self.path.parent  # noqa: PTH111
        # As it was written where that is the same: it appears in messages and results.
        return given if folder == Path() else os.path.join(folder, given)  # noqa: PTH118

    def _unknown(self, shown: str, key: str, known: Iterable[str]) -> OptionError:
        near = did_you_mean(key, known)
        return self._refuse(shown, f"is unknown{near}; correct or remove it")

    def _refuse(self, where: str, what: str) -> OptionError:
        return OptionError(f"{self.path}: {where} {what}.")


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _written(value: Any) -> str:
    """Write a value about as it is written in the file.

    Examples
    --------
    >>> _written("0.95"), _written(True), _written([1])
    ("the text '0.95'", 'true', 'a list')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text '{value}'"
    return "a list" if _is_list(value) else "a table" if isinstance(value, dict) else str(value)
