"""Manual pages in roff (man(7)), of the same text as `--help`."""

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from textwrap import dedent

import click

EXTENSION = ".1"
ENVIRONMENT = {
    "XDG_STATE_HOME": "Where the default state folder bestbefore is; else in ~/.local/state.",
    "BESTBEFORE_TRACES": "The folder of recorded traces for papers and evaluate.",
    "BESTBEFORE_CLOCK": "START,FACTOR: policy time runs faster, for tests and demonstrations.",
    "BESTBEFORE_DEBUG": "1: an unexpected error is shown with its traceback.",
}
STATUSES = {"0": "Done.", "1": "An error of the store, a file or the network.", "2": "The input is wrong.",
            "130": "Interrupted."}  # fmt: skip


def main_page(group: click.Group) -> str:
    """Return the page of `bestbefore` itself, with its commands."""
    context = _context(group)
    rows = [(name, _short(group, context, name)) for name in group.list_commands(context)]
    lines = [
        *_head("bestbefore", _first(group)),
        *_section("SYNOPSIS", [r"\fBbestbefore\fR \fICOMMAND\fR [\fIOPTIONS\fR]"]),
        *_section("COMMANDS", _terms((f"bestbefore-{name}(1)", text) for name, text in rows)),
        *_tail(group, context, also=[]),
    ]
    return "\n".join(lines) + "\n"


def page(group: click.Group, name: str) -> str:
    """Return the page of a command."""
    parent = _context(group)
    command = group.get_command(parent, name)
    assert command is not None
    context = click.Context(command, info_name=name, parent=parent)
    text, examples = _divided(command.help or "")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        *_head(f"bestbefore-{name}", _short(group, parent, name)),
        *_section("SYNOPSIS", [rf"\fBbestbefore {_text(name)}\fR {_text(usage)}"]),
        *_section("DESCRIPTION", _paragraphs(text)),
        *_section("EXAMPLES", [".nf", *map(_text, examples), ".fi"] if examples else []),
        *_tail(command, context, also=["bestbefore(1)"]),
    ]
    return "\n".join(lines) + "\n"


def _context(group: click.Group) -> click.Context:
    return click.Context(group, info_name="bestbefore", **group.context_settings)


def _head(title: str, short: str) -> Iterator[str]:
    yield rf'.TH "{_text(title.upper())}" "1" "" "bestbefore {version("bestbefore")}" "bestbefore"'
    yield from _section("NAME", [rf"{_text(title)} \- {_text(short[:1].lower() + short[1:].removesuffix('.'))}"])


def _tail(command: click.Command, context: click.Context, also: list[str]) -> Iterator[str]:
    options = (one for one in command.get_params(context) if isinstance(one, click.Option))
    records = [record for one in options if (record := one.get_help_record(context)) is not None]
    yield from _section("OPTIONS", _terms(records))
    if command.epilog:
        further = dedent(command.epilog.replace("\b\n", "")).split("\n")
        yield from _section("FURTHER", [".nf", *map(_text, further), ".fi"])
    yield from _section("EXIT STATUS", _terms(STATUSES.items()))
    yield from _section("ENVIRONMENT", _terms(ENVIRONMENT.items()))
    yield from _section("SEE ALSO", [", ".join(rf"\fB{_text(one)}\fR" for one in also)] if also else [])


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a section, unless it is empty."""
    found = list(lines)
    if found:
        yield f'.SH "{title}"'
        yield from found


def _terms(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, text in rows:
        yield ".TP"
        yield rf"\fB{_text(term)}\fR"
        yield _text(" ".join(text.split()))


def _paragraphs(text: str) -> Iterator[str]:
    for number, one in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield ".PP"
        yield _text(" ".join(one.split()))


def _divided(help_text: str) -> tuple[str, list[str]]:
    """Return the text of a help without its examples, which follow the character that keeps lines, and these."""
    text, _, kept = dedent(help_text).partition("\b\n")
    examples, _, rest = kept.partition("\n\n")
    return f"{text.strip()}\n\n{rest.strip()}".strip(), dedent(examples.rstrip()).split("\n") if examples else []


def _first(command: click.Command) -> str:
    return (command.help or "").partition("\n")[0]


def _short(group: click.Group, context: click.Context, name: str) -> str:
    command = group.get_command(context, name)
    assert command is not None
    return command.short_help or _first(command)


def _text(text: str) -> str:
    """Escape a line: hyphens can be copied, and a first point or apostrophe is no request."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("\b", "")
    return r"\&" + text if text[:1] in (".", "'") else text
