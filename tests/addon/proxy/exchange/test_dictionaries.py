import gc
import gzip
import hashlib
import random
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
import zstandard

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.request import Ask
from bestbefore.addon.proxy.access.reach import BEYOND_THIS_MACHINE, EVERYWHERE, LOOPBACK, Reach
from bestbefore.addon.proxy.exchange import dictionaries as module
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.dictionaries import DICTIONARY_BYTES, GROWTH, Dictionaries, Dictionary, Offer
from bestbefore.addon.proxy.exchange.stored import StoredContent
from bestbefore.addon.proxy.origin.contact import Fetched, OriginError
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.store.store import Store
from tests.addon.store.memory_backend import open_memory_store

OLD = random.Random(1).randbytes(200_000)
NEW = OLD[:100_000] + b"what is new" + OLD[100_000:]
NOW_S = 1_706_745_600.0
URL = "https://www.example.org/app/v1/main.js"
NEXT = "https://www.example.org/app/v2/main.js"
MAGIC = bytes.fromhex("5e2a4d1820000000")


def coded(content: bytes, dictionary: Dictionary, **how: Any) -> bytes:
    raw = zstandard.ZstdCompressionDict(dictionary.content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    return MAGIC + dictionary.digest + zstandard.ZstdCompressor(19, dict_data=raw, **how).compress(content)


class Answer:
    """A response whose content comes in pieces of a size."""

    def __init__(self, content: bytes, encoding: str = "dcz", size: int = 1000) -> None:
        self.closed = False

        async def chunks() -> AsyncGenerator[bytes]:
            for at in range(0, len(content), size):
                yield content[at : at + size]

        head = Head(200, Fields([("Content-Encoding", encoding), ("Content-Length", str(len(content)))]))
        self.fetched = Fetched(head, 0.0, 0.0, chunks(), len(content), self.close)

    def close(self) -> None:
        self.closed = True


async def read(fetched: Fetched | None) -> bytes:
    assert fetched is not None
    return b"".join([chunk async for chunk in fetched.chunks])


class Taking:
    """An offer, and the dictionaries that decode what comes of it."""

    def __init__(self, dictionaries: Dictionaries, offer: Offer) -> None:
        self.dictionary = Dictionary(OLD)
        self.offer, self._dictionaries = offer, dictionaries

    async def decoded(self, fetched: Fetched) -> Fetched | None:
        return await self._dictionaries.decoded(self.offer, fetched)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = await open_memory_store(clock=ManualClock(NOW_S))
    yield made
    await made.close()


@pytest.fixture
def dictionaries(store: Store) -> Dictionaries:
    return Dictionaries(store, StoredContent(store, Budget()))


def keep(
    store: Store, url: str = URL, content: bytes = OLD, match: str = "/*", received_s: float = NOW_S,
    encoding: str | None = None, **more: Any,
) -> Copy:
    fields = [("Date", format_http_date(NOW_S)), ("ETag", '"1"'), ("Use-As-Dictionary", f'match="{match}", id="{url}"')]
    fields += [] if encoding is None else [("Content-Encoding", encoding)]
    body = BodyRef(hashlib.sha256(content).hexdigest(), len(content))
    copy = Copy(url, Head(200, Fields(fields)), body, received_s, received_s, received_s, received_s, **more)
    store.put(copy, content)
    return copy


def asking(url: str = URL, *fields: tuple[str, str]) -> Ask:
    request = Request("GET", Target.parse(url), Fields(fields))
    return Ask(request, request, Fwd.URI_MISS, "")


async def offered(dictionaries: Dictionaries, ask: Ask, reach: Reach = EVERYWHERE) -> str | None:
    """The URL of the copy that is offered."""
    offer = await dictionaries.offer(ask, reach, NOW_S)
    return None if offer is None else offer.copy.url


@pytest.fixture
async def offer(store: Store, dictionaries: Dictionaries) -> Taking:
    keep(store)
    made = await dictionaries.offer(asking(), EVERYWHERE, NOW_S)
    assert made is not None
    return Taking(dictionaries, made)


@pytest.mark.parametrize("size", [1, 39, 40, 41, 1000, 1_000_000])
async def test_content_is_decoded_however_it_is_cut(offer: Taking, size: int) -> None:
    sent = coded(NEW, offer.dictionary)
    assert len(sent) < 500
    decoded = await offer.decoded(Answer(sent, size=size).fetched)
    assert decoded is not None
    assert (decoded.length, decoded.head.fields.names()) == (None, frozenset())
    assert await read(decoded) == NEW
    assert decoded.spared_bytes == len(NEW) - len(sent)


async def test_another_coding_is_passed_on(offer: Taking) -> None:
    answer = Answer(b"hello", "gzip").fetched
    assert await offer.decoded(answer) is answer


@pytest.mark.parametrize("threads", [0, 1 << 30])
@pytest.mark.parametrize("size", [40, 1_000_000])
async def test_content_is_coded_again_if_its_dictionary_was_coded_and_the_client_accepts_it(
    store: Store, dictionaries: Dictionaries, size: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "THREAD_FROM_BYTES", threads)
    keep(store, content=gzip.compress(OLD), encoding="gzip")
    offer = await dictionaries.offer(asking(NEXT, ("Accept-Encoding", "gzip, br")), EVERYWHERE, NOW_S)
    assert offer is not None
    sent = coded(NEW, Dictionary(OLD))
    decoded = await dictionaries.decoded(offer, Answer(sent, size=size).fetched)
    assert decoded is not None
    assert (decoded.length, decoded.head.fields.get("content-encoding")) == (None, "gzip")
    content = await read(decoded)
    assert gzip.decompress(content) == NEW
    assert decoded.spared_bytes == len(content) - len(sent)
    plain = await dictionaries.offer(asking(NEXT, ("Accept-Encoding", "br")), EVERYWHERE, NOW_S)
    assert plain is not None
    assert await read(await dictionaries.decoded(plain, Answer(sent, size=size).fetched)) == NEW


@pytest.mark.parametrize("start", [b"", b"short", MAGIC + bytes(32), b"\x00" + MAGIC[1:]])
async def test_content_coded_with_another_dictionary_is_fetched_again(offer: Taking, start: bytes) -> None:
    answer = Answer(start)
    assert await offer.decoded(answer.fetched) is None
    assert answer.closed


@pytest.mark.parametrize("damage", [slice(0, -1), slice(0, 45), slice(0, 40)])
async def test_truncated_content_is_an_error(offer: Taking, damage: slice) -> None:
    with pytest.raises(OriginError):
        await read(await offer.decoded(Answer(coded(NEW, offer.dictionary)[damage]).fetched))


async def test_garbage_and_more_than_the_content_are_errors(offer: Taking) -> None:
    whole = coded(NEW, offer.dictionary)
    for content in (whole[:40] + b"garbage" * 9, whole + b"more"):
        with pytest.raises(OriginError):
            await read(await offer.decoded(Answer(content).fetched))


async def test_a_bomb_ends_at_the_limit(offer: Taking) -> None:
    bomb = coded(bytes(GROWTH * DICTIONARY_BYTES + 1), offer.dictionary)
    assert len(bomb) < 10_000
    decoded = await offer.decoded(Answer(bomb).fetched)
    with pytest.raises(OriginError, match="too long"):
        await read(decoded)
    assert decoded is not None
    assert decoded.spared_bytes <= GROWTH * DICTIONARY_BYTES


async def test_a_window_larger_than_the_rfc_allows_is_an_error(offer: Taking) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, compression_level=3)
    raw = zstandard.ZstdCompressionDict(OLD, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    compressor = zstandard.ZstdCompressor(dict_data=raw, compression_params=parameters).compressobj()
    content = compressor.compress(random.Random(2).randbytes(1000)) + compressor.flush()
    with pytest.raises(OriginError):
        await read(await offer.decoded(Answer(MAGIC + offer.dictionary.digest + content).fetched))


async def test_a_copy_is_offered_for_what_its_pattern_matches(store: Store, dictionaries: Dictionaries) -> None:
    keep(store, match="/app/*/main.js")
    offer = await dictionaries.offer(asking(NEXT), EVERYWHERE, NOW_S)
    assert offer is not None
    fields = offer.request.fields
    assert fields.get("dictionary-id") == f'"{URL}"'
    assert offer.digest == hashlib.sha256(OLD).digest()
    others = (NEXT.replace("main", "other"), NEXT.replace("www.", ""), NEXT.replace("https", "http"))
    assert [await offered(dictionaries, asking(url)) for url in others] == [None] * 3
    assert await offered(dictionaries, asking(NEXT, ("Cookie", "a=b"))) is None


async def test_the_longest_pattern_is_preferred_and_then_the_latest_copy(
    store: Store, dictionaries: Dictionaries
) -> None:
    general, early, late = (f"https://www.example.org/{name}" for name in ("all", "app/early", "app/late"))
    keep(store, general, b"general", "/*", NOW_S)
    for url, received_s in ((late, NOW_S - 10), (early, NOW_S - 20)):
        keep(store, url, url.encode(), "/app/*", received_s)
    assert await offered(dictionaries, asking(NEXT)) == late
    store.drop(late)
    assert await offered(dictionaries, asking(NEXT)) == early
    store.drop(early)
    assert await offered(dictionaries, asking(NEXT)) == general
    store.drop(general)
    assert await offered(dictionaries, asking(NEXT)) is None


@pytest.mark.parametrize(
    "known", [{"client": "a"}, {"personal": "a"}, {"fetched_with_cookie": True}, {"fetched_with_authorization": True}]
)
async def test_what_is_not_for_any_client_is_never_offered(
    store: Store, dictionaries: Dictionaries, known: dict[str, Any]
) -> None:
    keep(store, **known)
    assert await offered(dictionaries, asking(NEXT)) is None


@pytest.mark.parametrize(
    ("known", "reach", "usable"),
    [
        ({"local": True}, EVERYWHERE, True),
        ({"local": True}, BEYOND_THIS_MACHINE, False),
        ({"range": LOOPBACK}, BEYOND_THIS_MACHINE, False),
        ({"range": "10.0.0.0/8"}, BEYOND_THIS_MACHINE, True),
        ({"range": "10.0.0.0/8"}, Reach(frozenset()), False),
    ],
)
async def test_what_the_client_may_not_reach_is_not_offered(
    store: Store, dictionaries: Dictionaries, known: dict[str, Any], reach: Reach, usable: bool
) -> None:
    keep(store, **known)
    assert (await offered(dictionaries, asking(NEXT), reach) is not None) is usable


async def test_empty_and_large_content_is_no_dictionary(
    store: Store, dictionaries: Dictionaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(store, content=b"")
    assert await offered(dictionaries, asking(NEXT)) is None
    monkeypatch.setattr(module, "DICTIONARY_BYTES", 10)
    keep(store, content=b"hello hello")
    assert await offered(dictionaries, asking(NEXT)) is None
    keep(store, content=b"hello")
    assert await offered(dictionaries, asking(NEXT)) == URL


async def test_content_whose_dictionary_has_gone_is_fetched_again(
    offer: Taking, store: Store, dictionaries: Dictionaries
) -> None:
    await store.flush()
    store._copies._hot.clear()
    backend: Any = store._link.backend
    backend._kept[URL].bodies.clear()  # as a full server does
    answer = Answer(coded(NEW, offer.dictionary))
    assert await offer.decoded(answer.fetched) is None
    assert answer.closed
    assert await offered(dictionaries, asking()) is None, "and not offered again"


async def test_only_so_many_dictionaries_are_in_use(
    offer: Taking, dictionaries: Dictionaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_CONCURRENT", 1)
    first = await offer.decoded(Answer(coded(NEW, offer.dictionary)).fetched)
    assert first is not None
    assert await offered(dictionaries, asking()) is None
    assert await offer.decoded(Answer(coded(NEW, offer.dictionary)).fetched) is None
    assert await read(first) == NEW
    del first
    gc.collect()
    assert await offered(dictionaries, asking()) == URL
