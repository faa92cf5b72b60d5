"""Content codings are undone up to a limit, and bombs go no further than it."""

import gzip
import tracemalloc
import zlib

import brotli
import pytest

from bestbefore.addon.feeds.coding import decoded, start_of

TEXT = b"<rss>" + b"item " * 1000 + b"</rss>"
LIMIT = 1 << 20


def raw_deflate(content: bytes) -> bytes:
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(content) + deflater.flush()


CODED = [
    ("", TEXT),
    ("identity", TEXT),
    ("gzip", gzip.compress(TEXT, mtime=0)),
    ("X-Gzip ", gzip.compress(TEXT[:50], mtime=0) + gzip.compress(TEXT[50:], mtime=0)),
    ("deflate", zlib.compress(TEXT)),
    ("deflate", raw_deflate(TEXT)),
    ("br", brotli.compress(TEXT)),
]


@pytest.mark.parametrize(("coding", "content"), CODED)
def test_each_coding_is_undone(coding: str, content: bytes) -> None:
    assert decoded(content, coding, LIMIT) == TEXT


@pytest.mark.parametrize(("coding", "content"), CODED)
def test_what_is_larger_than_the_limit_is_not_returned(coding: str, content: bytes) -> None:
    assert decoded(content, coding, len(TEXT) - 1) is None
    assert decoded(content, coding, len(TEXT)) == TEXT


@pytest.mark.parametrize(("coding", "content"), CODED[2:])
def test_what_is_cut_short_or_broken_is_not_returned(coding: str, content: bytes) -> None:
    assert decoded(content[:-12], coding, LIMIT) is None
    assert decoded(b"\x1f\x8b nonsense", coding, LIMIT) is None


def test_a_gzip_file_may_have_members_and_not_without_end() -> None:
    empty = gzip.compress(b"", mtime=0)
    assert decoded(gzip.compress(TEXT) + empty * 1000, "gzip", LIMIT) == TEXT
    assert decoded(gzip.compress(TEXT) + empty * 1024, "gzip", LIMIT) is None


@pytest.mark.parametrize("coding", ["zstd", "gzip, br", "compress", "nonsense"])
def test_other_codings_are_not_undone(coding: str) -> None:
    assert decoded(TEXT, coding, LIMIT) is None


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_bomb_takes_no_more_memory_than_the_limit_allows(coding: str) -> None:
    zeros = bytes(100 << 20)
    bomb = gzip.compress(zeros, 1) if coding == "gzip" else brotli.compress(zeros, quality=1)
    del zeros
    tracemalloc.start()
    assert decoded(bomb, coding, LIMIT) is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * LIMIT


@pytest.mark.parametrize(("coding", "content"), CODED)
def test_the_start_is_there_before_the_end_is(coding: str, content: bytes) -> None:
    assert TEXT.startswith(start_of(content, coding, 40)[:40])
    assert len(start_of(content, coding, 40)) >= 40
    assert start_of(b"\xff nonsense", coding, 40) in (b"", b"\xff nonsense")
    assert start_of(b"", coding, 40) == b""
