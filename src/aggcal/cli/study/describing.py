"""Describe a study by its files: what each is, what is in it, and what had to be asked."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from aggcal.cli.console import Console
from aggcal.cli.options.formats import columns_from, outcomes_from
from aggcal.cli.study.asking import Asker
from aggcal.cli.study.looking import Column, Look, Role, item_column, look_at, role_of
from aggcal.cli.study.understanding import read, taken, understood
from aggcal.cli.study.writing import Described
from aggcal.data.base import AnyJudgments
from aggcal.errors import InputError, OptionError, TableError, count, some
from aggcal.io import read_scores

_OUTPUT = "results"
_OTHERS: dict[Role, tuple[str, tuple[str, ...]]] = {
    "truth": ("true values, for 'aggcal evaluate'", ("item", "truth")),
    "texts": ("texts of the items, shown in the report", ("item", "text")),
    "items": ("items to compare", ("item",)),
}
"""What they are for, and the columns that are read of them."""


class Describer:
    """Goes through the files of a study, says what it takes them for, and asks."""

    def __init__(
        self,
        options: argparse.Namespace,
        files: Mapping[str, Role | None],
        reading: Mapping[str, object],
        console: Console,
    ) -> None:
        self._options, self._console = options, console
        self._asker, self._study = Asker(may_ask=not options.yes), Described()
        self._reading = reading
        """How judgments may be read, and how they are where nobody says anything."""
        self._looks = {path: look_at(path) for path in files}
        self._roles = {path: role or self._role(path) for path, role in files.items()}

    def described(self) -> Described:
        """Describe every file."""
        judgments = self._judgments()
        self._scores(frozenset(() if judgments is None else judgments.item_ids.tolist()))
        for role in _OTHERS:
            self._other(role)
        if judgments is not None:
            why = "written by 'aggcal run', read by 'aggcal report'"
            self._study.add("output", _OUTPUT, why)
        return self._study

    def _role(self, path: str) -> Role:
        refused = None
        try:
            read(self._options, path)
        except InputError as error:
            refused = error
            if not self._looks[path].columns:
                raise
        return role_of(self._looks[path], refused)

    def _one(self, role: Role, remedy: str) -> str | None:
        """Return the file of a role, None if there is none; refuse several."""
        found = [path for path, each in self._roles.items() if each == role]
        if len(found) > 1:
            raise TableError(f"{', '.join(found)} all look like {role}; {remedy}")
        return found[0] if found else None

    def _show(self, head: str, rows: list[tuple[str, str]]) -> None:
        self._console.say(head)
        width = max((len(column) for column, _ in rows), default=0)
        for column, means in [("column", "read as"), *rows] if rows else []:
            self._console.say(f"  {column:{max(width, 6)}}  {means}")

    def _judgments(self) -> AnyJudgments | None:
        paths = [path for path, role in self._roles.items() if role == "judgments"]
        if not paths:
            return None
        options, study = self._options, self._study
        for path in paths:
            judgments = understood(options, self._looks[path], self._asker)
            size = _size(judgments)
            rows = taken(options, self._looks[path], judgments.format)
            self._show(f"{path}: judgments, read as {judgments.format}: {size}", rows)
            self._console.say(*(f"  {note}" for note in judgments.notes))
        if len(paths) > 1:
            judgments = read(options, paths)
            size = _size(judgments)
            self._console.say(f"in total: {size}")
        if options.criterion is None and len(judgments.criteria) > 1:
            listed = ", ".join(judgments.criteria)
            self._console.say(f"  criteria are fitted together ({listed}); --criterion selects one")
        study.add("judgments", paths if len(paths) > 1 else paths[0], size)
        for name, usual in self._reading.items():
            value = getattr(options, name)
            if value != usual:
                study.add(name.replace("_", "-"), value)
        study.add("column", columns_from(options))
        study.add("outcome", outcomes_from(options))
        return judgments

    def _scores(self, judged: frozenset[str]) -> None:
        path = self._one("scores", "name the model's with --scores FILE.")
        if path is None:
            return
        look, study = self._looks[path], self._study
        item = self._item(look, judged)
        score = self._score(look, item)
        scores = read_scores(path, column=score.name, item=item.name)
        both = len(judged & set(scores.item_ids.tolist()))
        size = f"of {count(len(scores), 'item')}" + (f", {both:,} of them judged" if judged else "")
        means = {item.name: "item", score.name: "score (higher is better)", "sd": "sd"}
        names = [column.name for column in look.columns.values()]
        rows = [(name, means.get(name, "not used")) for name in names]
        self._show(f"{path}: the model's scores {size}", rows)
        study.add("scores", path, size)
        if item.name.lower() != "item":
            study.add("item-column", item.name)
        if score.name.lower() != "score":
            study.add("score-column", score.name)

    def _item(self, look: Look, judged: frozenset[str]) -> Column:
        given = self._options.item_column
        found = item_column(look, judged) if given == "item" else look.column(given)
        if found is not None and (not judged or found.values & judged):
            return found
        why = f"{look.path}: cannot tell which column holds the item ids"
        if judged:
            one = some(sorted(judged)[:1])
            why = f"{look.path}: no column holds judged items, such as {one}"
        return self._column(look, [*look.columns.values()], why, "--item-column")

    def _score(self, look: Look, item: Column) -> Column:
        given, numbers = self._options.score_column, look.scores(item)
        found = look.column(given)
        if found is None and given == "score" and len(numbers) == 1:
            found = numbers[0]
        if found is not None and found != item:
            return found
        why = f"{look.path}: cannot tell which column holds the model's scores"
        return self._column(look, numbers, why, "--score-column")

    def _column(self, look: Look, known: list[Column], why: str, option: str) -> Column:
        names = [column.name for column in known]
        listed = ", ".join(names) or "none holds numbers"
        said = self._asker.choose(
            f"{why}; which is it?", names, f"{why} (found: {listed}); name it with {option}."
        )
        return look.columns[said.strip().lower()]

    def _other(self, role: Role) -> None:
        path = self._one(role, f"name the right one with --{role} FILE.")
        if path is None:
            return
        look, (what, used) = self._looks[path], _OTHERS[role]
        if look.column("item") is None:
            raise OptionError(
                f"{path}: no column is called item; rename the one with the ids, or name what the "
                "file contains, as in --scores FILE."
            )
        names = [column.name for column in look.columns.values()]
        rows = [(name, name.lower() if name.lower() in used else "not used") for name in names]
        self._show(f"{path}: {what} ({count(look.rows, 'row')})", rows)
        self._study.add(role, path, what)
        if role == "texts" and not {"judgments", "scores"} & set(self._study.options):
            self._study.add("items", path, _OTHERS["items"][0])


def _size(judgments: AnyJudgments) -> str:
    return (
        f"{count(judgments.n_judgments, 'judgment')} of {count(judgments.n_items, 'item')} by "
        f"{count(len(judgments.annotator_ids), 'annotator')}"
    )
