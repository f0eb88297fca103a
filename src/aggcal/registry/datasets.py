"""The real datasets by name: what they are, whose, how large, and which of their files are used."""

from __future__ import annotations

from dataclasses import dataclass

from aggcal.registry.literals import DatasetName


@dataclass(frozen=True)
class DatasetInfo:
    """A real dataset; its sizes are those of what ``aggcal.datasets.load`` returns."""

    name: DatasetName
    summary: str
    """A line for ``aggcal list datasets``."""
    items: int
    annotators: int
    judgments: int
    licence: str
    source: str
    folder: str
    """What its folder is called, in the repository and everywhere else."""
    needs: tuple[str, ...]
    """The files that loading reads."""
    in_repository: bool = True
    carried: bool = False
    """Whether the installed package has what loading needs."""
    downloads: bool = False
    """Whether it can be downloaded from its source."""


DOTS = DatasetInfo(
    "dots",
    "300 people ranked pictures of 50 to 79 dots; OpenCV counted the dots in damaged pictures",
    items=30,
    annotators=300,
    judgments=8700,
    licence="MIT",
    source="Kemmer et al. 2020, github.com/ryankemmer/dotsactivity-data",
    folder="dots",
    needs=("items.csv", "ratings.csv", "model_scores.csv"),
    carried=True,
)
READING_LEVEL = DatasetInfo(
    "reading-level",
    "crowd workers said which of two texts is harder; the truth is the school grade, 1 to 12",
    items=490,
    annotators=624,
    judgments=12726,
    licence="GPL-3.0 (source)",
    source="Chen et al. 2013, github.com/tao-j/hra; scores: github.com/CAMELLIAxt/12500_AtC_supp",
    folder="reading_level",
    needs=("judgments.csv", "items.csv"),
    downloads=True,
)
LLMFAO = DatasetInfo(
    "llmfao",
    "people compared answers of 59 LLMs; GPT-3.5 judged the same pairs; the truth is LMArena's",
    items=59,
    annotators=124,
    judgments=8931,
    licence="CC BY 4.0",
    source="Ustalov 2023, github.com/dustalov/llmfao; LMArena: fboulnois/llm-leaderboard-csv",
    folder="llmfao",
    needs=("battles.csv", "items.csv"),
    carried=True,
)
JUDGEMARK = DatasetInfo(
    "judgemark",
    "13 LLM judges ranked 17 LLM writers; the scores are a weak judge's; the truth is Arena Elo",
    items=17,
    annotators=13,
    judgments=1768,
    licence="MIT",
    source="Paech 2025, github.com/EQ-bench/Judgemark-v2",
    folder="judgemark",
    needs=("judgments.csv", "scores.csv", "items.csv"),
)
COUNTRY_POPULATION = DatasetInfo(
    "country-population",
    "people said which of two countries has more inhabitants; the truth is in millions",
    items=15,
    annotators=199,
    judgments=3184,
    licence="GPL-3.0 (source)",
    source="github.com/tao-j/hra; scores: github.com/CAMELLIAxt/12500_AtC_supp",
    folder="country_population",
    needs=("judgments.csv", "items.csv"),
)
SUSHI = DatasetInfo(
    "sushi",
    "5,000 people ranked ten kinds of sushi; no scores, no truth",
    items=10,
    annotators=5000,
    judgments=225_000,
    licence="research use, no redistribution",
    source="Kamishima 2003, kamishima.net/sushi",
    folder="sushi",
    needs=("rankings.csv",),
    in_repository=False,
    downloads=True,
)

DATASETS: dict[str, DatasetInfo] = {
    each.name: each for each in (DOTS, READING_LEVEL, LLMFAO, JUDGEMARK, COUNTRY_POPULATION, SUSHI)
}
"""The datasets by name."""

SIMULATED = "simulated"
DEMOS = (LLMFAO.name, DOTS.name, READING_LEVEL.name, SIMULATED)
"""The data that ``aggcal demo`` can show."""
