"""Who may use the proxy."""

import base64
import ipaddress
from pathlib import Path

import pytest
from mitmproxy.connection import Client
from mitmproxy.proxy.mode_specs import ProxyMode

from bestbefore.addon.config.settings import Settings
from bestbefore.addon.proxy.access.access import Access, StatedAddress, address_of, is_local, is_restricted
from bestbefore.addon.rfc9111.message import Fields


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def test_loopback_clients_may_always_connect() -> None:
    assert all(Access().admits(a) for a in ("127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"))


def test_other_clients_need_an_allowed_network() -> None:
    access = Access(allow_clients=[ipaddress.ip_network("192.0.2.0/24")])
    assert access.admits("192.0.2.7")
    assert access.admits("::ffff:192.0.2.7")
    assert not access.admits("198.51.100.1")
    assert not access.admits("2001:db8::1")
    assert not Access().admits("192.0.2.7")


def test_with_credentials_alone_any_address_may_try_and_must_give_them() -> None:
    access = Access(users={"ann": "s3:cret"})
    assert access.admits("198.51.100.1")
    assert access.authorised("198.51.100.1", basic("ann:s3:cret"))
    assert access.authorised("127.0.0.1", None)


@pytest.mark.parametrize("value", [None, "", "Basic", "Basic !!", basic("ann:wrong"), basic("bob:"), basic("bob"),
                                   "Bearer x", "Basic " + base64.b64encode(b"\xff\xfe").decode()])
def test_wrong_or_malformed_credentials_are_refused(value: str | None) -> None:
    assert not Access(users={"ann": "secret"}).authorised("198.51.100.1", value)


def client(address: str, mode: str = "regular") -> Client:
    return Client(peername=(address, 1), sockname=("192.0.2.1", 2), proxy_mode=ProxyMode.parse(mode))


def test_clients_beyond_loopback_may_not_reach_this_machine() -> None:
    for address in ("192.0.2.7", "::ffff:192.0.2.7", "fe80::1%eth0", "169.254.1.1", "2001:db8::1"):
        assert is_restricted(client(address))
    for address in ("127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"):
        assert not is_restricted(client(address))


def test_an_address_that_a_balancer_states_is_never_of_this_machine() -> None:
    for text in ("127.0.0.1", "::1"):
        assert not is_restricted(client(text))
        stated = StatedAddress(text)
        assert is_restricted(client(stated))
        assert not Access().admits(stated)
        assert Access(allow_clients=[ipaddress.ip_network(text)]).admits(stated)
        assert not Access(users={"ann": "secret"}).authorised(stated, None)
        assert not Access().tunnels(stated, 22)
        assert not Access().purges(stated, Fields())
        assert Access().purges(text, Fields())


def test_in_front_of_an_origin_the_operator_says_where_requests_go() -> None:
    assert not is_restricted(client("192.0.2.7", "reverse:http://127.0.0.1:9000"))
    assert is_restricted(client("192.0.2.7", "upstream:http://127.0.0.1:3128"))


@pytest.mark.parametrize("target", [
    "127.0.0.1", "127.255.1.1", "::1", "[::1]", "0.0.0.0", "::", "169.254.169.254", "fe80::1%eth0",
    "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:a9fe:a9fe",
    "127.1", "127.0.1", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "0",
    "localhost", "LocalHost.", "app.localhost",
])
def test_every_way_to_write_an_address_of_this_machine_is_known(target: str) -> None:
    assert is_local(target)


@pytest.mark.parametrize("target", ["192.0.2.7", "10.0.0.1", "3221226219", "2001:db8::1", "localhost.example.org", ""])
def test_other_addresses_and_names_are_not_of_this_machine(target: str) -> None:
    assert not is_local(target)


def test_clients_beyond_loopback_open_tunnels_to_few_ports() -> None:
    access = Access()
    assert access.tunnels("192.0.2.7", 443)
    assert not access.tunnels("192.0.2.7", 25)
    assert access.tunnels("::1", 25)


def test_a_name_is_no_address() -> None:
    assert address_of("localhost") is None
    assert address_of("1.2.3.4.5") is None


@pytest.mark.parametrize("name", ["Origin", "sec-fetch-site", "Sec-Fetch-Mode", "Via", "Forwarded", "X-Forwarded-For"])
def test_only_programs_of_this_machine_may_purge_and_no_web_page(name: str) -> None:
    plain = Fields([("Host", "example.org"), ("User-Agent", "curl")])
    assert Access().purges("127.0.0.1", plain)
    assert Access().purges("::ffff:127.0.0.1", plain)
    assert not Access().purges("127.0.0.1", plain.added((name, "")))
    assert not Access().purges("192.0.2.7", plain)
    assert not Access().purges("fe80::1", plain)
    assert not Access().purges("", plain)


def test_tunnels_of_remote_clients_lead_to_the_ports_of_https() -> None:
    assert set(Access().connect_ports) == set(Settings(state=Path("state")).connect_ports) == {443, 8443}
