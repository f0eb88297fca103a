"""Everything that is chosen by name, as plain data: methods, calibrators, links, formats, kinds.

Help texts, choices, the words of the report, the tables of the documentation and ``aggcal methods``
and ``aggcal formats`` are written from here, and no such name stands elsewhere. An entry says where
its code lives (``home``), which is imported when it is first used.

To add one of aggcal's own, write the file and an entry here. Other packages register theirs by
entry points: ``aggcal.methods`` (each a `MethodInfo`) and ``aggcal.formats`` (each a `FormatInfo`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aggcal.registry.names import Names, load


@dataclass(frozen=True)
class LinkInfo:
    """The distribution F of a judgment's noise."""

    name: str
    summary: str
    letter: str
    """What the heterogeneous method with this link is called by: hra-g is the logistic one."""
    code: int
    """Its number in the compiled kernels."""


LOGISTIC = LinkInfo("logistic", "the Bradley-Terry link", "g", 0)
NORMAL = LinkInfo("normal", "that of Thurstone's case V", "n", 1)
LAPLACE_NOISE = LinkInfo("laplace", "the difference of two unit Laplace noises", "e", 2)

LINKS = {link.name: link for link in (LOGISTIC, NORMAL, LAPLACE_NOISE)}
"""The links by name."""


@dataclass(frozen=True)
class MethodInfo:
    """A method of Stage 1: where it is, what it is called, and what may be asked of it."""

    name: str
    home: str
    """``package.module:Class`` of an `aggcal.Aggregator`."""
    summary: str
    """A line for ``aggcal methods``."""
    assumes: str
    """What it supposes, in a line of the report."""
    takes: tuple[str, ...] = ()
    """Options that the class is given: of ``prior``, ``seed``, ``estimator``, ``features``."""
    reliabilities: bool = False
    """Whether annotators are told apart."""
    link: LinkInfo | None = None
    """F, where the probability of a judgment is F(γ (s_i − s_j))."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that this name always gives to the class."""

    @property
    def from_features(self) -> bool:
        """Whether it needs features of the items."""
        return "features" in self.takes

    @property
    def integrates(self) -> bool:
        """Whether it has parameters that an estimator integrates out or maximises over."""
        return "estimator" in self.takes

    @property
    def sandwich(self) -> bool:
        """Whether it has sandwich standard errors."""
        return self.link is not None and not self.reliabilities

    def make(self, **options: Any) -> Any:
        """Make the aggregator, with those of the options that it takes."""
        wanted = {name: value for name, value in options.items() if name in self.takes}
        return load(self.home)(**self.settings, **wanted)


_FITTED = ("prior", "seed")
_INTEGRATED = (*_FITTED, "estimator")
_STAGE_1 = "aggcal.aggregation"

HRA_G = MethodInfo(
    "hra-g",
    f"{_STAGE_1}.thurstone:HRA",
    "heterogeneous Bradley-Terry: logistic link, a reliability per annotator (default)",
    "the further apart two items are, the surer an answer; and each annotator has a reliability of "
    "their own (a Bradley-Terry model with reliabilities)",
    _INTEGRATED,
    reliabilities=True,
    link=LOGISTIC,
    settings={"link": LOGISTIC.name},
)
HRA_E = MethodInfo(
    "hra-e",
    f"{_STAGE_1}.thurstone:HRA",
    "the same with the difference of two Laplace noises: forgiving of gross errors",
    "as hra-g, but more forgiving of gross errors",
    _INTEGRATED,
    reliabilities=True,
    link=LAPLACE_NOISE,
    settings={"link": LAPLACE_NOISE.name},
)
HRA_N = MethodInfo(
    "hra-n",
    f"{_STAGE_1}.thurstone:HRA",
    "the same with the normal link: heterogeneous Thurstone",
    "as hra-g, with errors that follow a bell curve (Thurstone, with reliabilities)",
    _INTEGRATED,
    reliabilities=True,
    link=NORMAL,
    settings={"link": NORMAL.name},
)
CROWD_BT = MethodInfo(
    "crowd-bt",
    f"{_STAGE_1}.crowd:CrowdBT",
    "CrowdBT: logistic link, a chance per annotator of reporting the opposite",
    "the further apart two items are, the surer an answer; and each annotator has a chance of "
    "their own to say the opposite of what they see",
    _INTEGRATED,
    reliabilities=True,
)
CROWD_TCV = MethodInfo(
    "crowd-tcv",
    f"{_STAGE_1}.crowd:CrowdTCV",
    "CrowdTCV: the same with the normal link",
    "as crowd-bt, with errors that follow a bell curve",
    _INTEGRATED,
    reliabilities=True,
)
BTL = MethodInfo(
    "btl",
    f"{_STAGE_1}.thurstone:BTL",
    "Bradley-Terry-Luce: logistic link, every annotator alike",
    "the further apart two items are, the surer an answer; all annotators count alike (a "
    "Bradley-Terry model)",
    _FITTED,
    link=LOGISTIC,
)
TCV = MethodInfo(
    "tcv",
    f"{_STAGE_1}.thurstone:TCV",
    "Thurstone's case V: normal link, every annotator alike",
    "as btl, with errors that follow a bell curve (a Thurstone model)",
    _FITTED,
    link=NORMAL,
)
GPPL = MethodInfo(
    "gppl",
    f"{_STAGE_1}.from_features:GPPL",
    "Gaussian-process preference learning: normal link, scores smooth in the items' features",
    "items with similar features get similar scores; all annotators count alike",
    ("features",),
)
RANK_SVM = MethodInfo(
    "rank-svm",
    f"{_STAGE_1}.from_features:RankSVM",
    "ranking SVM: scores linear in the items' features (needs scikit-learn)",
    "scores are a weighted sum of the items' features; all annotators count alike",
    ("features",),
)
BARCW = MethodInfo(
    "barcw",
    f"{_STAGE_1}.from_features:BARCW",
    "BARCW: as gppl, with annotators who may answer at random (our reading: no public code)",
    "as gppl, and an annotator may answer at random",
    ("features",),
    reliabilities=True,
)
DEFAULT_METHOD = HRA_G.name
"""The method where none is named."""


@dataclass(frozen=True)
class CalibratorInfo:
    """A calibrator of Stage 2: where it is and what it does, for results that name it.

    What is not said here is said of a user's own, of which results know the name alone.
    """

    name: str
    home: str = ""
    """``package.module:Class`` of an `aggcal.Calibrator`."""
    summary: str = ""
    """A line for the documentation."""
    help: str = ""
    """What to choose it for, in the help of the command line."""
    does: str = ""
    """What it does, in a line of the report."""
    explains: str = (
        "The calibrated scores are what a calibrator of the user's own makes of the model's scores "
        "and the consensus."
    )
    """What its scores are, for the report."""
    line: str = ""
    """What the line of the report's figure is, in which ``{kept}`` is the share kept."""
    pools: bool = False
    """Whether items that contradict the order are given one common score."""

    def make(self) -> Any:
        """Make the calibrator."""
        return load(self.home)()


_STAGE_2 = "aggcal.calibration"

ATC = CalibratorInfo(
    "atc",
    f"{_STAGE_2}.atc:ATC",
    "isotonic projection of the model's scores onto the consensus order (default)",
    "project onto the consensus order",
    "the scores closest to the model's that never contradict the annotators' order (isotonic "
    "regression)",
    "Only its order is used further. The calibrated scores keep the model's units and the "
    "annotators' order; where the two disagree, items are pooled into blocks of one value. If the "
    "annotators are wrong together, or the model is better than their ranking, calibration makes "
    "the scores worse.",
    "the closest to the dots that never contradicts that order",
    pools=True,
)
FUSED = CalibratorInfo(
    "fused",
    f"{_STAGE_2}.fused:Fused",
    "a smooth curve in the consensus, and as much of the model as is signal",
    "closer to the truth on average, not strictly in the consensus order",
    "model and consensus mixed, each as far as it can be trusted",
    "The calibrated scores keep the model's units. They follow the consensus as far as it can be "
    "trusted, and the model as far as it seems to be signal, so their order may differ from the "
    "consensus's. If the annotators are wrong together and nothing else is known, they are worse "
    "for it.",
    "a smooth curve in the consensus, and {kept} of each dot's distance from it",
)
SAFE = CalibratorInfo(
    "safe",
    f"{_STAGE_2}.safe:Safe",
    "James-Stein towards the projection: never worse than a model of known sd on average",
    "never worse than a model of known sd on average",
    "the model's scores, moved towards the annotators' order only as far as cannot hurt on average",
    "The calibrated scores keep the model's units. They are the model's own, shrunk towards the "
    "consensus order as far as a model of this standard deviation allows without loss on average.",
    "the projection onto that order, and {kept} of each dot's distance from it",
)
CALIBRATORS = {info.name: info for info in (ATC, FUSED, SAFE)}
"""The calibrators by name."""
DEFAULT_CALIBRATOR = ATC.name
"""The calibrator where none is named."""


@dataclass(frozen=True)
class UncertaintyInfo:
    """A kind of uncertainty of the consensus."""

    name: str
    covers: str
    """What its intervals are intervals of."""
    means: str
    """How it was worked out, in the words of the report."""


_FROM_SCATTER = (
    "the way in which the ranges were worked out: from how much the judgments really scatter about "
    "what the fit expects of them."
)

LAPLACE = UncertaintyInfo(
    "laplace",
    "the consensus of these annotators: what they would agree on if each of them went on judging "
    "without end, and answered as the method supposes",
    "the way in which the ranges were worked out: from how sharply the best numbers beat others "
    "near by. The sharper, the narrower.",
)
SANDWICH = UncertaintyInfo(
    "sandwich",
    "the consensus that this method would reach with ever more annotators of the same kind, "
    "whether or not they are really alike",
    _FROM_SCATTER,
)
SANDWICH_RANDOM = UncertaintyInfo(
    "sandwich-random",
    "the value that this method would reach with ever more judgments, each of a random annotator "
    "and pair",
    _FROM_SCATTER,
)
SANDWICH_FIXED = UncertaintyInfo(
    "sandwich-fixed",
    "the value that this method would reach with ever more judgments of the same pairs by the same "
    "annotators",
    _FROM_SCATTER,
)
BOOTSTRAP = UncertaintyInfo(
    "bootstrap",
    "the consensus that this fit would reach with ever more annotators of the same kind",
    "the way in which the ranges were worked out: by fitting again and again, each time with "
    "annotators drawn anew by lot from these.",
)
UNCERTAINTIES = {
    info.name: info for info in (LAPLACE, SANDWICH, SANDWICH_RANDOM, SANDWICH_FIXED, BOOTSTRAP)
}
"""The kinds of uncertainty by name. None covers the truth."""


@dataclass(frozen=True)
class FormatInfo:
    """A format that judgments are read from."""

    name: str
    home: str
    """``package.module:NAME`` of an `aggcal.io.formats.Format`."""
    summary: str
    """What such files are and which columns tell them, for ``aggcal formats``."""
    general: bool = False
    """Whether files of other tools may look like it, too: it is then asked after all others."""


def _format(name: str, home: str, summary: str, *, general: bool = False) -> FormatInfo:
    return FormatInfo(name, f"aggcal.io.formats.{home}", summary, general)


PREFLIB = _format(
    "preflib", "preflib:FORMAT", "PrefLib orders: .soc, .soi, .toc, .toi, old and new headers"
)
CROWD_KIT = _format("crowd-kit", "crowd_kit:FORMAT", "crowd-kit: worker, left, right, label")
RANKINGS = _format(
    "rankings",
    "rankings:RANKINGS",
    "rankings: one a row (annotator, r1, r2, ... or ranking 'a > b = c'), or annotator, item, rank",
    general=True,
)
RATINGS = _format(
    "ratings",
    "ratings:FORMAT",
    "ratings: annotator, item, rating (higher is better)",
    general=True,
)
TABLE = _format(
    "table",
    "plain:FORMAT",
    "a table: annotator, winner, loser or annotator, left, right, outcome, or common synonyms",
    general=True,
)
# fmt: off
LABEL_STUDIO = _format("label-studio", "label_studio:FORMAT",
                       "Label Studio, Pairwise and Ranker: JSON, JSON_MIN and CSV")
ARGILLA = _format("argilla", "argilla:FORMAT",
                  "Argilla v2 rankings and pairs: nested, flattened, server form")
_OWN_FORMATS = (
    # From the most particular to the most general: the first that knows a file reads it.
    PREFLIB,
    LABEL_STUDIO, ARGILLA,
    _format("vote-log", "vote_log:FORMAT", "the raw vote log of a FastChat server"),
    _format("mt-bench", "mt_bench:FORMAT",
            "MT-Bench pair judgments: model_1, model_2, g1_winner, g2_winner"),
    _format("alpaca-eval", "alpaca_eval:FORMAT",
            "AlpacaEval annotations: generator_1, generator_2, preference"),
    _format("arena", "arena:FORMAT",
            "FastChat and LMArena battles, MT-Bench human judgments: model_a, model_b, winner"),
    CROWD_KIT,
    _format("gavel", "gavel:FORMAT", "Gavel's decisions: Annotator ID, Winner ID, Loser ID"),
    _format("all-our-ideas", "all_our_ideas:VOTES",
            "All Our Ideas' votes: Session ID, Winner ID, Loser ID"),
    _format("all-our-ideas-non-votes", "all_our_ideas:NON_VOTES",
            "All Our Ideas' non-votes: Record Type, Session ID"),
    _format("no-more-marking", "no_more_marking:FORMAT",
            "No More Marking's decisions: judgeId, chosen, notChosen"),
    _format("preference-pairs", "preference_pairs:FORMAT", "preference pairs: chosen, rejected"),
    _format("openreview", "openreview:FORMAT", "OpenReview's reviews: forum, content.rating"),
    _format("evalica", "evalica:FORMAT", "evalica: left, right, winner (left, right or tie)"),
    _format("best-worst", "rankings:BEST_WORST",
            "best-worst choices: annotator, best, worst and what was shown (item1, item2, ... or "
            "items)", general=True),
    RANKINGS,
    RATINGS,
    _format("choix", "choix:FORMAT",
            "choix: [[winner, loser], ...], [[winner, [losers]], ...] or rankings", general=True),
    TABLE,
)
# fmt: on

ENGINES = LOCAL, DASK, GPU = "local", "dask", "gpu"
"""Where sums over judgments are computed: this machine, a cluster, a GPU."""

MARGINAL: Literal["marginal"] = "marginal"
MODE: Literal["mode"] = "mode"
ESTIMATORS = (MARGINAL, MODE)
"""Reliabilities are integrated out, or maximised over together with the scores."""

METHODS = Names(
    "method",
    MethodInfo,
    (HRA_G, HRA_E, HRA_N, CROWD_BT, CROWD_TCV, BTL, TCV, GPPL, RANK_SVM, BARCW),
)
"""The methods of Stage 1."""
WITHOUT_FEATURES = tuple(info.name for info in METHODS.own.values() if not info.from_features)
"""Those that fit judgments alone."""
PREDICTABLE = {name: info.link for name, info in METHODS.own.items() if info.link is not None}
"""Those of which it is known beforehand what a judgment will tell, and their links."""
FORMATS = Names("format", FormatInfo, _OWN_FORMATS)
"""The formats of judgments."""
