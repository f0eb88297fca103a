"""How the documentation is built: ``make docs``, where every warning is an error."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sphinx.util.inspect import TypeAliasForwardRef

import aggcal

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "aggcal"
author = "The aggcal developers"
copyright = author  # noqa: A001  # Sphinx's name
version = release = aggcal.__version__

# Pages of objects that are no longer there would be warnings, which are errors.
shutil.rmtree(HERE / "reference" / "api", ignore_errors=True)

extensions = [
    "command_line",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/README.rst"]

# Markdown that reads well on a code host, too: no roles, links to files, headings as anchors.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

default_role = "py:obj"
autodoc_member_order = "bysource"
# What scikit-learn adds to every estimator is explained there.
autodoc_default_options = {"exclude-members": "set_fit_request, set_score_request"}
autodoc_typehints = "signature"  # types in the signature, their meaning in the docstring
autosummary_generate = True
python_maximum_signature_line_length = 88
templates_path = ["_templates"]
autodoc_type_aliases = {
    name: name
    for name in (
        *("BoolArray", "CodeArray", "FloatArray", "IntArray", "TextArray"),
        *("AnyJudgments", "Estimator", "FeatureChoice", "PriorChoice", "Start"),
        *("CalibratorName", "DatasetName", "EngineName", "FittedName", "FormatName", "Frame"),
        *("LinkName", "MethodName", "PredictableName", "UncertaintyName"),
    )
}
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # type: ignore[method-assign]  # in unions
# Types in signatures that have no page of their own. What docstrings refer to is py:obj: checked.
SHORT = "Terms|Prior|Features|Kernel|HRA|CrowdBT|print|aggcal.plot|aggcal.advice.verdicts.Verdicts"
"""Names that docstrings of methods and results use without their module."""
nitpick_ignore_regex = [("py:class", ".*"), ("py:obj", SHORT)]
numpydoc_show_class_members = False
add_module_names = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("adaptive_figures.scrape",),
    "reset_modules": ("adaptive_figures.reset",),
    "abort_on_example_error": True,
    "capture_repr": (),  # what is printed, not what the last line returns
    "download_all_examples": False,
    "min_reported_time": 1e9,  # how long this machine took tells the reader nothing
    "run_stale_examples": True,  # the package may have changed
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}

html_theme = "furo"
html_title = f"aggcal {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = [("copy.js", {"defer": "defer"})]
html_copy_source = False

RESULTS = {
    *("Assessment", "Calibration", "Certified", "Check", "Consensus", "Dataset", "Features"),
    *("Finding", "Guarantee", "Guarantees", "Judgments", "Scores", "Simulation", "Suggestions"),
    "Uncertainty",
}
"""Classes that functions return. Users do not call them, so their constructors are not shown."""


def _hide_constructor(*event: Any) -> tuple[str, str] | None:
    """Answer Sphinx's question for the signature of an object."""
    _, what, name, *_ = event
    return ("", "") if what == "class" and name.rsplit(".", 1)[-1] in RESULTS else None


def _write_report(app: Any, failed: Exception | None) -> None:
    """Put the report of the demo, which the landing page links to, beside the pages."""
    if failed is None and app.builder.format == "html":
        with tempfile.TemporaryDirectory() as folder:
            demo = [sys.executable, "-m", "aggcal", "demo", "-o", folder, "--quiet"]
            subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  # this program
            shutil.copy(Path(folder) / "report.html", app.outdir)


def setup(app: Any) -> None:
    """Connect to Sphinx."""
    app.connect("build-finished", _write_report)
    app.connect("autodoc-process-signature", _hide_constructor)
