"""A service that sentinels know: its primary is found, and after its end the replica that was promoted."""

import asyncio
import time
from contextlib import suppress

import pytest

from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import StoreInputError, UnavailableError
from bestbefore.addon.store.server.embedded import server_binary


@pytest.fixture
def start_sentinel(start_process, tmp_path, free_port):
    def start(primary, *settings_of_users):
        port, settings = free_port(), tmp_path / "sentinel.conf"
        settings.write_text(
            f"port {port}\nbind 127.0.0.1\nsentinel monitor main 127.0.0.1 {primary.port} 1\n"
            "sentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 2000\n"
            + "\n".join(settings_of_users)
        )
        start_process([server_binary(), str(settings), "--sentinel"], cwd=tmp_path, stdout=-3)
        return port

    return start


async def test_sentinels_ask_for_a_user_of_their_own(valkey, start_sentinel):
    few = "user asker on >se@cret resetkeys resetchannels -@all +auth +hello +client|setinfo +sentinel|masters"
    port = start_sentinel(valkey, few, "user default off")
    url = f"redis+sentinel://127.0.0.1:{port}/main?sentinel_username=asker&sentinel_password="
    connection, end = Connection(url + "se%40cret"), time.monotonic() + 60.0
    while True:  # the sentinel starts
        try:
            await connection.open()
            break
        except UnavailableError:
            assert time.monotonic() < end
            await asyncio.sleep(0.05)
    assert await connection.ask("PING")
    await connection.close()
    for wrong in (url + "wr0ng", url.partition("?")[0]):
        with pytest.raises(StoreInputError, match="expected the sentinels' own sentinel_username") as caught:
            await Connection(wrong).open()
        assert "wr0ng" not in str(caught.value)


@pytest.mark.slow
async def test_the_primary_of_a_service_is_found_also_after_a_failover(start_valkey, start_sentinel):
    primary = start_valkey()
    replica = start_valkey("--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1", str(primary.port))
    port = start_sentinel(primary)
    connection = Connection(f"redis+sentinel://127.0.0.1:1,127.0.0.1:{port}/main?wait=0")
    end = time.monotonic() + 60.0
    while True:  # the sentinel starts
        with suppress(UnavailableError):
            await connection.open()
            await connection.ask("SET", "a", "1")
            break
        assert time.monotonic() < end
        await asyncio.sleep(0.1)
    await asyncio.sleep(12.0)  # the sentinel asks the primary for its replicas every ten seconds
    primary.kill()
    while True:
        try:
            assert await connection.ask("GET", "a") == b"1"
            break
        except UnavailableError:
            with suppress(UnavailableError):
                await connection.open()
        assert time.monotonic() < end
        await asyncio.sleep(0.1)
    assert connection._server.client.connection_pool.connection_kwargs["port"] == replica.port
    await connection.close()
