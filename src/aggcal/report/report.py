"""What the report tells, worked out once: every rendering of it says the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from aggcal._core.records import dataclass
from aggcal._core.tables import Columns, as_text
from aggcal._core.text import brief
from aggcal.advice.verdicts import GUESSING, ONE_SIDED, RELIABLE, REVERSED, VERDICTS
from aggcal.errors import TableError, count, some
from aggcal.registry import BARCW, CALIBRATORS, METHODS, CalibratorInfo
from aggcal.registry.limits import MOST_DIGITS
from aggcal.report import asides, claims, commands, contents, doubtful, findings, glossary, terms
from aggcal.report.annotators import counts_said
from aggcal.report.camp_ground import CampGround
from aggcal.report.categories import Categories
from aggcal.report.control import Control
from aggcal.report.decisions import Decided, decided_of, known_scale
from aggcal.report.detail import DECIDED, Details
from aggcal.report.ground import Ground
from aggcal.report.headline import Trust, could_be_first
from aggcal.report.headline import headline as verdict_of
from aggcal.report.headline import trust as trust_of
from aggcal.report.listing import Listing
from aggcal.report.packing import ScriptTable
from aggcal.report.parts import own_ranks, parts_of
from aggcal.report.rows import ItemRows


@dataclass(frozen=True, eq=False)
class Report:
    """The results as plain data, and what can be told of them.

    Parameters
    ----------
    summary
        As in ``summary.json``.
    items, annotators
        The columns of ``items.csv`` and ``annotators.csv``.
    texts
        What items say, by their ids.
    pictures
        What items look like, by their ids: addresses that hold the picture themselves.
    comparisons
        Who met whom, as in ``comparisons.json``; empty where that is not known.
    categories
        The columns of ``categories.csv``; empty without categories.

    Examples
    --------
    >>> import numpy as np
    >>> items = {"item": np.array(["a"], dtype=object), "consensus": np.zeros(1)}
    >>> report = Report({"method": "own", "warnings": ["an item is odd; look."]}, items)
    >>> report.findings[0]["title"], report.checked
    ('An item is odd; look.', False)
    """

    summary: Mapping[str, Any]
    items: Columns
    annotators: Columns = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    comparisons: Mapping[str, Any] = field(default_factory=dict)
    pictures: Mapping[str, str] = field(default_factory=dict)
    categories: Columns = field(default_factory=dict)

    __repr__ = brief

    def __post_init__(self) -> None:
        named = ((self.texts, self.summary.get("texts", "texts")), (self.pictures, "pictures"))
        for told, source in named:
            if told and not any(str(item) in told for item in self.items["item"]):
                some_ids = some(str(item) for item in told)
                raise TableError(
                    f"{source}: none of its items ({some_ids}) is in the results; use the same ids."
                )

    @property
    def calibrated(self) -> bool:
        """Whether there is a Stage 2."""
        return "calibrator" in self.summary

    @property
    def equal(self) -> bool:
        """Whether the method takes every annotator to be equally reliable."""
        return self.summary["method"] in contents.EQUAL_ANNOTATORS

    @property
    def judging(self) -> bool:
        """Whether reliabilities are probabilities of judging at all."""
        return bool(self.summary["method"] == BARCW.name)

    @property
    def method_words(self) -> str:
        """What the method of Stage 1 supposes; nothing for one of the user's own."""
        return known.assumes if (known := METHODS.own.get(self.summary["method"])) else ""

    @property
    def calibrator(self) -> CalibratorInfo:
        """What the calibrator does; of a user's own, what it says of itself."""
        name = str(self.summary.get("calibrator", ""))
        does = str(self.summary.get("calibrator_does", ""))
        return CALIBRATORS.get(name) or CalibratorInfo(name, does=does)

    @property
    def line(self) -> str:
        """What the line of calibrated scores is."""
        return self.calibrator.line.replace("{kept}", f"{self.summary.get('kept') or 0.0:.0%}")

    @cached_property
    def item_listing(self) -> Listing:
        """The table of the answer."""
        digits = self.summary.get("digits")
        known = isinstance(digits, int) and 0 <= digits <= MOST_DIGITS  # of a file of anybody's
        shown = own_ranks(self.items), self.texts, digits if known else None
        return contents.item_listing(*shown, decided_of(self.summary))

    @property
    def score_interval(self) -> tuple[str, str]:
        """Level of the intervals of the scores, and what they cover; nothing without any."""
        known = self.summary.get("uncertainty") or {}
        if self.rows.score.key == "calibrated":
            known = self.summary.get("calibrated_interval") or {}
        if not known.get("covers") or not known.get("level"):
            return "", ""
        return f"{100 * float(known['level']):g}%", str(known["covers"])

    @cached_property
    def rows(self) -> ItemRows:
        """The same as a chart."""
        top, decided = self.comparisons.get("top"), decided_of(self.summary)
        return ItemRows(self.item_listing, top, self.comparisons, decided, parts_of(self.items))

    @cached_property
    def decided(self) -> Decided:
        """Who is in, who is out, and which marks are doubtful."""
        return Decided(self.summary, self.items, self.rows)

    @cached_property
    def details(self) -> Details:
        """What the rows open to."""
        names = as_text(self.annotators.get("annotator", ())).tolist()
        called = contents.each_once(self.marks, lambda word: contents.VERDICT_WORDS.get(word, word))
        return Details(
            self.rows,
            self.comparisons,
            dict(zip(names, called, strict=True)),
            self.texts,
            self.calibrator,
            weighted=bool(self.summary.get("weighted")),
            influence={name: self.items[name] for name in DECIDED if name in self.items},
        )

    @property
    def title(self) -> str:
        """What the study is called; what it is about, where nobody gave it a name."""
        if own := str(self.summary.get("title") or ""):
            return own
        items, who = int(self.summary["n_items"]), int(self.summary["n_annotators"])
        return f"{count(items, 'item')} compared by {count(who, 'annotator')}"

    @property
    def question(self) -> str:
        """What the annotators were asked, where it is known."""
        return str(self.summary.get("question") or "")

    @cached_property
    def headline(self) -> tuple[str, str]:
        """Who is the best, or how many could be, and the rest of the verdict."""
        return verdict_of(self.summary, self.items, self.could_be_first)

    @cached_property
    def trust(self) -> Trust:
        """How far to trust the study, and why."""
        ranged = "rank_low" in self.items
        differ = self.ground.order_said if self.ground.found else ""
        return trust_of(self.summary, self.annotators, intervals=ranged, differ=differ)

    @property
    def could_be_first(self) -> list[int]:
        """The rows of the items that could be the best, where that is known."""
        return could_be_first(self.items, self.comparisons.get("first"))

    @property
    def tiers(self) -> int | None:
        """How many clear tiers there are; None where nothing is claimed."""
        known = ((self.summary.get("guarantees") or {}).get("tiers") or {}).get("values") or {}
        return None if known.get("tiers") is None else int(known["tiers"])

    @property
    def terms(self) -> list[tuple[str, str]]:
        """What was fitted beside scores and reliabilities, and why, in sentences."""
        return terms.sentences(self.summary)

    @cached_property
    def by(self) -> Categories:
        """The order of each category."""
        return Categories(self.categories, self.items, known_scale(self.categories))

    @cached_property
    def control(self) -> Control:
        """The order with nothing held equal beside this one."""
        return Control(self.summary, self.items)

    @cached_property
    def ground(self) -> Ground:
        """The axis of disagreement, or the camps, and the common ground."""
        camps = CampGround(self.summary, self.items, self.annotators)
        axis = Ground(self.summary, self.items, self.annotators)
        return camps if camps.found or not axis.looked else axis

    @property
    def asides(self) -> list[tuple[str, str]]:
        """What else the first screen says, each with where to read more."""
        return asides.asides(self)

    @cached_property
    def widest(self) -> list[dict[str, str]]:
        """The least certain scores."""
        return doubtful.widest(self.rows)

    @cached_property
    def most_moved(self) -> list[dict[str, str]]:
        """The scores that calibration changed most."""
        return doubtful.moved(self.rows)

    @property
    def annotators_said(self) -> str:
        """How many annotators are reliable and how many are not, for a heading."""
        return counts_said(sum(self.verdicts.values()), self.accused, self.verdicts[RELIABLE])

    @property
    def accused(self) -> int:
        """How many annotators have a verdict against them."""
        return sum(self.verdicts.get(word, 0) for word in (REVERSED, GUESSING, ONE_SIDED))

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """What may be claimed."""
        return claims.claims(self.summary)

    @property
    def passed(self) -> list[str]:
        """What was checked and found in order."""
        return findings.passed(self.summary)

    @property
    def facts(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Numbers about the data."""
        return findings.facts(self.summary)

    @cached_property
    def annotator_listing(self) -> Listing | None:
        """The table of who judged."""
        known = self.annotators
        return contents.annotator_listing(self.summary, known) if known else None

    @cached_property
    def script_tables(self) -> dict[str, ScriptTable]:
        """The long tables as the script of the page gets them."""
        listings = {"items": self.item_listing, "annotators": self.annotator_listing}
        return {name: ScriptTable(each.json) for name, each in listings.items() if each is not None}

    @cached_property
    def changes(self) -> dict[str, Any] | None:
        """What calibration did."""
        return contents.changes(self.items, self.texts)

    @cached_property
    def verdicts(self) -> dict[str, int]:
        """How many annotators have each verdict."""
        number = Counter(self.marks)
        return {word: number[word] for word in VERDICTS}

    @cached_property
    def marks(self) -> list[str]:
        """The verdict on each annotator."""
        return contents.marks(self.summary, self.annotators) if self.annotators else []

    @property
    def verdict_lines(self) -> list[tuple[str, str, int]]:
        """Of each verdict but the best that somebody has: in words, what it means, how many."""
        return [
            (contents.VERDICT_WORDS[word], contents.VERDICT_MEANS[word], number)
            for word, number in self.verdicts.items()
            if number and word != RELIABLE
        ]

    @cached_property
    def certainty(self) -> dict[str, Any] | None:
        """How wide the ranges of the ranks are."""
        return contents.certainty(self.items)

    @cached_property
    def coverage(self) -> dict[str, Any] | None:
        """How many judgments the items had."""
        return contents.coverage(self.items)

    @property
    def checked(self) -> bool:
        """Whether the data were looked over."""
        return "check" in self.summary

    @cached_property
    def findings(self) -> list[dict[str, Any]]:
        """What is wrong with the data, the problems first."""
        return findings.found(self.summary)

    @property
    def problems(self) -> int:
        """How many of the findings need attention."""
        return sum(each["severity"] == "problem" for each in self.findings)

    @property
    def not_checked(self) -> list[str]:
        """What the check left out, and why."""
        return list(self.summary["check"]["not_checked"]) if self.checked else []

    @cached_property
    def precision(self) -> str | None:
        """How sure the order is, and how many judgments a surer one takes."""
        return findings.precision(self.summary)

    @cached_property
    def suggestions(self) -> list[dict[str, Any]]:
        """The pairs worth asking next, and why."""
        return findings.suggestions(self.summary, self.texts)

    @property
    def files(self) -> str:
        """The files of the run, for a shell."""
        return commands.files(self.summary)

    @property
    def more_pairs(self) -> int:
        """How many pairs to ask for with the command that suggests more."""
        items = int(self.summary["n_items"])
        return min(20, items * (items - 1) // 2)

    @property
    def again(self) -> str | None:
        """The command that makes these results again."""
        return commands.again(self.summary)

    @cached_property
    def words(self) -> dict[str, str]:
        """The words that need explaining here, and what they mean."""
        return glossary.used(self.summary)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that is told, as plain data."""
        plain = (
            "changes", "verdicts", "certainty", "coverage", "findings", "passed", "not_checked",
            "precision", "suggestions", "again", "widest",
        )  # fmt: skip
        return {
            "title": self.title,
            "headline": " ".join(self.headline).strip(),
            "trust": self.trust.to_dict(),
            "tiers": self.tiers,
            "summary": dict(self.summary),
            **{name: getattr(self, name) for name in plain},
            "terms": dict(self.terms),
            "decisions": self.decided.to_dict(),
            "held_equal": self.control.to_dict(),
            "common_ground": self.ground.to_dict(),
            "comparisons": dict(self.comparisons),
            "words": self.words,
        }
