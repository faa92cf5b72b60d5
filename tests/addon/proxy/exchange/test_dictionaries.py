import random
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import zstandard

from bestbefore.addon.proxy.exchange.dictionaries import DICTIONARY_BYTES, GROWTH, Dictionary, Offer
from bestbefore.addon.proxy.origin.contact import Fetched, OriginError
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

OLD = random.Random(1).randbytes(200_000)
NEW = OLD[:100_000] + b"what is new" + OLD[100_000:]
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


@pytest.fixture
def offer() -> Offer:
    return Offer(Request("GET", Target.parse("https://example.org/a")), Dictionary(OLD))


@pytest.mark.parametrize("size", [1, 39, 40, 41, 1000, 1_000_000])
async def test_content_is_decoded_however_it_is_cut(offer: Offer, size: int) -> None:
    sent = coded(NEW, offer.dictionary)
    assert len(sent) < 500
    decoded = await offer.decoded(Answer(sent, size=size).fetched)
    assert decoded is not None
    assert (decoded.length, decoded.head.fields.names()) == (None, frozenset())
    assert await read(decoded) == NEW
    assert decoded.spared_bytes == len(NEW) - len(sent)


async def test_another_coding_is_passed_on(offer: Offer) -> None:
    answer = Answer(b"hello", "gzip").fetched
    assert await offer.decoded(answer) is answer


@pytest.mark.parametrize("start", [b"", b"short", MAGIC + bytes(32), b"\x00" + MAGIC[1:]])
async def test_content_coded_with_another_dictionary_is_fetched_again(offer: Offer, start: bytes) -> None:
    answer = Answer(start)
    assert await offer.decoded(answer.fetched) is None
    assert answer.closed


@pytest.mark.parametrize("damage", [slice(0, -1), slice(0, 45), slice(0, 40)])
async def test_truncated_content_is_an_error(offer: Offer, damage: slice) -> None:
    with pytest.raises(OriginError):
        await read(await offer.decoded(Answer(coded(NEW, offer.dictionary)[damage]).fetched))


async def test_garbage_and_more_than_the_content_are_errors(offer: Offer) -> None:
    whole = coded(NEW, offer.dictionary)
    for content in (whole[:40] + b"garbage" * 9, whole + b"more"):
        with pytest.raises(OriginError):
            await read(await offer.decoded(Answer(content).fetched))


async def test_a_bomb_ends_at_the_limit(offer: Offer) -> None:
    bomb = coded(bytes(GROWTH * DICTIONARY_BYTES + 1), offer.dictionary)
    assert len(bomb) < 10_000
    decoded = await offer.decoded(Answer(bomb).fetched)
    with pytest.raises(OriginError, match="too long"):
        await read(decoded)
    assert decoded is not None
    assert decoded.spared_bytes <= GROWTH * DICTIONARY_BYTES


async def test_a_window_larger_than_the_rfc_allows_is_an_error(offer: Offer) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, compression_level=3)
    raw = zstandard.ZstdCompressionDict(OLD, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    compressor = zstandard.ZstdCompressor(dict_data=raw, compression_params=parameters).compressobj()
    content = compressor.compress(random.Random(2).randbytes(1000)) + compressor.flush()
    with pytest.raises(OriginError):
        await read(await offer.decoded(Answer(MAGIC + offer.dictionary.digest + content).fetched))
