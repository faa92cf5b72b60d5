from dataclasses import fields, replace
from ipaddress import ip_network
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


@pytest.mark.parametrize("client", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_a_client_on_loopback_is_always_allowed(client: str) -> None:
    assert DEFAULTS.is_client_allowed(client)
    assert replace(DEFAULTS, allow_clients=()).is_client_allowed(client)


@pytest.mark.parametrize("client", ["192.0.2.1", "2001:db8::1", "", "not an address", "0.0.0.0"])
def test_other_clients_are_refused_by_default(client: str) -> None:
    assert not DEFAULTS.is_client_allowed(client)


def test_with_networks_only_their_clients_are_allowed_in_either_form_of_their_address() -> None:
    settings = replace(DEFAULTS, allow_clients=(ip_network("192.0.2.0/24"), ip_network("2001:db8::/32")))
    assert settings.is_client_allowed("192.0.2.9")
    assert settings.is_client_allowed("::ffff:192.0.2.9")
    assert settings.is_client_allowed("2001:db8::9")
    assert not settings.is_client_allowed("198.51.100.1")


def test_with_credentials_and_no_networks_any_client_may_try() -> None:
    settings = replace(DEFAULTS, credentials=Path("/users"))
    assert settings.is_client_allowed("198.51.100.1")
    assert not replace(settings, allow_clients=()).is_client_allowed("198.51.100.1")


def test_a_host_of_the_list_is_passed_through() -> None:
    settings = replace(DEFAULTS, passthrough=(HostPattern.parse("*.bank.example"),))
    assert settings.is_passthrough("www.bank.example")
    assert not settings.is_passthrough("bank.example")


def test_the_hot_keys_are_settings() -> None:
    assert {field.name for field in fields(Settings)} >= HOT_KEYS
