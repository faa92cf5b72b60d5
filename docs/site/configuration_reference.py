"""The reference of the configuration, from its classes and its parser: each key, what it accepts, and its default."""

import ast
import inspect
import math
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from bestbefore.addon.config.domain_sections import LIVE_POLICIES, PARAMETERS, RULE_KEYS
from bestbefore.addon.config.hub_section import HUB_KEYS, HubSettings
from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.prefetch_section import PREFETCH_KEYS, PrefetchSettings
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.config.proxy_section import PROXY_KEYS
from bestbefore.addon.config.settings import HOT_KEYS, Settings
from bestbefore.addon.config.websub_section import WEBSUB_KEYS, WebSubSettings
from bestbefore.addon.prefetch_limits import PrefetchLimits
from bestbefore.addon.reports.configuration import shown
from bestbefore.addon.rules import DomainRule
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.spec import params, value_text
from bestbefore.policies.validation.table import POLICIES, forms_of

SECTIONS: Mapping[str, tuple[tuple[str, ...], tuple[type, ...]]] = {
    "proxy": (PROXY_KEYS, (Settings,)),
    "default": (RULE_KEYS, (DomainRule, PrefetchLimits, Bounded)),
    "prefetch": (PREFETCH_KEYS, (PrefetchSettings,)),
    "websub": (WEBSUB_KEYS, (WebSubSettings,)),
    "hub": (HUB_KEYS, (HubSettings,)),
}
"""The keys of each section, and the classes whose fields they are."""
TITLES = {"default": "[default] and [[domain]]"}
_SECONDS = re.compile(r", (?:seconds|s|bytes)(?=[;:.]|$)")
_WRONG = re.compile(r"^\w+: \{\} is not |^unknown .*known: |\)$")
"""What a message says of the value that was refused."""
_NAMES = re.compile(r"(?:^A name of|^One of|, a name of|, one of) `[^`]*`(?:\.$)?")
"""Where the code keeps the names, which the error message lists."""


def configuration_keys() -> str:
    """Return a table for each section of the configuration."""
    return "\n".join(line for name in SECTIONS for line in _section(name))


def accepted() -> Mapping[str, Mapping[str, str]]:
    """What each key of each section accepts, in the words of its error message."""
    texts = _refused({name: dict.fromkeys(keys, "{}") for name, (keys, _) in SECTIONS.items()})
    lists = {
        name: {key: "[{}]" for key, text in of.items() if text.startswith("a list")} for name, of in texts.items()
    }
    for name, of in _refused(lists).items():
        texts[name] |= {key: f"a list; each: {text.removeprefix('item 1, ')}" for key, text in of.items()}
    return texts


def _refused(values: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return what is expected of each key whose value, as TOML, is refused."""
    lines = (line for name, of in values.items() for line in (f"[{name}]", *(f"{key} = {of[key]}" for key in of)))
    texts: dict[str, dict[str, str]] = {name: {} for name in SECTIONS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "each.toml")
        path.write_text("\n".join(lines))
        try:
            load_config(path)
        except ConfigError as error:
            for problem in error.problems:
                found = re.search(r" \[(\w+)\] (\w+) = (?:\{\.*\}|\[.*?\]|\S+): (?:expected )?(.*)$", problem)
                if found is not None:
                    texts[found[1]][found[2]] = _WRONG.sub("", found[3]).replace(": expected", ",")
    return texts


def defaults(accepts: Mapping[str, Mapping[str, str]]) -> Mapping[str, Mapping[str, str]]:
    """The default of each key that has one."""
    config = load_config(None, environ={})
    rule = config.rules.default
    of_policy = {name: value_text(rule.policy.name, name, value) for name, value in params(rule.policy).items()}
    parts: Mapping[str, tuple[Any, ...]] = {
        "proxy": (config.settings,), "prefetch": (config.prefetch,), "websub": (config.websub,), "hub": (config.hub,),
        "default": (rule, rule.prefetch_limits),
    }
    texts = {
        name: {
            field.name: _default(field.name, getattr(part, field.name), accepts[name].get(field.name, ""))
            for part in of
            for field in fields(part)
        }
        for name, of in parts.items()
    }
    texts["proxy"]["state"] = "$XDG_STATE_HOME/bestbefore"
    texts["default"] |= {**of_policy, "policy": rule.policy.name, "prefetch": "true"}
    return texts


def _default(key: str, value: object, accepts: str) -> str:
    if isinstance(value, float):
        if not accepts.startswith("a duration"):
            return f"{value:g}"
        return "not set" if math.isinf(value) else value_text("ttl", "max_ttl", value)
    return shown(key, value)


def meanings(classes: tuple[type, ...]) -> Mapping[str, str]:
    """The docstring of each field of these classes."""
    found: dict[str, str] = {}
    for one in classes:
        (body,) = (node.body for node in ast.parse(inspect.getsource(one)).body if isinstance(node, ast.ClassDef))
        for field, text in pairwise(body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                    found[name.removesuffix("_s")] = " ".join(words.split())
    return found


def _section(name: str) -> Iterator[str]:
    keys, classes = SECTIONS[name]
    accepts = accepted()
    texts, values, means = accepts[name], defaults(accepts)[name], meanings(classes)
    yield from (f"## {TITLES.get(name, f'[{name}]')}", "")
    yield from ("| key | expected | default | meaning |", "|---|---|---|---|")
    for key in keys:
        if key in PARAMETERS:
            continue
        remark = _NAMES.sub("", means.get(key, ""))
        if key in HOT_KEYS and name == "proxy":
            remark += " May change while the proxy runs."
        yield f"| `{key}` | {_cell(texts.get(key, ''))} | {_code(values.get(key, ''))} | {_cell(remark)} |"
    yield ""
    if name == "default":
        yield from _policies()


def _policies() -> Iterator[str]:
    yield from ("The parameters of each policy, with their defaults, and those that it can have in their place:", "")
    yield from ("| policy | parameters | in their place | lifetime |", "|---|---|---|---|")
    for name, policy in POLICIES.items():
        if name in LIVE_POLICIES:
            first, *others = (_parameters(name, form) for form in forms_of(name))
            lifetime = (sys.modules[policy.__module__].__doc__ or "").partition("\n")[0]
            yield f"| `{name}` | {first} | {'; '.join(others)} | {_cell(lifetime)} |"
    yield ""


def _parameters(name: str, form: type[Formula]) -> str:
    return ", ".join(f"`{key} = {value_text(name, key, value)}`" for key, value in params(form()).items())


def _cell(text: str) -> str:
    text = _SECONDS.sub("", text).replace("None: ", "not set: ")
    return text.replace("|", "\\|").replace("*", "\\*").strip()


def _code(text: str) -> str:
    return f"`{text}`" if text and text != "not set" else text
