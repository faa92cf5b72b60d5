import errno
import os
from pathlib import Path

import pytest

from bestbefore.replay.whole_file import whole_file


def cut_short(path: Path) -> None:
    """Write half of a file, as on a disk that is full then."""
    with whole_file(path) as file:
        file.write(b"ne")
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_is_there_once_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with whole_file(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_what_cannot_be_completed_leaves_what_was_there_and_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="No space left") as caught:
        cut_short(path)
    assert caught.value.filename == str(path)
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
    assert path.read_bytes() == b"old"


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with whole_file(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    for name in ("a", "link"):
        with whole_file(tmp_path / name) as file:
            file.write(b"new")
        assert path.stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_as_it_is() -> None:
    with whole_file(Path("/dev/null")) as file:
        file.write(b"new")
    assert Path("/dev/null").is_char_device()


def test_a_folder_that_is_missing_is_an_error_of_the_file_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "none" / "a"
    with pytest.raises(FileNotFoundError) as caught, whole_file(path):
        pass
    assert caught.value.filename == str(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_device_is_named() -> None:
    with pytest.raises(OSError, match="No space left") as caught, whole_file(Path("/dev/full")) as file:
        file.write(b"new")
    assert caught.value.filename == "/dev/full"
