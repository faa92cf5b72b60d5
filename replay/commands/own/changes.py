"""A recommendation as a change of the configuration in force."""

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

from bestbefore.addon.config.domain_sections import BOUNDS, PARAMETERS
from bestbefore.addon.config.editing import NewDomain, TableChange, edited
from bestbefore.addon.config.load import load_text
from bestbefore.addon.rules import HostPattern, Rules
from bestbefore.policies.validation.machinery.spec import Value
from bestbefore.replay.present import POLICY_KEYS
from bestbefore.replay.recommend import Recommendation, replayed
from bestbefore.replay.report.configuration import settings_lines
from bestbefore.replay.sweeps.grid import Point


class NoChangeError(ValueError):
    """The configuration cannot be changed as recommended. The message is for the user."""


def changed(found: Recommendation, toml: str, rules: Rules, path: Path | None) -> str:
    """Return the text of the configuration with the recommended policies, the rest as it is.

    `rules` are those of `toml`; `path` is its file. Rules of domains come last, so that no other rule is used less. A
    policy that is in use already changes nothing. Raises NoChangeError.
    """
    numbers = {str(rule.match): n for n, rule in reversed(list(enumerate(rules.domains)))}
    try:
        text = edited(toml, list(_of_tables(found, toml, numbers)), list(_new(found, numbers)))
        after = load_text(text, path).rules
    except ValueError as error:
        raise NoChangeError(f"{path or 'the configuration'}: it cannot be changed by this command: {error}") from None
    present = found.in_use
    expected = {None: found.default.point} | {
        domain: choice.point for domain, choice in found.domains.items()
    } | {rule: tried.point for rule, tried in found.kept.items()}
    for rule in (after.default, *after.domains):
        point = expected.get(None if rule is after.default else str(rule.match))
        if point is not None and rule.policy != replayed(point, present.bounds):
            raise NoChangeError(f"{path or 'the configuration'}: it cannot be changed by this command")
    return text


def diff(before: str, after: str, path: Path | None) -> list[str]:
    """Return the lines of a unified diff, with the name of the file, or of a file to be made; empty without changes."""
    name = "proxy.toml" if path is None else str(path)
    old = "/dev/null" if path is None else name
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), old, name, lineterm=""))


def _of_tables(found: Recommendation, toml: str, numbers: Mapping[str, int]) -> Iterator[TableChange]:
    """Yield the changes of [default] and of the rules. Bounds of a rule stay as they are."""
    default, present = found.default.point, found.in_use
    changes = default.spec != present.default.spec
    own_bounds = BOUNDS & default.written.keys() if changes else frozenset()
    if changes:
        yield TableChange(None, PARAMETERS | {"policy"} | own_bounds, _lines(default, {}))
    # A rule would inherit the bounds that [default] now has.
    inherited = {key: present.bounds[key] for key in sorted(own_bounds)}
    tables = tomllib.loads(toml).get("domain", [])
    for pattern, number in numbers.items():
        if pattern in found.domains:
            point = found.domains[pattern].point
        elif pattern in present.rules and pattern not in present.only_bounded:
            point = present.rules[pattern]
        else:  # it follows the default
            continue
        # A rule that names no policy has that of [default].
        follows = changes and "policy" not in tables[number]
        same = replayed(point, present.bounds) == replayed(present.of(pattern), present.bounds)
        if not same or follows or (pattern in present.rules and inherited):
            own = tables[number].keys() & BOUNDS
            yield TableChange(number, POLICY_KEYS - own, _lines(point, inherited, own))


def _new(found: Recommendation, numbers: Mapping[str, int]) -> Iterator[NewDomain]:
    default = found.default.point
    inherited = {key: found.in_use.bounds[key] for key in default.written if key in BOUNDS}
    for domain, choice in found.domains.items():
        if domain not in numbers and choice.point.spec != default.spec:
            yield NewDomain(HostPattern.parse(domain).text, _lines(choice.point, inherited))


def _lines(point: Point, inherited: Mapping[str, Value], present: AbstractSet[str] = frozenset()) -> list[str]:
    """Return the lines that set a policy, without those of keys that are `present`."""
    values = {**inherited, **point.written}
    return list(settings_lines(point.policy.name, {key: values[key] for key in values if key not in present}))
