"""Who holds the state directory, and where its server listens."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bestbefore.addon.store.backend.interface import StoreUnusableError
from bestbefore.addon.store.server.statedir import SOCKET_BYTES, Lock, StateDir


def test_only_one_holds_it_and_the_other_learns_who(tmp_path):
    first, second = StateDir(tmp_path), StateDir(tmp_path)
    assert first.take()
    assert not second.take()
    assert second.holder() == str(os.getpid())
    first.close()
    assert second.take()
    second.close()


def test_a_child_that_inherits_a_lock_holds_it_until_it_ends(tmp_path, start_process):
    lock, other = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert lock.take()
    child = start_process([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lock.number])
    lock.close()
    assert not other.take()
    child.communicate(b"\n", timeout=60)
    assert other.take()
    other.close()


def test_folders_of_ours_are_closed_to_others_and_the_users_own_is_left_as_it_is(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "bodies").mkdir(mode=0o755)
    StateDir(tmp_path).close()
    modes = [stat.S_IMODE(folder.stat().st_mode) for folder in (tmp_path, tmp_path / "bodies", tmp_path / "valkey")]
    assert modes == [0o755, 0o700, 0o700]
    StateDir(tmp_path / "new" / "state").close()
    assert stat.S_IMODE((tmp_path / "new" / "state").stat().st_mode) == 0o700


def test_what_cannot_be_a_directory_is_one_plain_line(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nowhere")):
        with pytest.raises(StoreUnusableError) as caught:
            StateDir(path)
        assert str(caught.value).startswith(f"state directory {path} cannot be used: ")
        assert "\n" not in str(caught.value)


def test_the_socket_is_in_the_directory_where_that_is_short_enough(short_path):
    state = StateDir(short_path)
    assert state.socket() is None
    assert state.new_socket({}) == state.socket() == short_path / "valkey" / "valkey.sock"
    state.remove_socket()
    assert state.socket() is None
    state.close()


def test_else_in_a_private_one_where_the_runtime_directory_is(tmp_path, short_path):
    state = StateDir(tmp_path / ("x" * 100))
    for _ in range(2):  # a second start removes what the first left
        socket = state.new_socket({"XDG_RUNTIME_DIR": str(short_path)})
        assert socket.parent.parent == short_path
        assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
        assert len(os.fsencode(socket)) <= SOCKET_BYTES
        assert list(short_path.iterdir()) == [socket.parent]
        socket.touch()
    state.remove_socket()
    assert list(short_path.iterdir()) == []
    state.close()


def test_a_runtime_directory_that_is_too_long_or_missing_is_passed_over(tmp_path):
    state = StateDir(tmp_path / ("x" * 100))
    for runtime in (tmp_path / ("y" * 100), tmp_path / "missing"):
        socket = state.new_socket({"XDG_RUNTIME_DIR": str(runtime)})
        assert runtime not in socket.parents
        assert len(os.fsencode(socket)) <= SOCKET_BYTES
    state.remove_socket()
    state.close()
