"""The configuration in force as text, with the place from which each value comes."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from bestbefore.addon.config.lines import KeyLines
from bestbefore.addon.config.load import MAX_FILE_BYTES, Config
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.config.settings import Settings
from bestbefore.addon.rules import DomainRule
from bestbefore.policies.validation.machinery.spec import params, spec_text

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
    """Return the sections [proxy], [prefetch], [default] and each [[domain]], without passwords.

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
    rules = [Section("[default]", _at(lines, document, "default"), tuple(_rule(config.rules.default)))]
    rules += [
        Section(f"[[domain]] {rule.match}", f"line {lines.line_of(('domain', number))}", tuple(_rule(rule)))
        for number, rule in enumerate(config.rules.domains)
    ]
    return [
        Section("[proxy]", _at(lines, document, "proxy"), tuple(proxy)),
        *rules,
        Section("[prefetch]", _at(lines, document, "prefetch"), tuple(prefetch)),
    ]


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
