"""What of a URL and of a server is the user's mistake, and what is only a server that is away."""

import asyncio

import pytest
import redis.exceptions as errors

from bestbefore.addon.store.backend.connection import Connection, as_store_error
from bestbefore.addon.store.backend.connections.addresses import parse_address
from bestbefore.addon.store.backend.connections.node import CONNECTIONS
from bestbefore.addon.store.backend.interface import (
    BusyError,
    FullError,
    StoreInputError,
    UnavailableError,
    UnwritableError,
)
from tests.addon.store.waiting import PATIENCE_S, until


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "expected"),
        ("embeded", "expected"),
        ("http://localhost", "expected"),
        ("redis:/x", "expected"),
        ("redis://", "no host"),
        ("redis://localhost:abc", "'abc'"),
        ("redis://localhost:99999", "out of range"),
        ("redis://localhost/notanumber", "'notanumber' is not a database number"),
        ("redis://localhost?foo=bar", "'foo'"),
        ("redis://localhost?db=x", "'db'"),
        ("redis://localhost?protocol=33", "either 2 or 3"),
        ("redis://[::1", "IPv6"),
        ("unix://", "no path"),
    ],
)
def test_a_url_that_cannot_be_one_of_a_redis_is_the_users_mistake(url, says):
    with pytest.raises(StoreInputError) as caught:
        parse_address(url)
    assert says in str(caught.value)
    assert "expected `embedded`, redis://" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["redis://localhost", "redis://:pw@[::1]:6380/3", "rediss://u:p@h/?ssl_cert_reqs=none", "unix:///tmp/a%20b.sock?db=1"],
)
def test_a_url_of_a_redis_is_taken(url):
    assert parse_address(url).urls == (url,)


def test_no_message_shows_a_password():
    with pytest.raises(StoreInputError) as caught:
        parse_address("redis://user:secret@host:port/")
    assert "secret" not in str(caught.value)
    assert "user:***@host" in str(caught.value)
    assert "secret" not in Connection("redis://user:secret@host/").shown


async def opened(url):
    connection = Connection(url)
    try:
        await connection.open()
    finally:
        await connection.close()


@pytest.mark.parametrize(
    ("user", "says"),
    [("", "asks for a password"), (":wrong@", "refuses the password"), ("joe:pw@", "refuses the password")],
)
async def test_a_refused_password_is_the_users_mistake(start_valkey, user, says):
    server = start_valkey("--requirepass", "pw")
    with pytest.raises(StoreInputError, match=says):
        await opened(server.url.replace("//", f"//{user}"))
    await opened(server.url.replace("//", "//:pw@"))
    server.kill()


async def test_a_database_that_is_not_there_is_the_users_mistake(valkey):
    with pytest.raises(StoreInputError, match="no such database"):
        await opened(valkey.url + "/99")


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9\r\n", b"ERROR\r\n"],
    ids=["http", "ssh", "memcached"],
)
async def test_a_server_that_is_no_redis_is_the_users_mistake(answer):
    async def talk(reader, writer):
        await reader.read(1)
        writer.write(answer)
        await reader.read()
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(StoreInputError, match="no Redis or Valkey"):
            await opened(f"redis://127.0.0.1:{port}")


async def test_a_server_that_is_not_there_is_away():
    with pytest.raises(UnavailableError):
        await opened("unix:///nowhere/redis.sock")
    with pytest.raises(UnavailableError):
        await opened("redis://127.0.0.1:1")


async def test_a_server_that_says_nothing_for_longer_than_we_are_patient_is_away():
    async def listen(reader, writer):
        await reader.read()
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
        connection = Connection(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}", patience_s=0.05)
        with pytest.raises(UnavailableError):
            await connection.open()
        await connection.close()


async def test_a_server_without_a_free_connection_to_it_is_not_away(valkey):
    connection = Connection(valkey.url, patience_s=1.5)
    await connection.open()
    pool = connection._server.client.connection_pool
    taken = [await pool.get_connection() for _ in range(CONNECTIONS)]
    for asked in (connection.ask("PING"), connection.answers([("PING",)])):
        with pytest.raises(BusyError):
            await asked
    for one in taken:
        await pool.release(one)
    assert await connection.ask("PING")
    await connection.close()


async def test_the_server_knows_us_by_name(valkey):
    connection = Connection(valkey.url, name="proxy-1")
    await connection.open()
    with valkey.client as client:
        assert "proxy-1" in {c["name"] for c in client.client_list()}
    await connection.close()


@pytest.mark.parametrize(
    ("error", "means"),
    [
        (errors.ConnectionError("gone"), UnavailableError),
        (errors.TimeoutError("slow"), UnavailableError),
        (errors.BusyLoadingError("loading"), UnavailableError),
        (OSError("broken"), UnavailableError),
        (errors.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), FullError),
        (errors.ResponseError("Error running script: @user_script:5: -OOM command not allowed"), FullError),
        (errors.ResponseError("MISCONF Errors writing to the AOF file: No space left on device"), UnwritableError),
        (errors.ReadOnlyError("You can't write against a read only replica."), UnwritableError),
        (errors.NoPermissionError("this user has no permissions"), UnwritableError),
        (errors.ResponseError("ACL failure in script: User a has no permissions to run 'set'"), UnwritableError),
    ],
)
def test_each_error_of_the_client_means_one_to_the_store(error, means):
    assert type(as_store_error(error)) is means


async def test_a_script_that_finds_no_memory_is_a_full_store(start_valkey):
    server = start_valkey("--maxmemory", "1mb", "--maxmemory-policy", "noeviction")
    connection = Connection(server.url)
    await connection.open()
    with pytest.raises(FullError):
        await connection.answers([("EVAL", "redis.call('SET', KEYS[1], ARGV[1])", 1, "k", bytes(1_000_000))] * 2)
    await connection.close()
    server.kill()


@pytest.mark.parametrize(
    ("settings", "warns_of"),
    [
        (["--maxmemory-policy", "allkeys-lru"], ["allkeys-lru may evict histories", "keeps nothing on disk"]),
        (["--maxmemory-policy", "volatile-lru", "--appendonly", "yes"], []),
        (["--save", "60 1"], []),
    ],
)
async def test_settings_that_lose_histories_are_warned_of(start_valkey, settings, warns_of):
    server = start_valkey(*settings)
    connection = Connection(server.url)
    await connection.open()
    warnings = await connection.warnings()
    assert len(warnings) == len(warns_of)
    assert all(text in warning for text, warning in zip(warns_of, warnings, strict=True))
    await connection.close()
    server.kill()


async def test_a_user_that_may_not_ask_for_the_settings_is_served(valkey):
    with valkey.client as client:
        client.execute_command("ACL", "SETUSER", "few", "on", ">pw", "+@all", "-info", "-config", "~*", "&*")
    connection = Connection(valkey.url.replace("//", "//few:pw@"))
    await connection.open()
    assert (connection.info, await connection.warnings()) == ({}, [])
    await connection.close()


async def test_published_messages_arrive_until_the_server_ends(start_valkey):
    server = start_valkey()
    received, gone = asyncio.Queue(), asyncio.Queue()
    connection = Connection(server.url)
    await connection.open()
    await connection.listen({"here": received.put_nowait}, gone.put_nowait)
    with server.client as client:
        client.publish("elsewhere", "no")
        client.publish("here", "yes")
    assert await asyncio.wait_for(received.get(), PATIENCE_S) == b"yes"
    server.kill()
    assert isinstance(await asyncio.wait_for(gone.get(), PATIENCE_S), UnavailableError)
    await connection.close()


@pytest.mark.parametrize("kind", ["valkey", "cluster"])
async def test_nothing_that_is_under_way_when_it_is_closed_leaves_a_connection_open(kind, request):
    nodes = [request.getfixturevalue("valkey")] if kind == "valkey" else request.getfixturevalue("cluster")
    for steps in (1, 3, 4, 6):  # of the event loop, of which connecting takes several
        connection = Connection(nodes[0].url, name="closed")
        await connection.open()
        asked = [asyncio.create_task(connection.ask("GET", "x")) for _ in range(3)]
        for _ in range(steps):
            await asyncio.sleep(0)
        await connection.close()
        await asyncio.gather(*asked, return_exceptions=True)
        for node in nodes:
            with node.client as client:
                await until(lambda client=client: "closed" not in {c["name"] for c in client.client_list()})


async def test_a_connection_that_was_closed_is_away(valkey):
    connection = Connection(valkey.url)
    with pytest.raises(UnavailableError):
        await connection.ask("PING")


async def test_a_connection_that_does_not_close_in_time_is_given_up(valkey, monkeypatch):
    connection = Connection(valkey.url)
    await connection.open()
    close = connection._server.client.aclose

    async def time_out():
        await close()
        raise errors.TimeoutError("Timed out closing connection after 0.5")

    monkeypatch.setattr(connection._server.client, "aclose", time_out)
    await connection.open()
    assert await connection.ask("PING")
    await connection.close()


async def test_a_command_whose_connection_is_closed_under_it_finds_the_store_away(valkey, monkeypatch):
    """Python 3.13.0's transports say so by a TypeError."""
    connection = Connection(valkey.url)
    await connection.open()

    async def closed(*_):
        raise TypeError("'NoneType' object is not callable")

    monkeypatch.setattr(connection._server._held, "answers", closed)
    with pytest.raises(UnavailableError):
        await connection.ask("PING")
    await connection.close()
