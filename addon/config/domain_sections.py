"""The parser of [default] and of the [[domain]] tables, which become rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bestbefore.addon.config import values
from bestbefore.addon.config.lines import KeyPath
from bestbefore.addon.config.problems import Problems
from bestbefore.addon.config.values import Reader
from bestbefore.addon.prefetch_limits import NO_PREFETCH_LIMITS, Prefetch, PrefetchLimits
from bestbefore.addon.rules import OBEY, OVERRIDABLE, DomainRule, HostPattern, LearnWithoutValidator, Pattern, Rules
from bestbefore.policies.validation.machinery.bounds import LIVE_DEFAULTS, Bounded
from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.spec import STALE_RATE, go_together, make_policy, params
from bestbefore.policies.validation.table import POLICIES, forms_of

DEFAULT_POLICY = "indttl"
LEAST_DELAY_S = 60.0
"""The least `prefetch_delay`."""

_WHY_NOT_LIVE: Mapping[Needs, str] = {
    Needs.OUTCOME: "it can only be replayed, since the proxy does not keep the state that it needs",
    Needs.FUTURE: "it can only be replayed, since it knows the future",
}


def _is_live(policy: type[Formula]) -> bool:
    return not any(need in policy.needs for need in _WHY_NOT_LIVE)


LIVE_POLICIES = tuple(name for name, policy in POLICIES.items() if _is_live(policy))
"""The policies that can be used by the proxy."""

PARAMETERS = frozenset(
    key for name in LIVE_POLICIES for form in forms_of(name) if _is_live(form) for key in params(form())
) | {STALE_RATE}
"""The parameters of all these policies. A rule that names a policy takes none of them from [default]."""

BOUNDS = frozenset(LIVE_DEFAULTS)
"""The bounds of every policy. A rule inherits those that it does not set from [default], whatever its policy."""


def _policy(value: object) -> str:
    if isinstance(value, str) and value in POLICIES and value not in LIVE_POLICIES:
        raise ValueError(next(why for need, why in _WHY_NOT_LIVE.items() if need in POLICIES[value].needs))
    return values.one_of(LIVE_POLICIES)(value)


def _learn_without_validator(value: object) -> LearnWithoutValidator:
    if isinstance(value, bool):
        return "always" if value else "never"
    if value == "learn":
        return "learn"
    raise ValueError('expected "learn", true or false')


def _prefetch(value: object) -> Prefetch:
    if isinstance(value, bool):
        return "asked" if value else "never"
    if value == "always":
        return "always"
    raise ValueError('expected true, false or "always"')


def _prefetch_delay_s(value: object) -> float:
    seconds = values.duration_s(value)
    if seconds < LEAST_DELAY_S:
        raise ValueError("expected a minute or more")
    return seconds


_FIELDS: Mapping[str, Reader[Any]] = {
    "obey": values.one_of(OBEY),
    "override": lambda value: frozenset(values.list_of(values.one_of(OVERRIDABLE))(value)),
    "group": values.text,
    "learn_without_validator": _learn_without_validator,
    "trust_piggyback": values.boolean,
    "send_update_history": values.boolean,
    "honour_client_cc": values.boolean,
    "interim": values.boolean,
    "feed_etag": values.boolean,
    "feed_delta": values.boolean,
    "feed_hint": values.duration_s,
    "origin_ca": values.origin_ca_from(Path()),
    "verify": values.boolean,
}
_PREFETCH_KEYS: Mapping[str, Reader[Any]] = {
    "prefetch": _prefetch,
    "weight": values.number,
    "prefetch_least": values.fetch_rate,
    "prefetch_most": values.fetch_rate,
    "prefetch_delay": _prefetch_delay_s,
    "prefetch_theta": values.number,
    "quiet_hours": values.list_of(values.week_times),
    "prefetch_hours": values.list_of(values.week_times),
    "time_zone": values.time_zone,
}
_OF_HOSTS = ("origin_ca", "verify")
"""Keys about connections, which lead to a host, not to a path."""
_DEFAULT_READERS: Mapping[str, Reader[Any]] = {
    "policy": _policy,
    **dict.fromkeys(sorted(PARAMETERS | BOUNDS), lambda value: value),
    "max_ttl": values.duration_s,  # finite: every copy is validated at some time
    **_FIELDS,
    **_PREFETCH_KEYS,
}
RULE_KEYS = tuple(_DEFAULT_READERS)
_DOMAIN_READERS: Mapping[str, Reader[Any]] = {
    "match": lambda value: Pattern.parse(values.text(value)),
    **_DEFAULT_READERS,
}


@dataclass(frozen=True, slots=True)
class _Choice:
    """The policy of a table as written, of which a later table can change a part."""

    name: str = DEFAULT_POLICY
    parameters: Mapping[str, Any] = field(default_factory=dict)
    bounds: Mapping[str, Any] = field(default_factory=lambda: LIVE_DEFAULTS)

    def changed_by(self, table: Mapping[str, Any]) -> "_Choice":
        own = {key: table[key] for key in table if key in PARAMETERS}
        return _Choice(
            table.get("policy", self.name),
            own if "policy" in table else {**self._parameters_beside(own), **own},
            {**self.bounds, **{key: table[key] for key in table if key in BOUNDS}},
        )

    def _parameters_beside(self, own: Mapping[str, Any]) -> Mapping[str, Any]:
        """The parameters that `own` does not exclude, as a price excludes a theta."""
        return {
            key: value for key, value in self.parameters.items() if all(go_together(self.name, key, k) for k in own)
        }

    def make(self) -> Bounded:
        """Create the policy. Raises ValueError as `make_policy` does."""
        policy = make_policy(self.name, {**self.parameters, **self.bounds})
        assert isinstance(policy, Bounded)
        return policy


def read_rules(
    default: Mapping[str, object],
    domains: Sequence[Mapping[str, object]],
    folder: Path,
    stale_if_down_s: float | None,
    problems: Problems,
) -> Rules:
    """Parse the rules, in order. Errors are added to `problems`, and malformed keys ignored.

    Relative paths are relative to `folder`.
    """
    files = {"origin_ca": values.origin_ca_from(folder)}
    read = problems.read_keys(("default",), default, {**_DEFAULT_READERS, **files})
    choice = _choose(("default",), default, read, _Choice(), problems)
    everything = DomainRule(
        Pattern(HostPattern("*")),
        choice.make(),
        stale_if_down_s=stale_if_down_s,
        prefetch_limits=_prefetch_limits(("default",), read, NO_PREFETCH_LIMITS, problems),
        **_without_policy(read),
    )
    rules = []
    for number, table in enumerate(domains):
        path: KeyPath = ("domain", number)
        read = problems.read_keys(path, table, {**_DOMAIN_READERS, **files})
        if "match" not in table:
            problems.add(path, 'match is missing: expected a pattern, such as "*.example.org"')
        if "match" in read and read["match"].path is not None:
            for key in read.keys() & set(_OF_HOSTS):
                problems.add_value((*path, key), table[key], "a connection is for a whole host: match has a path")
        policy = _choose(path, table, read, choice, problems).make()
        limits = _prefetch_limits(path, read, everything.prefetch_limits, problems)
        rules.append(replace(everything, policy=policy, prefetch_limits=limits, **_without_policy(read)))
    return Rules(everything, tuple(rules))


def _without_policy(read: Mapping[str, Any]) -> dict[str, Any]:
    return {key: read[key] for key in read if key in _FIELDS or key == "match"}


def _prefetch_limits(
    path: KeyPath, read: Mapping[str, Any], inherited: PrefetchLimits, problems: Problems
) -> PrefetchLimits:
    """Return the limits of a table; the inherited ones, with an entry in `problems`, if they contradict each other."""
    own = {key: read[key] for key in read if key in _PREFETCH_KEYS}
    try:
        return replace(inherited, **own)
    except ValueError as error:
        problems.add((*path, *list(own)[:1]), str(error))
        return inherited


def _choose(
    path: KeyPath, table: Mapping[str, object], read: Mapping[str, Any], inherited: _Choice, problems: Problems
) -> _Choice:
    """Return the choice of the table at `path`; if it is invalid, the inherited one, with an entry in `problems`."""
    if "policy" in table and "policy" not in read:
        # Errors in the parameters are reported too, for those of the default policy.
        unknown = PARAMETERS.difference(params(make_policy(DEFAULT_POLICY, {})))
        read = {key: read[key] for key in read if key not in unknown} | {"policy": DEFAULT_POLICY}
    chosen = inherited.changed_by(read)
    try:
        chosen.make()
    except ValueError as error:
        together = str(error)
    else:
        return chosen
    keys = [key for key in read if key in PARAMETERS | BOUNDS]
    wrong = {key: message for key in keys if (message := _wrong_alone(chosen.name, key, read[key]))}
    for key, message in wrong.items():
        problems.add_value((*path, key), read[key], message)
    if not wrong:
        problems.add((*path, *keys[:1]), together)
    return inherited


def _wrong_alone(policy: str, key: str, value: Any) -> str | None:
    """Return why `make_policy` refuses a single parameter; None if it does not."""
    try:
        make_policy(policy, {key: value})
    except ValueError as error:
        return str(error)
    return None
