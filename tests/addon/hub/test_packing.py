"""What of a copy crosses the channel."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import msgspec
import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.channel.publication import Unpublished
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.piggyback import AT_MOST
from bestbefore.addon.hub.packing import packed, unpacked, why_not_sent
from bestbefore.addon.hub.wire.message import Assembly, Object, pieces
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rules import Pattern
from bestbefore.addon.store.store import Store
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_300_000.0
URL = "http://example.org/page"
ALL = (Pattern.parse("*"),)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = await open_memory_store(clock=ManualClock(NOW_S), forget_after_s=1e12)
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    ("path", "publish", "why"),
    [
        ("page", ("*",), None),
        ("page", ("example.net",), Unpublished.NOT_CHOSEN),
        ("page", (), Unpublished.NOT_CHOSEN),
        ("page?token=x", ("*",), Unpublished.SECRET_URL),
        ("page?token=x", ("*", "example.org"), None),
        ("update", ("*",), None),  # names a deed, which is no secret
    ],
)
def test_the_operator_chooses_and_secrets_stay(
    make_copy: Callable[..., Copy], path: str, publish: tuple[str, ...], why: Unpublished | None
) -> None:
    assert why_not_sent(make_copy(path=path), tuple(map(Pattern.parse, publish)), 1000) is why


async def test_the_latest_updates_go_with_it_and_the_hubs_own_verdict_does_not(
    store: Store, make_copy: Callable[..., Copy]
) -> None:
    for n in range(AT_MOST + 10):
        t_s = NOW_S - 10_000.0 + 10.0 * n
        reported_s = (t_s - 5.0,) if n else ()
        seen = Fingerprint(body=str(n))
        await store.learn(Observation(URL, t_s, "", seen, reported_s=reported_s, reported_since_s=NOW_S - 20_000.0))
    copy = replace(make_copy(), covered=("other/all", 3)).with_verdict(NOW_S + 9.0, "indttl", "key")
    store.put(copy, b"content")
    found = await packed(copy, await store.record(URL), store, with_body=True)
    assert found is not None
    assert found.body == b"content"
    assert len(found.updates_s) == AT_MOST
    assert (found.since_s, found.history) == (found.updates_s[0], "")
    assert unpacked(replace_body(found)) == replace(make_copy(), covered=None)


def replace_body(found: object) -> object:
    """Without the content, whose digest is made up."""
    return type(found)(found.copy, None, found.updates_s, found.since_s)  # type: ignore[attr-defined,call-arg]


async def test_what_is_not_known_exactly_is_told_as_it_is_known(store: Store, make_copy: Callable[..., Copy]) -> None:
    for hours_ago, version, modified_h in ((9, "a", None), (7, "b", None), (5, "c", 6), (3, "d", 4), (1, "e", None)):
        modified_s = None if modified_h is None else NOW_S - 3600.0 * modified_h
        seen = Fingerprint(body=version, last_modified_s=modified_s)
        await store.learn(Observation(URL, NOW_S - 3600.0 * hours_ago, "", seen))
        if version == "d":
            found = await packed(make_copy(), await store.record(URL), store, with_body=False)
            assert found is not None
            assert (found.updates_s, found.since_s) == ((NOW_S - 14_400.0,), NOW_S - 14_400.0), "others may be before"
    found = await packed(make_copy(), await store.record(URL), store, with_body=False)
    assert found is not None
    assert (found.updates_s, found.since_s) == ((), NOW_S - 3600.0), "for receivers of an earlier version"
    at = {hours_ago: int(NOW_S) - 3600 * hours_ago for hours_ago in (1, 3, 4, 5, 6, 7, 9)}
    assert found.history == (
        f"{at[7]};after={at[9]}, {at[6]};unseen={at[7]}, {at[4]};unseen={at[5]}, {at[1]};after={at[3]};since={at[9]}"
    )


def test_an_earlier_version_reads_what_this_one_sends_and_the_other_way() -> None:
    class Earlier(msgspec.Struct, frozen=True, array_like=True):
        copy: bytes
        body: bytes | None
        updates_s: tuple[float, ...]
        since_s: float | None

    now = Object(b"copy", None, (1.0,), 0.0, "1;after=0;since=0")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(now), type=Earlier) == Earlier(b"copy", None, (1.0,), 0.0)
    (piece,) = pieces(Earlier(b"copy", None, (1.0,), 0.0))  # type: ignore[arg-type]
    assert Assembly(1000).add(piece) == Object(b"copy", None, (1.0,), 0.0)


async def test_a_copy_whose_content_is_gone_is_not_packed(store: Store, make_copy: Callable[..., Copy]) -> None:
    assert await packed(make_copy(body=BodyRef("gone", 4)), None, store, with_body=True) is None
    assert await packed(make_copy(body=BodyRef("gone", 4)), None, store, with_body=False) is not None
