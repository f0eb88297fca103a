"""The templates of a report, loaded: to be imported before they are needed."""

from aggcal.report.page import templates

for _name in (
    "page", "macros", "results", "control", "ground", "annotators", "quality", "method",
):  # fmt: skip
    templates().get_template(f"{_name}.html")
