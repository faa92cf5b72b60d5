"""Who may use the proxy."""

import base64
import ipaddress
from pathlib import Path

import pytest

from bestbefore.addon.proxy.access import Access, address_of, is_local, read_credentials
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


def test_clients_beyond_loopback_reach_no_local_target_and_few_ports() -> None:
    access = Access()
    for target in ("127.0.0.1", "::1", "169.254.169.254", "fe80::1%eth0", "0.0.0.0", "[::1]", "::ffff:127.0.0.1"):
        assert is_local(target)
        assert not access.reaches("192.0.2.7", target)
        assert access.reaches("127.0.0.1", target)
    assert access.reaches("192.0.2.7", "203.0.113.5")
    assert access.tunnels("192.0.2.7", 443)
    assert not access.tunnels("192.0.2.7", 25)
    assert access.tunnels("::1", 25)


def test_a_name_is_no_address() -> None:
    assert address_of("localhost") is None


def test_a_credentials_file_is_read_and_a_bad_line_named_without_its_password(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("# users\n\nann:a:b\nbob:c\n")
    assert read_credentials(file) == {"ann": "a:b", "bob": "c"}
    file.write_text("ann:x\nhunter2\n")
    with pytest.raises(ValueError, match=r"users:2: expected USER:PASSWORD") as error:
        read_credentials(file)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("name", ["Origin", "sec-fetch-site", "Sec-Fetch-Mode", "Via", "Forwarded", "X-Forwarded-For"])
def test_only_programs_of_this_machine_may_purge_and_no_web_page(name: str) -> None:
    plain = Fields([("Host", "example.org"), ("User-Agent", "curl")])
    assert Access().purges("127.0.0.1", plain)
    assert Access().purges("::ffff:127.0.0.1", plain)
    assert not Access().purges("127.0.0.1", plain.added((name, "")))
    assert not Access().purges("192.0.2.7", plain)
    assert not Access().purges("fe80::1", plain)
    assert not Access().purges("", plain)
