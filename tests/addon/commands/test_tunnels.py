"""`bestbefore tunnels` (`live/clients/test_tunnels` runs it beside a proxy)."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.commands import tunnels
from bestbefore.addon.proxy.tunnels.listing import TunnelListing
from bestbefore.addon.proxy.tunnels.refusals import ClientKey, Refusals

type Run = Callable[..., tuple[int, str, str]]


def test_what_is_tunnelled_is_one_line_each(bestbefore: Run, tmp_path: Path) -> None:
    refusals, clock = Refusals(), ManualClock(time.time())
    listing = TunnelListing(tmp_path, refusals, clock, lambda _count: None)
    listing.poll()
    nothing = "nothing is tunnelled because of a refused certificate\n"
    assert bestbefore("tunnels", "--state", tmp_path) == (0, nothing, "")
    for client in (ClientKey("192.0.2.1", "eve", "f1"), ClientKey("192.0.2.2", "", "f2")) * 2:
        refusals.refused(client, "bank.example", "it left", clock.monotonic())
    listing.poll()
    status, shown, _ = bestbefore("tunnels", "--state", tmp_path)
    first, second = shown.splitlines()
    assert status == 0
    assert first.startswith("eve@192.0.2.1 (program f1) to bank.example, from ")
    assert second.startswith("192.0.2.2 (program f2) to bank.example, from ")
    assert second.endswith(": it left")


def test_what_cannot_be_done_is_one_line(bestbefore: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tunnels, "_TRIES", 1)
    no_proxy = f"bestbefore: {tmp_path}: no proxy has run with this state folder\n"
    assert bestbefore("tunnels", "--state", tmp_path) == (2, "", no_proxy)
    (tmp_path / "file").touch()
    assert bestbefore("tunnels", "--state", tmp_path / "file")[2] == no_proxy.replace(": no", "/file: no")
    TunnelListing(tmp_path, Refusals(), ManualClock(0.0), lambda _count: None).poll()
    status, _, err = bestbefore("tunnels", "--state", tmp_path, "--lift", "a", "--client", "192.0.2.1")
    assert (status, err) == (1, "bestbefore: no proxy runs with this state folder\n")
    assert not (tmp_path / "tunnels.lift").exists()
    assert bestbefore("tunnels", "--state", tmp_path, "--lift", "a b")[0] == 2
    assert bestbefore("tunnels", "--client", "192.0.2.1")[0] == 2
    assert "--client me: expected an IP address" in bestbefore("tunnels", "--lift", "*", "--client", "me")[2]


@pytest.mark.parametrize("late_s", [0.0, 0.05])
def test_a_running_proxy_has_time_to_take_the_request(tmp_path: Path, late_s: float) -> None:
    request = tmp_path / "tunnels.lift"
    request.touch()
    threading.Timer(late_s, request.unlink).start()
    assert tunnels._is_taken(request)
