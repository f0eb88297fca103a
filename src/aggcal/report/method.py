"""What may be claimed, how it was computed, how to compute it again, and what the words mean."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from aggcal.errors import count
from aggcal.pages.document import (
    Block,
    Cell,
    Chip,
    Command,
    Group,
    Heading,
    Line,
    Pairs,
    Part,
    Section,
    Strong,
    Table,
    Text,
)
from aggcal.pages.numbers import number_text
from aggcal.registry import CALIBRATORS, METHODS, UNCERTAINTIES
from aggcal.report import terms
from aggcal.report.run import Run

_KINDS = {
    "bound": ("Bound", "holds with at least the stated probability"),
    "identity": ("Exact", "always holds"),
    "confidence": ("Confidence", "right in the stated share of studies, whatever the true scores"),
    "posterior": ("Probability", "a probability under the model and its prior"),
    "estimate": ("Estimate", "may be off"),
    "diagnostic": ("Description", "describes, promises nothing"),
}
"""What each kind of claim is called, and what it promises."""
_STATES = {
    True: Chip("good", "Checked"),
    None: Chip("none", "Assumed"),
    False: Chip("bad", "Fails"),
}
"""Whether what a claim depends on holds."""
_FILES: dict[Line, Line] = {
    "items.csv": "One row per item: rank, interval, scores",
    "annotators.csv": "One row per annotator: reliability, agreement, verdict",
    "categories.csv": "One row per item and category: score, interval, rank",
    "comparisons.json": "Who met whom, and the probability of each rank",
    "summary.json": "Settings, findings, claims, suggestions",
    "report.md": "A short version of this report",
}


def section(run: Run) -> Section:
    """Return the section of the report about the method."""
    claims, again = _claims(run.summary), command(run.summary)
    reproduced: list[Block] = [Heading("Make it again", 2), Command(again)] if again else []
    files = [each for each in _FILES.items() if each[0] != "categories.csv" or run.categories]
    how = Group([Heading("How it was made", 2), Pairs(made(run.summary))])
    where = Group([*reproduced, Group([Heading("Files"), Pairs(files)], only="page")])
    words = Pairs(list(glossary(run.summary).items()), "gloss")
    blocks = [
        *claims,
        Group([how, where], "sec two"),
        Group([Heading("Glossary", 2, "words"), words], "sec", only="page"),
    ]
    return Section("method", "Method", "What can be claimed" if claims else "Method", blocks)


# What may be claimed ------------------------------------------------------------------------------


def _claims(summary: Mapping[str, Any]) -> list[Block]:
    claims = summary.get("guarantees")
    if not claims:
        return []
    said = (
        "“Consensus” is what these annotators agree on. “Truth” needs more than annotators can "
        "give. Each claim is as good as what it depends on."
    )
    kinds: list[Part] = []
    for name, means in _KINDS.values():
        kinds += ["; " if kinds else "Kinds of claims: ", Strong(name.lower()), f" {means}"]
    heads = ("Claim", "About", "Kind", "Depends on")
    return [
        Text(said, "lede", only="page"),
        Table(heads, [_claim(each) for each in claims.values()], "flow claims"),
        Text((*kinds, "."), "note", only="page"),
    ]


def _claim(claim: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return a row of the table: the claim, what it is about, its kind, what it depends on."""
    withdrawn = " (withdrawn)" if claim.get("holds") is False else ""
    said: list[Line | Group] = [Strong(f"{claim['title']}{withdrawn}"), claim["claim"]]
    if claim["says"] != claim["claim"]:
        said.append(Group([Text(claim["says"])], "fold", "In full", only="page"))
    needs: list[Line | Group] = []
    for each in claim["conditions"]:
        note = f" ({each['note']})" if each.get("note") else ""
        what = f" {each['needs'][:1].upper()}{each['needs'][1:]}"
        needs.append((_STATES[each["holds"]], what, note))
    needs = needs or [(_STATES[True], " Computed from these data")]
    kind = str(claim["kind"])
    return said, str(claim["about"]).capitalize(), _KINDS.get(kind, (kind,))[0], needs


# How it was computed ------------------------------------------------------------------------------


def made(summary: Mapping[str, Any]) -> list[tuple[Line, Line]]:
    """Return how the results were made: labels, and what there is to say.

    Examples
    --------
    >>> made({"method": "own", "uncertainty": None, "version": "1", "n_rows": 1200})
    [('Consensus', 'own'), ('Calibration', 'none: no model scores were given'), \
('Intervals', 'not computed'), ('Rows read', '1,200'), ('Software', 'aggcal 1')]
    """
    seed = (summary.get("settings") or {}).get("seed")
    given = [str(summary[key]) for key in ("judgments", "scores", "features") if summary.get(key)]
    notes = (summary.get("format"), *(summary.get("reading") or ()))
    every = [
        ("Consensus", _method(summary)),
        ("Choice of method", (summary.get("selection") or {}).get("why")),
        ("Calibration", _calibration(summary)),
        ("Choice of calibrator", (summary.get("recommendation") or {}).get("why")),
        ("Intervals", _intervals(summary)),
        ("Prior", _phrases(summary.get("prior") or {}, _PRIOR)),
        *terms.sentences(summary),
        ("Fit", _fit(summary)),
        ("Seed", "" if seed is None else str(seed)),
        ("Input", " and ".join(given)),
        ("Rows read", _rows_read(summary)),
        ("Format", "; ".join(str(each) for each in notes if each)),
        ("Software", f"aggcal {summary['version']}"),
    ]
    return [(label, said) for label, said in every if said]


def _phrases(values: Mapping[str, Any], phrases: Mapping[str, str]) -> str:
    """Return the phrases whose keys have a value, with the value in them."""
    known = (said.format(values[key]) for key, said in phrases.items() if values.get(key))
    return "; ".join(known)


_PRIOR = {"score_sd": "scores: sd {:.3g}", "reliability_sd": "reliabilities: sd {:.3g} about 1"}
_CALIBRATION = {
    "weighted": "each model score weighs 1/sd²",
    "model_sd": "sd of the model's error {:.4g}",
    "second_model": "with a second model",
}


def _method(summary: Mapping[str, Any]) -> str:
    name = str(summary["method"])
    known = METHODS.own.get(name)
    return name if known is None else f"{name}: {known.assumes}"


def _calibration(summary: Mapping[str, Any]) -> str:
    if "calibrator" not in summary:
        return "none: no model scores were given"
    name = str(summary["calibrator"])
    known = CALIBRATORS.get(name)
    does = summary.get("calibrator_does") if known is None else known.does
    anchors = count(int(summary["n_anchors"]), "anchor") if summary.get("n_anchors") else ""
    said = (f"{name}: {does}" if does else name, _phrases(summary, _CALIBRATION), anchors)
    return "; ".join(filter(None, said))


def _intervals(summary: Mapping[str, Any]) -> str:
    known = summary.get("uncertainty")
    if known is None:
        return "not computed"
    means = UNCERTAINTIES[known["kind"]].means
    return f"level {known['level']:g} ({known['kind']}), {means.partition(': ')[2] or means}"


def _fit(summary: Mapping[str, Any]) -> str:
    if summary.get("converged") is None:
        return ""
    state = "converged" if summary["converged"] else "did NOT converge"
    said = f"{state} in {count(int(summary.get('iterations') or 0), 'iteration')}"
    if summary.get("log_likelihood") is not None:
        said += f"; log-likelihood {number_text(float(summary['log_likelihood']), 1)}"
    if summary.get("gradient_norm") is not None:
        said += f"; relative gradient {float(summary['gradient_norm']):.1e}"
    return said


def _rows_read(summary: Mapping[str, Any]) -> str:
    if summary.get("n_rows") is None:
        return ""
    said = [f"{summary['n_rows']:,}"]
    if number := summary.get("n_duplicates"):
        said.append(f"{count(int(number), 'duplicate')} (every column equal)")
    if number := summary.get("n_repeated"):
        said.append(count(int(number), "repeated question"))
    unfitted = (summary.get("not_fitted") or {}).items()
    return "; ".join([*said, *(f"{n:,} {reason} (not fitted)" for reason, n in unfitted)])


# How to compute it again --------------------------------------------------------------------------


def files(summary: Mapping[str, Any]) -> str:
    """Return the files of the run, as they were given; in capitals where none is known.

    Examples
    --------
    >>> files({"judgments": "my answers.csv", "scores": "scores.csv"})
    "'my answers.csv' scores.csv"
    >>> files({"judgments": "judgments", "scores": None})
    'JUDGMENTS'
    """
    given = (summary.get("settings") or {}).get("shared_files")
    if given is not None:
        return str(given)
    names = {key: str(summary.get(key) or "") for key in ("judgments", "scores")}
    return " ".join(
        shlex.quote(name) if PurePath(name).suffix else key.upper()
        for key, name in names.items()
        if name or key == "judgments"
    )


def command(summary: Mapping[str, Any]) -> str | None:
    """Return the command that makes these results again; for results of Python, the call.

    None for a method, a prior or terms of the user's own, which only their program has.

    Examples
    --------
    >>> typed = {"command": "aggcal run /r/j.csv s.csv", "shared_command": "aggcal run j.csv s.csv"}
    >>> command({"settings": typed})
    'aggcal run j.csv s.csv'
    >>> command({"calibrator": "atc", "settings": {"method": "hra-g", "prior": "none", "seed": 1}})
    "aggcal.assess(judgments, scores, method='hra-g', prior=None, seed=1, calibrator='atc')"
    """
    settings = dict(summary.get("settings") or {})
    if "command" in settings:
        return str(settings.get("shared_command") or "") or None
    calibrator = summary.get("calibrator")
    own = settings.get("method") is None or settings["prior"] == "own"
    terms_given = {"bridge", "control"} & {k for k, v in (summary.get("terms") or {}).items() if v}
    if own or terms_given or calibrator not in {None, *CALIBRATORS}:
        return None
    stated = settings | ({"prior": None} if settings["prior"] == "none" else {})
    stated |= {"calibrator": calibrator} if calibrator else {}
    keywords = ", ".join(f"{name}={value!r}" for name, value in stated.items())
    return f"aggcal.assess(judgments, {'scores, ' if calibrator else ''}{keywords})"


# What the words mean ------------------------------------------------------------------------------


def glossary(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the words that a report of these results uses, with what they mean, by the alphabet.

    Examples
    --------
    >>> list(glossary({"method": "own"}))
    ['agreement', 'annotator', 'consensus', 'judgment', 'reliability']
    """
    calibrator = CALIBRATORS.get(str(summary.get("calibrator")))
    fitted, uncertainty = summary.get("terms") or {}, summary.get("uncertainty")
    applies = {
        "always": True,
        "honesty": bool(summary.get("random_reliability")),
        "calibrated": "calibrator" in summary,
        "pooled": calibrator is not None and calibrator.pools,
        "anchors": bool(summary.get("n_anchors")),
        "checked": "check" in summary,
        "sides": bool(fitted.get("position")),
        "axis": bool(fitted.get("axis")),
        "uncertain": bool(uncertainty),
        "fitted": summary.get("converged") is not None,
    }
    words: dict[str, str] = {}
    for when, meanings in _WORDS.items():
        words |= meanings if applies[when] else {}
    if uncertainty:
        kind = UNCERTAINTIES[uncertainty["kind"]]
        words[kind.name.split("-")[0]] = f"{kind.means[:1].upper()}{kind.means[1:]}"
    return dict(sorted(words.items(), key=lambda word: word[0].lower()))


_WORDS: dict[str, dict[str, str]] = {
    "always": {
        "annotator": "Whoever compared items: a person, a language model or a rule.",
        "judgment": "One answer of one annotator about one pair of items.",
        "consensus": "The order and scores that explain the judgments best. It is what these "
        "annotators agree on, not the truth.",
        "agreement": "The share of an annotator's judgments that match the consensus order. A tie "
        "counts one half.",
        "reliability": "How strongly an annotator's answers follow the consensus. 1 is typical, 0 "
        "is random, negative means reversed (such answers are inverted).",
    },
    "honesty": {
        "reliability": "The probability that an annotator reports what they saw. 1 is always, 0.5 "
        "is random, below it the answers are reversed.",
    },
    "checked": {
        "left share": "How often an annotator chose the left item, of the decided judgments. 50% "
        "is expected if sides are random.",
        "Krippendorff's alpha": "Agreement between annotators beyond chance: 1 is perfect, 0 is "
        "chance.",
    },
    "sides": {
        "left of equal items": "How often an annotator would pick the left of two equal items, of "
        "the decided answers: an estimate, drawn towards the average where answers are few. 50% "
        "is no preference. The scores do not depend on it.",
    },
    "axis": {
        "common ground": "The order midway between the two ends of the axis along which "
        "annotators differ most: no camp counts for more because it is larger.",
    },
    "calibrated": {
        "calibrated score": "The model's score, corrected by what the annotators said. It keeps "
        "the model's unit.",
        "model score": "The score that the model gave before calibration.",
        "RMS": "Root mean square: the square root of the mean squared change. Large changes count "
        "more than in a plain average.",
    },
    "pooled": {
        "calibrated score": "The model's score, moved as little as possible so that scores follow "
        "the consensus order. It keeps the model's unit.",
        "tied block": "Neighbours in the consensus whose model scores contradict it. They share "
        "one calibrated score, their mean.",
    },
    "uncertain": {
        "interval": "The range that contains the consensus value with the stated probability, "
        "given the number of judgments. It does not cover errors that all annotators share.",
        "likely ranks": "The ranks that an item holds with the stated probability, each by "
        "itself, if scores are spread about as estimated.",
        "sure ranks": "The ranks that are left for an item, all items together, at the stated "
        "confidence and whatever the true scores.",
        "open": "Neither surely in the top k nor surely out of it, whatever the true scores.",
        "level": "How often such an interval is right: 0.95 is 19 times in 20.",
        "standard error": "The typical error of an estimate that is due to the limited number of "
        "judgments.",
        "certified pair": "A pair whose order is so clear that all certified pairs are right at "
        "once in the stated share of studies, whatever the true scores.",
        "tier": "Every item of a tier is better than every item of the next: all these pairs are "
        "certified.",
    },
    "anchors": {
        "anchor": "An item, drawn at random, whose true score is known.",
        "split conformal": "A method that makes intervals as wide as the errors on the anchors.",
    },
    "fitted": {
        "prior": "What is assumed before any judgment: that scores do not differ without limit. "
        "It matters where there are few judgments.",
        "log-likelihood": "How well the fit explains the judgments. Of two fits of the same data, "
        "the one nearer to 0 explains them better.",
        "relative gradient": "Optimiser residual; 0 means fully converged.",
    },
}
"""Words with what they mean, by when a report uses them; of two meanings, the later one counts."""
