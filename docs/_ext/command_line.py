"""The reference of the command line and of the methods, made from the program itself."""

from __future__ import annotations

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from aggcal.cli.commands import COMMANDS
from aggcal.cli.table import Option
from aggcal.registry import METHODS


class Commands(SphinxDirective):
    """Every command with its usage and options."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each command."""
        return self.parse_text_to_nodes("\n".join(_commands()), allow_section_headings=True)


class Methods(SphinxDirective):
    """The methods, one line each."""

    def run(self) -> list[nodes.Node]:
        """Return a table."""
        rows = [f"| `{name}` | {each.summary} |" for name, each in METHODS.items()]
        return self.parse_text_to_nodes("\n".join(["| name | what it is |", "|---|---|", *rows]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives with Sphinx."""
    app.add_directive("commands", Commands)
    app.add_directive("methods", Methods)
    return {"parallel_read_safe": True}


def _commands() -> Iterator[str]:
    for name, command in COMMANDS.items():
        yield f"## aggcal {name}\n\n{command.description} {command.about}\n"
        yield f"```\n{command.example}\n```\n"
        for heading, _, options in command.sections():
            rows = [f"| {_called(option)} | {_explained(option)} |" for option in options]
            if rows:
                yield "\n".join([f"| {heading} | |", "|---|---|", *rows]) + "\n"


def _called(option: Option) -> str:
    value = f" {option.value}".rstrip()
    return ", ".join(f"`{name}{value}`" for name in option.names) or f"`{option.value}`"


def _explained(option: Option) -> str:
    text = option.described.replace("|", "\\|").replace("<", "&lt;")
    if option.value or not option.choices:
        return text
    listed = ", ".join(f"`{choice}`" for choice in option.choices)
    return f"{listed}. {text[0].upper()}{text[1:]}"
