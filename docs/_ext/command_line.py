"""The reference of the command line and of the methods, made from the program itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from aggcal.cli.parser import parser
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
    whole = parser()
    for action in whole._actions:  # noqa: SLF001  # argparse has no public list
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name, command in action.choices.items():
                yield f"## aggcal {name}\n\n{command.description} {command.more}\n"
                yield f"```\n{command.example}\n```\n"
                yield from _options(command)


def _options(command: argparse.ArgumentParser) -> Iterator[str]:
    formatter = command._get_formatter()  # noqa: SLF001
    for group in command._action_groups:  # noqa: SLF001
        rows = [
            f"| {_called(action)} | {_explained(action, formatter)} |"
            for action in group._group_actions  # noqa: SLF001
            if action.help is not None
        ]
        if rows:
            title = {"positional arguments": "arguments"}.get(group.title or "", group.title)
            yield "\n".join([f"| {title} | |", "|---|---|", *rows]) + "\n"


def _called(action: argparse.Action) -> str:
    value = action.metavar or ("" if action.choices else action.dest.upper())
    if not action.option_strings:
        return f"`{value or action.dest}`"
    value = "" if action.nargs == 0 else f" {value}".rstrip()
    return ", ".join(f"`{name}{value}`" for name in action.option_strings)


def _explained(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    text = formatter._expand_help(action).replace("|", "\\|").replace("<", "&lt;")  # noqa: SLF001
    if action.choices and not action.metavar:
        text = (
            f"{', '.join(f'`{choice}`' for choice in action.choices)}. {text[0].upper()}{text[1:]}"
        )
    return text
