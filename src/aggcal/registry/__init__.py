"""Everything that is chosen by name, as plain data: methods, calibrators, links, kinds.

Help texts, choices, the wording of the report, the tables of the documentation and ``aggcal list``
come from here, and such names appear nowhere else. An entry says where its code is (``home``),
which is imported when it is first used.

To add one of aggcal's own, write the file and an entry here. Other packages register theirs by
entry points: ``aggcal.methods`` (each a `MethodInfo`) and ``aggcal.formats`` (each an
`aggcal.io.formats.Format`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from aggcal.registry.literals import (
    Bridge,
    ContextUse,
    EngineName,
    Estimator,
    FormatName,
    LinkName,
    Switch,
    Ties,
    UncertaintyName,
)
from aggcal.registry.names import Choices, Names, load


@dataclass(frozen=True)
class LinkInfo:
    """The distribution F of a judgment's noise."""

    name: LinkName
    summary: str
    letter: str
    """What the heterogeneous method with this link is called by: hra-g is the logistic one."""
    code: int
    """Its number in the compiled kernels."""


LOGISTIC = LinkInfo("logistic", "the Bradley-Terry link", "g", 0)
NORMAL = LinkInfo("normal", "the link of Thurstone's case V", "n", 1)
LAPLACE_NOISE = LinkInfo("laplace", "the difference of two unit Laplace noises", "e", 2)

LINKS: dict[str, LinkInfo] = {link.name: link for link in (LOGISTIC, NORMAL, LAPLACE_NOISE)}
"""The links by name."""


@dataclass(frozen=True)
class MethodInfo:
    """A method of Stage 1: where it is, what it is called, and what may be asked of it."""

    name: str
    home: str
    """``package.module:Class`` of an `aggcal.Aggregator`."""
    summary: str
    """A line for ``aggcal list methods``."""
    assumes: str
    """What it assumes, in a line of the report."""
    takes: tuple[str, ...] = ()
    """Options that the class takes: ``prior``, ``seed``, ``estimator``, ``features``, ``terms``."""
    reliabilities: bool = False
    """Whether annotators have different reliabilities."""
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

    def make(self, **options: Any) -> Any:
        """Make the aggregator, with those of the options that it takes."""
        wanted = {name: value for name, value in options.items() if name in self.takes}
        return load(self.home)(**self.settings, **wanted)


_FITTED = ("prior", "seed")
_INTEGRATED = (*_FITTED, "estimator")
_STAGE_1 = "aggcal.aggregation"

TIES: tuple[Ties, ...] = get_args(Ties)
"""How ties are fitted (see `aggcal.Terms`)."""
SWITCHES: tuple[Switch, ...] = get_args(Switch)
"""Whether a term is fitted."""
BRIDGES: tuple[Bridge, ...] = get_args(Bridge)
"""How disagreement is looked for: one axis, camps, whichever predicts better, or not at all."""
CONTEXT_USES: tuple[ContextUse, ...] = get_args(ContextUse)
"""What a context is used for."""

HRA_G = MethodInfo(
    "hra-g",
    f"{_STAGE_1}.methods:HRA",
    "heterogeneous Bradley-Terry: logistic link, a reliability per annotator (default)",
    "answers are clearer when two items differ more; each annotator has a reliability (a "
    "Bradley-Terry model with reliabilities)",
    (*_INTEGRATED, "terms"),
    reliabilities=True,
    link=LOGISTIC,
    settings={"link": LOGISTIC.name},
)
HRA_E = MethodInfo(
    "hra-e",
    f"{_STAGE_1}.methods:HRA",
    "the same with the difference of two Laplace noises: robust to gross errors",
    "as hra-g, but more robust to gross errors",
    _INTEGRATED,
    reliabilities=True,
    link=LAPLACE_NOISE,
    settings={"link": LAPLACE_NOISE.name},
)
HRA_N = MethodInfo(
    "hra-n",
    f"{_STAGE_1}.methods:HRA",
    "the same with the normal link: heterogeneous Thurstone",
    "as hra-g, with normally distributed errors (a Thurstone model with reliabilities)",
    _INTEGRATED,
    reliabilities=True,
    link=NORMAL,
    settings={"link": NORMAL.name},
)
CROWD_BT = MethodInfo(
    "crowd-bt",
    f"{_STAGE_1}.methods:CrowdBT",
    "CrowdBT: logistic link, a probability per annotator of reporting the opposite",
    "answers are clearer when two items differ more; each annotator has a probability of "
    "reporting the opposite of what they see",
    _INTEGRATED,
    reliabilities=True,
)
CROWD_TCV = MethodInfo(
    "crowd-tcv",
    f"{_STAGE_1}.methods:CrowdTCV",
    "CrowdTCV: the same with the normal link",
    "as crowd-bt, with normally distributed errors",
    _INTEGRATED,
    reliabilities=True,
)
BTL = MethodInfo(
    "btl",
    f"{_STAGE_1}.methods:BTL",
    "Bradley-Terry-Luce: logistic link, all annotators equally reliable",
    "answers are clearer when two items differ more; all annotators are equally reliable "
    "(a Bradley-Terry model)",
    (*_FITTED, "terms"),
    link=LOGISTIC,
)
TCV = MethodInfo(
    "tcv",
    f"{_STAGE_1}.methods:TCV",
    "Thurstone's case V: normal link, all annotators equally reliable",
    "as btl, with normally distributed errors (a Thurstone model)",
    _FITTED,
    link=NORMAL,
)
GPPL = MethodInfo(
    "gppl",
    f"{_STAGE_1}.features:GPPL",
    "Gaussian-process preference learning: normal link, scores smooth in the items' features",
    "items with similar features have similar scores; all annotators are equally reliable",
    ("features",),
)
RANK_SVM = MethodInfo(
    "rank-svm",
    f"{_STAGE_1}.features:RankSVM",
    "ranking SVM: scores linear in the items' features",
    "scores are a weighted sum of the items' features; all annotators are equally reliable",
    ("features",),
)
BARCW = MethodInfo(
    "barcw",
    f"{_STAGE_1}.features:BARCW",
    "BARCW: as gppl, with annotators who may answer at random (no reference code is public)",
    "as gppl, and an annotator may answer at random",
    ("features",),
    reliabilities=True,
)
DEFAULT_METHOD: Literal["hra-g"] = "hra-g"
"""The default method."""
AUTO = MethodInfo(
    "auto",
    f"{_STAGE_1}.selection:Auto",
    "compare the methods on held-out judgments and take the simplest that predicts well",
    "the method was chosen by how well it predicts judgments that were held out",
    ("seed",),
)
"""What chooses among the methods; no method itself, so it is not listed among them."""


@dataclass(frozen=True)
class CalibratorInfo:
    """A calibrator of Stage 2: where it is and what it does, for results that name it.

    The defaults here describe a user's own calibrator, of which results know only the name.
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
        "The calibrated scores come from a custom calibrator, given the model's scores and the "
        "consensus."
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
    f"{_STAGE_2}.calibrators:Atc",
    "isotonic projection of the model's scores onto the consensus order (default)",
    "project onto the consensus order",
    "the scores closest to the model's that never contradict the annotators' order (isotonic "
    "regression)",
    "Only the order of the consensus is used. The calibrated scores keep the model's units and the "
    "annotators' order; where the two disagree, items are pooled into blocks of equal scores. If "
    "the annotators share an error, or the model is better than their ranking, calibration makes "
    "the scores worse.",
    "the scores closest to the dots that never contradict that order",
    pools=True,
)
FUSED = CalibratorInfo(
    "fused",
    f"{_STAGE_2}.calibrators:Fused",
    "a smooth curve in the consensus, plus as much of the model's deviations as is signal",
    "closer to the truth on average, not strictly in the consensus order",
    "a mixture of model and consensus, each weighted by how far it can be trusted",
    "The calibrated scores keep the model's units. They follow the consensus and the model, each "
    "as far as it can be trusted, so their order may differ from the consensus order. If the "
    "annotators share an error and nothing else is known, calibration makes the scores worse.",
    "a smooth curve in the consensus, plus {kept} of each dot's distance from it",
)
SAFE = CalibratorInfo(
    "safe",
    f"{_STAGE_2}.calibrators:Safe",
    "James-Stein towards the projection: never worse than a model of known sd on average",
    "never worse than a model of known sd on average",
    "the model's scores, moved towards the annotators' order only as far as cannot hurt on average",
    "The calibrated scores keep the model's units. They are the model's scores, shrunk towards the "
    "consensus order as far as the model's standard deviation allows without loss on average.",
    "the projection onto that order, plus {kept} of each dot's distance from it",
)
CALIBRATORS = {info.name: info for info in (ATC, FUSED, SAFE)}
"""The calibrators by name."""
DEFAULT_CALIBRATOR: Literal["atc"] = "atc"
"""The default calibrator."""
AUTO_CALIBRATOR = CalibratorInfo(
    "auto",
    f"{_STAGE_2}.calibrators:Auto",
    "the one of these that is recommended for what is known",
    "choose for me, and say why",
)
"""What chooses among the calibrators; none itself, so it is not listed among them."""


@dataclass(frozen=True)
class ScaleInfo:
    """A scale of the consensus."""

    name: str
    column: str
    """Its column in ``items.csv``."""
    title: str
    """Its heading in the report."""
    means: str
    """What its numbers mean, in a line of the report."""
    linked: bool = True
    """Whether it needs to know how often an item wins."""


ELO = ScaleInfo(
    "elo",
    "elo",
    "Elo",
    "Elo ratings: an item 400 points ahead of another wins against it ten times as often as it "
    "loses",
)
HUNDRED = ScaleInfo(
    "0-100",
    "score_0_100",
    "0–100",
    "consensus scores, stretched so that the lowest item has 0 and the highest 100",
    linked=False,
)
WIN = ScaleInfo(
    "win",
    "win_probability",
    "Wins",
    "probability that a typical annotator prefers the item to one of average score",
)
SCALES = {scale.name: scale for scale in (ELO, HUNDRED, WIN)}
"""The scales by name."""


@dataclass(frozen=True)
class UncertaintyInfo:
    """A kind of uncertainty of the consensus."""

    name: UncertaintyName
    covers: str
    """What its intervals are intervals of."""
    means: str
    """How it was computed, for the report."""


ROBUST = UncertaintyInfo(
    "robust",
    "the consensus of these annotators: what they would agree on with unlimited judgments",
    "how the intervals were computed: from the curvature of the posterior at its maximum, widened "
    "by how much more than chance answers of an annotator, to a question, in a context or in an "
    "act agree, and by what weights above 1 add.",
)
LAPLACE = UncertaintyInfo(
    "laplace",
    "the consensus of these annotators: what they would agree on with unlimited judgments, if they "
    "answer independently, as the method assumes",
    "how the intervals were computed: from the curvature of the posterior at its maximum. The more "
    "curved, the narrower.",
)
BOOTSTRAP = UncertaintyInfo(
    "bootstrap",
    "the consensus that this fit would reach with unlimited annotators of the same kind, or with "
    "unlimited contexts where the judgments have contexts",
    "how the intervals were computed: by refitting many times, each time to annotators (contexts, "
    "where there are some) resampled from these.",
)
UNCERTAINTIES: dict[str, UncertaintyInfo] = {
    info.name: info for info in (ROBUST, LAPLACE, BOOTSTRAP)
}
"""The kinds of uncertainty by name. None covers the truth."""


PREFLIB, CROWD_KIT, LABEL_STUDIO, ARGILLA = "preflib", "crowd-kit", "label-studio", "argilla"
RANKINGS, RATINGS, TABLE = "rankings", "ratings", "table"
"""Formats of judgments that code names; all are declared in `aggcal.io.formats`."""
FORMAT_NAMES = Choices(get_args(FormatName), lambda: load("aggcal.io.formats:FORMATS"))
"""What the option of a format takes."""

LOCAL: Literal["local"] = "local"
DASK: Literal["dask"] = "dask"
GPU: Literal["gpu"] = "gpu"
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
"""Where sums over judgments are computed: this machine, a cluster, a GPU."""

MARGINAL: Literal["marginal"] = "marginal"
MODE: Literal["mode"] = "mode"
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
"""Reliabilities are integrated out, or maximised over together with the scores."""

METHODS = Names(
    "method",
    MethodInfo,
    (HRA_G, HRA_E, HRA_N, CROWD_BT, CROWD_TCV, BTL, TCV, GPPL, RANK_SVM, BARCW),
    also=(AUTO,),
)
"""The methods of Stage 1."""
WITHOUT_FEATURES = tuple(info.name for info in METHODS.own.values() if not info.from_features)
"""Those that fit judgments alone."""
EQUAL = frozenset(info.name for info in METHODS.own.values() if not info.reliabilities)
"""Those that take all annotators to be equally reliable."""
PREDICTABLE = {name: info.link for name, info in METHODS.own.items() if info.link is not None}
"""Those for which the information of a future judgment is known, and their links."""
