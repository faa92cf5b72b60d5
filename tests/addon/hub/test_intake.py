"""What a channel brings enters the store as a fetched copy does."""

import hashlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.hub import intake as module
from bestbefore.addon.hub.intake import UNFIT, Intake
from bestbefore.addon.hub.packing import packed
from bestbefore.addon.hub.wire.message import MalformedMessageError, Object
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rules import DomainRule, Pattern, Rules
from bestbefore.addon.store.store import Store
from bestbefore.policies.validation.machinery.spec import make_policy
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_300_000.0
URL = "http://example.org/page"
COVERED = ("hub/all", 7)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = await open_memory_store(clock=ManualClock(NOW_S), forget_after_s=1e12)
    yield opened
    await opened.close()


@pytest.fixture
def intake(store: Store) -> Intake:
    policy: Any = make_policy("ttl", {"alpha": 0.1, "max_ttl": "1d"})
    rules = Rules(DomainRule(Pattern.parse("*"), policy))
    return Intake(store, ManualClock(NOW_S), lambda: rules, 1000, lambda target: target.host == "example.org")


@pytest.fixture
def carry(make_copy: Callable[..., Copy], store: Store) -> Callable[..., Any]:
    """Packs a version of the page, as the hub does."""

    async def make(
        version: str = "1", *fields: Any, at_s: float = NOW_S, with_body: bool = True, **known: Any
    ) -> Object:
        body = f"version {version}".encode()
        reference = BodyRef(hashlib.blake2b(body, digest_size=20).hexdigest(), len(body))
        copy = make_copy(version, *fields, at_s=at_s, **({"body": reference} | known))
        found = await packed(copy, None, store, with_body=False)
        assert found is not None
        return Object(found.copy, body if with_body else None, (NOW_S - 900.0, NOW_S - 300.0), NOW_S - 9000.0)

    return make


async def present(store: Store) -> Copy:
    (copy,) = (await store.copies(URL)).copies
    return copy


async def test_copy_and_history_enter_the_store(intake: Intake, store: Store, carry: Callable[..., Any]) -> None:
    assert await intake.take(await carry(), COVERED) == "copy"
    copy, record = await present(store), await store.record(URL)
    assert copy.covered == COVERED
    assert await store.body(copy) == b"version 1"
    assert record is not None
    assert [update.by_s for update in record.updates] == [NOW_S - 900.0, NOW_S - 300.0]
    assert record.since_s == NOW_S - 9000.0
    assert copy.expiry_s is not None  # by the edge's own policy
    assert copy.rule


async def test_what_is_not_known_exactly_arrives_as_it_is_known(
    intake: Intake, store: Store, carry: Callable[..., Any]
) -> None:
    now = int(NOW_S)
    history = f"{now - 900};after={now - 1800}, {now - 300};unseen={now - 600}, {now + 20};since={now - 9000}"
    carried = replace(await carry(at_s=NOW_S + 30.0), history=history)  # by a hub whose clock is ahead
    assert await intake.take(carried, COVERED) == "copy"
    record = await store.record(URL)
    assert record is not None
    assert [(update.after_s, update.by_s) for update in record.updates] == [
        (NOW_S - 1800.0, NOW_S - 900.0), (NOW_S - 300.0, NOW_S - 300.0), (NOW_S + 20.0, NOW_S + 20.0),
    ]  # fmt: skip
    assert record.since_s == NOW_S - 9000.0
    assert record.hidden_s == 300.0


async def test_a_head_renews_the_copy_and_needs_its_content(
    intake: Intake, store: Store, carry: Callable[..., Any]
) -> None:
    assert await intake.take(await carry(with_body=False), COVERED) == "without-content"
    await intake.take(await carry(at_s=NOW_S - 60.0), COVERED)
    assert await intake.take(await carry(with_body=False), ("hub/all", 9)) == "head"
    copy = await present(store)
    assert (copy.response_time_s, copy.covered) == (NOW_S, ("hub/all", 9))
    assert await store.body(copy) == b"version 1"


async def test_a_later_copy_of_the_edge_stays_and_is_covered_only_with_the_same_content(
    intake: Intake, store: Store, carry: Callable[..., Any]
) -> None:
    await intake.take(await carry("2"), COVERED)
    assert await intake.take(await carry("1", at_s=NOW_S - 60.0), ("hub/all", 8)) == "older"
    assert (await present(store)).covered is None
    assert await intake.take(await carry("2", at_s=NOW_S - 30.0), ("hub/all", 9)) == "older"
    assert (await present(store)).covered == ("hub/all", 9)


async def test_what_is_taken_back_is_kept_without_the_mark(
    intake: Intake, store: Store, carry: Callable[..., Any]
) -> None:
    await intake.take(await carry(), COVERED)
    await intake.take_back([URL, "http://example.org/unknown"])
    assert (await present(store)).covered is None


@pytest.mark.parametrize(
    "changes", [{"fetched_with_cookie": True}, {"client": "hash"}, {"personal": "hash"}, {"body": BodyRef("d", 1001)}]
)
async def test_what_is_not_for_all_is_not_stored_even_if_it_is_signed(
    intake: Intake, store: Store, carry: Callable[..., Any], changes: dict[str, Any]
) -> None:
    found = await carry(with_body=False, **changes)
    assert await intake.take(found, COVERED) == UNFIT
    assert (await store.copies(URL)).copies == ()


async def test_other_content_than_the_digest_says_is_malformed(intake: Intake, carry: Callable[..., Any]) -> None:
    good = await carry()
    for wrong in (Object(good.copy, b"other", (), None), Object(b"\xff", None, (), None)):
        with pytest.raises(MalformedMessageError):
            await intake.take(wrong, COVERED)


async def test_what_nobody_here_wants_is_left(
    store: Store, carry: Callable[..., Any], intake: Intake
) -> None:
    intake.is_wanted = lambda target: False
    assert await intake.take(await carry(), COVERED) == "unwanted"
    assert (await store.copies(URL)).copies == ()


async def test_a_feed_is_read_for_its_items(intake: Intake, store: Store, make_copy: Callable[..., Copy]) -> None:
    body = b'<rss version="2.0"><channel><title>t</title><item><guid>1</guid><title>a</title></item></channel></rss>'
    reference = BodyRef(hashlib.blake2b(body, digest_size=20).hexdigest(), len(body))
    copy = make_copy("1", ("Content-Type", "application/rss+xml"), body=reference)
    found = await packed(copy, None, store, with_body=False)
    assert found is not None
    assert await intake.take(Object(found.copy, body, (), None), COVERED) == "copy"
    assert (await present(store)).is_feed
    record = await store.record(URL)
    assert record is not None
    assert record.feed is not None


async def test_what_it_changes_is_known_until_it_is_taken(
    intake: Intake, carry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await intake.take(await carry("1"), COVERED)
    assert intake.take_changed() == (URL,)
    await intake.take(await carry("1"), COVERED)
    await intake.take_back([URL])
    assert intake.take_changed() == (URL,)
    assert intake.take_changed() == ()
    monkeypatch.setattr(module, "CHANGED_KEPT", 1)
    for version in ("2", "3"):
        await intake.take(await carry(version), COVERED)
    assert intake.take_changed() == (None,)
