"""What of a copy crosses the channel."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.channel.publication import Unpublished
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.piggyback import AT_MOST
from bestbefore.addon.hub.packing import packed, unpacked, why_not_sent
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
        await store.learn(Observation(URL, NOW_S - 10_000.0 + 10.0 * n, "", Fingerprint(body=str(n))))
    copy = replace(make_copy(), covered=("other/all", 3)).with_verdict(NOW_S + 9.0, "indttl", "key")
    store.put(copy, b"content")
    found = await packed(copy, await store.record(URL), store, with_body=True)
    assert found is not None
    assert found.body == b"content"
    assert len(found.updates_s) == AT_MOST
    assert found.since_s == found.updates_s[0]
    assert unpacked(replace_body(found)) == replace(make_copy(), covered=None)


def replace_body(found: object) -> object:
    """Without the content, whose digest is made up."""
    return type(found)(found.copy, None, found.updates_s, found.since_s)  # type: ignore[attr-defined,call-arg]


async def test_a_copy_whose_content_is_gone_is_not_packed(store: Store, make_copy: Callable[..., Copy]) -> None:
    assert await packed(make_copy(body=BodyRef("gone", 4)), None, store, with_body=True) is None
    assert await packed(make_copy(body=BodyRef("gone", 4)), None, store, with_body=False) is not None
