"""The file of a backup: what is written is read, and what was changed is refused."""

import asyncio
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.errors import InputError
from bestbefore.addon.store.backend.codec import encode_record
from bestbefore.addon.store.backend.keys import SCHEMA
from bestbefore.addon.store.backup.entries import Header, SavedKey, SavedRecord
from bestbefore.addon.store.backup.file import BackupFile, is_backup, write_backup

HEADER = Header(SCHEMA, "real", 1e9)
items = st.lists(st.tuples(st.binary(max_size=9), st.binary(max_size=9)), max_size=5)
keys = st.builds(
    lambda name, live_ms, pairs: SavedKey(name, live_ms, tuple(one for pair in pairs for one in pair)),
    st.sampled_from(["bb1:{example.org}:requests", "bb1:demand:{http://a/}", "bb1:candidates:{7}", "bb1:positions"]),
    st.integers(-1, 10**12),
    items,
)
records = st.builds(
    lambda name, at_s: SavedRecord(encode_record(Record(f"http://example.org/{name}", 0.0, at_s))),
    st.text(max_size=9).filter(lambda text: text.isprintable()), st.floats(0, 1e10),
)
entries = st.lists(st.one_of(keys, records), max_size=9)


def written(path, these, header=HEADER):
    async def each():
        for one in these:
            yield one

    return asyncio.run(write_backup(path, header, each()))


@given(entries)
@settings(max_examples=10)
def test_what_was_written_is_read(these):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.bb")
        assert written(path, these) == path.stat().st_size
        assert is_backup(path)
        assert path.stat().st_mode & 0o777 == 0o600
        with closing(BackupFile(path)) as backup:
            assert (backup.header, backup.entries, list(backup), list(backup)) == (HEADER, len(these), these, these)


@given(entries, st.data())
@settings(max_examples=25)
def test_a_changed_or_cut_file_is_refused(these, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.bb")
        written(path, these)
        whole = path.read_bytes()
        at = data.draw(st.integers(0, len(whole) - 1))
        changed = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
        path.write_bytes(data.draw(st.sampled_from([changed, whole[:at], whole + b"\0"])))
        with pytest.raises(InputError):
            BackupFile(path)


def test_a_newer_one_and_one_with_other_keys_are_refused(tmp_path):
    path = tmp_path / "a.bb"
    written(path, [], Header(SCHEMA + 1, "real", 1e9))
    with pytest.raises(InputError, match=r"written by a newer bestbefore \(schema 4; this one reads up to 3\)"):
        BackupFile(path)
    path.write_bytes(b"bestbefore backup 2\n" + bytes(90))
    with pytest.raises(InputError, match=r"written by a newer bestbefore \(format 2"):
        BackupFile(path)
    written(path, [SavedKey("bb1:tombstones", -1, (b"a", b"1"))])
    with pytest.raises(InputError, match="it has 'bb1:tombstones', which this version does not save; nothing was"):
        BackupFile(path)


def test_an_interrupted_backup_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "a.bb"
    written(path, [])
    earlier = path.read_bytes()

    async def broken():
        yield SavedKey("bb1:positions", -1, (b"a", b"b"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(write_backup(path, HEADER, broken()))
    assert path.read_bytes() == earlier
    assert list(tmp_path.iterdir()) == [path]
