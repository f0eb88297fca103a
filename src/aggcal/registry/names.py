"""Names of which other packages may register more, by entry points."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Protocol, TypeVar

from aggcal.errors import OptionError, PluginWarning, did_you_mean


class Named(Protocol):
    """Whatever is registered under a name."""

    @property
    def name(self) -> str:
        """What people write to choose it."""


Info = TypeVar("Info", bound=Named)


class Names(Mapping[str, Info]):
    """Entries by name: aggcal's own, and those of installed packages behind them.

    Others' are looked for when a name is asked for that is not one of aggcal's own, or when all
    are listed, so that nobody who does without them waits.

    Examples
    --------
    >>> from aggcal.registry import METHODS
    >>> METHODS.find("btl").link.name
    'logistic'
    >>> METHODS.find("crowdbt")
    Traceback (most recent call last):
    aggcal.errors.OptionError: method 'crowdbt' is unknown (did you mean 'crowd-bt'?); choose ...
    """

    def __init__(
        self, what: str, kind: type[Info], own: tuple[Info, ...], also: tuple[Info, ...] = ()
    ) -> None:
        self.what = what
        self.own: Mapping[str, Info] = {info.name: info for info in own}
        self.also: Mapping[str, Info] = {info.name: info for info in also}
        """What may be written in place of a name, and is not one of the entries."""
        self._kind = kind

    def __getitem__(self, name: str) -> Info:
        return self.own[name] if name in self.own else self.others[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self.own, *self.others))

    def __len__(self) -> int:
        return len(self.own) + len(self.others)

    def find(self, name: str) -> Info:
        """Return an entry; refuse a name that nobody has registered."""
        if name in self.also:
            return self.also[name]
        if name not in self:
            near = did_you_mean(name, (*self, *self.also))
            choices = ", ".join((*self, *self.also))
            raise OptionError(f"{self.what} '{name}' is unknown{near}; choose {choices}.")
        return self[name]

    @property
    def choices(self) -> Choices:
        """What an option may be: every name is taken, aggcal's own are shown."""
        return Choices((*self.own, *self.also), lambda: self)

    @cached_property
    def others(self) -> Mapping[str, Info]:
        """Those that installed packages have registered."""
        return _registered(f"aggcal.{self.what}s", self._kind, {**self.own, **self.also})


class Choices(Collection[str]):
    """The names that an option takes, for a parser that need not look for other packages."""

    def __init__(self, own: tuple[str, ...], every: Callable[[], Collection[str]]) -> None:
        self._own, self._every = own, every

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._every()

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)


def _registered(group: str, kind: type[Info], taken: Container[str]) -> Mapping[str, Info]:
    """Load what installed packages have registered; one that is faulty is left out, and named."""
    from importlib.metadata import entry_points

    found: dict[str, Info] = {}
    for point in sorted(entry_points(group=group), key=lambda each: each.name):
        fault = ""
        try:
            info = point.load()
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, aggcal works on
            fault = f"cannot be imported ({type(error).__name__}: {error})"
        else:
            if not isinstance(info, kind):
                fault = f"is not a {kind.__name__}"
            elif info.name in taken or info.name in found:
                fault = f"has the name '{info.name}', which is taken"
            else:
                found[info.name] = info
        if fault:
            whose = "an installed package" if point.dist is None else f"'{point.dist.name}'"
            what = f"The entry point '{point.name}' ({group}) of {whose} {fault}, and is ignored."
            said = PluginWarning(what, "", f"Repair or uninstall {whose}.")
            warnings.warn(said, stacklevel=2)
    return found


@cache
def load(home: str) -> Any:
    """Import what an entry names by ``package.module:Name``.

    Examples
    --------
    >>> load("aggcal.registry:LinkInfo").__name__
    'LinkInfo'
    """
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)
