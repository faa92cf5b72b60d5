"""SPEC, the text form of a policy: `name` or `name:key=value,key=value`. Configuration values are parsed here too.

The keys of a policy are the fields of its class and those of `Bounded`, without the unit: the field `window_s` is the
key `window`, whose value is a duration. The value of `fallback` is rules joined by `+`, or `none`.
"""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields
from itertools import combinations
from typing import Any

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.machinery.fallback import Fallback, GroupMember, LastUpdate
from bestbefore.policies.validation.machinery.policy import Formula, Policy
from bestbefore.policies.validation.rules.indhist import IndHist
from bestbefore.policies.validation.rules.ttl import Ttl
from bestbefore.policies.validation.table import POLICIES, forms_of

Value = str | float | Sequence[str]
"""The value of a parameter before parsing: text, a number (for a duration, seconds), or a list of names."""

PRICE, STALE_RATE = "price", "stale_rate"

UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": HOUR_S, "d": DAY_S}


def parse_spec(text: str) -> Formula | Bounded:
    """The policy that a SPEC such as `indttl:theta=0.1,window=1d` describes.

    Without a key of `Bounded` this is the bare policy. Raises ValueError with the part of the text at fault and the
    expected form.
    """
    name, colon, rest = text.partition(":")
    params: dict[str, Value] = {}
    for item in rest.split(",") if colon else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value):
            raise ValueError(f"{item!r} in {text!r}: expected key=value")
        if key in params:
            raise ValueError(f"{key!r} in {text!r} is given twice")
        params[key] = value
    return make_policy(name.strip(), params)


def make_policy(name: str, params: Mapping[str, Value]) -> Formula | Bounded:
    """The policy of this name with these parameters, bounded if one of them is a key of `Bounded`.

    Raises ValueError for an unknown name or key, with the nearest known one, and for a value out of range.
    """
    policy_class = POLICIES.get(name)
    if policy_class is None:
        raise ValueError(unknown_name("policy", name, POLICIES))
    bounds = _fields_by_key(Bounded)
    policy_class = form_with(name, params.keys() - bounds.keys())
    if STALE_RATE in params:
        policy_class = _controlled(name, params.keys() - bounds.keys())
    own = _fields_by_key(policy_class)
    policy = policy_class(**{own[key]: _number(key, own[key], value) for key, value in params.items() if key in own})
    bounded = {key: value for key, value in params.items() if key in bounds}
    if not bounded:
        return policy
    rules = _fallback_rules(bounded.pop("fallback"), policy) if "fallback" in bounded else None
    return Bounded(policy, fallback=rules, **{bounds[k]: _number(k, bounds[k], v) for k, v in bounded.items()})


def form_with(name: str, keys: Set[str]) -> type[Formula]:
    """The class of the policy of this name that has these parameters, the keys of a SPEC without bounds.

    Raises ValueError for a key that none has, with the nearest known one, and for keys that exclude each other.
    """
    forms = forms_of(name)
    for form in forms:
        if keys <= _fields_by_key(form).keys():
            return form
    known = dict.fromkeys(key for form in forms for key in _fields_by_key(form))
    for key in sorted(keys):
        if key not in known:
            raise ValueError(unknown_name(f"parameter of {name}", key, [*known, *_fields_by_key(Bounded)]))
    one, other = next(pair for pair in combinations(known, 2) if keys >= {*pair} and not go_together(name, *pair))
    raise ValueError(f"{one} and {other} exclude each other: expected one of them")


def _controlled(name: str, keys: Set[str]) -> type[Formula]:
    """The form of the policy of this name whose price can be controlled. Raises ValueError as `form_with`."""
    for key in sorted(keys):
        if key == PRICE or not go_together(name, key, PRICE):
            raise ValueError(f"{key} and {STALE_RATE} exclude each other: expected one of them")
    if not go_together(name, PRICE, PRICE):
        raise ValueError(f"{STALE_RATE}: {name} has no price that could be controlled")
    return form_with(name, {*keys, PRICE})


def go_together(name: str, key: str, other: str) -> bool:
    """Whether a policy of this name may have both of these parameters."""
    if STALE_RATE in (key, other):  # it stands for a price
        rest = {key, other} - {STALE_RATE}
        return PRICE not in rest and go_together(name, PRICE, *(rest or {PRICE}))
    return any({key, other} <= _fields_by_key(form).keys() for form in forms_of(name))


def params(policy: Policy) -> dict[str, float | str | list[str]]:
    """The parameters of a policy by key, durations in seconds, infinity as "inf".

    `make_policy(policy.name, params(policy))` is the same policy.
    """
    values: dict[str, float | str | list[str]] = {}
    if isinstance(policy, Bounded):
        values |= params(policy.policy)
    for key, field in _fields_by_key(type(policy)).items():
        value = getattr(policy, field)
        if (key == "siblings" and value == 1.0) or (key == STALE_RATE and not value):
            continue
        if key == STALE_RATE:
            del values[PRICE]
        if key == "fallback":
            if value is not None:
                values[key] = [rule.name for rule in value]
        else:
            values[key] = "inf" if math.isinf(value) else float(value)
    return values


def spec_text(name: str, values: Mapping[str, Value]) -> str:
    """Return the SPEC of a policy of this name with values as `params` returns them."""
    written = ",".join(f"{key}={value_text(name, key, value)}" for key, value in values.items())
    return f"{name}:{written}" if written else name


def value_text(name: str, key: str, value: Value) -> str:
    """Format the value of a parameter of a policy of this name: durations as `1d`, numbers with 12 digits."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "+".join(value) or "none"
    field = _fields_by_key(Bounded).get(key) or _fields_by_key(form_with(name, {key}))[key]
    return duration_text(value) if field.endswith("_s") else f"{value:.12g}"


def duration_text(seconds: float) -> str:
    """Format a duration for `parse_duration`, in the largest unit of which it is a whole number.

    >>> duration_text(172_800), duration_text(5400), duration_text(0.5), duration_text(0), duration_text(math.inf)
    ('2d', '90m', '0.5s', '0s', 'inf')
    """
    if math.isinf(seconds):
        return "inf"
    for unit in ("d", "h", "m"):
        if seconds and seconds % UNIT_SECONDS[unit] == 0:
            return f"{seconds / UNIT_SECONDS[unit]:.0f}{unit}"
    return f"{seconds:.12g}s"


def parse_duration(value: Value) -> float:
    """Parse a duration, a number of seconds or text such as `90`, `1.5h`, `7d` or `inf`; return seconds.

    Raises ValueError, which quotes the value, for any other text and for negative durations.
    """
    text = str(value).strip()
    unit_s = UNIT_SECONDS.get(text[-1:])
    seconds = _float(text[:-1]) * unit_s if unit_s else _float(text)
    if not seconds >= 0.0 or (unit_s and math.isinf(seconds)):
        raise ValueError(f"{value!r} is not a duration: expected a number and s, m, h or d")
    return seconds


def _fields_by_key(policy_class: type[Any]) -> dict[str, str]:
    """The field names of a policy's class by their keys in a SPEC."""
    own = (field.name for field in fields(policy_class) if field.init and field.name != "policy")
    return {name.removesuffix("_s"): name for name in own}


def _number(key: str, field: str, value: Value) -> float:
    if field.endswith("_s"):
        try:
            return parse_duration(value)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
    text = str(value).strip()
    number = _float(text[:-1]) / 100 if key == STALE_RATE and text.endswith("%") else _float(text)
    if math.isnan(number):
        raise ValueError(f"{key}: {value!r} is not a number")
    return number


def _float(text: str) -> float:
    """Parse a number; NaN for other text. Unlike `float` it refuses `1_000`."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def _fallback_rules(value: Value, policy: Formula) -> tuple[Fallback, ...]:
    """The named rules, with the policy's own theta and alpha if it has them; empty if it uses no fallback."""
    if isinstance(value, str):
        value = [] if value == "none" else value.split("+")
    names = [str(name) for name in (value if isinstance(value, Sequence) else [value])]
    rules: dict[str, Fallback] = {
        LastUpdate.name: LastUpdate(getattr(policy, "alpha", Ttl().alpha)),
        GroupMember.name: GroupMember(getattr(policy, "theta", IndHist().theta)),
    }
    for name in names:
        if name not in rules:
            raise ValueError(unknown_name("fallback", name, rules))
    return tuple(rules[name] for name in names) if policy.uses_fallback else ()


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the text of the error for an unknown name, with the nearest known one and all of them."""
    known = list(known)
    nearest = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f", did you mean {nearest[0]!r}?" if nearest else ""
    return f"unknown {kind} {name!r}{hint} (known: {', '.join(known)})"
