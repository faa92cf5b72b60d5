"""Addresses and their ranges, checked against the standard library where it has an opinion."""

import ipaddress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bestbefore.addon.proxy.access.access import is_local
from bestbefore.addon.proxy.access.reach import BEYOND_THIS_MACHINE, EVERYWHERE, PUBLIC, RANGES, range_of


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("127.0.0.1", "loopback"),
        ("127.1", "loopback"),
        ("0x7f000001", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("0.0.0.0", "loopback"),
        ("[::1]", "loopback"),
        ("localhost", "loopback"),
        ("x.localhost.", "loopback"),
        ("169.254.169.254", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("10.1.2.3", "10.0.0.0/8"),
        ("172.31.0.1", "172.16.0.0/12"),
        ("172.32.0.1", ""),
        ("192.168.1.1", "192.168.0.0/16"),
        ("::ffff:192.168.1.1", "192.168.0.0/16"),
        ("100.64.0.1", "100.64.0.0/10"),
        ("fd12::1", "fc00::/7"),
        ("192.0.2.1", "other"),
        ("224.0.0.1", "other"),
        ("255.255.255.255", "other"),
        ("64:ff9b::a00:1", "10.0.0.0/8"),
        ("2002:7f00:1::", "loopback"),
        ("93.184.216.34", ""),
        ("2606:4700::1111", ""),
        ("www.example.org", ""),
        ("", ""),
    ],
)
def test_the_range_of_an_address(host: str, found: str) -> None:
    assert range_of(host) == found
    assert PUBLIC.allows(host) == (found == "")
    assert EVERYWHERE.allows(host)


@given(st.ip_addresses())
@example(ipaddress.IPv6Address("2002:100::"))
@example(ipaddress.IPv6Address("2002:a00::"))
def test_only_what_is_global_is_in_no_range(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    found = range_of(str(address))
    assert found == "" or found in RANGES
    # A gateway of 6to4 may pass it on to an address that is global, or to one that is not.
    beyond = address.sixtofour if isinstance(address, ipaddress.IPv6Address) else None
    if not (beyond or address).is_global:
        assert found != ""
    assert BEYOND_THIS_MACHINE.allows(str(address)) or found in {"loopback", "link-local"}
    if is_local(str(address)):
        assert not BEYOND_THIS_MACHINE.allows(str(address))
