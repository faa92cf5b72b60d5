"""The rest of shared content, from a contact of a client's own."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.request import Ask
from bestbefore.addon.proxy.access.reach import EVERYWHERE
from bestbefore.addon.proxy.exchange.background import BackgroundTasks
from bestbefore.addon.proxy.exchange.context import Contact, RequestContext
from bestbefore.addon.proxy.exchange.sharing.rest_reader import RestReader
from bestbefore.addon.proxy.origin.contact import Fetched
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

ETAG = ("ETag", '"1"')
NOW_S = 1_706_300_000.0
CONTENT = b"0123456789"


class Origin:
    """Answers with a head and pieces of content."""

    def __init__(self, head: Head, *pieces: bytes) -> None:
        self.head, self.pieces = head, pieces
        self.request: Request | None = None
        self.closed = 0

    async def fetch(self, request: Request, **_: Any) -> Fetched:
        self.request = request
        return Fetched(self.head, NOW_S, NOW_S, self._content(), None, self._close)

    async def _content(self) -> AsyncGenerator[bytes]:
        for piece in self.pieces:
            yield piece

    def _close(self) -> None:
        self.closed += 1


def rest_from(origin: Origin, *fields: tuple[str, str]) -> RestReader:
    request = Request("GET", Target.parse("http://a/"), Fields())
    context = RequestContext.of(request, "127.0.0.1", EVERYWHERE, 0.0, NOW_S)
    rule = load_config(None).rules.rule_for(request.target.host, request.target.path)
    contact = Contact(context, Ask(request, request, Fwd.URI_MISS, ""), rule, BackgroundTasks())
    return RestReader(origin, contact, Head(200, Fields(fields)))


async def test_the_rest_is_a_range_or_the_whole_without_its_start() -> None:
    part = Head(206, Fields([ETAG, ("Content-Range", "bytes 4-9/10")]))
    whole = Head(200, Fields([ETAG]))
    for origin in (Origin(part, CONTENT[4:7], CONTENT[7:]), Origin(whole, CONTENT[:3], CONTENT[3:7], CONTENT[7:])):
        rest = rest_from(origin, ETAG)
        assert b"".join([chunk async for chunk in rest.read(4)]) == CONTENT[4:]
        assert origin.request is not None
        assert origin.request.fields.get("range") == "bytes=4-"
        assert origin.closed == 1
        record = rest.contact.context.record
        assert record.contact
        assert record.received_bytes == sum(map(len, origin.pieces))


async def test_the_rest_of_another_version_is_none() -> None:
    origin = Origin(Head(200, Fields([("ETag", '"2"')])), CONTENT)
    with pytest.raises(ConnectionError, match="has changed"):
        await anext(rest_from(origin, ETAG).read(4))
    assert origin.closed == 1


async def test_without_a_validator_the_origin_is_not_asked() -> None:
    origin = Origin(Head(200, Fields()), CONTENT)
    with pytest.raises(ConnectionError, match="too slowly"):
        await anext(rest_from(origin).read(4))
    assert origin.request is None
