"""Which spellings mean the same item or annotator, by rule (`alike`) and by what the user said."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

from aggcal._core.arrays import TextArray
from aggcal._core.tables import as_text
from aggcal.data.alike import key, visible
from aggcal.data.features import Features
from aggcal.data.scores import Scores
from aggcal.errors import FeatureError, InputError, OptionError, ScoreError, count, option, some

Kind: TypeAlias = Literal["item", "annotator"]
KINDS: tuple[Kind, ...] = ("item", "annotator")
_Table = TypeVar("_Table", Scores, Features)
_ERRORS: dict[type, type[InputError]] = {Scores: ScoreError, Features: FeatureError}
_SHOWN = 3  # changes that a note shows: more would not be read


@dataclass(frozen=True, eq=False)
class Spelling:
    """How ids are spelt in all tables of a study.

    Judgments that were read with it carry it along, so that scores, features and texts that come
    to them are spelt as they are.

    Parameters
    ----------
    aliases
        For items and for annotators, the id that each alias stands for.
    normalize
        Whether ids that differ only in case, spacing, punctuation or Unicode form are one.

    Examples
    --------
    >>> spelling = Spelling(normalize=True)
    >>> spelling.learn("item", {"Essay 20": 12, "essay 20": 1, "b": 3})
    {'essay 20': 'Essay 20'}
    >>> spelling.of("item", "ESSAY-20")
    'Essay 20'
    """

    aliases: Mapping[Kind, Mapping[str, str]] = field(default_factory=dict)
    normalize: bool = False
    known: dict[Kind, dict[str, str]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    """The spelling that stands for each key."""
    notes: tuple[str, ...] = ()
    """What was made of the aliases."""
    seen: set[str] = field(default_factory=set)
    """The aliases that ids had so far."""

    def __post_init__(self) -> None:
        if not self.normalize:
            return
        for kind in KINDS:
            for alias, label in self.aliases.get(kind, {}).items():
                # What the user says of one spelling holds for those that are like it.
                self.known[kind].setdefault(key(label), label)
                before = self.known[kind].setdefault(key(alias), label)
                if before != label:
                    raise OptionError(
                        f"the aliases map '{alias}' to '{label}', but another spelling of it to "
                        f"'{before}'; keep one, or leave {option('normalize-ids')} out."
                    )

    def learn(self, kind: Kind, counts: Mapping[str, int]) -> dict[str, str]:
        """Settle the spelling of ids that occur so often; return those that change."""
        aliases = self.aliases.get(kind, {})
        self.seen.update(aliases.keys() & counts.keys())
        if self.normalize:
            keys = {key(label) for label in counts} if aliases else ()
            self.seen.update(alias for alias in aliases if key(alias) in keys)

            def preferred(label: str) -> tuple[int, bool, str]:
                return -counts[label], not unicodedata.is_normalized("NFC", label), label

            for label in sorted(counts, key=preferred):
                self.known[kind].setdefault(key(label), label)
        changed = {label: self.of(kind, label) for label in counts if label not in aliases}
        changed |= {label: aliases[label] for label in counts if label in aliases}
        return {label: now for label, now in changed.items() if label != now}

    def of(self, kind: Kind, label: str) -> str:
        """Return how an id is spelt here."""
        aliases = self.aliases.get(kind, {})
        if label in aliases:
            return aliases[label]
        return self.known[kind].get(key(label), label) if self.normalize else label

    def unseen(self, ids: Iterable[str]) -> list[str]:
        """Say which aliases no id had so far, given how ids are spelt now.

        Examples
        --------
        >>> Spelling({"item": {"BOB": "rob", "eve": "ann"}}).unseen(["Bob"])
        ["2 aliases are no ids of the judgments ('BOB', 'eve'); 'BOB' is 'Bob' but for its ...
        """
        every = dict.fromkeys(alias for kind in KINDS for alias in self.aliases.get(kind, {}))
        missing = [alias for alias in every if alias not in self.seen]
        if not missing:
            return []
        alike = {key(label): label for label in ids}
        near = next((alias for alias in missing if key(alias) in alike), None)
        hint = ""
        if near is not None:
            hint = (
                f"; '{visible(near)}' is '{visible(alike[key(near)])}' but for its spelling: "
                f"{option('normalize-ids')} takes such ids for one"
            )
        verb = "is no id" if len(missing) == 1 else "are no ids"
        said = f"{count(len(missing), 'alias', 'aliases')} {verb} of the judgments"
        return [f"{said} ({some(missing)}){hint}"]

    def ids(self, labels: Iterable[str]) -> TextArray:
        """Return items as they are spelt here."""
        every = [str(label) for label in labels]
        self.learn("item", dict.fromkeys(every, 1))
        return as_text(self.of("item", label) for label in every)

    def table(self, table: _Table) -> _Table:
        """Return scores or features under the spelling of the judgments.

        Examples
        --------
        >>> spelling = Spelling({"item": {"no. 7": "Essay 7"}})
        >>> spelling.table(Scores.of({"no. 7": 1.5})).item_ids.tolist()
        ['Essay 7']
        """
        now = self.ids(table.item_ids)
        first: dict[str, str] = {}
        for before, label in zip(table.item_ids, now, strict=True):
            other = first.setdefault(label, before)
            if other != before:
                raise _ERRORS[type(table)](
                    f"{table.source}: '{other}' and '{before}' are one item, '{label}', as ids are "
                    "merged, and have a row each; keep one of them."
                )
        return replace(table, item_ids=now)

    def tables(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was given, its tables under the spelling of the judgments.

        Examples
        --------
        >>> spelling = Spelling({"item": {"no. 7": "Essay 7"}})
        >>> found = spelling.tables({"anchors": (Scores.of({"no. 7": 1.5}),), "level": 0.9})
        >>> found["anchors"][0].item_ids.tolist(), found["level"]
        (['Essay 7'], 0.9)
        """

        def respelt(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(respelt(each) for each in value)
            if isinstance(value, Scores):
                return self.table(value)
            return self.table(value) if isinstance(value, Features) else value

        return {name: respelt(value) for name, value in given.items()}

    def texts(self, by_item: Mapping[str, str]) -> dict[str, str]:
        """Return texts under the spelling of the judgments; of two for an item, the first."""
        found: dict[str, str] = {}
        for label, text in zip(self.ids(by_item), by_item.values(), strict=True):
            found.setdefault(label, text)
        return found


def merged_note(kind: Kind, changed: Mapping[str, str]) -> str:
    """Say which spellings were changed.

    Examples
    --------
    >>> merged_note("item", {"essay 20": "Essay 20"})
    "1 spelling of items was changed ('essay 20' to 'Essay 20')"
    """
    shown = [f"'{visible(was)}' to '{visible(now)}'" for was, now in [*changed.items()][:_SHOWN]]
    more = f" and {len(changed) - _SHOWN:,} more" if len(changed) > _SHOWN else ""
    verb = "was" if len(changed) == 1 else "were"
    return f"{count(len(changed), 'spelling')} of {kind}s {verb} changed ({', '.join(shown)}{more})"
