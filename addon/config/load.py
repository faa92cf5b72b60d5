"""Loads a configuration.

It parses a file and command-line options into settings and rules, or reports all errors.
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bestbefore.addon.config.domain_sections import read_rules
from bestbefore.addon.config.lines import KeyLines
from bestbefore.addon.config.prefetch_section import PrefetchSettings, read_prefetch
from bestbefore.addon.config.problems import ConfigError, Problems, format_key, unknown
from bestbefore.addon.config.proxy_section import read_settings
from bestbefore.addon.config.settings import Settings
from bestbefore.addon.rules import Rules

MAX_FILE_BYTES = 1 << 20

_SECTIONS = ("proxy", "default", "domain", "prefetch")
_AT_LINE = re.compile(r"line ([0-9]+), column ([0-9]+)")


@dataclass(frozen=True, slots=True)
class Config:
    """A completely validated configuration."""

    settings: Settings
    rules: Rules
    prefetch: PrefetchSettings


def load_config(
    path: Path | None, options: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ
) -> Config:
    """Load the configuration file, or the defaults if there is none, with options taking precedence.

    `options`: values of keys of [proxy], as text, which override the file's; None for an option that was not given.
    `environ` determines the default state folder. Relative paths in the file are relative to its folder, those in
    options to the working directory.

    Raises only ConfigError, with every problem found.
    """
    toml = "" if path is None else _read(path)
    document = _parse(toml, str(path))
    problems = Problems(str(path), KeyLines(toml))
    for key in document:
        if key not in _SECTIONS:
            problems.add((key,), f"{format_key(key)}: {unknown('section', key, _SECTIONS)}")
    folder = Path() if path is None else path.parent
    settings = read_settings(_table(document, "proxy", problems), folder, options or {}, environ, problems)
    rules = read_rules(
        _table(document, "default", problems),
        _tables(document, "domain", problems),
        folder,
        settings.stale_if_down,
        problems,
    )
    prefetch = read_prefetch(_table(document, "prefetch", problems), problems)
    if problems.messages:
        raise ConfigError(problems.messages)
    return Config(settings, rules, prefetch)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from None
    if len(content) > MAX_FILE_BYTES:
        raise ConfigError([f"{path}: larger than 1 MiB: not a configuration file"])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError([f"{path}:{line}: byte {content[error.start]:#x} is not UTF-8"]) from None


def _parse(toml: str, file: str) -> dict[str, object]:
    try:
        return tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([_syntax_error(toml, file, str(error))]) from None
    except (RecursionError, ValueError):
        raise ConfigError([f"{file}: not valid TOML: nested too deeply, or a number of too many digits"]) from None


def _syntax_error(toml: str, file: str, message: str) -> str:
    what, _, where = message.partition(" (at ")
    at_line = _AT_LINE.match(where)
    if at_line is None:  # "at end of document"
        return f"{file}:{toml.rstrip().count('\n') + 1}: not valid TOML: {what} at the end of the file"
    return f"{file}:{at_line[1]}: not valid TOML: {what} in column {at_line[2]}"


def _table(document: Mapping[str, object], name: str, problems: Problems) -> Mapping[str, object]:
    table = document.get(name, {})
    if isinstance(table, dict):
        return table
    problems.add((name,), f"expected a section that begins with the line [{name}]")
    return {}


def _tables(document: Mapping[str, object], name: str, problems: Problems) -> Sequence[Mapping[str, object]]:
    tables = document.get(name, [])
    if isinstance(tables, list) and all(isinstance(table, dict) for table in tables):
        return tables
    problems.add((name,), f"expected sections that each begin with the line [[{name}]]")
    return ()
