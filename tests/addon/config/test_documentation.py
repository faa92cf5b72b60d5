"""docs/configuration.md says what the code does."""

import re
from dataclasses import fields
from pathlib import Path

import certifi
import pytest

from bestbefore.addon.config.domain_sections import BOUNDS, DEFAULT_POLICY, LIVE_POLICIES, PARAMETERS
from bestbefore.addon.config.hub_section import HubSettings
from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.config.settings import HOT_KEYS, Settings
from bestbefore.addon.config.websub_section import WebSubSettings
from bestbefore.addon.rules import OVERRIDABLE, DomainRule
from bestbefore.addon.wishes import Wishes
from bestbefore.policies.dissemination.table import SCHEDULERS
from bestbefore.policies.validation.machinery.spec import make_policy, params, parse_duration
from bestbefore.policies.validation.table import POLICIES

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "configuration.md").read_text()


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def documented_keys(title: str) -> set[str]:
    return set(re.findall(r"^\| `(\w+)` \|", section(title), re.MULTILINE))


def test_the_example_is_accepted(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    path = tmp_path / "proxy.toml"
    path.write_text(example)
    config = load_config(path)
    assert len(config.rules.domains) == 3


def test_each_configuration_of_the_first_steps_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "lab-ca.pem").write_bytes(Path(certifi.where()).read_bytes())
    (tmp_path / "subscriptions.opml").write_text('<opml version="2.0"><body/></opml>')
    shown = [
        text
        for page in DOCS.glob("first_steps/*.md")
        for text in re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    for text in shown:
        (tmp_path / "proxy.toml").write_text(text)
        load_config(tmp_path / "proxy.toml")
    assert len(shown) >= 6


def test_the_errors_shown_are_those_that_are_printed(tmp_path: Path) -> None:
    path = tmp_path / "proxy.toml"
    path.write_text('[proxy]\nlisen = "127.0.0.1:3128"\n\n\n[[domain]]\nmatch = "a"\nmax_ttl = "6 hours"')
    with pytest.raises(ConfigError) as error:
        load_config(path)
    for problem in error.value.problems:
        assert f"    bestbefore: {problem.removeprefix(f'{tmp_path}/')}\n" in TEXT


def compared_with() -> dict[str, dict[str, float]]:
    """The policies in the table of those to compare with, and the defaults of their parameters."""
    rows = re.findall(r'^\| `"(\w+)"` \| ([^|]*)\|', section("[default] and [[domain]]"), re.MULTILINE)
    return {
        name: {key: parse_duration(default) for key, default in re.findall(r"`(\w+)` \(([^)]+)\)", cell)}
        for name, cell in rows
    }


def test_each_setting_is_documented() -> None:
    assert documented_keys("[proxy]") == {field.name for field in fields(Settings)}


def documented_defaults(title: str) -> list[tuple[str, str]]:
    """The keys whose default is a value, with that value as TOML."""
    found = re.findall(r"^\| `(\w+)` \| [^|]* \| `?([^`|]+)`? \|", section(title), re.MULTILINE)
    value = re.compile(r'".*"|\[.*\]|[0-9.]+|true|false')
    return [(key, default) for key, default in found if value.fullmatch(default.strip())]


def test_each_default_that_is_a_value_is_the_one_documented(tmp_path: Path) -> None:
    path, checked = tmp_path / "proxy.toml", 0

    def read(text: str) -> tuple[Settings, DomainRule, PrefetchSettings, HubSettings]:
        path.write_text(text)
        config = load_config(path)
        return config.settings, config.rules.default, config.prefetch, config.hub

    tables = {"[default] and [[domain]]": "default"} | {f"[{name}]": name for name in ("proxy", "prefetch", "hub")}
    for title, table in tables.items():
        for key, default in documented_defaults(title):
            of_another_policy = key in PARAMETERS.difference(params(make_policy(DEFAULT_POLICY, {})))
            without = f"[{table}]\n" + ('policy = "agghist"\n' if of_another_policy else "")
            assert read(f"{without}{key} = {default}\n") == read(without), key
            checked += 1
    assert checked >= 55


def test_each_key_of_a_rule_is_documented() -> None:
    of_rules = {field.name for field in fields(DomainRule) if field.init} - {"stale_if_down_s", "wishes"}
    of_rules |= {field.name for field in fields(Wishes)}
    documented = documented_keys("[default] and [[domain]]")
    assert of_rules | BOUNDS <= documented <= of_rules | BOUNDS | PARAMETERS
    for name in set(LIVE_POLICIES) - set(compared_with()):
        assert set(params(make_policy(name, {}))) <= documented


def test_each_policy_is_named_with_its_defaults() -> None:
    rules = re.findall(r'^\| `policy` \| ([^|]+)\| `"', section("[default] and [[domain]]"), re.MULTILINE)
    assert sorted([*re.findall(r'`"(\w+)"`', rules[0]), *compared_with()]) == sorted(LIVE_POLICIES)
    for name, defaults in compared_with().items():
        assert defaults == params(POLICIES[name]()), name
    (others,) = re.findall(r"^Others \((.*)\) can only be replayed\.$", TEXT, re.MULTILINE)
    assert sorted(re.findall(r"\w+", others)) == sorted(set(POLICIES) - set(LIVE_POLICIES))


def test_each_key_of_prefetching_is_documented() -> None:
    assert documented_keys("[prefetch]") == {field.name for field in fields(PrefetchSettings) if field.init}


def test_each_key_of_websub_is_documented() -> None:
    assert documented_keys("[websub]") == {field.name for field in fields(WebSubSettings)}


def test_each_key_of_the_hub_is_documented() -> None:
    assert documented_keys("[hub]") == {field.name for field in fields(HubSettings)}
    assert all(f'`"{name}"`' in section("[hub]") for name in SCHEDULERS)


def test_each_policy_directive_and_hot_key_is_named() -> None:
    assert "`bestbefore policies`" in section("[default] and [[domain]]")  # which lists all
    for name in OVERRIDABLE:
        assert f'`"{name}"`' in section("[default] and [[domain]]")
    for key in HOT_KEYS:
        assert f"`{key}`" in section("Changes while the proxy runs")
