"""The reference of the command line, from the commands themselves: what `--help` prints, as Markdown."""

import inspect
import re
from collections.abc import Iterator

import click

from bestbefore.addon.cli import COMMANDS, cli

_SESSION = re.compile(r"\n*\x08\n(.*?)(?=\n\n|\Z)", re.DOTALL)
"""Lines that click prints as they are."""
_PAGE = re.compile(r"docs/(\w+)\.md")


def commands() -> str:
    """Return a section for each command, in the order of `bestbefore --help`."""
    group = cli.make_context("bestbefore", [], resilient_parsing=True)
    lines: list[str] = []
    for name, entry in COMMANDS.items():
        lines += _section(name, entry.load(), group)
        if entry.live_module is not None:
            lines += _section(f"{name} --live", entry.load(live=True), group)
    return _PAGE.sub(r"[\g<0>](../\1.md)", "\n".join(lines))


def _section(name: str, command: click.Command, group: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=group)
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f"## {name}", "", "```sh", f"bestbefore {name} {usage}", "```", "")
    text = inspect.cleandoc(command.help or "")
    yield _SESSION.sub(lambda found: f"\n\n```sh\n{inspect.cleandoc(found[1])}\n```\n", text)
    yield ""
    records = (param.get_help_record(context) for param in command.params)
    rows = [f"| `{_cell(option)}` | {_cell(meaning)} |" for option, meaning in filter(None, records) if meaning]
    if rows:
        yield from ("| option | meaning |", "|---|---|", *rows, "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")
