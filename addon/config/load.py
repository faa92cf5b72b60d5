"""Loads a configuration.

It parses a file and command-line options into settings and rules, or reports all errors.
"""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bestbefore.addon.config.domain_sections import RULE_KEYS, read_rules
from bestbefore.addon.config.hub_section import HUB_KEYS, HUB_OPTIONS, HubSettings, read_hub
from bestbefore.addon.config.lines import KeyLines
from bestbefore.addon.config.prefetch_section import PREFETCH_KEYS, PrefetchSettings, read_prefetch
from bestbefore.addon.config.problems import ConfigError, Problems, format_key, unknown
from bestbefore.addon.config.proxy_section import PROXY_KEYS, read_settings
from bestbefore.addon.config.settings import Settings
from bestbefore.addon.config.syntax import syntax_error
from bestbefore.addon.config.websub_section import WEBSUB_KEYS, WebSubSettings, read_websub
from bestbefore.addon.rules import Rules

MAX_FILE_BYTES = 1 << 20

_SECTIONS = ("proxy", "default", "domain", "prefetch", "websub", "hub")
_SECTIONS_OF = {
    **dict.fromkeys(HUB_KEYS, "[hub]"),
    **dict.fromkeys(WEBSUB_KEYS, "[websub]"),
    **dict.fromkeys(PREFETCH_KEYS, "[prefetch]"),
    **dict.fromkeys(RULE_KEYS, "[default] and [[domain]]"),
    "match": "[[domain]]",
    **dict.fromkeys(PROXY_KEYS, "[proxy]"),
}
"""Where each key belongs, for messages."""


@dataclass(frozen=True, slots=True)
class Config:
    """A completely validated configuration."""

    settings: Settings
    rules: Rules
    prefetch: PrefetchSettings
    hub: HubSettings
    websub: WebSubSettings


def load_config(
    path: Path | None, options: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ
) -> Config:
    """Load the configuration file, or the defaults if there is none, with options taking precedence.

    `options`: values of keys of [proxy] and [hub], which override the file's; None for an option that was not given.
    `environ` determines the default state folder. Relative paths in the file are relative to its folder, those in
    options to the working directory.

    Raises only ConfigError, with every problem found.
    """
    return load_text("" if path is None else _read(path), path, options, environ)


def load_text(
    toml: str,
    path: Path | None,
    options: Mapping[str, object] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Config:
    """Load a configuration as `load_config` does, from the text that the file `path` has, or is to have."""
    document = _parse(toml, str(path))
    problems = Problems(str(path), KeyLines(toml), _SECTIONS_OF)
    for key in document:
        if key not in _SECTIONS:
            sections = _SECTIONS_OF.get(key)
            why = f"this is a key of {sections}" if sections else unknown("section", key, _SECTIONS)
            problems.add((key,), f"{format_key(key)}: {why}")
    folder = Path() if path is None else path.parent
    of_hub = {key: value for key, value in (options or {}).items() if key in HUB_OPTIONS}
    of_proxy = {key: value for key, value in (options or {}).items() if key not in HUB_OPTIONS}
    settings = read_settings(_table(document, "proxy", problems), folder, of_proxy, environ, problems)
    rules = read_rules(
        _table(document, "default", problems),
        _tables(document, "domain", problems),
        folder,
        settings.stale_if_down,
        problems,
    )
    prefetch = read_prefetch(_table(document, "prefetch", problems), folder, problems)
    websub = read_websub(_table(document, "websub", problems), problems)
    hub = read_hub(_table(document, "hub", problems), folder, of_hub, problems)
    if problems.messages:
        raise ConfigError(problems.messages)
    return Config(settings, rules, prefetch, hub, websub)


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
        what = f"byte {content[error.start]:#x} is not UTF-8"
        raise ConfigError([f"{path}:{line}: {what}: expected a text that is saved as UTF-8"]) from None


def _parse(toml: str, file: str) -> dict[str, object]:
    try:
        return tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        line, why = syntax_error(toml.replace("\r\n", "\n"), error)
        raise ConfigError([f"{file}:{line}: not valid TOML: {why}"]) from None
    except (RecursionError, ValueError):
        raise ConfigError([f"{file}: not valid TOML: nested too deeply, or a number of too many digits"]) from None


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
    problems.add((name,), f'expected sections that each begin with the line [[{name}]], and then match = "HOST"')
    return ()
