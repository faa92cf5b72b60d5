import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.opening import BLOCK_BYTES, LONGEST_LINE_BYTES, OpenTrace, lines, open_trace
from bestbefore.replay.traces.skipped import Skipped


def lines_of(path: Path) -> tuple[list[tuple[int, bytes]], list[str]]:
    skipped = Skipped(path)
    with open_trace(path) as source:
        return list(lines(source, skipped)), [line.removeprefix(f"{path}: ") for line in skipped.warnings()]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_have_numbers_and_no_ends(tmp_path: Path, pack: type[bytes]) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(b"a\n\nb\r\nc"))
    assert lines_of(path) == ([(1, b"a"), (2, b""), (3, b"b\r"), (4, b"c")], [])


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_mark_that_begins_utf_8_on_windows_is_no_part_of_the_first_line(tmp_path: Path, pack: type[bytes]) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack("\ufeffa\nb".encode()))
    assert lines_of(path) == ([(1, b"a"), (2, b"b")], [])


def test_lines_across_blocks_are_whole(tmp_path: Path) -> None:
    content = b"".join(b"%d " % n + b"x" * (n % 97) + b"\n" for n in range(50_000))
    assert len(content) > 2 * BLOCK_BYTES
    path = tmp_path / "log"
    path.write_bytes(content)
    assert [line for _, line in lines_of(path)[0]] == content.split(b"\n")[:-1]


@pytest.mark.parametrize("length", [LONGEST_LINE_BYTES + 1, BLOCK_BYTES, 3 * BLOCK_BYTES])
@pytest.mark.parametrize("end", [b"", b"\nlast"])
def test_a_line_too_long_is_skipped_and_the_next_is_read(tmp_path: Path, length: int, end: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\n" + b"x" * length + end)
    read, skipped = lines_of(path)
    assert read == [(1, b"first"), *([(3, b"last")] if end else [])]
    assert skipped == ["1 bad entry skipped:", "line 2: longer than 32,768 bytes"]


def test_what_can_be_read_of_damaged_gzip_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"".join(b"line %d\n" % n for n in range(9999)))[:5000])
    read, skipped = lines_of(path)
    assert read[0] == (1, b"line 0")
    assert skipped[0] == "1 bad entry skipped:"
    assert skipped[1].startswith("where the gzip data are corrupt or truncated: Compressed file ended before")


def test_a_file_of_several_gzip_members_is_one(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert lines_of(path) == ([(1, b"a"), (2, b"b")], [])


def test_the_head_is_still_to_be_read(tmp_path: Path) -> None:
    for name, content in (("plain", b"content"), ("zipped", gzip.compress(b"content"))):
        path = tmp_path / name
        path.write_bytes(content)
        with open_trace(path) as source:
            assert source.head() == b"content"
            assert source.seekable().read() == b"content"


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=f"^{tmp_path}: Is a directory$"), open_trace(tmp_path):
        pass


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.binary(max_size=300), st.integers(1, 50))
def test_any_bytes_are_cut_at_their_line_ends_whatever_the_blocks(content: bytes, size: int) -> None:
    class InBlocks:
        def __init__(self) -> None:
            self.at = 0

        def read1(self, _: int) -> bytes:
            self.at += size
            return content[self.at - size : self.at]

    path = Path("log")
    found = lines(OpenTrace(path, InBlocks()), Skipped(path))  # type: ignore[arg-type]
    expected = content.split(b"\n")
    assert [line for _, line in found] == (expected if expected[-1] else expected[:-1])


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_is_read_whole_has_a_limit(tmp_path: Path, pack: type[bytes]) -> None:
    path = tmp_path / "a"
    path.write_bytes(pack(b"x" * 5_000_000))
    with open_trace(path) as source:
        assert source.whole(5_000_000) == b"x" * 5_000_000
    with pytest.raises(TraceError, match=f"^{path}: larger than 4,999,999 bytes, "), open_trace(path) as source:
        source.whole(4_999_999)
