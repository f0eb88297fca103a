"""Both stages in one: the assessment, its summary, its files."""

from __future__ import annotations

import time
import warnings as python_warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal._core.tables import Columns, as_frame
from aggcal._core.text import card, head, unwrapped, warning_text, wrapped
from aggcal._version import __version__
from aggcal.advice.guarantees import Guarantees, guarantees
from aggcal.advice.independence import Independence
from aggcal.advice.verdicts import REVERSED, Verdicts, left_shares
from aggcal.aggregation import (
    aggregate,
    check_engine,
    check_method,
    check_seed,
    check_uncertainty,
    feature_choice,
)
from aggcal.aggregation.consensus import LEVEL, Aggregator, Consensus
from aggcal.aggregation.methods import Estimator, PriorChoice
from aggcal.calibration import (
    SHOWN,
    Calibration,
    Calibrator,
    Given,
    calibrate,
    check_calibration,
    check_tables,
    find,
    read_known,
)
from aggcal.data.features import Features
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.engines import Engine, ShardedJudgments, laid_out, place_of
from aggcal.errors import AggcalWarning, OptionError, ReversedWarning, count
from aggcal.io import read_scores
from aggcal.io.texts import read_texts
from aggcal.io.writing.manifest import Manifest
from aggcal.io.writing.write import Writer, csv_writer, write_files
from aggcal.registry import DEFAULT_CALIBRATOR, DEFAULT_METHOD, LAPLACE, LOCAL
from aggcal.report.html import RENDERERS
from aggcal.report.report import Report

if TYPE_CHECKING:
    from aggcal.advice import Advice

RESULT_FILES = (
    "items.csv", "annotators.csv", "predictions.csv", "report.html", "report.md", "report.json",
    "summary.json",
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
    rows: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    judgments: Judgments | None = field(default=None, repr=False)
    scores: Scores | None = field(default=None, repr=False)
    advice: Advice | None = field(default=None, repr=False)
    """What is wrong with the data and what to ask next; see ``advised``."""

    @property
    def warnings(self) -> tuple[AggcalWarning, ...]:
        """What the user should know, of both stages."""
        parts = (self.consensus, self.calibration)
        # Whom the check held against the others is spoken of there.
        tested = self.advice is not None and self.advice.check.accused.against_others
        every = (w for part in parts if part is not None for w in part.warnings)
        return tuple(w for w in every if not (tested and isinstance(w, ReversedWarning)))

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
        place = {name: k for k, name in enumerate(self.consensus.annotator_ids.tolist())}
        order = [place[name] for name in columns["annotator"].tolist()]
        if self.judgments is not None and not isinstance(self.judgments, ShardedJudgments):
            shares = left_shares(self.judgments)
            columns |= {name: column[order] for name, column in shares.items()}
        return columns | {
            "verdict": self.verdicts.verdict[order],
            "reason": self.verdicts.reason[order],
        }

    @cached_property
    def guarantees(self) -> Guarantees:
        """What may honestly be claimed for this data, under which conditions.

        Whether answers are independent is known only after the data were checked: see ``advised``.
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
        else:
            return {}
        return columns | self._component(columns["item"])

    def _component(self, items: TextArray) -> Columns:
        """Return the connected component of each item, 1 the largest, where there are several."""
        known = None if self.consensus is None else self.consensus.uncertainty
        if self.consensus is None or known is None or known.component is None:
            return {}
        label = dict(zip(self.consensus.item_ids, known.component.tolist(), strict=True))
        found = [label[item] + 1 if item in label else None for item in items]
        whole = None not in found
        return {"component": np.array(found, dtype=np.int64 if whole else object)}

    def to_dict(self) -> dict[str, Any]:
        """Return the summary: plain data, as in ``summary.json``."""
        summary: dict[str, Any] = {"version": __version__}
        consensus, calibration = self.consensus, self.calibration
        if consensus is not None:
            summary |= {"method": consensus.method}
        if calibration is not None:
            summary |= {"calibrator": calibration.method}
            if calibration.calibrator.does:
                summary["calibrator_does"] = calibration.calibrator.does
        if consensus is not None:
            record, prior = consensus.convergence, consensus.prior
            summary |= {
                "n_items": len(consensus.item_ids),
                "n_annotators": len(consensus.annotator_ids),
                "n_judgments": consensus.n_judgments,
                **self.rows,
                "prior": None
                if prior is None
                else {"score_sd": prior.score_sd, "reliability_sd": prior.reliability_sd},
                "estimator": consensus.estimator,
                "reversed_share": consensus.reversed_share,
                "kernel": None if consensus.kernel is None else asdict(consensus.kernel),
                "objective": consensus.objective,
                "log_likelihood": consensus.log_likelihood,
                "converged": record.converged if record else None,
                "iterations": record.iterations if record else None,
                "gradient_norm": record.gradient_norm if record else None,
                "uncertainty": _uncertainty(consensus),
                "reversed_annotators": self.verdicts.named(REVERSED) if self.verdicts else [],
                "verdicts": self.verdicts.counts if self.verdicts else {},
                "random_reliability": consensus.random_reliability,
            }
        if calibration is not None:
            if consensus is None:
                summary["n_items"] = int((calibration.rank > 0).sum())
            summary |= {
                "n_calibrated": calibration.n_calibrated,
                "n_without_score": len(calibration.unscored_ids),
                "n_without_judgment": len(calibration.unjudged_ids),
                "weighted": calibration.weighted,
                "blocks": calibration.blocks,
                "shift_rms": calibration.shift_rms,
                "calibrated_interval": {
                    "covers": calibration.covers,
                    "level": calibration.level,
                },
                **_known(calibration),
            }
            made = calibration.calibrator.to_dict(calibration.inputs)
            if made:
                summary.setdefault(calibration.method, made)
        return summary | {
            "seconds": round(self.seconds, 3),
            "warnings": [str(warning) for warning in self.warnings],
            "guarantees": self.guarantees.to_dict(),
            **({} if self.advice is None else self.advice.to_dict()),
        }

    def advised(
        self,
        *,
        on_step: Callable[[str], None] | None = None,
        on_iteration: Callable[[int, float], None] | None = None,
    ) -> Assessment:
        """Return the same with what is wrong with the data and what to ask next.

        Parameters
        ----------
        on_step
            Called with what is being done, in words.
        on_iteration
            Called with the iteration and the relative gradient norm, where it is fitted again.

        Examples
        --------
        >>> import aggcal
        >>> result = aggcal.assess([("ann", "a", "b"), ("bob", "c", "d")], warn=False).advised()
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
            seed=self.rows["settings"]["seed"],
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
            Look the data over for it, and suggest what to ask next (see ``advised``).

        Examples
        --------
        >>> import aggcal
        >>> result = aggcal.assess([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
        >>> print(result.report("md")[:18])
        # Consensus scores
        """
        if format not in RENDERERS:
            raise OptionError(f"format '{format}' is unknown; choose {', '.join(RENDERERS)}.")
        if self.consensus is None:
            raise OptionError("there is a report of Stage 1 only; use assess or aggregate.")
        told = self.advised() if check else self
        return RENDERERS[format](told.told(texts))

    def told(self, texts: Any = None) -> Report:
        """Return what the report tells, before it is rendered; ``texts`` as for ``report``.

        Examples
        --------
        >>> import aggcal
        >>> aggcal.assess([("ann", "a", "b")], warn=False).told({"a": "An essay"}).texts
        {'a': 'An essay'}
        """
        columns = self.annotator_columns()
        summary, items = self.to_dict(), self.item_columns()
        if texts is None:
            return Report(summary, items, columns)
        read = read_texts(texts)
        return Report(summary | {"texts": Path(read.source).name}, items, columns, read.by_item)

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
        report = (self.advised() if check else self).told(texts)
        files: dict[str, Writer] = {"items.csv": table(report.items)}
        if self.consensus is not None:
            files["annotators.csv"] = table(report.annotators)
            for ending in ("html", "md"):
                files[f"report.{ending}"] = partial(_write, RENDERERS[ending](report))
        if self.calibration is not None and self.calibration.unjudged_ids:
            predicted = self.calibration.predict_unjudged().item_columns()
            files["predictions.csv"] = table(predicted)
        manifest = Manifest("summary.json", report.summary)
        outdated = [name for name in RESULT_FILES[:-1] if name not in files]
        return write_files(directory, files, manifest=manifest, outdated=outdated, force=force)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        parts = [str(part) for part in (self.consensus, self.calibration) if part is not None]
        said = (wrapped(f"warning: {warning_text(warning)}") for warning in self.warnings)
        return "\n".join([*parts, *said])

    def _repr_html_(self) -> str:
        parts = (str(part) for part in (self.consensus, self.calibration) if part is not None)
        columns = self.item_columns()
        rows = len(columns["item"]) if columns else 0
        return card(
            f"Assessment of {count(rows, 'item')}",
            head(columns, SHOWN if self.calibration is not None else columns),
            rows=rows,
            notes=unwrapped("\n".join(parts)),
            warnings=self.warnings,
        )


def assess(
    judgments: Any,
    scores: Any = None,
    *,
    method: str | Aggregator = DEFAULT_METHOD,
    calibrator: str | Calibrator = DEFAULT_CALIBRATOR,
    prior: PriorChoice = "default",
    estimator: Estimator | None = None,
    features: Any = None,
    weights: Literal["sd"] | None = "sd",
    uncertainty: str | None = LAPLACE.name,
    level: float = LEVEL,
    draws: int = 200,
    model_sd: float | None = None,
    anchors: Any = None,
    second_model: Any = None,
    seed: int | None = None,
    engine: str | Engine = LOCAL,
    warn: bool = True,
    on_iteration: Callable[[int, float], None] | None = None,
    on_draw: Callable[[int, int], None] | None = None,
) -> Assessment:
    """Aggregate judgments into a consensus and calibrate the model's scores onto its order.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes.
    scores
        `Scores`, or anything that `read_scores` takes; None for Stage 1 alone.
    method, prior, estimator, features, seed, engine, on_iteration
        See `aggregate`.
    calibrator, weights, model_sd, anchors, second_model
        See `calibrate`.
    uncertainty, level, draws, on_draw
        See `Consensus.quantify`; None for no uncertainty of the consensus.
    warn
        Emit the warnings of both stages as Python warnings too.

    Examples
    --------
    >>> import aggcal
    >>> result = aggcal.assess([("ann", "a", "b")], [("a", 1.0), ("b", 3.0)], warn=False)
    >>> print(result.calibration)
    Calibration by atc: 2 items in 1 block, moved by 1 (root mean square)
    """
    began = time.perf_counter()
    check_options(
        method=method,
        calibrator=calibrator,
        prior=prior,
        estimator=estimator,
        features=features,
        weights=weights,
        uncertainty=uncertainty,
        level=level,
        draws=draws,
        model_sd=model_sd,
        second_model=second_model,
        seed=seed,
        engine=engine,
    )
    if scores is None and not (model_sd is anchors is second_model is None):
        raise OptionError(
            "model_sd, anchors and second_model are for calibration; give the model's scores too."
        )
    # What is small is read before what may be large, and all is checked before anything is fitted.
    if scores is not None and not isinstance(scores, Scores):
        scores = read_scores(scores)
    anchors, second_model = read_known(anchors, second_model)
    if features is not None:
        features = feature_choice(features)
    judgments = laid_out(judgments, engine)
    known = {"model_sd": model_sd, "anchors": anchors, "second_model": second_model}
    if scores is not None:
        check_tables(find(calibrator), Given(scores, weights, **known), judgments.item_ids)
    consensus = aggregate(
        judgments,
        method,
        prior=prior,
        estimator=estimator,
        features=features,
        seed=seed,
        warn=False,
        on_iteration=on_iteration,
    )
    drawn = seed or 0
    if uncertainty is None:
        consensus = replace(consensus, quantifier=None, stated=None)
    elif uncertainty != LAPLACE.name or consensus.quantifiable:
        consensus = consensus.quantify(
            uncertainty, level=level, draws=draws, seed=drawn, on_draw=on_draw
        )
    calibration = None
    if scores is not None:
        calibration = calibrate(
            scores,
            consensus,
            method=calibrator,
            weights=weights,
            **known,
            level=level,
            seed=drawn,
            warn=False,
        )
    rows = {
        "judgments": judgments.source,
        "scores": Path(scores.source).name if scores is not None else None,
        "features": Path(features.source).name if isinstance(features, Features) else features,
        "format": judgments.format,
        "reading": list(judgments.notes),
        "criteria": list(judgments.criteria),
        "n_rows": judgments.n_rows,
        "n_duplicates": judgments.n_duplicates,
        "n_repeated": judgments.n_repeated,
        "not_fitted": judgments.unfitted.counts,
        "settings": {
            "method": method if isinstance(method, str) else None,
            "prior": "none" if prior is None else prior if isinstance(prior, str) else "own",
            "estimator": estimator,
            "weights": weights,
            "uncertainty": uncertainty,
            "level": level,
            "draws": draws,
            "model_sd": model_sd,
            "seed": drawn,
            "engine": place_of(judgments),
        },
    }
    result = Assessment(
        consensus, calibration, rows, time.perf_counter() - began, judgments, scores
    )
    if warn:
        for warning in result.warnings:
            python_warnings.warn(warning, stacklevel=2)
    return result


def check_options(
    *,
    method: str | Aggregator = DEFAULT_METHOD,
    calibrator: str | Calibrator = DEFAULT_CALIBRATOR,
    prior: PriorChoice = "default",
    estimator: Estimator | None = None,
    features: Any = None,
    weights: Literal["sd"] | None = "sd",
    uncertainty: str | None = LAPLACE.name,
    level: float = LEVEL,
    draws: int = 200,
    model_sd: float | None = None,
    second_model: Any = None,
    seed: int | None = None,
    engine: str | Engine = LOCAL,
) -> None:
    """Refuse options of `assess` that are none, before anything is read or fitted.

    Examples
    --------
    >>> check_options(level=95)
    Traceback (most recent call last):
    aggcal.errors.OptionError: the level is 95; give a number between 0 and 1, such as 0.95.
    """
    check_method(method, prior, estimator, given_features=features is not None)
    check_engine(method, engine, prior=prior, estimator=estimator)
    check_seed(seed)
    check_uncertainty(method, uncertainty, level=level, draws=draws)
    check_calibration(calibrator, weights=weights, model_sd=model_sd, second_model=second_model)


def _write(text: str, file: IO[str]) -> None:
    file.write(text)


def _uncertainty(consensus: Consensus) -> dict[str, Any] | None:
    known = consensus.uncertainty
    if known is None:
        return None
    return {
        "kind": known.kind,
        "level": known.level,
        "covers": known.covers,
    }


def _known(calibration: Calibration) -> dict[str, Any]:
    """Say what else was known."""
    inputs = calibration.inputs
    return {
        "model_sd": None if inputs.variances is None else inputs.model_variance**0.5,
        "n_anchors": 0 if inputs.anchors is None else len(inputs.anchors[0]),
        "second_model": inputs.second is not None,
        "kept": calibration.kept,
    }
