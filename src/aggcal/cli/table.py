"""Options and commands as rows of a table, from which everything else about them is made.

An `Option` is written once, a `Command` names what it takes. From these rows come the parser and
its help, the manual page, the completion scripts, the tables of the documentation, the keys of the
study file, and the keywords with which functions of the library are called. To add an option, write
a row into `aggcal.cli.options`, or into its command in `aggcal.cli.commands`; of a number, what it
may not be goes into `aggcal.registry.limits`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from aggcal.errors import keyword
from aggcal.registry.limits import COUNT, LIMITS, NUMBER, POSITIVE, SHARE, Limit

FOLDER = "DIR"
FILES = {"JUDGMENTS", "SCORES", "ITEMS", "CONSENSUS", "TRUTH", "IN", "OUT", "FILE", FOLDER}
"""Values that are names of files, which may hold any bytes."""
_NUMBERS: dict[str, tuple[type, Limit]] = {
    "N": (int, COUNT),
    "K": (int, POSITIVE),
    "X": (float, NUMBER),
    "P": (float, SHARE),
}
"""Values that are numbers: what reads them, and which they may be if no limit says otherwise."""


@dataclass(frozen=True)
class Option:
    """An option of commands, or a file that needs no dashes.

    Examples
    --------
    >>> level = Option("--level P", "level of the intervals", 0.95)
    >>> level.key, level.value, level.kind("0.9"), level.described
    ('level', 'P', 0.9, 'level of the intervals (default: 0.95)')
    >>> Option("scores [SCORES]", "model scores").optional
    True
    """

    usage: str
    """``-o --output DIR``: its names and its value, as in the help; ``results DIR`` where it has no
    dashes, ``[DIR]`` if it may be left out. The value N or K is a whole number, X or P any number;
    what has neither value nor choices is a flag."""
    help: str
    default: Any = None
    choices: Collection[str] | None = None
    required: bool = False
    repeated: bool = False
    """Whether it may be given several times, with a value each."""
    several: bool = False
    """Whether several values may follow it."""
    read: Callable[[str], Any] | None = None
    """What reads a value that is neither a number nor a plain text."""
    numbers: Limit | None = None
    """Which numbers it may be, where that is not what `LIMITS` has under its name."""
    python: Callable[[Any], Any] | None = None
    """What makes of its value the argument that Python takes."""
    study: tuple[str, ...] | None = None
    """Its keys in the part of the study file that is for all commands, if not its own name; a key
    ``output/items.csv`` names that file in a folder. Without one it is for its command only."""
    kept: bool = True
    """Whether it belongs to the command that results keep to be made again."""
    destination: str = ""
    """What the parser calls it, where that is not its name."""

    @property
    def names(self) -> list[str]:
        """Its names with dashes; a file may have none."""
        return [word for word in self.usage.split() if word.startswith("-")]

    @property
    def key(self) -> str:
        """What the study file calls it."""
        return (self.names[-1:] or self.usage.split())[0].lstrip("-")

    @property
    def dest(self) -> str:
        """What the parser calls it."""
        return self.destination or self.key.replace("-", "_")

    @property
    def keyword(self) -> str:
        """What Python calls it."""
        return keyword(self.key)

    @property
    def value(self) -> str:
        """What its value is called in the help; blank for a flag."""
        last = self.usage.split()[-1]
        if last.startswith("-"):
            return ""
        return last[1:-1] if self.optional else last

    @property
    def optional(self) -> bool:
        """Whether a file may be left out."""
        return self.usage.split()[-1].startswith("[")

    @property
    def flag(self) -> bool:
        """Whether it takes no value."""
        return not self.value and self.choices is None

    @property
    def kind(self) -> Callable[[str], Any]:
        """What reads its value."""
        return self.read or (_NUMBERS[self.value][0] if self.value in _NUMBERS else str)

    @property
    def limit(self) -> Limit | None:
        """Which numbers it may be; None for what is none."""
        if self.read is not None or self.value not in _NUMBERS:
            return None
        usual = LIMITS.get(self.key.replace("-", "_"), _NUMBERS[self.value][1])
        return self.numbers or usual

    @property
    def described(self) -> str:
        """Its help, with a default that is worth showing."""
        if self.default in (None, ""):
            return self.help
        return f"{self.help} (default: {self.default})"

    @property
    def shown(self) -> str:
        """Its value as the help calls it, or the choices where that has no name.

        Examples
        --------
        >>> Option("--blank", "blank answers", choices=("skip", "error")).shown
        '{skip,error}'
        """
        return self.value or ("{" + ",".join(self.choices) + "}" if self.choices else "")

    def unset(self) -> Option:
        """Return the same where it may be left out, and says that it was."""
        usage = self.usage if self.names else f"{self.key} [{self.value}]"
        return replace(self, usage=usage, default=None, required=False)

    def given(self, options: argparse.Namespace) -> Any:
        """Return its value as Python takes it."""
        value = getattr(options, self.dest)
        return value if self.python is None else self.python(value)

    def add_to(self, group: argparse._ActionsContainer) -> None:
        """Declare it to a parser."""
        how: dict[str, Any] = {"help": self.described.replace("%", "%%")}
        if self.names:
            how |= {"dest": self.dest, "required": self.required}
        if self.flag:
            group.add_argument(*self.names, action="store_true", **how)
            return
        how |= {"type": self.kind, "metavar": self.value or None, "choices": self.choices}
        how["default"] = self.default
        if self.repeated:
            how |= {"action": "append", "default": []}
        elif self.several:
            how["nargs"] = "*" if self.optional else "+"
            how |= {"action": "extend", "default": []} if self.names else {}
        elif self.optional:
            how["nargs"] = "?"
        group.add_argument(*(self.names or [self.dest]), **how)


@dataclass(frozen=True)
class Group:
    """Options that together go to one function, below a heading of the help."""

    heading: str
    """Blank for options like all others."""
    options: tuple[Option, ...]
    about: str = ""

    def given(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return what was given of them, under the names that Python has for them."""
        return {each.keyword: each.given(options) for each in self.options}


HELP = Option("-h --help", "show this help message and exit")
HELP_ALL = Option("--help-all", "show all options and exit")
QUIET = Option(
    "-q --quiet", "no progress and no notes; errors and warnings are still shown", kept=False
)
STUDY = Option(
    "--study FILE",
    "study file to take options from, instead of aggcal.toml in this folder; none: no file",
)


_SCREEN = 18
"""Options that the help shows on one screen."""
FIRST = frozenset((
    *("help", "help-all", "output", "judgments", "column", "outcome", "by", "method", "scale"),
    *("anchors", "top", "grades", "texts", "pairs", "annotator", "goal", "folds", "methods"),
    *("strict", "precision", "true-scores", "items", "to", "append", "pilot"),
))  # fmt: skip
"""Options that the first screen of the help shows where a command has more than fit on it."""


@dataclass(frozen=True)
class Command:
    """A command: what it does, an example, what else is to be said of it, and what it takes."""

    name: str
    line: str
    example: str
    about: str
    home: str
    """``module:function`` that is called with the options; imported only then."""
    takes: tuple[Option | Group, ...]
    study: bool = False
    """Whether a study file gives it options, too."""

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """All that it takes, help aside."""
        helps = (HELP, HELP_ALL)
        return tuple(o for _, _, options in self.sections() for o in options if o not in helps)

    @property
    def brief(self) -> Collection[str] | None:
        """The options on the first screen of its help; None if that has room for all."""
        many = sum(len(r.options) if isinstance(r, Group) else 1 for r in self.takes) > _SCREEN
        return FIRST if many else None

    @property
    def description(self) -> str:
        """What it does, as a sentence."""
        return f"{self.line[0].upper()}{self.line[1:]}."

    @property
    def usage(self) -> str:
        """How it is called, with what must be given; all else is options.

        Examples
        --------
        >>> takes = (Option("results DIR", "folder"), Option("-n --pairs N", "", required=True))
        >>> Command("show", "show results", "aggcal show out", "", "", takes).usage
        'aggcal show DIR -n N [options]'
        """
        words = ["aggcal", self.name]
        for option in self.takes:
            if isinstance(option, Option) and not option.names:
                several = f"{option.value} ..." if option.several else option.value
                words.append(f"[{several}]" if option.optional else several)
            elif isinstance(option, Option) and option.required:
                words.append(f"{option.names[0]} {option.value}")
        return " ".join([*words, "[options]"])

    def sections(self) -> Iterator[tuple[str, str, list[Option]]]:
        """Go through the headings of the help, with what is said of each and its options."""
        groups = [row if isinstance(row, Group) else Group("", (row,)) for row in self.takes]
        own = [row for group in groups if not group.heading for row in group.options]
        common = [HELP, *([] if self.brief is None else [HELP_ALL]), QUIET]
        common += [STUDY] if self.study else []
        yield "arguments", "", [row for row in own if not row.names]
        yield "options", "", [*common, *(row for row in own if row.names)]
        for group in groups:
            if group.heading:
                yield group.heading, group.about, list(group.options)

    def call(self, options: argparse.Namespace) -> int:
        """Run it, and return its exit code."""
        module, function = self.home.split(":")
        return int(getattr(import_module(f"aggcal.cli.{module}"), function)(options))
