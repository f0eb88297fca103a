"""The types of arguments that are chosen by name, so that editors offer the names.

A type checker reads the names from here, and `aggcal.registry` at run time; a test holds the two
together. Other packages may register methods and formats: these arguments take any text as well.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

# fmt: off
MethodName: TypeAlias = Literal[
    "hra-g", "hra-e", "hra-n", "crowd-bt", "crowd-tcv", "btl", "tcv", "gppl", "rank-svm", "barcw",
    "auto",
]
"""A method of Stage 1."""
FittedName: TypeAlias = Literal["hra-g", "hra-e", "hra-n", "crowd-bt", "crowd-tcv", "btl", "tcv"]
"""A method that fits judgments alone, without features."""
PredictableName: TypeAlias = Literal["hra-g", "hra-e", "hra-n", "btl", "tcv"]
"""A method for which the information of a future judgment is known."""
CalibratorName: TypeAlias = Literal["atc", "fused", "safe", "auto"]
"""A calibrator of Stage 2."""
LinkName: TypeAlias = Literal["logistic", "normal", "laplace"]
"""The distribution of a judgment's noise."""
UncertaintyName: TypeAlias = Literal["robust", "laplace", "bootstrap"]
"""A kind of uncertainty of the consensus."""
FormatName: TypeAlias = Literal[
    "preflib", "label-studio", "argilla", "vote-log", "mt-bench", "mt-bench-single",
    "alpaca-eval", "arena", "arena-hard", "crowd-kit", "gavel", "all-our-ideas",
    "all-our-ideas-non-votes", "no-more-marking", "preference-pairs", "openreview", "hotcrp",
    "evalica", "best-worst", "rankings", "ratings", "choix", "table",
]
"""A format of judgments."""
DatasetName: TypeAlias = Literal[
    "dots", "reading-level", "llmfao", "judgemark", "country-population", "sushi"
]
"""A real dataset."""
# fmt: on
EngineName: TypeAlias = Literal["local", "dask", "gpu"]
"""Where sums over judgments are computed: this machine, a cluster, a GPU."""
Estimator: TypeAlias = Literal["marginal", "mode"]
"""Reliabilities are integrated out, or maximised over together with the scores."""
Ties: TypeAlias = Literal["auto", "davidson", "rao-kupper", "halves"]
"""How ties are fitted (see `aggcal.Terms`)."""
SimulatedTies: TypeAlias = Literal["none", "davidson", "rao-kupper"]
"""How ties come about in a simulation."""
Switch: TypeAlias = Literal["auto", "on", "off"]
"""Whether a term is fitted."""
ContextUse: TypeAlias = Literal["auto", "fit", "errors", "off"]
"""What a context is used for."""
Bridge: TypeAlias = Literal["axis", "camps", "auto", "off"]
"""How disagreement is looked for: one axis, camps, whichever predicts better, or not at all."""
