"""The files by which the command and the proxy speak."""

from pathlib import Path

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.proxy.tunnels.listing import (
    LIST_FILE,
    TunnelListing,
    read_list,
    request_lift,
)
from bestbefore.addon.proxy.tunnels.refusals import TUNNELLED_S, ClientKey, Refusals
from bestbefore.addon.rules import HostPattern


def test_what_is_tunnelled_is_listed_until_it_is_lifted(tmp_path: Path) -> None:
    refusals, lifted = Refusals(), list[int]()
    clock = ManualClock(1000.0)
    listing = TunnelListing(tmp_path, refusals, clock, lifted.append)
    with pytest.raises(FileNotFoundError):
        read_list(tmp_path, clock.now())
    listing.poll()
    assert read_list(tmp_path, clock.now()) == []
    for host in ("a.example", "b.example") * 2:
        refusals.refused(ClientKey("192.0.2.1", "eve", "f1"), host, "why", clock.monotonic())
    listing.poll()
    rows = read_list(tmp_path, clock.now())
    assert [(row.client, row.user, row.program, row.host, row.reason) for row in rows] == [
        ("192.0.2.1", "eve", "f1", host, "why") for host in ("a.example", "b.example")
    ]
    assert rows[0].since_s == pytest.approx(clock.now())
    assert (tmp_path / LIST_FILE).stat().st_mode & 0o077 == 0
    assert read_list(tmp_path, clock.now() + TUNNELLED_S + 1) == []
    path = request_lift(tmp_path, HostPattern.parse("a.example"), "192.0.2.1")
    request_lift(tmp_path, HostPattern.parse("b.example"), "192.0.2.2")
    listing.poll()
    assert not path.exists()
    assert lifted == [1, 0]
    assert [row.host for row in read_list(tmp_path, clock.now())] == ["b.example"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"host": "..", "client": null}', b'{"host": 1}', b"\xff"])
def test_a_request_that_makes_no_sense_is_dropped(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tunnels.lift").write_bytes(content)
    listing = TunnelListing(tmp_path, Refusals(), ManualClock(0.0), lambda _count: None)
    listing.poll()
    assert not (tmp_path / "tunnels.lift").exists()
