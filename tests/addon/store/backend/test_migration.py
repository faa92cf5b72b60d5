"""A store whose copies were tagged by domain, as schema 1 did. (What is read of it then: test_opening_earlier.)"""

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import UnavailableError
from bestbefore.addon.store.backend.keys import Keys
from bestbefore.addon.store.backend.redis import RedisBackend

URL, OTHER = "http://www.example.org/a", "http://www.example.org/b"


def backend_of(url):
    return RedisBackend(
        Connection(url), Keys(registrable_domain), RealClock(), clock_mark="real", forget_after_s=1e6
    )


def write_earlier(client, schema="1"):
    client.hset("bb:store", mapping={"schema": schema, "clock": "real"})
    for url in (URL, OTHER):
        for kind in ("copies", "bodies"):
            key = f"bb1:{{example.org}}:{kind}:{url}"
            client.hset(key, "a", f"old {kind}")
            client.pexpire(key, 100_000)
    client.hset(f"bb1:{{example.org}}:record:{URL}", "v", "1")


async def opened(url):
    backend = backend_of(url)
    try:
        await backend.connect(lambda _: None, lambda _: None)
    finally:
        await backend.close()


async def test_copies_keep_content_and_lifetime_under_their_new_names(valkey):
    with valkey.client as client:
        write_earlier(client)
        await opened(valkey.url)
        assert {key.decode() for key in client.keys("bb1:*")} == {
            f"bb1:{{example.org}}:record:{URL}",
            *(f"bb1:{kind}:{{{url}}}" for url in (URL, OTHER) for kind in ("copies", "bodies")),
        }
        assert client.hget(f"bb1:copies:{{{URL}}}", "a") == b"old copies"
        assert 0 < client.pttl(f"bb1:bodies:{{{URL}}}") <= 100_000
        assert client.hget("bb:store", "schema") == b"2"


async def test_what_was_stored_meanwhile_stays(valkey):
    with valkey.client as client:
        write_earlier(client)
        client.hset(f"bb1:copies:{{{URL}}}", "a", "new")
        await opened(valkey.url)
        assert client.hget(f"bb1:copies:{{{URL}}}", "a") == b"new"
        assert client.keys("bb1:{example.org}:copies:*") == []


async def test_what_was_interrupted_is_done_at_the_next_opening(valkey):
    with valkey.client as client:
        write_earlier(client)
        client.rename(f"bb1:{{example.org}}:bodies:{URL}", f"bb1:bodies:{{{URL}}}")
        await opened(valkey.url)
        assert len(client.keys("bb1:bodies:*")) == 2


async def test_a_store_of_the_present_schema_is_not_looked_through(valkey):
    with valkey.client as client:
        write_earlier(client, schema="2")
        await opened(valkey.url)
        assert len(client.keys("bb1:{example.org}:*")) == 5


async def test_a_server_that_refuses_to_write_is_tried_again_later(valkey):
    with valkey.client as client:
        write_earlier(client)
        client.config_set("min-replicas-to-write", 1)
        try:
            with pytest.raises(UnavailableError):
                await opened(valkey.url)
        finally:
            client.config_set("min-replicas-to-write", 0)
        assert client.hget("bb:store", "schema") == b"1"
