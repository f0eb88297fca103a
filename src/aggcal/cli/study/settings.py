"""Read a study file, and hold every key of it against what the commands take."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aggcal._core.records import dataclass
from aggcal.cli.arguments import FILES
from aggcal.cli.study import STUDY_COMMANDS
from aggcal.errors import FileError, OptionError, did_you_mean

Actions = Mapping[str, argparse.Action]
"""What a command takes, by the name of the option or of the file."""

_MAPPED = ("column", "outcome")
"""Options that say what something is called: a table of their own in the file."""
_ONLY_FOR: Mapping[str, Mapping[str, str]] = {
    # One folder of results: written by these, read by those.
    "output": {"run": "output", "aggregate": "output", "report": "results", "evaluate": "items"},
    "items": {"suggest": "items"},
    "format": {name: "format" for name in STUDY_COMMANDS if name not in ("report", "evaluate")},
}
"""Keys that mean one thing for all commands, though some call another thing by that name."""
_SEVERAL = "judgments"
"""What may be one file or several."""
_NOT_THERE = {"help", "study"}
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}


@dataclass(frozen=True)
class Setting:
    """What the file says for one option of a command."""

    key: str
    action: argparse.Action
    value: Any


def actions_of(command: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return what a command takes, by the keys that stand for it in the file.

    Examples
    --------
    >>> command = argparse.ArgumentParser()
    >>> _ = command.add_argument("judgments"), command.add_argument("-o", "--output")
    >>> list(actions_of(command))
    ['judgments', 'output']
    """
    found: dict[str, argparse.Action] = {}
    for action in command._actions:  # noqa: SLF001  # argparse has no public list
        name = action.option_strings[-1].lstrip("-") if action.option_strings else action.dest
        if name not in _NOT_THERE:
            found.setdefault(name, action)  # of JUDGMENTS and --judgments the first
    return found


@dataclass(frozen=True)
class Study:
    """A study file: its path and its contents."""

    path: Path
    data: Mapping[str, Any]
    commands: Mapping[str, Actions]

    @classmethod
    def read(cls, path: Path, commands: Mapping[str, Actions]) -> Study:
        """Read a file and refuse keys that no command understands."""
        import tomllib  # which few commands need

        try:
            with path.open("rb") as file:
                data = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise FileError(f"{path}: not valid TOML ({error}); correct it.") from None
        except UnicodeDecodeError:
            raise FileError(f"{path}: not UTF-8 text; save it as UTF-8.") from None
        except OSError as error:
            raise FileError(f"{path}: cannot be read ({error.strerror}).") from None
        study = cls(path, data, commands)
        for name in STUDY_COMMANDS:
            study.settings(name)
        return study

    def settings(self, command: str) -> dict[str, Setting]:
        """Return what the file says for a command, by the destination of each option."""
        found: dict[str, Setting] = {}
        for key, value in self._common():
            dest = _ONLY_FOR[key].get(command) if key in _ONLY_FOR else key
            action = self.commands[command].get(dest or "")
            if action is not None:
                kept = self._value(key, value, action, "")
                if key == "output" and command == "evaluate":
                    kept = os.path.join(kept, "items.csv")  # noqa: PTH118  # as it was written
                found[action.dest] = Setting(key, action, kept)
        own = self.data.get(command, {})
        if not isinstance(own, Mapping):
            raise self._refuse(command, "is a command: write its options below [" + command + "]")
        for name, value in own.items():
            key, actions = name.replace("_", "-"), self.commands[command]
            if key not in actions:
                raise self._unknown(f"[{command}] {name}", key, actions)
            action = actions[key]
            kept = self._value(key, value, action, f"[{command}] ")
            found[action.dest] = Setting(f"{command}.{key}", action, kept)
        return found

    def _common(self) -> Iterator[tuple[str, Any]]:
        """Go through the keys that hold for all commands."""
        known = {key for actions in self.commands.values() for key in actions} | {*_ONLY_FOR}
        for name, value in self.data.items():
            key = name.replace("_", "-")
            if name in STUDY_COMMANDS:
                continue
            if key not in known or (isinstance(value, Mapping) and key not in _MAPPED):
                tables = (f"[{each}]" for each in STUDY_COMMANDS)
                shown = f"[{name}]" if isinstance(value, Mapping) else name
                raise self._unknown(shown, shown, (*sorted(known), *tables))
            yield key, value

    def _value(self, key: str, value: Any, action: argparse.Action, table: str) -> Any:
        where = f"{table}{key}"
        if key in _MAPPED:
            return self._pairs(where, value)
        if key == _SEVERAL and isinstance(value, list):
            return [self._one(where, each, action) for each in value]
        if isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+"):  # noqa: SLF001
            several = value if isinstance(value, list) else [value]
            return [self._one(where, each, action) for each in several]
        return self._one(where, value, action)

    def _one(self, where: str, value: Any, action: argparse.Action) -> Any:
        if isinstance(value, bool) and action.const is not None and action.nargs == "?":
            return action.const if value else action.default
        kind: Any = bool if action.nargs == 0 else action.type or str
        if not isinstance(kind, type):
            return self._parsed(where, value, kind)
        right = isinstance(value, (int, float) if kind is float else kind)
        if not right or (isinstance(value, bool) and kind is not bool):
            raise self._refuse(where, f"must be {_KINDS[kind]}, not {_written(value)}")
        if action.choices is not None and value not in action.choices:
            near = did_you_mean(value, action.choices)
            listed = ", ".join(map(str, action.choices))
            raise self._refuse(where, f"'{value}' is unknown{near}; choose {listed}")
        return self._located(value) if action.metavar in FILES else kind(value)

    def _parsed(self, where: str, value: Any, kind: Callable[[str], Any]) -> Any:
        """Read what the command line reads from a text of its own: here numbers are numbers."""
        several = value if isinstance(value, list) else [value]
        try:
            return kind(",".join(map(str, several)))
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
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return value
        raise self._refuse(where, "must be a table, such as [column] with annotator = 'coder'")

    def _located(self, value: str) -> str:
        """Return a path as it is from here: those of the file are relative to it."""
        if value in ("-", "identity") or "://" in value:
            return value
        given, folder = os.path.expanduser(value), self.path.parent  # noqa: PTH111
        # As it was written where that is the same: it appears in messages and results.
        return given if folder == Path() else os.path.join(folder, given)  # noqa: PTH118

    def _unknown(self, shown: str, key: str, known: Any) -> OptionError:
        return self._refuse(shown, f"is unknown{did_you_mean(key, known)}; correct or remove it")

    def _refuse(self, where: str, what: str) -> OptionError:
        return OptionError(f"{self.path}: {where} {what}.")


def _written(value: Any) -> str:
    """Write a value about as it is written in the file.

    Examples
    --------
    >>> _written("0.95"), _written(True), _written([1])
    ("the text '0.95'", 'true', 'a list')
    """
    if isinstance(value, str):
        return f"the text '{value}'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "a list"
    return "a table" if isinstance(value, dict) else str(value)
