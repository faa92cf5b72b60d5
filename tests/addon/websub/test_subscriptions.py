"""The subscriptions of a proxy, on each backend of a store."""

import asyncio
from dataclasses import replace

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.signals.links import DeclaredHubs
from bestbefore.addon.engine.signals.subscription import PushState
from bestbefore.addon.websub import subscriptions
from bestbefore.addon.websub.subscriptions import Subscriptions, ranges_wanted
from tests.addon.store.memory_backend import open_memory_store

HUB = DeclaredHubs(("http://hub/",), "http://x/a")


async def empty(url="http://proxy/cb"):
    store = await open_memory_store(clock=RealClock(), forget_after_s=1e12)
    return Subscriptions(store.positions, url), store


async def test_each_has_a_path_and_a_secret_that_nobody_guesses() -> None:
    known, _ = await empty()
    assert known.declared("http://x/a", HUB)
    assert not known.declared("http://x/a", HUB)
    assert known.declared("http://x/b", HUB._replace(topic="http://x/b"))
    one, other = known
    assert known.at(one.path) is one
    assert known.at("other") is None
    assert len({one.path, other.path}) == len({one.secret, other.secret}) == 2
    assert len(one.path) >= 32
    assert len(one.secret) == 64


async def test_with_another_hub_it_begins_anew() -> None:
    known, _ = await empty()
    known.declared("http://x/a", HUB)
    (before,) = known
    assert known.declared("http://x/a", HUB._replace(hubs=("http://hub2/",)))
    (after,) = known
    assert (after.hub, after.path == before.path, known.at(before.path)) == ("http://hub2/", False, None)


async def test_more_hubs_leave_a_subscription_as_it_is_and_the_next_has_its_own_path() -> None:
    known, _ = await empty()
    known.declared("http://x/a", HUB)
    (before,) = known
    assert not known.declared("http://x/a", HUB._replace(hubs=("http://hub2/", "http://hub/")))
    (after,) = known
    assert (after.path, after.hub, after.hubs) == (before.path, "http://hub/", ("http://hub2/", "http://hub/"))
    known.pass_on(after, 1.0)
    (following,) = known
    assert (following.hub, known.at(before.path), known.at(following.path)) == ("http://hub2/", None, following)


async def test_they_survive_a_restart_by_their_callback() -> None:
    known, store = await empty()
    await known.update(lambda known: known.declared("http://x/a", HUB))
    (one,) = known
    await known.update(lambda known: known.put(replace(one, state=PushState.ACTIVE, until_s=5.0)))
    again, other = Subscriptions(store.positions, "http://proxy/cb"), Subscriptions(store.positions, "http://other/cb")
    for subscribed in (again, other):
        await subscribed.read()
    assert list(again) == list(known) == [replace(one, state=PushState.ACTIVE, until_s=5.0)]
    assert list(other) == []
    await store.positions.put(subscriptions.name_of("http://other/cb"), b'[{"of": "another version"}]')
    await other.read()
    assert list(other) == []


async def test_processes_with_one_callback_change_what_the_others_have_changed() -> None:
    known, store = await empty()
    others = [Subscriptions(store.positions, "http://proxy/cb") for _ in range(3)]
    await known.update(lambda known: known.declared("http://x/a", HUB))

    def ask(known: Subscriptions) -> bool:
        (one,) = known
        if one.state is PushState.ASKED:
            return False
        known.put(one.asked(1.0))
        return True

    assert sorted(await asyncio.gather(*(one.update(ask) for one in others))) == [False, False, True]
    (asked,) = known
    pushes = [one.update(lambda known: known.note_push(asked.path, 2.0, is_signed=True)) for one in (known, *others)]
    await asyncio.gather(*pushes)
    await known.read()
    (one,) = known
    assert (one.pushes, one.state) == (4, PushState.ASKED)


async def test_their_number_is_bounded_and_those_in_use_stay(monkeypatch) -> None:
    monkeypatch.setattr(subscriptions, "MOST", 3)
    known, _ = await empty()
    for n in range(4):
        known.declared(f"http://x/{n}", HUB._replace(topic=f"http://x/{n}"))
    assert [one.url for one in known] == ["http://x/1", "http://x/2", "http://x/3"]
    for one in known:
        known.put(one.asked(1.0))
    assert not known.declared("http://x/4", HUB)
    known.forget("http://x/2")
    assert known.declared("http://x/4", HUB)


def test_what_stays_without_requests_is_wanted_from_where_clients_once_asked() -> None:
    assert ranges_wanted({"": 1, "10.0.0.0/8": 1}, (), stays=False) == ("10.0.0.0/8",)
    assert ranges_wanted({"": 1}, ("10.0.0.0/8",), stays=False) is None
    assert ranges_wanted({}, ("10.0.0.0/8",), stays=True) == ("10.0.0.0/8",)
    assert ranges_wanted({"": 1}, ("10.0.0.0/8",), stays=True) == ()
