"""The listener for hubs, over real connections."""

import asyncio
import gzip
import hmac

import pytest

from bestbefore.addon.engine.signals.subscription import PushProof
from bestbefore.addon.proxy.start_error import StartError
from bestbefore.addon.websub import listener
from bestbefore.addon.websub.listener import HubListener


class Known:
    """One subscription."""

    def __init__(self):
        self.pushes = []

    async def secret_of(self, path):
        return "secret" if path == "known" else None

    async def verify(self, path, query):
        return query.get("hub.challenge")

    async def pushed(self, path, proof):
        self.pushes.append((path, proof))


async def say(port, request):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


def request(line, body=b"", *lines):
    lines = (f"{line} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(body)}", *lines, "", "")
    return "\r\n".join(lines).encode() + body


@pytest.fixture
async def known():
    callbacks = Known()
    callbacks.listener = await HubListener.start("127.0.0.1", 0, callbacks)
    yield callbacks
    await callbacks.listener.close()


async def test_it_answers_at_its_paths_and_nowhere_else(known) -> None:
    port = known.listener.port
    answer = await say(port, request("GET /any/prefix/known?hub.challenge=a%20b"))
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"a b")
    for line in ("GET /", "GET /other", "POST /other", "GET /known?x=1", "GET /metrics", "GET /known/"):
        answer = await say(port, request(line))
        assert answer.startswith(b"HTTP/1.1 404"), line
    assert (await say(port, request("PUT /known"))).startswith(b"HTTP/1.1 405")
    assert b"aiohttp" not in answer
    assert known.pushes == []


async def test_a_push_is_taken_with_what_its_signature_proves(known) -> None:
    port = known.listener.port
    signature = "X-Hub-Signature: sha256=b4a2dd2a3b8a3bdbd2c7ee3ad2b9b1a0"
    assert (await say(port, request("POST /known", b"x"))).startswith(b"HTTP/1.1 202")
    assert (await say(port, request("POST /known", b"x", signature))).startswith(b"HTTP/1.1 202")
    assert known.pushes == [("known", PushProof.UNSIGNED), ("known", PushProof.FORGED)]


async def test_a_signature_is_of_content_as_it_is_sent(known) -> None:
    """Some hubs compress it, others send the Content-Encoding of what they have decoded."""
    for content in (gzip.compress(b"x"), b"not compressed"):
        signature = f"X-Hub-Signature: sha256={hmac.new(b'secret', content, 'sha256').hexdigest()}"
        coding = "Content-Encoding: gzip"
        answer = await say(known.listener.port, request("POST /known", content, signature, coding))
        assert answer.startswith(b"HTTP/1.1 202")
    assert known.pushes == [("known", PushProof.SIGNED)] * 2


async def test_size_and_number_are_bounded(known, monkeypatch) -> None:
    monkeypatch.setattr(listener, "MOST_BYTES", 1000)
    monkeypatch.setattr(listener, "MOST_CONNECTIONS", 1)
    port = known.listener.port
    assert (await say(port, request("POST /known", b"x" * 2000))).startswith(b"HTTP/1.1 413")
    assert known.pushes == []
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(100):
        if await say(port, b"") == b"":
            break
    writer.close()


async def test_an_address_in_use_is_said(known) -> None:
    with pytest.raises(StartError, match="the port is in use"):
        await HubListener.start("127.0.0.1", known.listener.port, known)
