"""Bodies as files: whole or not there, and swept when nothing refers to them."""

from pathlib import Path

import pytest

from bestbefore.addon.rfc9111.copy import BodyRef
from bestbefore.addon.store import bodies
from bestbefore.addon.store.bodies import STREAM_FROM_BYTES, BodyFiles


def ref(digest, content):
    return BodyRef(digest, len(content))


def test_what_was_written_is_read_whole_or_as_a_file(tmp_path):
    files = BodyFiles(tmp_path)
    small, large = b"x" * 100, bytes(STREAM_FROM_BYTES + 1)
    files.write(ref("ab12", small), small)
    files.write(ref("cd34", large), large)
    assert files.read(ref("ab12", small)) == small
    assert files.read(ref("cd34", large)) == tmp_path / "cd" / "cd34"
    assert (tmp_path / "cd" / "cd34").read_bytes() == large


def test_what_is_not_there_or_of_another_size_is_gone(tmp_path):
    files = BodyFiles(tmp_path)
    assert files.read(ref("ab12", b"x")) is None
    files.write(ref("ab12", b"xyz"), b"xyz")
    (tmp_path / "ab" / "ab12").write_bytes(b"x")  # as after a power cut
    assert files.read(ref("ab12", b"xyz")) is None
    files.write(ref("ab12", b"xyz"), b"xyz")
    assert files.read(ref("ab12", b"xyz")) == b"xyz"


@pytest.mark.parametrize("digest", ["", "a", "../../etc/passwd", "ab/cd", "ab\0", "ab.cd"])
def test_a_digest_never_leads_out_of_the_folder(tmp_path, digest):
    files = BodyFiles(tmp_path / "bodies")
    with pytest.raises(OSError, match="cannot name a file"):
        files.write(ref(digest, b"x"), b"x")
    assert files.read(ref(digest, b"x")) is None


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(self, target):
        raise OSError("no")

    files = BodyFiles(tmp_path)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no"):
        files.write(ref("ab12", b"x"), b"x")
    assert files.list() == []


def test_the_last_of_the_disk_is_left_to_the_histories(tmp_path, monkeypatch):
    monkeypatch.setattr(bodies, "RESERVE_BYTES", 10**18)
    with pytest.raises(OSError, match="No space left"):
        BodyFiles(tmp_path).write(ref("ab12", b"x"), b"x")


def test_a_sweep_removes_what_nothing_refers_to(tmp_path):
    before = BodyFiles(tmp_path)
    for digest in ("ab12", "ab34", "cd56"):
        before.write(ref(digest, b"xyz"), b"xyz")
    (tmp_path / "new-half").write_bytes(b"12345")
    files = BodyFiles(tmp_path)  # a new process knows of none
    assert files.sweep(files.list(), {"ab34"}) == 3 + 3 + 5
    assert [path.name for path in files.list()] == ["ab34"]


def test_what_was_written_since_the_last_sweep_stays(tmp_path):
    files = BodyFiles(tmp_path)
    files.write(ref("ab12", b"x"), b"x")
    found = files.list()
    files.write(ref("cd34", b"x"), b"x")  # while the references are read
    assert files.sweep(found, set()) == 0
    assert files.sweep(files.list(), set()) == 2


def test_a_file_that_is_written_again_is_recent_again(tmp_path):
    files = BodyFiles(tmp_path)
    files.write(ref("ab12", b"x"), b"x")
    files.sweep(files.list(), {"ab12"})
    files.write(ref("ab12", b"x"), b"x")
    assert files.sweep(files.list(), set()) == 0
