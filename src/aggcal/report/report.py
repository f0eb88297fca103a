"""The report of one run as a document, and its renderings."""

from __future__ import annotations

from collections.abc import Callable

from aggcal.pages.document import Document, to_json
from aggcal.pages.html import page
from aggcal.pages.markdown import markdown
from aggcal.report import annotators, ground, head, method, quality, results
from aggcal.report.run import Run


def report(run: Run) -> Document:
    """Return the report of a run.

    Examples
    --------
    >>> import numpy as np
    >>> items = {"item": np.array(["<a>"], dtype=object), "consensus": np.array([0.0])}
    >>> summary = {"version": "0", "method": "own", "n_items": 1, "n_annotators": 1,
    ...            "n_judgments": 1, "warnings": []}
    >>> document = report(Run(summary, items))
    >>> [section.title for section in document.sections]
    ['Results', 'Data quality', 'Method']
    >>> "&lt;a&gt;" in page(document), "<a>" in page(document)
    (True, False)
    """
    sections = (
        results.section(run),
        ground.held_section(run),
        ground.section(run),
        annotators.section(run),
        quality.section(run),
        method.section(run),
    )
    s = run.summary
    source = " and ".join(str(s[name]) for name in ("judgments", "scores") if s.get(name))
    tables = ["items.csv", "annotators.csv"]
    tables += ["categories.csv"] if run.categories else []
    tables += ["comparisons.json"] if run.comparisons else []
    return Document(
        title=run.title,
        about=head.about(run),
        headline=head.headline(run),
        lead=head.lead(run),
        sections=[section for section in sections if section is not None],
        words=method.glossary(run),
        foot=f"Made with aggcal {s['version']}{f' from {source}' if source else ''}. "
        f"All numbers are in {', '.join(tables)} and summary.json.",
        data={"summary": s, "comparisons": run.comparisons},
    )


RENDERERS: dict[str, Callable[[Document], str]] = {
    "html": page,
    "md": markdown,
    "json": lambda document: to_json(document) + "\n",
}
"""The forms of a document, by the ending of its file."""
