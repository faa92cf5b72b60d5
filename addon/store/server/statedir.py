"""The state directory of the embedded store, its lock, and the path of its server's socket."""

import fcntl
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bestbefore.addon.errors import reason_of
from bestbefore.addon.store.backend.interface import StoreUnusableError

SOCKET_BYTES = 103
"""The longest path of a Unix socket that every system supports (Linux 107, macOS 103)."""


class Lock:
    """An exclusive lock on a file, held until it is released or its process ends."""

    def __init__(self, path: Path) -> None:
        """Raises OSError if the file cannot be created."""
        self._path = path
        self.number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        """The file descriptor. A child process that inherits it also holds the lock until it ends."""

    def take(self) -> bool:
        """Take the lock; return whether no other process holds it."""
        try:
            fcntl.flock(self.number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def sign(self) -> None:
        """Write our process id into the file, for messages of other processes."""
        os.ftruncate(self.number, 0)
        os.pwrite(self.number, str(os.getpid()).encode(), 0)

    def holder(self) -> str:
        """Return the process id written in the file, or `unknown`."""
        return os.pread(self.number, 20, 0).decode(errors="replace") or "unknown"

    def close(self) -> None:
        """Release the lock here; a child that inherited it keeps it."""
        os.close(self.number)


class StateDir:
    """The state directory.

    The store uses `store.lock`, and `bodies/` and `valkey/`, which no other user may read.
    """

    def __init__(self, path: Path) -> None:
        """Create the missing directories. Raises StoreUnusableError if the state directory cannot be used."""
        self.path = Path(os.path.abspath(path))  # noqa: PTH100  # resolve() would follow links, which may be replaced
        self.valkey = self.path / "valkey"
        self.bodies = self.path / "bodies"
        self.socket_file = self.valkey / "socket"
        """The file that contains the path of the running server's socket."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            for folder in (self.valkey, self.bodies):
                folder.mkdir(exist_ok=True, mode=0o700)
                folder.chmod(0o700)
            if not os.access(self.valkey, os.W_OK | os.X_OK):
                raise PermissionError(13, "not writable", str(self.valkey))
            self._lock = Lock(self.path / "store.lock")
        except OSError as e:
            raise StoreUnusableError(f"state directory {path} cannot be used: {reason_of(e)}") from None

    def take(self) -> bool:
        """Take the lock; return whether no other process holds it."""
        if not self._lock.take():
            return False
        self._lock.sign()
        return True

    def holder(self) -> str:
        """Return the process id of the holder of the lock, or `unknown`."""
        return self._lock.holder()

    def close(self) -> None:
        self._lock.close()

    # The socket

    def new_socket(self, environ: Mapping[str, str]) -> Path:
        """Return the path for the socket of a server, and write it down for other processes. Raises OSError.

        It is in the state directory or, if that path would be too long, in a new directory with mode 0700.
        """
        self.remove_socket()
        socket = self.valkey / "valkey.sock"
        if len(os.fsencode(socket)) > SOCKET_BYTES:
            socket = self._private_folder(environ) / "valkey.sock"
        note = self.socket_file.with_suffix(".new")
        note.write_bytes(os.fsencode(socket))
        note.replace(self.socket_file)
        return socket

    @staticmethod
    def _private_folder(environ: Mapping[str, str]) -> Path:
        length = len("/bestbefore-12345678/valkey.sock")
        for parent in (environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108  # a new 0700 one
            if parent and os.access(parent, os.W_OK) and len(os.fsencode(parent)) + length <= SOCKET_BYTES:
                return Path(tempfile.mkdtemp(prefix="bestbefore-", dir=parent))
        raise OSError("no directory has a path short enough for a socket: set XDG_RUNTIME_DIR")

    def socket(self) -> Path | None:
        """Return the socket of the server that was started last."""
        try:
            return Path(os.fsdecode(self.socket_file.read_bytes()))
        except OSError:
            return None

    def remove_socket(self) -> None:
        """Remove the socket of a server; also its directory, if that was created for it."""
        socket = self.socket()
        if socket is None:
            return
        socket.unlink(missing_ok=True)
        if socket.parent != self.valkey and socket.parent.name.startswith("bestbefore-"):
            try:
                socket.parent.rmdir()
            except OSError:
                return
        self.socket_file.unlink(missing_ok=True)
