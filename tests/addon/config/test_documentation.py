"""docs/configuration.md says what the code does."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import certifi
import pytest

from bestbefore.addon.config.domain_sections import BOUNDS, LIVE_POLICIES, PARAMETERS
from bestbefore.addon.config.hub_section import HubSettings
from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.config.settings import HOT_KEYS, Settings
from bestbefore.addon.config.websub_section import WebSubSettings
from bestbefore.addon.prefetch_limits import PrefetchLimits
from bestbefore.addon.rules import OVERRIDABLE, DomainRule
from bestbefore.policies.validation.table import POLICIES

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "configuration.md").read_text()


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def explained_keys(title: str) -> set[str]:
    cells = re.findall(r"^\| (`[^|]*) \|", section(title), re.MULTILINE)
    return {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}


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


def test_each_key_that_is_explained_exists() -> None:
    """The others are in the reference, which is generated."""
    parts: dict[str, tuple[type[Any], ...]] = {
        "[proxy]": (Settings,), "[default] and [[domain]]": (DomainRule, PrefetchLimits),
        "[prefetch]": (PrefetchSettings,), "[websub]": (WebSubSettings,), "[hub]": (HubSettings,),
    }
    for title, classes in parts.items():
        keys = {field.name for one in classes for field in fields(one)}
        if DomainRule in classes:
            keys |= BOUNDS | PARAMETERS
        assert explained_keys(title), title
        assert explained_keys(title) <= keys, title


def test_each_policy_of_the_configuration_is_named() -> None:
    (others,) = re.findall(r"^Others \((.*)\) can only be replayed\.$", TEXT, re.MULTILINE)
    assert sorted(re.findall(r"\w+", others)) == sorted(set(POLICIES) - set(LIVE_POLICIES))
    (compared,) = re.findall(r"^The policies (.*) are there to compare with", TEXT, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", compared)) <= set(LIVE_POLICIES)
    assert "`bestbefore policies`" in section("[default] and [[domain]]")  # which lists all


def test_each_directive_and_hot_key_is_named() -> None:
    for name in OVERRIDABLE:
        assert f'`"{name}"`' in section("[default] and [[domain]]")
    for key in HOT_KEYS:
        assert f"`{key}`" in section("Changes while the proxy runs")
