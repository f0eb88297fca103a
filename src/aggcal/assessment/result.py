"""The assessment: what both stages found, its summary, its report and its files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal._core.tables import Columns, as_frame
from aggcal._core.text import WIDTH, card, clipped, head, unwrapped, warning_text, wrapped
from aggcal._version import __version__
from aggcal.advice.guarantees import Guarantees, guarantees
from aggcal.advice.independence import Independence
from aggcal.advice.verdicts import Verdicts, left_shares
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.tables import category_columns
from aggcal.assessment.comparisons import comparisons, win_rates
from aggcal.assessment.tables import aligned_or_none, item_influence, item_terms
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
    ReversedWarning,
    count,
    did_you_mean,
)
from aggcal.io.texts import read_texts
from aggcal.io.writing.manifest import Manifest
from aggcal.io.writing.write import Writer, csv_writer, write_files
from aggcal.report.html import RENDERERS
from aggcal.report.report import Report

if TYPE_CHECKING:
    from aggcal.advice import Advice

RESULT_FILES = (
    "items.csv", "annotators.csv", "categories.csv", "predictions.csv", "comparisons.json",
    "report.html", "report.md", "report.json", "summary.json",
)  # fmt: skip
"""What a folder of results may hold; ``summary.json`` lists what it does hold, with digests."""


@dataclass(frozen=True, eq=False)
class Assessment:
    """What came out of Stage 1, of Stage 2, or of both.

    Examples
    --------
    >>> import aggcal
    >>> judgments = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "a", "b")]
    >>> scores = [("a", 2.0), ("b", 3.0), ("c", 1.0)]
    >>> result = aggcal.assess(judgments, scores, warn=False)
    >>> result.items["calibrated"]
    array([2.5, 2.5, 1. ])
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

    @property
    def warnings(self) -> tuple[AggcalWarning, ...]:
        """What the user should know, of both stages."""
        parts = (self.consensus, self.calibration, self.anchored)
        # Whom the check held against the others is spoken of there.
        tested = self.advice is not None and self.advice.check.accused.against_others
        every = (w for part in parts if part is not None for w in part.warnings)
        kept = (w for w in every if not (tested and isinstance(w, ReversedWarning)))
        # Ids first: while one item goes by two names, whatever else is said may be wrong.
        return tuple(sorted(kept, key=lambda w: not isinstance(w, AlikeIdsWarning)))

    @property
    def items(self) -> Any:
        """The items' table (as in ``items.csv``), in the frame library the user came with."""
        part = self.calibration or self.consensus
        return as_frame(self.item_columns(), part.backend if part else None)

    @property
    def annotators(self) -> Any:
        """The annotators' table (as in ``annotators.csv``)."""
        return as_frame(self.annotator_columns(), self.consensus.backend) if self.consensus else {}

    @cached_property
    def verdicts(self) -> Verdicts | None:
        """One verdict for each annotator: the check's, where it was made, else the fit's."""
        if self.consensus is None:
            return None
        accused = None if self.advice is None else self.advice.check.accused
        return Verdicts.of(self.consensus, accused)

    def annotator_columns(self) -> Columns:
        """Return the annotators' table as plain columns."""
        if self.consensus is None or self.verdicts is None:
            return {}
        columns = self.consensus.annotator_columns()
        position = {name: k for k, name in enumerate(self.consensus.annotator_ids.tolist())}
        order = [position[name] for name in columns["annotator"].tolist()]
        whole = None if self.judgments is None else self.judgments.local
        if whole is not None:
            shares = left_shares(whole)
            columns |= {name: column[order] for name, column in shares.items()}
        columns |= {
            "verdict": self.verdicts.verdict[order],
            "reason": self.verdicts.reason[order],
        }
        hangs = None if self.advice is None else self.advice.influence
        return columns if hangs is None else columns | hangs.annotator_columns(np.array(order))

    @cached_property
    def guarantees(self) -> Guarantees:
        """What may honestly be claimed for this data, under which conditions.

        Whether answers are independent is known only after the data were checked: see
        ``with_advice``.
        """
        if self.advice is None:
            return guarantees(self.consensus, self.calibration)
        looked = self.advice.check
        known = Independence.of((f.code for f in looked.findings), looked.not_checked)
        return guarantees(self.consensus, self.calibration, known)

    def item_columns(self) -> Columns:
        """Return the items' table as plain columns."""
        if self.calibration is not None:
            columns = self.calibration.item_columns()
        elif self.consensus is not None:
            names = {
                "score": "consensus",
                "se": "consensus_se",
                "low": "consensus_low",
                "high": "consensus_high",
            }
            known = self.consensus.item_columns()
            columns = {names.get(name, name): column for name, column in known.items()}
            if self.anchored is not None:
                position = {item: k for k, item in enumerate(self.consensus.item_ids.tolist())}
                order = np.array([position[item] for item in columns["item"].tolist()])
                columns |= self.anchored.columns(order)
        else:
            return {}
        items = columns["item"]
        terms = {} if self.consensus is None else item_terms(self.consensus, items)
        hangs = None if self.advice is None else item_influence(self.advice.influence, items)
        columns |= self._win_rate(items) | self._component(items) | terms
        return columns | (hangs or {})

    def category_columns(self) -> Columns:
        """Return the scores by category as plain columns, as in ``categories.csv``."""
        return {} if self.consensus is None else category_columns(self.consensus)

    @property
    def categories(self) -> Any:
        """The scores by category (as in ``categories.csv``); empty where there are none."""
        found = self.category_columns()
        return as_frame(found, self.consensus.backend) if self.consensus and found else {}

    def _win_rate(self, items: TextArray) -> Columns:
        """Return the share of its comparisons that each item won; nothing without judgments."""
        if self.judgments is None or self.consensus is None:
            return {}
        share = dict(zip(self.judgments.item_ids.tolist(), win_rates(self.judgments), strict=True))
        return {"win_rate": np.array([share.get(item, np.nan) for item in items.tolist()])}

    @cached_property
    def comparisons(self) -> dict[str, Any]:
        """Who met whom and who disagreed, as in ``comparisons.json``; empty without judgments."""
        if self.judgments is None or self.consensus is None:
            return {}
        return comparisons(self.judgments, self.consensus)

    def _component(self, items: TextArray) -> Columns:
        """Return the connected component of each item, 1 the largest, where there are several."""
        known = None if self.consensus is None else self.consensus.uncertainty
        if self.consensus is None or known is None or known.component is None:
            return {}
        label = dict(zip(self.consensus.item_ids, known.component.tolist(), strict=True))
        places = {item: place + 1 for item, place in label.items()}
        return {"component": aligned_or_none(places, items)}

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
        from aggcal.advice import advise  # a tenth of a second that not every use needs

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
        if format not in RENDERERS:
            near = did_you_mean(format, RENDERERS)
            raise OptionError(f"format '{format}' is unknown{near}; choose {', '.join(RENDERERS)}.")
        if self.consensus is None:
            raise OptionError("there is a report of Stage 1 only; use assess or aggregate.")
        result = self.with_advice() if check else self
        return RENDERERS[format](result.to_report(texts))

    def to_report(self, texts: Any = None) -> Report:
        """Return what the report tells, before it is rendered; ``texts`` as for ``report``.

        Examples
        --------
        >>> import aggcal
        >>> aggcal.assess([("ann", "a", "b")], warn=False).to_report({"a": "An essay"}).texts
        {'a': 'An essay'}
        """
        columns = self.annotator_columns()
        summary, items = self.to_dict(), self.item_columns()
        cells = self.category_columns()
        if texts is None:
            return Report(summary, items, columns, comparisons=self.comparisons, categories=cells)
        read = read_texts(texts)
        by_item, judgments = read.by_item, self.judgments
        if judgments is not None and judgments.spelling is not None:
            by_item = judgments.spelling.texts(by_item)
        if by_item or not read.pictures:
            summary |= {"texts": Path(read.source).name}
        return Report(summary, items, columns, by_item, self.comparisons, read.pictures, cells)

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
        table = partial(csv_writer, spreadsheet_safe=spreadsheet_safe)
        report = (self.with_advice() if check else self).to_report(texts)
        files: dict[str, Writer] = {"items.csv": table(report.items)}
        if self.consensus is not None:
            files["annotators.csv"] = table(report.annotators)
            if report.categories:
                files["categories.csv"] = table(report.categories)
            if report.comparisons:
                kept = json.dumps(report.comparisons, ensure_ascii=False, separators=(",", ":"))
                files["comparisons.json"] = partial(_write, f"{kept}\n")
            for ending in ("html", "md"):
                files[f"report.{ending}"] = partial(_write, RENDERERS[ending](report))
        if self.calibration is not None and self.calibration.unjudged_ids:
            predicted = self.calibration.predict_unjudged().item_columns()
            files["predictions.csv"] = table(predicted)
        manifest = Manifest("summary.json", report.summary)
        outdated = [name for name in RESULT_FILES[:-1] if name not in files]
        return write_files(directory, files, manifest=manifest, outdated=outdated, force=force)

    def __repr__(self) -> str:
        stages = [part.method for part in (self.consensus, self.calibration) if part is not None]
        said = count(len(self.warnings), "warning")
        return wrapped(clipped(f"Assessment({', '.join(stages)}: {self._size()}, {said})", WIDTH))

    def _size(self) -> str:
        part = self.calibration or self.consensus
        return count(0 if part is None else len(part.item_ids), "item")

    def __str__(self) -> str:
        parts = [str(part) for part in (self.consensus, self.calibration) if part is not None]
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


def _write(text: str, file: IO[str]) -> None:
    file.write(text)
