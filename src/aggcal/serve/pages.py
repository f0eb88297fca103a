"""What each address shows: the list of runs, a report, a comparison, or one sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote_to_bytes

from aggcal._core.records import dataclass
from aggcal._version import __version__
from aggcal.errors import AggcalError, count, printable
from aggcal.report import comparison_page, html
from aggcal.report.axes import STYLE
from aggcal.report.comparison import Comparison
from aggcal.report.loading import fitting
from aggcal.report.page import file, page
from aggcal.serve.runs import Library, Run

_LONGEST = 4096
"""Characters of an address: names of files are shorter, and nobody types more."""


@dataclass(frozen=True)
class Answer:
    """The state of what an address shows, known at once, and the page, made when it is wanted."""

    status: HTTPStatus
    state: str
    render: Callable[[], str]


class Pages:
    """The pages of a folder."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def answer(self, address: str) -> Answer:
        """Return what an address shows: a path, perhaps with a query.

        Examples
        --------
        >>> Pages(Library(".")).answer("/../../etc/passwd").status
        <HTTPStatus.NOT_FOUND: 404>
        """
        path, _, query = address.partition("?")
        runs = self._library.runs()
        if len(address) > _LONGEST:
            return _missing("This address is too long.")
        if path == "/":
            only = next(iter(runs.values())) if len(runs) == 1 else None
            if only is not None and not only.name:
                return self._report(only, home=False)
            return self._index()
        if path.startswith("/run/"):
            run = _named(runs, path.removeprefix("/run/"))
            return _missing("There is no such run.") if run is None else self._report(run)
        if path == "/compare":
            return self._compare(runs, query)
        return _missing("There is no such page.")

    def _index(self) -> Answer:
        state = self._library.state

        def render() -> str:
            lines = self._library.lines()
            readable = [line for line in lines if "error" not in line]
            return page(
                "index.html",
                style=STYLE + file("report.css") + file("compare.css"),
                script=file("theme.js"),
                live=state,
                forms=True,
                folder=printable(str(self._library.root)),
                heading=count(len(lines), "run") if lines else "No runs yet",
                lines=lines,
                readable=readable,
                sizes=_sizes,
                version=__version__,
            )

        return Answer(HTTPStatus.OK, state, _spoken(render, state))

    def _report(self, run: Run, *, home: bool = True) -> Answer:
        state = run.state

        def render() -> str:
            report = self._library.report(run)
            with fitting(run.label):
                return html.html(report, state, home=home)

        return Answer(HTTPStatus.OK, state, _spoken(render, state))

    def _compare(self, runs: dict[str, Run], query: str) -> Answer:
        try:
            asked = dict(parse_qsl(query, max_num_fields=8, errors="surrogateescape"))
        except ValueError:
            asked = {}
        # The form sends names as they stand in addresses; people type them as they are.
        a, b = (runs.get(each or "") or _called(runs, each) for each in map(asked.get, "ab"))
        if a is None or b is None:
            return _missing("One of these two runs is not there any more.")
        state = f"{a.state}{b.state}"

        def render() -> str:
            reports = [self._library.report(run) for run in (a, b)]
            with fitting(f"{a.label} and {b.label}"):
                found = Comparison(reports[0], reports[1], (a.label, b.label))
                return comparison_page.html(found, state)

        return Answer(HTTPStatus.OK, state, _spoken(render, state))


def _named(runs: dict[str, Run], key: str) -> Run | None:
    """Return the run of a name in an address, however it is quoted."""
    return _called(runs, os.fsdecode(unquote_to_bytes(key)))


def _called(runs: dict[str, Run], name: str | None) -> Run | None:
    """Return the run of a name; only what was listed counts."""
    return next((run for run in runs.values() if run.name == name), None)


def _missing(said: str) -> Answer:
    return Answer(HTTPStatus.NOT_FOUND, "missing", lambda: message(said, "missing"))


def _spoken(render: Callable[[], str], state: str) -> Callable[[], str]:
    """Show what is wrong with the results as a page, which refreshes when they change."""

    def page_or_sentence() -> str:
        try:
            return render()
        except AggcalError as error:
            return message(printable(str(error)), state)

    return page_or_sentence


def message(said: str, state: str = "") -> str:
    """Return a page with one sentence.

    Examples
    --------
    >>> "&lt;b&gt;" in message("<b>")
    True
    """
    return page(
        "message.html",
        style=file("report.css") + file("compare.css"),
        script="",
        live=state,
        title="Nothing to show",
        detail=said,
    )


def _sizes(counts: list[int]) -> str:
    return ", ".join(
        count(number, what)
        for number, what in zip(counts, ("item", "annotator", "judgment"), strict=True)
    )
