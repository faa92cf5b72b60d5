"""What workers pass on to each other."""

import pickle

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.settings import Settings
from bestbefore.addon.proxy.origin.unsound import UNSOUND_S
from bestbefore.addon.proxy.relay import Lasting, WorkerRelay
from bestbefore.addon.proxy.state import WorkerState
from bestbefore.addon.proxy.tunnels.refusals import ClientKey


def test_announcements_reach_those_that_await_their_kind_and_no_others() -> None:
    relay, received = WorkerRelay(), list[int]()
    relay.on(int, received.append)
    for announcement in (1, "two", 3.0, 4):
        relay.receive(announcement)
    relay.pass_on(5)
    assert received == [1, 4]


def test_what_a_worker_finds_of_clients_and_origins_holds_at_another_that_starts_later(tmp_path) -> None:
    clock, kept = ManualClock(0.0), list[bytes]()
    one, other = (
        WorkerState.of(Settings(state=tmp_path), 1000, clock.monotonic, lambda _: None) for _ in range(2)
    )
    one.relay.send = lambda content, lasting: kept.append(pickle.dumps(content)) if lasting is Lasting.ALL else None
    client = ClientKey("192.0.2.1", "", "a")
    for _ in range(2):
        one.refusals.refused(client, "bank.example", "why", clock.monotonic())
    one.unsound.add(("http", "origin.example", 80))
    clock.advance(UNSOUND_S / 2)
    for announcement in kept:
        other.relay.receive(pickle.loads(announcement))
    assert other.refusals.tunnelled(client, "bank.example", clock.monotonic())
    assert ("http", "origin.example", 80) in other.unsound
    clock.advance(UNSOUND_S / 2 + 1)
    assert ("http", "origin.example", 80) not in other.unsound, "an hour after it was found, not after it was passed on"
