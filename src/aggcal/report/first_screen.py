"""Short lists of facts: what certainty there is, and how the numbers were made."""

from __future__ import annotations

from aggcal.errors import count
from aggcal.pages.numbers import number_text, percent
from aggcal.registry import METHODS, UNCERTAINTIES
from aggcal.report import headline
from aggcal.report.parts import sizes_said
from aggcal.report.report import Report
from aggcal.report.templates import number

_MOST = 4  # facts that fit beside each other


def facts(report: Report) -> list[tuple[str, str, str]]:
    """Return the facts of the first screen: a label, the word that explains it, the value."""
    found = []
    parts = report.rows.parts
    if parts:
        found.append(("Components", "", sizes_said(parts)))
    elif report.certainty is not None:
        wide, n = report.certainty["median"], report.certainty["n"]
        found.append(("Typical likely ranks", "likely ranks", f"{wide:,} of {n:,} ranks (median)"))
    ordered = headline.right_order(report.summary)
    if ordered is not None and not parts:
        found.append(("Two random items", "", f"right order with probability {percent(ordered)}"))
    changes = report.changes
    if changes is not None:
        moved = number(report.summary.get("shift_rms"), 3)
        said = f"RMS change {moved}; {changes['up']:,} up, {changes['down']:,} down"
        found.append(("Calibration", "calibrated score", said))
    pairs = (report.summary.get("guarantees") or {}).get("certified_pairs") or {}
    values = pairs.get("values") or {}
    if len(found) < _MOST and values.get("certified") is not None:
        share = percent(float(values["share"]))
        said = f"{values['certified']:,} of {values['pairs']:,} ({share})"
        found.append(("Pairs told apart", "certified pair", said))
    return found


def made(report: Report) -> list[tuple[str, str]]:
    """Return how the results were made: a label and what to say of it."""
    summary = report.summary
    found = [("Consensus", _method(report)), ("Calibration", _calibration(report))]
    if (chosen := summary.get("selection")) is not None:
        found.insert(1, ("Choice of method", str(chosen["why"])))
    if (advised := summary.get("recommendation")) is not None:
        found.append(("Choice of calibrator", str(advised["why"])))
    if (known := summary.get("uncertainty")) is not None:
        kind = UNCERTAINTIES.get(known["kind"])
        means = "" if kind is None else f", {kind.means.partition(': ')[2] or kind.means}"
        found.append(("Intervals", f"level {number(known['level'])} ({known['kind']}){means}"))
    else:
        found.append(("Intervals", "not computed"))
    if (prior := summary.get("prior")) is not None:
        said = f"scores: sd {number(prior.get('score_sd'), 3)}"
        if prior.get("reliability_sd") is not None:
            said += f"; reliabilities: sd {number(prior['reliability_sd'], 3)} about 1"
        found.append(("Prior", said))
    found += report.terms
    if summary.get("converged") is not None:
        state = "converged" if summary["converged"] else "did NOT converge"
        said = f"{state} in {count(int(summary.get('iterations') or 0), 'iteration')}"
        if summary.get("log_likelihood") is not None:
            said += f"; log-likelihood {number_text(float(summary['log_likelihood']), 1)}"
        if summary.get("gradient_norm") is not None:
            said += f"; relative gradient {float(summary['gradient_norm']):.1e}"
        found.append(("Fit", said))
    settings = summary.get("settings") or {}
    if settings.get("seed") is not None:
        found.append(("Seed", str(settings["seed"])))
    return found + _source(report)


def _method(report: Report) -> str:
    name = str(report.summary["method"])
    known = METHODS.own.get(name)
    return name if known is None else f"{name}: {known.assumes}"


def _calibration(report: Report) -> str:
    if not report.calibrated:
        return "none: no model scores were given"
    name, does = str(report.summary["calibrator"]), report.calibrator.does
    said = f"{name}: {does}" if does else name
    if report.summary.get("weighted"):
        said += "; each model score weighs 1/sd²"
    if report.summary.get("model_sd") is not None:
        said += f"; sd of the model's error {number(report.summary['model_sd'])}"
    if report.summary.get("second_model"):
        said += "; with a second model"
    if report.summary.get("n_anchors"):
        said += f"; {count(int(report.summary['n_anchors']), 'anchor')}"
    return said


def _source(report: Report) -> list[tuple[str, str]]:
    summary = report.summary
    found = []
    read = [str(summary[name]) for name in ("judgments", "scores", "features") if summary.get(name)]
    if read:
        found.append(("Input", " and ".join(read)))
    if summary.get("n_rows") is not None:
        found.append(("Rows read", _rows_read(report)))
    notes = [
        str(summary.get("format") or ""),
        *(str(note) for note in summary.get("reading") or ()),
    ]
    if any(notes):
        found.append(("Format", "; ".join(note for note in notes if note)))
    return [*found, ("Software", f"aggcal {summary['version']}")]


def _rows_read(report: Report) -> str:
    summary = report.summary
    said = f"{summary['n_rows']:,}"
    if summary.get("n_duplicates"):
        said += f"; {count(int(summary['n_duplicates']), 'duplicate')} (every column equal)"
    if summary.get("n_repeated"):
        said += f"; {count(int(summary['n_repeated']), 'repeated question')}"
    for reason, number_of in (summary.get("not_fitted") or {}).items():
        said += f"; {number_of:,} {reason} (not fitted)"
    return said
