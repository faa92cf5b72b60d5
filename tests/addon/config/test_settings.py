from dataclasses import fields, replace
from pathlib import Path

import pytest

from bestbefore.addon.config.settings import HOT_KEYS, Address, Settings
from bestbefore.addon.rules import HostPattern

DEFAULTS = Settings(state=Path("/state"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_addresses_and_localhost_are_loopback(host: str) -> None:
    assert Address(host, 8080).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "localhost.example.org", "proxy.lan"])
def test_other_addresses_and_names_are_not_loopback(host: str) -> None:
    assert not Address(host, 8080).is_loopback


def test_a_host_of_the_list_is_passed_through() -> None:
    settings = replace(DEFAULTS, passthrough=(HostPattern.parse("*.bank.example"),))
    assert settings.is_passthrough("www.bank.example")
    assert not settings.is_passthrough("bank.example")


def test_the_hot_keys_are_settings() -> None:
    assert {field.name for field in fields(Settings)} >= HOT_KEYS
