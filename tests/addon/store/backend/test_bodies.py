"""Bodies as files: whole or not there, and swept when nothing refers to them."""

import os
from pathlib import Path

import pytest

from bestbefore.addon.rfc9111.copy import BodyRef
from bestbefore.addon.store.backend import bodies
from bestbefore.addon.store.backend.bodies import STREAM_FROM_BYTES, BodyFiles, BodyReading, new_digest
from bestbefore.addon.store.backend.unlinked import UnlinkedFile


def ref(content):
    digest = new_digest()
    digest.update(content)
    return BodyRef(digest.hexdigest(), len(content))


def named(digest, content=b"x"):
    return BodyRef(digest, len(content))


def path_of(folder, content):
    digest = ref(content).digest
    return folder / digest[:2] / digest


SMALL, LARGE = b"x" * 100, bytes(STREAM_FROM_BYTES + 1)


def test_what_was_written_is_read_whole_or_as_a_file(tmp_path):
    files = BodyFiles(tmp_path)
    files.write(ref(SMALL), SMALL)
    files.write(ref(LARGE), LARGE)
    assert files.read(ref(SMALL)) == BodyReading(SMALL)
    assert files.read(ref(LARGE)) == BodyReading(path_of(tmp_path, LARGE))
    assert path_of(tmp_path, LARGE).read_bytes() == LARGE


def test_a_file_without_a_name_is_written_under_its_digest(tmp_path):
    files, content, temporary = BodyFiles(tmp_path / "bodies"), bytes(STREAM_FROM_BYTES + 1), UnlinkedFile(tmp_path)
    temporary.add(content)
    files.write(ref(content), temporary)
    assert files.read(ref(content)) == BodyReading(path_of(tmp_path / "bodies", content))
    assert path_of(tmp_path / "bodies", content).read_bytes() == content


def test_what_is_not_there_or_of_another_size_is_gone(tmp_path):
    files = BodyFiles(tmp_path)
    assert files.read(ref(SMALL)) == BodyReading(None)
    files.write(ref(SMALL), SMALL)
    path_of(tmp_path, SMALL).write_bytes(b"x")  # as after a power cut
    assert files.read(ref(SMALL)) == BodyReading(None)
    files.write(ref(SMALL), SMALL)
    assert files.read(ref(SMALL)) == BodyReading(SMALL)


@pytest.mark.parametrize("content", [SMALL, LARGE])
def test_a_body_that_differs_from_what_was_written_is_removed_and_can_be_written_again(tmp_path, content):
    files, path = BodyFiles(tmp_path), path_of(tmp_path, content)
    files.write(ref(content), content)
    assert files.read(ref(content)).body is not None
    path.write_bytes(b"y" + content[1:])
    os.utime(path, (1, 1))
    assert files.read(ref(content)) == BodyReading(None, damaged=True)
    assert not path.exists()
    files.write(ref(content), content)
    path.write_bytes(b"y" + content[1:])
    files.write(ref(content), content)
    assert path.read_bytes() == content


def test_a_file_that_is_streamed_is_read_for_its_digest_only_when_it_is_another(tmp_path, monkeypatch):
    files, path = BodyFiles(tmp_path), path_of(tmp_path, LARGE)
    files.write(ref(LARGE), LARGE)
    opened = []
    read = bodies.new_digest
    monkeypatch.setattr(bodies, "new_digest", lambda: opened.append(1) or read())
    for _ in range(3):
        assert files.read(ref(LARGE)) == BodyReading(path)
    assert len(opened) == 1
    os.utime(path, (1, 1))
    assert files.read(ref(LARGE)) == BodyReading(path)
    assert len(opened) == 2


@pytest.mark.parametrize("digest", ["", "a", "../../etc/passwd", "ab/cd", "ab\0", "ab.cd"])
def test_a_digest_never_leads_out_of_the_folder(tmp_path, digest):
    files = BodyFiles(tmp_path / "bodies")
    with pytest.raises(OSError, match="cannot name a file"):
        files.write(named(digest), b"x")
    assert files.read(named(digest)) == BodyReading(None)


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(self, target):
        raise OSError("no")

    files = BodyFiles(tmp_path)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no"):
        files.write(ref(b"x"), b"x")
    assert files.list() == []


def test_the_last_of_the_disk_is_left_to_the_histories(tmp_path, monkeypatch):
    monkeypatch.setattr(bodies, "RESERVE_BYTES", 10**18)
    with pytest.raises(OSError, match="No space left"):
        BodyFiles(tmp_path).write(ref(b"x"), b"x")


def test_a_sweep_removes_what_nothing_refers_to(tmp_path):
    before = BodyFiles(tmp_path)
    for content in (b"abc", b"xyz", b"123"):
        before.write(ref(content), content)
    (tmp_path / "new-half").write_bytes(b"12345")
    files = BodyFiles(tmp_path)  # a new process knows of none
    assert files.sweep(files.list(), {ref(b"xyz").digest}) == 3 + 3 + 5
    assert [path.name for path in files.list()] == [ref(b"xyz").digest]


def test_what_was_written_since_the_last_sweep_stays(tmp_path):
    files = BodyFiles(tmp_path)
    files.write(ref(b"x"), b"x")
    found = files.list()
    files.write(ref(b"y"), b"y")  # while the references are read
    assert files.sweep(found, set()) == 0
    assert files.sweep(files.list(), set()) == 2


def test_a_file_that_is_written_again_is_recent_again(tmp_path):
    files = BodyFiles(tmp_path)
    files.write(ref(b"x"), b"x")
    files.sweep(files.list(), {ref(b"x").digest})
    files.write(ref(b"x"), b"x")
    assert files.sweep(files.list(), set()) == 0


def test_the_files_used_last_stay_when_all_take_more_than_they_may(tmp_path):
    contents = [bytes([n]) * 1000 for n in range(9)]
    files = BodyFiles(tmp_path, 4000)
    for n, content in enumerate(contents[:4]):
        files.write(ref(content), content)
        os.utime(path_of(tmp_path, content), (n, n))
    assert files.read(ref(contents[0])).body == contents[0]
    files.write(ref(contents[4]), contents[4])
    assert files.find(ref(contents[0]))
    assert not files.find(ref(contents[1]))
    for content in contents[5:]:
        files.write(ref(content), content)
        assert sum(path.stat().st_size for path in files.list()) <= 4000
    with pytest.raises(OSError, match="more than all files may take"):
        files.write(ref(bytes(5000)), bytes(5000))


def test_a_content_that_was_used_from_memory_counts_as_used(tmp_path):
    contents = [bytes([n]) * 1000 for n in range(5)]
    files = BodyFiles(tmp_path, 4000)
    for n, content in enumerate(contents[:4]):
        files.write(ref(content), content)
        os.utime(path_of(tmp_path, content), (n, n))
    files.use([ref(contents[0]), named("../x"), ref(b"never written")])
    files.write(ref(contents[4]), contents[4])
    assert [files.find(ref(content)) is not None for content in contents[:2]] == [True, False]


def test_the_files_of_removed_copies_are_removed(tmp_path):
    files = BodyFiles(tmp_path)
    for content in (SMALL, LARGE):
        files.write(ref(content), content)
    files.remove([ref(SMALL).digest, ref(b"never written").digest, "../x", ""])
    assert files.list() == [path_of(tmp_path, LARGE)]


def test_a_sweep_leaves_a_file_that_is_being_written(tmp_path, monkeypatch):
    files = BodyFiles(tmp_path)

    class Slow(UnlinkedFile):
        def copy_to(self, file):
            assert files.sweep(files.list(), set()) == 0
            super().copy_to(file)

    temporary = Slow(tmp_path)
    temporary.add(SMALL)
    files.write(ref(SMALL), temporary)
    assert files.read(ref(SMALL)) == BodyReading(SMALL)


def test_files_of_an_earlier_process_count(tmp_path):
    for content in (b"a" * 1000, b"b" * 1000):
        BodyFiles(tmp_path, 2500).write(ref(content), content)
    BodyFiles(tmp_path, 2500).write(ref(b"c" * 1000), b"c" * 1000)
    assert len(BodyFiles(tmp_path).list()) < 3


def test_a_streamed_file_is_checked_once_although_its_use_is_noted(tmp_path, monkeypatch):
    files = BodyFiles(tmp_path)
    files.write(ref(LARGE), LARGE)
    os.utime(path_of(tmp_path, LARGE), (1, 1))
    assert files.read(ref(LARGE)).body is not None
    assert path_of(tmp_path, LARGE).stat().st_mtime > 1
    monkeypatch.setattr(bodies, "new_digest", None)
    assert files.read(ref(LARGE)).body is not None


def test_of_several_processes_none_removes_what_another_has_just_written(tmp_path):
    one, other = (BodyFiles(tmp_path, processes=2) for _ in range(2))
    one.write(ref(b"x"), b"x")
    assert other.sweep(other.list(), set()) == 0
    os.utime(path_of(tmp_path, b"x"), (0, 0))
    assert other.sweep(other.list(), set()) == 1


def test_several_processes_keep_one_bound_together(tmp_path):
    processes = [BodyFiles(tmp_path, 4000, 2) for _ in range(2)]
    for n in range(12):
        content = bytes([n]) * 500
        processes[n % 2].write(ref(content), content)
    assert sum(path.stat().st_size for path in processes[0].list()) <= 4000
