"""The configuration in force as text, with the place from which each value comes."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from bestbefore.addon.config.hub_section import HubSettings
from bestbefore.addon.config.lines import KeyLines
from bestbefore.addon.config.load import MAX_FILE_BYTES, Config
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.config.settings import HOT_KEYS, Settings
from bestbefore.addon.config.websub_section import WebSubSettings
from bestbefore.addon.rules import DomainRule
from bestbefore.policies.validation.machinery.spec import params, spec_text

AT_START = ("[hub]", "[websub]")
"""The sections whose changes need a restart."""
_SECRET = re.compile(r"(://)[^/@\s]*@")


@dataclass(frozen=True, slots=True)
class Value:
    """A key and its value in force."""

    key: str
    value: str
    source: str
    """`default`, `line N`, `command line` or `dashboard`."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the configuration."""

    title: str
    source: str
    values: tuple[Value, ...]


def sections(config: Config, file: Path | None) -> list[Section]:
    """Return the sections [proxy], [default], each [[domain]], [prefetch], and those of hubs if any, without passwords.

    Where the file has changed since it was read, and the change was refused or needs a restart, a value in force may
    differ from its line. `offline` may have been switched by the dashboard.
    """
    toml = _read(file)
    lines, document = KeyLines(toml), _parsed(toml)
    given = document.get("proxy", {})
    proxy = (
        Value(field.name, shown(value, "s"), _source(field, value, given, lines))
        for field in fields(Settings)
        for value in [getattr(config.settings, field.name)]
    )
    of_prefetch = document.get("prefetch", {})
    prefetch = (
        Value(
            field.name,
            shown(getattr(config.prefetch, field.name)),
            f"line {lines.line_of(('prefetch', field.name))}" if field.name in of_prefetch else "default",
        )
        for field in fields(PrefetchSettings)
        if field.init
    )
    others = [
        Section(f"[{name}]", _at(lines, document, name), tuple(_others(settings, name, document.get(name, {}), lines)))
        for name, settings in (("websub", config.websub), ("hub", config.hub))
        if name in document or settings != type(settings)()
    ]
    rules = [Section("[default]", _at(lines, document, "default"), tuple(_rule(config.rules.default)))]
    rules += [
        Section(f"[[domain]] {rule.match}", f"line {lines.line_of(('domain', number))}", tuple(_rule(rule)))
        for number, rule in enumerate(config.rules.domains)
    ]
    return [
        Section("[proxy]", _at(lines, document, "proxy"), tuple(proxy)),
        *rules,
        Section("[prefetch]", _at(lines, document, "prefetch"), tuple(prefetch)),
        *others,
    ]


def _others(
    settings: WebSubSettings | HubSettings, name: str, given: Mapping[str, object], lines: KeyLines
) -> Iterator[Value]:
    for field in fields(settings):
        source = f"line {lines.line_of((name, field.name))}" if field.name in given else "default"
        yield Value(field.name, shown(getattr(settings, field.name), "s"), source)


@dataclass(frozen=True, slots=True)
class Change:
    """A value that another configuration would change."""

    section: str
    key: str
    before: str
    """Empty: there was none."""
    after: str
    needs_restart: bool


def changes(config: Config, new: Config) -> list[Change]:
    """Return what a new configuration would change, in the order of its sections, then what it would remove."""
    before, after = (_values(one) for one in (config, new))
    return [
        Change(
            section, key, before.get((section, number, key), ""), after.get((section, number, key), ""),
            section in AT_START or (section == "[proxy]" and key not in HOT_KEYS),
        )
        for section, number, key in dict.fromkeys((*after, *before))
        if before.get((section, number, key)) != after.get((section, number, key))
    ]


def text_of(file: Path | None) -> str:
    """Return the text of a configuration file without users and passwords in URLs; empty if there is none."""
    return _SECRET.sub(r"\1...@", _read(file))


def _values(config: Config) -> dict[tuple[str, int, str], str]:
    """Return all values by section, its number among those of the same name, and key."""
    found: dict[tuple[str, int, str], str] = {}
    seen: dict[str, int] = {}
    for section in sections(config, None):
        number = seen[section.title] = seen.get(section.title, 0) + 1
        found |= {(section.title, number, one.key): one.value for one in section.values}
    return found


def _source(field: Any, value: object, given: Mapping[str, object], lines: KeyLines) -> str:
    if field.name == "offline" and value != given.get("offline", False):
        return "dashboard"
    if field.name in given:
        return f"line {lines.line_of(('proxy', field.name))}"
    if field.default is not MISSING and value == field.default:
        return "default"
    return "default" if field.name == "state" and field.default is MISSING else "command line"


def _rule(rule: DomainRule) -> Iterator[Value]:
    yield Value("policy", spec_text(rule.policy.name, params(rule.policy)), "")
    for field in fields(DomainRule):
        if field.name in ("match", "policy") or not field.init:
            continue
        value = getattr(rule, field.name)
        if value != field.default:
            yield Value(field.name, shown(value, "s"), "")


def shown(value: object, unit: str = "") -> str:
    """Return a value as text, without the user and password of a URL. `unit`: that of a number that is not whole.

    >>> shown(True), shown(None), shown(("a", "b")), shown("redis://me:secret@host/0")
    ('true', 'not set', 'a, b', 'redis://...@host/0')
    >>> shown(604800.0, "s"), shown(64 << 20), shown(3)
    ('604800s', '64MiB', '3')
    """
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value >> 20}MiB" if value and value % (1 << 20) == 0 else str(value)
    if isinstance(value, float):
        return f"{value:.12g}{unit}"
    if isinstance(value, frozenset):
        value = tuple(sorted(value))
    if isinstance(value, tuple | list):
        return ", ".join(map(shown, value)) or "none"
    return _SECRET.sub(r"\1...@", str(value))


def _at(lines: KeyLines, document: Mapping[str, object], section: str) -> str:
    return f"line {lines.line_of((section,))}" if section in document else "default"


def _read(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        with file.open("rb") as opened:
            return opened.read(MAX_FILE_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ""


def _parsed(toml: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(toml)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):  # changed since, and refused
        return {}
