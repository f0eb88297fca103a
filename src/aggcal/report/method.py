"""What may be claimed, how it was computed, how to compute it again, and what the words mean."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
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
from aggcal.pages.numbers import SHORT_NAME, cut, number_text, percent, signed
from aggcal.registry import METHODS, UNCERTAINTIES
from aggcal.report.annotators import preferences
from aggcal.report.ground import disagreement, held_names
from aggcal.report.run import Run

_ALIKE = 0.05
"""Spread between categories below which items are said to do the same in all: a twentieth of the
typical reliability's unit moves one answer in a hundred."""
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
    reproduced: list[Block] = [Heading("Reproduce", 2), Command(again)] if again else []
    files = [each for each in _FILES.items() if each[0] != "categories.csv" or run.categories]
    how = Group([Heading("Settings", 2), Pairs(list(made(run)))])
    where = Group([*reproduced, Group([Heading("Files"), Pairs(files)], only="page")])
    words = Pairs(list(glossary(run).items()), "gloss")
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


def made(run: Run) -> Iterator[tuple[Line, Line]]:
    """Yield how the results were made: labels, and what there is to say.

    Examples
    --------
    >>> list(made(Run({"method": "own", "uncertainty": None, "version": "1", "n_rows": 1200}, {})))
    [('Consensus', 'own'), ('Calibration', 'none: no scores were given'), \
('Intervals', 'not computed'), ('Rows read', '1,200'), ('Software', 'aggcal 1')]
    """
    summary = run.summary
    method = METHODS.own.get(str(summary["method"]))
    given = [str(summary[key]) for key in ("judgments", "scores", "features") if summary.get(key)]
    notes = (summary.get("format"), *(summary.get("reading") or ()))
    prior = summary.get("prior") or {}
    every = {
        "Consensus": f"{summary['method']}{f': {method.assumes}' if method else ''}",
        "Choice of method": (summary.get("selection") or {}).get("why"),
        "Calibration": _calibration(run),
        "Choice of calibrator": (summary.get("recommendation") or {}).get("why"),
        "Intervals": _intervals(summary),
        "Prior": _filled(prior, {"score_sd": "scores: sd {:.3g}",
                                 "reliability_sd": "reliabilities: sd {:.3g} about 1"}),
        **terms_said(run),
        "Fit": _fit(summary),
        "Seed": str((summary.get("settings") or {}).get("seed", "")),
        "Options": _options(summary),
        "Input": " and ".join(given),
        "Rows read": _rows_read(summary),
        "Format": "; ".join(str(each) for each in notes if each),
        "Software": f"aggcal {summary['version']}",
    }  # fmt: skip
    yield from ((label, said) for label, said in every.items() if said)


def _filled(values: Mapping[str, Any], phrases: Mapping[str, str]) -> str:
    """Return the phrases whose keys have a value, with the value in them."""
    known = (said.format(values[key]) for key, said in phrases.items() if values.get(key))
    return "; ".join(known)


def _calibration(run: Run) -> str:
    if not run.calibrated:
        return "none: no scores were given"
    summary, known = run.summary, run.calibrator
    phrases = {
        "weighted": "each score weighs 1/sd²",
        "model_sd": "sd of their error {:.4g}",
        "second_model": "with a second model",
    }
    anchors = count(int(summary["n_anchors"]), "anchor") if summary.get("n_anchors") else ""
    name = f"{known.name}: {known.does}" if known.does else known.name
    return "; ".join(filter(None, (name, _filled(summary, phrases), anchors)))


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


# What was fitted beside scores and reliabilities --------------------------------------------------


def terms_said(run: Run) -> dict[str, str]:
    """Return which terms were fitted and why, and what was looked for and not found.

    Examples
    --------
    >>> terms_said(Run({"terms": {"ties": "halves", "position_evidence": -3.2}}, {}))["Sides"]
    'No sign of a preference for a side was found (log evidence −3.2), so none is fitted.'
    """
    terms = run.terms
    evidence = terms.get("position_evidence", run.summary.get("position_evidence"))
    rise = "" if evidence is None else f" (log evidence {signed(float(evidence), 1)})"
    sides = f"No sign of a preference for a side was found{rise}, so none is fitted." * bool(rise)
    if terms.get("position"):
        sides = f"{preferences(run)} Each annotator has a preference of their own{rise}."
    steps = len(terms.get("grades") or ())
    strengths = (
        f"Answers say how much better an item is, in {steps} steps. A stronger answer counts for "
        "more; how much is estimated (adjacent categories)."
    )
    held = held_names(run)
    said = {
        "Ties": _ties(run),
        "Strengths": strengths if steps > 1 else "",
        "Sides": sides,
        "Contexts": _contexts(terms.get("contexts")),
        "Categories": _categories(terms.get("categories") or {}),
        "Held equal": f"{held}: see that tab" if held else "",
        "Disagreement": disagreement(terms),
    }
    return {label: text for label, text in said.items() if text}


def _ties(run: Run) -> str:
    number, of = int(run.terms.get("n_ties") or 0), int(run.summary.get("n_judgments") or 0)
    if not number:
        return ""
    verb = "is a tie" if number == 1 else "are ties"
    said = f"{number:,} of {count(of, 'judgment')} ({percent(number / max(of, 1))}) {verb}. "
    models = {
        "davidson": "Each annotator has a readiness to call one (Davidson's model), so those who "
        "use ties often do not look less reliable.",
        "rao-kupper": "Each annotator has a threshold below which two items are called equal "
        "(Rao and Kupper's model).",
    }
    return said + models.get(str(run.terms["ties"]), "Each counts as half a win for both sides.")


def _contexts(known: Mapping[str, Any] | None) -> str:
    if not known:
        return ""
    name, number = cut(str(known["name"]), SHORT_NAME), int(known["number"])
    if known["fitted"]:
        return (
            f"Judgments come from {number:,} contexts ({name}). How each item does in each is "
            f"fitted (sd {number_text(float(known['sd']), 2)}), so scores are what holds across "
            "contexts, and intervals allow for others of their kind."
        )
    return (
        f"Judgments come from {number:,} contexts ({name}); intervals allow for answers in one "
        "that depend on each other."
    )


def _categories(every: Mapping[str, Any]) -> str:
    said = []
    for name, known in every.items():
        number, sd = len(known["categories"]), float(known["sd"])
        differ = "items do much the same in all of them"
        if sd >= _ALIKE:
            differ = f"items differ between them by {number_text(sd, 2)} (sd)"
        plural = count(number, "category", "categories")
        said.append(f"{cut(str(name), SHORT_NAME)} ({plural}): {differ}")
    return "; ".join(said)


def fitted(run: Run) -> str:
    """Return the names of what was fitted beside scores and reliabilities, to compare two runs by.

    Examples
    --------
    >>> fitted(Run({"terms": {"ties": "davidson", "tie_readiness": {}, "context": "prompt"}}, {}))
    'ties (davidson), context (prompt)'
    >>> fitted(Run({}, {}))
    ''
    """
    terms, found = run.terms, list[str]()
    if terms.get("tie_readiness") is not None:
        found.append(f"ties ({terms['ties']})")
    if terms.get("position") is not None:
        found.append("position")
    if terms.get("context"):
        found.append(f"context ({terms['context']})")
    several = [name for name in ("categories", "control") if terms.get(name)]
    found += [f"{name} ({', '.join(map(str, terms[name]))})" for name in several]
    camps = (terms.get("camps") or {}).get("stands_out")
    bridge = "bridge (camps)" if camps else "bridge"
    return ", ".join([*found, bridge] if terms.get("bridge") else found)


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


def command(summary: Mapping[str, Any]) -> str:
    """Return the command that made these results; nothing for results of Python.

    Examples
    --------
    >>> typed = {"command": "aggcal run /r/j.csv s.csv", "shared_command": "aggcal run j.csv s.csv"}
    >>> command({"settings": typed})
    'aggcal run j.csv s.csv'
    """
    return str((summary.get("settings") or {}).get("shared_command") or "")


def _options(summary: Mapping[str, Any]) -> str:
    """Return the keywords of results of Python, which no command says."""
    settings = summary.get("settings") or {}
    if "command" in settings:
        return ""
    return ", ".join(f"{name}={value!r}" for name, value in settings.items() if value is not None)


# What the words mean ------------------------------------------------------------------------------


def glossary(run: Run) -> dict[str, str]:
    """Return the words that a report of these results uses, with what they mean, by the alphabet.

    Examples
    --------
    >>> list(glossary(Run({"method": "own"}, {})))
    ['agreement', 'annotator', 'consensus', 'judgment', 'reliability']
    """
    uncertainty = run.summary.get("uncertainty")
    applies = {
        "always": True,
        "honesty": bool(run.summary.get("random_reliability")),
        "calibrated": run.calibrated,
        "pooled": run.calibrated and run.calibrator.pools,
        "anchors": bool(run.summary.get("n_anchors")),
        "checked": run.checked,
        "sides": bool(run.terms.get("position")),
        "axis": bool(run.terms.get("axis")),
        "uncertain": bool(uncertainty),
        "fitted": run.summary.get("converged") is not None,
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
        "is random; the fit counts the answers of a negative one the other way round.",
    },
    "honesty": {
        "reliability": "The probability that an annotator reports what they saw. 1 is always, 0.5 "
        "is random, below it the answers are counted the other way round.",
    },
    "checked": {
        "left share": "How often an annotator chose the left item, of the decided judgments. 50% "
        "is expected if sides are random.",
        "Krippendorff's alpha": "Agreement between annotators beyond chance: 1 is perfect, 0 is "
        "chance.",
    },
    "sides": {
        "left bias": "How often an annotator would pick the left of two equal items, of the "
        "decided answers: an estimate, drawn towards the average where answers are few. The scores "
        "do not depend on it.",
    },
    "axis": {
        "common ground": "The order midway between the two ends of the axis along which "
        "annotators differ most: no camp counts for more because it is larger.",
    },
    "calibrated": {
        "calibrated score": "Your score, corrected by what the annotators said, in its unit.",
        "your score": "The score of each item before calibration, as it was given.",
        "RMS": "Root mean square: the square root of the mean squared change.",
    },
    "pooled": {
        "calibrated score": "Your score, moved as little as possible so that scores follow the "
        "consensus order. It keeps its unit.",
        "same score": "Neighbours in the consensus whose own scores contradict it share one "
        "calibrated score, their mean.",
    },
    "uncertain": {
        "interval": "The range that contains the consensus value with the stated probability, "
        "given the number of judgments. It does not cover errors that all annotators share.",
        "likely ranks": "The ranks that an item holds with the stated probability, each by itself, "
        "if scores are spread about as estimated.",
        "sure ranks": "The ranks that are left for an item, all items together, at the stated "
        "confidence and whatever the true scores.",
        "open": "Neither surely in the top k nor surely out of it, whatever the true scores.",
        "level": "How often such an interval is right: 0.95 is 19 times in 20.",
        "standard error": "The typical error of an estimate due to the limited number of "
        "judgments.",
        "certified pair": "A pair whose order is so clear that all certified pairs are right at "
        "once in the stated share of studies, whatever the true scores.",
        "tier": "Every item of a tier is better than every item of the next.",
    },
    "anchors": {
        "anchor": "An item, drawn at random, whose true score is known.",
        "split conformal": "A method that makes intervals as wide as the errors on the anchors.",
    },
    "fitted": {
        "prior": "What is assumed before any judgment: that scores do not differ without limit.",
        "log-likelihood": "How well the fit explains the judgments; nearer to 0 is better.",
        "relative gradient": "Optimiser residual; 0 means fully converged.",
    },
}
"""Words with what they mean, by when a report uses them; of two meanings, the later one counts."""
