"""The configuration in force as text, with the place from which each value comes."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from bestbefore.addon.config.domain_sections import BOUNDS, PARAMETERS
from bestbefore.addon.config.hub_section import HubSettings
from bestbefore.addon.config.lines import KeyLines, KeyPath
from bestbefore.addon.config.load import MAX_FILE_BYTES, Config
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.config.settings import HOT_KEYS, Settings
from bestbefore.addon.config.value_text import limit_text, value_text
from bestbefore.addon.config.websub_section import WebSubSettings
from bestbefore.addon.prefetch_limits import PrefetchLimits
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
    """`default`, `line N`, `lines N, M`, `command line` or `dashboard`."""


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
    places = _Places(KeyLines(toml), _parsed(toml))
    rules = [Section("[default]", places.section("default"), tuple(_rule(config.rules.default, places)))]
    rules += [
        Section(
            f"[[domain]] {rule.match}", places.section("domain", number), tuple(_rule(rule, places, ("domain", number)))
        )
        for number, rule in enumerate(config.rules.domains)
    ]
    others = [
        Section(f"[{name}]", places.section(name), tuple(_others(settings, name, places)))
        for name, settings in (("websub", config.websub), ("hub", config.hub))
        if name in places.document or settings != type(settings)()
    ]
    return [
        Section("[proxy]", places.section("proxy"), tuple(_proxy(config.settings, places))),
        *rules,
        Section("[prefetch]", places.section("prefetch"), tuple(_others(config.prefetch, "prefetch", places))),
        *others,
    ]


@dataclass(frozen=True, slots=True)
class _Places:
    """Where keys are in a file."""

    lines: KeyLines
    document: Mapping[str, Any]

    def section(self, *path: str | int) -> str:
        return f"line {self.lines.line_of(path)}" if self._at(path) is not None else "default"

    def of(self, keys: Collection[str], *tables: KeyPath) -> str:
        """Return the lines of those of these keys that are in the first of the tables that has any; else `default`."""
        for path in tables:
            found = [key for key in self._at(path) or {} if key in keys]
            if found:
                numbers = [self.lines.line_of((*path, key)) for key in found]
                return f"line{'' if len(numbers) == 1 else 's'} {', '.join(map(str, sorted(numbers)))}"
        return "default"

    def _at(self, path: KeyPath) -> Any:
        """Return the table at a path; None if there is none, as in a file that has changed since it was read."""
        found: Any = self.document
        for name in path:
            try:
                found = found[name]
            except (KeyError, IndexError, TypeError):
                return None
        return found


def _proxy(settings: Settings, places: _Places) -> Iterator[Value]:
    given = places.document.get("proxy", {})
    for field in fields(settings):
        value = getattr(settings, field.name)
        source = places.of((field.name,), ("proxy",))
        if field.name == "offline" and value != given.get("offline", False):
            source = "dashboard"
        elif source == "default" and field.default is not MISSING and value != field.default:
            source = "command line"
        yield Value(field.name, shown(field.name, value), source)


def _others(settings: PrefetchSettings | WebSubSettings | HubSettings, name: str, places: _Places) -> Iterator[Value]:
    for field in fields(settings):
        if field.init:
            text = shown(field.name, getattr(settings, field.name))
            yield Value(field.name, text, places.of((field.name,), (name,)))


def _rule(rule: DomainRule, places: _Places, own: KeyPath = ("default",)) -> Iterator[Value]:
    """Yield the policy, what a rule has beside the defaults, and all that its table or [default] sets."""
    tables: tuple[KeyPath, ...] = (own,) if own == ("default",) else (own, ("default",))
    policy = spec_text(rule.policy.name, params(rule.policy))
    yield Value("policy", policy, places.of(("policy", *PARAMETERS, *BOUNDS), *tables))
    for field in fields(DomainRule):
        # `stale_if_down` is a key of [proxy].
        if field.name in ("match", "policy", "prefetch_limits", "stale_if_down_s") or not field.init:
            continue
        value, source = getattr(rule, field.name), places.of((field.name,), *tables)
        if value != field.default or source != "default":
            yield Value(field.name, shown(field.name, value), source)
    for field in fields(PrefetchLimits):
        value, source = getattr(rule.prefetch_limits, field.name), places.of((field.name,), *tables)
        if value != field.default or source != "default":
            yield Value(field.name, limit_text(field.name, value), source)


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


def shown(key: str, value: object) -> str:
    """Return the value of a key as text, without the user and password of a URL.

    >>> shown("store", "redis://me:secret@host/0"), shown("keep", 604800.0)
    ('redis://...@host/0', '7d')
    """
    return _SECRET.sub(r"\1...@", value_text(key, value))


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
