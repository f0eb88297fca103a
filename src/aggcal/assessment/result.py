"""The assessment: what both stages found, its summary, its report and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from aggcal._core.tables import Columns, as_frame
from aggcal._core.text import WIDTH, card, clipped, head, unwrapped, warning_text, wrapped
from aggcal._version import __version__
from aggcal.advice.guarantees import Guarantees, guarantees
from aggcal.advice.verdicts import Verdicts
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.scales import ScoreScale, scale_of_consensus
from aggcal.assessment.comparisons import comparisons
from aggcal.assessment.decisions import Decisions, Wishes, decided
from aggcal.assessment.files import run_of, save
from aggcal.assessment.tables import annotator_columns, category_columns, score_columns
from aggcal.assessment.titles import Titles
from aggcal.calibration import (
    SHOWN,
    Anchored,
    Calibration,
)
from aggcal.data.base import AnyJudgments
from aggcal.data.scores import Scores
from aggcal.errors import (
    AggcalWarning,
    AlikeIdsWarning,
    OptionError,
    check_choice,
    count,
)
from aggcal.registry.limits import VERDICT_ERROR
from aggcal.report.report import RENDERERS, report
from aggcal.report.run import Run

if TYPE_CHECKING:
    from aggcal.advice.advising import Advice


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
        grades: Sequence[float] | None = None,
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
            Boundaries of grades on the same scale, the lowest first.
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
        return decided(self, self._scores, Wishes(top, cut, tuple(grades or ()), error))

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
        return run_of(self, texts)

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
        return save(self, run, directory, force=force, spreadsheet_safe=spreadsheet_safe)

    def __repr__(self) -> str:
        stages = [part.method for part in (self.consensus, self.calibration) if part is not None]
        said = count(len(self.warnings), "warning")
        return wrapped(clipped(f"Assessment({', '.join(stages)}: {self._size()}, {said})", WIDTH))

    def _size(self) -> str:
        part = self.calibration or self.consensus
        return count(0 if part is None else len(part.item_ids), "item")

    def __str__(self) -> str:
        parts = [str(part) for part in (self.consensus, self.calibration) if part is not None]
        parts += [wrapped(self.dependence)] if self.dependence else []
        said = (wrapped(f"warning: {warning_text(warning)}") for warning in self.warnings)
        return "\n".join([*parts, *said])

    def _repr_html_(self) -> str:
        parts = (str(part) for part in (self.consensus, self.calibration) if part is not None)
        columns = self.item_columns()
        return card(
            f"Assessment of {self._size()}",
            head(columns, SHOWN if self.calibration is not None else columns),
            rows=len(columns.get("item", ())),
            notes=unwrapped("\n".join(parts)),
            warnings=self.warnings,
        )
