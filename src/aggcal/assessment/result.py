"""The assessment: what both stages found, its summary, its report and its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.ranking import Ranking
from aggcal._core.tables import Columns, as_frame
from aggcal._core.text import WIDTH, card, clipped, warning_text, wrapped
from aggcal._version import __version__
from aggcal.advice.guarantees import Guarantees, guarantees
from aggcal.advice.verdicts import Verdicts
from aggcal.aggregation.consensus import LEVEL, SAMPLING, Consensus, camp_columns
from aggcal.aggregation.scales import ScoreScale, scale_of_consensus
from aggcal.assessment.comparisons import comparisons, judged_items
from aggcal.assessment.decisions import Decisions, Wishes, decided
from aggcal.assessment.tables import (
    annotator_columns,
    category_columns,
    score_columns,
    shown_score,
)
from aggcal.calibration import Anchored, Calibration
from aggcal.data.base import AnyJudgments
from aggcal.data.scores import Scores
from aggcal.engines import prepare
from aggcal.errors import (
    AggcalWarning,
    AlikeIdsWarning,
    OptionError,
    TooLittleDataError,
    check_choice,
    count,
    cut,
    option,
    printable,
    some,
)
from aggcal.io.cells import csv_writer
from aggcal.io.items import read_texts
from aggcal.io.saving import Manifest, Writer, write_files
from aggcal.pages.document import Document, plain_text
from aggcal.registry import LOCAL
from aggcal.registry.limits import VERDICT_ERROR
from aggcal.report.head import headline, trust
from aggcal.report.item import item as document_of
from aggcal.report.report import RENDERERS, report
from aggcal.report.run import Run, fitting, load_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from aggcal.advice.advising import Advice


RESULT_FILES = (
    "items.csv", "annotators.csv", "categories.csv", "camps.csv", "predictions.csv",
    "comparisons.json", "report.html", "report.md", "report.json", "summary.json",
)  # fmt: skip
"""What a folder of results may hold; ``summary.json`` lists what it does hold, with digests."""
_LONGEST_TITLE = 200
"""Characters that are kept: a heading of more fills the screen that should show the results."""


class Titles(TypedDict, total=False):
    """Those that are known, as ``summary.json`` holds them."""

    title: str
    question: str


def checked_titles(title: str | None = None, question: str | None = None) -> Titles:
    """Return those that are given, cut to 200 characters, as ``summary.json`` holds them.

    Raises
    ------
    OptionError
        If one has line breaks or other control characters, which no heading can show.

    Examples
    --------
    >>> checked_titles(" Essays of 2024 ")
    {'title': 'Essays of 2024'}
    >>> len(checked_titles(question="why " * 100)["question"])
    200
    """
    found: Titles = {}
    if kept := _title("title", title):
        found["title"] = kept
    if kept := _title("question", question):
        found["question"] = kept
    return found


def _title(name: str, text: str | None) -> str:
    kept = cut((text or "").strip(), _LONGEST_TITLE - 1)
    if printable(kept) != kept:
        raise OptionError(
            f"{option(name).rstrip('=')} is not one line of plain text; remove line breaks "
            "and control characters."
        )
    return kept


@dataclass(frozen=True, eq=False)
class Assessment:
    """What came out of Stage 1, of Stage 2, or of both.

    Examples
    --------
    >>> import aggcal
    >>> judgments = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "a", "b")]
    >>> scores = [("a", 2.0), ("b", 3.0), ("c", 1.0)]
    >>> result = aggcal.assess(judgments, scores, warn=False)
    >>> result.items["calibrated"].tolist()
    [2.5, 2.5, 1.0]
    """

    consensus: Consensus | None
    calibration: Calibration | None
    provenance: dict[str, Any] = field(default_factory=dict)
    """What was read, and with which options it was fitted."""
    seconds: float = 0.0
    judgments: AnyJudgments | None = field(default=None, repr=False)
    scores: Scores | None = field(default=None, repr=False)
    anchored: Anchored | None = field(default=None, repr=False)
    """Scores that anchors alone give, where there is no model."""
    advice: Advice | None = field(default=None, repr=False)
    """What is wrong with the data and what to ask next; see ``with_advice``."""
    titles: Titles = field(default_factory=Titles, repr=False)
    """``title`` of the study and ``question`` that annotators were asked, where they are known."""
    scale: ScoreScale | None = None
    """The scale that the consensus is told in; see ``with_scale``."""
    wishes: Wishes = field(default_factory=Wishes, repr=False)
    """What the items' table and the report are to decide; see ``with_decisions``."""

    @property
    def warnings(self) -> tuple[AggcalWarning, ...]:
        """What the user should know, of both stages."""
        parts = (self.consensus, self.calibration, self.anchored)
        every = (w for part in parts if part is not None for w in part.warnings)
        # Ids first: while one item goes by two names, whatever else is said may be wrong.
        return tuple(sorted(every, key=lambda w: not isinstance(w, AlikeIdsWarning)))

    @property
    def items(self) -> Any:
        """The items' table, as in ``items.csv``."""
        return as_frame(self.item_columns(), self._backend)

    @property
    def _backend(self) -> str | None:
        """The library of the tables: that of the scores, else that of the judgments."""
        part = self.calibration or self.consensus
        return part.backend if part else None

    @property
    def annotators(self) -> Any:
        """The annotators' table, as in ``annotators.csv``; empty without judgments."""
        return as_frame(self.annotator_columns(), self._backend)

    @cached_property
    def verdicts(self) -> Verdicts | None:
        """One verdict for each annotator: whom a check accused, and what the fit says of others."""
        if self.consensus is None:
            return None
        accused = None if self.advice is None else self.advice.check.accused
        return Verdicts.of(self.consensus, accused)

    def annotator_columns(self) -> Columns:
        """Return the annotators' table as plain columns."""
        return annotator_columns(self)

    @cached_property
    def guarantees(self) -> Guarantees:
        """What may honestly be claimed for this data, under which conditions."""
        return guarantees(self.consensus, self.calibration)

    @property
    def dependence(self) -> str:
        """By how much errors are larger because answers depend on each other; empty where not."""
        known = None if self.consensus is None else self.consensus.stated
        return str(known.robust) if known is not None and known.robust.widest else ""

    def item_columns(self) -> Columns:
        """Return the items' table as plain columns."""
        return self._scores | ({} if self.decisions is None else self.decisions.columns)

    @cached_property
    def _scores(self) -> Columns:
        """The items' table without decisions."""
        return score_columns(self)

    def with_scale(self, name: str, *, anchor: tuple[str, float] | None = None) -> Assessment:
        """Return the same with the consensus told in a scale that people know, too.

        Parameters
        ----------
        name
            ``"elo"``, ``"0-100"`` (lowest and highest item), or ``"win"`` (the probability that a
            typical annotator prefers the item to an average one).
        anchor
            For ``"elo"``, an item and its rating; without it, the average item has 1000.

        Examples
        --------
        >>> import aggcal
        >>> result = aggcal.assess([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
        >>> result.with_scale("elo", anchor=("b", 1000)).items["elo"].round().tolist()
        [1238.0, 1000.0]
        """
        if self.consensus is None:
            raise OptionError("a scale is for the consensus; use assess or aggregate.")
        return replace(self, scale=scale_of_consensus(self.consensus, name, anchor))

    def decide(
        self,
        *,
        top: int | None = None,
        cut: float | None = None,
        grades: Mapping[str, float] | Sequence[float] | None = None,
        error: float = VERDICT_ERROR,
    ) -> Decisions:
        """Decide who is in, who is out, and which marks are doubtful.

        Items are in and out of the first k where that is claimed at any true scores (see
        `Consensus.claims`), and above a cut by a probability.

        Parameters
        ----------
        top
            How many items are in: the probability of each of being among the first.
        cut
            The score to be above: of the calibrated scores, else of the consensus (``scale``).
        grades
            Boundaries of grades on the same scale, the lowest first; or by their names:
            ``{"A": 70, "B": 60}``.
        error
            How often a verdict may be wrong. With both a top and a cut, an item is in if it is
            both.

        Examples
        --------
        >>> import aggcal
        >>> result = aggcal.assess([("ann", "a", "b"), ("bob", "a", "b")] * 9, warn=False)
        >>> result.decide(top=1).items["verdict"].tolist()
        ['in', 'out']
        """
        return decided(self, self._scores, Wishes(top, cut, grades or (), error))

    def with_decisions(self, **wishes: Any) -> Assessment:
        """Return the same with decisions in its tables and reports; see ``decide``."""
        return replace(self, wishes=Wishes(**wishes))

    @cached_property
    def decisions(self) -> Decisions | None:
        """What was decided; None if nothing was asked for."""
        return decided(self, self._scores, self.wishes) if self.wishes.any else None

    def category_columns(self) -> Columns:
        """Return the scores by category as plain columns, as in ``categories.csv``."""
        return category_columns(self.consensus, self.scale)

    @property
    def categories(self) -> Any:
        """The scores by category, as in ``categories.csv``; empty where there are none."""
        return as_frame(self.category_columns(), self._backend)

    @cached_property
    def comparisons(self) -> dict[str, Any]:
        """Who met whom and who disagreed, as in ``comparisons.json``; empty without judgments."""
        if self.judgments is None or self.consensus is None:
            return {}
        level = None if self.wishes.top is None else 1.0 - self.wishes.error
        return comparisons(self.judgments, self.consensus, self.wishes.top, level)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary: plain data, as in ``summary.json``."""
        summary: dict[str, Any] = {"version": __version__}
        if self.consensus is not None:
            summary |= self.consensus.to_dict() | self.provenance
        if self.verdicts is not None:
            summary |= self.verdicts.to_dict()
        if self.calibration is not None:
            summary = self.calibration.to_dict() | summary
        if self.anchored is not None:
            summary |= self.anchored.to_dict()
        return summary | {
            **self.titles,
            "seconds": round(self.seconds, 3),
            "warnings": [str(warning) for warning in self.warnings],
            "guarantees": self.guarantees.to_dict(),
            **({} if self.scale is None else {"scale": self.scale.to_dict()}),
            **({} if self.decisions is None else {"decisions": self.decisions.to_dict()}),
            **({} if self.advice is None else self.advice.to_dict()),
        }

    def with_advice(
        self,
        *,
        influence: bool | None = None,
        on_step: Callable[[str], None] | None = None,
        on_iteration: Callable[[int, float], None] | None = None,
    ) -> Assessment:
        """Return the same with what is wrong with the data and what to ask next.

        Parameters
        ----------
        influence
            Whether to refit without those on whom the result hangs most (see `influence`); None
            for an estimate, up to 100,000 rows.
        on_step
            Called with what is being done, in words.
        on_iteration
            Called with the iteration and the relative gradient norm, where it is fitted again.

        Examples
        --------
        >>> import aggcal
        >>> result = aggcal.assess([("ann", "a", "b"), ("bob", "c", "d")], warn=False).with_advice()
        >>> result.advice.check.findings[0].code
        'disconnected'
        """
        from aggcal.advice.advising import advise  # a tenth of a second that not every use needs

        if self.judgments is None or self.advice is not None:
            return self
        advice = advise(
            self.judgments,
            self.scores,
            consensus=self.consensus,
            warnings=self.warnings,
            influence=influence,
            seed=self.provenance["settings"]["seed"],
            on_step=on_step,
            on_iteration=on_iteration,
        )
        return replace(self, advice=advice)

    def report(
        self,
        format: Literal["html", "md", "json"] = "html",  # noqa: A002  # what users call it
        *,
        texts: Any = None,
        check: bool = True,
    ) -> str:
        """Return the report as a text: a self-contained page, Markdown, or plain data.

        Parameters
        ----------
        format
            ``"html"``, ``"md"`` or ``"json"``: three renderings of the same.
        texts
            What the items say, shown beside their ids: a mapping of item to text, or a table with
            the columns ``item`` and ``text`` in any form that `read_scores` takes.
        check
            Look the data over for it, and suggest what to ask next (see ``with_advice``).

        Examples
        --------
        >>> import aggcal
        >>> result = aggcal.assess([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
        >>> print(result.report("md").splitlines()[0])
        # 2 items compared by 2 annotators
        """
        check_choice("format", format, RENDERERS)
        if self.consensus is None:
            raise OptionError("there is a report of Stage 1 only; use assess or aggregate.")
        result = self.with_advice() if check else self
        return RENDERERS[format](report(result.to_run(texts)))

    def to_run(self, texts: Any = None) -> Run:
        """Return what the report is made of; ``texts`` as for ``report``.

        Examples
        --------
        >>> import aggcal
        >>> aggcal.assess([("ann", "a", "b")], warn=False).to_run({"a": "An essay"}).texts
        {'a': 'An essay'}
        """
        known: dict[str, Any] = {
            "summary": self.to_dict(),
            "items": self.item_columns(),
            "annotators": self.annotator_columns(),
            "comparisons": self.comparisons,
            "categories": self.category_columns(),
        }
        if texts is None:
            return Run(**known)
        read = read_texts(texts)
        by_item = read.by_item
        if self.judgments is not None and self.judgments.spelling is not None:
            by_item = self.judgments.spelling.texts(by_item)
        if by_item or not read.pictures:
            known["summary"] |= {"texts": Path(read.source).name}
        return Run(**known, texts=by_item, pictures=read.pictures)

    def save(
        self,
        directory: str | Path,
        *,
        texts: Any = None,
        check: bool = True,
        force: bool = False,
        spreadsheet_safe: bool = False,
    ) -> list[Path]:
        """Write ``items.csv``, ``summary.json`` and, after Stage 1, the annotators and reports.

        Either all files appear or none does. Those of earlier results are replaced; other files
        are left alone, and if one of them has the name of a result, nothing is written.

        Parameters
        ----------
        directory
            Made if it is not there.
        texts, check
            See ``report``.
        force
            Replace files of these names whoever wrote them.
        spreadsheet_safe
            Write an apostrophe before ids that a spreadsheet would take for a formula. They are
            then no longer the ids that were read.
        """
        run = (self.with_advice() if check else self).to_run(texts)
        table = partial(csv_writer, spreadsheet_safe=spreadsheet_safe)
        files: dict[str, Writer] = {"items.csv": table(run.items)}
        if self.consensus is not None:
            files["annotators.csv"] = table(run.annotators)
            camps = camp_columns(self.consensus)
            more = {"categories.csv": run.categories, "camps.csv": camps}
            files |= {name: table(columns) for name, columns in more.items() if columns}
            if run.comparisons:
                kept = json.dumps(run.comparisons, ensure_ascii=False, separators=(",", ":"))
                files["comparisons.json"] = partial(_write, lambda: f"{kept}\n")
            document = report(run)
            for ending in ("html", "md"):
                files[f"report.{ending}"] = partial(_write, partial(RENDERERS[ending], document))
        if self.calibration is not None and self.calibration.unjudged_ids:
            predicted = self.calibration.predict_unjudged().item_columns()
            files["predictions.csv"] = table(predicted)
        manifest = Manifest("summary.json", run.summary)
        outdated = [name for name in RESULT_FILES[:-1] if name not in files]
        return write_files(directory, files, manifest=manifest, outdated=outdated, force=force)

    def __repr__(self) -> str:
        stages = [part.method for part in (self.consensus, self.calibration) if part is not None]
        said = count(len(self.warnings), "warning")
        return wrapped(clipped(f"Assessment({', '.join(stages)}: {self._size()}, {said})", WIDTH))

    def _size(self) -> str:
        part = self.calibration or self.consensus
        return count(0 if part is None else len(part.item_ids), "item")

    def answer(self) -> str:
        """Return the first items with rank, score and interval, and a line on how far to trust it.

        This is what the terminal shows; `print` adds the warnings.

        Examples
        --------
        >>> import aggcal
        >>> print(aggcal.assess([("ann", "a", "b"), ("bob", "a", "b")], warn=False).answer())
        Ranked 2 items from 2 judgments by 2 annotators.
        <BLANKLINE>
        rank     item  score  95% interval
        1 (1–2)  a       0.7  −1.1 to 2.4
        2 (1–2)  b      −0.7  −2.4 to 1.1
        <BLANKLINE>
        The intervals are of these judges' consensus: sampling error only, not the truth.
        No item stands out: the best could be any of the two. Use with care. No annotator is
          shown to do better than guessing; the data were not checked.
        """
        lines = wrapped(self._said()), "", str(self._ranking()), "", wrapped(*self._notes())
        return "\n".join(lines).rstrip()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the calibrated scores beside the model's, or else the consensus; see `aggcal.plot`.

        Parameters
        ----------
        ax
            Axes of matplotlib to draw into; a new figure's if there are none.
        """
        figures = import_module("aggcal.plot")  # which is above this, and few runs need
        draw = figures.consensus if self.calibration is None else figures.calibration
        drawn: Axes = draw(self, ax=ax)
        return drawn

    def draws(self, n: int | None = None, *, seed: int = 0) -> FloatArray:
        """Return draws of the consensus scores; see `Consensus.draws`."""
        return self._fitted().draws(n, seed=seed)

    def to_arviz(self) -> Any:
        """Return draws of the consensus as an object of ArviZ; see `Consensus.to_arviz`."""
        return self._fitted().to_arviz()

    def _fitted(self) -> Consensus:
        if self.consensus is None:
            raise OptionError("nothing was aggregated, so there are no draws; use assess.")
        return self.consensus

    def __str__(self) -> str:
        said = (wrapped(f"warning: {warning_text(warning)}") for warning in self.warnings)
        return "\n".join([self.answer(), *said])

    def _said(self) -> str:
        fitted, done = self.consensus, self.calibration
        if fitted is None:
            return "" if done is None else done.says
        return (
            f"Ranked {count(len(fitted.item_ids), 'item')} from "
            f"{count(fitted.n_judgments, 'judgment')} by "
            f"{count(len(fitted.annotator_ids), 'annotator')}."
        )

    def _ranking(self) -> Ranking:
        key, level = shown_score(self), LEVEL
        if self.calibration is not None:
            level = self.calibration.level
        elif self.anchored is not None:
            level = self.anchored.level
        elif self.consensus is not None and self.consensus.uncertainty is not None:
            level = self.consensus.uncertainty.level
        return Ranking.of(self._scores, key, level)

    def _notes(self) -> list[str]:
        """Say what the intervals are about, and how far to trust the study."""
        covers = "" if self.calibration is None else self.calibration.covers or ""
        of_truth = self.anchored is not None or "truth" in covers
        about = "The intervals have coverage of the truth." if of_truth else SAMPLING
        notes = [about] if self._ranking().level is not None else []
        if self.consensus is None:
            return notes
        run = self.to_run()
        trusted = trust(run)
        return [*notes, f"{plain_text(headline(run))} {trusted.words}. {trusted.says}"]

    def _repr_html_(self) -> str:
        ranking = self._ranking()
        return card(
            self._said(), ranking.html(), rows=ranking.total, notes=[ranking.more, *self._notes()],
            warnings=self.warnings,
        )  # fmt: skip


def _write(text: Callable[[], str], file: IO[str]) -> None:
    file.write(text())


def explain(
    result: Assessment | str | Path, item: str, judgments: Any = None, *, force: bool = False
) -> Document:
    """Say why an item is where it is: whom it met, who disagreed, why its score moved.

    Printed, the document is Markdown; its ``data`` hold the numbers.

    Parameters
    ----------
    result
        An `Assessment`, or a folder that ``aggcal run`` or ``aggcal aggregate`` wrote.
    item
        Its id.
    judgments
        The judgments of the results in a folder, in any form that `read_judgments` takes: needed
        for single comparisons where there are more than 60 items.
    force
        Read files of the folder that have changed since.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("cy", "b", "a")]
    >>> found = aggcal.explain(aggcal.assess(rows, warn=False), "a")
    >>> found.data["comparisons"]
    [{'item': 'b', 'rank': 2, 'won': 2, 'lost': 1, 'tied': 0}]
    """
    if isinstance(result, Assessment):
        if result.consensus is None or result.judgments is None:
            raise OptionError("there is nothing to explain without judgments; use assess.")
        run, own = result.with_advice().to_run(), result.judgments.local
        return document_of(run if own is None else with_rows(run, own), item)
    run = load_run(result, force=force)
    with fitting(result):
        return document_of(run if judgments is None else with_rows(run, judgments), item)


def with_rows(run: Run, judgments: Any) -> Run:
    """Return a run that knows of every item whom it met, from its judgments.

    Judgments of other items, or in another number, are refused: they are not those of the run.
    """
    rows = prepare(judgments, LOCAL).on_one_machine("explaining an item")
    known = set(run.names)
    others = [str(one) for one in rows.item_ids if str(one) not in known]
    if others:
        raise TooLittleDataError(
            f"{rows.source}: items {some(others)} are not in the results; give the judgments that "
            "the results were made from."
        )
    wanted = int(run.summary["n_judgments"])
    number = rows.n_judgments
    if rows.ratings is not None and "ratings" in run.summary:
        number = len(rows.ratings)
    if number != wanted:
        raise TooLittleDataError(
            f"{rows.source}: has {number:,} judgments, the results were made from "
            f"{wanted:,}; give the same ones."
        )
    ranks = run.number("rank")
    assert ranks is not None  # noqa: S101  # every result has ranks
    score = np.asarray(run.items["consensus"], dtype=np.float64)
    met = judged_items(rows, run.names, ranks.astype(int), score)
    return replace(run, comparisons={**run.comparisons, **met})
