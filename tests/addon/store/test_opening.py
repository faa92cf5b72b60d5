"""From what the user says to an open store, or to one plain line."""

import pytest

from bestbefore.addon.store.backend.interface import StoreInputError, UnavailableError
from tests.addon.store.waiting import until

URL = "http://www.example.org/a"


@pytest.mark.parametrize("where", ["", "embeded", "redis://", "http://localhost:6379"])
async def test_what_is_no_store_is_the_users_mistake(open_a_store, where):
    with pytest.raises(StoreInputError, match="expected `embedded`, redis://"):
        await open_a_store(where)


async def test_a_server_that_is_not_there_is_not_waited_for(open_a_store, logged):
    store = await open_a_store("unix:///nowhere/redis.sock")
    assert store.status().down
    with pytest.raises(UnavailableError):
        _ = [url async for url in store.urls()]
    assert await store.group("g", lambda host: True)
    assert await store.top(3) == []
    assert len(logged()) == 1


async def test_a_store_that_was_refused_leaves_nothing_open(open_a_store, valkey):
    with valkey.client as client:
        client.hset("bb:store", mapping={"schema": 1, "clock": "accelerated"})
        before = len(client.client_list())
        for _ in range(3):
            with pytest.raises(StoreInputError):
                await open_a_store(valkey.url)
        await until(lambda: len(client.client_list()) == before)


async def test_an_embedded_store_marked_otherwise_is_refused_and_its_server_stopped(open_a_store, tmp_path):
    store = await open_a_store("embedded", state=tmp_path)
    await store.close()
    with pytest.raises(StoreInputError, match="BESTBEFORE_CLOCK"):
        await open_a_store("embedded", state=tmp_path, clock_mark="accelerated")
    await open_a_store("embedded", state=tmp_path)


async def test_marks_that_are_not_text_are_written_again(open_a_store, valkey):
    with valkey.client as client:
        client.hset("bb:store", mapping={"schema": b"\xff\x00", "clock": b"\x01"})
        store = await open_a_store(valkey.url)
        assert client.hgetall("bb:store") == {b"schema": b"3", b"clock": b"real"}
    assert dict(store.status().corrupt_entries) == {"value": 2}


async def test_a_store_of_another_kind_of_clock_is_refused(open_a_store, valkey):
    await open_a_store(valkey.url)
    with pytest.raises(StoreInputError, match="the clock 'real'"):
        await open_a_store(valkey.url, clock_mark="accelerated")


async def test_a_newer_store_is_refused_before_anything_is_written(open_a_store, valkey):
    with valkey.client as client:
        client.hset("bb:store", mapping={"schema": 4, "clock": "real"})
        with pytest.raises(StoreInputError, match="written by a newer bestbefore"):
            await open_a_store(valkey.url)
        assert client.dbsize() == 1


async def test_one_that_turns_out_newer_when_it_is_back_is_not_used(start_valkey, open_a_store, observe, logged):
    server = start_valkey()
    server.kill()
    store = await open_a_store(server.url)
    await store.learn(observe(URL, 1000, "a"))
    server.start()
    with server.client as client:
        client.hset("bb:store", "schema", 4)
        await until(lambda: "unusable" in store.status().conditions)
        assert client.dbsize() == 1
    assert store.status().down
    assert len([message for message in logged() if "newer" in message]) == 1
    server.kill()


async def test_a_closed_store_has_written_what_was_learnt(open_a_store, valkey, observe):
    store = await open_a_store(valkey.url)
    await store.learn(observe(URL, 1000, "a"))
    await store.close()
    again = await open_a_store(valkey.url)
    assert (await again.record(URL)).since_s == 1000
