"""The embedded server: where it runs, what it outlives, and what it survives."""

import asyncio
import os
import signal
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.backend.interface import StoreUnusableError
from bestbefore.addon.store.server import embedded
from bestbefore.addon.store.server.embedded import EmbeddedServer, answers, cut_zeros, default_store_max, server_binary
from bestbefore.addon.store.server.statedir import Lock, StateDir
from tests.addon.store.waiting import until

URL = "http://www.example.org/a"
MIB = 1024 * 1024


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def learn_one(open_a_store, observe, state, url=URL):
    store = await open_a_store("embedded", state=state)
    await store.learn(observe(url, 1000, "a"))
    await store.close()


async def knows(open_a_store, state, url=URL):
    store = await open_a_store("embedded", state=state)
    record = await store.record(url)
    await store.close()
    return record is not None


def entries(folder):
    return list(Path(folder).iterdir())


def files(state, pattern):
    return sorted((state / "valkey").glob(pattern))


def test_the_binary_is_found():
    assert os.access(server_binary(), os.X_OK)


def test_the_default_bound_is_at_most_a_gibibyte():
    assert 64 * MIB < default_store_max() <= 1024 * MIB


async def test_what_was_learnt_is_there_after_a_restart(open_a_store, observe, copy_of, tmp_path):
    state = tmp_path / "state"
    store = await open_a_store("embedded", state=state)
    large = bytes(100_000)
    copies = [copy_of(URL), copy_of(URL, large, partition="p")]
    await store.learn(observe(URL, 1000, "a"))
    store.put(copies[0], b"hello")
    store.put(copies[1], large)
    await store.close()
    store = await open_a_store("embedded", state=state)
    assert (await store.record(URL)).since_s == 1000
    assert (await store.copies(URL)).copies == (copies[0],)
    assert await store.body(copies[0]) == b"hello"
    assert await store.body(copies[1]) == large


@pytest.mark.parametrize(
    "name", ["with space", "it's \"quoted\"", "back\\slash", "$HOME;`id`", "\u00e9\u4e16", "#{x}", "-p"]
)
async def test_any_name_of_a_state_directory_works(open_a_store, observe, tmp_path, name):
    await learn_one(open_a_store, observe, tmp_path / name)
    assert await knows(open_a_store, tmp_path / name)


async def test_a_name_that_is_no_text_works(open_a_store, observe, tmp_path):
    state = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    await learn_one(open_a_store, observe, state)
    assert await knows(open_a_store, state)


async def test_a_path_too_long_for_a_socket_works_and_leaves_nothing_behind(
    open_a_store, observe, tmp_path, short_path, monkeypatch
):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_path))
    state = tmp_path / ("long" * 40)
    store = await open_a_store("embedded", state=state)
    (folder,) = entries(short_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    await store.learn(observe(URL, 1000))
    await store.close()
    assert entries(short_path) == []
    assert await knows(open_a_store, state)


async def test_no_other_user_can_reach_it(open_a_store, short_path):
    await open_a_store("embedded", state=short_path / "state")
    assert stat.S_IMODE((short_path / "state").stat().st_mode) == 0o700
    (socket,) = files(short_path / "state", "valkey.sock")
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700
    assert stat.S_IMODE((short_path / "state" / "valkey").stat().st_mode) == 0o700


async def test_it_is_set_up_to_keep_histories(open_a_store, tmp_path):
    store = await open_a_store("embedded", state=tmp_path, store_max=50 * MIB)
    ask = store._link.backend._connection.ask
    wanted = {
        "port": "0",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "volatile-lru",
        "hash-max-listpack-value": "2048",
        "maxmemory": str(50 * MIB),
    }
    assert {name: (await ask("CONFIG", "GET", name))[1].decode() for name in wanted} == wanted


async def test_a_second_proxy_on_the_same_state_is_refused(open_a_store, tmp_path):
    await open_a_store("embedded", state=tmp_path)
    with pytest.raises(StoreUnusableError, match=rf"in use by another bestbefore \(process {os.getpid()}\)"):
        await open_a_store("embedded", state=tmp_path)


async def test_a_command_joins_the_server_of_a_running_proxy(open_a_store, observe, tmp_path, copy_of):
    proxy = await open_a_store("embedded", state=tmp_path)
    await proxy.learn(observe(URL, 1000))
    large = bytes(100_000)
    proxy.put(copy_of(URL, large), large)
    await proxy.flush()
    command = await open_a_store("embedded", state=tmp_path, join=True)
    assert (await command.record(URL)).since_s == 1000
    assert await command.purge("*") == 1
    await until(lambda: proxy.hot(URL) is None)
    await command.close()
    assert await proxy.flush()


async def test_a_command_alone_starts_the_server(open_a_store, observe, tmp_path):
    await learn_one(open_a_store, observe, tmp_path)
    command = await open_a_store("embedded", state=tmp_path, join=True)
    assert (await command.record(URL)).since_s == 1000


async def test_a_state_directory_that_cannot_be_made_is_one_plain_line(open_a_store, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnusableError) as caught:
        await open_a_store("embedded", state=tmp_path / "file" / "state")
    assert str(caught.value).startswith(f"state directory {tmp_path}/file/state cannot be used: Not a directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable to root")
async def test_a_state_directory_that_is_not_writable_is_one_plain_line(open_a_store, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreUnusableError, match="cannot be used: Permission denied"):
        await open_a_store("embedded", state=tmp_path / "state")


async def test_a_killed_server_is_started_again_and_what_waits_is_written(open_a_store, observe, tmp_path, logged):
    store = await open_a_store("embedded", state=tmp_path)
    await store.learn(observe(URL, 1000, "a"))
    await store.flush()
    for i in range(3):
        pid = store._link.backend._wire.info["process_id"]
        os.kill(pid, signal.SIGKILL)
        await until(lambda pid=pid: store._link.backend._wire.info["process_id"] != pid)
        await store.learn(observe(URL, 2000 + i, i))
        await until(lambda: not store.status().down and not store.status().pending_observations)
    assert (await store.record(URL)).contacts == 4
    assert sum("starting it again" in message for message in logged()) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent ended")
async def test_it_ends_with_the_process_that_started_it(tmp_path):
    program = f"""
import asyncio, os, signal
from pathlib import Path
from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.opening import open_store
async def main():
    store = await open_store("embedded", clock=RealClock(), state=Path({str(tmp_path)!r}))
    print(store._link.backend._wire.info["process_id"], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    pid = int((await process.communicate())[0])
    assert process.returncode == -signal.SIGKILL
    await until(lambda: not is_running(pid))


async def test_a_server_left_behind_is_stopped_by_the_next_start(open_a_store, observe, tmp_path, logged):
    # As after a kill where the kernel does not end the server with us: it runs on, holding its own lock.
    await learn_one(open_a_store, observe, tmp_path)
    state = StateDir(tmp_path)
    socket, lock = state.new_socket(os.environ), Lock(state.valkey / "server.lock")
    assert lock.take()
    left = await asyncio.create_subprocess_exec(
        *(server_binary(), "--port", "0", "--unixsocket", str(socket), "--appendonly", "yes", "--save", ""),
        cwd=state.valkey,
        pass_fds=[lock.number],
        stdout=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    lock.close()
    state.close()
    await until(socket.exists)
    assert await knows(open_a_store, tmp_path)
    assert await left.wait() == 0
    assert logged() == ["stopping the server that an earlier run left behind"]


async def test_a_truncated_file_is_read_up_to_where_it_is_sound(open_a_store, observe, tmp_path):
    await learn_one(open_a_store, observe, tmp_path)
    await learn_one(open_a_store, observe, tmp_path, URL + "/2")
    (file,) = files(tmp_path, "appendonlydir/*.incr.aof")
    with file.open("rb+") as f:
        f.truncate(file.stat().st_size - 7)
    assert await knows(open_a_store, tmp_path)


async def test_zeros_at_the_end_of_a_file_are_cut_off(open_a_store, observe, tmp_path):
    await learn_one(open_a_store, observe, tmp_path)
    (file,) = files(tmp_path, "appendonlydir/*.incr.aof")
    with file.open("ab") as f:
        f.write(bytes(200_000))
    assert await knows(open_a_store, tmp_path)
    assert files(tmp_path, "unreadable*") == []


@pytest.mark.parametrize("content", [b"", b"abc", b"abc" + bytes(3), bytes(70_000), b"x" * 65_536 + bytes(65_537)])
def test_only_the_zeros_at_the_end_are_cut(tmp_path, content):
    file = tmp_path / "file"
    file.write_bytes(content)
    assert cut_zeros(file) == content.endswith(b"\0")
    assert file.read_bytes() == content.rstrip(b"\0")


@pytest.mark.parametrize("damaged", ["*.incr.aof", "*.base.rdb", "*.manifest"])
async def test_a_file_that_cannot_be_read_is_set_aside_and_the_store_starts_empty(
    open_a_store, observe, tmp_path, logged, damaged
):
    await learn_one(open_a_store, observe, tmp_path)
    (file,) = files(tmp_path, f"appendonlydir/{damaged}")
    content = bytearray(file.read_bytes())
    third = len(content) // 3
    at = max(third, content.find(b"\r\n$", third))  # of commands not a value, in which anything may stand
    content[at : at + 20] = b"!" * 20
    file.write_bytes(content)
    assert not await knows(open_a_store, tmp_path)
    (aside,) = files(tmp_path, "unreadable-1")
    assert (aside / file.name).read_bytes() == content
    assert [message for message in logged() if str(aside) in message]


async def test_another_reason_not_to_start_sets_nothing_aside(open_a_store, observe, tmp_path):
    await learn_one(open_a_store, observe, tmp_path)
    with pytest.raises(StoreUnusableError, match=r"does not start: .*memory value"):
        await open_a_store("embedded", state=tmp_path, store_max=-1)
    assert await knows(open_a_store, tmp_path)


async def test_a_stopped_server_leaves_neither_process_nor_socket(tmp_path):
    state = StateDir(tmp_path)
    assert state.take()
    server = EmbeddedServer(state, RealClock(), 50 * MIB)
    await server.stop()
    before = asyncio.all_tasks()
    await server.start()
    pid = server._process.pid
    assert await answers(server.socket)
    assert len(asyncio.all_tasks() - before) == 1, "what starts it again when it ends"
    await server.stop()
    await server.stop()
    assert asyncio.all_tasks() == before
    state.close()
    assert not is_running(pid)
    assert files(tmp_path, "*sock*") == []


def test_what_is_set_aside_is_numbered(tmp_path):
    state = StateDir(tmp_path)
    server = EmbeddedServer(state, RealClock(), 50 * MIB)
    for n in (1, 2, 3):
        (state.valkey / "appendonlydir").mkdir(parents=True)
        (state.valkey / "valkey.log").write_text("Bad file format reading the append only file")
        assert server._set_aside()
        assert (state.valkey / f"unreadable-{n}").is_dir()
    assert not server._set_aside()


@pytest.mark.parametrize(("ran_s", "pauses_s"), [(10.0, [0.4, 0.8, 1.6, 2.0, 2.0]), (10.5, [0.05, 0.1, 0.2, 0.4, 0.8])])
async def test_a_server_that_does_not_start_is_tried_again_ever_later(tmp_path, monkeypatch, ran_s, pauses_s):
    """It has failed three times before, which is forgotten if it ran for a while since."""
    now_s, slept_s = 0.0, []
    server = EmbeddedServer(None, SimpleNamespace(monotonic=lambda: now_s), 0)

    async def wait_for_end():
        nonlocal now_s
        if len(slept_s) == 3:
            now_s += ran_s
        return 1

    async def spawn():
        if len(slept_s) != 3:
            raise OSError("no")

    async def sleep(pause_s):
        slept_s.append(pause_s)
        if len(slept_s) == 8:
            raise asyncio.CancelledError

    server._process = SimpleNamespace(wait=wait_for_end)
    monkeypatch.setattr(server, "_repair", lambda: False)
    monkeypatch.setattr(server, "_spawn", spawn)
    monkeypatch.setattr(embedded.asyncio, "sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        await server._watch()
    assert slept_s == pytest.approx([0.05, 0.1, 0.2, *pauses_s])
